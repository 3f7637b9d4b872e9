"""Learning by gradient: sizes and rates from the data and the budget, then the one loop, stoppable at any moment."""

from __future__ import annotations

import math
import signal
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from types import FrameType
from typing import Any

import torch

from chainrule.data.batches import Batches, batches_for
from chainrule.data.dataset import Prepared
from chainrule.errors import BundleError
from chainrule.models.neural import Neural
from chainrule.progress import Progress, Step
from chainrule.runtime import reuse_memory
from chainrule.train.checkpoint import FILE
from chainrule.train.config import TrainConfig
from chainrule.train.trainer import Trainer

ROWS, SPAN = 16, 64


@dataclass(frozen=True)
class Learnt:
    """A trained model and what there is to say about the training."""

    model: Neural
    notes: tuple[str, ...]
    facts: Mapping[str, Any]  # for the card


def learn(
    kind: type[Neural],
    settings: Any,
    prepared: Prepared,
    config: TrainConfig,
    folder: Path | None,
    resume: bool,
    progress: Progress,
) -> Learnt:
    """Train a family on prepared data; `folder` is where a run can be stopped and resumed."""
    reuse_memory()
    config = replace(config, rows=config.rows or ROWS, span=config.span or SPAN)
    model = kind.seeded(settings, config.seed)
    batches = _batches(prepared, settings, config)
    settle_threads(model, batches)
    with _interruptible() as stopping, progress("training", None, "symbols") as step:
        watcher = _Watcher(step)
        trainer = Trainer(model, batches, prepared.valid, config, folder, watcher, stopping)
        _restore(trainer, folder, resume)
        trainer.run()
    if folder is not None:
        (folder / FILE).unlink(missing_ok=True)
    facts = {"steps": trainer.at.step, "best": trainer.at.best, "seconds": time.monotonic() - trainer.began}
    return Learnt(model, (trainer.plan.reason,), {"training": facts, "settings": config.values()})


def settle_threads(model: Neural, batches: Batches) -> None:
    """Use one core where two are slower.

    Threads of a recurrent step wait for each other thousands of times a second; when another program keeps a core
    busy, that wait makes two threads up to thirty times as slow as one.
    """
    most = torch.get_num_threads()
    batch = batches.batch(0, 0)

    def seconds(threads: int) -> float:
        torch.set_num_threads(threads)
        began = time.perf_counter()
        tokens, targets = torch.from_numpy(batch.tokens), torch.from_numpy(batch.targets)
        loss, _ = model.loss(tokens, targets, model.start(len(tokens)))
        loss.backward()  # type: ignore[no-untyped-call]
        return time.perf_counter() - began

    with torch.random.fork_rng(devices=[]):
        taken = {threads: min(seconds(threads) for _ in range(3)) for threads in {1, most}}
    model.zero_grad(set_to_none=False)
    torch.set_num_threads(1 if taken[1] < taken[most] else most)


def _batches(prepared: Prepared, settings: Any, config: TrainConfig) -> Batches:
    assert config.rows is not None and config.span is not None
    carry = bool(getattr(settings, "carry", False))
    return batches_for(prepared.train, config.rows, config.span, carry, config.seed)


def _restore(trainer: Trainer, folder: Path | None, resume: bool) -> None:
    there = folder is not None and (folder / FILE).exists()
    if resume:
        trainer.restore()
    elif there:
        raise BundleError(
            f"{folder} holds a run that was stopped. Go on with --resume, or remove the folder to start anew."
        )


@contextmanager
def _interruptible() -> Iterator[Callable[[], bool]]:
    """Ctrl-C and SIGTERM ask the loop to stop after its step; a second one stops at once."""
    asked = threading.Event()
    if threading.current_thread() is not threading.main_thread():
        yield asked.is_set
        return
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}

    def ask(number: int, frame: FrameType | None) -> None:
        if asked.is_set():
            raise KeyboardInterrupt
        asked.set()

    for number in before:
        signal.signal(number, ask)
    try:
        yield asked.is_set
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


class _Watcher:
    """Turns what the trainer reports into progress: symbols a second, loss, validation, time left."""

    def __init__(self, step: Step) -> None:
        self.step = step
        self.smooth = math.nan  # the training loss, averaged over the last few dozen steps
        self.valid = ""

    def __call__(self, values: Mapping[str, Any]) -> None:
        if "plan" in values:
            self.step.total = values["plan"]
        if "symbols" in values:
            loss = values["loss"]
            self.smooth = loss if math.isnan(self.smooth) else 0.97 * self.smooth + 0.03 * loss
            self.step(values["symbols"])
        if "valid" in values:
            self.valid = f", valid {values['valid']:.3f}"
        self.step.words = f"loss {self.smooth:.3f}{self.valid}"
