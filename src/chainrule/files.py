"""Writing so that nothing is ever half-written: build beside, then rename."""

from __future__ import annotations

import errno
import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from chainrule.errors import BundleError

FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
FORBIDDEN = (errno.EACCES, errno.EPERM, errno.EROFS)
MISPLACED = (errno.ENOTDIR, errno.EEXIST, errno.EISDIR, errno.ENAMETOOLONG)
MARK = "manifest.json"  # a folder that may be replaced holds this file, or nothing


@contextmanager
def new_file(path: Path | str) -> Iterator[BinaryIO]:
    """A binary file that appears under its name when the block ends well, and not at all otherwise."""
    target = Path(path).resolve()
    with _explained(target):
        temporary = _beside(target)
        try:
            with temporary.open("xb") as file:
                yield file
                file.flush()
                os.fsync(file.fileno())
            temporary.replace(target)
            _sync_folder(target.parent)
        finally:
            temporary.unlink(missing_ok=True)


def write_text(path: Path | str, text: str) -> None:
    """Write a whole text file, all of it or nothing."""
    with new_file(path) as file:
        file.write(text.encode())


@contextmanager
def new_folder(path: Path | str, force: bool = False) -> Iterator[Path]:
    """A folder that appears under its name when the block ends well, and not at all otherwise.

    With `force` an older one is replaced, and kept until the new one is complete.
    """
    target = Path(path).resolve()
    check_free(target, force)
    with _explained(target):
        temporary = _beside(target)
        try:
            temporary.mkdir()
            yield temporary
            _sync_tree(temporary)
            _put_in_place(temporary, target, force)
        finally:
            shutil.rmtree(temporary, ignore_errors=True)


def check_free(path: Path | str, force: bool = False) -> None:
    """Refuse a place that is taken; ask before hours of work, not after."""
    target = Path(path).resolve()
    if not os.path.lexists(target):
        return
    if not target.is_dir():
        raise BundleError(f"{path} is a file, and a folder is to be written there. Choose another name.")
    if not force:
        raise BundleError(
            f"{path} exists already. Choose another name, or replace it with --force (force=True)."
        )
    if any(target.iterdir()) and not (target / MARK).is_file():
        raise BundleError(f"{path} is no saved model, so --force does not replace it. Choose another name.")


def _beside(target: Path) -> Path:
    """A fresh name in the same folder, so that renaming stays on one disk; made folders obey the umask."""
    target.parent.mkdir(parents=True, exist_ok=True)
    return target.parent / f".{target.name}.{secrets.token_hex(4)}.partial"


def _put_in_place(temporary: Path, target: Path, force: bool) -> None:
    check_free(target, force)  # somebody else may have written there meanwhile
    old = _beside(target)
    if target.exists():
        target.rename(old)
    try:
        temporary.rename(target)
    except BaseException:
        if old.exists():
            old.rename(target)
        raise
    _sync_folder(target.parent)
    shutil.rmtree(old, ignore_errors=True)


def _sync_tree(folder: Path) -> None:
    for path in folder.rglob("*"):
        if path.is_dir():
            _sync_folder(path)
        else:
            with path.open("rb") as file:
                os.fsync(file.fileno())
    _sync_folder(folder)


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
