"""A budget: kept whatever the machine does meanwhile, and the schedule always comes to its end."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from chainrule.bundle import load
from chainrule.cli import main
from chainrule.data.batches import Batch, next_batches
from chainrule.data.corpus import Corpus, Part
from chainrule.data.rows import TEXT
from chainrule.errors import ConfigError, Stopped
from chainrule.models.gru import Gru, GruConfig
from chainrule.symbols import BOS, EOS, FIRST
from chainrule.train.budget import Budget, Speed, Timing
from chainrule.train.config import TrainConfig
from chainrule.train.network import Valid
from chainrule.train.schedule import FINAL, Plan, Revision
from chainrule.train.threads import StepThreads
from chainrule.train.trainer import Trainer
from chainrule.train.unfinished import reason, unfinished, unigram_nats
from killed import killed_at_random
from trained import trainer as made

SECONDS, STEP = 100.0, 0.1  # a budget, and a step of it when nobody disturbs
ALPHABET = FIRST + 4
Slowness = Callable[[float], float]  # by what everything takes longer, at a moment


def trainer(folder: Path | None = None, **options: Any) -> Trainer:
    torch.set_num_threads(1)
    model = Gru.seeded(GruConfig(vocab_size=ALPHABET, width=8, dropout=0.2), 1)
    config = TrainConfig(**{"budget": f"{SECONDS}s", "lr": 0.02, "patience": 0, **options})
    return made(model, next_batches(corpus(40), 4, 8, True, 1), corpus(10), config, folder)


def corpus(rows: int) -> Corpus:
    found = [[BOS, *(FIRST + (np.arange(5) + row) % 4).tolist(), EOS] for row in range(rows)]
    return Corpus(np.concatenate(found).astype(np.int32), rows, 1)


def weights(run: Trainer) -> np.ndarray:
    return np.concatenate([value.numpy().ravel() for value in run.body.state_dict().values()])


@dataclass
class Machine:
    """A clock that advances as work is done, slower or faster as other programs come and go."""

    slowness: Slowness
    now: float = 0.0

    def __call__(self) -> float:
        return self.now

    def work(self, seconds: float) -> None:
        for piece in (seconds / 4,) * 4:  # it may change meanwhile
            self.now += piece * self.slowness(self.now)


@dataclass
class Simulated(Trainer):
    """The loop as it is; only learning and judging take simulated time instead of real one."""

    machine: Machine = field(default_factory=lambda: Machine(lambda now: 1.0))
    learnt_at: list[float] = field(default_factory=list)  # the learning rates of all steps
    judged_at: list[float] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.learnt_at, self.judged_at = [], []
        self.timing = replace(self.timing, clock=self.machine)
        self.budget = Budget(SECONDS, self.timing)
        self.optimizer, self.best, self.mean, self.saved = None, {}, {}, 0.0  # type: ignore[assignment]

    def _learn(self, batches: Sequence[Batch], count: int, rate: float) -> float:
        self.machine.work(STEP)
        self.learnt_at.append(rate)
        return 1.0

    def _loss_on_valid(self, most: int) -> float:
        self.judged_at.append(self.now)
        assert self.valid is not None
        self.machine.work(0.05 + min(most, self.valid.size) * 1e-6)
        return 1.0

    def _batches(self) -> list[Batch]:
        return []


def simulated(slowness: Slowness, late: float = 3.0) -> Simulated:
    """A run that began `late`, and judges for half a second when it is over."""
    some = trainer()
    machine = Machine(slowness, late)
    timing = Timing(judged=500_000)
    valid = Valid(Part({TEXT: Corpus(np.full(10**6, FIRST), 1, 1)}), some.batches)
    run = Simulated(some.network, some.batches, valid, some.config, timing=timing, machine=machine)
    run.run()
    machine.work(0.5)
    return run


def allowed(slowness: Slowness, late: float = 3.0) -> float:
    """How many steps the budget holds if nothing else is done."""
    moments = np.linspace(late, SECONDS, 20_000)
    return float(
        np.sum(1.0 / np.array([slowness(one) for one in moments])) * (moments[1] - moments[0]) / STEP
    )


@st.composite
def disturbances(draw: st.DrawFn) -> Slowness:
    """Up to four times slower or faster, from some moments on."""
    places = np.sort(np.array(draw(st.lists(st.floats(0.0, SECONDS), max_size=12))))
    factors = draw(st.lists(st.sampled_from([0.5, 1.0, 2.0]), min_size=13, max_size=13))
    return lambda now: factors[int(np.searchsorted(places, now))]


def bursts(period: float) -> Slowness:
    """Four times slower, half of the time."""
    return lambda now: 1.0 + 3.0 * (int(now / period) % 2)


@settings(max_examples=60, deadline=None)
@given(disturbances() | st.floats(0.5, 20.0).map(bursts))
def test_a_budget_is_kept_whatever_the_pace_does(slowness: Slowness) -> None:
    run = simulated(slowness)
    assert 0.90 * SECONDS <= run.machine.now <= 1.03 * SECONDS
    assert run.learnt_at[-1] == pytest.approx(FINAL * run.config.peak)
    assert run.at.step >= 0.5 * allowed(slowness)


@given(st.floats(0.5, 5.0))
@settings(max_examples=5, deadline=None)
def test_a_busy_beginning_decides_nothing(until: float) -> None:
    def slowness(now: float) -> float:
        return 30.0 if now < 3.0 + until else 1.0

    run = simulated(slowness)
    assert run.at.step > 0.9 * allowed(slowness) and max(run.learnt_at) > 0.9 * run.config.peak


def test_validations_are_spread_over_the_time_and_not_over_the_steps() -> None:
    run = simulated(lambda now: 1.0 if now < 50.0 else 4.0)
    assert len(run.judged_at) > 15
    assert np.diff(run.judged_at).max() < 0.1 * SECONDS


def test_a_steady_machine_needs_few_plans() -> None:
    assert len(simulated(lambda now: 1.0).plan.revisions) < 20


@given(step=st.integers(0, 1000), more=st.integers(1, 1000), progress=st.floats(0.0, 1.0))
def test_every_plan_ends_at_its_end(step: int, more: int, progress: float) -> None:
    plan = Plan((Revision(step, step + more, progress),))
    shares = [plan.progress(one) for one in range(step, step + more)]
    assert shares == sorted(shares) and shares[-1] == pytest.approx(1.0)
    assert plan.rate(step + more - 1, 1.0) == pytest.approx(FINAL)


def test_a_plan_rises_then_falls() -> None:
    rates = [Plan.of(1000).rate(step, 1.0) for step in range(1000)]
    assert rates[0] < 0.05 and max(rates) > 0.95 and rates[-1] < 0.02
    assert rates.index(max(rates)) <= 100


@dataclass
class Ticking:
    """A clock that advances whenever it is looked at, by no steady pace."""

    rng: np.random.Generator
    now: float = 0.0

    def __call__(self) -> float:
        self.now += 0.02 * float(self.rng.lognormal())
        return self.now


def ticking(folder: Path, **options: Any) -> Trainer:
    """A run that looks at such a clock."""
    run = trainer(folder, **options)
    run.timing = Timing(Ticking(np.random.default_rng(0)))
    run.budget = Budget(20.0, run.timing)
    return run


@dataclass(frozen=True)
class Recorded:
    """The decisions of a run before."""

    plan: Plan
    memory: float = 1.0

    def is_unsure(self, taken: float, speed: Speed) -> bool:
        return False

    def is_due(self, step: int, now: float) -> bool:
        return any(one.step == step for one in self.plan.revisions)

    def judging(self, now: float, speed: Speed, valid: int) -> tuple[int, int]:
        return self.plan.validations, self.plan.judged

    def revision(self, plan: Plan, step: int, validations: int, now: float, speed: Speed) -> Revision | None:
        return next((one for one in self.plan.revisions if one.step == step), None)


@dataclass
class Fickle(StepThreads):
    """Wants another number of threads from time to time, as beside other programs."""

    asked: int = 0

    def wanted(self, using: int) -> int:
        self.asked += 1
        return 1 + self.asked // 30 % 2


def test_stopped_and_resumed_equals_uninterrupted_given_the_same_revisions(tmp_path: Path) -> None:
    whole = ticking(tmp_path / "whole", average=True)
    whole.threads = Fickle()
    whole.run()
    assert len(whole.plan.revisions) > 5 and {one.threads for one in whole.plan.revisions} == {0, 1, 2}
    left, stopped = 0, True
    while stopped:
        part = trainer(tmp_path / "part", average=True)
        part.budget = Recorded(whole.plan)  # type: ignore[assignment]
        part.restore()
        part.stopping = iter([False] * 11 + [True]).__next__
        try:
            part.run()
            stopped = False
        except Stopped:
            left += 1
    assert left > 5
    assert part.plan == whole.plan
    np.testing.assert_array_equal(weights(part), weights(whole))
    curves = [(tmp_path / name / "metrics.jsonl").read_text() for name in ("whole", "part")]
    assert curves[0] == curves[1]


def resumed(folder: str) -> None:
    """Continue by a plan that was recorded, in a process that may be killed."""
    run = trainer(Path(folder) / "killed", checkpoint_every="1e-9s")
    run.budget = Recorded(Plan.from_values(json.loads((Path(folder) / "plan.json").read_text())))  # type: ignore[assignment]
    run.restore()
    os.write(1, b"go\n")
    run.run()


def test_killed_at_random_a_budget_resumes_by_its_revisions(tmp_path: Path) -> None:
    whole, began = ticking(tmp_path / "whole"), time.perf_counter()
    whole.run()
    seconds = time.perf_counter() - began
    (tmp_path / "plan.json").write_text(json.dumps(asdict(whole.plan)))
    assert killed_at_random(__file__, "resumed", [str(tmp_path)], 5, seconds) == 5
    curves = [(tmp_path / name / "metrics.jsonl").read_text() for name in ("whole", "killed")]
    assert curves[0] == curves[1]


def test_a_run_killed_while_its_first_plan_is_made_continues_as_recorded(tmp_path: Path) -> None:
    whole = ticking(tmp_path / "whole")
    whole.run()

    class Killed(Exception):
        pass

    def kill(budget: Budget) -> None:
        raise Killed

    part = trainer(tmp_path / "part")
    part.budget = Recorded(whole.plan)  # type: ignore[assignment]
    part._plan_judging = kill  # type: ignore[method-assign]
    with pytest.raises(Killed):
        part.run()
    again = trainer(tmp_path / "part")
    again.budget = Recorded(whole.plan)  # type: ignore[assignment]
    assert again.restore() and not again.plan.revisions
    again.run()
    assert again.plan == whole.plan
    np.testing.assert_array_equal(weights(again), weights(whole))


def test_a_resumed_run_has_what_is_left_of_its_budget(tmp_path: Path) -> None:
    run = trainer(tmp_path)
    run.timing = Timing(lambda: 42.0)
    run._save()
    again = trainer(tmp_path)
    assert again.restore() and 42.0 <= again.now < 52.0


@pytest.mark.parametrize(
    "options", [{"epochs": 1, "budget": "4s"}, {"tokens": 5, "budget": "4s"}, {"epochs": 1, "tokens": 5}]
)
def test_how_long_to_train_is_said_once(options: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match="more than once"):
        TrainConfig(**options)


def test_no_epochs_are_refused() -> None:
    with pytest.raises(ConfigError, match="--epochs 0"):
        TrainConfig(epochs=0)


def test_a_unigram_is_what_counting_gives() -> None:
    ids = np.array([BOS, FIRST, FIRST, FIRST + 1, EOS])
    expected = -np.log(np.array([3, 3, 2, 2]) / (4 + FIRST + 2)).mean()
    assert unigram_nats(ids, ids) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("steps", "best", "told"),
    [(100, 2.0, None), (9, 2.0, "9 of 100"), (100, 3.1, "unigram"), (100, np.nan, "unigram")],
)
def test_a_model_that_has_not_learnt_is_unfinished(steps: int, best: float, told: str | None) -> None:
    found = reason({"steps": steps, "planned": 100, "best": best}, 3.0)
    assert found is None if told is None else told in (found or "")


def test_an_unfinished_model_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = tmp_path / "text.txt"
    text.write_text("\n".join("a" * (3 + row % 7) + chr(98 + row % 20) for row in range(300)))
    words = ["fit", str(text), "--model", "gru", "--codec", "characters", "-o", str(tmp_path / "lm")]
    assert main([*words, "--tokens", "64"]) == 0
    assert "unfinished" in capsys.readouterr().err
    assert "unigram" in str(unfinished(load(tmp_path / "lm").card))
    assert main([*words, "--tokens", "60k", "--width", "16", "--force"]) == 0
    assert "unfinished" not in capsys.readouterr().err
    assert unfinished(load(tmp_path / "lm").card) is None
