"""Which files belong to a folder, and whether they are still what was written.

Small files are always checked whole. Of a large one, evenly spread samples are, so that opening
gigabytes takes milliseconds; `whole=True` checks every byte.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import Any

from chainrule.errors import BundleError
from chainrule.store.files import MARK

LARGEST = 1 << 28  # bytes of a JSON file
LARGE = 32 << 20  # bytes from which samples stand for the whole
SAMPLES, SAMPLE = 64, 1 << 16  # how many, and how many bytes each


def write(folder: Path) -> None:
    """Describe every file of `folder` in its manifest."""
    paths = sorted(path for path in folder.rglob("*") if path.is_file() and path.name != MARK)
    files = {path.relative_to(folder).as_posix(): _describe(path) for path in paths}
    (folder / MARK).write_text(json.dumps({"files": files}, indent=2), encoding="utf-8")


def verify(folder: Path, whole: bool = False, wanted: Iterable[str] = ()) -> None:
    """Refuse a folder whose files are missing, changed, or not listed though `wanted`; name the file."""
    entries = _entries(folder)
    for name in wanted:
        if name not in entries:
            raise BundleError(
                f"{folder / MARK} is damaged: it does not list {name}. Copy or save the model again."
            )
    for name, facts in entries.items():
        path = folder / name
        if not path.is_file():
            raise BundleError(f"{path} is missing: the saved model is incomplete. Copy or save it again.")
        if not _unchanged(path, facts, whole):
            raise BundleError(f"{path} is damaged: it is not what was saved. Copy or save the model again.")


def read_json(path: Path) -> dict[str, Any]:
    """A JSON object from a file of a saved model."""
    if path.exists() and not path.is_file():
        raise BundleError(f"{path} is no plain file, and is not read: {path.parent} is no chainrule model.")
    try:
        if path.stat().st_size > LARGEST:
            raise BundleError(f"{path} has more than {LARGEST:,} bytes, and is not read: it is damaged.")
        value = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise BundleError(f"{path} is missing: {path.parent} is no complete chainrule model.") from error
    except OSError as error:
        raise BundleError(f"{path} cannot be read: {error.strerror}.") from error
    except (ValueError, RecursionError) as error:
        raise BundleError(f"{path} is damaged: it is not JSON. Copy or save the model again.") from error
    if not isinstance(value, dict):
        raise BundleError(f"{path} is damaged or foreign: a JSON object was expected.")
    return value


def sha256(path: Path) -> str:
    """The checksum of a whole file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def sampled(path: Path) -> str:
    """The checksum of evenly spread blocks, first and last included."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        last = max(0, path.stat().st_size - SAMPLE)
        for place in range(SAMPLES):
            file.seek(last * place // (SAMPLES - 1))
            digest.update(file.read(SAMPLE))
    return digest.hexdigest()


def _describe(path: Path) -> dict[str, Any]:
    size = path.stat().st_size
    facts = {"size": size, "sha256": sha256(path)}
    return facts | {"sampled": sampled(path)} if size > LARGE else facts


def _entries(folder: Path) -> dict[str, dict[str, Any]]:
    files = read_json(folder / MARK).get("files")
    if not isinstance(files, dict) or not all(isinstance(facts, dict) for facts in files.values()):
        raise BundleError(f"{folder / MARK} is damaged: it must list files. Copy or save the model again.")
    for name in files:
        if not _inside(name):
            raise BundleError(f"{folder / MARK} is damaged or foreign: {name!r} lies outside the folder.")
    return files


def _inside(name: str) -> bool:
    """Whether a name stays in its folder, on every system, and can be a name at all."""
    ways = (PurePosixPath(name), PureWindowsPath(name))
    return not any(way.is_absolute() or way.anchor or ".." in way.parts for way in ways) and "\0" not in name


def _unchanged(path: Path, facts: dict[str, Any], whole: bool) -> bool:
    size = path.stat().st_size
    if facts.get("size") != size:
        return False
    if size > LARGE and not whole:
        return facts.get("sampled") == sampled(path)
    return facts.get("sha256") == sha256(path)
