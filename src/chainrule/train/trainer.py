"""The one loop that trains every model with gradients, and can stop anywhere and go on exactly.

Everything that decides what happens next is in the checkpoint: weights, optimiser, carried memory, random state,
the plan, the place in the data, the best weights so far. Time decides nothing after the plan is made.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from chainrule.data.batches import Batch, Batches
from chainrule.data.corpus import Corpus
from chainrule.errors import ConfigError, ModelError, Stopped
from chainrule.judge.score import score_ids, taste
from chainrule.models.base import State
from chainrule.models.neural import Neural
from chainrule.models.sizing import EPOCHS
from chainrule.runtime import reuse_memory
from chainrule.train.carried import detached, filled, interleaved, tensors
from chainrule.train.checkpoint import Checkpoint, Journal, load, save
from chainrule.train.config import TrainConfig
from chainrule.train.muon import Muon
from chainrule.train.optimizer import AdamW
from chainrule.train.schedule import PROBE, VALIDATIONS, Plan, plan_budget, plan_steps
from chainrule.train.together import ALONE, Together

WARM = 2  # the first steps warm up allocators and caches
MEASURE = 20  # steps by which the speed is judged before a budget is turned into a plan
AVERAGED = 0.75  # of the steps are done when averaging begins


@dataclass
class Progressing:
    """Where a run stands; plain values only."""

    step: int = 0
    best: float = math.inf  # nats per symbol on the validation part
    since: int = 0  # validations since the best
    nats: float = 0.0  # of the training loss since the last validation
    count: int = 0
    averaged: int = 0  # how many steps are in the average
    learning: float = 0.0  # seconds spent on steps, those that warm up left out
    reading: float = 0.0  # seconds that judging takes for each id
    passed: float = 0.0  # seconds before this process went on
    threads: int = field(default_factory=torch.get_num_threads)  # sums depend on how work is shared out
    plan: dict[str, Any] | None = None


@dataclass
class Trainer:
    """One run: made fresh, or restored from the folder where it stopped."""

    model: Neural
    batches: Batches
    valid: Corpus | None
    config: TrainConfig
    folder: Path | None = None
    report: Callable[[dict[str, Any]], object] = lambda values: None
    stopping: Callable[[], bool] = lambda: False
    at: Progressing = field(default_factory=Progressing)
    began: float = field(default_factory=time.monotonic)  # what a budget counts from
    together: Together = ALONE
    exam: Batches | None = None  # holes in the validation part, for models that read both ways

    def __post_init__(self) -> None:
        torch.manual_seed(self.config.seed + 1_000_003 * self.together.rank)
        self.optimizer = self._optimizer()
        self.state: State | None = None
        self.best: dict[str, Tensor] = {}
        self.mean: dict[str, Tensor] = {}
        self.saved = time.monotonic()

    def _optimizer(self) -> AdamW:
        if self.config.optimizer == "adamw":
            return AdamW(self.model.parameters(), self.config.decay)
        matrices = list(self.model.matrices())
        if not matrices or self.config.shard:
            raise ConfigError(
                "Muon moves whole matrices of attention layers, and has none here. Use --optimizer adamw."
            )
        return Muon(self.model.parameters(), matrices, self.config.decay)

    @staticmethod
    def prepare_memory() -> None:
        """Before anything large is made."""
        reuse_memory()

    def run(self) -> None:
        """Train to the end of the plan, then leave the best weights in the model."""
        journal = Journal(self.folder, self.at.step) if self.folder and self.together.chief else None
        self.model.train()
        while self.at.plan is None or self.at.step < self.plan.steps:
            self._plan_when_ready()
            self._step(self._batches())
            if self._due() and self._validate(journal):
                break
            self._save_when_due()
        self._finish()

    def _due(self) -> bool:
        if self.at.plan is None:
            return False
        return self.at.step % self.plan.every == 0 or self.at.step == self.plan.steps

    @property
    def plan(self) -> Plan:
        assert self.at.plan is not None
        return Plan(**self.at.plan)

    def _plan_when_ready(self) -> None:
        """Fix what is to be done: at once, or, for a budget, when the speed has been measured.

        The first steps are few; when a fifth is done, the rest of the time is planned once more.
        """
        if self.at.plan is None and self.config.seconds is None:
            self.at.plan = asdict(self._plan_length())
        elif self.at.plan is None and self.at.step >= MEASURE:
            self.at.reading = self._seconds_to_read()
            self._plan_time(final=False)
        elif self.at.plan is not None and not self.plan.final and self.at.step >= self.plan.steps // 5:
            self._plan_time(final=True)
        else:
            return
        if self.at.plan is not None:
            self.report({"plan": self.plan.steps * self._symbols})

    def _plan_length(self) -> Plan:
        epoch = self._epoch
        steps = self._asked_steps(epoch)
        learnt = steps * self._symbols // VALIDATIONS  # between two validations
        return plan_steps(steps, max(PROBE, learnt // 3), f"{steps:,} steps ({steps / epoch:.1f} epochs)")

    def _plan_time(self, final: bool) -> None:
        assert self.config.seconds is not None
        left = self.config.seconds - self.at.passed - (time.monotonic() - self.began)
        pace = self.at.learning / max(1, self.at.step - WARM)
        valid = len(self.valid.ids) if self.valid else 0
        plan = plan_budget(left, pace, self.at.step, self._epoch, self.at.reading, valid)
        if final:  # validations stay comparable
            plan = replace(plan, judged=self.plan.judged, final=True)
        self.at.plan = self.together.agreed(asdict(plan))
        self._save()

    def _seconds_to_read(self) -> float:
        """How long judging takes, for each id of the validation part."""
        began = time.monotonic()
        self._loss_on_valid(PROBE)
        return (time.monotonic() - began) / max(1, min(PROBE, len(self.valid.ids) if self.valid else 1))

    @property
    def _epoch(self) -> int:
        """Steps in which all data are read."""
        return max(1, len(self.batches) // self.config.accumulate)

    def _asked_steps(self, epoch: int) -> int:
        if self.config.tokens is not None:
            return max(1, round(self.config.tokens / max(1, self._symbols)))
        epochs = EPOCHS if self.config.epochs is None else self.config.epochs
        return max(1, round(epochs * epoch))

    def _batches(self) -> list[Batch]:
        """What the next step learns from."""
        parts = self.config.accumulate
        numbers = range(self.at.step * parts, (self.at.step + 1) * parts)
        return [self.batches.batch(*divmod(number, len(self.batches))) for number in numbers]

    @property
    def _symbols(self) -> int:
        """About how many symbols a step learns from."""
        return sum(batch.symbols for batch in self._batches())

    def _step(self, batches: Sequence[Batch]) -> None:
        """Teacher forcing: loss summed over time and batches, clipped gradient, one step of the optimiser."""
        began = time.monotonic()
        rate = (
            self.plan.rate(self.at.step, self._peak)
            if self.at.plan
            else self._peak * (self.at.step + 1) / 100
        )
        count = max(1, sum(batch.symbols for batch in batches))
        self.optimizer.zero()
        [nats] = self.together.total([sum(self._learn_from(batch, count) for batch in batches)])
        self._check(nats, self._clip())
        self.optimizer.step(rate)
        self.at.step += 1
        if self.at.step > WARM:
            self.at.learning += time.monotonic() - began
        self.at.nats += nats
        self.at.count += count
        self._average()
        self.report({"step": self.at.step, "symbols": count, "loss": nats / count})

    def _learn_from(self, batch: Batch, count: int) -> float:
        """Add the gradient of one batch, a part of a step over `count` symbols; gives its loss."""
        own = self.together.share(batch)
        tokens, targets = torch.from_numpy(own.tokens), torch.from_numpy(own.targets)  # (B, T)
        if not len(tokens):
            return self._idle(batch)
        state = self.model.start(len(tokens)) if self.state is None or not batch.goes_on else self.state
        loss, state = self.model.loss(tokens, targets, state, self.config.label_smoothing)
        (loss / count).backward()  # type: ignore[no-untyped-call]
        self.state = detached(state) if self.model.context is None else None
        return float(loss.detach())

    def _idle(self, batch: Batch) -> float:
        """Nothing to learn from: there are more processes than rows."""
        self.state = self.model.start(0) if self.model.context is None else None
        return 0.0

    def _clip(self) -> float:
        """Add up the gradients of all processes and scale down what is too large; gives the norm before."""
        self.together.add_gradients(self.model.parameters())
        return float(torch.nn.utils.clip_grad_norm_(self.model.parameters(), self.config.clip or math.inf))

    def _weights(self) -> dict[str, Tensor]:
        """The weights this process holds, by name."""
        return self.model.state_dict()

    def _take(self, weights: dict[str, Tensor]) -> None:
        """Go on with these."""
        self.model.load_state_dict(weights)

    @property
    def _peak(self) -> float:
        return 0.003 if self.config.rate is None else self.config.rate

    def _check(self, nats: float, norm: float) -> None:
        if math.isfinite(nats) and math.isfinite(norm):
            return
        kept = f" The last checkpoint is intact in {self.folder}." if self.folder else ""
        raise ModelError(
            f"The loss became {nats} (gradient norm {norm}) at step {self.at.step + 1}: training diverged. "
            f"Try a lower --rate than {self._peak:g}, or a smaller --clip.{kept}"
        )

    def _average(self) -> None:
        """The mean of the weights over the last part of the run, step by step."""
        if not (self.config.average and self.at.plan) or self.at.step < AVERAGED * self.plan.steps:
            return
        self.at.averaged += 1
        with torch.no_grad():
            for name, value in self._weights().items():
                mean = self.mean.setdefault(name, value.clone())
                mean += (value - mean) / self.at.averaged

    def _validate(self, journal: Journal | None) -> bool:
        """Judge, keep the best weights, write a line; True when there is no hope of getting better."""
        with self._averaged():
            judged = self._loss_on_valid(self.plan.judged)
            better = judged <= self.at.best or not self.best
            if better:
                self.best = {name: value.clone() for name, value in self._weights().items()}
        self.at.best = min(self.at.best, judged)
        self.at.since = 0 if better else self.at.since + 1
        line = {"step": self.at.step, "train": self.at.nats / max(1, self.at.count), "valid": judged}
        self.at.nats, self.at.count = 0.0, 0
        if journal:
            journal.add(**line)
        self.report(line)
        return bool(self.config.patience and self.at.since >= self.config.patience)

    @contextmanager
    def _averaged(self) -> Iterator[None]:
        """The model with its averaged weights, where there are any."""
        if not self.mean:
            yield
            return
        own = {name: value.clone() for name, value in self._weights().items()}
        self._take(self.mean)
        try:
            yield
        finally:
            self._take(own)

    def _loss_on_valid(self, most: int) -> float:
        """Nats per symbol on about `most` ids of the validation part."""
        if self.valid is None:
            return self.at.nats / max(1, self.at.count)
        if self.exam is not None:
            return self._examined(self.exam, most)
        score = score_ids(self.model, taste(self.valid.ids, most))
        return score.bits_per_symbol * math.log(2.0)

    def _examined(self, exam: Batches, most: int) -> float:
        """Nats per hole of the first batches of an exam, about `most` ids."""
        nats, holes, seen = 0.0, 0, 0
        with self.model.answering():
            for number in range(len(exam)):
                batch = exam.batch(0, number)
                tokens, targets = torch.from_numpy(batch.tokens), torch.from_numpy(batch.targets)
                loss, _ = self.model.loss(tokens, targets, self.model.start(len(tokens)))
                nats, holes, seen = nats + float(loss), holes + batch.symbols, seen + tokens.numel()
                if seen >= most:
                    break
        return nats / max(1, holes)

    def _save_when_due(self) -> None:
        due = time.monotonic() - self.saved > 60 * self.config.minutes
        stopping, saving = self.together.total([self.stopping(), due and self.together.chief])
        if stopping:
            self._save()
            kept = "go on with --resume" if self.folder and self.at.plan else "too early to keep anything"
            raise Stopped(f"stopped after {self.at.step} steps; {kept}.")
        if saving:
            self._save()

    def _finish(self) -> None:
        if self.best:
            self._take(self.best)
        self.model.eval()

    def _save(self) -> None:
        self.saved = time.monotonic()
        if self.folder is not None and self.at.plan is not None:
            found = self.snapshot()
            if self.together.chief:
                save(self.folder, found)

    def snapshot(self) -> Checkpoint:
        """Everything that decides what happens next."""
        arrays = {f"model/{name}": value for name, value in self._weights().items()}
        arrays |= {f"best/{name}": value for name, value in self.best.items()}
        arrays |= {f"mean/{name}": value for name, value in self.mean.items()}
        arrays |= {f"optimizer/{name}": value for name, value in self.optimizer.state().items()}
        if self.state is not None:
            shares = zip(*self.together.gathered(list(tensors(self.state))), strict=True)
            arrays |= {f"state/{number}": interleaved(rows) for number, rows in enumerate(shares)}
        luck = self.together.gathered(torch.get_rng_state())
        arrays |= {f"random/{rank}": one for rank, one in enumerate(luck)}
        passed = self.at.passed + time.monotonic() - self.began
        return Checkpoint(self._whole(arrays), asdict(self.at) | {"passed": passed})

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
        self.at = Progressing(**found.facts)
        torch.set_num_threads(self.at.threads)
        self._take(_under(arrays, "model/"))
        self.best, self.mean = _under(arrays, "best/"), _under(arrays, "mean/")
        self.optimizer.restore(_under(arrays, "optimizer/"))
        held = _under(arrays, "state/")
        if held:
            rows = [
                held[str(number)][self.together.rank :: self.together.size] for number in range(len(held))
            ]
            self.state = filled(self.model.start(len(rows[0])), iter(rows))
        if f"random/{self.together.rank}" in arrays:
            torch.set_rng_state(arrays[f"random/{self.together.rank}"])
        return True


def _under(arrays: dict[str, Tensor], prefix: str) -> dict[str, Tensor]:
    return {name.removeprefix(prefix): value for name, value in arrays.items() if name.startswith(prefix)}
