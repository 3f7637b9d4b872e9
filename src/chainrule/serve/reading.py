"""A prompt on its way into the model: read alone, in pieces that begin at fixed places.

So what is made of a prompt depends neither on other requests nor on where a cached beginning ended.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from chainrule.decode.cursor import log_probabilities
from chainrule.models.base import CHUNK, LanguageModel
from chainrule.models.state import State
from chainrule.models.windows import carried, stretches
from chainrule.serve.prefix import PrefixCache
from chainrule.symbols import BOS

PIECE = 64  # symbols read at once


@dataclass(frozen=True)
class Place:
    """Where a text has come to: what one row of a running batch begins with."""

    state: State  # one row
    logits: Tensor  # (1, V) of the next symbol
    recent: tuple[int, ...]  # what is read again when the model can hold no more
    held: int  # symbols that the state holds


@dataclass(frozen=True)
class SymbolLog:
    """How probable a symbol was where it stands, in nats, and which ones were most probable there."""

    id: int
    log: float
    top: tuple[tuple[int, float], ...] = ()


@dataclass(frozen=True)
class _Piece:
    """Symbols to be read at once, and what follows each of them, if it is asked for."""

    begins: int  # how many symbols of its row were read before; 0: the row begins here
    ids: list[int]
    asked: int  # the first of these after which a symbol is asked for
    targets: list[int]  # what follows that one and the ones after it


@dataclass(frozen=True)
class Found:
    """What came of reading a piece."""

    hidden: Tensor  # (1, T, D)
    state: State
    logits: Tensor | None  # (1, V) of the next symbol, where it was the last piece


class Reading:
    """Reads `[BOS, x_1 … x_n]`; with `logprobs` every x is scored, and so many of the best beside it are told."""

    def __init__(
        self, model: LanguageModel, ids: Sequence[int], cache: PrefixCache, logprobs: int | None = None
    ) -> None:
        self.model, self.cache, self.logprobs = model, cache, logprobs
        cut = stretches(np.array([len(ids)]), model.context)
        each = list(zip(cut.offset.tolist(), cut.length.tolist(), cut.seen.tolist(), strict=True))
        each = each if logprobs is not None else each[-1:]
        self.pieces = [piece for one in each for piece in _pieces(ids, *one)]
        self.logs: list[SymbolLog] = []
        self.state: State | None = None
        self.place: Place | None = None
        first, length, _ = each[-1]
        self.row = [BOS, *ids[first + 1 : first + length]]
        self.cached = self._skip() if logprobs is None else 0

    def _skip(self) -> int:
        """Leave out what the cache has; something is always left to be read."""
        length, self.state = self.cache.find(self.row, [piece.begins for piece in self.pieces[1:]])
        self.pieces = [piece for piece in self.pieces if piece.begins >= length]
        return length

    @property
    def next(self) -> _Piece:
        """What is to be read next."""
        return self.pieces[0]

    @property
    def before(self) -> State:
        """The memory it continues."""
        known = self.state if self.next.begins else None
        return self.model.start(1) if known is None else known

    def step(self) -> int:
        """Read the next piece; how many symbols that were. After the last one there is a `place`."""
        [found] = read_together([self])
        return self.took(found)

    def took(self, found: Found) -> int:
        """The next piece has been read."""
        piece = self.pieces[0]
        if self.logprobs is not None:
            with self.model.inference():
                self.logs += self._scored(found.hidden[0, piece.asked :], piece.targets)
        self.state = found.state
        del self.pieces[0]
        if found.logits is not None:
            self.place = self._placed(found.logits)
        self._keep(piece)
        return len(piece.ids)

    def _keep(self, piece: _Piece) -> None:
        """Places at powers of two, and the last one at which another prompt could join in."""
        read = piece.begins + len(piece.ids)
        pieces, rest = divmod(read, PIECE)
        if self.state is None or rest or self.logprobs is not None or not self.cache.most:
            return
        if pieces & (pieces - 1) == 0 or len(self.pieces) <= 1:
            self.cache.keep(self.row[:read], self.state)

    def _placed(self, logits: Tensor) -> Place:
        size = 0 if self.model.context is None else carried(self.model.context)
        assert self.state is not None
        return Place(self.state, logits, tuple(self.row[1:][-size:] if size else ()), len(self.row))

    def _scored(self, hidden: Tensor, targets: Sequence[int]) -> list[SymbolLog]:
        """The targets after hidden (T, D)."""
        found: list[SymbolLog] = []
        most = max(1, CHUNK // self.model.config.vocab_size)
        for first in range(0, len(targets), most):
            wanted = targets[first : first + most]
            some = hidden[first : first + len(wanted)]  # (t, D)
            found += told(log_probabilities(self.model.logits(some[None])[0]), wanted, self.logprobs or 0)
        return found


def read_together(readings: Sequence[Reading]) -> list[Found]:
    """The next piece of each, side by side where the model can do so: what is found is the same to the bit."""
    model = readings[0].model
    with model.inference(sum(len(one.next.ids) for one in readings)):
        read = _read(model, [one.before for one in readings], [one.next.ids for one in readings])
        ends = [place for place, one in enumerate(readings) if len(one.pieces) == 1]
        last = [read[place][0][:, -1:] for place in ends]  # (1, 1, D) each
        logits = torch.split(model.logits(torch.cat(last))[:, 0], 1) if ends else ()  # (1, V) each
    ready = dict(zip(ends, logits, strict=True))
    return [Found(hidden, state, ready.get(place)) for place, (hidden, state) in enumerate(read)]


def _read(
    model: LanguageModel, states: list[State], rows: Sequence[Sequence[int]]
) -> list[tuple[Tensor, State]]:
    """Hidden vectors (1, T, D) and memory of each row that reads so many symbols."""
    lengths = [len(ids) for ids in rows]
    packed = states[0].packed(states[1:], lengths)
    if packed is None:
        each = (torch.tensor([ids], device=model.device) for ids in rows)  # (1, T)
        return [model.read(tokens, state) for tokens, state in zip(each, states, strict=True)]
    tokens = torch.tensor([[id] for ids in rows for id in ids], device=model.device)  # (N, 1)
    hidden, packed = model.read(tokens, packed)  # (N, 1, D)
    own = (one.transpose(0, 1) for one in torch.split(hidden, lengths))
    return list(zip(own, packed.unpacked(), strict=True))


def told(logs: Tensor, ids: Sequence[int], top: int) -> list[SymbolLog]:
    """What was expected (t, V), of these symbols (t,) and the `top` best ones."""
    own = logs.gather(1, torch.tensor(ids, device=logs.device)[:, None])[:, 0].tolist()
    best = logs.topk(min(top, logs.shape[1]), -1)
    each = zip(ids, own, best.indices.tolist(), best.values.tolist(), strict=True)
    return [SymbolLog(id, log, tuple(zip(*one, strict=True))) for id, log, *one in each]


def _pieces(ids: Sequence[int], offset: int, length: int, seen: int) -> list[_Piece]:
    """A row of `stretches` in pieces; only what no earlier row has told is asked for."""
    row, found = [BOS, *ids[offset + 1 : offset + length]], []
    for first in range(0, length, PIECE):
        own = row[first : first + PIECE]
        asked = max(first, seen)
        after = ids[offset + asked + 1 : offset + first + len(own) + 1]
        found.append(_Piece(first, own, asked - first, list(after)))
    return found
