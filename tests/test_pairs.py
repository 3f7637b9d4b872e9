"""Pairs of texts: from the columns of a table to predictions and figures, and what is refused."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import chainrule as cr
from chainrule.cli import main
from chainrule.codecs.base import Texts
from chainrule.data.corpus import Corpus
from chainrule.data.pairs import SECOND, PairBatches, joined
from chainrule.errors import ChainruleError
from chainrule.symbols import BOS, EOS, FIRST, PAD
from paired import paired

CNN: dict[str, Any] = {
    "model": "cnn",
    "embedding": 8,
    "filters": 4,
    "codec": "words",
    "lr": 0.01,
    "epochs": 1,
}


def written(path: Path, data: dict[str, list[str]], names: tuple[str, str, str]) -> Path:
    with path.open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["number", *names])
        rows.writerows([at, *row] for at, row in enumerate(zip(*data.values(), strict=True)))
    return path


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A table of pairs under names of its own, and a bag that was fitted to it on the command line."""
    place = tmp_path_factory.mktemp("pairs")
    names = ("premise", "hypothesis", "gold")
    written(place / "train.csv", paired(300, 0), names)
    written(place / "test.csv", paired(80, 1), names)
    words = ["fit", place / "train.csv", "--column", "premise", "--pair", "hypothesis", "--label", "gold"]
    assert main([str(word) for word in [*words, "-o", place / "bag", "-q"]]) == 0
    return place


def test_columns_of_pairs_are_those_of_the_card(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["evaluate", str(folder / "bag"), str(folder / "test.csv"), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["accuracy"] >= 0.95
    words = ["predict", str(folder / "bag"), "--file", str(folder / "test.csv"), "--id", "number", "--json"]
    assert main(words) == 0
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [line["id"] for line in lines] == [str(at) for at in range(80)]
    right = [line["label"] == label for line, label in zip(lines, paired(80, 1)["label"], strict=True)]
    assert np.mean(right) >= 0.95


def test_one_pair_is_predicted_on_the_command_line(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for second, label in (("a sun", "same"), ("a fog", "other")):
        assert main(["predict", str(folder / "bag"), "the sun", "--pair", second, "--json"]) == 0
        assert json.loads(capsys.readouterr().out)["label"] == label
    assert main(["predict", str(folder / "bag"), "the sun"]) != 0
    assert "TEXT --pair" in capsys.readouterr().err


def test_other_names_of_columns_can_be_given(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    other = written(folder / "other.csv", paired(40, 2), ("a", "b", "c"))
    words = ["evaluate", str(folder / "bag"), str(other)]
    assert main([*words, "--column", "a", "--pair", "b", "--label", "c", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["accuracy"] >= 0.95
    assert main(words) != 0
    assert "no column 'premise'" in capsys.readouterr().err


def test_python_takes_lists_and_tuples_and_a_blank_side_is_blank(folder: Path) -> None:
    model = cr.load(folder / "bag")
    texts, others = ["the sun", "sun", " "], ["sun", "rain", "fog"]
    found = model.predict(texts, pair=others)
    assert [one.label for one in found] == ["same", "other", None] and found[2].blank
    assert [one.label for one in model.predict(list(zip(texts, others, strict=True)))] == [
        "same",
        "other",
        None,
    ]
    assert model.predict("fog", pair="the fog")[0].label == "same"
    assert model.predict([], pair=[]) == []
    assert model.evaluate(paired(40, 3)).figures["accuracy"] >= 0.95


def test_rows_with_a_blank_side_are_left_out_and_counted() -> None:
    data = paired(60, 0)
    data["pair"][7] = " "
    model = cr.fit(data, model="bag", refit=False)
    assert any("1 rows with an empty cell" in note for note in model.card["notes"])


def test_both_texts_are_read_by_one_codec_that_knows_the_words_of_both() -> None:
    data = {"text": ["a b"] * 40, "pair": ["c d", "a e"] * 20, "label": ["x", "y"] * 20}
    model = cr.fit(data, **CNN)
    assert model.codecs["pair"] is model.codecs["text"]
    assert model.codec.encode(Texts.of(["a b c d e"])).unknown == 0


def test_numbers_of_pairs_are_predicted() -> None:
    """Of how many words two texts share: each side alone says nothing."""
    random = np.random.default_rng(0)
    words = [f"w{at}" for at in range(12)]
    rows = []
    for at in range(300):
        chosen = random.permutation(words)[:6]
        shared = at % 4
        rows.append((" ".join(chosen[:3]), " ".join([*chosen[:shared], *chosen[3 : 6 - shared]]), shared))
    data = {name: [row[at] for row in rows] for at, name in enumerate(("text", "pair", "label"))}
    model = cr.fit(data, model="bag", task="regress")
    assert model.card["figures"]["test"]["pearson"] > 0.95
    network = cr.fit(data, valid=data, task="regress", **{**CNN, "epochs": 10})
    assert network.card["figures"]["valid"]["pearson"] > 0.9


def test_a_model_of_plain_text_reads_pairs(tmp_path: Path) -> None:
    data = paired(80, 0)
    lm = cr.fit(data["text"], model="lstm", codec="words", width=8, embedding=8, epochs=1)
    model = cr.fit(data, valid=data, init_from=lm, transfer="frozen", epochs=1)
    assert model.codecs["pair"].fingerprint() == lm.codec.fingerprint()
    model.save(tmp_path / "m")
    assert cr.load(tmp_path / "m").predict([("sun", "fog")])[0].label in ("same", "other")


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({"model": "class-ngram"}, "cannot compare two"),
        ({"model": "bag", "join": "features"}, "Leave it out"),
        (
            {"model": "gpt", "context": 4, "epochs": 1, "width": 8, "heads": 2, "join": "sequence"},
            "at least 5",
        ),
    ],
)
def test_what_cannot_read_pairs_is_refused(settings: dict[str, Any], told: str) -> None:
    with pytest.raises(ChainruleError, match=told):
        cr.fit(paired(40, 0), task="classify", **settings)


def test_wrong_pairs_are_refused(folder: Path) -> None:
    model = cr.load(folder / "bag")
    with pytest.raises(ChainruleError, match="there are 2 and 1"):
        model.predict(["a", "b"], pair=["c"])
    single = cr.fit({"text": ["good", "bad"] * 20, "label": ["a", "b"] * 20}, model="bag")
    with pytest.raises(ChainruleError, match="--pair COLUMN"):
        single.predict("good", pair="bad")
    with pytest.raises(ChainruleError, match="add --pair"):
        cr.fit({"text": ["good", "bad"] * 20, "label": ["a", "b"] * 20}, join="features", **CNN)
    with pytest.raises(ChainruleError, match="no column 'nowhere'"):
        cr.fit(folder / "train.csv", column="premise", pair="nowhere", label="gold")


Lengths = st.lists(st.tuples(st.integers(1, 30), st.integers(1, 30)), min_size=1, max_size=4)


@given(Lengths, st.integers(5, 20), st.booleans())
def test_windows_of_pairs_show_every_symbol_of_one_beside_every_symbol_of_the_other(
    lengths: list[tuple[int, int]], longest: int, together: bool
) -> None:
    first, second = (corpus([one[side] for one in lengths], 100 * (side + 1)) for side in (0, 1))
    batches = PairBatches((first, second), together, np.arange(len(lengths)), 2, longest)
    seen: list[set[tuple[int, int]]] = [set() for _ in lengths]
    for window in range(len(batches.of)):
        batch = batches.at(np.array([window]))
        row = batch.tokens[0]
        own, other = row, batch.extra[SECOND][0] if SECOND in batch.extra else row
        assert len(own) <= longest and len(other) <= longest and own[0] == BOS and other[-1] == EOS
        seen[batches.of[window]] |= {
            (int(one), int(two)) for one in own[(own >= 100) & (own < 200)] for two in other[other >= 200]
        }
    for (one, two), found in zip(lengths, seen, strict=True):
        assert found == {(100 + at, 200 + to) for at in range(one) for to in range(two)}


def corpus(lengths: list[int], begin: int) -> Corpus:
    """Sequences `begin`, `begin` + 1, … each."""
    ids = [one for length in lengths for one in (BOS, *range(begin, begin + length), EOS)]
    return Corpus(np.array(ids, np.int32), len(lengths), 0)


def test_pairs_are_joined_as_bert_reads_them() -> None:
    found = joined(corpus([2, 1], 100), corpus([1, 2], 200))
    assert found.ids.tolist() == [BOS, 100, 101, EOS, 200, EOS, BOS, 100, EOS, 200, 201, EOS]
    batches = PairBatches((corpus([2, 1], 100), corpus([1, 2], 200)), True, np.arange(2), 2)
    rows = batches.at(np.array([0, 1])).tokens
    assert [row[row != PAD].tolist() for row in rows] == [found.ids[:6].tolist(), found.ids[6:].tolist()]


def test_bert_gives_the_second_text_its_own_segment() -> None:
    import torch

    from chainrule.models.bert import Bert

    body = Bert.tiny()
    tokens = torch.tensor([[BOS, FIRST, EOS, FIRST + 1, EOS]])
    before, _ = body.read(tokens, body.start(1))
    with torch.no_grad():
        body.segments.weight[1] += torch.arange(8.0)
    after, _ = body.read(tokens, body.start(1))
    assert not torch.allclose(before, after)


def test_cls_is_the_fields_word_for_the_first_vector() -> None:
    data = paired(40, 0)
    found = [
        cr.fit(data, valid=data, pooling=name, **CNN, seed=3).predict([("sun", "fog")])[0].probability
        for name in ("first", "cls")
    ]
    assert found[0] == found[1]
