"""Ensembles of models that answer: the mean of what they think, each with its own codec, saved and loaded as one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import chainrule as cr
from chainrule.bundle import Bundle
from chainrule.cli import main
from chainrule.errors import ChainruleError, ModelError
from chainrule.tasks.regress import least_squares
from chainrule.train.ensemble import codecs_of, held
from chainrule.train.mix import mix
from tagged import columns, tagged

QUICK: dict[str, Any] = {"epochs": 2, "seed": 1, "batch_size": 16}
SMALL: dict[str, Any] = {"cnn": {"filters": 4, "embedding": 8, **QUICK}, "lstm": {"width": 8, **QUICK}}
WORDS = ["good", "fine", "bad", "dull"]


def rows(count: int, seed: int = 1) -> dict[str, list[str]]:
    chosen = np.random.default_rng(seed).integers(0, 4, count).tolist()
    texts = [f"a {WORDS[one]} film {at}" for at, one in enumerate(chosen)]
    return {"text": texts, "label": ["yes" if one < 2 else "no" for one in chosen]}


def several(task: str, data: Any, models: list[str], **options: Any) -> list[Bundle]:
    return [
        cr.fit(data, valid=data, task=task, model=one, refit=False, **options, **SMALL.get(one, {}))
        for one in models
    ]


@pytest.fixture(scope="module")
def parts() -> list[Bundle]:
    return several("classify", rows(120), ["bag", "cnn", "majority"])


@pytest.fixture(scope="module")
def both(parts: list[Bundle]) -> Bundle:
    return mix(parts, rows(60, 2), names=["bag", "cnn", "majority"])


def test_the_mean_of_probabilities_is_what_an_ensemble_answers(parts: list[Bundle], both: Bundle) -> None:
    assert {one.codec.name for one in parts} == {"characters", "words"} and both.codec.name == "bytes"
    named = dict(zip(["bag", "cnn", "majority"], parts, strict=True))
    texts, heat = ["a fine film", "some dull plot", "Ω"], both.head.config.temperature  # type: ignore[union-attr]
    found = both.predict(texts)
    for at, one in enumerate(found):
        weights = zip(both.card["parts"], both.body.config.weights, strict=True)  # type: ignore[attr-defined]
        mean = sum(w * named[name].predict(texts)[at].probabilities["yes"] for name, w in weights)
        odds = (mean / (1 - mean)) ** (1 / heat)
        assert one.probabilities["yes"] == pytest.approx(odds / (1 + odds), abs=1e-6)


def test_a_saved_ensemble_answers_and_is_judged_as_before(both: Bundle, tmp_path: Path) -> None:
    both.save(tmp_path / "both")
    again, test = cr.load(tmp_path / "both", verify=True), rows(40, 3)
    told = [[one.probabilities for one in model.predict(test["text"])] for model in (both, again)]
    assert told[0] == told[1]
    assert again.evaluate(test).figures == both.evaluate(test).figures
    assert again.evaluate(test).figures["accuracy"] > 0.9


def test_models_that_do_not_help_are_left_out(both: Bundle) -> None:
    assert "majority" not in both.card["parts"] and "majority 0.0" in both.card["notes"][0]


def test_an_ensemble_is_no_worse_on_its_own_data_than_its_best_part(
    parts: list[Bundle], both: Bundle
) -> None:
    valid = rows(60, 2)
    alone = [one.evaluate(valid).figures["log_loss"] for one in parts]
    assert both.evaluate(valid).figures["log_loss"] <= min(alone) + 0.02  # what Platt adds


def test_taggers_are_averaged_and_read_unseen_words_by_their_letters() -> None:
    data = columns(tagged(60))
    options = {"letters": "cnn", "letter_width": 8}
    parts = [*several("tag", data, ["most-frequent-tag"]), *several("tag", data, ["lstm"], **options)]
    found = held(parts, codecs_of(parts), np.array([0.5, 0.5]))
    told = [one.predict("Qwx ran", top=99)[0].answer.choices for one in (*parts, found)]  # type: ignore[union-attr]
    for first, second, mean in zip(*told, strict=True):
        assert mean == pytest.approx({tag: (first[tag] + second[tag]) / 2 for tag in mean}, abs=1e-6)
    unseen = parts[1].predict("Qwx ran", top=99)[0], parts[1].predict("12.5 ran", top=99)[0]
    assert unseen[0].answer != unseen[1].answer
    assert mix(parts, data).evaluate(data).figures["accuracy"] > 0.5


def test_numbers_are_averaged_by_least_squares() -> None:
    random = np.random.default_rng(1)
    right = random.normal(size=2000)
    values = [right + random.normal(0, 1.0, 2000), right + random.normal(0, 0.5, 2000), right - 9]
    weights = np.array(least_squares(values, right))
    assert weights.sum() == pytest.approx(1) and weights.min() >= 0

    def error(weights: np.ndarray) -> float:
        return float(np.square(weights @ np.stack(values) - right).mean())

    tries = random.dirichlet(np.ones(3), 300)
    assert error(weights) <= min(error(one) for one in tries) + 1e-9
    assert least_squares(values[:2], right)[1] == pytest.approx(
        0.8, abs=0.05
    )  # the inverse of the variances, 1 and 4


def test_regressors_label_sets_and_pairs_are_averaged(tmp_path: Path) -> None:
    stars = {"text": rows(90)["text"], "label": [0.5 + at % 4 for at in range(90)]}
    sets = {"text": rows(90)["text"], "label": [["a"] if at % 2 else ["a", "b"] for at in range(90)]}
    plain = rows(90)
    pairs = {"text": plain["text"], "pair": plain["text"][::-1], "label": plain["label"]}
    for task, data in (("regress", stars), ("multi-label", sets), ("classify", pairs)):
        found = mix(several(task, data, ["majority", "bag", "cnn"]), data)
        found.save(tmp_path / task)
        assert cr.load(tmp_path / task).evaluate(data).figures == found.evaluate(data).figures


def test_what_cannot_be_averaged_is_refused(parts: list[Bundle], both: Bundle) -> None:
    other = cr.fit({"text": ["a", "b"] * 20, "label": ["x", "y"] * 20}, model="majority", task="classify")
    with pytest.raises(ModelError, match="different labels"):
        mix([parts[0], other], rows(20))
    with pytest.raises(ModelError, match="ensemble already"):
        mix([parts[0], both], rows(20))
    words = cr.fit(["a b c"] * 20, model="ngram")
    with pytest.raises(ChainruleError, match="predicts no labels"):
        mix([parts[0], words], rows(20))


def test_the_command_mixes_predicts_evaluates_and_shows(
    parts: list[Bundle], tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name, one in zip("ab", parts, strict=False):
        one.save(name)
    lines = [f"{text},{label}" for text, label in zip(*rows(40, 4).values(), strict=True)]
    Path("new.csv").write_text("text,label\n" + "\n".join(lines) + "\n")
    assert main("mix a b --valid new.csv -o both".split()) == 0
    assert main(["predict", "both", "a fine film", "--json"]) == 0
    assert '"label": "yes"' in capsys.readouterr().out
    assert main("evaluate both new.csv".split()) == 0
    assert main("show both".split()) == 0
    assert "weight 1" in capsys.readouterr().out
    assert main("mix a b --valid new.csv --dynamic -o other".split()) == 1
