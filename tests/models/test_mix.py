"""Mixes and caches: weights that are right, and numbers that can be computed by hand."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from chainrule.bundle import load
from chainrule.errors import ConfigError, ModelError
from chainrule.models.bert import Bert
from chainrule.models.cache import Cache, CacheConfig
from chainrule.models.mix import Mix, MixConfig, best_weights, mixed
from chainrule.models.ngram import Ngram
from chainrule.symbols import BOS, EOS, FIRST
from chainrule.train.fit import fit
from chainrule.train.mix import mix

A, B = FIRST, FIRST + 1


def test_weights_of_a_known_mixture_are_found() -> None:
    rng = np.random.default_rng(0)
    one, other = np.array([0.7, 0.2, 0.1]), np.array([0.1, 0.1, 0.8])
    drawn = rng.choice(3, 20_000, p=0.3 * one + 0.7 * other)
    weights = best_weights([np.log(one[drawn]), np.log(other[drawn])])
    assert weights == pytest.approx((0.3, 0.7), abs=0.03)


def test_a_model_that_finds_things_impossible_can_still_help() -> None:
    logs = [np.log(np.array([0.5, 0.5, 1e-300])), np.log(np.array([0.1, 0.1, 0.1]))]
    weights = best_weights(logs)
    assert 0 < weights[1] < 1
    assert np.isfinite(mixed(logs, weights)).all()


def test_a_mix_is_the_weighted_sum_of_probabilities() -> None:
    parts = [Ngram.tiny(0), Ngram.tiny(1)]
    both = Mix.of(parts, (0.25, 0.75))
    ids = np.array([BOS, A, B, B, EOS], np.int32)
    one, other = (np.exp(part.score_ids(ids)) for part in parts)
    np.testing.assert_allclose(np.exp(both.score_ids(ids))[1:], (0.25 * one + 0.75 * other)[1:], rtol=1e-5)


def test_weights_that_do_not_sum_to_one_are_refused() -> None:
    with pytest.raises(ConfigError, match="sum to 1"):
        MixConfig(weights=(0.5, 0.6), parts=({}, {}))


def test_a_cache_counts_what_was_said_lately() -> None:
    model = Cache(CacheConfig(vocab_size=FIRST + 2, size=2, spread=0.5))
    ids = np.array([BOS, A, A, B, A, EOS], np.int32)
    even = 1 / 4  # EOS, UNK and two symbols may be predicted
    shares = [even, 0.5 * even + 0.5, 0.5 * even, 0.5 * even + 0.25, 0.5 * even]
    np.testing.assert_allclose(np.exp(model.score_ids(ids))[1:], shares, rtol=1e-5)


def test_a_cache_remembers_across_sequences_only_if_told_to() -> None:
    ids = np.array([BOS, A, EOS, BOS, A, EOS], np.int32)
    carried, restarted = (
        Cache(CacheConfig(vocab_size=FIRST + 2, stateful=stateful)).score_ids(ids)[4]
        for stateful in (True, False)
    )
    assert carried > restarted


def test_models_of_one_codec_are_mixed_saved_and_loaded(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    lines = [" ".join(rng.choice(["sun", "rain", "fog"], size=6, p=[0.6, 0.3, 0.1])) for _ in range(60)]
    held = lines[:10]
    bundles = [fit(lines[10:], valid=held, codec="words", order=order) for order in (1, 3)]
    both = mix(bundles, held)
    best = min(bundle.score_file(held).bits for bundle in bundles)
    assert both.score_file(held).bits <= best + 1e-3
    both.save(tmp_path / "mix")
    assert load(tmp_path / "mix").score(held[0]).bits == pytest.approx(both.score(held[0]).bits)
    assert load(tmp_path / "mix").generate("sun", length=5, seed=1).startswith("sun")


def test_models_of_different_codecs_are_refused() -> None:
    one, other = (fit(lines, codec="words", order=2) for lines in (["a b c"] * 30, ["a b d"] * 30))
    with pytest.raises(ModelError, match="codecs are equal"):
        mix([one, other], ["a b"])


def test_a_model_that_reads_both_ways_is_refused_by_its_name_with_advice() -> None:
    with pytest.raises(ModelError, match=r"A bert reads both ways.* leave it out, or take .* gpt or lstm"):
        Mix.of([Ngram.tiny(), Bert.tiny()], (0.5, 0.5))


def test_a_mix_is_made_not_trained() -> None:
    with pytest.raises(ConfigError, match="chainrule mix A B"):
        fit(["a b c"] * 30, model="mix")
