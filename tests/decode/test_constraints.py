"""Phrases that must and that must not occur, against tables small enough to search by hand."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

from chainrule.decode.beam import search
from chainrule.decode.config import Constraints, GenerationConfig
from chainrule.errors import ConfigError
from chainrule.symbols import BOS, EOS, UNK
from decoding import beam, drawn, everything, greedy
from tiny import Table
from tiny.table import RAIN, SNOW, SUN

tables = some.integers(0, 10_000).map(lambda seed: Table.random(np.random.default_rng(seed)))
phrases = some.lists(some.sampled_from([UNK, SUN, RAIN, SNOW]), min_size=1, max_size=2).map(tuple)


def has(phrase: tuple[int, ...], text: tuple[int, ...]) -> bool:
    """Whether a phrase occurs in a text."""
    return any(text[at : at + len(phrase)] == phrase for at in range(len(text)))


@settings(max_examples=25, deadline=None)
@given(tables, some.lists(phrases, min_size=1, max_size=2), some.sampled_from([0.0, 1.0]))
def test_a_wide_beam_with_forced_phrases_equals_brute_force_over_texts_that_have_them(
    model: Table, wanted: list[tuple[int, ...]], penalty: float
) -> None:
    every = everything(model, [BOS], 4)
    expected = {way: log for way, log in every.items() if all(has(one, way) for one in wanted)}
    found = beam(model, [BOS], 5**4, 4, forced=tuple((one,) for one in wanted), length_penalty=penalty)
    assert {one.ids for one in found if not one.lacking} == set(expected)
    values = sorted((log / len(way) ** penalty for way, log in expected.items()), reverse=True)
    assert [one.value for one in found[: len(expected)]] == pytest.approx(values)
    assert not any(one.finished and one.lacking for one in found)


@settings(max_examples=25, deadline=None)
@given(tables, some.lists(phrases, min_size=1, max_size=2))
def test_a_wide_beam_without_bad_phrases_equals_brute_force_over_texts_without_them(
    model: Table, bad: list[tuple[int, ...]]
) -> None:
    every = everything(model, [BOS], 4)
    expected = {way for way in every if not any(has(one, way) for one in bad)}
    found = beam(model, [BOS], 5**4, 4, bad=tuple(bad))
    complete = {one.ids for one in found if one.finished or len(one.ids) == 4}
    assert complete == expected
    for seed in range(5):
        text = tuple(drawn(model, [BOS], 8, seed=seed, bad=tuple(bad)))
        assert not any(has(one, text) for one in bad)


def test_a_bad_phrase_may_begin_in_the_prompt() -> None:
    model = Table.tiny()
    assert greedy(model, [BOS, SUN], 1) == [SUN]
    assert greedy(model, [BOS, SUN], 1, bad=((SUN, SUN),)) != [SUN]
    assert beam(model, [BOS, SUN], 1, 1, bad=((SUN, SUN),))[0].ids != (SUN,)


def test_a_narrow_beam_finds_what_must_occur_however_improbable() -> None:
    chances = np.zeros((8, 8))
    chances[BOS, [SUN, RAIN]] = 0.99, 0.01
    chances[SUN, [SUN, RAIN, SNOW, EOS]] = 0.5, 0.001, 0.001, 0.498
    chances[RAIN, [SUN, SNOW, EOS]] = 0.9, 0.01, 0.09
    chances[SNOW, [SUN, EOS]] = 0.5, 0.5
    model = Table(Table.tiny().config, chances)
    found = beam(model, [BOS], 4, 6, forced=(((RAIN, SNOW),),))
    assert found[0].finished and has((RAIN, SNOW), found[0].ids)
    assert not any(has((RAIN, SNOW), one.ids) for one in beam(model, [BOS], 4, 6))


def test_one_of_several_spellings_is_enough() -> None:
    model = Table.random(np.random.default_rng(3))
    every = everything(model, [BOS], 3)
    expected = {way for way in every if has((SUN, RAIN), way) or has((SNOW,), way)}
    found = beam(model, [BOS], 5**3, 3, forced=(((SUN, RAIN), (SNOW,)),))
    assert {one.ids for one in found if not one.lacking} == expected


def test_a_word_is_neither_a_part_of_a_longer_one_nor_banned_within_one() -> None:
    model = Table.random(np.random.default_rng(4))
    letters = np.zeros(8, bool)
    letters[[SUN, RAIN]] = True  # these two make words, and snow stands between words
    inner = {"opens": letters, "closes": letters}
    every = everything(model, [BOS], 3)

    def alone(way: tuple[int, ...]) -> bool:
        ends = (None, *way, None)
        return any(
            ends[at] == SUN and ends[at - 1] not in (SUN, RAIN) and ends[at + 1] not in (SUN, RAIN)
            for at in range(1, len(ends) - 1)
        )

    found = beam(model, [BOS], 5**3, 3, forced=(((SUN,),),), **inner)
    assert {one.ids for one in found if not one.lacking} == {way for way in every if alone(way)}
    begins = {
        way
        for way in every
        if any(two == SUN and one not in (SUN, RAIN) for one, two in zip((0, *way), way, strict=False))
    }
    found = beam(model, [BOS], 5**3, 3, bad=((SUN,),), **inner)
    assert {one.ids for one in found if one.finished or len(one.ids) == 3} == set(every) - begins


@settings(max_examples=15, deadline=None)
@given(tables, some.lists(some.lists(some.sampled_from([UNK, 5, 6, 7]), max_size=5), min_size=2, max_size=4))
def test_constrained_prompts_side_by_side_are_searched_as_if_alone(
    model: Table, prompts: list[list[int]]
) -> None:
    rows, config = (
        [[BOS, *prompt] for prompt in prompts],
        GenerationConfig(beam=5, length=5, length_penalty=0.7),
    )
    each = [
        Constraints(forced=(((SUN, RAIN),),)),
        Constraints(bad=((RAIN,), (SUN, SUN))),
        Constraints(forced=(((SNOW,),),), bad=((SNOW, SNOW),)),
        Constraints(),
    ][: len(rows)]
    together = search(model, rows, config, each)
    for row, own, found in zip(rows, each, together, strict=True):
        [alone] = search(model, [row], config, own)
        assert [(one.ids, one.lacking) for one in alone.hypotheses] == [
            (one.ids, one.lacking) for one in found.hypotheses
        ]


def test_what_only_a_beam_can_do_is_refused_without_one() -> None:
    with pytest.raises(ConfigError, match="--beam"):
        GenerationConfig(force_words=("snow",))
    with pytest.raises(ConfigError, match="--beam"):
        GenerationConfig(coverage_penalty=0.2)
