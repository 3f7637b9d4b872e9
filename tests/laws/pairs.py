"""Laws of bodies that read two texts: what decides stands in neither of them alone."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

import chainrule as cr
from chainrule.bundle import Bundle
from chainrule.models.registry import family
from laws.readers import READERS
from paired import paired

SMALL = {"epochs": 8, "lr": 0.01, "batch_size": 16, "head_dropout": 0.0, "dropout": 0.0, "codec": "words"}
RECURRENT = SMALL | {"width": 16, "embedding": 16}
TOWER = SMALL | {"width": 16, "heads": 2, "layers": 1, "context": 16}
SETTINGS: dict[str, dict[str, Any]] = {
    "cnn": SMALL | {"embedding": 16, "filters": 8},
    **dict.fromkeys(("rnn", "gru", "window"), RECURRENT),
    "lstm": RECURRENT | {"join": "features"},
    "gpt": TOWER,
    "bert": TOWER | {"epochs": 20, "width": 32, "layers": 2, "patience": 0},
    "elmo": SMALL | {"layers": 1, "width": 16, "epochs": 5},
}
LONG = " so it the a" * 8
Pairs = Sequence[tuple[str, str]]


@dataclass(frozen=True)
class Comparer:
    """A family that reads two texts, trained on a few pairs; a deliberate bug is one with a part replaced."""

    name: str
    change: Callable[[Bundle], Bundle] = lambda bundle: bundle  # what a deliberate bug does to it

    def fitted(self) -> Bundle:
        """Trained to tell whether two texts share a word."""
        if self.name not in TRAINED:
            settings = SETTINGS.get(self.name, {})
            data, valid = self.some(320, 0), self.some(60, 1)
            TRAINED[self.name] = cr.fit(data, valid=valid, model=self.name, task="classify", **settings)
        return self.change(TRAINED[self.name])

    def some(self, count: int, seed: int) -> dict[str, list[str]]:
        """Pairs; a small Transformer that reads both as one sequence has to find out more by itself."""
        return paired(count, seed, words=3 if self.name == "bert" else 6)


TRAINED: dict[str, Bundle] = {}


def pairs_of(data: dict[str, list[str]]) -> list[tuple[str, str]]:
    return list(zip(data["text"], data["pair"], strict=True))


def chances(bundle: Bundle, pairs: Pairs) -> np.ndarray:
    """(pairs,) the probability that they share a word."""
    return np.array([one.probabilities["same"] for one in bundle.predict(pairs)])


def right(bundle: Bundle, pairs: Pairs, labels: Sequence[str]) -> float:
    found = bundle.predict(pairs)
    return float(np.mean([one.label == label for one, label in zip(found, labels, strict=True)]))


def same(found: np.ndarray, expected: np.ndarray, claim: str) -> None:
    assert np.allclose(found, expected, atol=1e-5), f"{claim}: differ by {np.abs(found - expected).max()}"


def law_01_both_texts_decide(comparer: Comparer) -> None:
    """With the first or the second text of another pair, nothing but guessing is left."""
    if comparer.name == "majority":
        return
    bundle, data = comparer.fitted(), comparer.some(200, 2)
    labels, firsts, seconds = data["label"], data["text"], data["pair"]
    moved = np.random.default_rng(0).permutation(len(labels))
    assert (found := right(bundle, pairs_of(data), labels)) >= 0.95, f"{found:.2f} are right"
    for pairs in (
        [(firsts[at], two) for at, two in zip(moved, seconds, strict=True)],
        [(one, seconds[at]) for at, one in zip(moved, firsts, strict=True)],
    ):
        assert right(bundle, pairs, labels) <= 0.65, "with a text of another pair"


def law_02_rows_are_independent_and_padding_changes_nothing(comparer: Comparer) -> None:
    bundle, pairs = comparer.fitted(), pairs_of(comparer.some(12, 3))
    together = chances(bundle, pairs)
    same(chances(bundle, pairs[::-1])[::-1], together, "the order of pairs changes nothing")
    same(np.concatenate([chances(bundle, [one]) for one in pairs]), together, "a pair alone")
    for long in (("sun" + LONG, "sun"), ("sun", "sun" + LONG)):
        same(chances(bundle, [*pairs, long])[:-1], together, "a long neighbour")


def law_03_saved_and_loaded_gives_the_same_numbers(comparer: Comparer) -> None:
    bundle, pairs = comparer.fitted(), pairs_of(comparer.some(9, 4))
    with TemporaryDirectory() as folder:
        bundle.save(Path(folder) / "model")
        again = cr.load(Path(folder) / "model", verify=True)
        assert np.array_equal(chances(again, pairs), chances(bundle, pairs))


def law_04_long_texts_are_read_to_their_ends(comparer: Comparer) -> None:
    """Another last word of a text that is longer than a context makes a difference, be it the first or the second."""
    if comparer.name == "majority":
        return
    bundle = comparer.fitted()
    for pairs in (
        [(f"{LONG} {word}", "sun") for word in ("sun", "rain", "wind")],
        [("sun", f"{LONG} {word}") for word in ("sun", "rain", "wind")],
        [(f"{LONG} {word}", f"{LONG} sun") for word in ("sun", "rain", "wind")],
    ):
        found = chances(bundle, pairs)
        assert np.ptp(found) > 1e-4, f"{found} whatever stands at the end"


ComparerLaw = Callable[[Comparer], None]
COMPARER_LAWS: list[ComparerLaw] = [
    law_01_both_texts_decide,
    law_02_rows_are_independent_and_padding_changes_nothing,
    law_03_saved_and_loaded_gives_the_same_numbers,
    law_04_long_texts_are_read_to_their_ends,
]
ALIKE = ("rnn", "gru", "window")  # read two texts as an LSTM does
COMPARERS = [Comparer(one.name) for one in READERS if family(one.name).pairs and one.name not in ALIKE]
