"""Arrays in JSON: their shape, their numbers as base64, little-endian, and nothing that has to be guessed."""

from __future__ import annotations

import math
from base64 import b64decode, b64encode
from collections.abc import Mapping
from typing import Any

import numpy as np

from chainrule.errors import DataError

KINDS = {"float16": "<f2", "float32": "<f4", "int32": "<i4"}
LARGE = 1 << 14  # numbers of an array that are kept with half precision
HALF = 65_504.0  # the largest number of half precision


def packed(value: Any) -> Any:
    """The same for JSON: arrays become objects, also inside lists and mappings; NaN and infinity become null."""
    if isinstance(value, np.ndarray):
        return _packed(value)
    if isinstance(value, np.generic):
        return packed(value.item())
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {str(name): packed(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [packed(one) for one in value]
    return value


def characters(value: Any) -> Any:
    """The same, halves of characters in its texts written out: they can be neither shown nor kept."""
    if isinstance(value, str):
        return value.encode("utf-8", "backslashreplace").decode()
    if isinstance(value, Mapping):
        return {characters(name): characters(one) for name, one in value.items()}
    return [characters(one) for one in value] if isinstance(value, list | tuple) else value


def _packed(array: np.ndarray) -> dict[str, Any]:
    kind = kind_of(array)
    numbers = np.ascontiguousarray(array, KINDS[kind])
    return {"shape": list(array.shape), "dtype": kind, "base64": b64encode(numbers.tobytes()).decode()}


def kind_of(array: np.ndarray) -> str:
    """How the numbers of an array are kept: large ones that fit with half precision."""
    if array.dtype.kind in "iub":
        return "int32"
    finite = array[np.isfinite(array)]
    fits = not len(finite) or float(np.abs(finite).max()) <= HALF
    return "float16" if array.size >= LARGE and fits else "float32"


def unpacked(value: Any) -> Any:
    """What `packed` was given."""
    if isinstance(value, Mapping):
        if set(value) == {"shape", "dtype", "base64"}:
            return _unpacked(value)
        return {name: unpacked(one) for name, one in value.items()}
    return [unpacked(one) for one in value] if isinstance(value, list) else value


def _unpacked(value: Mapping[str, Any]) -> np.ndarray:
    try:
        numbers = np.frombuffer(b64decode(value["base64"], validate=True), KINDS[value["dtype"]])
        return numbers.reshape([int(size) for size in value["shape"]])
    except (KeyError, ValueError, TypeError, OverflowError) as error:
        raise DataError(f"An array of this view is damaged ({error}). Save the view again.") from error
