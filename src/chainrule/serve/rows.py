"""The running batch: rows that each write one text, and join and leave between steps."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

import torch
from torch import Generator, Tensor

from chainrule.decode.config import GenerationConfig
from chainrule.decode.cursor import log_probabilities
from chainrule.decode.filters import check_finite, narrowed, without
from chainrule.decode.sample import draw, surest
from chainrule.models.base import LanguageModel
from chainrule.models.state import State
from chainrule.models.windows import carried
from chainrule.nn.product import FLOOR, steady
from chainrule.serve.reading import Place, SymbolLog, told
from chainrule.serve.text import Text, Written
from chainrule.symbols import EOS, PAD


@dataclass(eq=False)
class Row:
    """One text being written."""

    choice: int
    config: GenerationConfig
    never: tuple[int, ...]
    text: Text
    logprobs: int | None
    streams: bool
    tell: Callable[[Written], None]
    gone: Callable[[], bool]  # nobody waits for it any more
    ids: list[int] = field(default_factory=list)
    recent: tuple[int, ...] = ()
    held: int = 0
    over: bool = False
    held_back: list[tuple[int, SymbolLog | None, int]] = field(default_factory=list)
    parts: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.generator = Generator()
        assert self.config.seed is not None
        self.generator.manual_seed(self.config.seed)

    def uniform(self) -> Tensor:
        """The next number (1,) in [0, 1): what it draws does not depend on other rows."""
        return torch.rand(1, generator=self.generator, dtype=torch.float64)

    def add(self, id: int, logits: Tensor) -> None:
        """The next symbol, drawn after logits (1, V) of the model."""
        log = None
        if self.logprobs is not None:
            [log] = told(log_probabilities(logits), [EOS if id == PAD else id], self.logprobs)
        begins, id = self.text.length, EOS if id == PAD else id
        self.ids.append(id)
        ended = id == EOS
        piece = "" if ended else self.text.add(id)
        finish = "stop" if ended or self.text.stopped else None
        finish = finish or ("length" if len(self.ids) >= self.config.length else None)
        self.over = finish is not None
        self.held_back.append((id, log, begins))
        self.parts.append(piece + (self.text.rest() if self.over else ""))
        if self.over or (self.streams and self.parts[-1]):
            self._tell(finish)

    def _tell(self, finish: str | None) -> None:
        """What has come since the last time; symbols behind the end of the text are left out."""
        text = "".join(self.parts)
        self.text.written += text
        end, seen = len(self.text.written), self.held_back
        if finish == "stop" and self.text.stopped:
            seen = [one for one in seen if one[2] < end]
        logs = tuple(log for _, log, _ in seen if log is not None)
        offsets = tuple(min(begins, end) for _, _, begins in seen)
        self.tell(Written(self.choice, text, tuple(id for id, *_ in seen), logs, offsets, finish))
        self.held_back, self.parts = [], []


class Rows:
    """All texts that are being written, and the one state of them all."""

    def __init__(self, model: LanguageModel) -> None:
        self.model = model
        self.rows: list[Row] = []
        self.state: State | None = None

    def __len__(self) -> int:
        return len(self.rows)

    def begin(self, rows: Sequence[Row], place: Place) -> None:
        """Texts that continue a prompt which has been read; those that are not over after a symbol join."""
        for row in rows:
            row.recent, row.held = place.recent, place.held
        self._drawn(rows, place.logits.expand(len(rows), -1))
        self.join([row for row in rows if not row.over], [place.state])

    def join(self, rows: Sequence[Row], states: Sequence[State]) -> None:
        """More rows, each with a state of its own, or all with the same one."""
        if not rows:
            return
        each = list(states) if len(states) == len(rows) else list(states) * len(rows)
        first, rest = (each[0], each[1:]) if self.state is None else (self.state, each)
        self.state = first.beside(rest)
        self.rows += rows

    def leave(self, staying: Callable[[Row], bool]) -> list[Row]:
        """Rows that are done with leave; what they were."""
        gone = [row for row in self.rows if not staying(row)]
        if gone:
            kept = [place for place, row in enumerate(self.rows) if staying(row)]
            self.rows = [self.rows[place] for place in kept]
            self.state = self.state.select(torch.tensor(kept)) if kept and self.state is not None else None
        return gone

    def full(self) -> list[Row]:
        """Rows that can hold no more leave: they are to be read again from what they read last."""
        limit = self.model.context
        return [] if limit is None else self.leave(lambda row: row.held < limit)

    def step(self) -> int:
        """One more symbol for every row; how many that were."""
        if not self.rows or self.state is None:
            return 0
        last = [row.ids[-1] for row in self.rows]
        logits, self.state = stepped(self.model, last, self.state)
        kept = 0 if self.model.context is None else carried(self.model.context)
        for row, id in zip(self.rows, last, strict=True):
            row.held += 1
            row.recent = (*row.recent, id)[-kept:] if kept else ()
        self._drawn(self.rows, logits)
        return len(last)

    def _drawn(self, rows: Sequence[Row], logits: Tensor) -> None:
        for row, id, own in zip(rows, chosen(rows, logits.cpu()), torch.split(logits, 1), strict=True):
            row.add(id, own)


def stepped(model: LanguageModel, ids: Sequence[int], state: State) -> tuple[Tensor, State]:
    """Logits (B, V) after one more symbol a row (B,), and the new memory; the same whatever the other rows are."""
    count = len(ids)
    spare = FLOOR - count if state.stacked and model.learner != "count" else 0
    if spare > 0:  # copies of the first row: libraries add up otherwise where there are few
        state = state.select(torch.tensor([*range(count), *[0] * spare]))
    tokens = torch.tensor([[id] for id in [*ids, *[ids[0]] * max(0, spare)]], device=model.device)  # (B, 1)
    with steady(), model.inference(len(tokens)):
        hidden, state = model.read(tokens, state)
        logits = model.logits(hidden)[:, 0]
    if spare > 0:
        state, logits = state.select(torch.arange(count)), logits[:count]
    return logits, state


def chosen(rows: Sequence[Row], logits: Tensor) -> list[int]:
    """The next symbol of each row after logits (B, V); PAD where none is possible."""
    check_finite(logits.amax(-1))
    found = [PAD] * len(rows)
    for places in _alike(rows):
        some = without(logits[places], rows[places[0]].never)
        config = rows[places[0]].config
        if config.temperature == 0:
            ids = surest(some)
        else:
            uniform = torch.cat([rows[place].uniform() for place in places])
            ids = draw(narrowed(some, config), uniform)
        for place, id in zip(places, ids.tolist(), strict=True):
            found[place] = id
    return found


def _alike(rows: Sequence[Row]) -> Iterable[list[int]]:
    """Numbers of rows that draw in the same way."""
    groups: dict[object, list[int]] = {}
    for place, row in enumerate(rows):
        one = row.config
        groups.setdefault((one.temperature, one.top_k, one.top_p, row.never), []).append(place)
    return groups.values()
