"""A task of a source and a target: two vocabularies, trained, saved and loaded like one."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import chainrule as cr
from chainrule.data.dataset import read_part
from chainrule.errors import BundleError, ConfigError
from chainrule.models.neural import NeuralLanguageModel
from chainrule.models.registry import FAMILIES
from chainrule.store import manifest
from chainrule.train.unfinished import unigram_nats
from tiny.translate import SOURCE, TARGET, Translate
from tiny.translator import TinyTranslator

WORDS = {
    "one": "eins",
    "two": "zwei",
    "three": "drei",
    "four": "drei",
}  # five known and two unknown to one side
SMALL: dict[str, dict[str, Any]] = {"translator": {}, "lstm": {"width": 16, "blind": True}}


@pytest.fixture(autouse=True)
def translator(monkeypatch: pytest.MonkeyPatch) -> None:
    """A family for these tests only."""
    monkeypatch.setitem(FAMILIES._known, "translator", TinyTranslator)


@pytest.fixture
def pairs(tmp_path: Path) -> Path:
    """A table of two columns: a number, and what it is called in another language."""
    rng = np.random.default_rng(0)
    path = tmp_path / "numbers.csv"
    rows = [f"{word} {rng.integers(9)},{WORDS[word]}\n" for word in rng.choice(list(WORDS), 200)]
    path.write_text("source,target\n" + "".join(rows), encoding="utf-8")
    return path


def fit(data: Path, model: str, **options: Any) -> cr.Bundle:
    shared = {"task": "tiny-translate", "codec": "words", "epochs": 8, "batch_size": 8, "lr": 0.02}
    return cr.fit(data, model=model, **(shared | SMALL[model] | options))


@pytest.mark.parametrize("model", SMALL)
def test_a_task_of_two_columns_is_fitted_saved_loaded_and_judged(
    model: str, pairs: Path, tmp_path: Path
) -> None:
    bundle = fit(pairs, model)
    sizes = {role: codec.size for role, codec in bundle.codecs.items()}
    assert sizes[SOURCE] != sizes[TARGET]
    assert bundle.body.config.vocab_size == sizes[TARGET] and bundle.codec is bundle.codecs[TARGET]

    bundle.save(tmp_path / "saved")
    again = cr.load(tmp_path / "saved")
    part = read_part(pairs, again.codecs, roles=again.task.roles())
    before, after = (one.task.judge(one.body, one.head, part, one.codecs).values for one in (bundle, again))
    assert again.task == bundle.task == Translate(blind=model == "lstm") and before == after


def test_an_encoder_has_the_vocabulary_of_the_source_and_reads_it(pairs: Path) -> None:
    bundle = fit(pairs, "translator")
    assert len(bundle.arrays()["foreign.weight"]) == bundle.codecs[SOURCE].size
    assert (
        bundle.card["figures"]["test"]["log_loss"] < 0.3
    )  # without the source it would be half of log 3 or more


def test_an_untrained_model_is_compared_with_a_unigram_of_the_targets(pairs: Path) -> None:
    bundle = fit(pairs, "lstm", lr=1e-6, epochs=1)
    part = read_part(pairs, bundle.codecs, roles=bundle.task.roles())
    of_sources, of_targets = (unigram_nats(part[role].ids, part[role].ids) for role in (SOURCE, TARGET))
    told = float(re.findall("against ([0-9.]+) nats", bundle.card["unfinished"])[0])
    assert told == pytest.approx(of_targets, rel=0.2) and told != pytest.approx(of_sources, rel=0.2)


def test_a_sampled_softmax_draws_by_the_counts_of_the_targets(
    pairs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[np.ndarray] = []
    monkeypatch.setattr(NeuralLanguageModel, "set_unigram_counts", lambda self, ids: seen.append(ids))
    bundle = fit(pairs, "lstm", epochs=1)
    assert all(ids.max() < bundle.codecs[TARGET].size < bundle.codecs[SOURCE].size for ids in seen) and seen


def test_going_on_adds_symbols_to_the_vocabulary_that_is_predicted(pairs: Path, tmp_path: Path) -> None:
    bundle, more = fit(pairs, "lstm", epochs=1), tmp_path / "more.csv"
    more.write_text("source,target\n" + "five 5,fuenf\n" * 40, encoding="utf-8")
    grown = cr.fit(more, init_from=bundle, old=pairs, extend_vocab=True, epochs=1)
    assert grown.codecs[SOURCE].size == bundle.codecs[SOURCE].size
    assert grown.codec.size == bundle.codec.size + 1 == grown.body.config.vocab_size
    assert grown.card["adapted"]["added"] == 1 and grown.card["adapted"]["unknown"] == 0


def test_a_run_is_not_resumed_with_another_vocabulary_of_the_source(pairs: Path, tmp_path: Path) -> None:
    fit(pairs, "translator", epochs=1, run=tmp_path / "run")
    with pytest.raises(ConfigError, match="other data or with another codec"):
        fit(pairs, "translator", epochs=1, run=tmp_path / "run", resume=True, source={"vocab": 7})


@pytest.mark.parametrize("name", ["vocab_size", "source_size"])
def test_a_vocabulary_that_is_not_that_of_its_codec_is_refused(
    name: str, pairs: Path, tmp_path: Path
) -> None:
    fit(pairs, "translator", epochs=1).save(tmp_path / "saved")
    path = tmp_path / "saved" / "config.json"
    config = json.loads(path.read_text())
    path.write_text(json.dumps(config | {"model": config["model"] | {name: 99}}))
    manifest.write(tmp_path / "saved")
    with pytest.raises(BundleError, match="vocabulary of 99 ids"):
        cr.load(tmp_path / "saved")
