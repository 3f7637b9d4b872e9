"""Bundles that adapt themselves while they score: dynamic evaluation, neural cache, and mixes of such models."""

from __future__ import annotations

from pathlib import Path

import pytest

from chainrule.bundle import Bundle, load
from chainrule.codecs.base import Texts
from chainrule.codecs.registry import codec as codec_class
from chainrule.config import Config, settings
from chainrule.errors import ConfigError, ModelError
from chainrule.models.dynamic import DynamicConfig
from chainrule.models.lstm import Lstm, LstmConfig
from chainrule.models.neural_cache import NeuralCacheConfig
from chainrule.train.mix import mix
from chainrule.use.adapt import AdaptConfig
from fitted import LINES, fitted

TEXT = ["the weather is fine", "what is fine is fine", "it is the time"] * 6
BOTH = {"dynamic": True, "dynamic_window": 8, "neural_cache": True, "cache_size": 50}


@pytest.fixture(scope="module")
def plain() -> Bundle:
    """An LSTM of a few lines that has learnt nothing yet."""
    kind = codec_class("words")
    codec = kind.learn(lambda: [Texts.of(LINES)], kind.Config())
    config = LstmConfig(vocab_size=codec.size, suppressed=codec.suppressed, width=8, stateful=True)
    return Bundle.of(codec, Lstm.seeded(config, 3))


@pytest.mark.parametrize(("prefix", "config"), [("dynamic_", DynamicConfig), ("cache_", NeuralCacheConfig)])
def test_help_says_the_defaults_of_adapting(prefix: str, config: type[Config]) -> None:
    usual = {one.name: one.default for one in settings(config)}
    told = {one.name: one.help for one in settings(AdaptConfig) if one.name.startswith(prefix)}
    assert told and all(f" {usual[name.removeprefix(prefix)]}" in help for name, help in told.items())


@pytest.mark.parametrize("how", ["dynamic", "neural_cache"])
def test_text_that_repeats_itself_becomes_more_probable(plain: Bundle, how: str) -> None:
    adapted = plain.adapted(TEXT, **{how: True})
    assert adapted.score_file(TEXT).bits < 0.98 * plain.score_file(TEXT).bits
    assert how.replace("_", "-") in adapted.card["notes"][-1]


def test_both_together_are_saved_and_loaded(plain: Bundle, tmp_path: Path) -> None:
    adapted = plain.adapted(**BOTH)
    adapted.save(tmp_path / "lm")
    again = load(tmp_path / "lm")
    assert again.body.config == adapted.body.config
    assert again.score_file(TEXT).bits == pytest.approx(adapted.score_file(TEXT).bits)
    assert again.generate("the", length=4, seed=1).startswith("the")


def test_held_out_data_are_read_as_the_codec_needs_them(tmp_path: Path) -> None:
    path, kind = tmp_path / "held.bin", codec_class("bytes")
    path.write_bytes(bytes(range(128, 256)) * 2)  # no UTF-8
    codec = kind.learn(list, kind.Config())
    config = LstmConfig(vocab_size=codec.size, suppressed=codec.suppressed, width=8)
    adapted = Bundle.of(codec, Lstm.seeded(config, 3)).adapted(path, neural_cache=True)
    assert adapted.score_file(path).symbols == 257


def test_settings_that_are_given_are_kept(plain: Bundle) -> None:
    config = plain.adapted(TEXT, neural_cache=True, cache_theta=0.5, cache_size=7).body.config.values()
    assert (config["theta"], config["size"]) == (0.5, 7)


def test_a_mix_adapts_what_learns_by_gradient(plain: Bundle, tmp_path: Path) -> None:
    parts = [plain, fitted()]
    still = mix(parts, TEXT)
    adapted = mix(parts, TEXT, AdaptConfig(**BOTH))
    assert adapted.card["figures"]["valid"]["perplexity"] < still.card["figures"]["valid"]["perplexity"]
    found = adapted.score_file(TEXT)
    assert found.perplexity == pytest.approx(adapted.card["figures"]["valid"]["perplexity"], rel=1e-5)
    adapted.save(tmp_path / "mix")
    assert load(tmp_path / "mix").score_file(TEXT).bits == pytest.approx(found.bits)
    assert "lstm, dynamic (lr" in adapted.card["notes"][0]


def test_nothing_to_do_is_refused(plain: Bundle) -> None:
    with pytest.raises(ConfigError, match="--dynamic, --neural-cache"):
        plain.adapted()


def test_a_counting_model_has_nothing_to_adapt() -> None:
    with pytest.raises(ModelError, match="learns by gradient"):
        fitted().adapted(dynamic=True)
