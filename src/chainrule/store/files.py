"""Writing so that nothing is ever half-written: build beside, then rename."""

from __future__ import annotations

import ctypes
import errno
import json
import os
import re
import shutil
import stat
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from chainrule.errors import BundleError
from chainrule.runtime import in_threads
from chainrule.store.partial import beside, held, sweep

FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
FORBIDDEN = (errno.EACCES, errno.EPERM, errno.EROFS)
MISPLACED = (errno.ENOTDIR, errno.EEXIST, errno.EISDIR, errno.ENAMETOOLONG)
LOCK = ".lock"
MARK = "manifest.json"  # lists the other files of a saved model
CONFIG, FORMAT = "config.json", "chainrule"  # the file that says whose folder it is, and what it says
OPENED = re.compile(r"/(?:dev|proc/self)/fd/(\d+)")  # what the system calls a file that is open already
STREAMS = {"/dev/stdout": "/dev/fd/1", "/dev/stderr": "/dev/fd/2"}
SYNCING = 8  # files at a time
HERE, EXCHANGE = -100, 2  # AT_FDCWD and RENAME_EXCHANGE of Linux


@contextmanager
def new_file(path: Path | str) -> Iterator[BinaryIO]:
    """A binary file that appears under its name when the block ends well, and not at all otherwise.

    A device, a pipe or an open file such as /dev/stdout is written to as it is, and stays what it is.
    """
    if is_stream(path):
        with _explained(Path(path)), _stream(path) as file:
            yield file
        return
    target = located(path)
    with _explained(target):
        temporary = beside(target)
        sweep(target)
        try:
            with temporary.open("xb") as file, held(temporary):
                yield file
                file.flush()
                os.fsync(file.fileno())
            temporary.replace(target)
            _sync_folder(target.parent)
        finally:
            temporary.unlink(missing_ok=True)


def located(path: Path | str) -> Path:
    """The place behind a name, wherever links lead; a name that no file can have is refused."""
    try:
        return Path(path).resolve()
    except ValueError as error:  # a NUL byte, or half of a character
        raise BundleError(
            f"{str(path)!r} can be the name of no file ({error}). Choose another name."
        ) from error


def is_stream(path: Path | str) -> bool:
    """Whether a place exists and takes bytes without being a file: a device, a pipe, an open file."""
    if opened_as(path) is not None:
        return True
    try:
        mode = os.stat(path).st_mode
    except (OSError, ValueError):
        return False
    return not (stat.S_ISREG(mode) or stat.S_ISDIR(mode))


def opened_as(path: Path | str) -> int | None:
    """The descriptor behind a name such as /dev/stdout or /dev/fd/3."""
    name = os.fspath(path)
    found = OPENED.fullmatch(STREAMS.get(name, name))
    return int(found[1]) if found else None


def _stream(path: Path | str) -> BinaryIO:
    """A copy of an open descriptor continues where it stands; opening its name would begin at the start."""
    descriptor = opened_as(path)
    return Path(path).open("wb") if descriptor is None else os.fdopen(os.dup(descriptor), "wb")


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """A stretch in which this process alone writes to a folder; one that another process writes to is refused."""
    try:
        import fcntl
    except ImportError:  # Windows
        yield
        return
    try:
        folder.mkdir(parents=True, exist_ok=True)
        file = (folder / LOCK).open("w")
    except OSError as error:
        raise BundleError(f"{folder} cannot be written to: {error.strerror}.") from error
    with file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise BundleError(
                f"Another process is writing to {folder}. Wait for it, or choose another folder."
            ) from error
        except OSError:  # a file system without locks
            pass
        yield


def write_text(path: Path | str, text: str) -> None:
    """Write a whole text file, all of it or nothing."""
    with new_file(path) as file:
        file.write(text.encode())


@contextmanager
def new_folder(path: Path | str, force: bool = False, known: Collection[str] = ()) -> Iterator[Path]:
    """A folder that appears under its name when the block ends well, and not at all otherwise.

    With `force` an older one is replaced, and kept until the new one is complete; `known` is as for `check_free`.
    """
    target = located(path)
    check_free(target, force, known)
    with _explained(target):
        temporary = beside(target)
        sweep(target)
        try:
            temporary.mkdir()
            with held(temporary):
                yield temporary
                _sync_tree(temporary)
                _put_in_place(temporary, target, force, known)
        finally:
            shutil.rmtree(temporary, ignore_errors=True)


def check_free(path: Path | str, force: bool = False, known: Collection[str] = ()) -> None:
    """Refuse a place that is taken; ask before hours of work, not after.

    `known` are names of files of which, beside saved models, a folder may consist that `force` replaces.
    """
    target = located(path)
    if not os.path.lexists(target):
        return
    if not target.is_dir():
        raise BundleError(f"{path} is a file, and a folder is to be written there. Choose another name.")
    if not force:
        raise BundleError(
            f"{path} exists already. Choose another name, or replace it with --force (force=True)."
        )
    foreign = _foreign(target, known)
    if foreign is not None:
        raise BundleError(
            f"{path} is no saved model, or not only: it holds {foreign}. So --force does not replace it. "
            "Choose another name."
        )


def _foreign(folder: Path, known: Collection[str]) -> str | None:
    """A file in a folder that belongs to no saved model; None: all of them are part of one."""
    files = sorted(os.path.relpath(name, folder) for name in _files(folder))
    known = {MARK, *_listed(folder)} if _field(folder / CONFIG, "format") == FORMAT else known
    return next((name for name in files if Path(name).as_posix() not in known), None)


def _files(folder: Path) -> Iterator[str]:
    """Every name inside a folder that is no folder itself; links are names, wherever they lead."""
    for place, folders, names in os.walk(folder):
        links = [name for name in folders if os.path.islink(os.path.join(place, name))]
        yield from (os.path.join(place, name) for name in (*names, *links))


def _listed(folder: Path) -> list[str]:
    files = _field(folder / MARK, "files")
    return list(files) if isinstance(files, dict) else []


def _field(path: Path, name: str) -> object:
    """One field of a JSON file; None where there is no such thing."""
    try:
        values = json.loads(path.read_bytes()) if path.is_file() else None
    except (OSError, ValueError, RecursionError):
        return None
    return values.get(name) if isinstance(values, dict) else None


def _put_in_place(temporary: Path, target: Path, force: bool, known: Collection[str]) -> None:
    check_free(target, force, known)  # somebody else may have written there meanwhile
    if not (target.exists() and _exchanged(temporary, target)):
        _renamed(temporary, target)
    _sync_folder(target.parent)


def _renamed(temporary: Path, target: Path) -> None:
    """The old folder steps aside, the new one takes its place; if it cannot, the old one comes back."""
    old = beside(target, "old")  # not a name that is swept: for a moment it is the only model
    if target.exists():
        target.rename(old)
    try:
        temporary.rename(target)
    except BaseException:
        if old.exists():
            old.rename(target)
        raise
    shutil.rmtree(old, ignore_errors=True)


def _exchanged(one: Path, other: Path) -> bool:
    """Let two names change places at once, so that no moment is without a model; not all systems can."""
    try:
        rename = ctypes.CDLL(None, use_errno=True).renameat2
    except (AttributeError, OSError, TypeError):
        return False
    return bool(rename(HERE, os.fsencode(one), HERE, os.fsencode(other), EXCHANGE) == 0)


def _sync_tree(folder: Path) -> None:
    """Side by side: a disk that is asked for several things at once does them in one go."""
    inside = list(folder.rglob("*"))
    in_threads(_sync_file, [path for path in inside if not path.is_dir()], SYNCING)
    in_threads(_sync_folder, [folder, *(path for path in inside if path.is_dir())], SYNCING)


def _sync_file(path: Path) -> None:
    with path.open("rb") as file:
        os.fsync(file.fileno())


def _sync_folder(folder: Path) -> None:
    """Ask the disk to remember names too; some systems cannot open a folder, and need not."""
    try:
        descriptor = os.open(folder, os.O_RDONLY)
    except OSError:
        return
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno in FULL:
            raise
    finally:
        os.close(descriptor)


@contextmanager
def _explained(target: Path) -> Iterator[None]:
    """Turn what the system says about a place into what a person can do about it."""
    try:
        yield
    except OSError as error:
        if error.errno in FULL:
            raise BundleError(
                f"The disk is full: {target} was not written. Free some space and try again."
            ) from error
        if error.errno in FORBIDDEN:
            raise BundleError(
                f"{target} may not be written ({error.strerror}). Choose another place."
            ) from error
        if error.errno in MISPLACED:
            raise BundleError(f"{target} cannot be made ({error.strerror}). Choose another name.") from error
        raise
