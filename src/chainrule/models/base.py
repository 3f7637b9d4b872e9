"""The one call every model answers, and the value its memory travels in.

Letters in shape comments, everywhere: B rows, T symbols newly read, S source positions, V alphabet,
D width, L remembered symbols, H heads, K beam.

A `Model` here is no `torch.nn.Module` yet (`models.neural.Neural` is): counting models are arrays and
numbers, and importing torch takes two seconds that `chainrule score` on an n-gram need not spend.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

import numpy as np

from chainrule.config import Config, option
from chainrule.errors import ModelError
from chainrule.symbols import BOS, MASK, PAD

if TYPE_CHECKING:
    from torch import Tensor

CHUNK = 1 << 22  # most logits held at once while scoring (B * T * V), 16 MiB of float32
BATCH = 64  # rows scored side by side unless told otherwise
WINDOW = 256  # symbols of a row read at once while scoring; the state is carried from window to window
LONG, WARM = 4096, 512  # symbols of a sequence read in one go, and read again before going on


@dataclass(frozen=True)
class State:
    """What a model remembers between two calls of `read`. Batch is dimension 0 of every tensor inside."""

    def select(self, rows: Tensor) -> Self:
        """Fork, reorder or drop rows: `rows` (K,) names, for each new row, the old one it continues."""
        return replace(self, **{f.name: _pick(getattr(self, f.name), rows) for f in fields(self)})


def _pick(value: Any, rows: Tensor) -> Any:
    if isinstance(value, tuple | list):
        return type(value)(_pick(item, rows) for item in value)
    if isinstance(value, State):
        return value.select(rows)
    return value if value is None else value[rows]


@dataclass(frozen=True)
class Memory(State):
    """A source as a matrix, one column per position: a label is one column, a sentence one per word."""

    vectors: Tensor  # (B, S, D)
    real: Tensor  # (B, S) False where a column is padding


@dataclass(frozen=True, kw_only=True)
class ModelConfig(Config):
    """What every family is told: its alphabet, and which symbols of it are never spoken."""

    alphabet: int = option(0, "how many ids there are", hidden=True)
    silent: tuple[int, ...] = option((PAD, BOS, MASK), "ids that are read, never spoken", hidden=True)


@dataclass(frozen=True)
class Forecast:
    """What training would cost."""

    memory: int  # bytes
    seconds: float
    options: Mapping[str, Any] = field(default_factory=dict)  # what a user would ask for to get it


class Model(ABC):
    """Reads symbols, remembers something, and says what it expects next."""

    family: ClassVar[str] = ""
    Config: ClassVar[type[ModelConfig]] = ModelConfig
    learns: ClassVar[bool] = True  # False: it is made of others, or only remembers
    reads: ClassVar[Literal["left", "both"]] = "left"  # logits[:, t] speaks of symbol t + 1, or of symbol t
    context: int | None = None  # most symbols it can hold; None: no limit
    config: ModelConfig

    @abstractmethod
    def start(self, batch: int, source: Any = None) -> State:
        """The memory of having read nothing; a source is encoded here, once, into a `Memory`."""

    @abstractmethod
    def read(self, tokens: Tensor, state: State) -> tuple[Tensor, State]:
        """Read `tokens` (B, T): what a head, a probe or the output layer uses (B, T, D), and the new memory.

        Rows of unequal length are padded on the right with PAD, and PAD leaves a row's memory as it was.
        """

    def rewound(self, state: State, before: State, tokens: Tensor) -> State:
        """The memory after only `tokens` (B, T), the beginning of what was read from `before` to `state`.

        `state` is given up: it must not be used any more.
        """
        return self.read(tokens, before)[1]

    @abstractmethod
    def logits(self, hidden: Tensor) -> Tensor:
        """(B, T, D) -> (B, T, V), -inf for symbols that are never spoken."""

    def score(self, tokens: Tensor, targets: Tensor, state: State) -> tuple[Tensor, State]:
        """Natural log-probability of each target (B, T), 0 where it is PAD, never holding B*T*V at once."""
        import torch

        step = max(1, CHUNK // max(1, tokens.shape[0] * self.config.alphabet))
        parts = []
        hidden, state = self.read(tokens, state)  # (B, T, D)
        for some, wanted in zip(torch.split(hidden, step, 1), torch.split(targets, step, 1), strict=True):
            logits = self.logits(some).float()  # (B, t, V)
            found = logits.gather(-1, wanted.unsqueeze(-1)).squeeze(-1) - log_total(logits)  # (B, t)
            parts.append(torch.where(wanted == PAD, 0.0, found))
        return torch.cat(parts, 1) if parts else targets.float(), state  # (B, T)

    def score_ids(self, ids: np.ndarray, batch: int = BATCH) -> np.ndarray:
        """Natural log-probability of every symbol of whole sequences `BOS x_1 … x_T EOS`, flat; 0 at BOS.

        A model that reads both ways is asked for each symbol in turn with that symbol masked.
        """
        slow = score_left if self.reads == "left" else score_both
        with self.answering():
            return slow(self, np.asarray(ids), batch)

    def compressed(self) -> Self:
        """A copy that answers with weights in eight bits."""
        raise ModelError(f"Eight bits are for models that learn by gradient, not for a {self.family}.")

    @property
    def device(self) -> Any:
        """Where the tensors given to `read` must live."""
        return "cpu"

    @contextmanager
    def answering(self) -> Iterator[None]:
        """A stretch in which it only answers: no gradients are kept and nothing is dropped out."""
        import torch

        with torch.no_grad():
            yield

    @classmethod
    def tiny(cls, seed: int = 0) -> Self:
        """The smallest useful instance, for laws and bug reports: about 9 ids, room for 12 symbols."""
        raise NotImplementedError(
            f"{cls.__name__} has no tiny instance for the laws: define `tiny(cls, seed=0)`."
        )

    @classmethod
    def forecasts(
        cls, sample: np.ndarray, alphabet: int, symbols: int, seconds: float | None = None
    ) -> Mapping[str, Forecast]:
        """What training on `symbols` symbols like those of `sample` would cost, for the sizes users may choose.

        `seconds` is a budget, for families that fit themselves to one.
        """
        return {}

    def facts(self, ids: np.ndarray) -> Mapping[str, np.ndarray]:
        """More to say per position of flat `BOS … EOS` ids, for people: an n-gram gives the order it used."""
        return {}

    @abstractmethod
    def arrays(self) -> Mapping[str, np.ndarray]:
        """Everything learnt, by name: what a bundle saves."""

    @classmethod
    @abstractmethod
    def from_arrays(cls, config: Any, arrays: Mapping[str, np.ndarray]) -> Self:
        """The same model again from its config and what `arrays` gave; large arrays arrive memory-mapped."""

    @property
    def parameters_count(self) -> int:
        """How many numbers it has learnt."""
        return sum(array.size for array in self.arrays().values())


def log_total(logits: Tensor) -> Tensor:
    """What to subtract from logits (…, V) to make them log-probabilities (…).

    It is 0 where no symbol is possible at all, so that -inf stays -inf and never becomes NaN.
    """
    import torch

    total = logits.logsumexp(-1)
    return total.masked_fill(total == -torch.inf, 0.0)


@dataclass(frozen=True)
class Stretches:
    """Sequences cut into rows a model can hold, in order; a row reads BOS, then what follows its `offset`."""

    sequence: np.ndarray  # (rows,) which sequence it belongs to
    offset: np.ndarray  # (rows,) where in that sequence the row begins; the symbol there is read as BOS
    fresh: np.ndarray  # (rows,) how many of its symbols an earlier row has read already
    length: np.ndarray  # (rows,) how many symbols it reads


def carried(context: int) -> int:
    """How many recent symbols are read again, after BOS, when a model can hold no more and starts anew."""
    if context < 2:
        raise ModelError(f"A model must hold at least 2 symbols, BOS and one more; its context is {context}.")
    return (context - 1) // 2


def stretches(lengths: np.ndarray, context: int | None, again: int | None = None) -> Stretches:
    """How sequences of these lengths are read by a model that holds `context` symbols (None: no limit).

    Scoring and decoding both read by this rule, so that a sequence scores what it was generated with.
    """
    limit = int(lengths.max(initial=2)) if context is None else context
    again = carried(limit) if again is None else again
    step = limit - 1 - again
    rows = 1 + np.maximum(0, -((limit - lengths) // step))
    sequence = np.repeat(np.arange(len(lengths)), rows)
    turn = np.arange(len(sequence)) - np.repeat(np.cumsum(rows) - rows, rows)
    offset = np.where(turn == 0, 0, limit + (turn - 1) * step - again - 1)
    fresh = np.where(turn == 0, 0, again + 1)
    return Stretches(sequence, offset, fresh, np.minimum(limit, lengths[sequence] - offset))


def sequences(ids: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Where each sequence of flat ids begins, and how many positions it has."""
    if len(ids) and ids[0] != BOS:
        raise ModelError(
            f"Sequences must begin with BOS ({BOS}), not with {ids[0]}. Encode them with a codec."
        )
    starts = np.flatnonzero(ids == BOS)
    return starts, np.diff(starts, append=len(ids))


def score_left(model: Model, ids: np.ndarray, batch: int = BATCH) -> np.ndarray:
    """`score_ids` of a model that reads left to right: rows of similar length side by side, in windows.

    A sequence longer than LONG, such as a whole book, is read in parts side by side, each after the WARM symbols
    before it: one after another would leave most of the machine idle, and what lies further back hardly matters.
    """
    starts, lengths = sequences(ids)
    long = model.context is None and lengths.max(initial=0) > LONG
    cut = stretches(lengths - 1, LONG, WARM) if long else stretches(lengths - 1, model.context)
    logs = np.zeros(len(ids), np.float32)
    for rows in in_batches(np.argsort(cut.length, kind="stable"), batch):
        begin = starts[cut.sequence[rows]] + cut.offset[rows]
        _score_rows(model, ids, begin[:, None], cut.fresh[rows, None], cut.length[rows, None], logs, True)
    return logs


def score_carried(model: Model, ids: np.ndarray, batch: int = BATCH) -> np.ndarray:
    """`score_ids` of a model whose memory goes on from one sequence to the next, in parts as of one long sequence."""
    logs = np.zeros(len(ids), np.float32)
    begin = np.arange(0, max(1, len(ids) - 1 - WARM), LONG - WARM)
    length, fresh = np.minimum(LONG, len(ids) - 1 - begin), np.where(begin > 0, WARM, 0)
    for rows in in_batches(np.arange(len(begin)), batch):
        _score_rows(model, ids, begin[rows, None], fresh[rows, None], length[rows, None], logs, False)
    return logs


def in_batches(items: np.ndarray, size: int) -> list[np.ndarray]:
    """Parts of at most `size` items, in order."""
    return [items[at : at + size] for at in range(0, len(items), size)]


def _score_rows(
    model: Model,
    ids: np.ndarray,
    begin: np.ndarray,
    fresh: np.ndarray,
    length: np.ndarray,
    logs: np.ndarray,
    anew: bool,
) -> None:
    """Fill in `logs` where these rows (B, 1) have their targets; `anew`: each begins as if with BOS."""
    state = model.start(len(begin))
    for column in range(0, int(length.max()), WINDOW):
        columns = np.arange(column, min(column + WINDOW, int(length.max())))[None]
        real = columns < length  # (B, T)
        wanted = real & (columns >= fresh)  # (B, T)
        place = np.where(real, begin + columns, 0)  # (B, T)
        read = np.where((columns == 0) & anew, BOS, ids[place])
        tokens = np.where(real, read, PAD)
        following = ids[np.where(real, place + 1, 0)]
        wanted &= following != BOS
        targets = np.where(wanted, following, PAD)
        found, state = model.score(_tensor(model, tokens), _tensor(model, targets), state)
        logs[place[wanted] + 1] = found.cpu().numpy()[wanted]


def score_both(model: Model, ids: np.ndarray, batch: int = BATCH) -> np.ndarray:
    """`score_ids` of a model that reads both ways: the pseudo-log-likelihood, each symbol masked in turn."""
    starts, lengths = sequences(ids)
    logs = np.zeros(len(ids), np.float32)
    order = np.argsort(lengths, kind="stable")
    sequence = np.repeat(order, lengths[order] - 1)
    ends = np.cumsum(lengths[order] - 1)
    position = np.arange(len(sequence)) - np.repeat(ends - (lengths[order] - 1), lengths[order] - 1) + 1
    for rows in in_batches(np.arange(len(sequence)), batch):
        chosen, masked = sequence[rows], position[rows]
        logs[starts[chosen] + masked] = _score_masked(model, ids, starts[chosen], lengths[chosen], masked)
    return logs


def _score_masked(
    model: Model, ids: np.ndarray, start: np.ndarray, length: np.ndarray, masked: np.ndarray
) -> np.ndarray:
    """Log-probability (B,) of the symbol at place `masked` (B,) of each sequence, its neighbours read."""
    limit = int(length.max()) if model.context is None else model.context
    first = np.clip(masked - limit // 2, 0, np.maximum(0, length - limit))  # (B,)
    columns = np.arange(min(limit, int(length.max())))[None]
    real = columns < np.minimum(length, limit)[:, None]  # (B, T)
    symbols = np.where(real, ids[np.where(real, (start + first)[:, None] + columns, 0)], PAD)
    symbols[:, 0] = BOS
    hole = columns == (masked - first)[:, None]  # (B, T)
    tokens, targets = np.where(hole, MASK, symbols), np.where(hole, symbols, PAD)
    found, _ = model.score(_tensor(model, tokens), _tensor(model, targets), model.start(len(start)))
    return found.cpu().numpy()[hole]  # type: ignore[no-any-return]


def _tensor(model: Model, ids: np.ndarray) -> Tensor:
    import torch

    return torch.as_tensor(ids, dtype=torch.long, device=model.device)
