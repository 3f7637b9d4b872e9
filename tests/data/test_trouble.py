"""Files that are missing, change while they are read, or find no room."""

from __future__ import annotations

import errno
import io
import os
from pathlib import Path
from types import SimpleNamespace

import pytest

from chainrule.data.sources import ReadConfig, read
from chainrule.errors import DataError


def file(folder: Path, content: bytes, name: str = "data.txt") -> Path:
    path = folder / name
    path.write_bytes(content)
    return path


def test_a_list_with_one_misspelt_file_is_no_data(tmp_path: Path) -> None:
    good = str(file(tmp_path, b"text\n", "book.txt"))
    with pytest.raises(DataError, match=r"no file '.*nofile\.txt'\."):
        read([good, str(tmp_path / "nofile.txt")])
    with pytest.raises(DataError, match="no file 'just a sentence'"):
        read(["just a sentence", good])
    assert [list(texts) for texts in read([good, str(tmp_path)])()] == [[b"text"]] * 2


def test_a_file_that_changes_between_passes_is_refused(tmp_path: Path) -> None:
    path = file(tmp_path, b"a b\n")
    source = read(path)
    assert list(source()) and source.fingerprint
    file(tmp_path, b"a b c\n")
    with pytest.raises(DataError, match=r"data\.txt changed while it was read: run again"):
        list(source())
    with pytest.raises(DataError, match="changed while"):
        _ = read(source, ReadConfig(stream=True)).fingerprint


class Full(io.BytesIO):
    """A file on a full disk."""

    def write(self, data: object) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")


def test_a_full_disk_under_standard_input_names_the_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=io.BytesIO(b"a b\n")))
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("chainrule.data.sources.os.fdopen", lambda handle, mode: os.close(handle) or Full())
    with pytest.raises(DataError, match=rf"{tmp_path} \(No space.*set TMPDIR"):
        read("-")
