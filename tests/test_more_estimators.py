"""Regressors and taggers inside scikit-learn."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.utils.estimator_checks import check_estimator

from chainrule import SequenceClassifier, SequenceRegressor, SequenceTagger
from tagged import columns, tagged
from test_estimators import NUMBERS_FAIL

TEXTS = [f"{'good ' * (at % 5)}film {at % 3}" for at in range(60)]
NUMBERS = [float(at % 5) for at in range(60)]


class OfNumbers(SequenceRegressor):
    """Told to scikit-learn as an estimator of matrices, whose rows are sequences of numbers."""

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.one_d_array, tags.input_tags.two_d_array = False, True
        return tags


OTHERS = {
    "check_regressors_train": "sequences differ in length: longer rows than in training are read",
    "check_regressor_data_not_an_array": "columns of a frame are not a sequence: one of them holds the texts",
}


@pytest.mark.filterwarnings("ignore")
def test_the_checks_of_scikit_learn_that_apply_pass_for_regressors() -> None:
    found = check_estimator(
        OfNumbers(), expected_failed_checks=NUMBERS_FAIL | OTHERS, on_fail=None, on_skip=None
    )
    assert [one["check_name"] for one in found if one["status"] == "failed"] == []
    assert sum(one["status"] == "passed" for one in found) >= 35


def test_a_regressor_is_validated_searched_and_cloned() -> None:
    assert cross_val_score(SequenceRegressor(), TEXTS, NUMBERS, cv=3).min() > 0.7
    grid = GridSearchCV(SequenceRegressor(), {"model": ["majority", "bag"]}, cv=2, error_score="raise").fit(
        TEXTS, NUMBERS
    )
    assert grid.best_params_ == {"model": "bag"}
    model = clone(grid.best_estimator_).fit(TEXTS, NUMBERS)
    assert model.predict(["", *TEXTS[:2]]) == pytest.approx([2.0, *NUMBERS[:2]], abs=0.5)
    with pytest.raises(ValueError, match="numbers"):
        SequenceRegressor().fit(TEXTS, ["x"] * 60)
    with pytest.raises(NotFittedError):
        SequenceRegressor().predict(TEXTS)


def test_a_tagger_is_validated_searched_and_cloned() -> None:
    data = columns(tagged(60))
    X, y = data["text"], data["label"]
    model = SequenceTagger("most-frequent-tag").fit(X, y)
    assert model.score(X, y) == 1.0 and model.predict(X[:2]) == y[:2] and model.predict([[]]) == [[]]
    assert "B-PER" in model.classes_.tolist()
    assert cross_val_score(model, X, y, cv=3).min() > 0.9
    grid = GridSearchCV(model, {"min_count": [1, 2]}, cv=2, error_score="raise").fit(X, y)
    assert clone(grid.best_estimator_).get_params()["min_count"] in (1, 2)
    assert SequenceTagger("most-frequent-tag").fit([" ".join(one) for one in X], y).score(X, y) == 1.0
    small = SequenceTagger("lstm", width=8, embedding=8, letters="none", epochs=1, seed=3)
    again = clone(small).fit(np.array([*X, None], object)[:-1], y)
    assert small.fit(X, y).predict(X[:5]) == again.predict(X[:5])
    with pytest.raises(ValueError, match="60 sequences and y 59"):
        model.fit(X, y[:-1])
    with pytest.raises(ValueError, match="words and"):
        model.fit(X, [one[:-1] for one in y])
    with pytest.raises(NotFittedError):
        SequenceTagger().predict(X)


def pairs(count: int) -> tuple[list[tuple[str, str]], list[str]]:
    words = ["red", "blue", "green"]
    found = [(words[at % 3], words[at // 3 % 3], at) for at in range(count)]
    texts = [(f"the {one} house {at}", f"a {other} one") for one, other, at in found]
    return texts, ["same" if one == other else "other" for one, other, _ in found]


def test_pairs_of_texts_are_validated_searched_and_cloned_in_a_pipeline() -> None:
    import pandas as pd
    from sklearn.pipeline import Pipeline
    from sklearn.preprocessing import FunctionTransformer

    texts, labels = pairs(90)
    lower = FunctionTransformer(lambda X: [(one.lower(), other) for one, other in X], validate=False)
    whole = Pipeline([("lower", lower), ("model", SequenceClassifier("bag"))])
    assert cross_val_score(whole, texts, labels, cv=3).mean() > 0.9
    found = GridSearchCV(whole, {"model__regularization": [0.1, 1.0]}, cv=2).fit(texts, labels)
    assert clone(found.best_estimator_).get_params()["model__model"] == "bag"
    test = [("the red house", "a red one"), ("the red house", "a blue one")]
    assert found.predict(test).tolist() == ["same", "other"]
    alike = SequenceClassifier("bag").fit(np.array(texts), labels)
    frame = pd.DataFrame(test, columns=["premise", "hypothesis"])
    assert alike.predict(frame).tolist() == alike.predict(test).tolist() == ["same", "other"]
    numbers = [float(one == "same") for one in labels]
    assert SequenceRegressor("bag").fit(texts, numbers).score(texts, numbers) > 0.5
