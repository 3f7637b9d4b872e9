"""Threads: as many as are fastest at the moment, never many times slower than the better choice."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable

import pytest
import torch

from chainrule.models.gpt import Gpt
from chainrule.nn.threads import Choice, fastest, in_threads, most_threads

Pace = Callable[[float, int], float]  # seconds of a step, by moment and threads


def steady(one: float, two: float) -> Pace:
    return lambda now, threads: one if threads == 1 else two


FREE, BUSY, SMALL = steady(0.015, 0.010), steady(0.015, 0.2), steady(0.0017, 0.0017)


def taken(pace: Pace, steps: int) -> tuple[float, Choice]:
    """Simulated seconds of so many steps as they are chosen."""
    choice, now = Choice(2), 0.0
    for _ in range(steps):
        number = choice.number()
        seconds = pace(now, number)
        choice.took(number, seconds, 1)
        now += seconds
    return now, choice


@pytest.mark.parametrize("pace", [FREE, BUSY, SMALL])
@pytest.mark.parametrize("steps", [100, 1000, 10_000])
def test_the_choice_costs_at_most_half_as_much_again(pace: Pace, steps: int) -> None:
    best = min(steps * pace(0.0, threads) for threads in (1, 2))
    assert taken(pace, steps)[0] <= 1.5 * best


def test_free_cores_are_used_and_busy_ones_are_not() -> None:
    assert taken(FREE, 1000)[1].using == 2
    assert taken(BUSY, 1000)[1].using == 1


def test_large_steps_begin_with_all_threads_and_leave_them_beside_a_load() -> None:
    assert Choice.beginning(2, 16).using == 1
    choice = Choice.beginning(2, 4096)
    assert choice.using == 2
    for _ in range(100):
        number = choice.number()
        choice.took(number, 0.1 if number == 1 else 0.2, 4096)
    assert choice.using == 1


def test_short_steps_never_wake_a_second_thread() -> None:
    assert list(taken(SMALL, 10_000)[1].pace) == [1]


@pytest.mark.parametrize("period", [3.0, 10.0, 50.0])
def test_a_load_that_comes_and_goes_is_noticed(period: float) -> None:
    def pace(now: float, threads: int) -> float:
        return (BUSY if int(now / period) % 2 else FREE)(now, threads)

    now, _ = taken(pace, 20_000)
    possible = now / 2 / 0.010 + now / 2 / 0.015  # steps that the best choice at every moment makes
    assert possible / 1.5 <= 20_000


def test_a_model_keeps_what_it_found_and_leaves_the_threads_as_they_were() -> None:
    model = Gpt.tiny()
    before = torch.get_num_threads()
    try:
        torch.set_num_threads(2)
        with fastest(model, 8):
            assert torch.get_num_threads() == 1
        assert torch.get_num_threads() == 2
        assert list(model.__dict__["_threads"][2, 4].pace) == [1]
        with in_threads(2), fastest(model, 8):
            assert torch.get_num_threads() == 2  # as told
    finally:
        torch.set_num_threads(before)


def test_the_environment_sets_the_most(monkeypatch: pytest.MonkeyPatch) -> None:
    before = torch.get_num_threads()
    try:
        torch.set_num_threads(4)
        assert most_threads() == 4
        monkeypatch.setenv("CHAINRULE_THREADS", "3")
        assert most_threads() == 3
        monkeypatch.setenv("CHAINRULE_THREADS", "9")
        assert most_threads() == 4
    finally:
        torch.set_num_threads(before)


def test_the_environment_limits_torch_and_numba_from_the_start() -> None:
    told = "import chainrule.models.neural, torch, chainrule.runtime as r; print(torch.get_num_threads(), r.threads())"
    for number in ("1", "2"):
        run = subprocess.run(
            [sys.executable, "-c", told],
            env={**os.environ, "CHAINRULE_THREADS": number, "OMP_NUM_THREADS": "4"},
            capture_output=True,
            text=True,
            check=True,
        )
        assert run.stdout.split() == [number, number]
