"""Reading flat ids in windows: rows of similar length side by side, their memory carried from window to window.

Data are flat arrays of whole sequences `BOS x_1 … x_T EOS`. Whatever needs a value for every symbol (its score, a
forecast before it) reads them by these rules, and decoding reads by the same ones, so that a sequence scores what it
was generated with. For a network that holds any number of symbols this ends after LONG of them: decoding never forgets,
and what follows is scored after the WARM symbols before it. It does not end for models with a context, nor for counts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from chainrule.errors import ModelError
from chainrule.models.base import BATCH, CHUNK, Body, LanguageModel, log_total
from chainrule.runtime import side_by_side
from chainrule.symbols import BOS, MASK, PAD

if TYPE_CHECKING:
    from torch import Tensor

    from chainrule.models.state import State

WINDOW = 256  # symbols of a row read at once
LONG, WARM = 4096, 512  # symbols of a sequence read in one go, and read again before continuing


@dataclass(frozen=True)
class WindowRows:
    """Which symbols are read side by side, each row from where it begins in flat ids."""

    begin: np.ndarray  # (rows,) the first symbol read
    seen: np.ndarray  # (rows,) how many of its symbols an earlier row has read already
    length: np.ndarray  # (rows,) how many symbols it reads
    restarts: bool  # the first symbol of every row is read as BOS

    def __getitem__(self, rows: np.ndarray) -> WindowRows:
        return WindowRows(self.begin[rows], self.seen[rows], self.length[rows], self.restarts)


@dataclass(frozen=True)
class TokenWindow:
    """The next columns of some rows."""

    tokens: np.ndarray  # (B, T) to be read, PAD behind the end of a row
    places: np.ndarray  # (B, T) where in the flat ids the symbol after each one lies
    wanted: np.ndarray  # (B, T) whether that symbol is asked for here
    first: bool  # these rows begin here, with a fresh memory

    def targets(self, ids: np.ndarray) -> np.ndarray:
        """The symbols asked for (B, T), PAD where none is."""
        return np.where(self.wanted, ids[self.places], PAD)


def windows(
    body: Body, ids: np.ndarray, batch: int = BATCH, width: int | None = None
) -> Iterator[TokenWindow]:
    """All rows of flat ids as a body that reads left to right holds them; every symbol but BOS is wanted once."""
    rows = _stateful(len(ids)) if body.stateful else _apart(body.context, ids)
    order = np.arange(len(rows.begin)) if body.stateful else np.argsort(rows.length, kind="stable")
    for some in in_batches(order, side_by_side(batch, width or WINDOW)):
        yield from _columns(ids, rows[some], width or WINDOW)


Found = TypeVar("Found")
Step = Callable[[TokenWindow, "Tensor", "State"], tuple[Found, "State"]]


def read_windows(
    body: Body, ids: np.ndarray, step: Step[Found], batch: int = BATCH, width: int | None = None
) -> Iterator[tuple[TokenWindow, Found]]:
    """Every window and what `step` makes of it, its tokens (B, T) and the state that its rows have come to."""
    state: State | None = None
    for window in windows(body, ids, batch, width):
        before = body.start(len(window.tokens)) if window.first or state is None else state
        with body.inference(window.tokens.size):
            found, state = step(window, tensor(body, window.tokens), before)
        yield window, found


def windows_in_order(body: Body, ids: np.ndarray, width: int) -> Iterator[TokenWindow]:
    """The same symbols in the order of the text, about `width` at a time, for a reader that changes on the way.

    A window is of one row, or of several short ones that follow each other.
    """
    rows = _one_row(len(ids)) if body.stateful else _whole(body.context, ids)
    for some in _neighbours(rows.length, width):
        yield from _columns(ids, rows[some], width)


def _one_row(size: int) -> WindowRows:
    return WindowRows(np.array([0]), np.array([0]), np.array([size - 1]), False)


def _whole(context: int | None, ids: np.ndarray) -> WindowRows:
    """Each sequence by itself, cut only where a model can hold no more."""
    starts, lengths = sequences(ids)
    cut = stretches(lengths - 1, context)
    return WindowRows(starts[cut.sequence] + cut.offset, cut.seen, cut.length, True)


def _neighbours(lengths: np.ndarray, most: int) -> Iterator[np.ndarray]:
    """Groups of rows that follow each other, each ended by the row with which it has `most` symbols or more.

    Only the last row of a group can be longer than `most`. Where a group ends is known before the next row is read:
    a rule that asked whether the next one still fits would let its length tell what comes in it.
    """
    first, total = 0, 0
    for row, length in enumerate(lengths.tolist(), 1):
        total += length
        if total >= most or row == len(lengths):
            yield np.arange(first, row)
            first, total = row, 0


def _columns(ids: np.ndarray, rows: WindowRows, width: int) -> Iterator[TokenWindow]:
    begin, seen, length = rows.begin[:, None], rows.seen[:, None], rows.length[:, None]  # (B, 1)
    longest = int(rows.length.max(initial=0))
    for column in range(0, longest, width):
        columns = np.arange(column, min(column + width, longest))[None]  # (1, T)
        real = columns < length  # (B, T)
        place = np.where(real, begin + columns, 0)
        tokens = np.where((columns == 0) & rows.restarts, BOS, ids[place])
        after = np.where(real, place + 1, 0)
        wanted = real & (columns >= seen) & (ids[after] != BOS)
        yield TokenWindow(np.where(real, tokens, PAD), after, wanted, column == 0)


def _apart(context: int | None, ids: np.ndarray) -> WindowRows:
    """Each sequence by itself.

    One longer than LONG, such as a whole book, is read in parts side by side, each after the WARM symbols before it:
    one after another would leave most of the machine idle, and what lies further back hardly matters.
    """
    starts, lengths = sequences(ids)
    long = context is None and lengths.max(initial=0) > LONG
    cut = stretches(lengths - 1, LONG, WARM) if long else stretches(lengths - 1, context)
    return WindowRows(starts[cut.sequence] + cut.offset, cut.seen, cut.length, True)


def _stateful(size: int) -> WindowRows:
    """The state is carried from one sequence to the next: parts as of one long sequence."""
    begin = np.arange(0, max(1, size - 1 - WARM), LONG - WARM)
    return WindowRows(begin, np.where(begin > 0, WARM, 0), np.minimum(LONG, size - 1 - begin), False)


@dataclass(frozen=True)
class Stretches:
    """Sequences cut into rows a model can hold, in order; a row reads BOS, then what follows its `offset`."""

    sequence: np.ndarray  # (rows,) which sequence it belongs to
    offset: np.ndarray  # (rows,) where in that sequence the row begins; the symbol there is read as BOS
    seen: np.ndarray  # (rows,) how many of its symbols an earlier row has read already
    length: np.ndarray  # (rows,) how many symbols it reads


def carried(context: int) -> int:
    """How many recent symbols are read again, after BOS, when a model can hold no more and starts afresh."""
    if context < 2:
        raise ModelError(f"A model must hold at least 2 symbols, BOS and one more; its context is {context}.")
    return (context - 1) // 2


def stretches(lengths: np.ndarray, context: int | None, again: int | None = None) -> Stretches:
    """How sequences of these lengths are read by a model that holds `context` symbols (None: no limit)."""
    limit = int(lengths.max(initial=2)) if context is None else context
    again = carried(limit) if again is None else again
    step = limit - 1 - again
    rows = 1 + np.maximum(0, -((limit - lengths) // step))
    sequence = np.repeat(np.arange(len(lengths)), rows)
    turn = np.arange(len(sequence)) - np.repeat(np.cumsum(rows) - rows, rows)
    offset = np.where(turn == 0, 0, limit + (turn - 1) * step - again - 1)
    seen = np.where(turn == 0, 0, again + 1)
    return Stretches(sequence, offset, seen, np.minimum(limit, lengths[sequence] - offset))


def sequences(ids: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Where each sequence of flat ids begins, and how many positions it has."""
    if len(ids) and ids[0] != BOS:
        raise ModelError(
            f"Sequences must begin with BOS ({BOS}), not with {ids[0]}. Encode them with a codec."
        )
    starts = np.flatnonzero(ids == BOS)
    return starts, np.diff(starts, append=len(ids))


def in_batches(items: np.ndarray, size: int) -> list[np.ndarray]:
    """Parts of at most `size` items, in order."""
    return [items[at : at + size] for at in range(0, len(items), size)]


def score_in_windows(model: LanguageModel, ids: np.ndarray, batch: int = BATCH) -> np.ndarray:
    """`score_ids` of a model that has no faster way; one that reads both ways is asked symbol by symbol."""
    return (_score_left if model.reads == "left" else _score_both)(model, np.asarray(ids), batch)


def _score_left(model: LanguageModel, ids: np.ndarray, batch: int) -> np.ndarray:
    logs = np.zeros(len(ids), np.float32)

    def score(window: TokenWindow, tokens: Tensor, state: State) -> tuple[Tensor, State]:
        return model.score(tokens, tensor(model, window.targets(ids)), state)

    for window, found in read_windows(model, ids, score, batch):
        logs[window.places[window.wanted]] = found.cpu().numpy()[window.wanted]
    return logs


def _score_both(model: LanguageModel, ids: np.ndarray, batch: int) -> np.ndarray:
    """The pseudo-log-likelihood: each symbol masked in turn."""
    starts, lengths = sequences(ids)
    logs = np.zeros(len(ids), np.float32)
    order = np.argsort(lengths, kind="stable")
    sequence = np.repeat(order, lengths[order] - 1)
    ends = np.cumsum(lengths[order] - 1)
    position = np.arange(len(sequence)) - np.repeat(ends - (lengths[order] - 1), lengths[order] - 1) + 1
    longest = min(int(lengths.max(initial=1)), model.context or WINDOW)
    for rows in in_batches(np.arange(len(sequence)), side_by_side(batch, longest)):
        chosen, masked = sequence[rows], position[rows]
        logs[starts[chosen] + masked] = _score_masked(model, ids, starts[chosen], lengths[chosen], masked)
    return logs


def _score_masked(
    model: LanguageModel, ids: np.ndarray, start: np.ndarray, length: np.ndarray, masked: np.ndarray
) -> np.ndarray:
    """Log-probability (B,) of the symbol at place `masked` (B,) of each sequence, its neighbours read."""
    limit = int(length.max()) if model.context is None else model.context
    first = np.clip(masked - limit // 2, 0, np.maximum(0, length - limit))  # (B,)
    columns = np.arange(min(limit, int(length.max())))[None]
    real = columns < np.minimum(length, limit)[:, None]  # (B, T)
    symbols = np.where(real, ids[np.where(real, (start + first)[:, None] + columns, 0)], PAD)
    symbols[:, 0] = BOS
    hidden = columns == (masked - first)[:, None]  # (B, T)
    tokens, targets = np.where(hidden, MASK, symbols), np.where(hidden, symbols, PAD)
    with model.inference(tokens.size):
        found, _ = model.score(tensor(model, tokens), tensor(model, targets), model.start(len(start)))
    return found.cpu().numpy()[hidden]  # type: ignore[no-any-return]


def score_by_logits(
    model: LanguageModel, tokens: Tensor, targets: Tensor, state: State
) -> tuple[Tensor, State]:
    """`score` of a model that has no faster way."""
    hidden, state = model.read(tokens, state)  # (B, T, D)
    return score_hidden_by_logits(model, hidden, targets), state


def score_hidden_by_logits(model: LanguageModel, hidden: Tensor, targets: Tensor) -> Tensor:
    """Log-probability of targets (B, T) after hidden (B, T, D): logits of some columns at a time."""
    import torch

    step = max(1, CHUNK // max(1, targets.shape[0] * model.config.vocab_size))
    parts = []
    for some, wanted in zip(torch.split(hidden, step, 1), torch.split(targets, step, 1), strict=True):
        logits = model.logits(some).float()  # (B, t, V)
        found = logits.gather(-1, wanted.unsqueeze(-1)).squeeze(-1) - log_total(logits)  # (B, t)
        parts.append(torch.where(wanted == PAD, 0.0, found))
    return torch.cat(parts, 1) if parts else targets.float()  # (B, T)


def tensor(body: Body, ids: np.ndarray) -> Tensor:
    """Ids where a body reads them."""
    import torch

    return torch.as_tensor(ids, dtype=torch.long, device=body.device)
