"""Numbers, dates and lists in files as people have them: mistakes are named with their place."""

from __future__ import annotations

import io
import json
import re
from datetime import date, timedelta
from pathlib import Path

import pytest

import chainrule as cr
from chainrule.cli import main
from chainrule.codecs.base import UNIT, Texts
from chainrule.data.sources import ReadConfig, read
from chainrule.data.splits import divide
from chainrule.errors import ChainruleError, ConfigError, DataError

DAYS = 40


def days(folder: Path, changed: dict[int, str] | None = None) -> Path:
    """A value a day; `changed` are other lines, by number from 2 on."""
    rows = [f"{date(2024, 1, 1) + timedelta(at)},{at % 5 + 0.5}" for at in range(DAYS)]
    for line, row in (changed or {}).items():
        rows[line - 2] = row
    path = folder / "days.csv"
    path.write_text("\n".join(["day,sold", *rows]) + "\n")
    return path


@pytest.mark.parametrize("sort", [None, "day"])
def test_what_is_no_number_is_named_with_file_line_and_column(tmp_path: Path, sort: str | None) -> None:
    path = days(tmp_path, {17: "2024-01-16,12.5x"})
    with pytest.raises(DataError, match=r"days\.csv, line 17, column 'sold': '12.5x' is no number.*--where"):
        cr.fit(path, column="sold", sort=sort, codec="numbers")
    lm = cr.fit(path, column="sold", sort=sort, codec="numbers", where=("sold != 12.5x",))
    with pytest.raises(DataError, match="line 17"):
        lm.anomalies(path)


def test_a_decimal_comma_is_explained(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"line 5.*'12,5' is no number.*add --decimal ,") as caught:
        cr.fit(days(tmp_path, {5: '2024-01-04,"12,5"'}), column="sold", codec="numbers")
    assert "--where" not in str(caught.value)


def test_lines_and_lists_that_are_no_numbers_are_named_too(tmp_path: Path) -> None:
    path = tmp_path / "lines.txt"
    path.write_text("1 2 3\n\n4 five 6\n")
    with pytest.raises(DataError, match=r"lines\.txt, line 3: 'five' is no number"):
        cr.fit(path, codec="numbers")
    with pytest.raises(DataError, match="sequence 2: 'b' is no number"):
        cr.fit(["1 2 3", "4 b"], codec="numbers")
    lists = tmp_path / "lists.jsonl"
    lists.write_text('[1, 2]\n[3, "x"]\n')
    with pytest.raises(DataError, match=r"lists\.jsonl, line 2: 'x' is no number"):
        cr.fit(lists, codec="numbers")


def told(path: Path, capsys: pytest.CaptureFixture[str], *words: str) -> str:
    """What `fit` says while it reads."""
    out = str(path.parent / "lm")
    main(
        [
            "fit",
            str(path),
            "--column",
            "sold",
            "--sort",
            "day",
            "--codec",
            "numbers",
            "--force",
            "-o",
            out,
            *words,
        ]
    )
    return capsys.readouterr().err


def test_a_date_that_is_none_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = days(tmp_path, {9: "08/01/2024,3.5"})
    said = told(path, capsys)
    assert "1 of 40 rows have text where others have a date" in said
    assert f"{path}, line 9 ('08/01/2024')" in said
    main(["forecast", str(tmp_path / "lm")])
    assert "row 8 ('08/01/2024')" in capsys.readouterr().err
    assert "--sort" not in told(days(tmp_path), capsys)


def test_dates_that_all_sort_as_text_are_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    others = {line: f"{line % 28 + 1:02}/01/2024,{line % 4}" for line in range(2, DAYS + 2)}
    assert "ordered as text" in told(days(tmp_path, others), capsys)


def test_days_that_come_twice_suggest_the_column_that_tells_them_apart(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "shops.csv"
    rows = [
        f"{date(2024, 1, 1) + timedelta(at // 2)},{at},{at % 20},{'ns'[at % 2]},{at % 7}" for at in range(80)
    ]
    path.write_text("\n".join(["day,receipt,visits,shop,sold", *rows]) + "\n")
    said = told(path, capsys)
    assert "80 rows come at a moment of another row, such as 2024-01-01" in said
    assert said.count("tell these apart: --group shop\n") == 1
    lm = cr.load(tmp_path / "lm")
    assert "--group shop" in lm.forecast(steps=2).notes[0] and "--group shop" in lm.anomalies(path).notes[0]
    assert "a moment of" not in told(path, capsys, "--group", "shop")


def items(path: Path, gaps: bool = True) -> list[list[str]]:
    config = ReadConfig(joined=True, gaps=gaps)
    return [one.decode().split(UNIT) for texts in read(path, config)() for one in texts]


def test_blank_lines_after_json_are_no_gaps(tmp_path: Path) -> None:
    path = tmp_path / "series.jsonl"
    path.write_text('{"x": 1.5}\n\n{"x": null}\n{"x": 2.5}\n\n\n')
    assert items(path) == [["1.5", "nan", "nan", "2.5"]]


def test_gaps_at_the_ends_of_lists_stay(tmp_path: Path) -> None:
    path = tmp_path / "lists.jsonl"
    path.write_text('[null, 1.5, null, 2.5, null]\n[null, "1.5", NaN, "2.5", null]\n')
    assert items(path) == [["nan", "1.5", "nan", "2.5", "nan"]] * 2
    [first, _] = cr.fit(path, codec="numbers").forecast(path, 2)
    assert first.history == ("nan", "1.5", "nan", "2.5", "nan")


@pytest.mark.parametrize("codec", ["numbers", "events"])
def test_lists_without_items_and_with_one_are_sequences(tmp_path: Path, codec: str) -> None:
    path = tmp_path / "lists.jsonl"
    lists: list[list[float]] = [[], [1.5], [2.5, 3.5], [], [4.5]] * 5
    path.write_text("".join(json.dumps(one) + "\n" for one in lists))
    histories = [one.history for one in cr.fit(path, codec=codec).forecast(path, 1)]
    assert histories == [("1.5",), ("2.5", "3.5"), ("4.5",)] * 5
    assert len(cr.fit(path, codec=codec).anomalies(path).events) == 20


def test_lists_without_any_item_are_refused() -> None:
    with pytest.raises(DataError, match="holds no sequence"):
        cr.fit([[], []])


@pytest.mark.parametrize("count", [1, 2, 3, 4, 7, 20])
def test_short_series_are_divided_at_whole_values(count: int) -> None:
    values = [f"{100 + at}.25" for at in range(count)]
    for separator in (UNIT, " "):
        text = separator.join(values)
        parts = divide(lambda text=text: [Texts.of([text])], position=True, values=True)  # type: ignore[misc]
        sides = [part for part in (parts.train, parts.valid, parts.test) if part]
        found = [b"".join(one for texts in part() for one in texts).decode() for part in sides]
        assert " ".join(found).replace(UNIT, " ").split() == values
        assert len(sides) == min(3, count)


def test_differences_of_a_series_that_is_too_short_are_refused_with_what_to_do() -> None:
    with pytest.raises(ChainruleError, match=r"long enough for differences.*smaller --difference"):
        cr.fit([1.5, 2.5, 3.5], codec="numbers", difference="7")


def test_numbers_of_several_columns_are_named_with_their_place_too(tmp_path: Path) -> None:
    path = tmp_path / "shapes.csv"
    rows = [f"{at} {at + 1} {at + 2},{'ab'[at % 2]}" for at in range(40)]
    rows[7] = "1 two 3,a"
    path.write_text("\n".join(["values,kind", *rows]) + "\n")
    with pytest.raises(DataError, match=r"shapes\.csv, line 9, column 'values': 'two' is no number"):
        cr.fit(path, column="values", label="kind", codec="numbers")


def test_numbers_in_parallel_files_are_named_with_their_place_too(tmp_path: Path) -> None:
    values, kinds = tmp_path / "values.txt", tmp_path / "kinds.txt"
    values.write_text("\n".join("1 two 3" if at == 4 else f"{at} 2 3" for at in range(40)) + "\n")
    kinds.write_text("a\nb\n" * 20)
    with pytest.raises(DataError, match=r"values\.txt, line 5: 'two' is no number"):
        cr.fit({"text": values, "label": kinds}, **{"text.codec": "numbers"})


def test_numbers_of_standard_input_are_named_with_their_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = tmp_path / "lines.txt"
    lines.write_text("".join(f"{at} {at + 1.5} {at % 7}\n" for at in range(60)))
    cr.fit(lines, codec="numbers").save(tmp_path / "lm")
    for words in ([], ["--each"]):
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"1 2 3\n4 5x 6\n")))
        assert main(["score", str(tmp_path / "lm"), "-", *words]) != 0
        assert "standard input, line 2: '5x' is no number" in capsys.readouterr().err


def test_the_order_of_validation_and_test_files_is_looked_at_too(tmp_path: Path) -> None:
    train = days(tmp_path).rename(tmp_path / "train.csv")
    valid = days(tmp_path, {9: "08/01/2024,3.5"}).rename(tmp_path / "valid.csv")
    test = days(tmp_path, {9: "2024-01-02,3.5"}).rename(tmp_path / "test.csv")
    lm = cr.fit(train, valid=valid, test=test, column="sold", sort="day", codec="numbers")
    [stray] = [note for note in lm.card["notes"] if "have text where others have a date" in note]
    assert stray.startswith(f"{valid}: --sort day: 1 of 40 rows")
    [twice] = [note for note in lm.card["notes"] if "at a moment of another row" in note]
    assert twice.startswith(f"{test}: --sort day: 2 rows")


def prices(folder: Path, text: str) -> Path:
    path = folder / "prices.csv"
    path.write_text(text)
    return path


def test_decimal_commas_are_read_if_asked(tmp_path: Path) -> None:
    rows = "".join(f"2024-01-{at + 1:02};{at % 5},5\n" for at in range(30))
    path = prices(tmp_path, "day;sold\n" + rows)
    lm = cr.fit(path, column="sold", sort="day", decimal=",")
    assert lm.codec.name == "numbers"
    [found] = lm.forecast(path, steps=2)
    assert found.history[:3] == ("0.5", "1.5", "2.5")
    assert [one.value for one in lm.anomalies(path).in_order][:2] == ["0.5", "1.5"]


def test_a_column_of_decimal_commas_needs_no_quotes_and_no_name(tmp_path: Path) -> None:
    config = ReadConfig(joined=True, gaps=True, decimal=",", thousands=".")
    for header in ("sold\n", ""):
        path = prices(tmp_path, header + "1.234,5\n-0,25\n\n7\n1.234\n")
        [[series]] = [list(texts) for texts in read(path, config)()]
        assert series.decode().split(UNIT) == ["1234.5", "-0.25", "nan", "7", "1234"]


@pytest.mark.parametrize(
    ("text", "signs", "values"),
    [
        ("1,5 2\n-3,25\n", {"decimal": ","}, ["1.5 2", "-3.25"]),
        ("1,234.5 7,000,000\n", {"thousands": ","}, ["1234.5 7000000"]),
        ("1'234 na\n", {"thousands": "'"}, ["1234 na"]),
    ],
)
def test_lines_of_such_numbers_are_read(
    tmp_path: Path, text: str, signs: dict[str, str], values: list[str]
) -> None:
    path = tmp_path / "lines.txt"
    path.write_text(text)
    found = read(path, ReadConfig(gaps=True, **signs))  # type: ignore[arg-type]
    assert [one.decode() for texts in found() for one in texts] == values


@pytest.mark.parametrize("cell", ["1.234", "1.5", "1,2,3", "12.34,5", "1.23.4,5"])
def test_numbers_written_in_another_way_than_was_said_are_refused(tmp_path: Path, cell: str) -> None:
    path = prices(tmp_path, f"day;sold\n1;2,5\n2;{cell}\n")
    with pytest.raises(DataError, match=r"line 3, column 'sold': .* is no number"):
        cr.fit(path, column="sold", decimal=",")


@pytest.mark.parametrize(
    ("cell", "told"),
    [
        ("12,5", "add --decimal , "),
        ("1.234,5", "--decimal , --thousands ."),
        ("1,234.5", "--thousands ,"),
        ("1,234", "--decimal , or, between thousands, --thousands ,"),
    ],
)
def test_numbers_with_commas_are_answered_with_the_option(tmp_path: Path, cell: str, told: str) -> None:
    with pytest.raises(DataError, match=re.escape(told)):
        cr.fit(prices(tmp_path, f"day;sold\n1;2\n2;{cell}\n"), column="sold", codec="numbers")


def test_conditions_order_and_scores_have_decimal_commas_too(tmp_path: Path) -> None:
    path = prices(tmp_path, "at;sold\n2,5;7,5\n1,5;3,5\n10;5,5\n")
    config = ReadConfig(column="sold", sort="at", gaps=True, decimal=",", where=("sold > 3,5",))
    assert [list(texts) for texts in read(path, config)()] == [[f"7.5{UNIT}5.5".encode()]]


def test_signs_that_say_nothing_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="both ','"):
        ReadConfig(decimal=",", thousands=",")
    with pytest.raises(ConfigError, match="are for numbers, and the codec is words"):
        cr.fit(["a b", "c d"], codec="words", decimal=",")
