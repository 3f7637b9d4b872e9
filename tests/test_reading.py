"""Holes filled and texts made vectors, from Python and by command."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import chainrule as cr
from chainrule.bundle import Bundle
from chainrule.cli import main
from chainrule.errors import ConfigError, ModelError
from chainrule.filling import with_holes
from chainrule.models.neural import Neural
from chainrule.nn.int8 import Int8Linear
from chainrule.nn.product import Linear
from chainrule.progress import silent
from chainrule.symbols import BOS, EOS, MASK

LINES = ["the sun is warm", "the rain is wet", "the fog is grey"] * 30
SMALL = {
    "layers": 1,
    "width": 32,
    "heads": 2,
    "context": 16,
    "progress": silent,
    "valid": LINES,
    "test": LINES,
}


@pytest.fixture(scope="module")
def bert() -> Bundle:
    return cr.fit(
        LINES,
        model="bert",
        codec="words",
        epochs=120,
        rate=0.003,
        rows=4,
        span=16,
        dropout=0.0,
        patience=0,
        **SMALL,
    )


@pytest.fixture(scope="module")
def gpt() -> Bundle:
    return cr.fit(
        LINES, model="gpt", codec="words", epochs=20, rate=0.01, rows=4, span=16, dropout=0.0, **SMALL
    )


@pytest.fixture
def saved(bert: Bundle, tmp_path: Path) -> Path:
    bert.save(tmp_path / "bert")
    return tmp_path / "bert"


def test_holes_are_filled_from_both_sides(bert: Bundle) -> None:
    for words, missing in (
        ("the [MASK] is wet", "rain"),
        ("the sun is [MASK]", "warm"),
        ("the [MASK] is grey", "fog"),
    ):
        [guesses] = bert.fill(words, 3)
        assert guesses[0].symbol == missing and guesses[0].probability > 0.5
        assert guesses[0].text == words.replace("[MASK]", missing)
        assert [one.probability for one in guesses] == sorted(
            (one.probability for one in guesses), reverse=True
        )


def test_every_hole_has_guesses_of_its_own(bert: Bundle) -> None:
    found = bert.fill("the [MASK] is [MASK]", 2)
    assert len(found) == 2 and all(len(guesses) == 2 for guesses in found)
    assert with_holes(bert.codec, "the [MASK] is [MASK]").count(MASK) == 2
    ids = with_holes(bert.codec, "[MASK] rain")
    assert ids[:2] == [BOS, MASK] and ids[-1] == EOS and len(ids) == 4


def test_a_text_without_holes_and_a_model_that_reads_one_way_are_refused(bert: Bundle, gpt: Bundle) -> None:
    with pytest.raises(ConfigError, match=r"\[MASK\]"):
        bert.fill("nothing is missing")
    with pytest.raises(ModelError, match="left to right"):
        gpt.fill("the [MASK]")
    with pytest.raises(ModelError, match="Shorten"):
        bert.fill("[MASK] " * 40)


def test_vectors_of_a_text_do_not_depend_on_its_company(bert: Bundle) -> None:
    texts = ["the sun is warm", "rain", "the fog is grey the fog is grey"]
    together = bert.embed(texts)
    alone = np.concatenate([bert.embed([text]) for text in texts])
    np.testing.assert_allclose(together, alone, atol=1e-5)
    assert together.shape == (3, 32)
    np.testing.assert_allclose(np.linalg.norm(bert.embed(texts, normalise=True), axis=1), 1.0, atol=1e-5)


@pytest.mark.parametrize(("pooling", "place"), [("first", 0), ("last", -1)])
def test_pooling_takes_the_vector_it_says(bert: Bundle, pooling: str, place: int) -> None:
    [(pieces, vectors)] = bert.embed_symbols(["the rain"])
    assert pieces == ["<s>", "the", "rain", "</s>"] and vectors.shape == (4, 32)
    np.testing.assert_allclose(bert.embed(["the rain"], pooling=pooling)[0], vectors[place], atol=1e-6)
    np.testing.assert_allclose(bert.embed(["the rain"])[0], vectors.mean(0), atol=1e-6)


def test_other_poolings_and_models_without_vectors_are_refused(bert: Bundle) -> None:
    with pytest.raises(ConfigError, match="mean"):
        bert.embed(["a"], pooling="median")
    counted = cr.fit(LINES, model="ngram", codec="words", valid=LINES, test=LINES, progress=silent)
    with pytest.raises(ModelError, match="no vectors"):
        counted.embed(["the rain"])


def test_fill_and_embed_by_command(saved: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["fill", str(saved), "the [MASK] is wet", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["holes"][0][0]["symbol"] == "rain"
    assert main(["fill", str(saved), "the [MASK] is wet"]) == 0
    assert "the rain is wet" in capsys.readouterr().out
    out = saved.parent / "vectors.npy"
    assert main(["embed", str(saved), "the rain", "the sun", "-o", str(out)]) == 0
    assert np.load(out).shape == (2, 32)
    assert main(["embed", str(saved), "the rain", "-o", str(out)]) == 2  # nothing is overwritten
    capsys.readouterr()
    assert main(["embed", str(saved), "the rain", "--each"]) == 0
    assert len(json.loads(capsys.readouterr().out)["vectors"]) == 4


def test_eight_bits_answer_almost_the_same(gpt: Bundle, bert: Bundle) -> None:
    for bundle in (gpt, bert):
        small = bundle.compressed()
        assert small.score("the rain is wet").log2prob == pytest.approx(
            bundle.score("the rain is wet").log2prob, abs=0.3
        )
        assert isinstance(small.model, Neural)
        kinds = {type(one) for one in small.model.modules()}
        assert Int8Linear in kinds and Linear not in kinds
    assert gpt.compressed().generate("the", temperature=0.0, length=4) == gpt.generate(
        "the", temperature=0.0, length=4
    )


def test_eight_bits_are_for_everything_that_learns_by_gradient() -> None:
    recurrent = cr.fit(LINES, model="lstm", codec="words", width=8, epochs=1, progress=silent)
    exact, small = (bundle.score("the rain is wet") for bundle in (recurrent, recurrent.compressed()))
    assert 0 < abs(exact.log2prob - small.log2prob) < 0.3
    counted = cr.fit(LINES, model="ngram", codec="words", valid=LINES, test=LINES, progress=silent)
    with pytest.raises(ModelError, match="Eight bits"):
        counted.compressed()


def test_a_drafter_changes_nothing_but_the_time(gpt: Bundle) -> None:
    drafter = cr.fit(LINES, model="ngram", codec="words", valid=LINES, test=LINES, progress=silent)
    plain = gpt.generate("the", temperature=0.0, length=12)
    assert gpt.generate("the", temperature=0.0, length=12, draft=drafter) == plain
    other = cr.fit(["other words here"] * 9, model="ngram", codec="words", progress=silent)
    with pytest.raises(ConfigError, match="codec"):
        gpt.generate("the", draft=other)


def test_a_text_for_a_model_that_reads_both_ways_is_refused_before_anything_is_said(
    saved: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["generate", str(saved), "hello"]) == 1
    out, err = capsys.readouterr()
    assert out == "" and "both ways" in err
