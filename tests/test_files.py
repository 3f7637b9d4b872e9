from __future__ import annotations

import errno
import os
import sys
import threading
import time
from pathlib import Path

import pytest

from chainrule.errors import BundleError
from chainrule.store import files
from chainrule.store.files import check_free, new_file, new_folder, write_text


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def saved(path: Path, content: str, force: bool = False) -> Path:
    with new_folder(path, force) as temporary:
        (temporary / "config.json").write_text('{"format": "chainrule"}')
        (temporary / "content").write_text(content)
        (temporary / "manifest.json").write_text('{"files": {"config.json": {}, "content": {}}}')
    return path


def test_a_file_appears_complete_and_alone(tmp_path: Path) -> None:
    write_text(tmp_path / "deep" / "file", "hällo")
    assert (tmp_path / "deep" / "file").read_text(encoding="utf-8") == "hällo"
    assert names(tmp_path / "deep") == ["file"]


@pytest.mark.parametrize("stop", [ValueError, KeyboardInterrupt, SystemExit])
def test_a_stopped_file_leaves_the_old_one(tmp_path: Path, stop: type[BaseException]) -> None:
    write_text(tmp_path / "file", "old")
    with pytest.raises(stop), new_file(tmp_path / "file") as file:
        file.write(b"half")
        raise stop
    assert names(tmp_path) == ["file"]
    assert (tmp_path / "file").read_text() == "old"


@pytest.mark.parametrize("stop", [ValueError, KeyboardInterrupt, SystemExit])
def test_a_stopped_folder_leaves_nothing(tmp_path: Path, stop: type[BaseException]) -> None:
    with pytest.raises(stop), new_folder(tmp_path / "folder") as temporary:
        (temporary / "part").write_text("half")
        raise stop
    assert names(tmp_path) == []


def test_a_taken_place_needs_force(tmp_path: Path) -> None:
    place = saved(tmp_path / "folder", "old")
    with pytest.raises(BundleError, match="--force"):
        saved(place, "new")
    assert (place / "content").read_text() == "old"
    saved(place, "new", force=True)
    assert (place / "content").read_text() == "new"
    assert names(tmp_path) == ["folder"]


def test_force_does_not_replace_what_is_no_model(tmp_path: Path) -> None:
    (tmp_path / "letters").mkdir()
    (tmp_path / "letters" / "dear.txt").write_text("precious")
    with pytest.raises(BundleError, match="no saved model"):
        check_free(tmp_path / "letters", force=True)
    with pytest.raises(BundleError, match="is a file"):
        check_free(tmp_path / "letters" / "dear.txt", force=True)


def test_the_old_folder_survives_a_failed_replacement(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = saved(tmp_path / "folder", "old")
    rename = Path.rename

    def broken(self: Path, target: Path) -> Path:
        if (self / "content").read_text() == "new":
            raise OSError(errno.EIO, "broken disk")
        return rename(self, target)

    monkeypatch.setattr(files, "_exchanged", lambda one, other: False)
    monkeypatch.setattr(Path, "rename", broken)
    with pytest.raises(OSError, match="broken disk"):
        saved(place, "new", force=True)
    assert (place / "content").read_text() == "old"
    assert names(tmp_path) == ["folder"]


@pytest.mark.parametrize("when", ["writing", "syncing"])
def test_a_full_disk_is_explained_and_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, when: str
) -> None:
    def full(descriptor: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    if when == "syncing":
        monkeypatch.setattr(os, "fsync", full)
    with (
        pytest.raises(BundleError, match=r"disk is full.*Free some space"),
        new_folder(tmp_path / "folder") as at,
    ):
        (at / "file").write_text("something")
        if when == "writing":
            full(0)
    with pytest.raises(BundleError, match="disk is full"), new_file(tmp_path / "file"):
        full(0)
    assert names(tmp_path) == []


def test_a_place_inside_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(BundleError, match="cannot be made"):
        write_text(tmp_path / "file" / "inside", "x")


def test_new_folders_obey_the_umask(tmp_path: Path) -> None:
    before = os.umask(0o022)
    try:
        assert saved(tmp_path / "folder", "x").stat().st_mode & 0o777 == 0o755
    finally:
        os.umask(before)


def test_force_spares_a_folder_that_only_looks_like_a_model(tmp_path: Path) -> None:
    app = tmp_path / "app"
    app.mkdir()
    (app / "manifest.json").write_text('{"files": {"index.html": {}}}')
    (app / "index.html").write_text("precious")
    with pytest.raises(BundleError, match="no saved model"):
        check_free(app, force=True)


@pytest.mark.parametrize("name", ["notes.txt", ".git/head", "codec/mine"])
def test_force_spares_and_names_a_file_laid_beside_a_model(tmp_path: Path, name: str) -> None:
    place = saved(tmp_path / "folder", "old")
    (place / name).parent.mkdir(exist_ok=True)
    (place / name).write_text("precious")
    with pytest.raises(BundleError, match=name):
        saved(place, "new", force=True)
    assert (place / name).read_text() == "precious"


def test_force_spares_a_linked_folder_inside_a_model(tmp_path: Path) -> None:
    place = saved(tmp_path / "folder", "old")
    (place / "elsewhere").symlink_to(tmp_path)
    with pytest.raises(BundleError, match="elsewhere"):
        check_free(place, force=True)


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux can let two folders change places")
def test_there_is_no_moment_without_a_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = saved(tmp_path / "folder", "old")

    def refuse(self: Path, target: Path) -> Path:
        raise AssertionError("two renames, and a moment between them")

    monkeypatch.setattr(Path, "rename", refuse)
    saved(place, "new", force=True)
    assert (place / "content").read_text() == "new"
    assert names(tmp_path) == ["folder"]


# Pipes stand for devices here: a real one might be lost to whoever breaks this and tests as root.
@pytest.mark.parametrize("name", ["pipe", "link"])
def test_a_pipe_is_written_to_and_stays_a_pipe(tmp_path: Path, name: str) -> None:
    pipe, found = tmp_path / "pipe", []
    os.mkfifo(pipe)
    (tmp_path / "link").symlink_to(pipe)
    reader = threading.Thread(target=lambda: found.append(pipe.read_bytes()), daemon=True)
    reader.start()
    write_text(tmp_path / name, "through")
    reader.join(10)
    assert found == [b"through"] and pipe.is_fifo() and names(tmp_path) == ["link", "pipe"]


def test_an_open_file_continues_where_it_stands(tmp_path: Path) -> None:
    with (tmp_path / "file").open("wb", buffering=0) as file:
        file.write(b"before ")
        write_text(f"/dev/fd/{file.fileno()}", "within")
        file.write(b" after")
    assert (tmp_path / "file").read_text() == "before within after"


def left(folder: Path, name: str, age: float = 3600.0) -> Path:
    """What a killed writer leaves."""
    path = folder / name
    path.mkdir()
    (path / "weights").write_bytes(b"half")
    os.utime(path, (time.time() - age,) * 2)
    return path


def test_what_killed_writers_left_is_removed(tmp_path: Path) -> None:
    dead = left(tmp_path, ".lm.01234567.partial")
    kept = [
        left(tmp_path, ".lm2.01234567.partial"),  # of another model
        left(tmp_path, ".lm.0123456.partial"),  # no name of ours
        left(tmp_path, ".lm.89abcdef.partial", age=1.0),  # its writer may be about to take the lock
        left(tmp_path, ".lm.01234567.old"),
    ]
    with new_folder(tmp_path / "lm") as folder:
        (folder / "a").write_text("a")
    assert not dead.exists() and all(path.exists() for path in kept)
    half = tmp_path / ".note.txt.01234567.partial"
    half.write_text("half")
    os.utime(half, (1.0, 1.0))
    write_text(tmp_path / "note.txt", "whole")
    assert not half.exists()


def test_what_a_living_writer_writes_is_left_alone(tmp_path: Path) -> None:
    with new_folder(tmp_path / "lm") as folder:
        os.utime(folder, (1.0, 1.0))
        with pytest.raises(BundleError), new_folder(tmp_path / "lm") as other:
            (other / "a").write_text("other")
            (tmp_path / "lm").write_text("")
        assert folder.is_dir()
        (tmp_path / "lm").unlink()
        (folder / "a").write_text("a")
    assert (tmp_path / "lm" / "a").read_text() == "a"


@pytest.mark.parametrize("name", ["a\0b", "\ud800"])
def test_a_name_that_no_file_can_have_is_refused(name: str, tmp_path: Path) -> None:
    with pytest.raises(BundleError, match="name of no file"), new_folder(tmp_path / name):
        pass
    with pytest.raises(BundleError, match="name of no file"), new_file(tmp_path / name):
        pass
    assert list(tmp_path.iterdir()) == []
