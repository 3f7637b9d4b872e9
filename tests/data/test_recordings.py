"""Sequences of frames are the same, whatever held them; what is no sequence of frames is refused."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from chainrule.data.columns import opened
from chainrule.data.roles import Request, Role
from chainrule.errors import ConfigError, DataError

FRAMES = [
    np.array([[1.0, 2.5], [3, np.nan], [5, 6]]),
    np.array([[0.5, 1], [2, 3]]),
    np.array([[7.0, 8], [9, 1], [2, 2], [4, 4]]),
]
LABELS = ["walk", "run", "walk"]
TEXTS = ["1 2.5\x1f3 nan\x1f5 6", "0.5 1\x1f2 3", "7 8\x1f9 1\x1f2 2\x1f4 4"]
WANTED = list(zip(TEXTS, LABELS, strict=True))


def rows(
    given: Any, *, codec: str | None = None, tags: bool = False, **options: Any
) -> list[tuple[str, str]]:
    """Text and label of every sequence, as codecs are given them."""
    roles = [Role("text"), Role("label", codec="events" if tags else "labels")]
    asked = Request.of(roles, codec, options, ())
    source = opened(given, asked)
    suited = source.suited(
        {"text": Role("text", codec="frames"), "label": Role("label", codec=asked.asked["label"])}
    )
    found: Mapping[str, Any] = suited.whole()
    cells = {role: [one.decode() for texts in blocks() for one in texts] for role, blocks in found.items()}
    return list(zip(cells["text"], cells["label"], strict=True))


def long_table(path: Path) -> Path:
    """Rows of all moments, mixed up."""
    lines = [
        f"{name},{at},{','.join('' if np.isnan(one) else f'{one:g}' for one in frame)},{label}"
        for name, frames, label in zip("cab", FRAMES, LABELS, strict=True)
        for at, frame in enumerate(frames)
    ]
    path.write_text("\n".join(["session,time,x,y,activity", *lines[:1], *reversed(lines[1:])]) + "\n")
    return path


LONG: dict[str, Any] = {"column": "x,y", "group": "session", "sort": "time", "label": "activity"}


def test_a_table_of_moments_is_grouped_and_sorted(tmp_path: Path) -> None:
    assert sorted(rows(long_table(tmp_path / "a.csv"), **LONG)) == sorted(WANTED)


def test_columns_that_nobody_named_are_the_numbers(tmp_path: Path) -> None:
    found = rows(long_table(tmp_path / "a.csv"), **(LONG | {"column": None}), codec="frames")
    assert sorted(found) == sorted(WANTED)


def test_a_column_whose_name_has_a_comma_is_one_column(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text('"x,y",label\na text,yes\nanother,no\n')
    asked = Request.of([Role("text"), Role("label", codec="labels")], None, {"column": "x,y"}, ())
    assert opened(path, asked).sample()["text"].data.tobytes().startswith(b"a text")


def test_every_frame_may_have_a_label_of_its_own(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("s,t,x,y,tag\n1,1,1,2,a\n1,2,3,4,b\n2,1,5,6,b\n2,2,7,8,b\n")
    options: dict[str, Any] = {"column": "x,y", "group": "s", "sort": "t", "label": "tag"}
    assert rows(path, tags=True, **options) == [("1 2\x1f3 4", "a\x1fb"), ("5 6\x1f7 8", "b\x1fb")]
    with pytest.raises(DataError, match=r"s '1' has 2 labels, such as 'a' and 'b'"):
        rows(path, **options)


def padded() -> np.ndarray:
    found = np.full((3, 4, 2), np.nan)
    for at, one in enumerate(FRAMES):
        found[at, : len(one)] = one
    return found


def test_arrays_of_python_are_sequences() -> None:
    assert rows({"text": FRAMES, "label": LABELS}) == WANTED
    assert rows({"text": [one.tolist() for one in FRAMES], "label": LABELS}) == WANTED


def test_a_file_of_each_label_is_a_sequence(tmp_path: Path) -> None:
    for at, (one, label) in enumerate(zip(FRAMES, LABELS, strict=True)):
        (tmp_path / label).mkdir(exist_ok=True)
        np.save(tmp_path / label / f"{at}.npy", one)
    assert sorted(rows(tmp_path)) == sorted(WANTED)


def test_a_table_of_each_label_is_a_sequence(tmp_path: Path) -> None:
    for at, (one, label) in enumerate(zip(FRAMES, LABELS, strict=True)):
        (tmp_path / label).mkdir(exist_ok=True)
        lines = [f"{x:g},{'' if np.isnan(y) else f'{y:g}'}" for x, y in one]
        (tmp_path / label / f"{at}.csv").write_text("\n".join(["x,y", *lines]) + "\n")
    assert sorted(rows(tmp_path, column="x,y")) == sorted(WANTED)


def test_a_table_beside_arrays_has_their_labels_by_name_or_in_order(tmp_path: Path) -> None:
    (tmp_path / "by-name").mkdir()
    for at, one in enumerate(FRAMES):
        np.save(tmp_path / "by-name" / f"r{at}.npy", one)
    table = "who,file,activity\n" + "".join(f"me,r{at}.npy,{LABELS[at]}\n" for at in (2, 0, 1))
    (tmp_path / "by-name" / "labels.csv").write_text(table)
    assert sorted(rows(tmp_path / "by-name", label="activity")) == sorted(WANTED)
    np.save(tmp_path / "X.npy", padded())
    (tmp_path / "y.csv").write_text("activity\n" + "\n".join(LABELS) + "\n")
    assert rows([tmp_path / "X.npy", tmp_path / "y.csv"], label="activity") == WANTED
    assert (
        rows({"text": str(tmp_path / "X.npy"), "label": str(tmp_path / "y.csv")}, label="activity") == WANTED
    )


def test_one_file_holds_sequences_and_labels(tmp_path: Path) -> None:
    np.savez(tmp_path / "both.npz", X=padded(), y=np.array(LABELS))
    assert rows(tmp_path / "both.npz") == WANTED


def test_lines_of_json_are_sequences(tmp_path: Path) -> None:
    lines = [
        json.dumps({"signal": np.where(np.isnan(one), None, one).tolist(), "label": label})
        for one, label in zip(FRAMES, LABELS, strict=True)
    ]
    (tmp_path / "a.jsonl").write_text("\n".join(lines) + "\n")
    assert rows(tmp_path / "a.jsonl", column="signal", codec="frames") == WANTED


def test_python_objects_are_never_unpickled(tmp_path: Path) -> None:
    ragged = np.empty(2, object)
    ragged[0], ragged[1] = FRAMES[0], FRAMES[1]
    np.save(tmp_path / "a.npy", ragged, allow_pickle=True)
    np.savez(tmp_path / "b.npz", ragged)
    for name in ("a.npy", "b.npz"):
        with pytest.raises(DataError, match=r"Python objects, which are never unpickled"):
            rows(tmp_path / name)


def test_an_array_that_is_larger_than_its_file_is_refused_before_memory_is_taken(tmp_path: Path) -> None:
    header = io.BytesIO()
    facts = {"descr": "<f8", "fortran_order": False, "shape": (1 << 40, 1 << 10)}
    np.lib.format.write_array_header_1_0(header, facts)
    (tmp_path / "a.npy").write_bytes(header.getvalue() + b"\0" * 64)
    with zipfile.ZipFile(tmp_path / "b.npz", "w") as archive:
        archive.writestr("X.npy", header.getvalue() + b"\0" * 64)
    with pytest.raises(DataError, match="cannot be read as an array"):
        rows(tmp_path / "a.npy")
    with pytest.raises(DataError, match=r"says that it has .* bytes, and holds"):
        rows(tmp_path / "b.npz")


@pytest.mark.parametrize(
    ("array", "message"),
    [
        (np.zeros((2, 2, 2, 2)), r"the shape \(2, 2, 2, 2\)"),
        (np.zeros((2, 2), np.complex64), "array of complex64, and real numbers are wanted"),
        (np.array([["a", "b"]]), "holds <U1"),
    ],
)
def test_other_shapes_and_kinds_are_refused(tmp_path: Path, array: np.ndarray, message: str) -> None:
    (tmp_path / "x").mkdir()
    np.save(tmp_path / "x" / "a.npy", array)
    with pytest.raises(DataError, match=message):
        rows(tmp_path)


@pytest.mark.parametrize(
    ("old", "new"), [(b"), }", b" {[("), (b"(2, 2), }" + b" " * 40, b"(" + b"9" * 45 + b",)}")]
)
def test_a_damaged_header_is_refused(old: bytes, new: bytes, tmp_path: Path) -> None:
    path = tmp_path / "a.npy"
    np.save(path, FRAMES[1])
    assert old in path.read_bytes()
    path.write_bytes(path.read_bytes().replace(old, new))
    with pytest.raises(DataError, match="cannot be read as an array"):
        rows(path)


def test_what_is_wrong_is_told(tmp_path: Path) -> None:
    path = long_table(tmp_path / "a.csv")
    path.write_text(path.read_text().replace(",0.5,", ",half,"))
    with pytest.raises(DataError, match=r"line \d+, column 'x': 'half' is no number"):
        rows(path, **LONG)
    with pytest.raises(DataError, match="there is no column 'q'"):
        rows(path, **(LONG | {"column": "x,q"}))
    with pytest.raises(DataError, match="2 labels for 3 sequences"):
        rows({"text": FRAMES, "label": LABELS[:2]})
    with pytest.raises(DataError, match="all frames need equally many"):
        rows({"text": [[[1, 2], [3]], [[1, 2]]], "label": ["a", "b"]})
    np.save(tmp_path / "a.npy", FRAMES[0])
    with pytest.raises(DataError, match=r"a\.npy has no labels"):
        rows(tmp_path / "a.npy")
    with pytest.raises(DataError, match="take --codec frames"):
        rows(tmp_path / "a.npy", codec="words")
    with pytest.raises(ConfigError, match="--stream is for text"):
        rows(tmp_path / "a.npy", stream=True)
