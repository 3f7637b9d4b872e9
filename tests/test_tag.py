"""Tagging, from data of every kind to tags and figures."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import chainrule as cr
from chainrule.bundle import Bundle
from chainrule.chunks import legal
from chainrule.cli import main
from chainrule.data.conll import MARK
from chainrule.errors import ChainruleError
from tagged import Tagged, columns, conll, tagged

SMALL: dict[str, Any] = {
    "width": 16,
    "embedding": 16,
    "lr": 0.02,
    "batch_size": 16,
    "epochs": 20,
    "dropout": 0.1,
    "letters": "none",
}
FLAGS = [word for name, one in SMALL.items() for word in (f"--{name.replace('_', '-')}", str(one))]
TRAIN, DEV = tagged(150, 0), tagged(40, 1)
LETTERS = {"letters": "cnn", "letter_width": 8, "letter_embedding": 4, "word_length": 10}


def fit(rows: list[Tagged] = TRAIN, **settings: Any) -> Bundle:
    given = SMALL | settings if settings.get("model", "lstm") == "lstm" else settings
    return cr.fit(columns(rows), valid=columns(DEV), task="tag", **given)


@pytest.fixture(scope="module")
def chain() -> Bundle:
    return fit(crf=True, epochs=40, **LETTERS)


def test_a_tagger_learns_and_says_what_it_is(chain: Bundle) -> None:
    figures = chain.card["figures"]["valid"]
    assert figures["f1"] >= 0.95 and figures["accuracy"] >= 0.95
    [one] = chain.predict(["Anna Smith likes Rome"])
    assert (
        one.tags == ["B-PER", "I-PER", "O", "B-LOC"]
        and one.to_dict()["tokens"] == "Anna Smith likes Rome".split()
    )
    assert len(one.to_dict()["probabilities"]) == 4 and min(one.to_dict()["probabilities"]) > 0.5
    [top] = chain.predict(["Anna"], top=2)
    assert next(iter(top.to_dict()["choices"][0])) == "B-PER" and len(top.to_dict()["choices"][0]) == 2


def test_no_illegal_tags_are_predicted_even_by_an_untrained_model() -> None:
    for crf in (False, True):
        model = cr.fit(
            columns(TRAIN),
            valid=columns(DEV),
            task="tag",
            model="lstm",
            crf=crf,
            **SMALL | {"epochs": 0.1, "lr": 0.0},
        )
        names = model.codecs["label"].tokens(range(5, model.codecs["label"].size))
        follows, first, _ = legal(names)  # type: ignore[misc]
        rng = np.random.default_rng(0)
        texts = [" ".join(rng.choice(["Anna", "Smith", "City", "x", "in"], 12)) for _ in range(30)]
        for one in model.predict(texts):
            ids = [names.index(tag) for tag in one.tags or ()]
            assert first[ids[0]] and all(follows[a, b] for a, b in pairwise(ids))


@pytest.mark.parametrize(
    "settings",
    [
        {**LETTERS, "letters": "lstm", "epochs": 40},
        {"codec": "characters", "epochs": 30},
        {"codec": "subwords", "vocab": 300},
        {"model": "gru", **SMALL, "head_layers": 2, "head_units": 8},
        {"model": "cnn", "embedding": 16, "filters": 8, "lr": 0.03, "epochs": 30},
        {"model": "bert", "width": 16, "heads": 2, "layers": 1, "context": 12, "lr": 0.02, "epochs": 20},
        {"model": "gpt", "width": 16, "heads": 2, "layers": 1, "context": 12, "lr": 0.02, "epochs": 20},
        {"model": "most-frequent-tag"},
    ],
    ids=lambda one: "-".join(map(str, list(one.values())[:2])),
)
def test_every_body_and_codec_tags(settings: dict[str, Any]) -> None:
    model = fit(**settings)
    assert model.card["figures"]["valid"]["accuracy"] >= 0.9
    [one] = model.predict(["in Bob likes Oslo City"])
    assert list(one.tags or ()) == ["O", "B-PER", "O", "B-LOC", "I-LOC"]


def test_a_model_of_plain_text_is_the_body_of_a_tagger() -> None:
    texts = [" ".join(words) for words, _ in TRAIN]
    lm = cr.fit(texts, model="lstm", codec="words", width=16, embedding=16, epochs=2)
    for way in ("frozen", "tuned", "fresh"):
        found = cr.fit(
            columns(TRAIN),
            valid=columns(DEV),
            task="tag",
            init_from=lm,
            transfer=way,
            epochs=20,
            lr=0.02,
            batch_size=16,
        )
        assert found.card["figures"]["valid"]["accuracy"] > 0.55 and found.card["transfer"]["way"] == way


def test_a_long_sentence_is_read_in_windows_and_said() -> None:
    model = fit(model="bert", width=16, heads=2, layers=1, context=12, lr=0.02, epochs=20)
    words, tags = ([one for row in DEV for one in row[side]] for side in (0, 1))
    found = model.evaluate({"text": [words], "label": [tags]})
    assert found.figures["accuracy"] > 0.9 and "overlapping windows" in found.judged.notes[0]


def test_conll_files_of_every_kind_give_the_same_sentences(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = tagged(60, 3)
    iob1 = [
        (
            words,
            [
                f"I-{tag[2:]}" if tag[0] == "B" and (at == 0 or tags[at - 1][2:] != tag[2:]) else tag
                for at, tag in enumerate(tags)
            ],
        )
        for words, tags in rows
    ]
    four = "-DOCSTART- -X- -X- O\n\n" + "\n".join(
        "".join(f"{word} NN I-NP {tag}\n" for word, tag in zip(*row, strict=True)) for row in iob1
    )
    files = {
        "plain.conll": conll(rows),
        "tab.txt": conll(rows, "\t"),
        "wikiann.txt": conll(rows, "\t", "en:"),
        "conll2003.txt": four,
        "words.csv": "text,label\n"
        + "".join(f"{' '.join(words)},{' '.join(tags)}\n" for words, tags in rows),
        "lists.jsonl": "".join(json.dumps({"text": words, "label": tags}) + "\n" for words, tags in rows),
    }
    found = {}
    for name, text in files.items():
        (tmp_path / name).write_text(text)
        model = cr.fit(str(tmp_path / name), task="tag", model="most-frequent-tag", valid=columns(DEV))
        found[name] = (
            model.body.logs.tolist(),
            model.codecs["label"].fingerprint(),
            model.codec.fingerprint(),
        )  # type: ignore[attr-defined]
        notes = " ".join(model.card["notes"])
        assert ("DOCSTART- were skipped" in notes) == ("IOB1" in notes) == (name == "conll2003.txt")
        assert ("'en:' was removed" in notes) == (name == "wikiann.txt")
        assert "words, label" not in notes, "columns are those of the user"
        evaluated = model.evaluate(str(tmp_path / name))
        assert evaluated.judged.examples == 60
        assert len(list(model.predict_each(str(tmp_path / name)))) == 60
    assert all(one == found["plain.conll"] for one in found.values())


CONLLU = """# a comment
1-2\tdon't\t_\t_\t_\t_\t_\t_\t_\t_
1\tdo\tdo\tAUX\t_\t_\t0\troot\t_\t_
2\tn't\tnot\tPART\t_\t_\t1\tx\t_\t_
3\tgo\tgo\tVERB\t_\t_\t1\tx\t_\t_
3.1\tthere\tthere\tADV\t_\t_\t_\t_\t_\t_

"""


def test_conllu_on_the_command_line_as_scripts_use_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "train.conllu").write_text(CONLLU * 30)
    data, out = str(tmp_path / "train.conllu"), str(tmp_path / "out")
    words = [
        "fit",
        data,
        "--task",
        "tag",
        "--column",
        "FORM",
        "--label",
        "UPOS",
        "--valid",
        data,
        "--model",
        "lstm",
    ]
    assert main([*words, *FLAGS, "-o", out, "--json", "-q"]) == 0
    assert json.loads(capsys.readouterr().out)["valid"]["accuracy"] == 1.0
    assert main(["predict", out, "do n't stop"]) == 0
    assert "PART" in capsys.readouterr().out
    assert main(["predict", out, "--file", data, "--json"]) == 0
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert len(lines) == 30 and lines[0]["row"] == 1 and lines[0]["tokens"] == ["do", "n't", "go"]
    assert lines[0]["tags"] == ["AUX", "PART", "VERB"] and len(lines[0]["probabilities"]) == 3
    assert main(["evaluate", out, data, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["accuracy"] == found["f1"] == 1.0 and found["words"] == 90


def test_the_task_is_guessed_and_said(tmp_path: Path) -> None:
    (tmp_path / "some.conllu").write_text(CONLLU * 9)
    (tmp_path / "some.txt").write_text(conll(TRAIN))
    for data, label in ((tmp_path / "some.conllu", "UPOS"), (tmp_path / "some.txt", "2")):
        model = cr.fit(str(data), label=label, model="most-frequent-tag", valid=str(data))
        assert model.task.name == "tag"
    assert cr.fit(columns(TRAIN), model="most-frequent-tag").task.name == "tag"
    assert (
        cr.fit(
            {"text": ["a b"] * 9, "label": ["good film"] * 9 + []}, model="majority", task="classify"
        ).task.name
        == "classify"
    )


def test_the_marked_predicate_decides(tmp_path: Path) -> None:
    """The same sentence with two predicates has other arguments."""
    names = ["Ann", "Bob", "Cid", "Dan", "Eve"]
    lines = []
    for at in range(60):
        a, b, c = names[at % 5], names[(at + 1 + at // 5) % 5], names[(at + 3) % 5]
        words = [a, "saw", b, "and", "then", b, "left", c]
        one = ["(A0*)", "(V*)", "(A1*)", "*", "*", "*", "*", "*"]
        two = ["*", "*", "*", "*", "*", "(A0*)", "(V*)", "(A1*)"]
        lemmas = ["-", "see", "-", "-", "-", "-", "leave", "-"]
        lines += ["\t".join(cells) for cells in zip(words, lemmas, one, two, strict=True)] + [""]
    lines += ["Hello\t-", ""]
    (tmp_path / "srl.txt").write_text("\n".join(lines))
    data = str(tmp_path / "srl.txt")
    model = cr.fit(data, task="tag", label="SRL", model="lstm", valid=data, crf=True, **SMALL)
    assert model.card["figures"]["valid"]["f1"] == 1.0 and any(
        "no predicate" in one for one in model.card["notes"]
    )
    sentence = "Ann saw Bob and then Bob left Cid"
    first, second = model.predict(
        [sentence.replace("saw", f"{MARK} saw"), sentence.replace("left", f"{MARK} left")]
    )
    assert first.tags == ["B-A0", "B-V", "B-A1", "O", "O", "O", "O", "O"]
    assert second.tags == ["O", "O", "O", "O", "O", "B-A0", "B-V", "B-A1"]
    assert first.to_dict()["tokens"] == sentence.split()


def test_what_does_not_fit_is_told(tmp_path: Path) -> None:
    for data, told in (
        ({"text": ["a b", "c d"], "label": ["X Y", "X"]}, "row 2: 2 words and 1 tags"),
        ({"text": [["", "a"]], "label": [["X", "Y"]]}, "word 1 is empty"),
        ({"text": [["a\nb", "a"]], "label": [["X", "Y"]]}, "holds a line break"),
        ({"text": [["a", "b"]], "label": [["X", "Y Z"]]}, "'Y Z' is no tag"),
        ("a\tX\nb\t\n\n", "line 1: '' is no tag"),
        ("a\tX\nb\tY\x1fZ\n\n", "line 1: .* is no tag"),
        ("a X\nb\n\n", "line 2: 1 columns where the sentence has 2"),
        ("a\nb\n\n", "a word and its tag are wanted"),
    ):
        if isinstance(data, str):
            (tmp_path / "wrong.txt").write_text(data)
        with pytest.raises(ChainruleError, match=told):
            cr.fit(
                str(tmp_path / "wrong.txt") if isinstance(data, str) else data,
                task="tag",
                model="most-frequent-tag",
            )
    with pytest.raises(ChainruleError, match="--letters is for tasks that predict no symbols"):
        cr.fit(["a b c"] * 9, model="lstm", letters="cnn", epochs=1, width=8)


def test_blank_sentences_unseen_tags_and_a_single_tag_are_handled() -> None:
    model = cr.fit(
        {"text": ["a b", " ", "b"] * 9, "label": ["X X", "", "X"] * 9}, task="tag", model="most-frequent-tag"
    )
    assert any("empty cell" in note for note in model.card["notes"])
    blank, full = model.predict(["", "a zebra"])
    assert blank.blank and blank.to_dict()["tags"] == [] and full.tags == ["X", "X"]
    found = model.evaluate({"text": ["a b"], "label": ["X Y"]})
    assert found.figures["accuracy"] == 0.5 and found.to_dict()["unseen_tags"] == 1
    some, none = (model.evaluate({"text": [text], "label": ["X X"]}).figures for text in ("b zebra", "c d"))
    assert some["known_accuracy"] == 1.0 and "known_accuracy" not in none and "unknown_accuracy" not in none


def test_a_saved_tagger_gives_the_same_numbers_and_unknown_words_keep_their_letters(
    chain: Bundle, tmp_path: Path
) -> None:
    chain.save(tmp_path / "saved")
    again = cr.load(tmp_path / "saved", verify=True)
    texts = [" ".join(words) for words, _ in DEV]
    assert [one.to_dict() for one in again.predict(texts)] == [one.to_dict() for one in chain.predict(texts)]
    one, two = chain.predict(["in zebra", "in Annab"])
    assert one.to_dict()["probabilities"] != two.to_dict()["probabilities"], "unknown words are told apart"
