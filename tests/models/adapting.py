"""Texts and claims for models that make use of what they have just read."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from chainrule.models.base import LanguageModel
from chainrule.models.neural import NeuralLanguageModel
from chainrule.models.registry import family
from chainrule.symbols import BOS, EOS, FIRST, MASK, PAD

A, B, C = FIRST, FIRST + 1, FIRST + 2
PREDICTABLE = [one for one in range(9) if one not in (PAD, BOS, MASK)]  # of the tiny families


def running(name: str) -> NeuralLanguageModel:
    """A tiny recurrent model whose memory is kept from one sequence to the next."""
    kind = family(name)
    tiny = kind.tiny()
    found = kind.from_arrays(replace(tiny.config, stateful=True), tiny.arrays())  # type: ignore[call-arg]
    assert isinstance(found, NeuralLanguageModel)
    return found


def text(seed: int, symbols: int) -> np.ndarray:
    """Sequences of unequal length, an empty one among them."""
    rng = np.random.default_rng(seed)
    ids = rng.choice([A, B, C, EOS], symbols, p=[0.4, 0.3, 0.1, 0.2])
    rows = [[EOS, BOS] if one == EOS else [one] for one in ids.tolist()]
    return np.array([BOS, EOS, BOS, *(one for row in rows for one in row), EOS], np.int32)


def unchanged(model: LanguageModel, seed: int, cut: int) -> None:
    """Whatever stands at `cut` and behind it, what is predicted before it stays, and all chances at it sum to one."""
    first, other = text(seed, 60), text(seed + 100, 60)
    changed = np.concatenate([first[:cut], other[cut:]])
    np.testing.assert_allclose(model.score_ids(changed)[:cut], model.score_ids(first)[:cut], atol=1e-5)
    for symbol in (A, EOS):
        ways = [
            np.concatenate([first[:cut], [symbol], rest]) for rest in (first[cut + 1 :], other[cut + 1 :])
        ]
        one, two = (model.score_ids(way)[cut] for way in ways)
        assert one == pytest.approx(two, abs=1e-5)
    endings = [np.append(first[:cut], symbol) for symbol in PREDICTABLE]
    chances = [np.exp(np.float64(model.score_ids(ending)[cut])) for ending in endings]
    assert sum(chances) == pytest.approx(1.0, abs=1e-5)
