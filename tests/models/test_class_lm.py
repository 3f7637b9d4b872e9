"""A language model for every label: `class-` before any family of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import chainrule as cr
from chainrule.errors import ChainruleError
from chainrule.models.registry import families, family
from chainrule.symbols import BOS, EOS, FIRST

TEXTS = ["le chat est noir", "la nuit est noire", "the cat is black", "the night is dark", "a dark cat"] * 6
TABLE = {"text": TEXTS, "label": ["fr", "fr", "en", "en", "en"] * 6}


@pytest.mark.parametrize("name", ["class-ngram", "class-lstm", "class-gpt", "class-bert", "class-elmo"])
def test_evidence_is_the_prior_and_what_each_model_says(name: str) -> None:
    body: Any = family(name).tiny(1)
    ids = np.array([BOS, 6, 7, EOS, BOS, 8, FIRST, 6, EOS], np.int32)
    found = body.evidence(ids, np.array([0, 4]))
    assert found.shape == (9, 3)
    np.testing.assert_allclose(found[[0, 4]], np.tile(body.priors, (2, 1)))
    np.testing.assert_allclose(found[1:4, 1], body.models[1].score_ids(ids)[1:4], atol=1e-5)
    again = type(body).from_arrays(body.config, body.arrays())
    np.testing.assert_array_equal(again.evidence(ids, np.array([0, 4])), found)


def test_languages_are_told_apart_and_the_model_is_saved_in_one_folder(tmp_path: Path) -> None:
    options = {"codec": "characters", "width": 16, "embedding": 8, "lr": 0.02, "steps": 60}
    model = cr.fit(TABLE, valid=TABLE, model="class-lstm", task="classify", **options)
    model.save(tmp_path / "languages")
    again = cr.load(tmp_path / "languages")
    assert [one.label for one in again.predict(["la nuit", "the night"])] == ["fr", "en"]
    assert model.evaluate(TABLE).figures["accuracy"] > 0.9
    assert again.predict(["zzz"])[0].probability == pytest.approx(model.predict(["zzz"])[0].probability)
    sizes = {one.config for one in again.body.models}  # type: ignore[attr-defined]
    assert len(sizes) == 1 and "one lstm for each of 2 labels" in model.card["notes"]


def test_a_label_with_one_text_and_a_budget_are_no_trouble() -> None:
    table = {"text": [*TEXTS, "uno"], "label": [*TABLE["label"], "es"]}
    model = cr.fit(
        table, valid=TABLE, model="class-rnn", task="classify", codec="words", budget="3s", width=8
    )
    assert sum(model.predict(["the cat"])[0].probabilities.values()) == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"model": "class-bag"}, "class- stands before a family of language models"),
        ({"model": "class-nothing"}, "class- stands before"),
        ({"model": "class-lstm", "task": "next"}, "is for 'classify'"),
        ({"model": "class-lstm", "stateful": True}, "--stateful"),
        ({"model": "class-lstm", "refit": True}, "--refit"),
    ],
)
def test_what_is_no_class_model_is_refused(options: dict[str, Any], told: str) -> None:
    with pytest.raises(ChainruleError, match=told):
        cr.fit(TABLE, **{"task": "classify", "codec": "words", **options})


def test_families_that_are_composed_are_not_listed_twice() -> None:
    family("class-lstm")
    assert "class-lstm" not in families() and family("class-lstm") is family("class-lstm")
