"""Curves find the power law behind a few points, and promise little where the points know little."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from chainrule.judge.curve import REACH, LearningCurve, crossing, fitted

SIZES = np.geomspace(3e3, 1e6, 6)
SLOW, FAST = (1.5, 20.0, 0.3), (1.0, 60.0, 0.32)  # the second is worse with little data and better with much
MEET = 531_236.0  # where they do


def law(symbols: np.ndarray, floor: float, scale: float, power: float) -> np.ndarray:
    return floor + scale * symbols**-power


def measured(
    truth: tuple[float, float, float], sizes: np.ndarray = SIZES, noise: float = 0.0, seed: int = 0
) -> LearningCurve:
    bits = law(sizes, *truth) + np.random.default_rng(seed).normal(0, noise, len(sizes))
    found = fitted(zip(sizes.tolist(), bits.tolist(), strict=True))
    assert found is not None
    return found


def through(bits: list[float], sizes: np.ndarray = SIZES) -> LearningCurve:
    found = fitted(zip(sizes[: len(bits)].tolist(), bits, strict=True))
    assert found is not None
    return found


@pytest.mark.parametrize("count", [3, 4, 6])
@pytest.mark.parametrize("truth", [(1.2, 30.0, 0.3), (0.0, 12.0, 0.1), (2.0, 900.0, 0.8)])
def test_the_law_behind_points_without_noise_is_found(truth: tuple[float, float, float], count: int) -> None:
    found = measured(truth, SIZES[:count])
    assert (found.floor, found.power) == (
        pytest.approx(truth[0], abs=0.01),
        pytest.approx(truth[2], rel=0.01),
    )
    assert found.predict(np.array([1e7, 1e8])) == pytest.approx(law(np.array([1e7, 1e8]), *truth), abs=0.01)


def test_two_sizes_give_a_curve_without_floor_that_admits_any() -> None:
    found = measured((1.2, 30.0, 0.3), SIZES[:2])
    assert found.floor == 0 and found.predict(SIZES[:2]) == pytest.approx(law(SIZES[:2], 1.2, 30.0, 0.3))
    [(_, low, middle, high)] = found.band([1e8])
    assert low <= middle < law(np.array(1e8), 1.2, 30.0, 0.3) < high


def test_with_fewer_than_two_sizes_there_is_no_curve() -> None:
    assert fitted([]) is None and fitted([(100, 2.0)]) is None
    assert fitted([(100, 2.0), (100, 2.1)]) is None
    assert fitted([(100, 2.0), (1000, math.inf), (0, 3.0)]) is None


def test_a_size_measured_twice_counts_with_its_mean() -> None:
    both = fitted([(1e3, 3.0), (1e4, 2.4), (1e4, 2.6), (1e5, 2.2)])
    mean = fitted([(1e3, 3.0), (1e4, 2.5), (1e5, 2.2)])
    assert both is not None and mean is not None
    assert (both.floor, both.scale, both.power) == (mean.floor, mean.scale, mean.power)


def test_the_truth_lies_inside_the_band_and_the_band_widens_with_distance() -> None:
    inside = []
    for seed in range(20):
        found = measured((1.2, 30.0, 0.3), SIZES[:5], 0.01, seed)
        near, far = found.band([1e5, 1e8])
        assert near[3] - near[1] < far[3] - far[1]
        inside.append(far[1] <= law(np.array(1e8), 1.2, 30.0, 0.3) <= far[3])
    assert np.mean(inside) >= 0.9


def test_the_crossing_of_two_laws_is_found_and_only_in_one_direction() -> None:
    fast, slow = measured(FAST), measured(SLOW)
    found = crossing(fast, slow)
    assert found is not None and found.measured
    assert found.symbols == pytest.approx(MEET, rel=0.01)
    assert found.low < MEET < found.high < 2 * MEET
    assert crossing(slow, fast) is None, "it is ahead from the beginning, and overtakes nobody"


def test_a_crossing_beyond_the_data_is_called_an_extrapolation() -> None:
    few = SIZES[:4]
    found = crossing(measured(FAST, few), measured(SLOW, few))
    assert found is not None and not found.measured and found.low < MEET < found.high
    half = crossing(measured(FAST, few), measured(SLOW))
    assert half is not None and not half.measured, "one of them was never measured there"


def test_noise_widens_the_crossing_and_the_truth_stays_inside() -> None:
    widths = []
    for noise in (0.0, 0.02, 0.06):
        found = crossing(measured(FAST, noise=noise, seed=1), measured(SLOW, noise=noise, seed=2))
        assert found is not None and found.low < MEET < found.high
        widths.append(found.high / found.low)
    assert widths[0] < widths[1] < widths[2]


def test_curves_that_do_not_meet_within_reach_do_not_cross() -> None:
    assert crossing(measured((2.0, 60.0, 0.3)), measured(SLOW)) is None, "worse everywhere"
    late = (0.0, 9.0, 0.08)
    gap = law(np.array([1e6, REACH * 1e6]), *late) - law(np.array([1e6, REACH * 1e6]), *SLOW)
    assert (gap > 0).all(), "they would meet, but only later"
    assert crossing(measured(late), measured(SLOW)) is None


def test_a_crossing_that_most_draws_do_not_see_is_none() -> None:
    fast, slow = measured(FAST), measured(SLOW)
    never = np.tile([5.0, 60.0, 0.32], (len(fast.draws), 1))
    doubted = np.where(np.arange(len(never))[:, None] % 3 == 0, fast.draws, never)
    weights = np.where(np.arange(len(never))[:, None] % 3 != 0, fast.draws, never)
    assert crossing(replace(fast, draws=doubted), slow) is None
    found = crossing(replace(fast, draws=weights), slow)
    assert found is not None and found.high == math.inf


def test_a_curve_does_not_overtake_itself() -> None:
    assert crossing(measured(SLOW), measured(SLOW)) is None


@pytest.mark.parametrize(
    "bits", [[2.0, 2.0], [2.0, 2.0, 2.0], [2.0, 2.1], [2.0, 2.1, 2.3], [1.0, 3.0, 2.0, 2.5]]
)
def test_points_that_do_not_fall_promise_nothing(bits: list[float]) -> None:
    found = through(bits)
    assert found.scale == 0 and found.floor == pytest.approx(np.mean(bits))
    [(_, low, middle, high)] = found.band([1e9])
    assert min(bits) <= middle <= max(bits) and 0 <= low <= middle <= high


@pytest.mark.parametrize(
    "bits", [[3.0, 2.0, 2.9, 2.1], [5.0, 5.0, 5.0, 5.0, 1.0], [4.0, 3.9, 3.0], [0.0, 0.0, 0.0]]
)
def test_crooked_points_give_finite_curves_that_never_fall_below_nothing(bits: list[float]) -> None:
    found = through(bits)
    for _, low, middle, high in found.band(np.geomspace(3e3, 1e9, 7)):
        assert 0 <= low <= middle <= high < 2 * max(bits) + 1
    for other in (measured(FAST), measured(SLOW)):
        for one in (crossing(found, other), crossing(other, found)):
            assert one is None or 3e3 <= one.low <= one.symbols <= one.high


def test_crooked_points_leave_open_whether_they_are_ever_overtaken() -> None:
    steady, crooked = measured(FAST, SIZES[:4]), through([3.0, 2.0, 2.9, 2.1])
    found = crossing(steady, crooked)
    assert found is not None and found.high == math.inf


def test_the_same_points_give_the_same_curve() -> None:
    one, other = measured(FAST, noise=0.01), measured(FAST, noise=0.01)
    assert one == other and np.array_equal(one.draws, other.draws)
