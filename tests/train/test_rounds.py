"""A run that ended continues with more time: from its checkpoint, with the same settings, by a longer plan."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import chainrule as cr
from chainrule.data.batches import next_batches
from chainrule.data.corpus import Corpus
from chainrule.errors import ConfigError, Stopped
from chainrule.models.gru import Gru, GruConfig
from chainrule.symbols import BOS, EOS, FIRST
from chainrule.train.budget import Timing
from chainrule.train.checkpoint import FILE, load, seconds_before
from chainrule.train.config import TrainConfig
from chainrule.train.schedule import FINAL
from chainrule.train.trainer import Trainer
from trained import trainer as made

LR = 0.02


class Ticking:
    """A clock that advances by the same time whenever somebody looks."""

    now = 0.0

    def __call__(self) -> float:
        self.now += 0.01
        return self.now


def corpus(rows: int) -> Corpus:
    found = [[BOS, *(FIRST + (np.arange(5) + row) % 4).tolist(), EOS] for row in range(rows)]
    return Corpus(np.concatenate(found).astype(np.int32), rows, 1)


def round_of(folder: Path, seconds: float, planned: float | None = 100.0, **options: Any) -> Trainer:
    """A run made or restored, until `seconds` of its budget are used."""
    torch.set_num_threads(1)
    model = Gru.seeded(GruConfig(vocab_size=FIRST + 4, width=8), 1)
    config = TrainConfig(**{"budget": f"{seconds}s", "lr": LR, "patience": 0, **options})
    timing = Timing(clock=Ticking(), planned=planned)
    run = made(model, next_batches(corpus(40), 4, 8, True, 1), corpus(10), config, folder, timing=timing)
    run.restore()
    return run


def rates(run: Trainer) -> list[float]:
    """The learning rate of every step of a round."""
    told: list[float] = []
    learn = run._learn
    run._learn = lambda batches, count, rate: told.append(rate) or learn(batches, count, rate)  # type: ignore
    run.run()
    return told


def test_a_round_ends_its_schedule_and_the_next_one_raises_the_rate_again(tmp_path: Path) -> None:
    first = round_of(tmp_path, 10.0)
    assert rates(first)[-1] == pytest.approx(FINAL * LR, rel=0.1)
    steps = first.at.step
    second = round_of(tmp_path, 40.0, None)
    assert second.at.ended and second.at.step == steps
    told = rates(second)
    assert told[0] > 0.5 * LR  # a quarter of the longer run lies behind
    assert told[-1] == pytest.approx(FINAL * LR, rel=0.1)
    assert 2.5 * steps < second.at.step < 5 * steps and 36.0 < second.now < 41.0


def test_validations_continue_through_the_longer_plan_and_the_best_weights_are_kept(tmp_path: Path) -> None:
    round_of(tmp_path, 10.0).run()
    before = load(tmp_path)
    second = round_of(tmp_path, 60.0)
    second.run()
    assert before is not None
    lines = [json.loads(line) for line in (tmp_path / "metrics.jsonl").read_text().splitlines()]
    later = [line for line in lines if line["step"] > before.facts["step"]]
    assert len(later) >= 10 and second.at.best <= min(line["valid"] for line in later) + 1e-6


def test_patience_starts_over_with_every_round(tmp_path: Path) -> None:
    first = round_of(tmp_path, 10.0, patience=2)
    first.run()
    first.at.since, first.at.best = 2, -1.0  # nothing can be better than before
    first._save()
    second = round_of(tmp_path, 40.0, patience=2)
    second.run()
    assert second.at.step > 1.5 * first.at.step


def test_a_round_that_was_stopped_resumes_by_its_plan(tmp_path: Path) -> None:
    round_of(tmp_path, 10.0).run()
    part = round_of(tmp_path, 30.0)
    middle = 2 * part.at.step
    part.stopping = lambda: part.at.step >= middle
    with pytest.raises(Stopped):
        part.run()
    rest = round_of(tmp_path, 30.0)
    assert not rest.at.ended and rest.at.step == middle and rest.plan == part.plan
    rest.run()
    assert 27.0 < rest.now < 31.0 and rest.at.ended


TEXTS = [f"{one} {two} went home" for one in ("ann", "bob", "eve") for two in "abcdefghijklmnop"]


def test_fit_continues_a_round_with_a_longer_budget_and_the_same_sizes(tmp_path: Path) -> None:
    given: dict[str, Any] = {"model": "gru", "codec": "characters", "run": tmp_path, "resume": True}
    first = cr.fit(TEXTS, budget="1s", timing=Timing(planned=3.0), **given)
    assert (tmp_path / FILE).exists() and seconds_before(tmp_path) > 0.3
    last = cr.fit(TEXTS, budget="2s", **given)
    assert not (tmp_path / FILE).exists() and seconds_before(tmp_path) == 0.0
    assert first.model.config == last.model.config
    assert last.card["training"]["steps"] > first.card["training"]["steps"]
    assert last.card["settings"]["budget"] == "2s"


def test_a_run_without_a_budget_gets_none_later(tmp_path: Path) -> None:
    given: dict[str, Any] = {"model": "gru", "codec": "characters", "run": tmp_path, "resume": True}
    cr.fit(TEXTS, epochs=0.5, timing=Timing(planned=3.0), **given)
    with pytest.raises(ConfigError, match="cannot be resumed with"):
        cr.fit(TEXTS, budget="2s", **given)
