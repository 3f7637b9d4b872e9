"""Estimators of scikit-learn: models of sequences in pipelines, cross-validation and grid search.

    clf = cr.SequenceClassifier(model="bag").fit(texts, labels)
    cross_val_score(clf, texts, labels)

Every setting of `fit` is a parameter under its name. This module alone imports scikit-learn (the extra `sklearn`), and
is imported when one of its names is asked for.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Self

import numpy as np

from chainrule.data.given import as_list, is_frame, plain
from chainrule.data.rows import LABEL, PAIR, TEXT
from chainrule.errors import ChainruleError, EstimatorError
from chainrule.models.registry import family
from chainrule.train.fit import fit, usual_model
from chainrule.train.guess import framed
from chainrule.use.predict import Prediction

try:
    from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
    from sklearn.exceptions import DataConversionWarning, NotFittedError
    from sklearn.utils.multiclass import check_classification_targets
except ImportError as error:
    raise ImportError("The estimators need scikit-learn: pip install 'chainrule[sklearn]'") from error

VALID = 0.1  # share of the examples that a model learning by gradient is validated on
FEW = 10  # examples from which on that is possible
TRAINING = ("budget", "seed")  # parameters for models that learn by gradient alone


class _Estimator(BaseEstimator):
    """What the estimators share: parameters, the forms of X, and the trained model, `bundle_`."""

    task: ClassVar[str]

    def __init__(
        self,
        model: str | None = None,
        *,
        codec: str | None = None,
        budget: str | None = None,
        seed: int | None = None,
        **settings: Any,
    ) -> None:
        """A family, how text is read, how long to train ("60s"), a seed; then any setting of `fit` by its name."""
        self.model, self.codec, self.budget, self.seed = model, codec, budget, seed
        self._settings = tuple(settings)
        for name, value in settings.items():
            setattr(self, name, value)

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """All parameters, those that were given by name included."""
        return {**super().get_params(deep), **{name: getattr(self, name) for name in self._settings}}

    def set_params(self, **params: Any) -> Self:
        """Set parameters; any setting of `fit` may be among them."""
        for name in params.keys() - self.get_params(deep=False).keys():
            if "__" in name or not name.isidentifier() or hasattr(self, name):
                raise EstimatorError(f"{name!r} is no setting of {type(self).__name__}.")
            self._settings = (*self._settings, name)
            setattr(self, name, None)
        super().set_params(**params)
        return self

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "bundle_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.input_tags.one_d_array, tags.input_tags.two_d_array, tags.input_tags.string = True, False, True
        return tags

    def _fit(self, texts: list[Any], answers: Sequence[Any], kept: np.ndarray) -> None:
        """Train; examples that are `kept` (N,) are not held out for validation."""
        model = self.model or usual_model(self.task, framed({}, texts))
        gradient = family(model).learner == "gradient"
        params = {"codec": _codec(texts)} | _given(self.get_params(deep=False))
        params |= {PAIR: PAIR} if _are_pairs(texts) else {}
        options = params if gradient else {one: value for one, value in params.items() if one not in TRAINING}
        held = _held_out(kept, self.seed or 0) if gradient else np.zeros(len(texts), np.bool_)
        train, valid = (_table(texts, answers, rows) for rows in (~held, held))
        try:
            self.bundle_ = fit(
                train,
                **{**options, "model": model, "task": self.task, "valid": valid if held.any() else None},
            )
        except ChainruleError as error:
            raise EstimatorError(str(error)) from error

    def _predicted(self, X: Any) -> list[Prediction]:
        """One prediction for each text."""
        if not self.__sklearn_is_fitted__():
            raise NotFittedError(f"This {type(self).__name__} is not fitted yet: call fit(X, y) first.")
        texts = sequences(X)
        try:
            return list(self.bundle_.predict_each(_texts(texts))) if texts else []
        except ChainruleError as error:
            raise EstimatorError(str(error)) from error


class SequenceClassifier(ClassifierMixin, _Estimator):
    """Classes of texts, lists of tokens, or pairs of texts; a blank one gets the shares of the classes in training."""

    task: ClassVar[str] = "classify"

    def fit(self, X: Any, y: Any) -> Self:
        """Learn from texts X and their classes y."""
        texts, answers = _checked(sequences(X), y)
        given = np.array(answers)
        check_classification_targets(given)
        self.classes_, codes, counts = np.unique(given, return_inverse=True, return_counts=True)
        self._names, self._shares = _names(self.classes_), counts / len(given)
        self._fit(texts, [self._names[code] for code in codes], _firsts(codes))
        return self

    def predict_proba(self, X: Any) -> np.ndarray:
        """(texts, classes) probabilities, in the order of `classes_`."""
        found = [self._chances(one) for one in self._predicted(X)]
        return np.array(found).reshape(len(found), len(self.classes_))

    def predict(self, X: Any) -> np.ndarray:
        """(texts,) the most probable class of each."""
        chances = self.predict_proba(X)
        found: np.ndarray = self.classes_[chances.argmax(1)] if len(chances) else self.classes_[:0]
        return found

    def _chances(self, one: Prediction) -> np.ndarray:
        """(classes,) of one text."""
        if one.blank:
            return self._shares
        return np.array([one.probabilities.get(name, 0.0) for name in self._names])


class SequenceRegressor(RegressorMixin, _Estimator):
    """Numbers of texts, lists of tokens, or pairs of texts; what is blank gets the mean of the training data."""

    task: ClassVar[str] = "regress"

    def fit(self, X: Any, y: Any) -> Self:
        """Learn from texts X and their numbers y."""
        texts, answers = _checked(sequences(X), y)
        values = _numbers(answers)
        self.mean_ = float(values.mean())
        kept = np.zeros(len(values), np.bool_)
        kept[:2] = True
        self._fit(texts, [repr(one) for one in values.tolist()], kept)
        return self

    def predict(self, X: Any) -> np.ndarray:
        """(texts,) a number for each."""
        found = [self.mean_ if one.value is None else one.value for one in self._predicted(X)]
        return np.array(found, np.float64)


class SequenceTagger(_Estimator):
    """A tag for every token: X are lists of tokens, or texts whose words are separated by spaces; y lists of tags."""

    task: ClassVar[str] = "tag"

    def fit(self, X: Any, y: Any) -> Self:
        """Learn from sentences X and the tags y of their tokens."""
        texts, answers = _checked(sequences(X), list(y) if y is not None else None)
        tags = [one.split() if isinstance(one, str) else [str(tag) for tag in one] for one in answers]
        self.classes_ = np.unique([tag for one in tags for tag in one])
        first = {tag: at for at, one in reversed(list(enumerate(tags))) for tag in one}
        kept = np.zeros(len(tags), np.bool_)
        kept[list(first.values())] = True
        self._fit(texts, tags, kept)
        return self

    def predict(self, X: Any) -> list[list[str]]:
        """The tags of every sentence, one for each token."""
        return [list(one.tags or ()) for one in self._predicted(X)]

    def score(self, X: Any, y: Any) -> float:
        """F1 of chunks where tags are BIO or BIOES, else the share of right tags."""
        if not self.__sklearn_is_fitted__():
            raise NotFittedError("This SequenceTagger is not fitted yet: call fit(X, y) first.")
        texts, answers = _checked(sequences(X), list(y) if y is not None else None)
        table = _table(texts, answers, np.ones(len(texts), np.bool_))
        try:
            return float(self.bundle_.evaluate(table).figures["f1"])
        except ChainruleError as error:
            raise EstimatorError(str(error)) from error


def _numbers(answers: Sequence[Any]) -> np.ndarray:
    """(N,) floats, all of them finite."""
    if any(isinstance(one, complex) for one in answers):
        raise EstimatorError("Complex data not supported: y must be numbers.")
    try:
        found = np.array(answers, np.float64)
    except (TypeError, ValueError) as error:
        raise EstimatorError(f"y must be numbers: {error}.") from error
    if found.ndim != 1 or not np.isfinite(found).all():
        raise EstimatorError("y must be one finite number for each text: it contains NaN, infinity or lists.")
    return found


def sequences(X: Any) -> list[Any]:
    """Texts or lists of tokens, from whatever holds them: a list, an array, a column of pandas or polars."""
    if hasattr(X, "toarray"):
        raise EstimatorError(
            "Sparse input is not supported: X must be a list of texts, or of lists of tokens."
        )
    if hasattr(X, "__array__") and not hasattr(X, "__iter__"):
        X = np.asarray(X)
    if X is None or isinstance(X, str | bytes | Mapping):
        raise EstimatorError(f"X must be a list of texts, or of lists of tokens, not {type(X).__name__}.")
    if is_frame(X):
        names = list(X.columns)
        pairs = list(zip(*(map(plain, as_list(X[name])) for name in names), strict=True))
        if len(names) == 2 and all(map(_are_texts, pairs)):
            return pairs
        if len(names) != 1:
            raise EstimatorError(
                f"X has {len(names)} columns: give the one with the texts, X[{names[0]!r}], or two, of pairs."
            )
        X = X[names[0]]
    if getattr(X, "ndim", 1) == 0:
        raise EstimatorError("X must be a list of texts, not one value. Reshape your data, or give [text].")
    items = [_item(one) for one in as_list(X)]
    if getattr(X, "ndim", 1) == 2 and all(len(one) == 1 and isinstance(one[0], str) for one in items):
        return [one[0] for one in items]
    if getattr(X, "ndim", 1) == 2 and all(len(one) == 2 and _are_texts(one) for one in items):
        return [tuple(one) for one in items]
    return items


def _item(one: Any) -> Any:
    """A text, a list of tokens or of frames, or a tuple of two texts."""
    return one if isinstance(one, tuple) and len(one) == 2 and _are_texts(one) else plain(one)


def _are_texts(one: Sequence[Any]) -> bool:
    return all(isinstance(text, str) for text in one)


def _are_pairs(texts: Sequence[Any]) -> bool:
    """Whether every example is a tuple of two texts; lists are tokens."""
    return bool(texts) and all(isinstance(one, tuple) and len(one) == 2 for one in texts)


def _texts(texts: Sequence[Any]) -> dict[str, np.ndarray]:
    """Examples as columns, one or two."""
    if _are_pairs(texts):
        return {role: _column([one[at] for one in texts]) for at, role in enumerate((TEXT, PAIR))}
    return {TEXT: _column(texts)}


def _checked(texts: list[Any], y: Any) -> tuple[list[Any], list[Any]]:
    """Texts and answers, if there are as many of these as of those."""
    if y is None:
        raise EstimatorError("requires y to be passed, but the target y is None: give fit(X, y).")
    answers = [plain(one) for one in as_list(_column_of(y))]
    if len(texts) != len(answers):
        raise EstimatorError(
            f"X has {len(texts):,} sequences and y {len(answers):,} answers: give as many of each."
        )
    if not texts:
        raise EstimatorError("Found array with 0 sample(s): X and y are empty.")
    missing = [at for at, answer in enumerate(answers) if answer is None]
    if missing:
        raise EstimatorError(f"y is missing at {missing[0]}: it must not contain None or NaN.")
    return texts, answers


def _column_of(y: Any) -> Any:
    """One column of answers as such, with a warning, as scikit-learn does."""
    if hasattr(y, "__array__") and not hasattr(y, "__iter__"):
        y = np.asarray(y)
    if getattr(y, "ndim", 1) == 2 and not is_frame(y) and y.shape[1] == 1:
        warn = "A column-vector y was passed when a 1d array was expected. Change its shape to (n,)."
        warnings.warn(warn, DataConversionWarning, stacklevel=4)
        return y.ravel()
    return y


def _names(classes: np.ndarray) -> list[str]:
    """What the classes are called in the model: themselves or, where these would not be told apart, numbers."""
    names = [str(one).strip() for one in classes]
    return names if all(names) and len(set(names)) == len(names) else [str(at) for at in range(len(names))]


def _firsts(codes: np.ndarray) -> np.ndarray:
    """(N,) bool, where each class comes first: it must be learnt from."""
    found = np.zeros(len(codes), np.bool_)
    found[np.unique(codes, return_index=True)[1]] = True
    return found


def _held_out(kept: np.ndarray, seed: int) -> np.ndarray:
    """(N,) bool, the examples to validate on."""
    held, spare = np.zeros(len(kept), np.bool_), np.flatnonzero(~kept)
    count = round(VALID * len(kept)) if len(kept) >= FEW else 0
    held[np.random.default_rng(seed).permutation(spare)[:count]] = True
    return held


def _given(params: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in params.items() if value is not None}


def _codec(texts: Sequence[Any]) -> str | None:
    """What reads lists of tokens as they are; for texts, the one that suits them and the model."""
    tokens = [token for one in texts if isinstance(one, list) for token in one]
    if not tokens or not all(isinstance(token, str) for token in tokens):
        return None
    return "words" if all(token and not any(map(str.isspace, token)) for token in tokens) else "events"


def _table(texts: list[Any], answers: Sequence[Any], rows: np.ndarray) -> dict[str, np.ndarray]:
    chosen = np.flatnonzero(rows).tolist()
    return {**_texts([texts[at] for at in chosen]), LABEL: _column([answers[at] for at in chosen])}


def _column(values: Sequence[Any]) -> np.ndarray:
    """As an array of objects: of a list, items might name files."""
    found = np.empty(len(values), object)
    for at, value in enumerate(values):
        found[at] = value
    return found
