"""The one loop that trains every model with gradients, and can stop anywhere and resume exactly.

Everything that decides what happens next is in the checkpoint: weights, optimiser, carried memory, random state,
the plan with its revisions, the place in the data, the best weights so far. Time decides only when a plan is revised.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor

from chainrule.data.batches import Batch, Batches
from chainrule.errors import Stopped
from chainrule.models.neural import Neural
from chainrule.models.state import State
from chainrule.runtime import KEEP
from chainrule.train.budget import Budget, Speed, Timing
from chainrule.train.carried import interleaved
from chainrule.train.checkpoint import Checkpoint, Journal, Progressing, load, save, under
from chainrule.train.config import TrainConfig
from chainrule.train.distributed import ALONE, ProcessGroup
from chainrule.train.figures import check_finite, keep
from chainrule.train.muon import optimizer_for
from chainrule.train.network import Network, Rates, Valid
from chainrule.train.schedule import PROBE, VALIDATIONS, Plan, Revision, duration
from chainrule.train.threads import StepThreads

AVERAGED = 0.75  # of the run lie behind when averaging begins


@dataclass
class Trainer:
    """One run: made fresh, or restored from the folder where it stopped."""

    network: Network
    batches: Batches
    valid: Valid | None
    config: TrainConfig
    folder: Path | None = None
    report: Callable[[dict[str, Any]], object] = lambda values: None
    stopping: Callable[[], bool] = lambda: False
    at: Progressing = field(default_factory=lambda: Progressing(threads=torch.get_num_threads()))
    timing: Timing = field(default_factory=Timing)
    group: ProcessGroup = ALONE
    rates: Rates = field(default_factory=Rates)
    threads: StepThreads = field(default_factory=StepThreads)
    skipped: int = 0  # symbols that processes before this one read
    kept_blocks: ClassVar[int] = KEEP

    def __post_init__(self) -> None:
        torch.manual_seed(self.config.seed + 1_000_003 * self.group.rank)
        self.optimizer = optimizer_for(self.network, self.config, self.rates)
        self.state: State | None = None
        self.best, self.mean = dict[str, Tensor](), dict[str, Tensor]()
        self.budget = None if (seconds := self.config.seconds) is None else Budget(seconds, self.timing)
        self.saved = self.now

    @property
    def body(self) -> Neural:
        """What reads."""
        return self.network.body

    @property
    def now(self) -> float:
        """Seconds since the run began, those of processes before this one included."""
        return self.at.passed + self.timing.clock()

    @property
    def plan(self) -> Plan:
        return self.at.plan

    def run(self) -> None:
        """Train to the end of the plan, then leave the best weights in the model."""
        journal = Journal(self.folder, self.at.step) if self.folder and self.group.is_main else None
        self.network.train()
        self._begin()
        while self.at.step < self.plan.steps:
            self._step(self._batches())
            if self._due() and self._validate(journal):
                break
            self._look_up()
        self._finish()

    def _begin(self) -> None:
        """What is known before the first step: all of a plan, or when it began."""
        if self.at.ended and self.budget:
            self._extend(self.budget)
        if self.at.step:
            self.skipped = self.at.step * self._symbols
            self._tell_plan()
            if not self.plan.revisions:  # it was stopped while its first plan was made
                self._look_up()
            return
        if self.budget is None:
            steps = self.config.asked_steps(self._epoch, self._symbols)
            self.at.plan = Plan.of(steps, max(PROBE, steps * self._symbols // (3 * VALIDATIONS)))
        self._tell_plan()
        self.at.speed = Speed(began=self.now)

    def _tell_plan(self) -> None:
        """How far the run goes and, within a budget, when it ends."""
        seconds, steps = self.config.seconds, self.plan.steps if self.plan.revisions else None
        told = {"plan": steps and steps * self._symbols, "skipped": self.skipped, "budget": seconds}
        self.report(told | {"left": seconds and seconds - self.now})

    def _due(self) -> bool:
        """Whether to validate: at the end, and whenever one more part of the run lies behind."""
        if not self.plan.revisions:
            return False
        return self._validations(self.at.step - 1) > self.at.validations or self.at.step == self.plan.steps

    def _validations(self, step: int) -> int:
        """How many lie behind in a step."""
        return int(self.plan.progress(step) * self.plan.validations)

    def _look_up(self) -> None:
        """After a step: stop, save or revise the plan: the main process decides for all."""
        late = self.now - self.saved > duration(self.config.checkpoint_every)
        revision = self._revision()
        stopping, saving, revising = self.group.all_reduce(
            [self.stopping(), *(self.group.is_main and wish for wish in (late, revision is not None))]
        )
        if revising:
            self._revise(revision)
        if saving or stopping:
            self._save()
        if stopping:
            kept = "continue with --resume" if self.folder else "nothing was kept"
            raise Stopped(f"stopped after {self.at.step} steps; {kept}.")

    def _revision(self) -> Revision | None:
        """Another plan, if the pace asks for one."""
        if self.budget is None or self.at.step >= self.plan.steps:
            return None
        if not self.plan.revisions and not self.budget.is_due(self.at.step, self.now):
            return None
        left = max(1, self.plan.validations - self.at.validations)
        found = self.budget.revision(self.plan, self.at.step, left, self.now, self.at.speed)
        threads = self.threads.wanted(self.at.threads)
        if threads == self.at.threads or not self.plan.revisions:
            return found
        return replace(found or self.plan.from_here(self.at.step, self.now), threads=threads)

    def _revise(self, revision: Revision | None) -> None:
        """Continue by another plan, that of the main process; the first one is made when judging has been timed."""
        if not self.plan.revisions and self.budget:
            self._try_judging()
            self._save()  # which is timed, too
            self._plan_judging(self.budget)
            revision = self._revision()
        self.at.plan = self.plan.revised(self.group.broadcast(revision))
        self.at.threads = self.plan.revisions[-1].threads or self.at.threads
        torch.set_num_threads(self.at.threads)
        self.at.validations = min(self.at.validations, 1 + self._validations(self.at.step))
        self._tell_plan()

    def _extend(self, budget: Budget) -> None:
        """More time after the end: the learning rate rises to what the longer plan says, and patience starts over."""
        self.at.ended, self.at.since, self.at.hope = False, 0, math.inf
        self.at.averaged, self.mean = 0, {}
        self._try_judging()
        self._plan_judging(budget)
        with self._holding(self.best):
            self.at.best = self._judge(self.plan.judged)
        fresh, left = replace(self.plan, revisions=()), self.plan.validations
        found = budget.revision(fresh, self.at.step, left, self.now, self.at.speed)
        self.at.plan = self.plan.revised(self.group.broadcast(found))
        self.at.validations = self._validations(self.at.step)
        self._tell_plan()

    def _try_judging(self) -> None:
        """Time a validation, and more of it if judging would seem long: many ids are read faster than few."""
        assert self.budget is not None
        ids, began = PROBE, self.now
        self._judge(ids)
        validation, size = self.at.speed.validation, self.valid.size if self.valid else 0
        while ids < size and self.group.broadcast(self.budget.is_unsure(self.now - began, self.at.speed)):
            ids *= 4
            self._judge(ids)
        self.at.speed = replace(self.at.speed, validation=validation)

    def _plan_judging(self, budget: Budget) -> None:
        """How often to validate, and on how much."""
        valid = self.valid.size if self.valid else 0
        validations, judged = self.group.broadcast(budget.judging(self.now, self.at.speed, valid))
        self.at.plan = replace(self.plan, validations=validations, judged=judged)

    @property
    def _epoch(self) -> int:
        """Steps in which all data are read."""
        return max(1, len(self.batches) // self.config.accumulate)

    @property
    def epochs(self) -> float:
        """How often all data were read."""
        return self.at.step / self._epoch

    def _batches(self) -> list[Batch]:
        """What the next step learns from."""
        parts = self.config.accumulate
        numbers = range(self.at.step * parts, (self.at.step + 1) * parts)
        return [self.batches.batch(*divmod(number, len(self.batches))) for number in numbers]

    @property
    def _symbols(self) -> int:
        """About how many symbols a step learns from."""
        return sum(batch.count for batch in self._batches())

    def _step(self, batches: Sequence[Batch]) -> None:
        """Teacher forcing: loss summed over time and batches, clipped gradient, one step of the optimiser."""
        began = self.now
        count = max(1, sum(batch.count for batch in batches))
        self.rates.thaw(self.network, self.plan.progress(self.at.step))
        nats = self._learn(batches, count, self.plan.rate(self.at.step, self.config.peak))
        self._average()
        self.at.step += 1
        if self.budget and self.at.step > 1:  # the first step warms up allocators and caches
            self.at.speed = self.at.speed.after_step(self.now - began, self.budget.memory)
        self.at.losses.add(self.at.step, nats, count)
        self.at.nats += nats
        self.at.count += count
        self.report({"step": self.at.step, "symbols": count, "loss": nats / count})

    def _learn(self, batches: Sequence[Batch], count: int, rate: float) -> float:
        """One step over `count` symbols; gives their loss."""
        self.optimizer.zero()
        [nats] = self.group.all_reduce([sum(self._learn_from(batch, count) for batch in batches)])
        norm = self._clip()
        check_finite(nats, norm, self.at.step + 1, self.config.peak, self.folder)
        self.at.figures.add(norm, self.config.clip_norm)
        self.optimizer.step(rate)
        return nats

    def _learn_from(self, batch: Batch, count: int) -> float:
        """Add the gradient of one batch, a part of a step over `count` symbols; gives its loss."""
        own = self.group.share(batch)
        if not len(own):
            return self._idle(batch)
        began = time.perf_counter()
        loss, state = self.network(own, self.state)
        (loss / count).backward()
        self.threads.after_batch(time.perf_counter() - began, own.tokens.size)
        self.state = state.detach() if self.body.context is None else None
        return float(loss.detach())

    def _idle(self, batch: Batch) -> float:
        """Nothing to learn from: there are more processes than rows."""
        self.state = self.body.start(0).detach() if self.body.context is None else None
        return 0.0

    def _clip(self) -> float:
        """Add up the gradients of all processes and scale down what is too large; gives the norm before."""
        self.group.add_gradients(self.network.parameters())
        most = self.config.clip_norm or math.inf
        return float(torch.nn.utils.clip_grad_norm_(self.network.parameters(), most))

    def _weights(self) -> dict[str, Tensor]:
        """The weights this process holds, by name."""
        return self.network.state_dict()

    def _take(self, weights: dict[str, Tensor]) -> None:
        """Continue with these."""
        self.network.load_state_dict(weights)

    def _average(self) -> None:
        """The mean of the weights over the last part of the run, step by step."""
        if not self.config.average or self.plan.progress(self.at.step) < AVERAGED:
            return
        self.at.averaged += 1
        with torch.no_grad():
            for name, value in self._weights().items():
                mean = self.mean.setdefault(name, value.clone())
                if value.is_floating_point():  # spellings stay as they are
                    mean += (value - mean) / self.at.averaged

    def _validate(self, journal: Journal | None) -> bool:
        """Judge, keep the best weights, write a line; True when there is no hope of getting better."""
        with self._holding(self.mean):
            judged = self._judge(self.plan.judged)
            self._keep()
            better = judged <= self.at.best or not self.best
            if better:
                self.best = {name: value.clone() for name, value in self._weights().items()}
        self.at.best = min(self.at.best, judged)
        self.at.validations = self._validations(self.at.step - 1)
        self.at.since = 0 if judged <= self.at.hope else self.at.since + 1
        self.at.hope = min(self.at.hope, judged)
        line = {"step": self.at.step, "train": self.at.nats / max(1, self.at.count), "valid": judged}
        line |= self.at.figures.taken(self.plan.rate(self.at.step - 1, self.config.peak), self.network)
        self.at.nats, self.at.count = 0.0, 0
        self.at.history.append(line)
        if journal:
            journal.add(**line)
        self.report(line)
        return bool(self.config.patience and self.at.since >= self.config.patience)

    def _keep(self) -> None:
        """The weights that are judged, if some are to be kept."""
        if self.config.keep and self.folder is not None:
            arrays = self._whole({f"model/{name}": one for name, one in self._weights().items()})
            if self.group.is_main:
                keep(self.folder, self.at.step, under(arrays, "model/"), self.config.keep)

    @contextmanager
    def _holding(self, weights: dict[str, Tensor]) -> Iterator[None]:
        """The model with other weights, such as averaged ones, where there are any."""
        if not weights:
            yield
            return
        own = {name: value.clone() for name, value in self._weights().items()}
        self._take(weights)
        try:
            yield
        finally:
            self._take(own)

    def _judge(self, most: int) -> float:
        """The loss on the validation part, timed."""
        began = self.now
        found = self._loss_on_valid(most)
        read = min(most, self.valid.size if self.valid else 1)
        self.at.speed = self.at.speed.after_judging(self.now - began, read)
        return found

    def _loss_on_valid(self, most: int) -> float:
        """The task's own loss on about `most` symbols of the validation part."""
        if self.valid is None:
            return self.at.nats / max(1, self.at.count)
        return self.network.task.validate(
            self.network.reader, self.network.head, self.valid.part, self.valid.batches, most
        )

    def _finish(self) -> None:
        self.at.ended = True  # whatever it is, more time may follow
        if self.timing.planned is not None:
            self._save()
        if self.best:
            self._take(self.best)
        self.network.eval()

    def _save(self) -> None:
        self.saved = self.now
        if self.folder is not None:
            found = self.snapshot()
            if self.group.is_main:
                save(self.folder, found)
            self.at.speed = replace(self.at.speed, saving=self.now - self.saved)

    def snapshot(self) -> Checkpoint:
        """Everything that decides what happens next."""
        arrays = {f"model/{name}": value for name, value in self._weights().items()}
        arrays |= {f"best/{name}": value for name, value in self.best.items()}
        arrays |= {f"mean/{name}": value for name, value in self.mean.items()}
        arrays |= {f"optimizer/{name}": value for name, value in self.optimizer.state().items()}
        if self.state is not None:
            shares = zip(*self.group.gathered(self.state.tensors()), strict=True)
            arrays |= {f"state/{number}": interleaved(rows) for number, rows in enumerate(shares)}
        random = self.group.gathered(torch.get_rng_state())
        arrays |= {f"random/{rank}": one for rank, one in enumerate(random)}
        return Checkpoint(self._whole(arrays), asdict(self.at) | {"passed": self.now})

    def _whole(self, arrays: dict[str, Tensor]) -> dict[str, np.ndarray]:
        """What this process holds, as a checkpoint has it."""
        return {name: value.detach().cpu().numpy() for name, value in arrays.items()}

    def _own(self, name: str, array: np.ndarray) -> np.ndarray:
        """What this process holds of an array of a checkpoint."""
        return np.array(array)

    def restore(self) -> bool:
        """Go back to where the run in the folder stopped; False if it has no checkpoint."""
        found = load(self.folder) if self.folder else None
        if found is None:
            return False
        arrays = {name: torch.from_numpy(self._own(name, array)) for name, array in found.arrays.items()}
        self.at = Progressing.from_values(found.facts)
        self.saved = self.now
        if self.at.ended:  # a new round: the machine may be less busy, or more
            self.at.threads = torch.get_num_threads()
        torch.set_num_threads(self.at.threads)
        self._take(under(arrays, "model/"))
        self.best, self.mean = under(arrays, "best/"), under(arrays, "mean/")
        self.optimizer.restore(under(arrays, "optimizer/"))
        held = under(arrays, "state/")
        if held:
            rows = [held[str(number)][self.group.rank :: self.group.size] for number in range(len(held))]
            self.state = self.body.start(len(rows[0])).filled(rows)
        if f"random/{self.group.rank}" in arrays:
            torch.set_rng_state(arrays[f"random/{self.group.rank}"])
        return True
