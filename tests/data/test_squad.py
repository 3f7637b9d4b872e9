"""Questions about passages: SQuAD files and tables are read exactly, in parts, and what is wrong in them is said."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from chainrule.codecs.base import Texts
from chainrule.codecs.registry import codec
from chainrule.data import squad
from chainrule.data.corpus import Corpus, Part
from chainrule.data.dataset import prepare
from chainrule.data.passages import NOTHING, NULL, UNSEEN, Aligned, PassageBatches, reading
from chainrule.data.squad import Document, Question, words
from chainrule.errors import ChainruleError
from chainrule.symbols import BOS, EOS
from chainrule.tasks.span import Span

PASSAGE = "Dr. O’Neil met  李小龙 in\n1990s’ Zürich — for $5,000 (or so)."
TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=40)
CODECS = ["words", "characters", "bytes", "subwords"]


def article(*asked: dict[str, Any], context: str = PASSAGE) -> dict[str, Any]:
    return {"title": "t", "paragraphs": [{"context": context, "qas": list(asked)}]}


def aligned(rows: list[Question], name: str) -> Aligned:
    texts = {
        "question": Texts.of([one.read for one in rows]),
        "passage": Texts.of([one.passage for one in rows]),
        "answer": Texts.of([json.dumps(list(one.answers)) for one in rows]),
    }
    own = codec(name).learn(lambda: [texts["question"]], codec(name).Config())
    plain = codec("bytes").learn(list, codec("bytes").Config())
    codecs = {"question": own, "passage": plain, "answer": plain}
    return Aligned(
        Part({role: Corpus(codecs[role].encode(one).ids, len(rows), 0) for role, one in texts.items()}), own
    )


@pytest.mark.parametrize("name", CODECS)
@given(passage=TEXT, question=TEXT)
def test_every_span_of_words_is_a_part_of_the_passage(name: str, passage: str, question: str) -> None:
    asked = Question(question, passage)
    if not asked.read:
        return
    [found] = aligned([asked], name).passages
    pairs = list(zip(found.starts.tolist(), found.ends.tolist(), strict=True))
    assert [passage[start:end] for start, end in pairs] == words(passage)
    for first, last in [(0, 0), (0, len(pairs) - 1)]:
        assert found.between(first, last) in passage
        assert found.words_of(pairs[first][0], pairs[last][1]) == (first, last)


@pytest.mark.parametrize("name", CODECS)
def test_targets_are_where_the_answer_is_read(name: str) -> None:
    answers = ["李小龙", "1990", "$5,000", "O’Neil", "or so", "Zürich"]
    rows = [Question("who ?", PASSAGE, [(one, PASSAGE.index(one))]) for one in answers]
    found = aligned(rows, name)
    batch = PassageBatches(found, 3, None).batch(0, 0)
    for row, (first, last) in enumerate(found.targets.tolist()):
        assert found.passages[row].between(first, last) == answers[row]
    for tokens, (begin, end), opens, closes in zip(
        batch.tokens, batch.targets, batch.extra["opens"], batch.extra["closes"], strict=True
    ):
        assert opens[begin - NULL - 1] and closes[end - NULL - 1] and begin <= end
        assert tokens[0] == BOS and np.count_nonzero(tokens == EOS) == 2


@pytest.mark.parametrize("context", [7, 9, 16, 30, 400])
@pytest.mark.parametrize("name", CODECS)
def test_windows_hold_every_word_and_fit_the_context(name: str, context: int) -> None:
    found = aligned([Question("who met whom ?", PASSAGE)], name)
    windows = found.windows(0, context)
    seen = np.concatenate([np.arange(*window) for window in windows])
    assert set(seen.tolist()) == set(range(len(found.passages[0].starts)))
    read = reading(found, [0] * len(windows), windows, context)
    assert read.tokens.shape[1] <= context
    assert (read.opens.sum(1) == [after - first for first, after in windows]).all()
    whole = all(np.diff(found.passages[0].places) <= (context - 3) // 2)
    assert not whole or (read.closes.sum(1) == read.opens.sum(1)).all()


def test_an_answer_outside_the_window_is_no_answer() -> None:
    rows = [Question("who ?", "a b c d e f g h i j k l m n o p", [("p", 30)])]
    batches = PassageBatches(aligned(rows, "words"), 1, 10)
    drawn = {tuple(batches.batch(epoch, 0).targets[0].tolist()) for epoch in range(20)}
    assert (NULL, NULL) in drawn and len(drawn) == 2


def test_squad_files_of_both_versions_are_read(tmp_path: Path) -> None:
    right = {"text": "Zürich", "answer_start": PASSAGE.index("Zürich")}
    wrong = {"text": "Zürich", "answer_start": 3}
    document = {
        "data": [
            article({"id": "1", "question": "Where?", "answers": [right, right]}),
            article({"id": "2", "question": "Why?", "answers": [], "is_impossible": True}),
            article({"id": "3", "question": "When?", "answers": [wrong]}),
            article(
                {"id": "4", "question": "Who?", "answers": [right], "is_impossible": True},
                context="other text",
            ),
        ],
        "version": "v2.0",
    }
    path = tmp_path / "dev.json.gz"
    path.write_bytes(gzip.compress(json.dumps(document).encode()))
    ready = prepare(str(path), str(path), roles=Span().roles())
    found = Aligned(ready.train, ready.codecs["question"])
    assert found.answers == [[("Zürich", 30), ("Zürich", 30)], [], [("Zürich", -1)], []]
    assert found.targets[1:].tolist() == [[NOTHING] * 2, [UNSEEN] * 2, [NOTHING] * 2]
    assert len(PassageBatches(found, 1, None)) == 3, "nothing is learnt from the wrong one"
    assert any("1 answers do not stand" in note for note in ready.notes)


def test_a_table_gives_the_first_place_and_an_empty_cell_means_no_answer(tmp_path: Path) -> None:
    path = tmp_path / "qa.csv"
    path.write_text('q,context,answer\nwho ?,"x y x, y",y\nwhy ?,x y,\nhow ?,x y,z\n,x y,x\n')
    options = {"question": "q", "passage.column": "context"}
    ready = prepare(str(path), str(path), roles=Span().roles(), options=options)
    found = Aligned(ready.train, ready.codecs["question"])
    assert found.answers == [[("y", 2)], [], [("z", -1)]]
    assert ready.train.skipped == 1, "a row without a question is left out"


def test_questions_about_one_passage_stay_in_one_part() -> None:
    passages = [f"text {number} is here ." for number in range(40) for _ in range(5)]
    questions = [f"which text , {number} ?" for number in range(200)]
    data = {"question": questions, "passage": passages, "answer": ["here"] * 200}
    ready = prepare(data, roles=Span().roles())
    assert ready.valid is not None and ready.test is not None
    parts = [
        {one.text for one in Aligned(part, ready.codecs["question"]).passages}
        for part in (ready.train, ready.valid, ready.test)
    ]
    assert sum(map(len, parts)) == 40 and all(parts)


@given(st.integers(1, 40), st.integers(0, 10_000))
def test_a_document_in_pieces_of_any_size_is_the_same(size: int, seed: int) -> None:
    value = {"version": 1.1, "data": [{"a": [1, 'x\\"y', None]}, 12, "é"], "more": {"z": seed}}
    text = json.dumps(value, indent=seed % 3, ensure_ascii=False)
    parts = iter([text[at : at + size] for at in range(0, len(text), size)])
    assert list(squad._articles(Document("d", parts))) == value["data"]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("[]", "no JSON document"),
        ('{"data": [{"paragraphs": []}', "no JSON document"),
        ('{"data": [', "no JSON document"),
        ('{"x": 1}', "has no 'data'"),
        ('{"data": [3]}', "no 'paragraphs'"),
        ('{"data": [{"paragraphs": [{"context": 1, "qas": []}]}]}', "no 'context'"),
        ('{"data": [{"paragraphs": [{"context": "x", "qas": [{"question": "y"}]}]}]}', "no 'answers'"),
        ('{"data": ' + "[" * 100_000, "no JSON document"),
    ],
)
def test_what_is_no_squad_is_said_with_what_is_expected(tmp_path: Path, text: str, reason: str) -> None:
    path = tmp_path / "dev.json"
    path.write_text(text)
    with pytest.raises(ChainruleError, match=reason):
        prepare(str(path), roles=Span().roles())


def test_one_article_is_held_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    one = json.dumps(article(context="word " * 1_000))
    text = '{"data": [' + ", ".join([one] * 50) + "]}"

    def document() -> Document:
        return Document("d", iter([text[at : at + 500] for at in range(0, len(text), 500)]))

    held, whole = [], document()
    for _ in squad._articles(whole):
        held.append(len(whole.text))
    assert len(held) == 50 and max(held) < 4 * len(one)
    monkeypatch.setattr(squad, "LARGEST", len(one) // 2)
    with pytest.raises(ChainruleError, match="larger than"):
        list(squad._articles(document()))
