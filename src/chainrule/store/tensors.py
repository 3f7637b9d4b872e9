"""Arrays on disk in the safetensors format, written and read without a second copy in memory.

A file is: the length of the header (8 bytes, little-endian), the header (JSON: name -> dtype, shape, where),
then the numbers. Arrays with wide numbers come first, so every one begins at a multiple of its own width.
"""

from __future__ import annotations

import json
import math
import mmap
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from chainrule.errors import BundleError
from chainrule.store.files import new_file

DTYPES = {
    "F64": "<f8",
    "F32": "<f4",
    "F16": "<f2",
    "I64": "<i8",
    "I32": "<i4",
    "I16": "<i2",
    "I8": "|i1",
    "U64": "<u8",
    "U32": "<u4",
    "U16": "<u2",
    "U8": "|u1",
    "BOOL": "|b1",
}
NAMES = {np.dtype(kind): name for name, kind in DTYPES.items()}
COARSE = (
    "BF16"  # the upper halves of F32; NumPy has no such numbers, so they are read as what they are halves of
)
LARGEST_HEADER = 100_000_000  # as the safetensors library has it
DIMENSIONS, LARGEST = 32, 1 << 60  # of an array; the numbers of one of F64 are counted in bytes
BLOCK = 1 << 24  # bytes handed to the disk at once


@dataclass(frozen=True)
class _Entry:
    """One line of the header."""

    name: str
    dtype: np.dtype
    shape: tuple[int, ...]
    begin: int  # in bytes, from the end of the header
    end: int
    bf16: bool = False

    @property
    def size(self) -> int:
        return math.prod(self.shape) * self.dtype.itemsize


def write(
    place: Path | str | BinaryIO, arrays: Mapping[str, np.ndarray], metadata: Mapping[str, str] | None = None
) -> None:
    """Stream arrays to disk, also memory-mapped ones larger than memory; a path is written atomically."""
    if isinstance(place, Path | str):
        with new_file(place) as file:
            write(file, arrays, metadata)
        return
    entries = _lay_out(arrays)
    place.write(_header(entries, metadata or {}))
    for entry in entries:
        for block in _blocks(arrays[entry.name], entry.dtype):
            place.write(block)


def read(path: Path | str) -> dict[str, np.ndarray]:
    """Memory-map all arrays of a file: nothing is read yet, and changing one never changes the file.

    Only numbers in BF16 are read, and become F32.
    """
    path = Path(path)
    try:
        if path.exists() and not path.is_file():
            raise BundleError(f"{path} is no ordinary file, and is not read.")
        with path.open("rb") as file:
            mapped = _map(file)
    except ValueError as error:
        raise BundleError(f"{path} is empty; a safetensors file was expected.") from error
    except OSError as error:
        raise BundleError(f"{path} cannot be opened: {error.strerror}.") from error
    try:
        start, header = _read_header(mapped)
        entries = [_entry(name, facts) for name, facts in header.items() if name != "__metadata__"]
        _check_layout(entries, len(mapped) - start)
    except (ValueError, RecursionError) as error:
        raise BundleError(f"{path} is not a sound safetensors file: {error}.") from error
    return {entry.name: _view(mapped, start, entry) for entry in entries}


def _map(file: BinaryIO) -> mmap.mmap:
    """The file as memory of our own, read when touched, copied where changed."""
    if sys.platform != "linux":
        return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY)
    # MAP_NORESERVE: without it Linux refuses to map more than memory and swap together could hold copies of.
    flags = mmap.MAP_PRIVATE | getattr(mmap, "MAP_NORESERVE", 0x4000)
    return mmap.mmap(file.fileno(), 0, flags, mmap.PROT_READ | mmap.PROT_WRITE)


def _lay_out(arrays: Mapping[str, np.ndarray]) -> list[_Entry]:
    little = {name: array.dtype.newbyteorder("<") for name, array in arrays.items()}
    entries, begin = [], 0
    for name in sorted(arrays, key=lambda name: (-little[name].itemsize, name)):
        if little[name] not in NAMES or name == "__metadata__":
            raise BundleError(
                f"Array {name!r} of {little[name]} cannot be saved; known: {', '.join(DTYPES)}."
            )
        entry = _Entry(name, little[name], arrays[name].shape, begin, begin + arrays[name].nbytes)
        entries.append(entry)
        begin = entry.end
    return entries


def _header(entries: list[_Entry], metadata: Mapping[str, str]) -> bytes:
    facts: dict[str, Any] = {"__metadata__": dict(metadata)} if metadata else {}
    for entry in entries:
        where = [entry.begin, entry.end]
        facts[entry.name] = {
            "dtype": NAMES[entry.dtype],
            "shape": list(entry.shape),
            "data_offsets": where,
        }
    text = json.dumps(facts, separators=(",", ":"), ensure_ascii=False).encode()
    text += b" " * (-len(text) % 8)  # so that the numbers begin at a multiple of 8
    return len(text).to_bytes(8, "little") + text


def _blocks(array: np.ndarray, dtype: np.dtype) -> Iterator[memoryview]:
    """The numbers in order, a block at a time; only a block that is not plain already is copied."""
    if not array.size:
        return
    if array.flags.c_contiguous and array.dtype == dtype:
        plain = array.reshape(-1).data.cast("B")
        for begin in range(0, len(plain), BLOCK):
            yield plain[begin : begin + BLOCK]
        return
    array = array[None] if array.ndim == 0 else array
    rows = max(1, BLOCK * len(array) // array.nbytes)
    for begin in range(0, len(array), rows):
        yield np.ascontiguousarray(array[begin : begin + rows], dtype).reshape(-1).data.cast("B")


def _read_header(mapped: mmap.mmap) -> tuple[int, dict[str, Any]]:
    """Where the numbers begin, and what the header says; raises ValueError with the reason."""
    length = int.from_bytes(mapped[:8], "little")
    if len(mapped) < 8 or length > min(len(mapped) - 8, LARGEST_HEADER):
        raise ValueError("its header is longer than the file")
    header = json.loads(mapped[8 : 8 + length].decode(), object_pairs_hook=_no_duplicates)
    if not isinstance(header, dict):
        raise ValueError("its header is not a JSON object")
    return 8 + length, header


def _no_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a name comes twice in its header")
    return found


def _entry(name: str, facts: Any) -> _Entry:
    if not isinstance(facts, dict) or set(facts) != {"dtype", "shape", "data_offsets"}:
        raise ValueError(f"array {name!r} wants dtype, shape and data_offsets")
    bf16 = facts["dtype"] == COARSE
    if not bf16 and facts["dtype"] not in list(DTYPES):  # a list, for what came may be unhashable
        raise ValueError(f"array {name!r} has the unknown dtype {facts['dtype']!r}")
    shape, where = facts["shape"], facts["data_offsets"]
    if not (_are_counts(shape) and _are_counts(where) and len(where) == 2):
        raise ValueError(f"array {name!r} has an odd shape or place")
    # numpy refuses these even where another dimension is 0 and there is nothing to hold
    if len(shape) > DIMENSIONS or math.prod(filter(None, shape)) >= LARGEST:
        raise ValueError(f"array {name!r} has a shape no array can have")
    dtype = np.dtype(DTYPES["U16" if bf16 else facts["dtype"]])
    return _Entry(name, dtype, tuple(shape), where[0], where[1], bf16)


def _are_counts(values: Any) -> bool:
    return isinstance(values, list) and all(type(value) is int and value >= 0 for value in values)


def _check_layout(entries: list[_Entry], available: int) -> None:
    """Every array has the bytes its shape needs, one after another, and they fill the file exactly."""
    position = 0
    for entry in sorted(entries, key=lambda entry: (entry.begin, entry.end)):
        if entry.end - entry.begin != entry.size:
            raise ValueError(
                f"array {entry.name!r} has {entry.end - entry.begin} bytes and needs {entry.size}"
            )
        if entry.begin != position:
            raise ValueError(f"array {entry.name!r} overlaps another one or leaves a gap")
        position = entry.end
    if position != available:
        raise ValueError(f"its arrays take {position} bytes and the file has {available}")


def _view(mapped: mmap.mmap, start: int, entry: _Entry) -> np.ndarray:
    if not entry.size:
        return np.empty(entry.shape, np.float32 if entry.bf16 else entry.dtype)
    count = entry.size // entry.dtype.itemsize
    flat = np.frombuffer(mapped, entry.dtype, count, start + entry.begin)
    if entry.bf16:
        flat = (flat.astype(np.uint32) << 16).view(np.float32)
    return np.require(flat, requirements="A").reshape(entry.shape)  # files of others may be unaligned
