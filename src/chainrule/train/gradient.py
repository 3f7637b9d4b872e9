"""Learning by gradient: sizes and rates from the data and the budget, then the one loop, stoppable at any moment."""

from __future__ import annotations

import math
import signal
import threading
import time
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
import torch

from chainrule.data.dataset import Prepared
from chainrule.errors import BundleError, ConfigError, ModelError
from chainrule.heads.base import Head
from chainrule.models.base import ModelConfig
from chainrule.models.neural import Neural, NeuralLanguageModel
from chainrule.nn.dropout import WordDropout
from chainrule.nn.threads import in_threads
from chainrule.progress import Limit, Progress, Step
from chainrule.runtime import blocks_kept
from chainrule.store.files import locked
from chainrule.symbols import FIRST
from chainrule.tasks.base import BatchSize, Task
from chainrule.tasks.supervised import Supervised
from chainrule.train.board import TensorBoardWriter
from chainrule.train.budget import Timing
from chainrule.train.checkpoint import FILE
from chainrule.train.config import TrainConfig
from chainrule.train.distributed import ProcessGroup, is_main_process, process_group, processes
from chainrule.train.features import Features
from chainrule.train.network import Network, Rates, Valid
from chainrule.train.settings import FILE as SETTINGS
from chainrule.train.settings import Settings, settle
from chainrule.train.settings import load as load_settings
from chainrule.train.settings import save as save_settings
from chainrule.train.start import Start
from chainrule.train.threads import StepThreads
from chainrule.train.trainer import Trainer
from chainrule.train.unfinished import reason, unigram_nats

BATCH_SIZE, SEQ_LEN = 16, 64


@dataclass(frozen=True)
class Learnt:
    """A trained body and head, and what there is to say about the training."""

    body: Neural
    head: Head | None
    notes: tuple[str, ...]
    facts: Mapping[str, Any]  # for the card


@dataclass(frozen=True)
class Run:
    """What is to be trained, and where."""

    kind: type[Neural]
    model: ModelConfig
    task: Task
    train: TrainConfig
    given: Collection[str]  # settings the user named; the others are chosen for the data and the time
    folder: Path | None = None  # where it can be stopped and resumed
    resume: bool = False
    timing: Timing = field(default_factory=Timing)
    start: Start | None = None  # None: fresh weights


def learn(run: Run, prepared: Prepared, progress: Progress) -> Learnt:
    """Train a family on prepared data; threads and seeds are left as they were."""
    asked = settle(run.kind, run.model, run.train, run.task, prepared, run.given, run.timing.planned)
    _trainer(run.kind, asked)  # refuses what cannot be, before anything is written
    with _locked(run):
        return _learn(run, asked, prepared, progress)


def _locked(run: Run) -> AbstractContextManager[None]:
    """Two trainings in one folder would mix up their records."""
    return locked(run.folder) if run.folder is not None and is_main_process() else nullcontext()


def _learn(run: Run, asked: Settings, prepared: Prepared, progress: Progress) -> Learnt:
    settled = _settled(asked, run, prepared)
    make = _trainer(run.kind, settled)
    with blocks_kept(make.kept_blocks), _as_it_was(), _enough_memory(run.folder), process_group() as group:
        trainer = _made(make, run, settled, prepared, group)
        _run(trainer, run.resume, progress)
    if run.folder is not None and run.timing.planned is None and is_main_process():
        (run.folder / FILE).unlink(missing_ok=True)
    facts = {"steps": trainer.at.step, "best": trainer.at.best, "seconds": trainer.now}
    facts |= {"planned": max(one.steps for one in trainer.plan.revisions)}
    facts |= {"revisions": len(trainer.plan.revisions), "threads": trainer.at.threads}
    facts |= {"epochs": trainer.epochs, "stopped_early": trainer.at.step < trainer.plan.steps}
    told = {"training": facts, "settings": settled.train.values(), "history": trainer.at.history}
    told |= {"losses": trainer.at.losses.lines()}
    simplest = "a unigram" if run.task.predicts else "the shares of the labels (majority)"
    found = reason(facts, _unigram(run.task, prepared), simplest, run.task.loss_unit)
    notes = [settled.chosen, _length(trainer), found and f"unfinished: {found}"]
    return Learnt(
        trainer.body,
        trainer.network.head,
        tuple(note for note in notes if note),
        told | ({"unfinished": found} if found else {}),
    )


def _unigram(task: Task, prepared: Prepared) -> float:
    """Nats of the validation part that every model should beat, of symbols or of labels, from their counts alone;
    infinite where there is no such thing.
    """
    role = task.predicts
    if isinstance(task, Supervised) and not task.answers_numbers:
        role = task.answers_role
    if prepared.valid is None or role is None:
        return math.inf
    train, valid = prepared.train[role].ids, prepared.valid[role].ids
    if task.predicts is None:  # labels alone are asked for
        train, valid = train[train >= FIRST], valid[valid >= FIRST]
    return unigram_nats(train, valid) if len(valid) else math.inf


def _length(trainer: Trainer) -> str:
    """How long the run was, for people."""
    planned = f" in the budget, planned {len(trainer.plan.revisions)} times" if trainer.budget else ""
    return f"{trainer.at.step:,} steps ({trainer.epochs:.1f} epochs){planned}"


def _made(
    make: type[Trainer], run: Run, settled: Settings, prepared: Prepared, group: ProcessGroup
) -> Trainer:
    """The network, its batches, and as many threads as its steps are fastest with."""
    size = BatchSize(
        settled.train.batch_size or BATCH_SIZE, settled.train.seq_len or SEQ_LEN, settled.train.seed
    )
    if size.rows < group.size:
        raise ConfigError(f"{group.size} processes share a batch: give --batch-size {group.size} or more.")
    body = _spelled(_body(run, settled), run.task, prepared)
    if isinstance(body, NeuralLanguageModel):
        body.set_unigram_counts(prepared.train[run.task.body_role(prepared.codecs)].ids)
    network = Network(run.task, body, run.task.head(body, prepared.codecs, settled.train.seed))
    rates = Rates(run.start.scales, run.start.since) if run.start else Rates()
    rates.freeze(network)
    batches = run.task.batches(body, prepared.train, prepared.codecs, size)
    valid = None
    if prepared.valid is not None:
        valid = Valid(prepared.valid, run.task.batches(body, prepared.valid, prepared.codecs, size))
    if network.head is not None and not any(one.requires_grad for one in body.parameters()):
        network.features = Features(body)
        network.features.learn([batches, *([valid.batches] if valid else [])])
    alone = group.size == 1 and not settled.train.shard  # else torchrun says how many threads
    threads = StepThreads.settled(network, batches) if alone else StepThreads()
    more: dict[str, Any] = {"timing": run.timing, "group": group, "rates": rates, "threads": threads}
    return make(network, batches, valid, settled.train, run.folder, **more)


def _body(run: Run, settled: Settings) -> Neural:
    """Fresh, or with the weights of the model that is started from."""
    if run.start is None:
        return run.kind.seeded(settled.model, settled.train.seed)
    found: Neural = run.start.body(run.kind, settled.model, settled.train.seed)
    return found


def _spelled(body: Neural, task: Task, prepared: Prepared) -> Neural:
    """One that reads letters is told how all words are spelled, and which are rare."""
    role = task.body_role(prepared.codecs)
    letters, codec = body.config.word_letters, prepared.codecs[role]
    if not letters:
        return body
    _count_rare(body, prepared.train[role].ids)
    return body.respelled(codec.spellings(letters), (prepared.words or codec).spellings(letters, codec.size))


def _count_rare(body: Neural, ids: np.ndarray) -> None:
    """Word dropout drops what is rare in these ids; words beyond the vocabulary are known by their letters."""
    counts = np.bincount(ids, minlength=body.config.vocab_size)[: body.config.vocab_size]
    for part in body.modules():
        if isinstance(part, WordDropout):
            part.count(torch.from_numpy(counts))


@contextmanager
def _as_it_was() -> Iterator[None]:
    """The caller's threads and random state come back at the end."""
    with in_threads(torch.get_num_threads()), torch.random.fork_rng(devices=[]):
        yield


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
        watchers: list[Callable[[Mapping[str, Any]], None]] = [_Watcher(step, trainer.network.task.loss_unit)]
        if trainer.config.tensorboard and trainer.folder is not None and trainer.group.is_main:
            board = TensorBoardWriter(trainer.folder, trainer.at.step)
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
            "There is not enough memory for this training. Take a smaller --width, --batch-size or --seq-len, "
            f"or --sampled-softmax 1024 if the vocabulary is large.{kept}"
        ) from error


def _settled(settled: Settings, run: Run, prepared: Prepared) -> Settings:
    """A fresh run keeps its settings; one that is resumed has those it began with."""
    folder = run.folder
    if folder is None:
        return settled
    if (folder / FILE).exists() and not run.resume:
        raise BundleError(
            f"{folder} holds a run that was stopped. Continue it with --resume, or remove the folder to start afresh."
        )
    if run.resume and (folder / SETTINGS).exists():
        settled = load_settings(folder, settled, run.given, prepared.origin)
    if is_main_process():
        save_settings(folder, settled, prepared.origin)
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

    def __init__(self, step: Step, unit: str) -> None:
        self.step, self.unit = step, unit
        self.smooth = math.nan  # the training loss, averaged over the last few dozen steps
        self.valid = ""

    def __call__(self, values: Mapping[str, Any]) -> None:
        if "plan" in values:
            self.step.total, self.step.skipped = values["plan"], values["skipped"]
            left, seconds = values["left"], values["budget"]
            self.step.limit = Limit(time.monotonic() + left, seconds) if seconds else None
        if "symbols" in values:
            loss = values["loss"]
            self.smooth = loss if math.isnan(self.smooth) else 0.97 * self.smooth + 0.03 * loss
            self.step.loss = self.smooth
            self.step(values["symbols"])
        if "valid" in values:
            self.valid, self.step.nats = f", valid {values['valid']:.3f}", values["valid"]
        elif not self.valid:
            self.step.nats = self.smooth
        self.step.words = f"loss {self.smooth:.3f}{self.valid} {self.unit}"
