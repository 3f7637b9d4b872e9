"""The one loop that trains every model with gradients, and can stop anywhere and go on exactly.

Everything that decides what happens next is in the checkpoint: weights, optimiser, carried memory, random state,
the plan, the place in the data, the best weights so far. Time decides nothing after the plan is made.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, fields, is_dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from chainrule.data.batches import Batch, Batches
from chainrule.data.corpus import Corpus
from chainrule.errors import ModelError, Stopped
from chainrule.judge.score import score_ids
from chainrule.models.base import State
from chainrule.models.neural import Neural
from chainrule.train.checkpoint import Checkpoint, Journal, load, save
from chainrule.train.config import TrainConfig
from chainrule.train.optimizer import AdamW
from chainrule.train.schedule import Plan, plan_budget, plan_steps

MEASURE = 20  # steps by which the speed is judged before a budget is turned into a plan
EPOCHS = 10.0  # when neither budget nor length is given
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
    report: Callable[[dict[str, Any]], None] = lambda values: None
    stopping: Callable[[], bool] = lambda: False
    at: Progressing = field(default_factory=Progressing)

    def __post_init__(self) -> None:
        torch.manual_seed(self.config.seed)
        self.optimizer = AdamW(self.model.parameters(), self.config.decay)
        self.state: State | None = None
        self.best: dict[str, Tensor] = {}
        self.mean: dict[str, Tensor] = {}
        self.began = self.saved = time.monotonic()

    def run(self) -> None:
        """Train to the end of the plan, then leave the best weights in the model."""
        journal = Journal(self.folder, self.at.step) if self.folder else None
        self.model.train()
        while self.at.plan is None or self.at.step < self.plan.steps:
            self._plan_when_ready()
            self._step(self._batch())
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
        """Fix what is to be done: at once, or, for a budget, when the speed has been measured."""
        epoch = len(self.batches)
        if self.at.plan is not None:
            return
        if self.config.seconds is None:
            steps = self._asked_steps(epoch)
            self.at.plan = asdict(plan_steps(steps, 20, f"{steps:,} steps ({steps / epoch:.1f} epochs)"))
        elif self.at.step >= MEASURE:
            passed = time.monotonic() - self.began
            pace = (time.monotonic() - self.paced) / (self.at.step - 2)
            began = time.monotonic()
            self._loss_on_valid()
            validation = time.monotonic() - began
            left = self.config.seconds - passed - 2 * validation
            self.at.plan = asdict(plan_budget(left, pace, self.at.step, epoch, validation))
            self._save()
        if self.at.plan is not None:
            self.report({"plan": self.plan.steps * self._batch().symbols})

    def _asked_steps(self, epoch: int) -> int:
        if self.config.tokens is not None:
            return max(1, round(self.config.tokens / max(1, self._batch().symbols)))
        epochs = EPOCHS if self.config.epochs is None else self.config.epochs
        return max(1, round(epochs * epoch))

    def _batch(self) -> Batch:
        return self.batches.batch(*divmod(self.at.step, len(self.batches)))

    def _step(self, batch: Batch) -> None:
        """Teacher forcing on one batch: loss summed over time, clipped gradient, one step of the optimiser."""
        if self.at.step == 2:  # the first steps warm up allocators and caches
            self.paced = time.monotonic()
        rate = (
            self.plan.rate(self.at.step, self._peak)
            if self.at.plan
            else self._peak * (self.at.step + 1) / 100
        )
        tokens, targets = torch.from_numpy(batch.tokens), torch.from_numpy(batch.targets)  # (B, T)
        fresh = self.state is None or not batch.goes_on
        state = self.model.start(len(tokens)) if fresh else self.state
        assert state is not None
        loss, state = self.model.loss(tokens, targets, state, self.config.label_smoothing)
        count = max(1, batch.symbols)
        self.optimizer.zero()
        (loss / count).backward()  # type: ignore[no-untyped-call]
        norm = torch.nn.utils.clip_grad_norm_(self.model.parameters(), self.config.clip or math.inf)
        nats = float(loss.detach())
        self._check(nats, float(norm))
        self.optimizer.step(rate)
        self.state = _detached(state)
        self.at.step += 1
        self.at.nats += nats
        self.at.count += count
        self._average()
        self.report({"step": self.at.step, "symbols": count, "loss": nats / count})

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
            for name, value in self.model.state_dict().items():
                mean = self.mean.setdefault(name, value.clone())
                mean += (value - mean) / self.at.averaged

    def _validate(self, journal: Journal | None) -> bool:
        """Judge, keep the best weights, write a line; True when there is no hope of getting better."""
        with self._averaged():
            judged = self._loss_on_valid()
            better = judged <= self.at.best or not self.best
            if better:
                self.best = {name: value.clone() for name, value in self.model.state_dict().items()}
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
        own = {name: value.clone() for name, value in self.model.state_dict().items()}
        self.model.load_state_dict(self.mean)
        try:
            yield
        finally:
            self.model.load_state_dict(own)

    def _loss_on_valid(self) -> float:
        if self.valid is None:
            return self.at.nats / max(1, self.at.count)
        score = score_ids(self.model, self.valid.ids)
        return score.bits_per_symbol * math.log(2.0)

    def _save_when_due(self) -> None:
        if self.stopping():
            self._save()
            kept = "go on with --resume" if self.folder and self.at.plan else "too early to keep anything"
            raise Stopped(f"stopped after {self.at.step} steps; {kept}.")
        if time.monotonic() - self.saved > 60 * self.config.minutes:
            self._save()

    def _finish(self) -> None:
        if self.best:
            self.model.load_state_dict(self.best)
        self.model.eval()

    def _save(self) -> None:
        self.saved = time.monotonic()
        if self.folder is not None and self.at.plan is not None:
            save(self.folder, self.snapshot())

    def snapshot(self) -> Checkpoint:
        """Everything that decides what happens next."""
        arrays = {f"model/{name}": value for name, value in self.model.state_dict().items()}
        arrays |= {f"best/{name}": value for name, value in self.best.items()}
        arrays |= {f"mean/{name}": value for name, value in self.mean.items()}
        arrays |= {f"optimizer/{name}": value for name, value in self.optimizer.state().items()}
        if self.state is not None:
            arrays |= {f"state/{number}": value for number, value in enumerate(_tensors(self.state))}
        arrays["random"] = torch.get_rng_state()
        plain = {name: value.detach().cpu().numpy() for name, value in arrays.items()}
        return Checkpoint(plain, asdict(self.at))

    def restore(self) -> bool:
        """Go back to where the run in the folder stopped; False if it has no checkpoint."""
        found = load(self.folder) if self.folder else None
        if found is None:
            return False
        arrays = {name: torch.from_numpy(np.array(array)) for name, array in found.arrays.items()}
        self.at = Progressing(**found.facts)
        torch.set_num_threads(self.at.threads)
        self.model.load_state_dict(_under(arrays, "model/"))
        self.best, self.mean = _under(arrays, "best/"), _under(arrays, "mean/")
        self.optimizer.restore(_under(arrays, "optimizer/"))
        held = _under(arrays, "state/")
        if held:
            blank = self.model.start(len(held["0"]))
            self.state = _filled(blank, iter([held[str(number)] for number in range(len(held))]))
        torch.set_rng_state(arrays["random"])
        return True


def _under(arrays: dict[str, Tensor], prefix: str) -> dict[str, Tensor]:
    return {name.removeprefix(prefix): value for name, value in arrays.items() if name.startswith(prefix)}


def _detached(state: State) -> State:
    """The same memory, cut off from the gradient."""
    detached: State = _filled(state, (tensor.detach() for tensor in _tensors(state)))
    return detached


def _tensors(value: Any) -> Iterator[Tensor]:
    """All tensors of a state, in order."""
    if isinstance(value, Tensor):
        yield value
    elif isinstance(value, tuple | list):
        for item in value:
            yield from _tensors(item)
    elif is_dataclass(value):
        for one in fields(value):
            yield from _tensors(getattr(value, one.name))


def _filled(value: Any, tensors: Iterator[Tensor]) -> Any:
    """A state like `value` with these tensors in it."""
    if isinstance(value, Tensor):
        return next(tensors)
    if isinstance(value, tuple | list):
        return type(value)(_filled(item, tensors) for item in value)
    if is_dataclass(value) and not isinstance(value, type):
        return replace(
            value, **{one.name: _filled(getattr(value, one.name), tensors) for one in fields(value)}
        )
    return value
