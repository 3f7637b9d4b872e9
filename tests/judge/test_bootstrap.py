"""Intervals hold what they promise, and never promise too much."""

from __future__ import annotations

import math

import numpy as np
import pytest

from chainrule.errors import DataError, ModelError
from chainrule.judge.bootstrap import BLOCKS, LEAST, MOST, Difference, blocks, difference, interval

TRUE = 2.0  # bits per unit


def sequences(rng: np.random.Generator, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Sequences of unequal size which cost TRUE bits a unit, some more and some less."""
    sizes = rng.integers(5, 120, count).astype(float)
    return sizes * (TRUE + rng.normal(0, 0.5, count)), sizes


def coverage(count: int, rounds: int) -> float:
    rng = np.random.default_rng(count)
    found = [interval(*sequences(rng, count)) for _ in range(rounds)]
    return float(np.mean([one.low <= TRUE <= one.high for one in found]))


@pytest.mark.parametrize(("count", "rounds"), [(60, 300), (8, 400), (3, 400)])
def test_the_truth_lies_inside_about_95_of_100_intervals(count: int, rounds: int) -> None:
    assert 0.91 <= coverage(count, rounds) <= 0.985


def test_the_value_is_a_ratio_of_sums_and_the_same_seed_gives_the_same_interval() -> None:
    bits, sizes = np.array([10.0, 90.0]), np.array([10.0, 30.0])
    found = interval(bits, sizes, seed=3)
    assert found.value == 100 / 40
    assert found == interval(bits, sizes, seed=3) != interval(*sequences(np.random.default_rng(1), 9))


def test_pairing_makes_the_interval_narrower_for_models_that_find_the_same_sequences_hard() -> None:
    rng = np.random.default_rng(2)
    bits, sizes = sequences(rng, 80)
    others = bits + sizes * rng.normal(0.05, 0.02, 80)
    apart, alone = difference(others, bits, sizes), interval(bits, sizes)
    assert apart.high - apart.low < 0.2 * (alone.high - alone.low)
    assert apart.real and 0.04 < apart.value < 0.06
    assert alone.low < interval(others, sizes).value < alone.high, "unpaired intervals would not have told"


def test_a_difference_turns_its_sign_with_its_models() -> None:
    rng = np.random.default_rng(3)
    (bits, sizes), noise = sequences(rng, 40), rng.normal(0, 1, 40)
    one, other = difference(bits, bits + noise, sizes), difference(bits + noise, bits, sizes)
    assert (one.value, one.real) == (pytest.approx(-other.value), other.real)


def test_differences_that_are_none_are_rarely_called_real() -> None:
    rng = np.random.default_rng(4)
    found = []
    for _ in range(200):
        bits, sizes = sequences(rng, 30)
        found.append(difference(bits + sizes * rng.normal(0, 0.1, 30), bits, sizes).real)
    assert np.mean(found) < 0.1


@pytest.mark.parametrize("cost", [1.5, math.inf])
@pytest.mark.parametrize("count", [1, 2, 50])
def test_a_model_does_not_differ_from_itself(count: int, cost: float) -> None:
    bits = np.full(count, cost)
    found = difference(bits, bits.copy(), np.ones(count))
    assert found == Difference(0.0, 0.0, 0.0) and not found.real


def test_one_sequence_says_nothing_about_others() -> None:
    alone = np.array([30.0])
    found = interval(alone, np.array([10.0]))
    assert (found.value, found.low, found.high) == (3.0, 0.0, math.inf)
    apart = difference(alone, alone + 5, np.array([10.0]))
    assert (apart.value, apart.low, apart.high, apart.real) == (-0.5, -math.inf, math.inf, False)


def test_two_sequences_say_little() -> None:
    found = interval(np.array([20.0, 24.0]), np.array([10.0, 10.0]))
    assert found.low < 2.0 - 1.0 and found.high > 2.4 + 1.0
    assert not difference(np.array([20.0, 24.0]), np.array([19.0, 22.0]), np.array([10.0, 10.0])).real


def test_the_impossible_is_infinite_and_never_nan() -> None:
    bits, sizes = sequences(np.random.default_rng(5), 20)
    lost = bits.copy()
    lost[7] = math.inf
    found = interval(lost, sizes)
    assert (found.value, found.low, found.high) == (math.inf,) * 3
    worse, better = difference(lost, bits, sizes), difference(bits, lost, sizes)
    assert worse.low == math.inf and better.high == -math.inf and worse.real and better.real


def test_of_two_models_that_met_the_impossible_nothing_is_said() -> None:
    bits, others = np.array([1.0, math.inf, 3.0]), np.array([math.inf, 1.0, 3.0])
    found = difference(bits, others, np.ones(3))
    assert (found.value, found.low, found.high, found.real) == (0.0, -math.inf, math.inf, False)


def test_bits_are_never_fewer_than_none() -> None:
    assert interval(np.array([0.0, 5.0, 0.0]), np.ones(3)).low == 0.0


def test_many_sequences_are_drawn_in_bundles_with_the_same_outcome() -> None:
    rng = np.random.default_rng(6)
    bits, sizes = sequences(rng, 20 * MOST)
    found = interval(bits, sizes)
    rates = bits / sizes
    error = 1.96 * np.sqrt((sizes**2 * (rates - found.value) ** 2).sum()) / sizes.sum()  # of a ratio of sums
    assert found.high - found.low == pytest.approx(2 * error, rel=0.1)


@pytest.mark.parametrize(
    ("length", "count"), [(1_000_000, BLOCKS), (1999, 99), (1000, 50), (45, 2), (39, 1), (3, 1)]
)
def test_blocks_of_a_long_sequence_are_long_and_lose_nothing(length: int, count: int) -> None:
    bits = np.arange(length, dtype=float)
    totals, sizes = blocks(bits)
    assert len(totals) == len(sizes) == count
    assert totals.sum() == bits.sum() and sizes.sum() == length
    assert sizes.min() >= min(LEAST, length)


def test_blocks_know_sizes_in_bytes_and_keep_the_impossible() -> None:
    totals, sizes = blocks(np.array([1.0] * 30 + [math.inf] + [1.0] * 30), np.full(61, 2))
    assert sizes.tolist() == [40.0, 40.0, 42.0] and totals.tolist() == [20.0, math.inf, 21.0]


def test_blocks_respect_that_neighbours_hang_together() -> None:
    rng = np.random.default_rng(7)
    slow = np.repeat(rng.normal(3, 1, 100), 20)  # twenty symbols alike, then twenty others
    single, blocked = interval(slow, np.ones(len(slow))), interval(*blocks(slow))
    assert blocked.high - blocked.low > 3 * (single.high - single.low)


def test_nonsense_is_refused() -> None:
    with pytest.raises(ModelError, match="diverged"):
        interval(np.array([1.0, math.nan]), np.ones(2))
    with pytest.raises(ModelError, match="One size for each"):
        difference(np.ones(3), np.ones(2), np.ones(3))
    with pytest.raises(DataError, match="nothing to judge"):
        interval(np.zeros(0), np.zeros(0))
