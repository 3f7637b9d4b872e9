"""Drafting (speculative decoding): a small model writes ahead, the large one reads the draft in one go and keeps what
it agrees with.

The result has exactly the distribution of the large model (Leviathan et al. 2023): a drafted symbol that it finds as
likely as the small model does is kept, one that it finds less likely is kept by that ratio, and in place of one that is
not kept a symbol is drawn from what the small model had underrated. Reading several symbols at once costs the large
model hardly more than reading one. Random numbers are used otherwise than by `sample`: the text of a seed may differ.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from chainrule.decode.config import FREE, Constraints, GenerationConfig
from chainrule.decode.cursor import Cursor, Prompts, advance, begin, begin_rows, checked, moved, padded, ready
from chainrule.decode.filters import narrowed, without
from chainrule.decode.sample import RowGenerators, Steps, draw
from chainrule.errors import ModelError
from chainrule.models.base import LanguageModel
from chainrule.symbols import PAD

AHEAD = 4  # symbols drafted at a time


@dataclass
class DraftStats:
    """How well drafting went."""

    drafted: int = 0
    kept: int = 0
    rounds: int = 0  # how often the large model read


@dataclass(frozen=True)
class _Draft:
    """What the small model wrote ahead in every row, and the probabilities it drew from at each place."""

    ids: list[list[int]]
    chances: list[Tensor]  # (B, V) each


@dataclass(frozen=True)
class _Place:
    """Where B rows stand: the large model has read all symbols but the last, the small one has read them all."""

    large: Cursor
    small: Cursor
    last: list[int]
    rows: list[int]  # the text of each row

    def select(self, kept: list[int], device: object) -> _Place:
        """Only these rows."""
        places = torch.tensor(kept, dtype=torch.long, device=device)  # type: ignore[arg-type]
        last, rows = ([one[place] for place in kept] for one in (self.last, self.rows))
        return _Place(self.large.select(places), self.small.select(places), last, rows)


def drafted(
    model: LanguageModel,
    drafter: LanguageModel,
    prompts: Prompts,
    config: GenerationConfig,
    constraints: Constraints = FREE,
    source: object = None,
    *,
    ahead: int = AHEAD,
    stats: DraftStats | None = None,
) -> Steps:
    """Continue every prompt `count` times as `sample` would, with fewer reads of `model`; several symbols a step.

    Both models are given the source.
    """
    if drafter.config.vocab_size != model.config.vocab_size:
        raise ModelError("A draft must be in the symbols of the model. Fit both with the same codec.")
    texts: list[list[int]] = [[] for _ in range(config.count * len(prompts))]
    writer = _Writer(
        model, drafter, config, constraints, RowGenerators(config, len(texts)), ahead, stats or DraftStats()
    )
    place = writer.begin(prompts, source)
    while place.rows and config.length:
        rows = place.rows
        written, place = writer.round(place)
        step: list[list[int]] = [[] for _ in texts]
        going = []
        for at, (row, symbols) in enumerate(zip(rows, written, strict=True)):
            before = len(texts[row])
            if _grow(texts[row], symbols, row, config.length, constraints):
                going.append(at)
            step[row] = texts[row][before:]
        yield step
        place = place.select(going, model.device)


def _grow(text: list[int], symbols: Sequence[int], row: int, length: int, constraints: Constraints) -> bool:
    """Add symbols to the text of a row until it ends; whether it has not ended."""
    for symbol in symbols:
        if symbol == PAD:
            return False
        text.append(symbol)
        if len(text) == length or constraints.end(row, text):
            return False
    return True


@dataclass
class _Writer:
    """Round after round: those symbols of a draft that are kept, and one more."""

    model: LanguageModel
    drafter: LanguageModel
    config: GenerationConfig
    constraints: Constraints
    generators: RowGenerators
    ahead: int
    stats: DraftStats

    def begin(self, prompts: Prompts, source: object) -> _Place:
        """All rows after their prompts."""
        ids = [checked(self.model, prompt) for prompt in prompts]
        rows = [place for place in range(len(ids)) for _ in range(self.config.count)]
        large = begin_rows(self.model, [one[:-1] for one in ids], source)
        small = begin(self.drafter, ids, source)
        place = _Place(large, small, [one[-1] for one in ids], list(range(len(ids))))
        return replace(place.select(rows, self.model.device), rows=list(range(len(rows))))

    def round(self, place: _Place) -> tuple[list[list[int]], _Place]:
        """What every row adds, and where it stands then."""
        large = ready(self.model, place.large, padded([[one] for one in place.last], self.model.device))
        draft = self._draft(place.small, place.rows, self._room(large))
        read = [[last, *ids] for last, ids in zip(place.last, draft.ids, strict=True)]
        tokens = padded(read, self.model.device)  # (B, T)
        with self.model.inference(tokens.numel()):
            hidden, after = self.model.read(tokens, large.state)  # (B, T, D)
            expected = self._chances(self.model.logits(hidden).double())  # (B, T, V)
        kept = [self._agreed(row, place.rows[row], draft, expected[row]) for row in range(len(read))]
        last = [self._last(row, place.rows[row], kept[row], draft, expected[row]) for row in range(len(read))]
        self._count(draft, kept)
        short = padded([ids[: 1 + size] for ids, size in zip(read, kept, strict=True)], self.model.device)
        if not torch.equal(short, tokens):
            with self.model.inference(short.numel()):
                after = self.model.rewound(after, large.state, short)
        written = [[*ids[:size], one] for ids, size, one in zip(draft.ids, kept, last, strict=True)]
        small = advance(self.drafter, place.small, place.small.rows, padded(written, self.drafter.device))
        return written, _Place(moved(self.model, large, short, after), small, last, place.rows)

    def _room(self, large: Cursor) -> list[int]:
        """How many drafted symbols each row can hold after the one that is still to be read."""
        if self.model.context is None:
            return [self.ahead] * len(large.held)
        return [min(self.ahead, self.model.context - held - 1) for held in large.held.tolist()]

    def _count(self, draft: _Draft, kept: Sequence[int]) -> None:
        self.stats.drafted += sum(map(len, draft.ids))
        self.stats.kept += sum(kept)
        self.stats.rounds += 1

    def _chances(self, logits: Tensor) -> Tensor:
        """Probabilities (…, V) after filters, of logits (…, V)."""
        flat = without(logits.cpu(), self.constraints.never).flatten(0, -2)  # (N, V)
        return narrowed(flat, self.config).double().softmax(-1).view(logits.shape)

    def _draft(self, small: Cursor, rows: Sequence[int], room: Sequence[int]) -> _Draft:
        """As many symbols a row as there is room for; fewer where the small model comes to a dead end."""
        draft = _Draft([[] for _ in rows], [])
        for size in range(max(room)):
            if size:
                column = [ids[-1] if len(ids) == size else PAD for ids in draft.ids]
                small = advance(
                    self.drafter, small, small.rows, padded([[one] for one in column], self.drafter.device)
                )
            draft.chances.append(self._chances(small.logits))
            for place, row in enumerate(rows):
                if len(draft.ids[place]) == size < room[place]:
                    symbol = self._drawn(row, draft.chances[size][place])
                    draft.ids[place] += [symbol] if symbol != PAD else []
        return draft

    def _drawn(self, row: int, chances: Tensor) -> int:
        return int(draw(chances.log()[None], self.generators.draw(row))[0])

    def _agreed(self, place: int, row: int, draft: _Draft, large: Tensor) -> int:
        """How many drafted symbols of a row are kept, `large` (T, V) being probabilities by the large model."""
        ids = draft.ids[place]
        uniform = self.generators.draw(row, len(ids)).tolist()
        for at, symbol in enumerate(ids):
            if uniform[at] * float(draft.chances[at][place, symbol]) >= float(large[at, symbol]):
                return at
        return len(ids)

    def _last(self, place: int, row: int, kept: int, draft: _Draft, large: Tensor) -> int:
        """The symbol after those kept: what the small model underrated, or, when all were kept, anything."""
        if kept == len(draft.ids[place]):
            return self._drawn(row, large[kept])
        rest = (large[kept] - draft.chances[kept][place]).clamp(min=0.0)
        return self._drawn(row, rest if float(rest.sum()) > 0.0 else large[kept])
