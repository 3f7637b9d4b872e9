"""Beam search against tables small enough to search by hand."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

from chainrule.decode.beam import search
from chainrule.decode.complete import offers
from chainrule.decode.config import Constraints, GenerationConfig
from chainrule.errors import ConfigError
from chainrule.models.base import ModelConfig
from chainrule.symbols import BOS, EOS, UNK
from decoding import beam, everything, greedy, searched, total
from tiny import Table, TinyAttention
from tiny.table import RAIN, SNOW, SUN

tables = some.integers(0, 10_000).map(lambda seed: Table.random(np.random.default_rng(seed)))


@settings(max_examples=25, deadline=None)
@given(tables, some.integers(1, 4), some.sampled_from([0.0, 0.7, 1.0]))
def test_a_wide_enough_beam_equals_brute_force(model: Table, length: int, penalty: float) -> None:
    expected = everything(model, [BOS], length)
    found = beam(model, [BOS], 5**length, length, length_penalty=penalty)
    assert {one.ids for one in found} == set(expected)
    values = sorted((chance / len(way) ** penalty for way, chance in expected.items()), reverse=True)
    assert [one.value for one in found] == pytest.approx(values)


@settings(max_examples=40, deadline=None)
@given(tables, some.integers(0, 8))
def test_a_beam_of_one_equals_greedy(model: Table, length: int) -> None:
    assert beam(model, [BOS], 1, length)[0].ids == tuple(greedy(model, [BOS], length))


@settings(max_examples=40, deadline=None)
@given(tables, some.integers(1, 6), some.integers(1, 6))
def test_every_total_is_the_log_probability_of_its_symbols(model: Table, width: int, length: int) -> None:
    found = beam(model, [BOS, 6], width, length)
    assert 1 <= len(found) <= width
    assert [one.log_probability for one in found] == pytest.approx(
        [total(model, [BOS, 6], one.ids) for one in found]
    )
    assert [one.value for one in found] == sorted((one.value for one in found), reverse=True)
    for one in found:
        assert one.finished == (one.ids[-1] == EOS) and EOS not in one.ids[:-1]
        assert one.finished or len(one.ids) == length


@settings(max_examples=40, deadline=None)
@given(tables, some.integers(1, 5), some.integers(1, 5))
def test_the_tree_holds_every_step_of_every_hypothesis(model: Table, width: int, length: int) -> None:
    found = searched(model, [BOS], width, length)
    for index, node in enumerate(found.tree.nodes):
        path = found.tree.path(index)
        assert node.length == len(path) and node.finished == (path[-1] == EOS)
        assert node.log_probability == pytest.approx(total(model, [BOS], path))
        assert node.parent is None or index in found.tree.children(node.parent)
    for one in found.hypotheses:
        assert one.node is not None and found.tree.path(one.node) == one.ids
    per_step = [sum(node.length == size for node in found.tree.nodes) for size in range(1, length + 1)]
    assert max(per_step) <= width


def test_a_beam_of_two_finds_what_greedy_misses() -> None:
    chances = np.zeros((8, 8))
    chances[BOS, [SUN, RAIN]] = 0.6, 0.4
    chances[SUN, [SUN, RAIN, SNOW, EOS]] = 0.25
    chances[RAIN, EOS] = 1.0
    model = Table(ModelConfig(vocab_size=8), chances)
    assert greedy(model, [BOS], 2)[0] == SUN
    assert beam(model, [BOS], 2, 2)[0].ids == (RAIN, EOS)
    assert beam(model, [BOS], 2, 2)[0].log_probability == pytest.approx(math.log(0.4))


def test_a_finished_hypothesis_is_never_lost_to_longer_ones() -> None:
    chances = np.zeros((8, 8))
    chances[BOS, [SUN, EOS]] = 0.7, 0.3
    chances[SUN, [RAIN, SNOW]] = 0.5  # two of 0.35 push the finished one of 0.3 out of a beam of two
    chances[RAIN, [RAIN, EOS]] = 0.5
    chances[SNOW, [SNOW, EOS]] = 0.5  # and end at 0.175
    found = beam(Table(ModelConfig(vocab_size=8), chances), [BOS], 2, 3)
    assert found[0].ids == (EOS,) and found[0].log_probability == pytest.approx(math.log(0.3))


def test_what_has_no_place_in_the_beam_any_more_is_no_hypothesis() -> None:
    chances = np.zeros((8, 8))
    chances[BOS, [SUN, EOS]] = 0.85, 0.15
    chances[SUN, [RAIN, EOS]] = 0.6, 0.4
    chances[RAIN, [UNK, EOS, SUN, RAIN, SNOW]] = (
        0.2  # every way on is less probable than both that have ended
    )
    found = beam(Table(ModelConfig(vocab_size=8), chances), [BOS], 2, 5)
    assert [one.ids for one in found] == [(SUN, EOS), (EOS,)]


def test_equally_good_hypotheses_are_ranked_by_what_they_continue_then_by_id() -> None:
    chances = np.full((8, 8), 0.0)
    chances[:, [EOS, SUN, RAIN, SNOW]] = 0.25
    found = beam(Table(ModelConfig(vocab_size=8), chances), [BOS], 3, 1)
    assert [one.ids for one in found] == [(EOS,), (SUN,), (RAIN,)]


def test_a_length_penalty_favours_longer_ones() -> None:
    chances = np.zeros((8, 8))
    chances[BOS, [EOS, SUN]] = 0.55, 0.45
    chances[SUN, EOS] = 1.0
    model = Table(ModelConfig(vocab_size=8), chances)
    assert beam(model, [BOS], 4, 3)[0].ids == (EOS,)
    assert beam(model, [BOS], 4, 3, length_penalty=1.0)[0].ids == (SUN, EOS)


def test_a_dead_end_leaves_what_was_said_unfinished() -> None:
    chances = np.zeros((8, 8))
    chances[BOS, SUN] = 1.0
    [found] = beam(Table(ModelConfig(vocab_size=8), chances), [BOS], 3, 5)
    assert found.ids == (SUN,) and not found.finished


def test_the_beam_continues_beyond_what_the_model_can_hold() -> None:
    model = TinyAttention.tiny()
    [one, *_] = beam(model, [BOS], 3, 20, stop=())
    sequence = np.array([BOS, *one.ids, EOS], np.int32)
    assert float(model.score_ids(sequence)[1:-1].sum()) == pytest.approx(one.log_probability, abs=1e-4)


def test_a_beam_without_width_is_refused() -> None:
    with pytest.raises(ConfigError, match="at least 1"):
        beam(Table.tiny(), [BOS], 0, 3)


def next_symbols(prompt: list[int], k: int, **constraints: Any) -> list[tuple[int, float]]:
    [offer] = offers(Table.tiny(), [prompt], k, 1, Constraints(**constraints))
    return offer.next


def test_the_likeliest_next_symbols_come_best_first_without_impossible_ones() -> None:
    found = next_symbols([BOS, RAIN], 10)
    assert [id for id, _ in found] == [RAIN, SUN, EOS]
    assert [chance for _, chance in found] == pytest.approx([math.log(0.5), math.log(0.3), math.log(0.2)])
    assert next_symbols([BOS, RAIN], 1) == found[:1]
    assert next_symbols([BOS], 0) == []


def test_continuations_are_the_best_of_a_beam_and_merely_to_stop_is_none() -> None:
    [offer] = offers(Table.tiny(), [[BOS, RAIN]], 3, 2)
    assert [one.ids for one in offer.continuations] == [(RAIN, RAIN), (SUN, SUN), (RAIN, SUN)]
    [offer] = offers(Table.tiny(), [[BOS, RAIN]], 8, 2)
    assert (EOS,) in [one.ids for one in beam(Table.tiny(), [BOS, RAIN], 8, 2)]
    assert (EOS,) not in [one.ids for one in offer.continuations]


def test_without_length_there_are_next_symbols_alone() -> None:
    [offer] = offers(Table.tiny(), [[BOS, RAIN]], 3, 0)
    assert offer.continuations == [] and len(offer.next) == 3


@settings(max_examples=40, deadline=None)
@given(tables, some.integers(1, 5), some.integers(1, 5))
def test_what_is_never_predicted_is_in_no_hypothesis_and_totals_stay_the_models_own(
    model: Table, width: int, length: int
) -> None:
    found = beam(model, [BOS], width, length, never=(UNK, 6))
    assert not {UNK, 6} & {id for one in found for id in one.ids}
    for one in found:
        assert one.log_probability == pytest.approx(total(model, [BOS], one.ids))


def test_without_some_symbols_a_wide_beam_equals_brute_force_without_them() -> None:
    model = Table.random(np.random.default_rng(5))
    expected = {way: log for way, log in everything(model, [BOS], 3).items() if UNK not in way}
    found = beam(model, [BOS], 5**3, 3, never=(UNK,))
    assert {one.ids for one in found} == set(expected)


def test_the_first_symbol_can_be_prescribed_and_the_others_not() -> None:
    found = beam(Table.tiny(), [BOS, RAIN], 20, 3, first=(SUN,))
    assert {one.ids[0] for one in found} == {SUN}
    assert any(RAIN in one.ids for one in found)
    best = beam(Table.tiny(), [BOS, RAIN], 200, 3)
    assert found[0].ids == next(one.ids for one in best if one.ids[0] == SUN)


def test_next_symbols_can_be_left_out_or_chosen_from() -> None:
    every = dict(next_symbols([BOS, RAIN], 10))
    assert dict(next_symbols([BOS, RAIN], 10, never=(RAIN,))) == {
        id: log for id, log in every.items() if id != RAIN
    }
    assert next_symbols([BOS, RAIN], 10, first=(SUN, SNOW)) == [(SUN, every[SUN])]
    assert next_symbols([BOS, RAIN], 10, first=()) == []


prompts = some.lists(some.lists(some.sampled_from([UNK, 5, 6, 7]), max_size=5), min_size=1, max_size=4)


@settings(max_examples=25, deadline=None)
@given(tables, prompts, some.integers(1, 3), some.sampled_from([0.0, 0.7]))
def test_a_wide_enough_beam_equals_brute_force_for_every_one_of_many_prompts(
    model: Table, prompts: list[list[int]], length: int, penalty: float
) -> None:
    rows = [[BOS, *prompt] for prompt in prompts]
    found = search(model, rows, GenerationConfig(beam=5**length, length=length, length_penalty=penalty))
    for row, one in zip(rows, found, strict=True):
        expected = everything(model, row, length)
        assert {way.ids for way in one.hypotheses} == set(expected)
        for way in one.hypotheses:
            assert way.value == pytest.approx(expected[way.ids] / len(way.ids) ** penalty)


@settings(max_examples=25, deadline=None)
@given(tables, prompts, some.integers(1, 4), some.integers(0, 5))
def test_prompts_side_by_side_are_searched_as_if_alone(
    model: Table, prompts: list[list[int]], width: int, length: int
) -> None:
    rows, config = [[BOS, *prompt] for prompt in prompts], GenerationConfig(beam=width, length=length)
    assert search(model, rows, config) == [search(model, [row], config)[0] for row in rows]


def test_every_prompt_may_have_constraints_of_its_own() -> None:
    config = GenerationConfig(beam=4, length=2)
    own = [Constraints(first=(SUN,)), Constraints(never=(SUN,)), Constraints(stop=(RAIN,))]
    found = search(Table.tiny(), [[BOS, RAIN]] * 3, config, own)
    for one, alone in zip(found, own, strict=True):
        assert [one] == search(Table.tiny(), [[BOS, RAIN]], config, alone)


def test_a_hypothesis_ends_where_it_is_told_to() -> None:
    found = beam(Table.tiny(), [BOS], 20, 4, ends=lambda row, ids: tuple(ids[-2:]) == (SUN, RAIN))
    ended = [one for one in found if one.finished and one.ids[-1] != EOS]
    assert ended and all(one.ids[-2:] == (SUN, RAIN) for one in ended)
    assert all((SUN, RAIN) not in itertools.pairwise(one.ids[:-1]) for one in found)
