"""Sampling streams, ends where it should, and depends on its generator alone."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as some

from chainrule.decode.config import GenerationConfig
from chainrule.decode.cursor import alike, begin
from chainrule.decode.sample import joined, sample
from chainrule.errors import ModelError
from chainrule.models.base import ModelConfig
from chainrule.models.gpt import Gpt
from chainrule.symbols import BOS, EOS
from decoding import drawn, greedy
from tiny import Table, TinyAttention, TinyMasked, TinyRecurrent
from tiny.table import RAIN, SUN


def test_the_same_seed_gives_the_same_sequence() -> None:
    model = TinyRecurrent.tiny()
    assert drawn(model, [BOS], 20, 3) == drawn(model, [BOS], 20, 3) != drawn(model, [BOS], 20, 4)
    assert len({tuple(drawn(model, [BOS], 20, None)) for _ in range(5)}) > 1  # type: ignore[arg-type]


def test_symbols_come_one_by_one() -> None:
    endless = sample(Table.tiny(), [[BOS]], GenerationConfig(length=10**9))
    assert next(endless)[0][0] in (SUN, RAIN, 7)


def test_a_stop_symbol_is_given_and_is_the_last() -> None:
    for seed in range(20):
        ids = drawn(Table.tiny(), [BOS], 200, seed)
        assert ids[-1] == EOS and EOS not in ids[:-1]


def test_never_more_than_length_symbols_come() -> None:
    assert len(drawn(Table.tiny(), [BOS], 3, 1, stop=())) <= 3
    assert drawn(Table.tiny(), [BOS], 0) == []


def test_rows_end_one_by_one_and_the_others_continue() -> None:
    config = GenerationConfig(length=60, seed=0, count=12)
    steps = list(sample(Table.tiny(), [[BOS]], config))
    rows = joined(iter(steps))
    assert len({len(row) for row in rows}) > 1, "all rows ended at once: the test shows nothing"
    assert all(row[-1] == EOS and EOS not in row[:-1] for row in rows)
    assert all(step[0] == [] for step in steps[len(rows[0]) :])


@given(
    some.lists(some.lists(some.sampled_from([SUN, RAIN, 7]), max_size=6), min_size=1, max_size=12),
    some.integers(0, 99),
)
@settings(max_examples=40, deadline=None)
def test_every_row_is_drawn_by_its_own_seed_whatever_its_neighbours(
    prompts: list[list[int]], seed: int
) -> None:
    rows, config = [[BOS, *prompt] for prompt in prompts], GenerationConfig(length=9, seed=seed, count=2)
    found = joined(sample(Table.tiny(), rows, config))
    alone = [
        drawn(Table.tiny(), row, 9, seed + 2 * number + text)
        for number, row in enumerate(rows)
        for text in (0, 1)
    ]
    assert found == alone


def test_seeds_count_on_from_the_largest_to_zero() -> None:
    largest = GenerationConfig(seed=(1 << 64) - 1)
    assert [largest.from_row(row).seed for row in range(3)] == [(1 << 64) - 1, 0, 1]


def test_a_row_ends_where_it_is_told_to() -> None:
    ends = lambda row, ids: list(ids[-2:]) == [SUN, SUN]  # noqa: E731
    assert greedy(Table.tiny(), [BOS], 9, ends=ends) == [SUN, SUN]


@settings(max_examples=100, deadline=None)
@given(some.lists(some.integers(0, 3000), min_size=1, max_size=60))
def test_rows_read_together_are_of_similar_length(lengths: list[int]) -> None:
    groups = alike(lengths)
    assert sorted(row for group in groups for row in group) == list(range(len(lengths)))
    for group in groups:
        own = [lengths[row] for row in group]
        assert group == sorted(group) and max(own) - min(own) <= max(8, max(own) // 4)
        assert min(own) > 0 or max(own) == 0
        assert (len(own) - 1) * max(own) < 8192


def test_rows_restart_by_themselves_when_they_can_hold_no_more() -> None:
    model = Gpt.tiny()
    prompts = [
        [BOS, *[5, 6, 7, 8, 5][:size], *[6] * more] for size, more in ((0, 0), (3, 0), (5, 6), (5, 5), (5, 9))
    ]
    config = GenerationConfig(length=60, temperature=0.0, seed=0)
    found = joined(sample(model, prompts, config))
    assert found == [greedy(model, prompt, 60) for prompt in prompts]


def test_greedy_takes_the_best_symbol_each_time() -> None:
    assert greedy(Table.tiny(), [BOS, RAIN], 3) == [RAIN, RAIN, RAIN]
    assert greedy(Table.tiny(), [BOS], 2) == [SUN, SUN]


def test_what_is_never_predicted_is_not_drawn() -> None:
    for seed in range(20):
        assert SUN not in drawn(Table.tiny(), [BOS], 30, seed, never=(SUN,))
    assert greedy(Table.tiny(), [BOS], 1, never=(SUN,)) == [RAIN]
    assert drawn(Table.tiny(), [BOS], 9, never=(EOS, SUN, RAIN, 7)) == []


def test_samples_follow_the_table() -> None:
    config = GenerationConfig(length=1, seed=0, count=4000)
    firsts = [id for [id] in joined(sample(Table.tiny(), [[BOS]], config))]
    assert np.bincount(firsts, minlength=8)[5:] / 4000 == pytest.approx([0.5, 0.3, 0.2], abs=0.03)


def test_generation_continues_beyond_what_the_model_can_hold() -> None:
    model = TinyAttention.tiny()
    assert len(drawn(model, [BOS], 50, stop=())) == 50 > model.context


def test_of_a_prompt_too_long_to_hold_the_recent_part_counts() -> None:
    model = TinyAttention.tiny()
    recent = [5, 6, 7, 8, 5, 5, 6, 6, 7, 7, 8]  # with BOS, all it can hold
    one, other = [BOS, *[6] * 12, *recent], [BOS, *[8] * 12, *recent]
    assert torch.equal(begin(model, [one]).logs, begin(model, [other]).logs)
    assert not torch.equal(begin(model, [one]).logs, begin(model, [[*one, 6]]).logs)


def test_a_dead_end_ends_the_row() -> None:
    chances = np.zeros((8, 8))
    chances[BOS, SUN] = 1.0
    model = Table(ModelConfig(vocab_size=8), chances)
    assert drawn(model, [BOS], 10) == [SUN]


def test_prompts_that_cannot_be_continued_are_refused() -> None:
    for prompt in ([], [SUN], [BOS, 99], [BOS, 0, SUN]):
        with pytest.raises(ModelError):
            greedy(Table.tiny(), prompt, 3)
    with pytest.raises(ModelError, match="both ways"):
        greedy(TinyMasked.tiny(), [BOS], 3)


def test_a_model_in_training_is_asked_without_dropout_and_stays_in_training() -> None:
    model = TinyRecurrent.tiny()
    expected = greedy(model, [BOS], 8)
    model.recurrence = torch.nn.Sequential(model.recurrence, torch.nn.Dropout(0.9))
    model.train()
    assert greedy(model, [BOS], 8) == expected
    assert model.training and model.recurrence.training


@pytest.mark.parametrize("odd", [float("nan"), float("inf")])
@pytest.mark.parametrize("temperature", [0.0, 1.0])
def test_predictions_that_are_not_finite_are_refused(odd: float, temperature: float) -> None:
    model = TinyRecurrent.tiny()
    logits = model.logits
    model.logits = lambda hidden: logits(hidden) + odd  # type: ignore[method-assign]
    with pytest.raises(ModelError, match="not finite"):
        drawn(model, [BOS], 3, temperature=temperature)
