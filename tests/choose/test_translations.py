"""A comparison of models that write from a source."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import chainrule as cr
from chainrule.choose.ladder import ladders, likings, rungs_of
from chainrule.choose.translations import mixed, samples, translated
from chainrule.cli import main
from chainrule.data.dataset import Prepared, prepare
from chainrule.data.encoder_inputs import EncoderInputs
from chainrule.errors import ConfigError, DataError, ModelError
from chainrule.models.copy import Copy
from chainrule.models.ibm1 import Ibm1
from chainrule.tasks.translate import Translate
from chainrule.train.fit import learn

WORDS = "zero one two three four".split()


def pairs(count: int, seed: int = 0) -> dict[str, list[str]]:
    """The first word is another one in the target, the others are the same."""
    rows = np.random.default_rng(seed).integers(0, 5, (count, 6)).tolist()
    said = [" ".join([WORDS[first], *map(str, rest)]) for first, *rest in rows]
    return {"source": said, "target": [" ".join(map(str, row)) for row in rows]}


@pytest.fixture(scope="module")
def prepared() -> Prepared:
    options = {"codec": "subwords", "options": {"vocab": 300}}
    return prepare(pairs(80), pairs(20, 1), pairs(20, 2), roles=Translate().roles(), **options)


def test_what_is_copied_is_the_source(prepared: Prepared) -> None:
    bundle = _learnt("copy", prepared)
    assert [one.text for one in bundle.translate(["two one", "3"])] == ["two one", "3"]
    again = Copy.from_arrays(bundle.body.config, bundle.body.arrays())
    assert again.share == bundle.body.share
    same = prepare(
        {"source": ["a b"] * 9, "target": ["a b"] * 9}, roles=Translate().roles(), codec="characters"
    )
    assert _learnt("copy", same).body.share > 0.99
    apart = prepare(pairs(9), roles=Translate(shared_vocab=False).roles(), codec="words")
    with pytest.raises(ModelError, match="one vocabulary on both sides"):
        _learnt("copy", apart)


def test_translators_are_told_by_bleu_of_what_they_write(prepared: Prepared) -> None:
    bundle = _learnt("copy", prepared)
    found = translated(bundle, prepared.test)
    figures = found.figures()
    assert found.examples == 20 and 50 < figures["bleu"] < 100 and figures["perplexity"] > 1
    assert figures == translated(bundle, prepared.test).figures()
    assert "→" in samples(bundle, prepared.test)[0] and len(samples(bundle, prepared.test)) == 3


def test_a_mix_of_translators_is_not_worse_than_its_parts(prepared: Prepared) -> None:
    parts = [_learnt(name, prepared) for name in ("copy", "ibm1")]
    bundle = mixed(parts, prepared.valid, ["copy", "ibm1"])
    alone = [translated(one, prepared.valid).figures()["perplexity"] for one in parts]
    assert translated(bundle, prepared.valid).figures()["perplexity"] <= min(alone) + 1e-6
    assert EncoderInputs.of(prepared.valid, "target").lengths.shape == (20,)


def _learnt(name: str, prepared: Prepared) -> cr.Bundle:
    found = learn(name, Translate(), prepared, {})
    return cr.Bundle(prepared.codecs, found.body, Translate(), None, {})


def test_the_ladder_goes_from_copying_to_attention() -> None:
    names = ["copy", "ibm1", "seq2seq", "attention", "transformer"]
    assert [one.name for one in rungs_of("", "translate")] == names
    assert [one.name for one in ladders(["subwords"], [], "translate")] == names
    assert [one.name for one in ladders(["subwords"], ["seq2seq", "copy"], "translate")] == [
        "copy",
        "seq2seq",
    ]
    assert likings([], "translate") == ["subwords"]
    with pytest.raises(ConfigError, match="no model 'lstm'"):
        ladders(["subwords"], ["lstm"], "translate")


def test_parallel_files_are_compared(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for part, data in {"train": pairs(80), "test": pairs(30, 3)}.items():
        for side, texts in data.items():
            (tmp_path / f"{part}.{side}").write_text("\n".join(texts) + "\n")
    words = [
        "compare",
        "--source",
        str(tmp_path / "train.source"),
        "--target",
        str(tmp_path / "train.target"),
    ]
    words += ["--test-source", str(tmp_path / "test.source"), "--test-target", str(tmp_path / "test.target")]
    words += ["--budget", "60s", "--models", "copy,ibm1,mix", "-o", str(tmp_path / "out"), "--json"]
    assert main(words) == 0
    results = json.loads(capsys.readouterr().out)
    rows = {row["name"]: row for row in results["models"]}
    assert set(rows) == {"copy", "ibm1", "ibm1 + copy"} and results["unit"] == "100 - bleu"
    assert results["data"]["parts"]["test"]["sequences"] == 30 and results["data"]["codecs"] == ["subwords"]
    assert rows["copy"]["figures"]["bleu"] > 50 and rows["ibm1"]["figures"]["chrf"] > 0
    page = (tmp_path / "out" / "report.html").read_text()
    assert "bleu" in page and "→" in page
    assert cr.load(tmp_path / "out" / "models" / "ibm1 + copy").translate(["two one 3"])[0].text
    (tmp_path / "test.target").write_text("1\n")
    with pytest.raises(DataError, match="equally many lines"):
        cr.compare(
            {"source": str(tmp_path / "test.source"), "target": str(tmp_path / "test.target")},
            out=tmp_path / "o",
        )
    assert main(["compare"]) == 2


def test_a_figure_that_is_a_hundred_at_most_is_told_as_what_it_lacks() -> None:
    from chainrule.choose.answers import cost, unit

    assert cost(Translate(), 40.0) == 60.0 and unit(Translate()) == "100 - bleu"
    assert replace(Translate()).figure == "bleu" and Ibm1.task == "translate"
