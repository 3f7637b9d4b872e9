"""Ensembles of models that answer: the mean of their probabilities, calibrated, saved, or refused."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import chainrule as cr
from chainrule.errors import ConfigError, ModelError
from chainrule.train.mix import mix

TEXTS = {"text": ["a good film", "a bad film", "good", "so bad"] * 5, "label": ["up", "down"] * 10}
TAGS = {"text": [["Ann", "saw", "Rome"], ["Bob", "left"]] * 8, "label": [["N", "V", "N"], ["N", "V"]] * 8}
QUICK: dict[str, Any] = {"epochs": 2, "refit": False}


@pytest.fixture(scope="module")
def readers() -> Iterator[list[cr.Bundle]]:
    models = (("cnn", {"filters": 4, "embedding": 6}), ("lstm", {"width": 6, "embedding": 5}))
    yield [
        cr.fit(TEXTS, valid=TEXTS, task="classify", model=name, seed=at, **QUICK, **settings)
        for at, (name, settings) in enumerate(models)
    ]


@pytest.fixture(scope="module")
def taggers() -> Iterator[list[cr.Bundle]]:
    sizes = {"width": 6, "embedding": 5, "letter_width": 8}
    yield [cr.fit(TAGS, valid=TAGS, task="tag", model="lstm", seed=at, **QUICK, **sizes) for at in (1, 2)]


def chances(model: cr.Bundle, text: str) -> np.ndarray:
    found = model.predict([text])[0].probabilities
    return np.array([found[name] for name in sorted(found)])


def heated(probabilities: np.ndarray, temperature: float) -> np.ndarray:
    raised = probabilities ** (1.0 / temperature)
    return raised / raised.sum()  # type: ignore[no-any-return]


def test_a_mix_of_classifiers_gives_the_mean_of_their_probabilities(readers: list[cr.Bundle]) -> None:
    both = mix(readers, TEXTS)
    assert both.body.family == "ensemble" and both.head is not None
    for text in ("a good one", "bad", "so so film and a very long one"):
        mean = np.mean([chances(model, text) for model in readers], 0)
        np.testing.assert_allclose(chances(both, text), heated(mean, both.head.config.temperature), atol=1e-6)


def test_a_mix_of_taggers_reads_unknown_words_by_their_letters_in_each_model(
    taggers: list[cr.Bundle],
) -> None:
    both = mix(taggers, TAGS)
    assert both.head is not None
    heat = both.head.config.temperature
    words = ["Anna", "saw"]
    found = both.predict([" ".join(words)], top=9)[0].answer
    others = [model.predict([" ".join(words)], top=9)[0].answer for model in taggers]
    for at in range(len(words)):
        names = sorted(found.choices[at])  # type: ignore[union-attr]
        mean = np.mean([[one.choices[at][name] for name in names] for one in others], 0)  # type: ignore[union-attr]
        own = [found.choices[at][name] for name in names]  # type: ignore[union-attr]
        np.testing.assert_allclose(own, heated(mean, heat), atol=1e-6)


@pytest.mark.parametrize("kind", ["readers", "taggers"])
def test_a_saved_ensemble_answers_as_before(
    kind: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    data = TEXTS if kind == "readers" else TAGS
    both = mix(request.getfixturevalue(kind), data)
    both.save(tmp_path / "both")
    again = cr.load(tmp_path / "both")
    assert again.evaluate(data).figures == both.evaluate(data).figures
    assert again.card["parts"] == ["model 1", "model 2"]
    assert again.card["figures"]["valid"]["accuracy"] == again.evaluate(data).figures["accuracy"]


def test_an_ensemble_is_made_and_shown_from_the_command_line(
    readers: list[cr.Bundle],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from typer.testing import CliRunner

    from chainrule.cli.app import app

    monkeypatch.chdir(tmp_path)
    rows = zip(TEXTS["text"], TEXTS["label"], strict=True)
    Path("t.csv").write_text("text,label\n" + "".join(f"{text},{label}\n" for text, label in rows))
    for name, model in zip("ab", readers, strict=True):
        model.save(Path(name))
    run = CliRunner().invoke
    made = run(app, ["mix", "a", "b", "--valid", "t.csv", "-o", "both"])
    assert made.exit_code == 0, made.output
    shown = run(app, ["show", "both"])
    assert shown.exit_code == 0 and "cnn, weight 0.500" in shown.output


def test_what_cannot_be_mixed_is_refused(readers: list[cr.Bundle], taggers: list[cr.Bundle]) -> None:
    other = cr.fit({"text": ["x y"] * 8, "label": ["up", "down"] * 4}, task="classify", model="cnn", **QUICK)
    with pytest.raises(ModelError, match="codecs are equal"):
        mix([readers[0], other], TEXTS)
    with pytest.raises(ModelError, match="one task"):
        mix([readers[0], taggers[0]], TEXTS)
    counted = cr.fit(TEXTS, task="classify", model="bag", codec="words")
    with pytest.raises(ModelError, match="learn by gradient"):
        mix([readers[0], counted], TEXTS)
    chained = cr.fit(TAGS, valid=TAGS, task="tag", model="lstm", crf=True, width=6, embedding=5, **QUICK)
    with pytest.raises(ModelError, match="CRF"):
        mix([taggers[0], chained], TAGS)
    with pytest.raises(ConfigError, match="made of trained models"):
        cr.fit(TEXTS, task="classify", model="ensemble")
