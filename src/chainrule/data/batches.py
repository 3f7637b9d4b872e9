"""Ids in the shape gradients are learnt from: a step's tokens and, one place on, its targets.

Two ways, chosen by the data. `Streams`: long or running text is cut into rows that are read side by side, window
after window, each continuing where it stopped. `Buckets`: separate sequences of about equal length side by side.
Both give batch number `i` of an epoch without having given the ones before: stopping and resuming is exact.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from chainrule.data.corpus import Corpus
from chainrule.symbols import BOS, PAD

if TYPE_CHECKING:
    from torch import Tensor

LONGEST = 64  # windows that follow each other, the state carried on


@dataclass(frozen=True)
class Batch:
    """What one step reads and is asked for; every array has a row for each example."""

    tokens: np.ndarray  # (B, T) int64
    targets: np.ndarray  # (B, T), or (B,) where a sequence has one answer; PAD where nothing is asked
    source: np.ndarray | tuple[np.ndarray, ...] | None = (
        None  # (B, S, …) what `start` is given; of several each
    )
    extra: Mapping[str, np.ndarray] = field(default_factory=dict)  # what else a task asks for, by name
    continues: bool = False  # rows continue those of the batch before: the state is carried

    def __len__(self) -> int:
        return len(self.tokens)

    @property
    def count(self) -> int:
        """How many targets there are."""
        return int(np.count_nonzero(self.targets != PAD))

    def rows(self, which: slice) -> Batch:
        """Some of the examples."""
        source = None if self.source is None else _each(self.source, lambda one: one[which])
        extra = {name: values[which] for name, values in self.extra.items()}
        return replace(
            self, tokens=self.tokens[which], targets=self.targets[which], source=source, extra=extra
        )

    def tensors(self, device: Any = None) -> TensorBatch:
        """The same as tensors."""
        import torch

        def there(values: np.ndarray) -> Tensor:
            return torch.from_numpy(np.ascontiguousarray(values)).to(device)

        return TensorBatch(
            there(self.tokens),
            there(self.targets),
            None if self.source is None else _each(self.source, there),
            {name: there(values) for name, values in self.extra.items()},
        )


@dataclass(frozen=True)
class TensorBatch:
    """A batch where a network can read it."""

    tokens: Tensor  # (B, T)
    targets: Tensor  # (B, T) or (B,)
    source: Tensor | tuple[Tensor, ...] | None  # (B, S, …)
    extra: Mapping[str, Tensor]


def _each(source: Any, function: Callable[[Any], Any]) -> Any:
    """The same done to a source, or to each of several."""
    return tuple(map(function, source)) if isinstance(source, tuple) else function(source)


class Batches(Protocol):
    """All batches of the data, epoch by epoch."""

    def __len__(self) -> int:
        """Batches in an epoch."""

    def batch(self, epoch: int, number: int) -> Batch:
        """One batch; the same arguments always give the same one."""


@dataclass(frozen=True)
class Streams:
    """Running text in `rows` parallel streams, `window` symbols at a time.

    Every epoch begins somewhere else, so that windows are not cut at the same places again. `restarts`: every window is
    read as if it were the beginning, by models that can hold no more than that. `single`: they are one sequence, so
    BOS would be read once in an epoch; as prompts begin with it, it stands for a few other symbols, too.
    """

    ids: np.ndarray
    rows: int
    window: int
    seed: int = 0
    restarts: bool = False
    single: bool = False

    @property
    def length(self) -> int:
        """Symbols in each row."""
        return (len(self.ids) - 1) // self.rows

    def __len__(self) -> int:
        return max(1, -(-self.length // self.window))

    def batch(self, epoch: int, number: int) -> Batch:
        shift = int(np.random.default_rng([self.seed, epoch]).integers(len(self.ids))) if epoch else 0
        low, high = number * self.window, min((number + 1) * self.window, self.length)
        begins = np.arange(self.rows, dtype=np.int64)[:, None] * self.length
        places = (begins + np.arange(low, high + 1)[None] + shift) % len(self.ids)  # (B, T + 1)
        ids = np.asarray(self.ids[places], np.int64)
        targets = np.where(ids[:, 1:] == BOS, PAD, ids[:, 1:])
        if self.restarts:
            ids[:, 0] = BOS
        elif self.single:
            ids[:, 0] = np.where(self._opening(number), BOS, ids[:, 0])
        return Batch(ids[:, :-1], targets, continues=number > 0 and not self.restarts)

    def _opening(self, number: int) -> np.ndarray:
        """Which rows (B,) read BOS for their first symbol: all at the beginning, then one after another."""
        turn: np.ndarray = np.arange(self.rows) == number % self.rows
        return turn | (number == 0)


class Buckets:
    """Separate sequences, those of similar length together, about `symbols` a batch, shuffled every epoch.

    What is longer than `longest` is cut into parts, which know nothing of each other. With a `window`, a batch reads
    about so many symbols of each and the next one continues where it stopped; without one, all of them.
    """

    def __init__(
        self, corpus: Corpus, symbols: int, longest: int, seed: int = 0, window: int | None = None
    ) -> None:
        self.ids, self.seed = corpus.ids, seed
        starts = corpus.starts
        lengths = np.diff(starts, append=len(corpus.ids)) - 1  # what is read of each: all but its EOS
        self.starts, self.lengths = _cut(starts, lengths, longest)
        self.groups = list(_groups(self.lengths, symbols, window))
        most = np.array([int(self.lengths[rows].max()) for rows in self.groups])
        self.turns = np.maximum(1, np.rint(most / (window or longest)).astype(int))  # batches of every group

    def __len__(self) -> int:
        return int(self.turns.sum())

    def batch(self, epoch: int, number: int) -> Batch:
        order = np.random.default_rng([self.seed, epoch]).permutation(len(self.groups))
        ends = np.cumsum(self.turns[order])
        place = int(np.searchsorted(ends, number, "right"))
        rows, turns = self.groups[order[place]], int(self.turns[order[place]])
        turn = number - int(ends[place]) + turns
        lengths = self.lengths[rows][:, None]
        most = int(lengths.max())  # shared out evenly: no step should hang on a few symbols
        columns = np.arange(turn * most // turns, (turn + 1) * most // turns)[None]
        real = columns < lengths  # (B, T)
        places = np.where(real, self.starts[rows][:, None] + columns, 0)
        tokens = np.where(real, self.ids[places], PAD).astype(np.int64)
        targets = np.where(real, self.ids[places + 1], PAD).astype(np.int64)
        return Batch(tokens, targets, continues=turn > 0)


def _cut(starts: np.ndarray, lengths: np.ndarray, longest: int) -> tuple[np.ndarray, np.ndarray]:
    """Sequences as parts of at most `longest` symbols; a part other than the first begins in mid-sequence."""
    many = np.maximum(1, -(-lengths // longest))
    sequence = np.repeat(np.arange(len(starts)), many)
    turn = np.arange(len(sequence)) - np.repeat(np.cumsum(many) - many, many)
    return starts[sequence] + turn * longest, np.minimum(longest, lengths[sequence] - turn * longest)


def _groups(lengths: np.ndarray, symbols: int, window: int | None) -> Iterator[np.ndarray]:
    """Sequences of similar length, as many as make about `symbols` symbols with padding, in one window or in all."""
    order = np.argsort(lengths, kind="stable")
    width = np.minimum(lengths, window) if window else lengths
    begin = 0
    while begin < len(order):
        end = begin + 1
        while end < len(order) and (end + 1 - begin) * width[order[end]] <= symbols:
            end += 1
        yield order[begin:end]
        begin = end


def next_batches(
    corpus: Corpus, rows: int, window: int, stateful: bool, seed: int, context: int | None = None
) -> Batches:
    """Streams when memory is to be carried or there is one sequence only, else buckets.

    A model that holds no more than `context` symbols is never given more.
    """
    if stateful or corpus.sequences == 1:
        rows = max(1, min(rows, (len(corpus.ids) - 1) // 2))
        single = corpus.sequences == 1
        return Streams(corpus.ids, rows, min(window, context or window), seed, context is not None, single)
    return Buckets(corpus, rows * window, context or LONGEST * window, seed, None if context else window)
