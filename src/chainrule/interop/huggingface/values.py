"""JSON files of a Hugging Face folder: every value is checked, for anybody may have written them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from chainrule.errors import BundleError

LARGEST = 1 << 24  # rows, columns or layers
LARGEST_FILE = 1 << 28  # bytes of one without tensors


def content(path: Path) -> str:
    """The text of an ordinary file that is no larger than such files are; pipes and devices are not read."""
    try:
        if path.exists() and not path.is_file():
            raise BundleError(f"{path} is no ordinary file, and is not read. Copy the folder again.")
        if path.stat().st_size > LARGEST_FILE:
            raise BundleError(f"{path} has more than {LARGEST_FILE:,} bytes, and is not read.")
        return path.read_bytes().decode("utf-8")
    except OSError as error:
        raise BundleError(f"{path} cannot be read: {error.strerror}.") from error
    except UnicodeDecodeError as error:
        raise BundleError(f"{path} cannot be read as UTF-8: {error}.") from error


@dataclass(frozen=True)
class Values:
    """A JSON object and where it stands."""

    path: Path
    found: Mapping[str, Any]

    @classmethod
    def read(cls, path: Path) -> Values:
        """From a file; one that is not there holds nothing."""
        try:
            values = json.loads(content(path)) if path.exists() else {}
        except (ValueError, RecursionError) as error:
            raise BundleError(
                f"{path} is damaged: it is not JSON ({error}). Copy the folder again."
            ) from error
        if not isinstance(values, dict):
            raise BundleError(f"{path} should hold a JSON object, not {type(values).__name__}.")
        return cls(path, values)

    def whole(self, name: str, usual: int | None) -> Any:
        """A whole number above 0, as large as sizes of models are, or what is usual."""
        value = self.found.get(name)
        value = usual if value is None else value
        if value is not None and (type(value) is not int or not 1 <= value <= LARGEST):
            raise self.error(f"{name} should be a whole number from 1 to {LARGEST:,}, not {value!r}")
        return value

    def number(self, name: str, usual: float) -> float:
        """A number, or what is usual."""
        value = self.found.get(name, usual)
        if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) < LARGEST:
            raise self.error(f"{name} should be a number below {LARGEST:,}, not {value!s:.40}")
        return float(value)

    def text(self, name: str, usual: str) -> str:
        """A word, or what is usual."""
        value = self.found.get(name, usual)
        if not isinstance(value, str):
            raise self.error(f"{name} should be a word, not {value!r}")
        return value

    def flag(self, name: str, usual: bool) -> bool:
        """Yes or no, or what is usual."""
        value = self.found.get(name)
        return usual if value is None else bool(value)

    def expect(self, name: str, wanted: Any) -> None:
        """Refuse a setting that is not as our family has it."""
        value = self.found.get(name)
        if value is not None and value != wanted:
            raise self.error(f"{name} is {value!r}, and chainrule knows only {wanted!r}")

    def error(self, message: str) -> BundleError:
        return BundleError(f"{self.path}: {message}. Models with other settings cannot be imported.")
