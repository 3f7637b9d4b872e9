"""Files with a checksum inside."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from chainrule.errors import BundleError
from chainrule.store import sealed

VALUES = {"a": 1, "b": [0.1, math.inf, 1e-30], "c": {"d": "\u20ac", "e": None}, "f": "1e999"}


def test_what_was_sealed_comes_back(tmp_path: Path) -> None:
    sealed.write_json(tmp_path / "values.json", VALUES, indent=2)
    assert sealed.read_json(tmp_path / "values.json") == VALUES
    sealed.write_bytes(tmp_path / "bytes", b"some bytes")
    assert sealed.read_bytes(tmp_path / "bytes") == b"some bytes"


def test_what_is_no_number_is_read_as_none(tmp_path: Path) -> None:
    sealed.write_json(tmp_path / "values.json", {"a": math.nan})
    assert sealed.read_json(tmp_path / "values.json") == {"a": None}


@pytest.mark.parametrize(
    "old, new", [("0.1", "0.2"), ("1", "2"), ("\u20ac", "$"), ("checksum", "other"), ("{", "[")]
)
def test_a_changed_value_is_refused(old: str, new: str, tmp_path: Path) -> None:
    path = tmp_path / "values.json"
    sealed.write_json(path, VALUES)
    path.write_text(path.read_text().replace(old, new, 1))
    with pytest.raises(BundleError, match="damaged"):
        sealed.read_json(path)


@pytest.mark.parametrize("place", range(14))
def test_every_changed_byte_is_refused(place: int, tmp_path: Path) -> None:
    path = tmp_path / "bytes"
    sealed.write_bytes(path, b"some bytes")
    data = bytearray(path.read_bytes())
    data[place] ^= 1
    path.write_bytes(data)
    with pytest.raises(BundleError, match="damaged"):
        sealed.read_bytes(path)
    path.write_bytes(data[:place])
    with pytest.raises(BundleError, match="damaged"):
        sealed.read_bytes(path)
