"""The estimators inside scikit-learn."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas
import polars
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils.estimator_checks import check_estimator

import chainrule as cr
from chainrule import SequenceClassifier

TEXTS = [f"a {word} film {at}" for at in range(30) for word in ("good", "bad")]
LABELS = ["yes", "no"] * 30
SMALL = {"epochs": 4, "embedding": 8, "filters": 4, "seed": 3}

LENGTHS = "sequences differ in length: there is no number of features to hold on to"
NUMBERS_FAIL = {
    "check_n_features_in": LENGTHS,
    "check_n_features_in_after_fitting": LENGTHS,
    "check_classifiers_train": LENGTHS + ", and longer rows than in training are read",
    "check_fit1d": "a list of texts has one dimension",
    "check_fit2d_predict1d": "a list of texts has one dimension",
    "check_estimators_empty_data_messages": "rows without symbols are refused in the words of chainrule",
    "check_estimators_nan_inf": "missing numbers are symbols and keep their place",
    "check_classifier_data_not_an_array": "columns of a frame are not a sequence: one of them holds the texts",
}


class OfNumbers(SequenceClassifier):
    """Told to scikit-learn as an estimator of matrices, whose rows are sequences of numbers: most checks need that."""

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.one_d_array, tags.input_tags.two_d_array = False, True
        return tags


@pytest.mark.filterwarnings("ignore")
def test_the_checks_of_scikit_learn_that_apply_pass() -> None:
    of_texts = check_estimator(SequenceClassifier(), on_fail=None, on_skip=None)
    assert [one["check_name"] for one in of_texts if one["status"] == "failed"] == []
    of_numbers = check_estimator(OfNumbers(), expected_failed_checks=NUMBERS_FAIL, on_fail=None, on_skip=None)
    assert [one["check_name"] for one in of_numbers if one["status"] == "failed"] == []
    assert sum(one["status"] == "passed" for one in of_numbers) >= 40


@pytest.mark.parametrize(
    "texts",
    [
        TEXTS,
        tuple(TEXTS),
        np.array(TEXTS),
        np.array(TEXTS, object),
        np.array(TEXTS)[:, None],
        pandas.Series(TEXTS),
        pandas.DataFrame({"text": TEXTS}),
        polars.Series(TEXTS),
        polars.DataFrame({"text": TEXTS}),
        [text.split() for text in TEXTS],
        [[*text.split(), "in New York"] for text in TEXTS],
    ],
    ids=lambda given: f"{type(given).__module__.partition('.')[0]}.{type(given).__name__}",
)
def test_texts_come_in_every_shape(texts: Any) -> None:
    clf = SequenceClassifier().fit(texts, pandas.Series(LABELS))
    assert clf.score(texts, LABELS) == 1.0 and clf.classes_.tolist() == ["no", "yes"]
    chances = clf.predict_proba(texts)
    assert chances.shape == (60, 2) and chances.sum(1) == pytest.approx(1)


def test_lists_of_tokens_are_read_as_they_are() -> None:
    assert SequenceClassifier().fit([text.split() for text in TEXTS], LABELS).bundle_.codec.name == "words"
    spaced = SequenceClassifier().fit([[text, "New York"] for text in TEXTS], LABELS)
    assert spaced.bundle_.codec.name == "events" and spaced.bundle_.unknown("New York") == ()


def test_classes_of_any_kind_come_back_as_they_were() -> None:
    for one, other in ((3, 7), (True, False), ("a, b", "c\nd"), (" a", "a"), ("", "x")):
        clf = SequenceClassifier("class-ngram").fit(TEXTS, [one, other] * 30)
        assert clf.predict(TEXTS[:2]).tolist() == [one, other] and clf.classes_.tolist() == sorted(
            [one, other]
        )


def test_pipelines_cross_validation_and_grid_search_work(tmp_path: Path) -> None:
    upper = FunctionTransformer(lambda texts: [text.upper() for text in texts])
    pipe = make_pipeline(upper, SequenceClassifier("class-ngram")).fit(TEXTS, LABELS)
    assert pipe.score(TEXTS, LABELS) == 1.0
    assert cross_val_score(SequenceClassifier(), TEXTS, LABELS, cv=3).min() == 1.0
    grid = GridSearchCV(pipe, {"sequenceclassifier__order": [1, 2]}, cv=2, error_score="raise").fit(
        TEXTS, LABELS
    )
    assert grid.best_params_["sequenceclassifier__order"] in (1, 2) and grid.best_score_ == 1.0
    clf = clone(grid.best_estimator_[-1]).fit(TEXTS, LABELS)
    clf.bundle_.save(tmp_path / "saved")
    assert cr.load(tmp_path / "saved").predict("a bad film")[0].label == "no"


def test_any_setting_is_a_parameter_and_a_wrong_one_is_told() -> None:
    clf = SequenceClassifier("cnn", **SMALL)
    assert clf.get_params()["filters"] == 4 and clone(clf).get_params() == clf.get_params()
    assert clone(clf).set_params(widths=(2,)).get_params()["widths"] == (2,)
    assert repr(clf) == "SequenceClassifier(embedding=8, epochs=4, filters=4, model='cnn', seed=3)"
    assert clf.fit(TEXTS, LABELS).bundle_.body.config.filters == 4
    assert clf.set_params(model="bag", epochs=None, embedding=None, filters=None).fit(TEXTS, LABELS).seed == 3
    with pytest.raises(ValueError, match="There is no option 'filterz'"):
        SequenceClassifier("cnn", filterz=4).fit(TEXTS, LABELS)
    with pytest.raises(ValueError, match="no setting"):
        clf.set_params(sub__filters=4)


def test_every_class_is_learnt_from_and_a_seed_gives_the_same_model() -> None:
    labels = ["rare", *LABELS[1:]]
    clf = SequenceClassifier("cnn", **SMALL).fit(TEXTS, labels)
    assert set(clf.bundle_.codecs["label"].labels) == {"rare", "yes", "no"}
    again = SequenceClassifier("cnn", **SMALL).fit(TEXTS, labels)
    np.testing.assert_array_equal(clf.predict_proba(TEXTS), again.predict_proba(TEXTS))


def test_blank_texts_get_the_shares_of_the_classes() -> None:
    clf = SequenceClassifier().fit([*TEXTS, "a good one", "", None], [*LABELS, "yes", "yes", "yes"])
    assert clf.predict_proba(["", None, " "]) == pytest.approx(np.array([[30 / 63, 33 / 63]] * 3))
    assert clf.predict(["", "a bad film"]).tolist() == ["yes", "no"] and clf.predict([]).shape == (0,)


def test_texts_that_are_names_of_files_are_texts() -> None:
    clf = SequenceClassifier().fit([*TEXTS, __file__], [*LABELS, "no"])
    assert clf.predict([__file__]).shape == (1,)


def test_what_cannot_be_learnt_from_is_told() -> None:
    for texts, labels, told in (
        ("one text", ["a"], "not str"),
        (TEXTS, LABELS[:3], "X has 60 sequences and y 3 answers"),
        ([], [], "0 sample"),
        (TEXTS, [None, *LABELS[1:]], "y is missing at 0"),
        (pandas.DataFrame({"a": TEXTS, "b": TEXTS, "c": TEXTS}), LABELS, "3 columns"),
    ):
        with pytest.raises(ValueError, match=told):
            SequenceClassifier().fit(texts, labels)
    with pytest.raises(NotFittedError, match="call fit"):
        SequenceClassifier().predict(TEXTS)


def test_scikit_learn_is_imported_only_where_it_is_used() -> None:
    program = "import sys, chainrule as cr; cr.fit(['a b'] * 9); sys.exit('sklearn' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program]).returncode == 0
