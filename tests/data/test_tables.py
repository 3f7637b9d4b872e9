"""Columns of tables, and sentences of CoNLL-U."""

from __future__ import annotations

import gzip
import io
import sqlite3
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow
import pyarrow.parquet
import pytest

from chainrule.codecs.base import UNIT
from chainrule.data import lines
from chainrule.data.dataset import prepare
from chainrule.data.order import position
from chainrule.data.sources import ReadConfig, read
from chainrule.errors import ConfigError, DataError

CSV = 'id,text,when\n1,"hello, you",2\n2,"two\nlines",1\n1,third,1\n'


def items(path: Path, **options: object) -> list[str]:
    found = [sequence for texts in read(path, ReadConfig.from_values(options))() for sequence in texts]
    return [sequence.decode() for sequence in found]


def file(folder: Path, content: str, name: str) -> Path:
    path = folder / name
    path.write_text(content, encoding="utf-8", newline="")
    return path


def test_a_column_of_a_csv_gives_one_sequence_a_row(tmp_path: Path) -> None:
    path = file(tmp_path, CSV, "a.csv")
    assert items(path) == items(path, column="text") == ["hello, you", "two\nlines", "third"]


def test_a_missing_column_lists_those_there_are(tmp_path: Path) -> None:
    path = file(tmp_path, CSV, "a.csv")
    with pytest.raises(DataError, match=r"no column 'txt'. Did you mean 'text'.*id, text, when"):
        items(path, column="txt")
    with pytest.raises(DataError, match=r"several columns.*--column: x, y"):
        items(file(tmp_path, "x,y\n1,2\n", "b.csv"))


def test_columns_are_listed_once(tmp_path: Path) -> None:
    with pytest.raises(DataError) as caught:
        items(file(tmp_path, CSV, "a.csv"), column="nope")
    assert str(caught.value).endswith("there is no column 'nope'. The columns are: id, text, when.")


@pytest.mark.parametrize("mark", [",", ";", "\t", "|"])
@pytest.mark.parametrize("suffix", ["csv", "tsv"])
def test_the_delimiter_is_found_in_the_first_line(tmp_path: Path, mark: str, suffix: str) -> None:
    path = file(tmp_path, f'\n"a, b; c"{mark}text\n1{mark}x y\n2{mark}"z{mark}"\n', f"a.{suffix}")
    assert items(path) == ["x y", f"z{mark}"]
    usual = {"csv": ",", "tsv": "\t"}[suffix] == mark
    assert [note for note in read(path).notes if "delimiter" in note] == (
        [] if usual else [f"delimiter: {mark!r}"]
    )


def test_cells_too_many_are_located_and_empty_ones_forgiven(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="line 3: 2 cells where the first line has 1"):
        items(file(tmp_path, "text\nhello\nhello, you\n", "a.csv"))
    assert items(file(tmp_path, "text,n\na,1,\nb,2,,\n", "b.csv")) == ["a", "b"]


def test_the_column_that_was_taken_is_noted(tmp_path: Path) -> None:
    table = tmp_path / "a.parquet"
    pyarrow.parquet.write_table(pyarrow.table({"n": [1], "text": ["a b"]}), table)
    assert read(table).notes == ("column: text (of n, text)",)
    assert read(file(tmp_path, CSV, "a.csv")).notes == ("column: text (of id, text, when)",)
    assert read(file(tmp_path, "w\tx\n", "a.tsv"), ReadConfig(column="w")).notes == ()
    assert read(file(tmp_path, '\n{"only": "a"}\n', "a.jsonl")).notes == ("column: only (the only one)",)
    assert "no name" in read(file(tmp_path, "1\n2\n", "b.csv")).notes[0]
    assert read(["a", "b"]).notes == read(file(tmp_path, "a", "a.txt")).notes == ()


def test_a_compressed_parquet_file_is_read(tmp_path: Path) -> None:
    plain, packed = tmp_path / "a.parquet", tmp_path / "b.parquet.gz"
    pyarrow.parquet.write_table(pyarrow.table({"text": ["a b", "c"]}), plain)
    packed.write_bytes(gzip.compress(plain.read_bytes()))
    assert items(packed) == items(plain) == ["a b", "c"]
    assert read(packed).notes == ("column: text (the only one)",)


WRONG = [
    ('{"e": "a", "g": 1}\n{"e": {"x": 1}, "g": 1}\n', {}, "column 'e': an object"),
    ('{"e": "a", "g": 1}\n{"e": ["x"], "g": 1}\n', {}, "column 'e': a list"),
    ('{"e": ["a"], "g": 1}\n{"e": [["x"]], "g": 1}\n', {}, "column 'e': a list"),
    ('{"e": "a", "g": 1}\n{"e": ["x"], "g": 1}\n', {"group": "g"}, "column 'e': a list"),
    ('{"e": "a", "g": 1}\n{"e": ["x"], "g": 1}\n', {"joined": True}, "column 'e': a list"),
    ('{"e": "a", "g": 1}\n{"e": "b", "g": [1]}\n', {"group": "g"}, "column 'g': a list"),
]


@pytest.mark.parametrize(("content", "options", "message"), WRONG)
def test_an_object_or_a_list_is_no_event(
    tmp_path: Path, content: str, options: dict[str, object], message: str
) -> None:
    with pytest.raises(DataError, match=rf"a\.jsonl, line 2, {message}"):
        items(file(tmp_path, content, "a.jsonl"), column="e", **options)


def test_the_column_is_chosen_once_for_all_lines(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="line 2: there is no column 'a'"):
        items(file(tmp_path, '{"a": "x"}\n{"b": "y"}\n', "a.jsonl"))


def test_short_rows_are_located(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="line 3: 1 cells where the first line has 2"):
        items(file(tmp_path, "x,y\n1,2\n3\n", "a.csv"), column="y")


def test_tab_separated_and_carriage_returns(tmp_path: Path) -> None:
    assert items(file(tmp_path, "a\tb\r\n1\tx y\r\n", "a.tsv"), column="b") == ["x y"]


def test_json_lines_may_be_objects_strings_or_lists(tmp_path: Path) -> None:
    assert items(file(tmp_path, '{"text": "a b", "n": 1}\n\n{"text": "c"}\n', "a.jsonl")) == ["a b", "c"]
    assert items(file(tmp_path, '["x", "y z", 3]\n"a b"\n', "b.jsonl")) == ["x y z 3", "a b"]
    assert items(file(tmp_path, '["x", "y z"]\n["x"]\n', "c.jsonl"), joined=True) == [f"x{UNIT}y z", "x"]


def test_a_malformed_json_line_is_located(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"a\.jsonl, line 2: not JSON"):
        items(file(tmp_path, '{"text": "a"}\n{"text": \n', "a.jsonl"))
    with pytest.raises(DataError, match=r"b\.jsonl, line 2: there is no column 'text'"):
        items(file(tmp_path, '{"text": "a"}\n{"txt": "b"}\n', "b.jsonl"), column="text")


def test_rows_are_grouped_and_sorted_into_events(tmp_path: Path) -> None:
    path = file(tmp_path, CSV, "a.csv")
    expected = [f"third{UNIT}hello, you", "two\nlines"]
    assert items(path, column="text", group="id", sort="when") == expected
    assert items(path, column="text", group="id") == [f"hello, you{UNIT}third", "two\nlines"]


def test_the_sort_column_is_ordered_as_numbers_when_it_holds_numbers(tmp_path: Path) -> None:
    path = file(tmp_path, "e,t\nlate,10\nearly,9\nfirst,-1\nsame,9\n", "a.csv")
    assert items(path, column="e", sort="t") == [UNIT.join(["first", "early", "same", "late"])]


def test_a_column_of_events_is_one_sequence_in_file_order(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = file(tmp_path, "state\nsunny\n\nrainy day\nsunny\n", "a.csv")
    assert items(path, joined=True) == [UNIT.join(["sunny", "rainy day", "sunny"])]
    monkeypatch.setattr("chainrule.data.tables.BLOCK", 4)
    blocks = list(read(path, ReadConfig(joined=True))())
    assert len(blocks) > 1 and sum(texts.sequences for texts in blocks) == 1
    assert lines.BLOCK > 4


def test_a_nameless_column_of_numbers_loses_nothing(tmp_path: Path) -> None:
    assert items(file(tmp_path, "1.5\n2\n3\n", "a.csv"), joined=True) == [UNIT.join(["1.5", "2", "3"])]


def test_parquet_columns(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    pyarrow.parquet.write_table(pyarrow.table({"n": [1, None], "text": ["a b", "c"]}), path)
    assert items(path) == ["a b", "c"]
    assert items(path, column="n") == ["1"]
    with pytest.raises(DataError, match=r"no column 'no'.*n, text"):
        items(path, column="no")
    with pytest.raises(DataError, match="cannot be read as Parquet"):
        items(file(tmp_path, "no parquet at all", "b.parquet"))


def test_parquet_without_pyarrow_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(DataError, match=r"pip install 'chainrule\[parquet\]'"):
        items(file(tmp_path, "x", "a.parquet"))


def test_grouping_text_files_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no table"):
        items(file(tmp_path, "x", "a.txt"), group="id")


def row(number: str, form: str, tag: str) -> str:
    return "\t".join([number, form, "_", tag, *"______"]) + "\n"


CONLLU = (
    "# text = Vámonos al mar\n"
    + row("1-2", "Vámonos", "_")
    + row("1", "Vamos", "VERB")
    + row("2", "nos", "PRON")
    + row("3-4", "al", "_")
    + row("3", "a", "ADP")
    + row("4", "el", "DET")
    + row("5", "mar", "NOUN")
    + row("5.1", "hidden", "VERB")
    + "\n"
    + row("1", "3 000", "NUM")
)


def test_conllu_forms_are_surface_forms_and_tags_are_of_words(tmp_path: Path) -> None:
    path = file(tmp_path, CONLLU, "a.conllu")
    assert items(path) == ["Vámonos al mar", "3\u00a0000"]
    assert items(path, column="upos") == ["VERB PRON ADP DET NOUN", "NUM"]


def test_conllu_errors_are_located(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"line 2: not CoNLL-U"):
        items(file(tmp_path, row("1", "a", "X") + "b X\n", "a.conllu"))
    with pytest.raises(DataError, match="Did you mean 'UPOS'"):
        items(file(tmp_path, CONLLU, "b.conllu"), column="UPOSS")


def test_half_a_character_in_an_event_is_refused(tmp_path: Path) -> None:
    path = file(tmp_path, '{"e": "\\ud800", "g": 1}\n', "a.jsonl")
    for options in ({"group": "g"}, {"joined": True}, {}):
        with pytest.raises(DataError, match="half a character"):
            items(path, column="e", **options)


@pytest.mark.parametrize("rest", ["", '3,"last one"\n', "3,last\n4,more\n"])
def test_an_unclosed_quote_is_located(tmp_path: Path, rest: str) -> None:
    path = file(tmp_path, 'id,text\n1,first\n2,"second\n' + rest, "a.csv")
    with pytest.raises(DataError, match=r"a\.csv, line 3: .*quote that opens a cell here"):
        items(path)
    with pytest.raises(DataError, match=r"line 1: .*quote"):
        _ = read(file(tmp_path, '"id,text\n1,2\n', "b.csv")).notes


def test_a_column_name_that_comes_twice_must_not_be_asked_for(tmp_path: Path) -> None:
    path = file(tmp_path, "text,n,text\na,1,b\n", "a.csv")
    assert items(path, column="n") == ["1"]
    for options in ({}, {"column": "text"}):
        with pytest.raises(DataError, match="2 columns are called 'text'"):
            items(path, **options)


def test_blanks_around_events_mean_nothing(tmp_path: Path) -> None:
    path = file(tmp_path, "e,g\n a,1\na ,1\n\u00a0,1\n", "a.csv")
    assert items(path, column="e", joined=True) == items(path, column="e", group="g") == [f"a{UNIT}a"]
    assert items(file(tmp_path, '[" x", "y "]\n', "a.jsonl"), joined=True) == [f"x{UNIT}y"]


@pytest.mark.parametrize("depth", [900, 100_000])
def test_json_nested_too_deep_is_refused(tmp_path: Path, depth: int) -> None:
    with pytest.raises(DataError, match="line 1"):
        items(file(tmp_path, "[" * depth + "]" * depth + "\n", "a.jsonl"))


@pytest.mark.parametrize("number", ["²", "1-²", "①"])
def test_conllu_numbers_are_plain_digits(tmp_path: Path, number: str) -> None:
    with pytest.raises(DataError, match="line 1: not CoNLL-U"):
        items(file(tmp_path, row(number, "a", "X"), "a.conllu"))


def test_a_full_disk_under_grouped_events_names_the_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def small(place: str, connect: Any = sqlite3.connect) -> sqlite3.Connection:
        base: sqlite3.Connection = connect(place)
        base.execute("pragma max_page_count = 4")
        return base

    monkeypatch.setattr("chainrule.data.order.sqlite3.connect", small)
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    path = file(tmp_path, "e,g\n" + "event number one,1\n" * 9999, "a.csv")
    with pytest.raises(DataError, match=rf"{tmp_path} \(database or disk is full\).*set TMPDIR"):
        items(path, column="e", group="g")


@pytest.mark.parametrize("format", [None, "csv", "parquet"])
def test_messages_about_standard_input_do_not_name_its_temporary_file(
    monkeypatch: pytest.MonkeyPatch, format: str | None
) -> None:
    monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=io.BytesIO(b"a b\n")))
    source = read("-", ReadConfig(column="e", group="g", format=format))
    with pytest.raises(DataError, match=r"^standard input") as caught:
        list(source())
    assert str(source.files[0]) not in str(caught.value)


def test_rows_without_a_group_or_a_place_in_order_are_left_out_and_counted(tmp_path: Path) -> None:
    path = file(tmp_path, "id,when,text\na,2,x\n,1,lost\na,1,y\nb,,lost\nb,3,z\na,3,\n", "events.csv")
    source = read(path, ReadConfig(column="text", group="id", sort="when"))
    assert [one for block in source() for one in block] == [b"y\x1fx", b"z"]
    assert sum(block.skipped for block in source()) == 3


def test_time_stamps_of_nineteen_digits_are_sorted_exactly(tmp_path: Path) -> None:
    first = 1_700_000_000_000_000_000
    stamps = "".join(f"{first + place},{place}\n" for place in (2, 0, 1))
    path = file(tmp_path, f"t,e\n{stamps}", "events.csv")
    assert items(path, column="e", sort="t") == [UNIT.join("012")]
    assert position(str(10**30)) == 1e30 and position("x") == "x" and position("1.5") == 1.5


def test_texts_are_not_taken_for_events(tmp_path: Path) -> None:
    rows = "".join(f"review number {place} is good,{place % 2}\n" for place in range(300))
    path = file(tmp_path, f"text,label\n{rows}", "reviews.csv")
    with pytest.raises(DataError, match="texts rather than events"):
        prepare(path, options={"column": "text", "group": "label"})
    assert prepare(path, codec="events", options={"column": "text", "group": "label"}).train.main.sequences


@pytest.mark.parametrize(
    ("where", "kept"),
    [
        ("stars >= 4", ["a", "d"]),
        ("stars == 5", ["a"]),
        ("stars=5.0", ["a"]),
        ("stars != 5", ["b", "c", "d"]),
        ("kind == 'x y'", ["b", "d"]),
        ('"kind" < "x y"', ["a", "c"]),
        (("stars >= 2", "kind == p"), ["a"]),
    ],
)
def test_rows_are_chosen_by_conditions(where: Any, kept: list[str], tmp_path: Path) -> None:
    table = {"text": list("abcd"), "stars": [5, 1, 2, 4], "kind": ["p", "x y", "q", "x y"]}
    path = file(tmp_path, "text,stars,kind\na,5,p\nb,1,x y\nc,2,q\nd,4,x y\n", "rows.csv")
    config = ReadConfig.from_values({"column": "text", "where": where})
    for source in (read(table, config), read(path, config)):
        assert [one.decode() for block in source() for one in block] == kept


def test_conditions_need_a_table_and_a_form(tmp_path: Path) -> None:
    for wrong in ("stars", "== 4", "stars ~ 4"):
        with pytest.raises(ConfigError, match="stars >= 4"):
            ReadConfig(where=(wrong,))
    with pytest.raises(DataError, match="no table"):
        list(read(file(tmp_path, "a b\n", "a.txt"), ReadConfig(where=("stars > 4",)))())
    with pytest.raises(DataError, match="no column 'star'"):
        list(read({"text": ["a"], "stars": [1]}, ReadConfig(column="text", where=("star > 4",)))())
