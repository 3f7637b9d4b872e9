"""Deliberate bugs, each with the law that must catch it: proof that the laws have teeth."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self
from unittest.mock import patch

import numpy as np
import torch
from torch import Tensor

from chainrule.decode import beam as beam_module
from chainrule.decode import cursor as cursor_module
from chainrule.decode import draft as draft_module
from chainrule.decode import sample as sample_module
from chainrule.decode.beam import search
from chainrule.decode.config import Constraints
from chainrule.decode.cursor import Cursor, advance
from chainrule.decode.draft import drafted
from chainrule.decode.hypotheses import SearchResult
from chainrule.decode.sample import RowGenerators, Steps, sample
from chainrule.judge.score import Score, score_ids
from chainrule.models.base import LanguageModel
from chainrule.models.state import State
from chainrule.symbols import PAD
from laws.case import TINY, Case
from tiny import TinyAttention, TinyMasked, TinyRecurrent, TinyTranslator
from tiny.attention import Cache
from tiny.recurrent import Hidden
from tiny.translator import Translating

CORRECT = {case.name: case for case in TINY}


class Peeking(TinyAttention):
    """No causal mask."""

    def visible(self, real: Tensor, length: int) -> Tensor:
        return super().visible(real, length) | real[:, None]


class PaddingRead(TinyRecurrent):
    """PAD moves the memory like any symbol."""

    def read(self, tokens: Tensor, state: Hidden) -> tuple[Tensor, Hidden]:
        return super().read(torch.where(tokens == PAD, 5, tokens), state)


class PaddingSeen(TinyMasked):
    """Attention looks at padding."""

    def hidden_from(self, tokens: Tensor) -> Tensor:
        return torch.zeros_like(tokens[:, None], dtype=torch.bool)


@dataclass(frozen=True)
class ForgetfulCache(Cache):
    """One field is left behind when rows move."""

    def select(self, rows: Tensor) -> Self:
        stale = self.count[torch.arange(len(rows)) % len(self.count)]
        return replace(super().select(rows), count=stale)


class CountForgotten(TinyAttention):
    """How much each row has read is forgotten in `select`."""

    def start(self, batch: int, source: Any = None) -> Cache:
        return _as(ForgetfulCache, super().start(batch, source))

    def read(self, tokens: Tensor, state: Cache) -> tuple[Tensor, Cache]:
        hidden, cache = super().read(tokens, state)
        return hidden, _as(ForgetfulCache, cache)


def _as(kind: type[ForgetfulCache], cache: Cache) -> ForgetfulCache:
    return kind(cache.keys, cache.values, cache.real, cache.count)


@dataclass(frozen=True)
class Unmoved(Translating):
    """The source stays where it was when rows move."""

    def select(self, rows: Tensor) -> Self:
        return replace(
            super().select(rows), source=self.source.select(torch.arange(len(rows)) % len(self.vector))
        )


class MemoryForgotten(TinyTranslator):
    """The Memory is forgotten in `select`."""

    def start(self, batch: int, source: Any = None) -> Translating:
        state = super().start(batch, source)
        return Unmoved(state.vector, state.source)

    def read(self, tokens: Tensor, state: Translating) -> tuple[Tensor, Translating]:
        hidden, state = super().read(tokens, state)
        return hidden, Unmoved(state.vector, state.source)


class RowsMixed(TinyRecurrent):
    """A mean over the batch slips in."""

    def read(self, tokens: Tensor, state: Hidden) -> tuple[Tensor, Hidden]:
        hidden, state = super().read(tokens, state)
        return hidden - 0.1 * hidden.mean(0, keepdim=True), state


class Loud(TinyRecurrent):
    """PAD, BOS and MASK can be predicted."""

    def suppress(self, logits: Tensor) -> Tensor:
        return logits


class StateDropped(TinyRecurrent):
    """Every chunk is read as if it were the first."""

    def read(self, tokens: Tensor, state: Hidden) -> tuple[Tensor, Hidden]:
        return super().read(tokens, self.start(len(tokens)))


class OffByOne(TinyRecurrent):
    """Each symbol gets the log-probability of its neighbour."""

    def score_ids(self, ids: np.ndarray, batch: int = 64) -> np.ndarray:
        return np.roll(super().score_ids(ids, batch), 1)


class Unnormalised(TinyRecurrent):
    """The logits themselves pass for log-probabilities."""

    def score(self, tokens: Tensor, targets: Tensor, state: State) -> tuple[Tensor, State]:
        hidden, state = self.read(tokens, state)
        found = self.logits(hidden).gather(-1, targets[..., None])[..., 0]
        return torch.where(targets == PAD, 0.0, found), state


class BiasLost(TinyRecurrent):
    """One array is not saved, and nobody notices at loading."""

    def arrays(self) -> Mapping[str, np.ndarray]:
        return {name: array for name, array in super().arrays().items() if name != "output.bias"}

    @classmethod
    def from_arrays(cls, config: Any, arrays: Mapping[str, np.ndarray]) -> Self:
        model = cls(config)
        model.load_state_dict({name: torch.from_numpy(array) for name, array in arrays.items()}, strict=False)
        return model


class Detached(TinyRecurrent):
    """The loss does not reach the weights below the logits, which themselves say nothing."""

    def logits(self, hidden: Tensor) -> Tensor:
        return self.suppress(0.0 * self.output(hidden))


def beam_not_reordered(*args: Any) -> list[SearchResult]:
    """The memory of another hypothesis is continued."""

    def unmoved(model: LanguageModel, cursor: Cursor, rows: Tensor, tokens: Tensor) -> Cursor:
        return advance(model, cursor, torch.arange(len(rows)) % len(cursor.logits), tokens)

    with patch.object(beam_module, "advance", unmoved):
        return search(*args)


def beam_never_finishing(model: LanguageModel, prompts: Any, config: Any, *_: Any) -> list[SearchResult]:
    """What has ended is continued."""
    return search(model, prompts, config, Constraints(stop=()))


def beam_of_finished_only(*args: Any) -> list[SearchResult]:
    """What reached the longest length unfinished is thrown away."""
    finished = [tuple(one for one in found.hypotheses if one.finished) for found in search(*args)]
    return [
        replace(all, hypotheses=some or all.hypotheses)
        for all, some in zip(search(*args), finished, strict=True)
    ]


def beam_over_all_prompts(model: LanguageModel, prompts: Any, config: Any, *rest: Any) -> list[SearchResult]:
    """The prompts share one beam: the best hypotheses of all of them are kept."""
    found = search(model, prompts, config, *rest)
    best = sorted((one.value for all in found for one in all.hypotheses), reverse=True)[: config.beam]
    return [
        replace(all, hypotheses=tuple(one for one in all.hypotheses if one.value >= best[-1]))
        for all in found
    ]


def padding_continued(*args: Any) -> Steps:
    """What follows the padding of a short prompt is predicted, not what follows the prompt."""

    def last_column(model: LanguageModel, tokens: Tensor, state: State) -> tuple[Tensor, State]:
        hidden, state = model.read(tokens, state)
        return model.logits(hidden[:, -1:])[:, 0].detach(), state

    with patch.object(cursor_module, "_read", last_column):
        return iter(list(sample(*args)))


class OneGenerator(RowGenerators):
    """All rows draw from one generator."""

    def draw(self, row: int, count: int = 1) -> Tensor:
        return super().draw(0, count)


def generator_shared(*args: Any) -> Steps:
    """What a row draws depends on how many rows there are."""
    with patch.object(sample_module, "RowGenerators", OneGenerator):
        return iter(list(sample(*args)))


def draft_generator_shared(*args: Any) -> Steps:
    """What a row drafts depends on how many rows there are."""
    with patch.object(draft_module, "RowGenerators", OneGenerator):
        return iter(list(drafted(*args)))


def draft_without_source(*args: Any) -> Steps:
    """Neither model of a draft reads the source."""
    return drafted(*args[:-1], None)


def mean_of_means(
    model: LanguageModel, ids: np.ndarray, bytes: int = 0, unknown: int = 0, **options: int
) -> Score:
    """The average of the averages of batches."""
    begins = [*np.flatnonzero(ids == ids[0]), len(ids)]
    step = options.get("batch", 64)
    edges = [*begins[:-1:step], len(ids)]
    parts = [score_ids(model, ids[low:high]) for low, high in itertools.pairwise(edges)]
    symbols = sum(part.symbols for part in parts)
    mean = sum(part.bits_per_symbol for part in parts) / len(parts)
    return Score(-mean * symbols, symbols, bytes, unknown)


@dataclass(frozen=True)
class Bug:
    """A broken case and the names of laws that must catch it."""

    case: Case
    caught_by: Sequence[str]  # two digits each


def broken(name: str, kind: type[LanguageModel], like: str, *caught_by: str) -> Bug:
    """A tiny model gone wrong."""
    return Bug(replace(CORRECT[like], name=name, make=kind.tiny), caught_by)


def around(name: str, like: str, *caught_by: str, **parts: Any) -> Bug:
    """A correct tiny model with a broken scorer or search around it."""
    return Bug(replace(CORRECT[like], name=name, **parts), caught_by)


BUGS = [
    broken("log-probabilities not normalised", Unnormalised, "recurrent", "01", "14"),
    broken("suppressed symbols predicted", Loud, "recurrent", "02"),
    broken("state dropped between chunks", StateDropped, "recurrent", "03", "14"),
    broken("no causal mask", Peeking, "attention", "03", "04"),
    broken("rows mixed", RowsMixed, "recurrent", "05", "11"),
    broken("padding read", PaddingRead, "recurrent", "06"),
    broken("padding seen by a masked model", PaddingSeen, "masked", "06", "11"),
    broken("a state field forgotten in select", CountForgotten, "attention", "07"),
    broken("the memory forgotten in select", MemoryForgotten, "translator", "07"),
    around("beam not reordered", "recurrent", "09", "10", search=beam_not_reordered),
    around("finished hypotheses extended", "recurrent", "08", "10", search=beam_never_finishing),
    around("unfinished hypotheses lost", "recurrent", "10", search=beam_of_finished_only),
    around("one beam for all prompts", "recurrent", "15", search=beam_over_all_prompts),
    around("padding continued", "attention", "15", sample=padding_continued),
    around("one generator for all rows", "table", "15", sample=generator_shared),
    around("one generator for all drafts", "table", "15", draft=draft_generator_shared),
    around("the source forgotten in drafts", "translator", "15", draft=draft_without_source),
    around("mean of batch means", "recurrent", "11", score=mean_of_means),
    broken("an array not saved", BiasLost, "recurrent", "12"),
    broken("nothing to learn by", Detached, "recurrent", "13"),
    broken("targets off by one", OffByOne, "recurrent", "14"),
]
