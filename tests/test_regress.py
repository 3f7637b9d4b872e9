"""Regression: numbers are kept exactly, figures are those of SciPy, and words that mean a number are found."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import chainrule as cr
from chainrule.codecs.base import CodecConfig, Texts
from chainrule.codecs.values import Values
from chainrule.errors import ChainruleError
from chainrule.judge.numbers import Measured
from chainrule.models.bag.svm import Rows, ridge
from chainrule.train.guess import guessed_task

WORTH = {"bad": -2.0, "poor": -1.0, "fine": 1.0, "good": 2.0}


def scored(count: int, seed: int = 0) -> dict[str, list[Any]]:
    """Texts whose number is what their words are worth, and a little noise."""
    rng = np.random.default_rng(seed)
    drawn = [[str(one) for one in rng.choice([*WORTH, "film", "a"], 4)] for _ in range(count)]
    worth = [50 + 10 * sum(WORTH.get(word, 0.0) for word in words) + rng.normal(0, 0.1) for words in drawn]
    return {"text": [" ".join(words) for words in drawn], "label": worth}


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1, max_size=20))
def test_every_number_comes_back_bit_by_bit(numbers: list[float]) -> None:
    texts = Texts.of([repr(one) for one in numbers])
    codec = Values(CodecConfig(), Values.learn(lambda: [Texts.of(["0", "1"])], CodecConfig()).spread)
    assert codec.numbers(codec.encode(texts).ids).tobytes() == np.array(numbers).tobytes()


@pytest.mark.parametrize("ties", [False, True])
def test_figures_are_those_of_scipy(ties: bool) -> None:
    stats = pytest.importorskip("scipy.stats")
    rng = np.random.default_rng(0)
    left, right = rng.normal(0, 1, (2, 500))
    right = right + left
    if ties:
        left, right = left.round(), right.round()
    found = Measured(left, right).figures()
    assert found["pearson"] == pytest.approx(stats.pearsonr(left, right).statistic)
    assert found["spearman"] == pytest.approx(stats.spearmanr(left, right).statistic)
    assert found["mae"] == pytest.approx(np.abs(left - right).mean())
    assert found["rmse"] == pytest.approx(np.sqrt(((left - right) ** 2).mean()))
    assert found["r2"] == pytest.approx(1 - ((left - right) ** 2).sum() / ((right - right.mean()) ** 2).sum())


def test_a_side_that_does_not_vary_has_no_correlation() -> None:
    assert Measured(np.zeros(3), np.arange(3.0)).figures()["pearson"] == 0.0


def test_ridge_is_the_closed_form() -> None:
    rng = np.random.default_rng(0)
    texts = [rng.choice(12, 4, replace=False) for _ in range(40)]
    rows = Rows(np.arange(41) * 4, np.concatenate(texts).astype(np.int64), np.zeros(12, np.int64))
    wanted, cost = rng.normal(0, 1, 40), 0.7
    weights, bias = ridge(rows, wanted, cost, 500)
    table = np.zeros((40, 13))
    for row, text in zip(table, texts, strict=True):
        row[text], row[12] = 0.5, 1.0  # four n-grams: each is 1 / sqrt(4)
    exact = np.linalg.solve(np.eye(13) + 2 * cost * table.T @ table, 2 * cost * table.T @ wanted)
    assert np.allclose([*weights, bias], exact, atol=1e-4)


@pytest.mark.parametrize(("family", "least"), [("bag", 0.9), ("cnn", 0.9), ("majority", -0.2)])
def test_words_that_are_worth_something_are_found(family: str, least: float, tmp_path: Path) -> None:
    settings = {"epochs": 20, "embedding": 16, "filters": 8, "lr": 0.01, "head_dropout": 0.0}
    data, fresh = scored(300), scored(100, 1)
    model = cr.fit(data, model=family, **(settings if family == "cnn" else {}))
    assert model.task.name == "regress"
    figures = model.evaluate(fresh).figures
    assert figures["r2"] >= least and (family != "majority" or figures["r2"] <= 0)
    model.save(tmp_path / "model")
    found = cr.load(tmp_path / "model").predict(fresh["text"])
    assert [one.value for one in found] == [one.value for one in model.predict(fresh["text"])]


def test_a_refitted_model_predicts_in_the_same_unit() -> None:
    model = cr.fit(scored(200), model="bag", refit=True)
    assert model.predict("good good good good")[0].value > 80
    assert model.predict([""])[0].to_dict() == {"row": 1, "blank": True, "value": None}


@pytest.mark.parametrize(
    ("labels", "task"),
    [
        ([0.5 * one for one in range(30)], "regress"),
        (list(range(100)), "regress"),
        ([*range(100)] * 2, "classify"),
        ([1, 2, 3, 4, 5] * 9, "classify"),
        (["a", "b"] * 9, "classify"),
        ([0.5, 1.0] * 99, "classify"),
    ],
)
def test_the_task_is_guessed_by_the_answers(labels: list[Any], task: str, tmp_path: Path) -> None:
    assert guessed_task({}, {"text": ["a"] * len(labels), "label": labels}) == task
    path = tmp_path / "rows.csv"
    path.write_text("text,score\n" + "".join(f"a,{one}\n" for one in labels), encoding="utf-8")
    assert guessed_task({"column": "text", "label": "score"}, path) == task


def test_what_is_no_number_is_named() -> None:
    with pytest.raises(ChainruleError, match="'n/a' is no finite number"):
        cr.fit({"text": ["a", "b"] * 9, "label": ["1", "n/a"] * 9}, task="regress")
