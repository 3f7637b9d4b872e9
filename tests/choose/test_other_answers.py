"""Comparisons of taggers and of regressors, judged by the figure of their task."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import pytest

import chainrule as cr
from chainrule.choose.ladder import rungs_of
from chainrule.cli import main
from tagged import columns, tagged


def test_the_ladder_has_what_can_answer() -> None:
    assert [rung.name for rung in rungs_of("", "tag")] == ["most-frequent-tag", "cnn", "lstm", "bert"]
    assert [rung.name for rung in rungs_of("", "regress")] == ["majority", "bag", "cnn", "lstm", "bert"]


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
