"""Successive halving: time goes to those that are better on the validation part, and every decision is told."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import chainrule as cr
from chainrule.choose.ladder import PROMISE, by_promise, ladders
from chainrule.choose.measure import choice
from chainrule.choose.race import Race
from chainrule.choose.rounds import DROPPED, SHORTEST, Log, Schedule, Turn, decided, left_out, schedule, won
from chainrule.choose.scored import Reading
from chainrule.choose.yardsticks import said, yardsticks
from chainrule.data.dataset import prepare
from tiny import label

NAMES = list(PROMISE)


@given(st.integers(1, 12), st.floats(10.0, 1e5), st.floats(0.0, 20.0))
def test_rounds_take_less_than_the_time_and_get_smaller_and_longer(
    models: int, seconds: float, starting: float
) -> None:
    found = schedule([f"model {one}" for one in range(models)], seconds, starting)
    assert 1 <= len(found.starters) <= models
    counts, lengths = [count for count, _ in found.rounds], [each for _, each in found.rounds]
    assert counts == sorted(counts, reverse=True) and all(each >= SHORTEST for each in lengths)
    assert all(later <= before / 2 for before, later in pairwise(counts))
    assert sum(count * each for count, each in found.rounds) <= 0.75 * seconds
    assert seconds / 4 <= found.planned <= seconds


@pytest.mark.parametrize(
    ("seconds", "starters", "counts"),
    [
        (-3.0, 0, []),
        (1.0, 0, []),
        (20.0, 1, []),
        (70.0, 2, [2]),
        (165.0, 5, [5]),
        (280.0, 5, [5, 2]),
        (1160.0, 5, [5, 2]),
    ],
)
def test_fewer_families_start_where_there_is_little_time(
    seconds: float, starters: int, counts: list[int]
) -> None:
    found = schedule(NAMES, seconds)
    assert found.starters == PROMISE[:starters] and [count for count, _ in found.rounds] == counts
    told = left_out(found, NAMES)
    assert list(told) == NAMES[starters:] and all("larger budget" in why for why in told.values())


def test_the_winner_has_most_of_the_time() -> None:
    assert schedule(NAMES, 280.0).planned > 0.75 * 280.0


def test_slow_starts_make_longer_rounds_for_fewer() -> None:
    slow, fast = schedule(NAMES, 165.0, 5.0), schedule(NAMES, 165.0, 0.5)
    assert len(slow.starters) < len(fast.starters) and slow.rounds[0][1] >= 20.0


def turn(name: str, figure: float, **more: Any) -> Turn:
    return Turn(1, name, 14.0, trained=14.0, figure=figure, loss=figure, **more)


def test_the_better_half_continues_and_the_others_are_told_why() -> None:
    told = decided([turn("rnn", 3.41), turn("gru", 2.9), turn("lstm", 2.8)], 1, "bits per byte")
    assert [one.decision for one in told] == ["dropped", "dropped", "continues"]
    assert told[0].why.startswith("dropped after 14 s at 3.410 bits per byte: lstm had 2.800 after 14 s")
    assert told[2].why.endswith("place 1 of 3")
    assert won(told[2], "bits per byte").why == "wins with 2.800 bits per byte after 14 s"


def test_more_is_better_where_the_task_says_so() -> None:
    good, bad = replace(turn("a", 0.9), loss=-0.9), replace(turn("b", 0.4), loss=-0.4)
    told = {one.name: one.decision for one in decided([bad, good], 1, "accuracy")}
    assert told == {"a": "continues", "b": "dropped"}


def test_one_that_failed_neither_continues_nor_counts() -> None:
    broken = Turn(1, "gpt", 14.0, decision="failed", why="failed: no memory")
    told = {one.name: one for one in decided([broken, turn("gru", 2.9), turn("rnn", 3.4)], 1, "bits")}
    assert told["gpt"] == broken and told["gru"].decision == "continues" and "of 2" in told["gru"].why


def test_turns_are_kept_and_those_that_failed_are_tried_again(tmp_path: Path) -> None:
    plan = schedule(NAMES, 280.0)
    log = Log.opened(tmp_path, plan)
    log.add(turn("gru", 2.9))
    log.add(turn("rnn", 3.4))
    log.add(Turn(1, "gpt", 14.0, decision="failed"))
    log.decide(1, 1, "bits")
    again = Log.opened(tmp_path, Schedule((), (), 0.0))
    assert again.schedule == plan and [one.name for one in again.turns] == ["gru", "rnn"]
    assert again.turns[1].decision == DROPPED and again.turn(1, "gru") and not again.turn(2, "gru")


FLOORS = {"window": 2.5, "rnn": 2.4, "gru": 1.9, "lstm": 1.8, "gpt": 2.0}


class Track(Race):
    """A race whose models need no process: each has a figure that falls with the time it was given."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.jobs: list[tuple[str, float, float | None]] = []
        self.results: dict[str, Any] = {}
        self.early: tuple[str, ...] = ()
        self.clock, self.epochs = 0.0, 3.0

    @property
    def passed(self) -> float:
        return self.clock

    def found(self, name: str) -> Any:
        return self.results.get(name)

    def _job(self, name: str, kind: str, codec: str, seconds: float, rungs: Any = (), **more: Any) -> None:
        self.jobs.append((name, seconds, more.get("planned")))
        self.clock += 2.0 if kind == "mix" else seconds or 1.0
        for rung in rungs:
            spent = (self.found(rung.name) or {"seconds": 0.0})["seconds"] + seconds
            figure = FLOORS.get(rung.name, 2.2) + 10.0 / (1.0 + spent)
            facts = {
                "epochs": self.epochs,
                "stopped_early": rung.name in self.early,
                "round": more.get("round"),
            }
            told = {
                "figure": figure,
                "loss": figure,
                "bits": figure,
                "seconds": spent,
                "judging": 1.0,
                **facts,
            }
            self.results[rung.name] = told


def track(out: Path, budget: float) -> Track:
    return Track(out, ladders(["characters"]), budget, True, lambda event: None, "bits")


def test_the_best_ends_with_the_rest_of_the_time_and_its_mix(tmp_path: Path) -> None:
    race = track(tmp_path, 300.0)
    race.run()
    names = [name for name, _, _ in race.jobs]
    assert names[1:6] == ["window.1", "rnn.1", "gru.1", "lstm.1", "gpt.1"]
    assert names[6:8] == ["gru.2", "lstm.2"] and names[8:10] == ["lstm.3", "lstm + unigram"]
    assert names[10:] == ["lstm + neural cache + unigram"]  # dynamic evaluation would take too long
    assert len({planned for _, _, planned in race.jobs[1:9]}) == 1  # sizes are for the time of a winner
    last = {one.name: one for one in race.turns}
    assert last["lstm"].decision == "won" and last["gru"].decision == "dropped" == last["gpt"].decision
    assert last["lstm"].seconds > 0.5 * 300 and race.clock <= 300
    assert any("no time for a learning curve of lstm" in note for note in race.notes)


def test_one_that_stopped_improving_leaves_its_time_to_the_next(tmp_path: Path) -> None:
    race = track(tmp_path, 300.0)
    race.early = ("lstm",)
    race.run()
    names = [name for name, _, _ in race.jobs]
    assert "lstm.2" not in names and "gru.3" in names
    assert sum(one.seconds for one in race.turns if one.name == "gru") > 0.5 * 300


def test_a_curve_of_a_learner_takes_a_tenth_of_a_long_budget_at_most(tmp_path: Path) -> None:
    race = track(tmp_path, 1200.0)
    race.run()
    assert race.jobs[-1][0] == "curve of lstm" and race.jobs[-1][1] <= 0.1 * 1200


def test_curves_come_from_rounds_where_no_symbol_was_read_twice(tmp_path: Path) -> None:
    race = track(tmp_path, 1200.0)
    race.epochs = 0.01
    race.run()
    assert race.jobs[-1][0] == "lstm + neural cache + unigram"
    points = json.loads((tmp_path / "found" / "curve of lstm.json").read_text())["read"]
    assert len(points) == 3 and points == sorted(points, key=lambda one: -one[1])


def test_families_are_started_by_promise() -> None:
    assert [rung.family for rung in by_promise(ladders(["characters"]))] == NAMES


def test_the_task_says_what_is_judged() -> None:
    texts = {"text": ["good film", "bad film"] * 30, "label": ["yes", "no"] * 30}
    ready = prepare(texts, texts, texts, roles=label.Label().roles())
    bundle = cr.fit(texts, valid=texts, test=texts, model="gru", task="label", epochs=1.0, width=8)
    unused = Reading(bundle.body, "unused", Path(), Path())  # type: ignore[arg-type]
    found = choice(bundle, ready, unused)
    assert found.figure == found.loss == pytest.approx(bundle.card["figures"]["valid"]["log_loss"], rel=1e-4)

    class Accurate(label.Label):
        figure, maximise = "accuracy", True

    best = choice(replace(bundle, task=Accurate()), ready, unused)
    assert best.figure == -best.loss == bundle.card["figures"]["valid"]["accuracy"]


LINES = [f"the {one} cat saw {two} dogs" for one in ("old", "red", "big", "wet", "shy") for two in range(40)]


def test_compressors_are_measured_after_the_training_part() -> None:
    found = yardsticks(prepare(LINES, LINES[:20], LINES[:20], codec="words"), 60.0)
    assert set(found["bits"]) == {"xz", "bzip2", "zstd"} and found["whole"]
    assert all(0.0 <= bits < 4.0 for bits in found["bits"].values())  # all of it came before
    row = {"bits": 9.0}
    assert "No model here does better" in said(found, "bits per byte", [row])


def test_large_data_are_compressed_in_part_and_that_is_said() -> None:
    found = yardsticks(prepare(LINES * 30, LINES[:20], LINES[:20], codec="words"), 10.0)
    assert not found["whole"] and found["train_bytes"] + found["test_bytes"] <= 50_000
    assert "of the first" in said(found, "bits per byte", [])
