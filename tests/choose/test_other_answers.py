"""Comparisons of taggers and of regressors, judged by the figure of their task."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import numpy as np
import pytest

import chainrule as cr
from chainrule.choose.ladder import Rung, ladder, rungs_of
from chainrule.choose.learning import Lesson, lasted
from chainrule.cli import main
from chainrule.data.dataset import prepare
from chainrule.progress import no_progress
from chainrule.tasks.classify import Classify
from chainrule.train.budget import Timing
from tagged import columns, tagged

HEADED = ["cnn", "lstm", "frozen-lm", "elmo", "bert"]


def test_the_ladder_has_what_can_answer() -> None:
    assert [rung.name for rung in rungs_of("", "tag")] == ["most-frequent-tag", *HEADED]
    assert [rung.name for rung in rungs_of("", "regress")] == ["majority", "bag", *HEADED]
    classify = [rung.name for rung in rungs_of("", "classify")]
    assert classify == ["majority", "class-ngram", "bag", *HEADED]
    assert [rung.name for rung in rungs_of("", "classify", pairs=True)] == ["majority", "bag", *HEADED]
    assert [rung.name for rung in ladder("", ["lstm"], "classify")] == ["lstm"]
    assert [rung.name for rung in ladder("", ["frozen-lm", "elmo"], "classify")] == ["frozen-lm", "elmo"]


@pytest.mark.parametrize("task", ["tag", "regress"])
def test_a_comparison_is_judged_by_the_figure_of_its_task(task: str, tmp_path: Path) -> None:
    models = {"tag": ["most-frequent-tag"], "regress": ["majority", "bag"]}[task]
    words = {
        "tag": columns(tagged(120)),
        "regress": {
            "text": [f"{'good ' * (at % 5)}film {at}" for at in range(90)],
            "label": [at % 5 for at in range(90)],
        },
    }[task]
    found = cr.compare(words, task=task, models=models, budget="60s", out=tmp_path / "found")
    figure = {"tag": "f1", "regress": "rmse"}[task]
    for row in found.results["models"]:
        value = row["figures"][figure]
        assert row["bits"] == pytest.approx(1 - value if task == "tag" else value)
    assert found.recommended == models[-1] and models[0] in found.report.read_text()
    assert found.model().task.name == task


def test_a_figure_that_a_test_part_does_not_have_is_left_out(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data, out = tmp_path / "tags.txt", tmp_path / "out"
    sentences = ("".join(f"{word} {word.upper()}\n" for word in words) for words in product("abc", repeat=4))
    data.write_text("\n".join(sentences))  # the test part has no unknown word
    words = ["compare", str(data), "--task", "tag", "--models", "most-frequent-tag", "--budget", "10s"]
    assert main([*words, "-o", str(out)]) == 0
    told = capsys.readouterr().out
    assert "accuracy" in told and "unknown accuracy" not in told


def test_two_texts_with_one_answer_are_compared(tmp_path: Path) -> None:
    words = ["red", "blue", "green", "old"]
    pairs = [(words[at % 4], words[at // 4 % 4 if at % 3 else at % 4], at) for at in range(160)]
    data = {
        "text": [f"the {one} house {at}" for one, _, at in pairs],
        "pair": [f"a house that is {other}" for _, other, _ in pairs],
        "label": ["same" if one == other else "other" for one, other, _ in pairs],
    }
    found = cr.compare(
        data, task="classify", models=["majority", "bag", "mix"], budget="60s", out=tmp_path / "found"
    )
    assert {row["name"] for row in found.results["models"]} == {"majority", "bag", "bag + majority"}
    assert found.model("bag").predict("the red house", pair="a house that is red")[0].label == "same"


@pytest.mark.parametrize("rung", [Rung("frozen-lm", "lstm", learns=True, first="next")])
def test_a_body_that_learnt_from_the_texts_is_frozen_under_a_head_and_learns_on_in_the_next_round(
    rung: Rung, tmp_path: Path
) -> None:
    texts = [f"{'good' if at % 2 else 'bad'} film {at % 7}" for at in range(80)]
    data = {"text": texts, "label": [str(at % 2) for at in range(80)]}
    prepared = prepare(data, data, data, roles=Classify().roles())
    small = {"width": 8, "budget": "1.5s"}
    first, second = (
        Lesson(rung, "classify", {}, {**small, "budget": budget}, 1, no_progress, tmp_path / "run", Timing())
        for budget in ("1.5s", "3s")
    )
    one, other = (lesson.learnt(prepared, {}) for lesson in (first, second))
    assert one.task.name == "classify" and lasted(tmp_path / "run") > 1.5
    weights = [model.arrays()["embedding.weight"] for model in (one, other)]
    assert not np.array_equal(*weights)
    assert other.card["training"]["seconds"] > one.card["training"]["seconds"]
