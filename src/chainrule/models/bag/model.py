"""A bag of n-grams: what an n-gram says for an answer is a weight, and a text is the sum of its n-grams.

NB-SVM (Wang and Manning 2012): an n-gram counts once in a text, as much as its log-count ratio, and a linear support
vector machine for every answer against the rest weighs these. A number is predicted by ridge regression on the same
n-grams, each of them counting once. There are many more n-grams of letters than of words, and they would drown them:
so each of the two kinds is scaled to a norm of one in every text.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np

from chainrule.config import option
from chainrule.errors import ModelError
from chainrule.models.bag.features import ORDERS, Features, features, first_ones, of_letters
from chainrule.models.bag.pairs import of_pairs
from chainrule.models.bag.says import says
from chainrule.models.bag.svm import Rows, ridge, solve
from chainrule.models.base import ModelConfig
from chainrule.models.readers import (
    CountingReader,
    Examples,
    ReaderConfig,
    Spelling,
    log_odds,
    log_priors,
    plain_spelling,
)
from chainrule.models.registry import register
from chainrule.progress import Progress, no_progress

MOST = 1 << 27  # weights at most: of many answers, the most frequent n-grams are kept
MANY = 100  # answers from which on each is told from some of the other texts, not from all
VISITS = 1 << 32  # n-grams that are looked at then, at most


@dataclass(frozen=True, kw_only=True)
class BagConfig(ReaderConfig):
    """Which n-grams are counted, and how strongly their weights are held together."""

    orders: int = option(2, "word n-grams: of one word up to so many", low=1, high=ORDERS)
    letters: tuple[int, ...] = option(
        (3, 6), "character n-grams, across words: from and to so many letters; 0,0: none", low=0, high=32
    )
    regularization: float = option(
        0.5,
        "C of the support vector machine: the larger, the closer to the training data",
        low=1e-6,
        high=1e6,
    )
    min_count: int = option(1, "leave out n-grams of fewer texts than this", low=1, high=1 << 31)
    passes: int = option(15, "passes of dual coordinate descent over the data", low=1, high=10_000)


@register("bag")
class Bag(CountingReader):
    """score(answer) = b + sum of w r over the n-grams of a text / norm of r, by their kind."""

    Config: ClassVar[type[ModelConfig]] = BagConfig
    codec: ClassVar[str | None] = "characters"
    tasks: ClassVar[tuple[str, ...]] = ("classify", "multi-label", "regress")
    config: BagConfig

    def __init__(self, config: BagConfig, arrays: Mapping[str, np.ndarray]) -> None:
        self.config, self.width = config, config.answers
        self.keys = arrays["keys"]  # (F,) uint64, ascending
        self.ratios = arrays["ratios"]  # (F, answers) float32
        self.weights = arrays["weights"]  # (F, answers) float32
        self.bias = arrays["bias"]  # (answers,) float32
        self.spelling = Spelling(arrays["kinds"], arrays["folded"])

    @classmethod
    def learn(
        cls, config: Any, given: Examples, progress: Progress = no_progress, valid: Examples | None = None
    ) -> Self:
        spelling = given.spelling or plain_spelling(config.vocab_size)
        found = _features(given.ids, given.starts, spelling, config)
        keys, index = _kept(found.hashes, found.sequences, config)
        rows = Rows.of(index, found.sequences, len(given.starts), of_letters(keys))
        learnt = (
            _numbers(rows, given, config) if given.are_numbers else _labels(rows, given, config, progress)
        )
        arrays = {"keys": keys, **learnt}
        return cls(config, arrays | {"kinds": spelling.kinds, "folded": spelling.folded})

    @classmethod
    def tiny(cls, seed: int = 0) -> Self:
        from chainrule.symbols import BOS, EOS, FIRST

        rng = np.random.default_rng(seed)
        ids = np.array([[BOS, *rng.integers(FIRST, 9, 5), EOS] for _ in range(12)], np.int32)
        config = BagConfig(vocab_size=9, answers=3)
        return cls.learn(config, Examples(ids.ravel(), ids[:, 1] % 3))

    def evidence(self, ids: np.ndarray, starts: np.ndarray) -> np.ndarray:
        found = _features(ids, starts, self.spelling, self.config)
        index = _known(found.hashes, self.keys)
        keep = first_ones(index, found.sequences, len(self.keys))
        index, places, sequences = index[keep], found.places[keep], found.sequences[keep]
        told = np.zeros((len(ids), self.width), np.float32)
        told[starts] = self.bias
        says(index, places, sequences, of_letters(self.keys), self.ratios, self.weights, told)
        return told

    def arrays(self) -> Mapping[str, np.ndarray]:
        own = {"keys": self.keys, "ratios": self.ratios, "weights": self.weights, "bias": self.bias}
        return own | {"kinds": self.spelling.kinds, "folded": self.spelling.folded}

    @classmethod
    def from_arrays(cls, config: Any, arrays: Mapping[str, np.ndarray]) -> Self:
        found = cls(replace(config, answers=len(arrays["bias"])), arrays)
        found._check()
        return found

    def _check(self) -> None:
        """Arrays that do not fit together would be read beside each other."""
        tables = {(len(self.keys), self.width)}
        symbols = {(self.config.vocab_size,)}
        if {self.ratios.shape, self.weights.shape} != tables or self.bias.shape != (self.width,):
            raise ModelError(
                f"{self.ratios.shape} ratios and {self.weights.shape} weights do not fit together."
            )
        if {self.spelling.kinds.shape, self.spelling.folded.shape} != symbols:
            raise ModelError(
                f"Kinds of {len(self.spelling.kinds)} symbols came, not of {self.config.vocab_size}."
            )


def _labels(rows: Rows, given: Examples, config: BagConfig, progress: Progress) -> dict[str, np.ndarray]:
    """A support vector machine for every answer."""
    shape = (rows.size, config.answers)
    ratios, weights = np.zeros(shape, np.float32), np.zeros(shape, np.float32)
    usual = log_odds(given, config.answers) if given.are_sets else log_priors(given.answers, config.answers)
    bias = usual.astype(np.float32)
    weighed = np.ones(len(given.answers)) if given.weights is None else given.weights
    costs = config.regularization * weighed  # (texts,)
    # one of two answers is what the other is not
    apart = 1 if config.answers == 2 and not given.are_sets else config.answers
    with progress("training", apart, "answers") as step:
        for answer in range(apart):
            own = given.having(answer)
            if own.any() and not own.all():
                ratios[:, answer] = rows.ratios(own)
                some = _some(own, _others(rows, config), answer)
                given_rows = rows if len(some) == len(own) else rows.of_texts(some)
                learnt = solve(given_rows, ratios[:, answer], own[some], costs[some], config.passes)
                weights[:, answer], bias[answer] = learnt
            step(1)
    if apart < config.answers and ratios.any():
        ratios[:, 1], weights[:, 1], bias[1] = -ratios[:, 0], weights[:, 0], -bias[0]
    return {"ratios": ratios, "weights": weights, "bias": bias}


def _others(rows: Rows, config: BagConfig) -> int:
    """From how many texts, at most, an answer's own are told: of many answers, no more than time allows."""
    if config.answers <= MANY:
        return len(rows.starts)
    each = config.answers * config.passes * max(1, len(rows.index) // max(1, len(rows.starts) - 1))
    return max(1, VISITS // each)


def _some(own: np.ndarray, others: int, seed: int) -> np.ndarray:
    """(k,) texts: all that are `own` and so many others, drawn, in order."""
    rest = np.flatnonzero(~own)
    if len(rest) <= others:
        return np.arange(len(own))
    drawn = np.random.default_rng(seed).choice(rest, others, replace=False)
    found: np.ndarray = np.sort(np.concatenate([np.flatnonzero(own), drawn]))
    return found


def _numbers(rows: Rows, given: Examples, config: BagConfig) -> dict[str, np.ndarray]:
    """Ridge regression; every n-gram counts the same."""
    ratios = np.ones((rows.size, 1), np.float32)
    weights, bias = ridge(rows, given.answers, config.regularization, config.passes)
    return {"ratios": ratios, "weights": weights[:, None], "bias": np.array([bias], np.float32)}


def _features(ids: np.ndarray, starts: np.ndarray, spelling: Spelling, config: BagConfig) -> Features:
    """All n-grams of texts, or of pairs of texts; of letters one number stands for both ends."""
    low, high = (config.letters[0], config.letters[-1]) if config.letters else (0, 0)
    return of_pairs(features(ids, starts, spelling, config.orders, (low, high)), ids, starts)


def _kept(hashes: np.ndarray, sequences: np.ndarray, config: BagConfig) -> tuple[np.ndarray, np.ndarray]:
    """The n-grams (F,) that are frequent enough, ascending, and the number of each hash among them, -1 for others.

    If there are too many, the most frequent ones are kept.
    """
    keys, index = np.unique(hashes, return_inverse=True)
    once = first_ones(index, sequences, len(keys))
    counts = np.bincount(index[once], minlength=len(keys))
    least = config.min_count
    most = max(1, MOST // max(1, config.answers))
    if len(keys) > most:
        least = max(least, int(np.partition(counts, len(keys) - most)[len(keys) - most]) + 1)
    enough = counts >= least
    return keys[enough], np.where(enough, np.cumsum(enough) - 1, -1)[index]


def _known(hashes: np.ndarray, keys: np.ndarray) -> np.ndarray:
    """The number of each n-gram, -1 for those that are unknown."""
    if not len(keys):
        return np.full(len(hashes), -1, np.int64)
    place = np.minimum(np.searchsorted(keys, hashes), len(keys) - 1)
    return np.where(keys[place] == hashes, place, -1)
