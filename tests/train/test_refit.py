"""A judged model is fitted once more on everything: nothing that was held out is lost."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import chainrule as cr
from chainrule.codecs.base import Texts
from chainrule.data.dataset import prepare
from chainrule.data.rows import TEXT
from chainrule.errors import ConfigError

LINES = [
    f"the {'old' if n % 3 else 'new'} cat number {n % 9} sat on mat {n % 7} {n % 5} {n % 4}"
    for n in range(1200)
]
SMALL: dict[str, Any] = {"model": "lstm", "width": 8, "codec": "words", "epochs": 1.0, "batch_size": 8}


@pytest.fixture
def text(tmp_path: Path) -> Path:
    path = tmp_path / "text.txt"
    path.write_text("\n".join(LINES) + "\n")
    return path


def same(one: cr.Bundle, other: cr.Bundle) -> bool:
    pairs = zip(one.arrays().items(), other.arrays().items(), strict=True)
    return all(name == twin and np.array_equal(a, b) for (name, a), (twin, b) in pairs)


def test_a_refitted_ngram_has_counted_the_whole_file(text: Path) -> None:
    refitted = cr.fit(text, codec="words", order=3)
    whole = cr.fit(text, valid=text, codec="words", order=3)
    assert refitted.codec.size == whole.codec.size
    lines = LINES[:200]
    assert refitted.score_texts(lines).log2prob == pytest.approx(whole.score_texts(lines).log2prob, rel=1e-6)


def test_figures_are_those_of_the_judged_twin(text: Path) -> None:
    refitted, judged = (cr.fit(text, codec="words", order=3, refit=again) for again in (None, False))
    assert refitted.card["figures"] == judged.card["figures"]
    assert not same(refitted, judged) and "refit" not in judged.card
    facts = refitted.card["refit"]
    assert facts["on"] == ["train", "valid", "test"] and facts["sequences"] == len(LINES)
    assert facts["symbols"] > refitted.card["data"]["symbols"]
    assert any("twin" in note for note in refitted.card["notes"])


def test_the_order_that_was_chosen_is_kept(text: Path) -> None:
    refitted, judged = (cr.fit(text, codec="words", refit=again) for again in (True, False))
    assert refitted.body.config == judged.body.config and refitted.config["model"]["order"] > 0


def test_files_given_for_validation_and_test_are_never_learnt_from(text: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.txt"
    other.write_text("something else\n" * 50)
    tested = cr.fit(text, test=other, codec="words", order=2)
    assert tested.card["refit"]["on"] == ["train", "valid"]
    assert tested.card["refit"]["sequences"] == len(LINES)
    assert "refit" not in cr.fit(text, valid=other, codec="words", order=2).card


def test_a_stream_is_refitted_as_one_sequence(text: Path) -> None:
    found = cr.fit(text, codec="characters", order=2, stream=True)
    assert found.card["refit"]["sequences"] == 1
    whole = cr.fit(text, valid=text, codec="characters", order=2, stream=True)
    assert same(found, whole)


def test_everything_is_the_data_before_they_were_divided(text: Path) -> None:
    ready = prepare(text, codec="words")
    whole = ready.everything()
    assert whole.valid is whole.test is None
    np.testing.assert_array_equal(whole.train[TEXT].ids, ready.codec.encode(Texts.of(LINES)).ids)


def test_a_model_trained_by_gradient_is_refitted_when_asked(text: Path) -> None:
    judged, refitted = cr.fit(text, **SMALL), cr.fit(text, **SMALL, refit=True)
    assert "refit" not in judged.card
    assert refitted.card["figures"] == judged.card["figures"]
    assert refitted.card["training"]["steps"] == judged.card["training"]["steps"]
    assert refitted.card["refit"]["on"] == ["train", "valid", "test"] and not same(judged, refitted)
    held = prepare(text, codec="words").test
    assert held is not None
    better = refitted.model.score_ids(held.main.ids).sum() - judged.model.score_ids(held.main.ids).sum()
    assert better > -0.05 * len(held.main.ids)


def test_refitting_goes_within_the_budget_half_and_half(text: Path) -> None:
    options = {name: value for name, value in SMALL.items() if name != "epochs"}
    found = cr.fit(text, **options, budget="4s", refit=True)
    assert found.card["settings"]["budget"] == "2.000s" and found.card["training"]["seconds"] < 3


def test_what_is_for_fine_tuning_says_that_it_needs_a_model(text: Path) -> None:
    for options in ({"extend_vocab": True}, {"unfreeze": 1}, {"old": text}):
        with pytest.raises(ConfigError, match="--from"):
            cr.fit(text, **SMALL, **options)
