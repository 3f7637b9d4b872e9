"""Filters narrow a distribution and leave it one."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as some
from torch import Tensor

from chainrule.decode.config import GenerationConfig
from chainrule.decode.filters import best, narrowed, temperature, top_k, top_p
from chainrule.decode.sample import draw
from chainrule.errors import ConfigError

numbers = some.one_of(some.floats(-30, 30, width=32), some.just(-math.inf), some.sampled_from([0.0, 1.0]))


@some.composite
def logits(make: some.DrawFn) -> Tensor:
    """Rows of logits (B, V) with a possible symbol each; equal ones and impossible ones are common."""
    width = make(some.integers(1, 9))
    rows = make(some.lists(some.lists(numbers, min_size=width, max_size=width), min_size=1, max_size=3))
    table = torch.tensor(rows)
    table[:, make(some.integers(0, width - 1))] = make(some.floats(-30, 30, width=32))
    return table


filters = some.builds(
    GenerationConfig,
    temperature=some.sampled_from([0.0, 1e-300, 0.5, 1.0, 3.0]),
    top_k=some.one_of(some.none(), some.integers(1, 12)),
    top_p=some.one_of(some.none(), some.floats(0.001, 1.0)),
)


@settings(max_examples=60, deadline=None)
@given(logits(), filters)
def test_a_filtered_distribution_is_a_distribution(before: Tensor, narrow: GenerationConfig) -> None:
    kept = before.clone()
    after = narrowed(before, narrow)
    assert torch.equal(before, kept), "its argument was edited"
    assert not after.isnan().any()
    assert (after[before == -math.inf] == -math.inf).all()
    torch.testing.assert_close(after.softmax(-1).sum(-1), torch.ones(len(before)))


@settings(max_examples=60, deadline=None)
@given(logits(), some.floats(0.001, 0.999))
def test_top_p_keeps_the_smallest_sufficient_set(before: Tensor, mass: float) -> None:
    chances = before.double().softmax(-1)
    kept = top_p(before, mass) > -math.inf
    for chance, mask in zip(chances, kept, strict=True):
        inside, outside = chance[mask], chance[~mask & (chance > 0)]
        assert inside.sum() >= mass - 1e-9
        assert inside.sum() - inside.min() < mass + 1e-9
        assert not len(outside) or inside.min() >= outside.max()


@settings(max_examples=60, deadline=None)
@given(logits(), some.integers(1, 12))
def test_top_k_keeps_the_k_best_and_the_lowest_ids_of_equal_ones(before: Tensor, count: int) -> None:
    for row, mask in zip(before, best(before, count), strict=True):
        expected = sorted(range(len(row)), key=lambda id: (-float(row[id]), id))[:count]
        assert mask.nonzero()[:, 0].tolist() == sorted(expected)


def test_temperature_zero_keeps_only_the_best_symbol() -> None:
    assert temperature(torch.tensor([[1.0, 3.0, 3.0]]), 0.0).tolist() == [[-math.inf, 3.0, -math.inf]]


def test_temperature_divides_what_lies_between_two_symbols() -> None:
    found = temperature(torch.tensor([[2.0, 0.0]]), 0.5)
    assert float(found[0, 0] - found[0, 1]) == pytest.approx(4.0)


def test_top_p_of_one_keeps_everything() -> None:
    before = torch.tensor([[0.0, -50.0, -100.0]])
    assert torch.equal(top_p(before, 1.0), before)


def test_a_row_where_nothing_is_possible_stays_so() -> None:
    nothing = torch.full((1, 3), -math.inf)
    for narrow in (
        GenerationConfig(),
        GenerationConfig(temperature=0.0),
        GenerationConfig(temperature=2.0, top_k=1, top_p=0.5),
    ):
        assert (narrowed(nothing, narrow) == -math.inf).all()
    assert draw(nothing, torch.tensor([0.5], dtype=torch.float64)).tolist() == [0]


def test_top_k_of_more_than_there_are_keeps_everything() -> None:
    before = torch.tensor([[0.0, 1.0]])
    assert torch.equal(top_k(before, 5), before)


@settings(max_examples=60, deadline=None)
@given(logits(), some.floats(0, 1, exclude_max=True))
def test_the_impossible_is_never_drawn(before: Tensor, uniform: float) -> None:
    drawn = draw(before, torch.full((len(before),), uniform, dtype=torch.float64))
    assert (before.gather(1, drawn[:, None]) > -math.inf).all()


def test_symbols_are_drawn_as_often_as_they_are_likely() -> None:
    chances = torch.tensor([0.5, 0.0, 0.3, 0.2])
    uniform = torch.linspace(0, 1, 1001, dtype=torch.float64)[:-1]
    drawn = draw(chances.log().expand(1000, 4), uniform)
    assert drawn.bincount(minlength=4).tolist() == pytest.approx([500, 0, 300, 200], abs=1)


@pytest.mark.parametrize(
    "wrong",
    [
        {"temperature": -1.0},
        {"temperature": math.nan},
        {"temperature": math.inf},
        {"top_k": 0},
        {"top_p": 0.0},
        {"top_p": 1.1},
        {"length": -1},
        {"count": 0},
        {"beam": 0},
        {"length_penalty": 1.0},
        *(
            {"beam": 2} | other
            for other in ({"seed": 0}, {"temperature": 0.0}, {"top_k": 1}, {"top_p": 1.0}, {"count": 3})
        ),
    ],
    ids=str,
)
def test_settings_out_of_range_or_not_for_each_other_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ConfigError):
        GenerationConfig(**wrong)
