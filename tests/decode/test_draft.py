"""Drafting changes how fast a text is written, and nothing else."""

from __future__ import annotations

from itertools import islice
from typing import Any

import numpy as np
import pytest
import torch

from chainrule.decode.draft import Tally, drafted
from chainrule.decode.filters import Filters
from chainrule.decode.sample import greedy, sample
from chainrule.errors import ModelError
from chainrule.models.gpt import Gpt, GptConfig
from chainrule.models.lstm import Lstm
from chainrule.models.ngram import Ngram, NgramConfig
from chainrule.symbols import BOS, EOS

PROMPT = [BOS, 5, 6]


def large(context: int = 64) -> Gpt:
    model = Gpt.seeded(GptConfig(alphabet=9, layers=2, width=8, heads=2, context=context), 1)
    torch.manual_seed(2)
    for value in model.parameters():
        if value.dim() > 1:
            torch.nn.init.normal_(value, std=0.8)
    return model


def counted() -> Ngram:
    rng = np.random.default_rng(0)
    rows = [[BOS, *rng.integers(5, 9, 12).tolist(), EOS] for _ in range(20)]
    return Ngram.learn(NgramConfig(alphabet=9, order=3), np.concatenate(rows).astype(np.int32))


@pytest.mark.parametrize("drafter", [counted(), Lstm.tiny(5), large(16)])
@pytest.mark.parametrize("context", [8, 64])
@pytest.mark.parametrize("ahead", [1, 3, 6])
def test_the_best_text_is_the_same_to_the_symbol(drafter: Any, context: int, ahead: int) -> None:
    model = large(context)
    expected = list(greedy(model, PROMPT, 40, stop=()))
    luck = torch.Generator().manual_seed(1)
    found = drafted(
        model, drafter, PROMPT, 40, generator=luck, filters=Filters(temperature=0.0), stop=(), ahead=ahead
    )
    assert list(found) == expected and len(expected) == 40


def test_a_prompt_longer_than_the_model_holds_is_no_obstacle() -> None:
    model, prompt = large(8), [BOS, *([5, 6, 7, 8] * 5)]
    luck, best = torch.Generator().manual_seed(1), Filters(temperature=0.0)
    found = drafted(model, counted(), prompt, 20, generator=luck, filters=best, stop=())
    assert list(found) == list(greedy(model, prompt, 20, stop=()))


@pytest.mark.parametrize("model", [large(), Lstm.tiny(7)])
def test_a_model_that_drafts_for_itself_is_always_believed(model: Any) -> None:
    tally = Tally()
    best = Filters(temperature=0.0)
    list(drafted(model, model, PROMPT, 40, generator=torch.Generator(), filters=best, stop=(), tally=tally))
    assert tally.kept == tally.drafted > 0 and tally.rounds <= 9


@pytest.mark.parametrize("filters", [Filters(), Filters(temperature=0.7, top_k=4)])
def test_drawn_texts_have_the_distribution_of_the_large_model(filters: Filters) -> None:
    model, drafter, many = large(), counted(), 1200
    counts = np.zeros((2, 9, 9))
    luck = torch.Generator().manual_seed(1)
    for _ in range(many):
        by_draft = drafted(model, drafter, PROMPT, 2, generator=luck, filters=filters, stop=(), ahead=2)
        plain = sample(model, PROMPT, 2, generator=luck, filters=filters, stop=())
        for kind, way in enumerate((by_draft, plain)):
            first, second = islice(way, 2)
            counts[kind, first, second] += 1
    expected, seen = counts[1] + 0.5, counts[0] + 0.5
    statistic = ((seen - expected) ** 2 / (seen + expected)).sum()  # chi-squared of two samples
    cells = int((counts.sum(0) > 0).sum())
    assert statistic < cells + 4 * np.sqrt(2 * cells)


def test_texts_end_where_they_would() -> None:
    model = large()
    luck = torch.Generator().manual_seed(3)
    ends = greedy(model, PROMPT, 40, stop=())
    [third] = list(ends)[2:3]
    found = drafted(
        model, counted(), PROMPT, 40, generator=luck, filters=Filters(temperature=0.0), stop=(third,)
    )
    texts = list(found)
    assert texts[-1] == third and texts.count(third) == 1
    assert not list(drafted(model, model, PROMPT, 0, generator=luck))


def test_drafts_in_other_symbols_are_refused() -> None:
    other = Lstm.seeded(Lstm.Config(alphabet=12, width=4), 1)  # type: ignore[call-arg]
    with pytest.raises(ModelError, match="same codec"):
        list(drafted(large(), other, PROMPT, 4, generator=torch.Generator()))
