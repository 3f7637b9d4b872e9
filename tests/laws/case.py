"""What the laws are held against: a model, how to teach it, and the scorer and the beam search around it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from chainrule.decode.beam import search
from chainrule.decode.draft import drafted
from chainrule.decode.sample import sample
from chainrule.judge.score import score_ids
from chainrule.models.base import LanguageModel, SourceConfig, log_total
from chainrule.models.neural import Neural
from chainrule.models.registry import families, family
from chainrule.models.state import State
from chainrule.symbols import BOS, EOS, FIRST, MASK, PAD
from tiny import Table, TinyAttention, TinyMasked, TinyRecurrent, TinyTransformer, TinyTranslator

Rows = list[list[int]]


@dataclass(frozen=True)
class Case:
    """One instance to hold against the laws; a deliberate bug is a case with one part replaced."""

    name: str
    make: Callable[[], LanguageModel]
    learn: Callable[[Case, Rows], LanguageModel]  # a model of the same kind that has learnt these rows
    source: Callable[[Sequence[int]], Any] | None = None  # one source for each of the rows named
    search: Callable[..., Any] = search
    sample: Callable[..., Any] = sample
    draft: Callable[..., Any] = drafted
    score: Callable[..., Any] = score_ids

    def given(self, rows: Sequence[int]) -> Any:
        """The source of these rows, if the model wants any."""
        return self.source(rows) if self.source else None

    def start(self, model: LanguageModel, rows: int | Sequence[int]) -> State:
        """The memory of rows that have read nothing but their source."""
        names = range(rows) if isinstance(rows, int) else rows
        return model.start(len(names), self.given(names))


def data_symbols(model: LanguageModel) -> list[int]:
    """The symbols of the data that the model may predict."""
    return [id for id in range(FIRST, model.config.vocab_size) if id not in model.config.suppressed]


def predictable(model: LanguageModel) -> list[int]:
    """Everything the model may predict, EOS included."""
    return [id for id in range(model.config.vocab_size) if id not in model.config.suppressed]


def random_rows(model: LanguageModel, lengths: Sequence[int], seed: int = 0) -> Rows:
    """Rows `BOS x_1 … x_n` of these lengths."""
    rng = np.random.default_rng(seed)
    return [[BOS, *rng.choice(data_symbols(model), length).tolist()] for length in lengths]


def flat(rows: Rows) -> np.ndarray:
    """Rows without their end as flat whole sequences."""
    return np.array([id for row in rows for id in [*row, EOS]], np.int32)


def padded(rows: Rows) -> Tensor:
    """Rows of unequal length as one tensor (B, T), PAD on the right."""
    width = max(map(len, rows))
    return torch.tensor([row + [PAD] * (width - len(row)) for row in rows])


def masked(rows: Rows) -> tuple[Tensor, Tensor]:
    """Tokens and targets that hide every symbol in turn, one row for each."""
    whole = [[*row, EOS] for row in rows]
    holes = [(row, place) for row in whole for place in range(1, len(row))]
    tokens = [[MASK if at == place else id for at, id in enumerate(row)] for row, place in holes]
    targets = [[id if at == place else PAD for at, id in enumerate(row)] for row, place in holes]
    return padded(tokens), padded(targets)


def predictions(model: LanguageModel, tokens: Tensor, state: State) -> tuple[Tensor, State]:
    """Log-probabilities of everything at every position (B, T, V), and the new memory."""
    with torch.no_grad():
        hidden, state = model.read(tokens, state)
        logits = model.logits(hidden).double()
    assert not logits.isnan().any(), "a prediction is NaN"
    return logits - log_total(logits)[..., None], state


def teach(case: Case, rows: Rows) -> LanguageModel:
    """Gradient models: a hundred steps of Adam on one batch."""
    model = case.make()
    assert isinstance(model, Neural)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.05)
    for _ in range(100):
        optimizer.zero_grad()
        loss = -likelihood(case, model, rows)
        loss.backward()
        optimizer.step()
    return model


def likelihood(case: Case, model: LanguageModel, rows: Rows) -> Tensor:
    """Mean log-probability of the symbols of these rows, as a model of its kind is taught."""
    if model.reads == "both":
        tokens, targets = masked(rows)
        state = model.start(len(tokens))
    else:
        tokens, targets = padded(rows), padded([[*row[1:], EOS] for row in rows])
        state = case.start(model, len(rows))
    found, _ = model.score(tokens, targets, state)
    return found.sum() / (targets != PAD).sum()


def count(case: Case, rows: Rows) -> LanguageModel:
    """Counting models: one pass over the data, by the family's own `learn(config, ids)`."""
    model = case.make()
    return type(model).learn(model.config, flat(rows))  # type: ignore[attr-defined, no-any-return]


def tiny_sources(rows: Sequence[int]) -> Tensor:
    """Source ids, different and of unequal length from row to row."""
    return padded([[FIRST + (row + place) % 4 for place in range(1 + row % 3)] for row in rows])


def _family_case(name: str) -> Case:
    kind = family(name)
    sources = tiny_sources if issubclass(kind.Config, SourceConfig) else None
    return Case(name, kind.tiny, teach if issubclass(kind, Neural) else count, sources)


TINY = [
    Case("table", Table.tiny, count),
    Case("recurrent", TinyRecurrent.tiny, teach),
    Case("attention", TinyAttention.tiny, teach),
    Case("translator", TinyTranslator.tiny, teach, tiny_sources),
    Case("cross-attention", TinyTransformer.tiny, teach, tiny_sources),
    Case("masked", TinyMasked.tiny, teach),
]
CASES = [
    *TINY,
    *(_family_case(name) for name in families() if issubclass(family(name), LanguageModel)),
]
