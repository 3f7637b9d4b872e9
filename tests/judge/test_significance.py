"""Paired tests of two systems: the p-values are those of sacrebleu, and chance is told from skill."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from sacrebleu.metrics import BLEU, CHRF, TER
from sacrebleu.significance import PairedTest

from chainrule.judge.significance import SEED, bootstrapped, differences, exchanged, paired, share
from chainrule.judge.texts import Rewritten, rewritten

WORDS = "the a dog cat man runs sits on mat . , big".split()

TRIALS = 1000


@cache
def texts(wrong: float, seed: int, count: int = 60) -> tuple[str, ...]:
    """Sentences, the same ones for all, some words of which were exchanged."""
    random, noise = np.random.default_rng(0), np.random.default_rng(seed)
    rows = [random.choice(WORDS, random.integers(4, 10)).tolist() for _ in range(count)]
    return tuple(
        " ".join(noise.choice(WORDS) if noise.random() < wrong else one for one in row) for row in rows
    )


@cache
def system(wrong: float, seed: int) -> Rewritten:
    return rewritten(texts(wrong, seed), [texts(0.0, 0)])


THEIRS = {"bleu": ("BLEU", BLEU()), "chrf": ("chrF2", CHRF()), "ter": ("TER", TER())}


@pytest.mark.parametrize(("wrong", "seed"), [(0.3, 2), (0.35, 3), (0.6, 4)])
@pytest.mark.parametrize("kind", ["bs", "ar"])
def test_p_is_that_of_sacrebleu(wrong: float, seed: int, kind: str) -> None:
    named = [("one", list(texts(0.3, 1))), ("two", list(texts(wrong, seed)))]
    metrics = dict(THEIRS.values())
    _, theirs = PairedTest(named, metrics, [list(texts(0.0, 0))], kind, n_samples=TRIALS)()
    for ours, (name, _) in THEIRS.items():
        first, second = (one.metrics[ours] for one in (system(0.3, 1), system(wrong, seed)))
        real = abs(first.value - second.value)
        apart = np.abs(bootstrapped(first, SEED, TRIALS) - bootstrapped(second, SEED, TRIALS))
        drawn = apart - apart.mean() if kind == "bs" else exchanged(first, second, SEED, TRIALS)
        assert share(drawn, real) == pytest.approx(theirs[name][1].p_value, abs=1e-9)


def test_a_better_system_is_significantly_better_and_a_system_is_no_better_than_itself() -> None:
    found = paired(system(0.3, 1).metrics["bleu"], system(0.6, 4).metrics["bleu"])
    assert found.real and found.low > 0 and max(found.p_values.values()) < 0.01
    same = paired(system(0.3, 1).metrics["wer"], system(0.3, 1).metrics["wer"])
    assert not same.real and same.value == 0.0


def test_equally_good_systems_differ_significantly_in_few_of_many_cases() -> None:
    """A test that always, or never, sees a difference would be caught: 5 % of the time is right."""
    random, found = np.random.default_rng(0), []
    first = system(0.3, 1).metrics["wer"]
    for _ in range(60):
        known = random.random((2, 80, 1)) * [[[1.0]]]
        one, two = (
            type(first)(np.concatenate([each, np.ones((80, 1))], 1), lambda sums: float(sums[0] / sums[1]))
            for each in known
        )
        real = abs(one.value - two.value)
        found.append(share(exchanged(one, two, SEED, 200), real) < 0.05)
    assert 0 < sum(found) <= 9


def test_every_figure_with_an_interval_is_compared() -> None:
    found = differences(system(0.3, 1), system(0.3, 2))
    assert set(found) == set(Rewritten.sure)
    assert all(set(one.p_values) == {"bootstrap", "randomisation"} for one in found.values())
