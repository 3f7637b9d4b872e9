"""Data from Python: frames, series, arrays, dicts of columns, lists and generators.

Each becomes one of three things: names of files, texts, or a `Table` with columns by name. A list or an array inside
another is a sequence of symbols; a flat list of numbers is one sequence.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from chainrule.codecs.choose import FEW, Choice
from chainrule.data import tables
from chainrule.errors import DataError

PIXELS = 3  # dimensions of an image, and colours
LISTED = 10_000  # items that are looked at as names of files: asking the system takes time
EXPECTED = (
    "Give a path, a list of texts, a pandas or polars DataFrame or Series, an Arrow table, a dict of columns, a NumPy "
    "array, or lists of tokens or numbers."
)


@dataclass(frozen=True)
class Table:
    """Columns in memory, one row an example."""

    name: str  # what messages call it
    given: Any  # a frame, or columns by name
    names: tuple[str, ...]
    choice: Choice | None = None  # the codec that suits its only column, where its values say so

    def column(self, name: str) -> list[Any]:
        """The values of a column as plain Python values; None where there is none."""
        return self._columns[name]

    @cached_property
    def _columns(self) -> _Lazily:
        return _Lazily(self.given)

    def rows(self) -> Iterator[dict[str, Any]]:
        """Every row, all its columns by name."""
        for row in zip(*(self.column(name) for name in self.names), strict=True):
            yield dict(zip(self.names, row, strict=True))

    def cells(self, columns: Sequence[str | None], lists: bool) -> Iterator[tables.Located]:
        """The named columns of every row, as text."""
        names = [tables.column_of(self.name, one, self.names) for one in columns]
        values = tables.CellReader(lists)
        for number, row in enumerate(zip(*(self.column(name) for name in names), strict=True), 1):
            where = f"{self.name}, row {number}"
            yield where, values.cells(where, names, row)


class _Lazily(dict[str, list[Any]]):
    """Columns that are made plain when they are asked for: a frame may have many, and one is read."""

    def __init__(self, given: Any) -> None:
        super().__init__()
        self.given = given

    def __missing__(self, name: str) -> list[Any]:
        self[name] = [plain(value) for value in as_list(self.given[name])]
        return self[name]


def from_python(given: Any) -> Any:
    """What `read` understands: names of files, a list of texts, a `Table`, or one source for each role."""
    if isinstance(given, str | os.PathLike | Table) or hasattr(given, "check_unchanged"):
        return given
    if is_frame(given):
        return _frame(given)
    if isinstance(given, Mapping):
        return _mapping(given)
    if given is None or isinstance(given, bytes | int | float | set) or not isinstance(given, Iterable):
        raise DataError(f"Data cannot be read from {_described(given)}. {EXPECTED}")
    return _listed(as_list(given))


def is_frame(given: Any) -> bool:
    """Whether something has columns by name, as frames of pandas and polars and tables of Arrow have."""
    return hasattr(given, "columns") and (
        hasattr(given, "iloc") or hasattr(given, "get_column") or _is_arrow(given)
    )


def _is_arrow(given: Any) -> bool:
    return hasattr(given, "column_names") and hasattr(given, "to_pydict")


def _frame(given: Any) -> Table:
    names = given.column_names if _is_arrow(given) else given.columns
    if len(given) == 0 or len(names) == 0:
        raise DataError(f"The {type(given).__name__} has no rows or no columns. Give at least one of each.")
    return Table(f"the given {type(given).__name__}", given, tuple(map(str, names)))


def _mapping(given: Mapping[Any, Any]) -> Any:
    """A dict of columns is a table; one that names files, or holds opened data, has a source for each role."""
    columns = {name: value for name, value in given.items() if _is_column(value)}
    if len(columns) < len(given):
        scalars = [name for name, value in given.items() if not _is_source(value) and name not in columns]
        if scalars:
            raise DataError(
                f"A dict of columns was expected, and {scalars[0]!r} is {_described(given[scalars[0]])}. {EXPECTED}"
            )
        return given
    sizes = {str(name): len(as_list(value)) for name, value in columns.items()}
    if len(set(sizes.values())) > 1:
        listed = ", ".join(f"{name} has {size:,}" for name, size in sizes.items())
        raise DataError(f"The columns of a dict must be equally long: {listed}.")
    if not any(sizes.values()):
        raise DataError(f"The dict of columns is empty. {EXPECTED}")
    return Table(
        "the given dict", {str(name): as_list(value) for name, value in columns.items()}, tuple(sizes)
    )


def _is_source(value: Any) -> bool:
    return isinstance(value, str | os.PathLike | list | tuple) or hasattr(value, "check_unchanged")


def _is_column(value: Any) -> bool:
    """Whether something is a column of values, and not names of files."""
    if isinstance(value, str | bytes | os.PathLike | Mapping) or not isinstance(value, Iterable):
        return False
    return not (isinstance(value, list | tuple) and names_files(value))


def names_files(items: Sequence[Any]) -> bool:
    """Whether any of the first items names a file."""
    return any(isinstance(item, os.PathLike) or _is_file(item) for item in items[:LISTED])


def _is_file(item: object) -> bool:
    return isinstance(item, str) and os.path.isfile(item)


def as_list(given: Any) -> list[Any]:
    """Items of whatever holds some: a series, an array, a generator."""
    if getattr(given, "ndim", 0) == PIXELS + 1:  # images, one above the other
        return list(given)
    for name in ("to_pylist", "to_list", "tolist"):
        if hasattr(given, name):
            found = getattr(given, name)()
            return found if isinstance(found, list) else [found]
    return list(given)


def plain(value: Any) -> Any:
    """A value as Python has it; None where something is missing."""
    if value is None or isinstance(value, str | bytes | bool | int):
        return value
    if isinstance(value, float):
        return None if math.isnan(value) else value
    if getattr(value, "ndim", None) == 0:  # a number of NumPy
        return plain(value.item())
    if is_pixels(value):
        return told_pixels(value)
    if isinstance(value, list | tuple) or hasattr(value, "tolist") or hasattr(value, "to_pylist"):
        return [plain(one) for one in as_list(value)]
    if type(value).__name__ in ("NAType", "NaTType"):  # of pandas
        return None
    return value.isoformat() if hasattr(value, "isoformat") else value


def is_pixels(value: Any) -> bool:
    """Whether a value is an image: an array (H, W, 3) of bytes, or what Pillow holds."""
    return getattr(value, "ndim", 0) == PIXELS or (hasattr(value, "getbands") and hasattr(value, "tobytes"))


def told_pixels(value: Any) -> str:
    """An image as text, as the codec of images reads it."""
    from base64 import b64encode

    import numpy as np

    pixels = np.asarray(value.convert("RGB") if hasattr(value, "getbands") else value)
    if pixels.dtype != np.uint8 or pixels.shape[2] != PIXELS:
        raise DataError(
            f"An image is an array (height, width, 3) of uint8, and {pixels.shape} of {pixels.dtype} came. "
            "Numbers from 0 to 1 are turned by (255 * image).astype('uint8')."
        )
    height, width, _ = pixels.shape
    return f"data:image/x-rgb;size={width}x{height};base64,{b64encode(pixels.tobytes()).decode()}"


def _listed(items: list[Any]) -> Any:
    """Names of files and texts as they are; lists of tokens, and numbers, as a table with one column."""
    if names_files(items):
        return items
    values = [plain(item) for item in items]
    kinds = {_kind(value) for value in values if value is not None}
    if not any(value.strip() if isinstance(value, str | bytes) else value is not None for value in values):
        raise DataError("The list is empty or blank. Give at least one string with some text in it.")
    if kinds <= {"text"}:
        return ["" if value is None else value for value in values]
    if len(kinds) > 1:
        odd = next(value for value in values if value is not None and _kind(value) != _kind(_first(values)))
        raise DataError(
            f"All items of a list must be of one kind, and {_described(odd)} follows {_described(_first(values))}. "
            f"{EXPECTED}"
        )
    if kinds == {"other"}:
        raise DataError(f"A list of {type(_first(values)).__name__} cannot be read. {EXPECTED}")
    inner = values if kinds == {"number"} else [one for value in values if value for one in value]
    return Table(
        "the given list", {tables.USUAL: values}, (tables.USUAL,), _suiting(inner, kinds == {"number"})
    )


def _first(values: Sequence[Any]) -> Any:
    return next(value for value in values if value is not None)


def _kind(value: Any) -> str:
    if isinstance(value, str | bytes):
        return "text"
    if isinstance(value, list):
        return "list"
    return "number" if isinstance(value, int | float) else "other"


def _suiting(symbols: Sequence[Any], flat: bool) -> Choice:
    """The codec for symbols that are given as such."""
    what = "a list of numbers" if flat else "lists of numbers"
    known = [one for one in symbols if one is not None]
    if known and all(isinstance(one, int | float) for one in known):
        different = len(set(known))
        if different > FEW or any(isinstance(one, float) for one in known):
            return Choice("numbers", f"the data are {what}, {different:,} different ones")
        return Choice("events", f"the data are {what} with {different:,} different values")
    if all(isinstance(one, str) and one and not any(map(str.isspace, one)) for one in known):
        return Choice("words", "the data are lists of tokens, which are taken as they are")
    return Choice("events", "the data are lists of tokens with spaces inside, each of them one symbol")


def _described(value: Any) -> str:
    """What came, in a few words."""
    return f"{type(value).__name__} ({value!r:.40})"
