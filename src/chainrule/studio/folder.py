"""The folder a studio is about: what is in it, and nothing outside it, wherever names or links lead."""

from __future__ import annotations

import os
import re
import secrets
import shutil
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from chainrule.errors import ChainruleError
from chainrule.store.files import CONFIG

OWN = ".studio"  # where a studio keeps jobs and what was deleted
DEEP, MANY, PREVIEW = 3, 500, 4_000  # folders below each other, files that are listed, bytes that are shown
NAME = re.compile(r"[^\W.][^/\\\x00-\x1f\x7f]{0,119}")
# Pictures, pages and sounds: they hold neither lines nor columns.
SHOWN = {".png", ".jpg", ".jpeg", ".gif", ".svg", ".html", ".pdf", ".wav"}
MAGIC = re.compile(r"[*?\[\]]")


class Outside(ChainruleError):
    """A name that leads out of the folder, or that is none."""


@dataclass(frozen=True)
class Folder:
    """A folder, with links resolved once."""

    root: Path

    @classmethod
    def of(cls, path: Path) -> Folder:
        return cls(path.resolve(strict=True))

    @property
    def own(self) -> Path:
        """What a studio has written down."""
        return self.root / OWN

    def inside(self, name: str) -> Path:
        """The path of a name as people give it, relative to the folder; it need not exist yet."""
        parts = PurePosixPath(name).parts
        hidden = any(part.startswith(".") for part in parts if part != ".")
        if not name or name.startswith(("/", "~", "-")) or "\\" in name or "\0" in name or hidden:
            raise Outside(
                f"{name!r} is no name of something in this folder. Names are such as data/book.txt."
            )
        found = self.root / name
        try:
            leads = found.resolve()
        except (OSError, RuntimeError) as error:
            raise Outside(f"{name!r} leads nowhere.") from error
        if not leads.is_relative_to(self.root):
            raise Outside(f"{name!r} leads out of the folder. Copy what it leads to into the folder.")
        return found

    def whole(self, name: str) -> Path:
        """The same for something that is there, with everything inside it."""
        found = self.inside(name)
        if not found.exists():
            raise Outside(f"There is no {name} in this folder.")
        for place, folders, names in os.walk(found):
            for one in (*folders, *names):
                path = Path(place, one)
                if path.is_symlink() and not path.resolve().is_relative_to(self.root):
                    raise Outside(f"{path.relative_to(self.root)} leads out of the folder. Remove that link.")
        return found

    def new(self, name: str) -> Path:
        """A name for something that is to be made, free and directly in the folder."""
        if not NAME.fullmatch(name) or MAGIC.search(name):
            raise Outside(
                f"{name!r} is no name to write under. Take letters, digits, - and _, such as my-model."
            )
        found = self.inside(name)
        if os.path.lexists(found):
            raise Outside(f"{name} exists already. Choose another name.")
        return found

    def value(self, value: str) -> str:
        """A setting that is a text: where it might name files, they must be inside the folder."""
        path = "/" in value or "\\" in value or value.startswith("~") or os.path.lexists(self.root / value)
        if value and (path or MAGIC.search(value)):
            self.whole(value)
        return value

    def files(self) -> list[dict[str, Any]]:
        """Files that may be data, the newest first; those of models are not listed."""
        found = sorted(self._files(self.root, 1), key=lambda one: one[1].st_mtime, reverse=True)[:MANY]
        return [
            {
                "name": path.relative_to(self.root).as_posix(),
                "bytes": state.st_size,
                "changed": state.st_mtime,
            }
            for path, state in found
        ]

    def _files(self, folder: Path, deep: int) -> Iterator[tuple[Path, os.stat_result]]:
        for path in sorted(entries(folder)):
            if path.is_dir():
                if deep < DEEP and not path.is_symlink() and not _made(path):
                    yield from self._files(path, deep + 1)
            elif (
                path.suffix.lower() not in SHOWN
                and path.is_file()
                and path.resolve().is_relative_to(self.root)
            ):
                yield path, path.stat()

    def beginning(self, name: str) -> str:
        """The first lines of a file, as text."""
        with self.whole(name).open("rb") as file:
            return file.read(PREVIEW).decode("utf-8", "replace")

    def bin(self, name: str) -> str:
        """Put something away; gives the name it has in the bin."""
        found = self.whole(name)
        place = self.own / "bin" / f"{time.strftime('%Y%m%d-%H%M%S')}-{secrets.token_hex(2)}"
        place.mkdir(parents=True)
        shutil.move(found, place / found.name)
        return f"{place.name}/{found.name}"

    def binned(self) -> list[dict[str, Any]]:
        """What is in the bin, the newest first."""
        places = sorted(entries(self.own / "bin"), reverse=True)
        return [
            {"binned": f"{place.name}/{found.name}", "name": found.name, "deleted": place.stat().st_mtime}
            for place in places
            for found in entries(place)
        ]

    def restore(self, binned: str) -> str:
        """Put something back that was in the bin."""
        place, _, name = binned.partition("/")
        found = self.own / "bin" / place / name
        if not re.fullmatch(r"[\w-]+", place) or not NAME.fullmatch(name) or not found.exists():
            raise Outside(f"There is no {binned} in the bin.")
        shutil.move(found, self.new(name))
        found.parent.rmdir()
        return name


def entries(folder: Path) -> list[Path]:
    """What is in a folder and is not hidden."""
    try:
        return [Path(one.path) for one in os.scandir(folder) if not one.name.startswith(".")]
    except OSError:
        return []


def _made(folder: Path) -> bool:
    """Whether the files of a folder are a model, a run or a comparison."""
    return folder.suffix == ".run" or (folder / CONFIG).is_file() or (folder / "report.html").is_file()
