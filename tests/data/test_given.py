"""Data from Python: whatever holds texts, tokens or numbers is read as what it is, and the rest is refused."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas
import polars
import pyarrow
import pytest
from hypothesis import given
from hypothesis import strategies as st

import chainrule as cr
from chainrule.data.dataset import prepare
from chainrule.data.given import Table, from_python, plain
from chainrule.data.roles import Role
from chainrule.data.sources import read
from chainrule.errors import ChainruleError, DataError

TEXTS = [f"the cat number {n} sat on the mat {n % 5}" for n in range(60)]
STARS = [n % 5 for n in range(60)]


class Frame:
    """What pandas and polars have in common, as far as it is looked at."""

    def __init__(self, columns: dict[str, list[Any]]) -> None:
        self.held = columns
        self.columns = list(columns)
        self.iloc = None

    def __getitem__(self, name: str) -> list[Any]:
        return self.held[name]

    def __len__(self) -> int:
        return len(next(iter(self.held.values())))


def frames() -> dict[str, Any]:
    columns: dict[str, list[Any]] = {"stars": STARS, "text": TEXTS}
    real = {
        "pandas": pandas.DataFrame(columns),
        "polars": polars.DataFrame(columns),
        "arrow": pyarrow.table(columns),
    }
    return {"dict": columns, "a frame": Frame(columns), **real}


def columns() -> dict[str, Any]:
    def one_by_one() -> Iterator[str]:
        yield from TEXTS

    found: dict[str, Any] = {"tuple": tuple(TEXTS), "array": np.array(TEXTS), "generator": one_by_one()}
    found["objects"] = np.array(TEXTS, dtype=object)
    for name, frame in frames().items():
        if name in ("pandas", "polars", "arrow"):
            found[f"series of {name}"] = frame["text"]
    return found


def ids(given: Any, **options: Any) -> np.ndarray:
    return prepare(given, given, **options).train.main.ids


EXPECTED = ids(TEXTS)


@pytest.mark.parametrize("name", frames())
def test_a_frame_is_read_by_its_columns_and_not_by_their_names(name: str) -> None:
    frame = frames()[name]
    np.testing.assert_array_equal(ids(frame), EXPECTED)
    np.testing.assert_array_equal(ids(frame, options={"column": "text"}), EXPECTED)
    with pytest.raises(DataError, match="no column 'txt'"):
        ids(frame, options={"column": "txt"})


@pytest.mark.parametrize("name", columns())
def test_whatever_holds_texts_is_a_list_of_texts(name: str) -> None:
    held = columns()[name]
    np.testing.assert_array_equal(prepare(held, TEXTS).train.main.ids, EXPECTED)


def test_the_same_data_have_the_same_fingerprint_and_others_another() -> None:
    one, two = read({"text": TEXTS}), read(Frame({"text": list(TEXTS)}))
    assert one.fingerprint == two.fingerprint != read({"text": TEXTS[::-1]}).fingerprint


def test_a_frame_has_several_roles() -> None:
    roles = [Role("text"), Role("label", column="stars", codec="events")]
    for frame in frames().values():
        ready = prepare(frame, frame, roles=roles)
        assert ready.train["label"].sequences == len(STARS) == ready.train.main.sequences


@pytest.mark.parametrize(
    ("values", "codec", "sequences"),
    [
        ([["the", "cat"], ["a", "dog"]] * 9, "words", 18),
        ([["New York", "rain"], ["Paris", "sun"]] * 9, "events", 18),
        ([[1, 2, 3], [2, 1]] * 9, "events", 18),
        ([[n, n + 1] for n in range(40)], "numbers", 40),
        ([0.5, 1.5, 2.5, 1.0], "numbers", 1),
        ([1, 2, 1, 2, 1], "events", 1),
        (np.arange(50), "numbers", 1),
        (np.arange(12).reshape(4, 3) % 3, "events", 4),
        ([np.array([1.5, 2.0]), np.array([2.5])], "numbers", 2),
    ],
    ids=lambda one: "" if isinstance(one, list | np.ndarray) else str(one),
)
def test_lists_of_symbols_go_to_the_codec_that_fits(values: Any, codec: str, sequences: int) -> None:
    ready = prepare(values, values)
    assert ready.codec.name == codec and ready.train.main.sequences == sequences
    assert "list" in ready.notes[0]


def test_tokens_are_taken_as_they_are() -> None:
    given = [["don't", "stop,", "(now)"], ["stop,", "don't"]]
    ready = prepare(given, given)
    assert ready.codec.tokens(ready.train.main.ids[1:4]) == ["don't", "stop,", "(now)"]


def test_missing_values_are_skipped_and_counted() -> None:
    frame = {"text": ["sun", None, float("nan"), "rain"] * 3, "other": list(range(12))}
    ready = prepare(frame, frame, codec="words", options={"column": "text"})
    assert ready.train.main.sequences == 6 and ready.train.skipped == 6


def test_events_of_a_frame_are_grouped_and_sorted() -> None:
    frame = {"who": ["a", "b", "a", "b"], "when": [2, 1, 1, 2], "what": ["x", "y", "z", "w"]}
    texts = read(frame, cr_config(column="what", group="who", sort="when"))
    assert [one for block in texts() for one in block] == [b"z\x1fx", b"y\x1fw"]


def cr_config(**values: Any) -> Any:
    from chainrule.data.sources import ReadConfig

    return ReadConfig.from_values(values)


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        (None, "NoneType"),
        (5, "int"),
        (object(), "object"),
        ({"text": 5}, "'text' is int"),
        ({"text": ["a"], "label": []}, "text has 1, label has 0"),
        ({}, "empty"),
        (["a", 5], r"int \(5\) follows str"),
        ([{"text": "a"}], "dict"),
        ([], "empty or blank"),
        ({"a", "b"}, "set"),
        (Frame({"text": []}), "no rows"),
    ],
    ids=lambda one: one if isinstance(one, str) else type(one).__name__,
)
def test_what_cannot_be_used_is_refused_with_what_was_expected(wrong: Any, told: str) -> None:
    for verb in (cr.fit, cr.compare, cr.check):
        with pytest.raises(ChainruleError, match=told):
            verb(wrong)


def test_columns_of_a_frame_are_made_plain_when_they_are_asked_for() -> None:
    frame = Frame({"text": TEXTS, "bad": [object()] * 60})
    table = from_python(frame)
    assert isinstance(table, Table) and table.column("text") == TEXTS and "bad" not in table._columns


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
        st.lists,
        max_leaves=6,
    )
)
def test_plain_values_stay_what_they_are(value: Any) -> None:
    assert plain(value) == value


def test_a_comparison_takes_a_frame(tmp_path: Path) -> None:
    texts = [f"the cat number {n} sat on the mat {n % 5}" for n in range(900)]
    frame = {"text": texts, "stars": STARS * 15}
    found = cr.compare(frame, column="text", out=tmp_path / "out", budget="10s", models=["unigram", "2-gram"])
    assert {row["name"] for row in found.results["models"]} == {"unigram", "2-gram"}
    assert found.results["data"]["codec"] == "words"
