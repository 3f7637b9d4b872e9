"""Learning by gradient: sizes and rates from the data and the budget, then the one loop, stoppable at any moment."""

from __future__ import annotations

import math
import signal
import threading
import time
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any

import torch

from chainrule.data.batches import Batches, batches_for
from chainrule.data.corpus import Corpus
from chainrule.data.dataset import Prepared
from chainrule.data.masked import Holes, masked_batches
from chainrule.errors import BundleError, ConfigError, ModelError
from chainrule.models.bert import Bert
from chainrule.models.neural import Neural
from chainrule.progress import Progress, Step
from chainrule.train.board import Board
from chainrule.train.checkpoint import FILE
from chainrule.train.config import TrainConfig
from chainrule.train.settings import FILE as SETTINGS
from chainrule.train.settings import Settings, settle
from chainrule.train.settings import load as load_settings
from chainrule.train.settings import save as save_settings
from chainrule.train.together import is_chief, processes, together
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
    given: Collection[str],
    folder: Path | None,
    resume: bool,
    progress: Progress,
) -> Learnt:
    """Train a family on prepared data; `folder` is where a run can be stopped and resumed.

    Settings that are not `given` are chosen for the data and the time.
    """
    began = time.monotonic()
    asked = settle(kind, settings, config, prepared, given)
    _trainer(kind, asked)  # refuses what cannot be, before anything is written
    settled = _settled(asked, folder, given, resume)
    make = _trainer(kind, settled)
    make.prepare_memory()
    with _enough_memory(folder):
        model = kind.seeded(settled.model, settled.train.seed)
        model.meet(prepared.train.ids)
        batches = _batches(model, prepared, prepared.train, settled.train)
        if not settled.train.shard:  # there it would hold all gradients once; torchrun says how many threads
            settle_threads(model, batches)
        with together() as group:
            if (settled.train.rows or ROWS) < group.size:
                raise ConfigError(f"{group.size} processes share the rows: give --rows {group.size} or more.")
            trainer = make(
                model,
                batches,
                prepared.valid,
                settled.train,
                folder,
                began=began,
                together=group,
                exam=_exam(model, prepared, settled.train),
            )
            _run(trainer, resume, progress)
    if folder is not None and is_chief():
        (folder / FILE).unlink(missing_ok=True)
    facts = {"steps": trainer.at.step, "best": trainer.at.best, "seconds": time.monotonic() - trainer.began}
    notes = (settled.chosen, trainer.plan.reason) if settled.chosen else (trainer.plan.reason,)
    return Learnt(trainer.model, notes, {"training": facts, "settings": settled.train.values()})


def _trainer(kind: type[Neural], settings: Settings) -> type[Trainer]:
    """Who trains: with the whole model in every process, or with a part of it in each."""
    if not settings.train.shard:
        return Trainer
    from chainrule.train.shard import Sharded, check

    check(kind, settings.model, processes())
    return Sharded


def _run(trainer: Trainer, resume: bool, progress: Progress) -> None:
    """Train to the end, or until asked to stop, with somebody watching."""
    if resume:
        trainer.restore()
    with _interruptible() as stopping, progress("training", None, "symbols") as step, ExitStack() as stack:
        watchers: list[Callable[[Mapping[str, Any]], None]] = [_Watcher(step)]
        if trainer.config.tensorboard and trainer.folder is not None and trainer.together.chief:
            board = Board(trainer.folder, trainer.at.step)
            stack.callback(board.close)
            watchers.append(board)
        trainer.stopping = stopping
        trainer.report = lambda values: [watcher(values) for watcher in watchers]
        trainer.run()


@contextmanager
def _enough_memory(folder: Path | None) -> Iterator[None]:
    """What to do about a model that is too large for the machine."""
    try:
        yield
    except (MemoryError, RuntimeError) as error:
        if not isinstance(error, MemoryError) and "allocate memory" not in str(error):
            raise
        kept = f" The last checkpoint is intact in {folder}." if folder and (folder / FILE).exists() else ""
        raise ModelError(
            "There is not enough memory for this training. Take a smaller --width, fewer --rows, a shorter --span, "
            f"or --samples 1024 if the alphabet is large.{kept}"
        ) from error


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


def _batches(model: Neural, prepared: Prepared, part: Corpus, config: TrainConfig) -> Batches:
    """What the family learns from: what comes next, or what is hidden."""
    rows, span = config.rows or ROWS, config.span or SPAN
    carry = bool(getattr(model.config, "carry", False))
    if model.reads == "left":
        return batches_for(part, rows, span, carry, config.seed, model.context)
    assert isinstance(model, Bert)
    begins = prepared.codec.begins() if model.config.whole_words else None
    holes = Holes(model.config.hidden_share, model.config.alphabet, begins)
    longest = model.config.context - (3 if model.config.pairs else 1)
    return masked_batches(part, rows * span, longest, holes, model.config.pairs, config.seed)


def _exam(model: Neural, prepared: Prepared, config: TrainConfig) -> Batches | None:
    """Holes in the validation part, always the same ones: asking for every symbol in turn would take too long."""
    if model.reads == "left" or prepared.valid is None:
        return None
    return _batches(model, prepared, prepared.valid, config)


def _settled(settled: Settings, folder: Path | None, given: Collection[str], resume: bool) -> Settings:
    """A fresh run keeps its settings; one that goes on has those it began with."""
    if folder is None:
        return settled
    if (folder / FILE).exists() and not resume:
        raise BundleError(
            f"{folder} holds a run that was stopped. Go on with --resume, or remove the folder to start anew."
        )
    if resume and (folder / SETTINGS).exists():
        return load_settings(folder, settled, given)
    if is_chief():
        save_settings(folder, settled)
    return settled


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
            self.valid, self.step.nats = f", valid {values['valid']:.3f}", values["valid"]
        elif not self.valid:
            self.step.nats = self.smooth
        self.step.words = f"loss {self.smooth:.3f}{self.valid}"
