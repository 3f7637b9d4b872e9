"""Several columns: rows stay together, whatever the cells hold and wherever they come from."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pyarrow
import pyarrow.parquet
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chainrule.codecs.base import Texts
from chainrule.data import rows as row_blocks
from chainrule.data import tables
from chainrule.data.corpus import Corpus, Part
from chainrule.data.dataset import Dataset, Prepared, open_data, prepare, read_part
from chainrule.data.roles import Role
from chainrule.errors import ConfigError, DataError
from chainrule.models.ngram import NgramConfig
from chainrule.symbols import BOS, EOS, UNK

TWO = (Role("text", codec="characters"), Role("label", codec="events"))
PAIR = (Role("source", codec="characters"), Role("target", codec="characters"))
EASY = [(f"text {number}", f"label {number % 3}") for number in range(200)]

cells = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0\x1e\x1f"), max_size=12)
cells |= st.text("ab \t\r\n\u00a0\"',;|", max_size=6)
words = st.text(st.characters(exclude_categories=["Cs", "Cc", "Zs", "Zl", "Zp"]), min_size=1, max_size=6)
lines = st.lists(words, max_size=3).map(
    " ".join
)  # no line end inside: what can stand in a line of a text file
tables_of_two = st.lists(st.tuples(cells, cells), min_size=1, max_size=30)


def written(rows: Sequence[Sequence[str]], folder: Path, names: Sequence[str] = ("text", "label")) -> Path:
    path = folder / "a.csv"
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([names, *rows])
    return path


def parts_of(data: Dataset) -> list[list[tuple[bytes, ...]]]:
    """The rows of train, valid and test."""
    found = (data.train, data.valid, data.test)
    return [list(zip(*map(sequences, part.values()), strict=True)) if part else [] for part in found]


def sequences(blocks: Any) -> Iterator[bytes]:
    for texts in blocks():
        yield from texts


def filled(rows: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
    """The rows in which no cell is blank; white space around a label means nothing."""
    return [(text, label.strip()) for text, label in rows if text.strip(" \t\n\r\v\f") and label.strip()]


@settings(deadline=None, max_examples=60)
@given(tables_of_two)
def test_every_row_of_a_table_is_in_one_part_with_all_its_cells(rows: list[tuple[str, str]]) -> None:
    with TemporaryDirectory() as folder:
        path = written(rows, Path(folder))
        kept = filled(rows)
        if not kept:
            with pytest.raises(DataError, match="no row in which text and label are all filled"):
                open_data(path, roles=TWO)
            return
        found = sorted(row for part in parts_of(open_data(path, roles=TWO)) for row in part)
    assert found == sorted((text.encode(), label.encode()) for text, label in kept)


@settings(deadline=None, max_examples=60)
@given(st.lists(st.tuples(lines, lines), min_size=1, max_size=40))
def test_parallel_files_are_the_same_as_a_table(rows: list[tuple[str, str]]) -> None:
    if not filled(rows):
        return
    with TemporaryDirectory() as name:
        folder = Path(name)
        table = written(rows, folder, ("source", "target"))
        files = {role: folder / role for role in ("source", "target")}
        for place, path in enumerate(files.values()):
            path.write_text("".join(row[place] + "\n" for row in rows), encoding="utf-8")
        lists = {"source": [row[0] for row in rows], "target": [row[1] for row in rows]}
        found = [parts_of(open_data(data, roles=PAIR)) for data in (table, files, lists)]
        skipped = {prepare(data, roles=PAIR).skipped for data in (table, files, lists)}
    assert found[0] == found[1] == found[2]
    assert skipped == {len(rows) - len(filled(rows))}


@settings(deadline=None, max_examples=60)
@given(tables_of_two, st.randoms(use_true_random=False))
def test_the_same_rows_give_the_same_parts_and_copies_stay_together(
    rows: list[tuple[str, str]], random: Any
) -> None:
    if not filled(rows):
        return
    again = [*rows, *rows]
    random.shuffle(again)
    with TemporaryDirectory() as folder:
        first = parts_of(open_data(written(rows, Path(folder)), roles=TWO))
        second = parts_of(open_data(written(again, Path(folder)), roles=TWO))
    assert [set(part) for part in first] == [set(part) for part in second]
    texts = [{text for text, _ in part} for part in first]
    assert not texts[0] & texts[1] and not texts[0] & texts[2] and not texts[1] & texts[2]


@pytest.mark.parametrize("kind", ["csv", "tsv", "jsonl", "parquet"])
def test_every_format_of_tables_gives_the_same_rows(tmp_path: Path, kind: str) -> None:
    rows = [('he said "so"\nand left', "good, mostly"), ("ä\u2028b", "bad"), ("", "good"), ("c", " ")]
    path = tmp_path / f"a.{kind}"
    if kind == "jsonl":
        path.write_text("".join(json.dumps({"label": b, "text": a}) + "\n" for a, b in rows), "utf-8")
    elif kind == "parquet":
        columns = {"text": [a for a, _ in rows], "label": [b for _, b in rows]}
        pyarrow.parquet.write_table(pyarrow.table(columns), path)
    else:
        out = io.StringIO()
        csv.writer(out, delimiter="," if kind == "csv" else "\t").writerows([("text", "label"), *rows])
        path.write_text(out.getvalue(), "utf-8", newline="")
    data = open_data(path, path, roles=TWO)
    assert parts_of(data)[0] == [(a.encode(), b.encode()) for a, b in rows[:2]]
    assert prepare(path, path, roles=TWO).train.skipped == 2


def test_words_and_tags_of_conllu_have_equal_lengths(tmp_path: Path) -> None:
    path = tmp_path / "a.conllu"
    rest = "\t_" * 5 + "\n"
    path.write_text(
        f"# text = im Haus\n1-2\tim\t_\t_\t_{rest}1\tin\tin\tADP\t_{rest}2\tdem\tder\tDET\t_{rest}"
        f"3\tHaus\tHaus\tNOUN\t_{rest}\n1\ta b\t_\tX\t_{rest}",
        encoding="utf-8",
    )
    roles = [Role("text", codec="words"), Role("tags", column="upos", codec="words")]
    found = parts_of(open_data(path, path, roles=roles))[0]
    assert found == [(b"in dem Haus", b"ADP DET NOUN"), ("a\u00a0b".encode(), b"X")]
    ready = prepare(path, path, roles=roles)
    np.testing.assert_array_equal(ready.train["text"].lengths, ready.train["tags"].lengths)


def test_lists_are_symbols_of_their_role(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    rows = [{"text": ["New York", "is"], "tags": ["B LOC", "O"]}, {"text": ["here"], "tags": ["O"]}]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    roles = [Role("text", codec="events"), Role("tags", codec="events")]
    ready = prepare(path, path, roles=roles)
    assert ready.train["text"].lengths.tolist() == ready.train["tags"].lengths.tolist() == [2, 1]
    assert ready.codecs["tags"].tokens(ready.train["tags"].ids[1:3]) == ["B LOC", "O"]


LABELS = ["very good", "a, b; c", "two\nlines", 'quo"ted', "bad"]


def test_events_are_codec_enough_for_labels(tmp_path: Path) -> None:
    path = written([(f"text {number}", LABELS[number % 5]) for number in range(100)], tmp_path)
    ready = prepare(path, roles=TWO)
    assert set(ready.train["label"].lengths.tolist()) == {1}
    assert sorted(ready.codecs["label"].tokens(range(5, ready.codecs["label"].size))) == sorted(LABELS)
    folder = tmp_path / "codec"
    folder.mkdir()
    ready.codecs["label"].save(folder)
    loaded = type(ready.codecs["label"]).load(folder, ready.codecs["label"].config)
    assert loaded.tokens(range(loaded.size)) == ready.codecs["label"].tokens(range(loaded.size))


def test_sequence_i_of_every_role_belongs_to_example_i(tmp_path: Path) -> None:
    ready = prepare(written(EASY, tmp_path), roles=TWO)
    assert (ready.train.examples, ready.data.main) == (160, "text")
    for part in (ready.train, ready.valid, ready.test):
        assert part is not None
        texts, labels = ([decoded(ready, part, role, row) for row in range(part.examples)] for role in part)
        assert all(dict(EASY)[text] == label for text, label in zip(texts, labels, strict=True))


def decoded(ready: Prepared, part: Part, role: str, row: int) -> str:
    corpus = part[role]
    start = corpus.starts[row]
    return ready.codecs[role].decode(corpus.ids[start : start + corpus.lengths[row] + 1])


def test_a_role_that_may_be_empty_keeps_its_rows() -> None:
    data = {"text": ["a b", "c", " "], "pair": ["x", "", "y"]}
    strict = prepare(data, data, codec="characters")
    assert strict.train.examples == 1 and strict.train.skipped == 2
    kept = prepare(data, data, codec="characters", roles=[Role("text"), Role("pair", empty=True)])
    assert kept.train.examples == 2 and kept.train.skipped == 1
    assert kept.train["pair"].ids.tolist()[-2:] == [BOS, EOS] and kept.train["pair"].lengths.tolist() == [
        1,
        0,
    ]


def test_parallel_files_of_unequal_length_are_refused_with_both_counts(tmp_path: Path) -> None:
    for name, count in (("a.en", 2000), ("a.de", 1999)):
        (tmp_path / name).write_text("line\n" * count)
    with pytest.raises(DataError, match=r"a\.en \(source\) has 2,000, .*a\.de \(target\) has 1,999"):
        prepare({"source": tmp_path / "a.en", "target": tmp_path / "a.de"}, codec="words")


def test_blocks_of_unequal_size_are_put_side_by_side(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("chainrule.data.streams.CHUNK", 64)
    sources = [f"{'long ' * (number % 40)}{number}" for number in range(500)]
    (tmp_path / "a").write_text("\n".join(sources), encoding="utf-8")
    (tmp_path / "b").write_text("\r\n".join(str(number) for number in range(500)), encoding="utf-8")
    given = {"source": tmp_path / "a", "target": tmp_path / "b"}
    found = parts_of(open_data(given, given, codec="words"))[0]
    assert found == [(source.encode(), source.split()[-1].encode()) for source in sources]


@pytest.mark.parametrize("little", [0, row_blocks.LITTLE])
def test_large_rows_stream_and_come_from_the_cache(
    tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch, little: int
) -> None:
    expected = prepare(written(EASY, tmp_path), roles=TWO)
    monkeypatch.setattr(row_blocks, "LITTLE", little)
    monkeypatch.setattr("chainrule.data.splits.LITTLE", little)
    monkeypatch.setattr(tables, "BLOCK", 100)
    monkeypatch.setattr("chainrule.data.corpus.SMALL", 1)
    for _ in range(2):
        found = prepare(written(EASY, tmp_path), roles=TWO)
        for role in ("text", "label"):
            assert isinstance(found.train[role].ids, np.memmap)
            np.testing.assert_array_equal(found.train[role].ids, expected.train[role].ids)
        assert len(list(cache.glob("*.ids"))) == 6  # two roles of three parts


def test_a_small_table_is_parsed_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    passes = []
    parse = tables.csv_cells
    monkeypatch.setattr(tables, "csv_cells", lambda *given: passes.append(1) or parse(*given))
    prepare(written(EASY, tmp_path), roles=TWO)
    assert len(passes) == 1


def test_options_are_for_the_main_role_and_for_those_that_leave_their_codec_open(tmp_path: Path) -> None:
    path = written(EASY, tmp_path)
    labelled = prepare(path, roles=[Role("text"), Role("label", codec="events")], options={"vocab": 2})
    assert labelled.codec.size == 7 and labelled.codecs["label"].size == 8
    both = prepare(path, roles=[Role("text"), Role("label")], codec="words", options={"vocab": 2})
    assert {codec.size for codec in both.codecs.values()} == {7}
    own = Role("label", codec="words", settings={"vocab": "1"})
    assert prepare(path, roles=[Role("text"), own], options={"vocab": 2}).codecs["label"].size == 6
    grouped = prepare(path, roles=[Role("text"), Role("label")], options={"label": {"codec": "events"}})
    assert grouped.codecs["label"].name == "events" and grouped.data.roles["label"].codec == "events"
    dotted = prepare(path, roles=[Role("text"), Role("label")], options={"label.codec": "events", "vocab": 2})
    assert dotted.codecs["label"].size == 8


def test_the_column_option_names_that_of_the_main_role(tmp_path: Path) -> None:
    path = written(EASY, tmp_path, ("review", "stars"))
    roles = [Role("text"), Role("label", column="stars", codec="events")]
    assert prepare(path, roles=roles, options={"column": "review"}).train.examples == 160
    with pytest.raises(DataError, match=r"no column 'label'. The columns are: review, stars"):
        prepare(path, roles=[Role("text", column="review"), Role("label")])


def test_settings_of_others_are_allowed_and_unknown_ones_refused(tmp_path: Path) -> None:
    path = written(EASY, tmp_path)
    assert prepare(path, roles=TWO, options={"order": 3}, allowed=[NgramConfig])
    with pytest.raises(ConfigError, match=r"no option 'vocabb' .*Did you mean 'vocab'"):
        prepare(tmp_path / "missing", roles=TWO, options={"vocabb": 3})
    with pytest.raises(ConfigError, match="no setting 'vocabb'"):
        prepare(tmp_path / "missing", roles=TWO, options={"label": {"vocabb": 3}})
    with pytest.raises(ConfigError, match="label is a column, or a group"):
        prepare(path, roles=TWO, options={"label": 3})
    with pytest.raises(ConfigError, match="The codec of text is characters here, and cannot be words"):
        prepare(path, roles=TWO, codec="words")


def test_what_several_columns_cannot_be_is_said(tmp_path: Path) -> None:
    table, text = written(EASY, tmp_path), tmp_path / "a.txt"
    text.write_text("a\nb\n")
    with pytest.raises(ConfigError, match=r"--stream .*possible with one column only; text and label are 2"):
        prepare(table, roles=TWO, options={"stream": True})
    with pytest.raises(DataError, match=r"a\.txt says no labels"):
        prepare(text, roles=TWO)
    with pytest.raises(DataError, match="the given strings: text has one column"):
        prepare(["a", "b"], roles=TWO)
    with pytest.raises(ConfigError, match="given for source and label, and wanted are text and label"):
        prepare({"source": text, "label": text}, roles=TWO)
    with pytest.raises(ConfigError, match="a name of its own, not text, text"):
        prepare(table, roles=[Role("text"), Role("text")])


def test_one_role_in_a_mapping_is_the_data_alone(tmp_path: Path) -> None:
    texts = [text for text, _ in EASY]
    alone, named = prepare(texts), prepare({"text": texts})
    np.testing.assert_array_equal(alone.train.main.ids, named.train["text"].ids)


def test_the_text_of_rows_is_divided_like_the_text_alone(tmp_path: Path) -> None:
    path = written(EASY, tmp_path)
    alone, rows = prepare(path, codec="words"), prepare(path, roles=TWO)
    for part, other in ((alone.train, rows.train), (alone.valid, rows.valid), (alone.test, rows.test)):
        assert part and other and part.main.sequences == other.examples


def test_parts_are_read_with_codecs_that_exist(tmp_path: Path) -> None:
    ready = prepare(written(EASY, tmp_path), roles=TWO)
    part = read_part({"text": ["text 7", "zzz"], "label": ["label 1", "label 9"]}, ready.codecs)
    assert part.examples == 2 and part["label"].unknown == 1 and part["label"].ids[4] == UNK
    assert decoded(ready, part, "text", 0) == "text 7"


def test_valid_and_test_are_given_like_the_training_data(tmp_path: Path) -> None:
    table = written(EASY, tmp_path)
    lists = {"text": ["text 1", "text 2"], "label": ["label 1", "label 2"]}
    ready = prepare(
        table, lists, {"text": table, "label": table}, roles=[Role("text"), Role("label", column="label")]
    )
    assert ready.valid and ready.test
    assert (ready.train.examples, ready.valid.examples, ready.test.examples) == (200, 2, 200)


def test_examples_are_selected_whole() -> None:
    def corpus(*rows: list[int]) -> Corpus:
        ids = np.concatenate([[BOS, *row, EOS] for row in rows]).astype(np.int32)
        return Corpus(ids, len(rows), 30)

    part = Part({"text": corpus([5, 6], [], [7]), "label": corpus([8], [9], [10])})
    some = part.select(np.array([2, 1]))
    assert some["text"].ids.tolist() == [BOS, 7, EOS, BOS, EOS]
    assert some["label"].ids.tolist() == [BOS, 10, EOS, BOS, 9, EOS]
    assert some.examples == 2 and some["text"].bytes == 20
    with pytest.raises(ValueError, match="equally many"):
        Part({"text": corpus([5]), "label": corpus([5], [6])})


def test_a_blank_cell_is_one_of_white_space() -> None:
    found = row_blocks.trimmed(Texts.of([" a ", "\t\r\n", "", "\u00a0", "\x1f"]))
    assert [text.decode() for text in found] == ["a", "", "", "\u00a0", ""]
