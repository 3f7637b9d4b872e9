"""Labelled data in a comparison: the figure of the task decides, and what is handed over answers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import chainrule as cr
from chainrule.choose.advice import more_labels
from chainrule.choose.compare import Comparison
from chainrule.choose.subsets import some
from chainrule.data.dataset import prepare
from chainrule.draw.answers import picture
from chainrule.judge.bootstrap import drawn_difference
from chainrule.judge.curve import fitted
from chainrule.tasks.classify import Classify, answers_of

MODELS = ["majority", "class-ngram", "bag", "mix"]
MIX = "class-ngram + bag"
WORDS = {"yes": ["good", "fine", "great"], "no": ["bad", "poor", "dull"]}


def rows(count: int) -> dict[str, list[str]]:
    random, labels = np.random.default_rng(1), ["yes", "no"] * (count // 2)
    texts = [f"a {random.choice(WORDS[label])} film with plot {at}" for at, label in enumerate(labels)]
    return {"text": texts, "label": labels}


@pytest.fixture(scope="module")
def compared(tmp_path_factory: pytest.TempPathFactory) -> Comparison:
    out = tmp_path_factory.mktemp("labels") / "out"
    return cr.compare(rows(600), out=out, budget="10m", models=MODELS, task="classify")


def test_readers_are_judged_by_the_figure_of_their_task(compared: Comparison) -> None:
    found = {row["name"]: row for row in compared.results["models"]}
    assert set(found) == {*MODELS[:3], MIX} and compared.results["figures"][0] == "accuracy"
    for row in found.values():
        assert row["bits"] == pytest.approx(1 - row["figures"]["accuracy"])
        low, high = row["intervals"]["accuracy"]
        assert low <= row["figures"]["accuracy"] <= high
    assert compared.recommended in MODELS[1:3] and found["majority"]["behind"]["real"]


def test_what_counts_labels_is_cross_validated(compared: Comparison) -> None:
    found = {row["name"]: row.get("crossed") for row in compared.results["models"]}
    assert found["bag"] < 0.05 and found["majority"] == pytest.approx(0.5, abs=0.1)


@pytest.mark.parametrize("name", ["bag", MIX])
def test_what_is_handed_over_predicts_and_was_fitted_again_on_everything(
    compared: Comparison, name: str
) -> None:
    model = compared.model(name)
    assert model.predict(["a great film", "a dull film"])[1].label == "no"
    assert model.evaluate(rows(40)).figures["accuracy"] == 1.0
    twin = compared.model("bag")
    assert twin.card["refit"]["sequences"] == 600
    if name == MIX:
        own = model.body.members[model.card["parts"].index("bag")].model  # type: ignore[attr-defined]
        assert all(np.array_equal(one, own.arrays()[key]) for key, one in twin.body.arrays().items())


def test_the_report_has_confusion_and_calibration(compared: Comparison) -> None:
    text = compared.report.read_text()
    assert "Confusion and calibration" in text and "macro f1" in text and "perplexity" not in text


def test_parts_of_labelled_data_keep_texts_and_labels_together() -> None:
    ready = prepare(rows(600), roles=Classify().roles())
    half = some(ready.train, 0.5, 1)
    assert half.examples == ready.train.examples // 2
    texts = [ready.codec.decode(ids) for ids in np.split(half["text"].ids, half["text"].starts[1:])]
    good = np.array([any(word in text for word in WORDS["yes"]) for text in texts])
    answers = answers_of(half)
    assert len(set(answers[good])) == len(set(answers[~good])) == 1


def test_twice_as_many_labels_are_told_with_care() -> None:
    data: dict[str, Any] = {"parts": {"train": {"sequences": 800}}}
    row = {"name": "bag", "title": "bag"}
    falling = fitted([(100, 0.4), (200, 0.3), (400, 0.225), (800, 0.169)])
    flat = fitted([(100, 0.3), (200, 0.31), (400, 0.29), (800, 0.3)])
    assert more_labels([row], [(row, falling)], data)[0].endswith("more labels would help.")
    assert "not sure" in more_labels([row], [(row, flat)], data)[0]
    assert more_labels([row], [], data) == []
    assert "of bag" in more_labels([{"name": "a + bag", "title": "a + bag"}, row], [(row, falling)], data)[0]


def test_a_difference_is_drawn_in_pairs() -> None:
    drawn = np.random.default_rng(0).normal(0.2, 0.05, 1000)
    assert drawn_difference(0.21, drawn + 0.01, 0.2, drawn).real  # far apart alone, sure together
    assert not drawn_difference(0.21, drawn[::-1], 0.2, drawn).real


def test_a_picture_shows_what_there_is(tmp_path: Path) -> None:
    bins = [{"confidence": 0.9, "accuracy": 0.8, "count": 10}]
    drawn = picture({"labels": ["<a>", "b"], "confusion": [[3, 1], [0, 4]], "reliability": bins})
    assert drawn.count("<rect") == 4 and "&lt;a&gt;" in drawn and "<circle" in drawn
    assert picture({}) == ""
