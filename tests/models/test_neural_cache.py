"""The neural cache: numbers that can be computed by hand, and nothing looked at that is not read yet."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from chainrule.errors import ModelError
from chainrule.models import neural_cache, readings, windows
from chainrule.models.mix import Mix
from chainrule.models.neural_cache import NeuralCache
from chainrule.models.ngram import Ngram
from chainrule.models.readings import Reading, VectorModel
from chainrule.models.registry import family
from chainrule.symbols import BOS, EOS
from decoding import drawn
from laws import laws
from laws.case import Case, count
from models.adapting import A, B, C, running, text, unchanged

LATER = laws.law_04_a_later_symbol_changes_no_earlier_prediction


def hiddens(model: VectorModel, ids: np.ndarray) -> Iterator[tuple[int, int, np.ndarray]]:
    """Where a sequence begins, a place in it, and the hidden vector before it, read one symbol at a time."""
    start, state, hidden = 0, model.start(1), torch.empty(0)
    with model.inference():
        for place, one in enumerate(ids.tolist()):
            if one == BOS:
                start, state = place, state if model.stateful else model.start(1)
            else:
                yield start, place, hidden[0, 0].double().numpy()
            hidden, state = model.read(torch.tensor([[one]]), state)


def by_hand(cache: NeuralCache, ids: np.ndarray) -> np.ndarray:
    """Probability of every symbol, from the definition: sums over all pairs before it, one symbol at a time."""
    plain, config = np.exp(cache.model.score_ids(ids).astype(np.float64)), cache.config
    found, pairs = np.ones(len(ids)), []
    for start, place, hidden in hiddens(cache.model, ids):
        seen = [pair for pair in pairs if config.stateful or pair[0] > start][-config.size :]
        worth = {at: np.exp(config.theta * hidden @ key) for at, key in seen}
        share = sum(value for at, value in worth.items() if ids[at] == ids[place])
        heard = len(worth) / (len(worth) + config.prior) if worth else 0.0
        own = (heard * share / sum(worth.values()) if worth else 0.0) + (1 - heard) * plain[place]
        found[place] = (1 - config.weight) * plain[place] + config.weight * own
        pairs.append((place, hidden))
    return found


@pytest.mark.parametrize(("prior", "heard"), [(0.0, [0, 1, 1, 1, 1]), (2.0, [0, 1 / 3, 1 / 2, 3 / 5, 2 / 3])])
def test_an_example_computed_by_hand(prior: float, heard: list[float]) -> None:
    """Vectors (1, 0) before A, (0, 1) before B, exp(theta) = 3: a pair that fits counts three times as much."""
    ids = np.array([BOS, A, B, A, B, EOS], np.int32)
    hidden = torch.tensor([[1.0, 0], [0, 1], [1, 0], [0, 1], [0, 1]])
    reading = Reading(np.arange(1, 6), torch.full((5,), 0.25).log(), hidden)
    cache = NeuralCache.of(family("rnn").tiny(), theta=math.log(3.0), weight=0.5, prior=prior)
    with patch.object(cache.model, "readings", lambda *_: iter([reading])):
        found = np.exp(cache.score_ids(ids)[1:])
    # nothing yet; A after another vector; A after the same and B after another; B after the same and two others; no EOS
    own = [0.0, 0.0, 3 / 4, 3 / 5, 0.0]
    expected = [(1 - 0.5 * by) * 0.25 + 0.5 * by * one for one, by in zip(own, heard, strict=True)]
    np.testing.assert_allclose(found, expected, rtol=1e-6)


@pytest.mark.parametrize("name", ["rnn", "lstm", "gru"])
@pytest.mark.parametrize("carried", [True, False])
@pytest.mark.parametrize("stateful", [True, False])
@pytest.mark.parametrize(("size", "prior"), [(3, 0.0), (100, 5.0)])
def test_scores_are_what_the_definition_says(
    name: str, carried: bool, stateful: bool, size: int, prior: float
) -> None:
    model = running(name) if carried else family(name).tiny()
    cache = NeuralCache.of(model, size=size, theta=3.0, weight=0.6, prior=prior, stateful=stateful)
    ids = text(1, 60)
    with patch.object(neural_cache, "BLOCK", 7):
        np.testing.assert_allclose(np.exp(cache.score_ids(ids)), by_hand(cache, ids), rtol=1e-4)


def test_a_cache_that_is_stateful_reaches_back_beyond_what_a_transformer_can_hold() -> None:
    cache = NeuralCache.of(family("gpt").tiny(), size=100, theta=1.0, weight=0.6, prior=0.0)
    ids = np.array([BOS, *[A, A, B] * 20, EOS], np.int32)
    [reading] = cache.model.readings(ids)
    worth = np.exp((reading.hidden @ reading.hidden.T).double().numpy())
    place = 50  # of the reading; the model holds 12 symbols
    share = worth[place, :place][ids[1 : place + 1] == ids[place + 1]].sum() / worth[place, :place].sum()
    expected = 0.4 * math.exp(reading.logs[place]) + 0.6 * share
    assert np.exp(cache.score_ids(ids)[place + 1]) == pytest.approx(expected, rel=1e-4)


@pytest.mark.parametrize("carried", [True, False])
def test_parts_of_a_long_text_score_as_the_whole(carried: bool) -> None:
    cache = NeuralCache.of(running("lstm") if carried else family("lstm").tiny(), size=40, weight=0.6)
    ids = text(2, 600)
    whole = cache.score_ids(ids)
    small = {"LONG": 64, "WARM": 48, "STEP": 2 * (64 - 48)}
    with patch.multiple(readings, **small), patch.multiple(windows, LONG=64, WARM=48):
        parts = list(cache.model.readings(ids))
        np.testing.assert_allclose(cache.score_ids(ids), whole, atol=1e-4)
    assert len(parts) > 5
    np.testing.assert_array_equal(np.concatenate([one.places for one in parts]), np.flatnonzero(ids != BOS))


def test_a_cache_of_weight_zero_is_its_model() -> None:
    for model in (running("lstm"), family("gpt").tiny()):
        ids = text(3, 80)
        np.testing.assert_array_equal(NeuralCache.of(model, weight=0.0).score_ids(ids), model.score_ids(ids))


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 99), cut=st.integers(2, 45), carried=st.booleans(), stateful=st.booleans())
def test_what_comes_later_changes_nothing_before(seed: int, cut: int, carried: bool, stateful: bool) -> None:
    model = running("rnn") if carried else family("rnn").tiny()
    unchanged(NeuralCache.of(model, size=9, theta=2.0, weight=0.6, prior=1.0, stateful=stateful), seed, cut)


def test_a_cache_with_the_symbol_being_predicted_in_it_is_caught() -> None:
    """The bug: one pair too many is seen, the one whose symbol is asked for."""
    right = neural_cache.CacheKeys.visible

    def wrong(*args: Any) -> tuple[np.ndarray, np.ndarray]:
        low, high = right(*args)
        return low, np.minimum(high + 1, len(args[0].places))

    with patch.object(neural_cache.CacheKeys, "visible", wrong), pytest.raises(AssertionError):
        unchanged(NeuralCache.of(running("rnn"), size=9, theta=2.0, weight=0.6, prior=1.0), 0, 20)


class Peeking(NeuralCache):
    """The same bug where symbols are read in chunks: each sees what only the next one may."""

    def _visible(self, symbols: Tensor, columns: int) -> Tensor:
        seen = super()._visible(symbols, columns)
        return torch.cat([seen[:, 1:], seen[:, -1:]], 1)


@pytest.mark.parametrize("law", [laws.law_03_reading_in_chunks_equals_reading_at_once, LATER])
def test_a_cache_that_looks_ahead_is_caught_by_the_laws(law: laws.Law) -> None:
    with pytest.raises(AssertionError):
        law(Case("peeking", Peeking.tiny, count))


def test_theta_and_lambda_are_found_on_held_out_text() -> None:
    """Sequences that repeat what they began with: the cache is believed, and more than by any other lambda."""
    rng = np.random.default_rng(0)
    rows = [[BOS, *rng.choice([A, B, C], 4).tolist() * 4, EOS] for _ in range(20)]
    ids = np.array([one for row in rows for one in row], np.int32)
    found = NeuralCache.fitted(family("lstm").tiny(), ids, stateful=False)
    best = found.score_ids(ids).sum()
    assert found.config.weight > 0.2
    for change in ({"weight": 0.5 * found.config.weight}, {"theta": 2 * found.config.theta}):
        other = NeuralCache.of(found.model, **{**fitted_settings(found), **change})
        assert other.score_ids(ids).sum() < best


def fitted_settings(cache: NeuralCache) -> dict[str, Any]:
    return {name: getattr(cache.config, name) for name in ("size", "theta", "weight", "stateful")}


def test_what_is_given_is_not_chosen() -> None:
    found = NeuralCache.fitted(family("lstm").tiny(), text(5, 60), theta=0.7, size=11)
    assert (found.config.theta, found.config.size) == (0.7, 11)


def test_a_cache_generates_and_mixes() -> None:
    cache = NeuralCache.tiny()
    assert len(drawn(cache, [BOS], 12, seed=1, stop=())) == 12
    both = Mix.of([cache, family("gru").tiny()], (0.5, 0.5))
    ids = np.array([BOS, A, B, A, B, EOS], np.int32)
    halves = [np.exp(one.score_ids(ids)) for one in both.models]
    np.testing.assert_allclose(np.exp(both.score_ids(ids)), sum(halves) / 2, rtol=1e-5)


def test_a_counting_model_has_no_vectors_to_cache() -> None:
    with pytest.raises(ModelError, match="hidden vectors"):
        NeuralCache.of(Ngram.tiny())
