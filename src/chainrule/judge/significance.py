"""Is one of two systems better, or were the texts lucky? Paired bootstrap and approximate randomisation.

Both draw as sacrebleu does, with the same seed: p-values of BLEU, chrF and TER are those of `sacrebleu --paired-bs` and
`--paired-ar`.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from chainrule.judge.bootstrap import Difference, drawn_difference
from chainrule.judge.texts import Metric, Rewritten

SEED = 12345  # sacrebleu's
RESAMPLES, TRIALS = 1000, 10_000  # of the bootstrap, and of randomisation
AT_ONCE = (
    512  # trials whose choices are held at once; a multiple of 32, so that these are the same whatever it is
)


def differences(first: Rewritten, second: Rewritten) -> Mapping[str, Difference]:
    """Of the figures that both have sums for: the first less the second."""
    names = [name for name in first.sure if name in first.metrics and name in second.metrics]
    return {name: paired(first.metrics[name], second.metrics[name]) for name in names}


def paired(first: Metric, second: Metric, seed: int = SEED) -> Difference:
    """A figure of two systems on the same texts, and how probable such a difference is if they are equally good.

    Where they are the same on every text, p is 1 (sacrebleu, which counts larger differences only, says nearly 0).
    """
    value, other = first.value, second.value
    if np.array_equal(first.known, second.known):
        return Difference(0.0, 0.0, 0.0, {"bootstrap": 1.0, "randomisation": 1.0})
    draws, others = (bootstrapped(one, seed) for one in (first, second))
    apart = np.abs(draws - others)
    tests = {
        "bootstrap": share(apart - apart.mean(), abs(value - other)),
        "randomisation": share(exchanged(first, second, seed), abs(value - other)),
    }
    found = drawn_difference(value, draws, other, others)
    return Difference(found.value, found.low, found.high, tests)


def bootstrapped(metric: Metric, seed: int, resamples: int = RESAMPLES) -> np.ndarray:
    """The figure (R,) of texts drawn with replacement, the same ones for every system (Koehn 2004)."""
    count, rng = len(metric.known), np.random.default_rng(seed)
    rows = (rng.choice(count, count, replace=True) for _ in range(resamples))
    return np.array([metric.figure(metric.known[some].sum(0)) for some in rows])


def exchanged(first: Metric, second: Metric, seed: int, trials: int = TRIALS) -> np.ndarray:
    """How far apart (R,) two systems are that have each text of the one or of the other (Riezler & Maxwell 2005)."""
    rng, found = np.random.default_rng(seed), list[float]()
    whole = first.known.sum(0) + second.known.sum(0)
    while len(found) < trials:
        rows = min(AT_ONCE, trials - len(found))
        keep = rng.integers(2, size=(rows, len(first.known)), dtype=bool)  # (R, texts)
        mixed = keep @ first.known + ~keep @ second.known  # (R, numbers)
        found += [abs(first.figure(one) - first.figure(whole - one)) for one in mixed]
    return np.array(found)


def share(drawn: np.ndarray, real: float) -> float:
    """p: how many of those drawn are further apart than the real ones."""
    return float((np.sum(drawn > real) + 1) / (len(drawn) + 1))
