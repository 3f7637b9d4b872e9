"""Files with a checksum inside: what a program keeps for itself, and reads again when it continues."""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from chainrule.config import to_json
from chainrule.errors import BundleError
from chainrule.store import manifest
from chainrule.store.files import new_file, write_text

SUM = "checksum"  # CRC-32
WIDTH = 4  # bytes of it


def write_json(path: Path, values: Mapping[str, Any], indent: int | None = None) -> None:
    """A JSON object and its checksum, all of it or nothing."""
    write_text(path, to_json({**values, SUM: _sum(to_json(values).encode())}, indent) + "\n")


def read_json(path: Path) -> dict[str, Any]:
    """What was written; anything else is refused."""
    values = manifest.read_json(path)
    if values.pop(SUM, None) != _sum(to_json(values).encode()):
        raise _damaged(path)
    return values


def write_bytes(path: Path, data: bytes) -> None:
    """Bytes and their checksum, all of it or nothing."""
    with new_file(path) as file:
        file.write(data + _sum(data).to_bytes(WIDTH, "little"))


def read_bytes(path: Path) -> bytes:
    """What was written; anything else is refused."""
    try:
        found = path.read_bytes()
    except OSError as error:
        raise BundleError(f"{path} cannot be read: {error.strerror}.") from error
    data, told = found[:-WIDTH], found[-WIDTH:]
    if _sum(data).to_bytes(WIDTH, "little") != told:
        raise _damaged(path)
    return data


def _sum(data: bytes) -> int:
    return zlib.crc32(data)


def _damaged(path: Path) -> BundleError:
    return BundleError(
        f"{path} is damaged: it is not what was written. Copy it again, or start from scratch with --force."
    )
