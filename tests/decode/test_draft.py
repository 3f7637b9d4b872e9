"""Drafting changes how fast a text is written, and nothing else."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from chainrule.decode.config import Constraints, GenerationConfig
from chainrule.decode.draft import DraftStats, drafted
from chainrule.decode.sample import joined, sample
from chainrule.errors import ModelError
from chainrule.models.base import ModelConfig
from chainrule.models.gpt import Gpt, GptConfig
from chainrule.models.lstm import Lstm
from chainrule.models.ngram import Ngram, NgramConfig
from chainrule.symbols import BOS, EOS
from decoding import greedy
from tiny import Table

PROMPT = [BOS, 5, 6]


def large(context: int = 64) -> Gpt:
    model = Gpt.seeded(GptConfig(vocab_size=9, layers=2, width=8, heads=2, context=context), 1)
    torch.manual_seed(2)
    for value in model.parameters():
        if value.dim() > 1:
            torch.nn.init.normal_(value, std=0.8)
    return model


def counted() -> Ngram:
    rng = np.random.default_rng(0)
    rows = [[BOS, *rng.integers(5, 9, 12).tolist(), EOS] for _ in range(20)]
    return Ngram.learn(NgramConfig(vocab_size=9, order=3), np.concatenate(rows).astype(np.int32))


def written(
    model: Any, drafter: Any, prompts: list[list[int]], config: GenerationConfig, **options: Any
) -> list[list[int]]:
    return joined(drafted(model, drafter, prompts, config, Constraints(stop=()), **options))


def best(length: int) -> GenerationConfig:
    return GenerationConfig(length=length, seed=1, temperature=0.0)


@pytest.mark.parametrize("drafter", [counted(), Lstm.tiny(5), large(16)])
@pytest.mark.parametrize("context", [8, 64])
@pytest.mark.parametrize("ahead", [1, 3, 6])
def test_the_best_texts_are_the_same_to_the_symbol(drafter: Any, context: int, ahead: int) -> None:
    model, prompts = large(context), [PROMPT, [BOS], [BOS, *([5, 6, 7, 8] * 5)], [BOS, 8, 8, 8, 5, 6, 7]]
    expected = [greedy(model, prompt, 40, stop=()) for prompt in prompts]
    assert written(model, drafter, prompts, best(40), ahead=ahead) == expected
    assert {len(row) for row in expected} == {40}


@pytest.mark.parametrize("model", [large(8), large(64), Lstm.tiny(7)])
@pytest.mark.parametrize("drafter", [counted(), large(16)])
def test_rows_drafted_together_are_drawn_as_if_alone(model: Any, drafter: Any) -> None:
    prompts, config = (
        [[BOS], PROMPT, [BOS, *([5, 6, 7, 8] * 5)]],
        GenerationConfig(length=25, seed=4, top_k=3),
    )
    found = joined(drafted(model, drafter, prompts, config))
    for row, prompt in enumerate(prompts):
        assert [found[row]] == joined(drafted(model, drafter, [prompt], config.from_row(row)))


@pytest.mark.parametrize("model", [large(), Lstm.tiny(7)])
def test_a_model_that_drafts_for_itself_is_always_believed(model: Any) -> None:
    stats = DraftStats()
    written(model, model, [PROMPT], best(40), stats=stats)
    assert stats.kept == stats.drafted > 0 and stats.rounds <= 9


@pytest.mark.parametrize("filters", [{}, {"temperature": 0.7, "top_k": 4}])
def test_drawn_texts_have_the_distribution_of_the_large_model(filters: dict[str, Any]) -> None:
    model, drafter, many = large(), counted(), 1200
    config = GenerationConfig(length=2, seed=1, count=many, **filters)
    by_draft = written(model, drafter, [PROMPT], config, ahead=2)
    plain = joined(sample(model, [PROMPT], config.from_row(many), Constraints(stop=())))
    counts = np.zeros((2, 9, 9))
    for kind, rows in enumerate((by_draft, plain)):
        for first, second in rows:
            counts[kind, first, second] += 1
    expected, seen = counts[1] + 0.5, counts[0] + 0.5
    statistic = ((seen - expected) ** 2 / (seen + expected)).sum()  # chi-squared of two samples
    cells = int((counts.sum(0) > 0).sum())
    assert statistic < cells + 4 * np.sqrt(2 * cells)


def test_texts_end_where_they_would() -> None:
    model = large()
    third = greedy(model, PROMPT, 40, stop=())[2]
    [text] = joined(drafted(model, counted(), [PROMPT], best(40), Constraints(stop=(third,))))
    assert text[-1] == third and text.count(third) == 1
    pair = greedy(model, PROMPT, 40, stop=())[3:5]
    told = Constraints(stop=(), ends=lambda row, ids: list(ids[-2:]) == pair)
    [text] = joined(drafted(model, counted(), [PROMPT], best(40), told))
    assert text[-2:] == pair and pair not in [text[at : at + 2] for at in range(len(text) - 2)]
    assert not joined(drafted(model, model, [PROMPT], best(0)))


def test_a_drafter_that_comes_to_a_dead_end_drafts_no_more() -> None:
    chances = np.zeros((9, 9))
    chances[BOS, 5] = chances[5, 6] = 1.0  # nothing follows a 6
    dead, model = Table(ModelConfig(vocab_size=9), chances), large()
    assert written(model, dead, [[BOS, 5], [BOS]], best(12)) == [
        greedy(model, prompt, 12, stop=()) for prompt in ([BOS, 5], [BOS])
    ]


def test_drafts_in_other_symbols_are_refused() -> None:
    other = Lstm.seeded(Lstm.Config(vocab_size=12, width=4), 1)  # type: ignore[call-arg]
    with pytest.raises(ModelError, match="same codec"):
        list(drafted(large(), other, [PROMPT], best(4)))
