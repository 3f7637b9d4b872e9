"""Sampling streams, ends where it should, and depends on its generator alone."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import torch

from chainrule.decode.cursor import begin
from chainrule.decode.filters import Filters
from chainrule.decode.sample import greedy, sample, sample_rows
from chainrule.errors import ModelError
from chainrule.models.base import Model, ModelConfig
from chainrule.symbols import BOS, EOS, PAD
from tiny import Table, TinyAttention, TinyMasked, TinyRecurrent
from tiny.table import RAIN, SUN


def luck(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def columns(model: Model, rows: int, length: int, seed: int = 0) -> list[tuple[int, ...]]:
    return list(zip(*sample_rows(model, [BOS], length, rows, generator=luck(seed)), strict=True))


def test_the_same_generator_gives_the_same_sequence() -> None:
    model = TinyRecurrent.tiny()
    assert list(sample(model, [BOS], 20, generator=luck(3))) == list(
        sample(model, [BOS], 20, generator=luck(3))
    )
    assert list(sample(model, [BOS], 20, generator=luck(3))) != list(
        sample(model, [BOS], 20, generator=luck(4))
    )


def test_symbols_come_one_by_one() -> None:
    endless = sample(Table.tiny(), [BOS], 10**9, generator=luck(), stop=())
    assert next(endless) in (SUN, RAIN, 7)


def test_a_stop_symbol_is_given_and_is_the_last() -> None:
    for seed in range(20):
        ids = list(sample(Table.tiny(), [BOS], 200, generator=luck(seed)))
        assert ids[-1] == EOS and EOS not in ids[:-1]


def test_never_more_than_length_symbols_come() -> None:
    assert len(list(sample(Table.tiny(), [BOS], 3, generator=luck(1), stop=()))) <= 3
    assert list(sample(Table.tiny(), [BOS], 0, generator=luck(1))) == []


def test_a_row_that_ended_says_pad_and_the_others_go_on() -> None:
    rows = columns(Table.tiny(), 12, 60)
    lengths = {len(row) - row.count(PAD) for row in rows}
    assert len(lengths) > 1, "all rows ended at once: the test shows nothing"
    for row in rows:
        spoken = [id for id in row if id != PAD]
        assert list(row) == spoken + [PAD] * (len(row) - len(spoken))
        assert spoken[-1] == EOS


def test_the_luck_of_a_row_does_not_depend_on_when_others_end() -> None:
    model = Table.tiny()
    rows = columns(model, 6, 40)
    stopped = zip(
        *sample_rows(model, [BOS], 40, 6, generator=luck(), stop=(EOS, SUN)),
        strict=True,
    )
    for row, short in zip(rows, stopped, strict=True):
        spoken = [id for id in short if id != PAD]
        assert spoken == list(row[: len(spoken)])


def test_greedy_takes_the_best_symbol_each_time() -> None:
    assert list(greedy(Table.tiny(), [BOS, RAIN], 3)) == [RAIN, RAIN, RAIN]
    assert list(greedy(Table.tiny(), [BOS], 2)) == [SUN, SUN]


def test_what_is_never_spoken_is_not_drawn() -> None:
    for seed in range(20):
        assert SUN not in list(sample(Table.tiny(), [BOS], 30, generator=luck(seed), never=(SUN,)))
    assert next(greedy(Table.tiny(), [BOS], 1, never=(SUN,))) == RAIN
    nothing_else = sample(Table.tiny(), [BOS], 9, generator=luck(), never=(EOS, SUN, RAIN, 7))
    assert list(nothing_else) == []


def test_temperature_zero_is_greedy() -> None:
    model = TinyRecurrent.tiny()
    coldly = sample(model, [BOS], 10, generator=luck(), filters=Filters(temperature=0.0))
    assert list(coldly) == list(greedy(model, [BOS], 10))


def test_samples_follow_the_table() -> None:
    firsts = next(sample_rows(Table.tiny(), [BOS], 1, 4000, generator=luck()))
    assert np.bincount(firsts, minlength=8)[5:] / 4000 == pytest.approx([0.5, 0.3, 0.2], abs=0.03)


def test_generation_goes_on_beyond_what_the_model_can_hold() -> None:
    model = TinyAttention.tiny()
    ids = list(itertools.islice(sample(model, [BOS], 50, generator=luck(), stop=()), 50))
    assert len(ids) == 50 > model.context


def test_of_a_prompt_too_long_to_hold_the_recent_part_counts() -> None:
    model = TinyAttention.tiny()
    recent = [5, 6, 7, 8, 5, 5, 6, 6, 7, 7, 8]  # with BOS, all it can hold
    one, other = [BOS, *[6] * 12, *recent], [BOS, *[8] * 12, *recent]
    assert torch.equal(begin(model, one).logs, begin(model, other).logs)
    assert not torch.equal(begin(model, one).logs, begin(model, [*one, 6]).logs)


def test_a_dead_end_ends_the_row() -> None:
    chances = np.zeros((8, 8))
    chances[BOS, SUN] = 1.0
    model = Table(ModelConfig(alphabet=8), chances)
    assert list(sample(model, [BOS], 10, generator=luck())) == [SUN]


def test_prompts_that_cannot_be_continued_are_refused() -> None:
    for prompt in ([], [SUN], [BOS, 99]):
        with pytest.raises(ModelError):
            list(greedy(Table.tiny(), prompt, 3))
    with pytest.raises(ModelError, match="both ways"):
        list(greedy(TinyMasked.tiny(), [BOS], 3))


def test_a_model_in_training_is_asked_without_dropout_and_stays_in_training() -> None:
    model = TinyRecurrent.tiny()
    expected = list(greedy(model, [BOS], 8))
    model.recurrence = torch.nn.Sequential(model.recurrence, torch.nn.Dropout(0.9))
    model.train()
    assert list(greedy(model, [BOS], 8)) == expected
    assert model.training and model.recurrence.training
