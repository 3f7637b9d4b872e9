"""What may be asked of a translation beyond the best one: words, prefixes, coverage, drafts, the search tree."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import chainrule as cr
from chainrule.cli import main
from chainrule.errors import ConfigError, ModelError
from chainrule.use.search_tree import search_tree

DIGITS = "zero one two three four".split()
SMALL = {"model": "transformer", "layers": 1, "width": 32, "heads": 2, "dropout": 0.0, "codec": "words"}


def pairs(count: int, seed: int = 0) -> dict[str, list[str]]:
    """Numbers in words, and the same as digits."""
    rng = np.random.default_rng(seed)
    rows = [rng.integers(0, len(DIGITS), rng.integers(1, 6)).tolist() for _ in range(count)]
    return {
        "source": [" ".join(DIGITS[one] for one in row) for row in rows],
        "target": [" ".join(map(str, row)) for row in rows],
    }


@pytest.fixture(scope="module")
def model() -> cr.Bundle:
    """It copies, mostly."""
    return cr.fit(pairs(300), valid=pairs(30, 1), epochs=25, lr=0.01, batch_size=16, **SMALL)


@pytest.fixture(scope="module")
def folder(model: cr.Bundle, tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("decoding") / "mt"
    model.save(place)
    return place


OPTIONS = [
    {"beam": 4, "length_penalty": 0.6},
    {"beam": 3, "coverage_penalty": 0.4},
    {"beam": 4, "force_words": "4"},
    {"beam": 4, "bad_words": ["1", "2 3"], "prefix": "0"},
    {"temperature": 0.0, "bad_words": "3", "min_length_ratio": 1.5},
]


@pytest.mark.parametrize("options", OPTIONS)
def test_one_by_one_equals_a_batch_of_64_whatever_is_asked(
    model: cr.Bundle, options: dict[str, object]
) -> None:
    sources = pairs(64, 2)["source"]
    together = [one.text for one in model.translate(sources, length=12, **options)]
    assert len(set(together)) > 3
    for row in (0, 7, 31, 63):
        assert model.translate([sources[row]], length=12, **options)[0].text == together[row]


@pytest.mark.parametrize("family", ["transformer", "seq2seq"])
def test_every_one_of_64_is_translated_as_if_alone(model: cr.Bundle, family: str) -> None:
    small = {"attention": "additive", "width": 32, "dropout": 0.0, "codec": "words"}
    if family == "seq2seq":
        model = cr.fit(
            pairs(300), model=family, valid=pairs(30, 1), epochs=25, lr=0.01, batch_size=16, **small
        )
    sources = pairs(63, 2)["source"] + [" ".join(DIGITS * 8)]  # one of 40 words: all others are padded
    together = model.translate(sources)
    alone = [model.translate([one])[0] for one in sources]
    assert [one.text for one in together] == [one.text for one in alone]
    logs = [[one.choices[0].log2prob for one in some] for some in (together, alone)]
    assert logs[0] == pytest.approx(logs[1], abs=1e-3) and len({one.text for one in alone}) > 10


def test_words_that_must_occur_do_and_words_that_must_not_do_not(model: cr.Bundle) -> None:
    sources = pairs(20, 3)["source"]
    for one in model.translate(sources, force_words=["4 4", "0"], beam=8, length=14):
        assert "4 4" in one.text and "0" in one.text.split()
    for options in ({}, {"temperature": 0.0}, {"temperature": 1.0, "seed": 1}):
        for one in model.translate(sources, bad_words=["1", "2 2"], **options):
            assert "1" not in one.text.split() and "2 2" not in one.text
    with pytest.raises(ConfigError, match="does not know"):
        model.translate(["one"], force_words="seven")
    with pytest.raises(ConfigError, match="--beam"):
        model.translate(["one"], force_words="4", temperature=0.0)
    with pytest.raises(ConfigError, match="nothing in it"):
        model.translate(["one"], bad_words=" ")


def test_a_prefix_is_what_every_translation_begins_with(model: cr.Bundle) -> None:
    for options in ({}, {"temperature": 0.0}, {"force_words": "3"}):
        for one in model.translate(["one two", "three"], prefix="3 3", **options):
            assert one.text.startswith("3 3")


def test_coverage_weighs_what_was_left_untranslated(model: cr.Bundle) -> None:
    source = ["one two three four one"]
    plain, covering = (
        model.translate(source, beam=6, count=6, coverage_penalty=weight)[0] for weight in (0.0, 5.0)
    )
    logs = {one.text: one.log2prob for one in plain.choices}
    assert {one.text for one in covering.choices} & set(logs)
    for one in covering.choices:
        assert one.log2prob == pytest.approx(logs.get(one.text, one.log2prob), abs=1e-3)
    lm = cr.fit(["a b c"] * 20, model="gpt", codec="words", layers=1, width=8, heads=2, steps=2)
    with pytest.raises(ModelError, match="no alignment"):
        lm.search("a", beam=2, coverage_penalty=0.2)


def test_unknowns_are_replaced_by_the_word_of_the_source_that_was_looked_at() -> None:
    rng = np.random.default_rng(0)
    names = [f"n{number}" for number in range(400)]
    rows = [[names[one] for one in rng.integers(0, 400, 2)] for _ in range(400)]
    data = {"source": [f"{a} likes {b}" for a, b in rows], "target": [f"{a} mag {b}" for a, b in rows]}
    made = cr.fit(data, valid=data, epochs=8, lr=0.01, batch_size=16, vocab=6, **SMALL)
    [plain] = made.translate(["Ann likes Bob"], unknown=True)
    [copied] = made.translate(["Ann likes Bob"], replace_unknowns=True)
    assert "<unk>" in plain.text and "<unk>" not in copied.text
    assert set(copied.text.split()) <= {"Ann", "likes", "Bob", "mag"}


def test_drafts_and_int8_write_with_a_source(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = "one two three"
    assert main(["translate", str(folder), text, "--temperature", "0"]) == 0
    greedy = capsys.readouterr().out
    assert main(["translate", str(folder), text, "--draft", str(folder)]) == 0
    assert capsys.readouterr().out == greedy
    assert main(["translate", str(folder), text, "--int8"]) == 0
    assert capsys.readouterr().out.strip()
    assert main(["translate", str(folder), text, "--draft", str(folder), "--beam", "3"]) == 2
    assert "do not go together" in capsys.readouterr().err
    assert main(["translate", str(folder), text, "--draft", str(folder), "--bad-words", "1"]) == 2
    assert "--bad-words" in capsys.readouterr().err


def test_the_search_tree_is_told_with_log_probabilities_and_reasons(
    model: cr.Bundle, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["translate", str(folder), "one two", "--tree", "--beam", "2"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["text"] == "one two" and told["beam"] == 2
    states = {node["state"] for node in told["nodes"]}
    assert {"grew", "finished", "dropped"} <= states <= {"grew", "finished", "dropped", "open"}
    assert all(node["why"] for node in told["nodes"] if node["state"] == "dropped")
    best = next(number for number, node in enumerate(told["nodes"]) if node.get("rank") == 1)
    tree = search_tree(model, "one two", beam=2)
    said = " ".join(tree.nodes[at].symbol for at in tree.path(best)[:-1])
    assert said == model.translate(["one two"], beam=2)[0].text
    assert str(tree).count("\n") == len(tree.nodes) - 1
    with pytest.raises(ConfigError, match="--beam"):
        model.search_tree("one two", temperature=0.5)
    lm = cr.fit(["a b c"] * 20, model="ngram", codec="words")
    assert [node.symbol for node in lm.search_tree("a", beam=2).nodes if node.rank == 1] == ["(end)"]


def test_the_view_of_a_beam_draws_every_hypothesis(model: cr.Bundle, tmp_path: Path) -> None:
    view = cr.look(model, "one two", view="beam", beam=2, branches=1)
    [tree] = view["models"]
    assert len(tree["symbols"]) == len(tree["parents"]) == len(tree["states"])
    for kind in ("svg", "html", "json"):
        view.save(tmp_path / f"beam.{kind}")
    drawn = (tmp_path / "beam.svg").read_text()
    for log in tree["log_probabilities"]:
        assert f"{log:.2f}" in drawn and f"{log:.2f}" in str(view)
    assert "dropped" in str(view)
