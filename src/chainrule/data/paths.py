"""From what a user names to files: a path, a folder, a pattern."""

from __future__ import annotations

import difflib
import errno
import os
import stat
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from glob import glob, has_magic
from pathlib import Path

from chainrule.data.streams import SUFFIXES
from chainrule.errors import DataError

FORMATS = {".jsonl": "jsonl", ".ndjson": "jsonl", ".csv": "csv", ".tsv": "tsv", ".parquet": "parquet"}
FORMATS |= {".conllu": "conllu", ".npy": "npy", ".npz": "npz"}
TEXT = ("", ".txt", ".text")  # suffixes of text in a folder; any file named by itself may be text
PIPES = ("/dev/fd/", "/dev/stdin", "/proc/self/fd/")  # what a shell calls the output of another program


@dataclass(frozen=True)
class FoundFiles:
    """The files behind a name, and what a user should know about them."""

    files: tuple[Path, ...]
    notes: tuple[str, ...] = ()


def find(given: str | os.PathLike[str], anything: bool = False) -> FoundFiles:
    """The files a user means; `anything`: all files of a folder, whatever their names say."""
    path = Path(given)
    state = _state(path)
    if state is None:
        return _pattern(given) if has_magic(str(given)) else _missing(path, isinstance(given, str))
    if stat.S_ISDIR(state.st_mode):
        return _folder(path, anything)
    if not stat.S_ISREG(state.st_mode):
        raise DataError(f"{path} is a pipe or a device, no file. Read it as standard input: - < {path}")
    return FoundFiles((path,))


def is_pipe(given: str | os.PathLike[str]) -> bool:
    """Whether a name stands for what another program writes: `-`, or a pipe the shell has opened."""
    name = os.fspath(given)
    if name == "-" or not name.startswith(PIPES):
        return name == "-"
    state = _state(Path(name))
    return state is not None and stat.S_ISFIFO(state.st_mode)


@dataclass(frozen=True)
class Stamp:
    """What tells whether a file is still the same one."""

    size: int  # bytes
    changed: int  # nanoseconds
    number: int  # of the inode

    @classmethod
    def of(cls, path: Path) -> Stamp:
        """The state of a file now."""
        state = _state(path)
        if state is None:
            raise DataError(f"{path} is not there any more.")
        return cls(state.st_size, state.st_mtime_ns, state.st_ino)


def missing(name: object) -> bool:
    """Whether an item of a list names nothing: no file, no folder, no pattern that fits, no pipe."""
    if not isinstance(name, str) or "\0" in name:
        return True
    return not (os.path.exists(name) or is_pipe(name) or glob(name, recursive=True))


def all_there(items: Sequence[str | os.PathLike[str]]) -> None:
    """Refuse a list in which some items name files and others do not: one of them is misspelt."""
    lost = [repr(item)[:200] for item in items if not isinstance(item, os.PathLike) and missing(item)]
    if lost:
        more = f" and {len(lost) - 5:,} more" if len(lost) > 5 else ""
        raise DataError(
            f"Some items of the list name files, but there is no file {', '.join(lost[:5])}{more}. "
            "Correct the names; strings that are data go in a list without file names."
        )


def plain_suffix(path: Path) -> str:
    """The suffix that says the format, behind a compression suffix."""
    return (Path(path.stem) if path.suffix.lower() in SUFFIXES else path).suffix.lower()


def _state(path: Path) -> os.stat_result | None:
    """What the system says of a path; None: it is not there, or no name at all."""
    try:
        return path.stat()
    except (FileNotFoundError, NotADirectoryError, ValueError):
        return None
    except OSError as error:
        if error.errno == errno.ENAMETOOLONG:
            return None
        raise DataError(f"{path} cannot be read: {error.strerror}.") from error


def _pattern(pattern: str | os.PathLike[str]) -> FoundFiles:
    files = tuple(Path(name) for name in sorted(glob(str(pattern), recursive=True)) if os.path.isfile(name))
    if not files:
        raise DataError(f"No file fits the pattern {pattern}. Try it with `ls`.")
    return FoundFiles(files)


def _missing(path: Path, string: bool) -> FoundFiles:
    if os.path.islink(path):
        raise DataError(f"{path} is a link to {os.readlink(path)}, which is not there.")
    near = difflib.get_close_matches(path.name, _names(path.parent), n=1)
    hint = f" Did you mean {path.parent / near[0]}?" if near else " Strings as data go in a list." * string
    raise DataError(f"There is no file {str(path)[:200]}.{hint}")


def _names(folder: Path) -> list[str]:
    try:
        return os.listdir(folder)
    except (OSError, ValueError):
        return []


def _folder(folder: Path, anything: bool) -> FoundFiles:
    """The data files below a folder in order of their names; the others are noted, hidden ones are not."""
    everything = sorted(_below(folder))
    files = tuple(path for path in everything if os.path.isfile(path) and (anything or _is_data(path)))
    taken = set(files)
    left = [str(path.relative_to(folder)) for path in everything if path not in taken]
    known = ", ".join(suffix for suffix in (*TEXT, *FORMATS) if suffix)
    advice = (
        f"read are {known} and names without a suffix; others by a pattern such as '{folder}/*', or --format"
    )
    if not files:
        others = f": there are {_listed(left)}" if left else ""
        raise DataError(f"The folder {folder} holds no readable file{others} ({advice}).")
    return FoundFiles(files, (f"left out of {folder}: {_listed(left)} ({advice})",) if left else ())


def _below(folder: Path) -> Iterator[Path]:
    """Everything below a folder that is no folder, and links to folders, which are not followed."""
    for place, folders, names in os.walk(folder, onerror=_unreadable):
        links = [name for name in folders if os.path.islink(os.path.join(place, name))]
        folders[:] = [name for name in folders if not name.startswith(".")]
        yield from (Path(place, name) for name in (*names, *links) if not name.startswith("."))


def _unreadable(error: OSError) -> None:
    raise DataError(f"The folder {error.filename} cannot be read: {error.strerror}.") from error


def _is_data(path: Path) -> bool:
    suffix = plain_suffix(path)
    return suffix in FORMATS or suffix in TEXT


def _listed(names: Sequence[str], most: int = 5) -> str:
    more = f" and {len(names) - most:,} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more
