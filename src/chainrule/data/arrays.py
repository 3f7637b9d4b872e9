"""Arrays of numbers in files of NumPy, .npy and .npz: nothing is unpickled, and nothing larger than it says is read."""

from __future__ import annotations

import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.lib import format as npy

from chainrule.data.paths import plain_suffix
from chainrule.errors import ChainruleError, DataError

SUFFIXES = (".npy", ".npz")
LARGEST = 1 << 33  # bytes of one array
OBJECTS = ("allow_pickle", "Object arrays", "Python objects")  # what NumPy says where it would unpickle
NUMBERS = "biuf"  # kinds of dtype that are numbers
HEADERS = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}


def is_arrays(path: Path) -> bool:
    """Whether a file holds arrays, by its name."""
    return plain_suffix(path) in SUFFIXES


def arrays(path: Path, name: str) -> Mapping[str, np.ndarray]:
    """The arrays of a file by name; that of a .npy file has none."""
    with _refusing(name):
        if plain_suffix(path) == ".npz":
            return dict(_members(path, name))
        return {"": _checked(np.load(path, mmap_mode="r", allow_pickle=False), name)}


@contextmanager
def _refusing(name: str) -> Iterator[None]:
    """Whatever is wrong with a file is a DataError."""
    try:
        yield
    except (ChainruleError, MemoryError):
        raise
    except Exception as error:  # whatever the readers of NumPy and of archives come upon
        told = str(error).strip().replace("\n", " ")
        if any(sign in told for sign in OBJECTS):
            raise _pickled(name) from error
        raise DataError(
            f"{name} cannot be read as an array of NumPy: {told:.200}. Save it with np.save or np.savez."
        ) from error


def _pickled(name: str) -> DataError:
    return DataError(
        f"{name} holds Python objects, which are never unpickled: that would run code of the file. Save plain arrays "
        "of numbers: sequences of different lengths as several arrays of one .npz, or each in a .npy of its own."
    )


def _members(path: Path, name: str) -> Iterator[tuple[str, np.ndarray]]:
    with zipfile.ZipFile(path) as archive:
        for info in archive.infolist():
            with archive.open(info) as file:
                _check_size(file, info.file_size, f"{name}, {info.filename}")
            with archive.open(info) as file:
                found = npy.read_array(file, allow_pickle=False)
            yield info.filename.removesuffix(".npy"), _checked(found, f"{name}, {info.filename}")


def _check_size(file: Any, size: int, name: str) -> None:
    """Refuse an array that is too large, or larger than what there is of it, before memory is taken for it."""
    read = HEADERS.get(npy.read_magic(file), npy.read_array_header_2_0)
    shape, _, dtype = read(file)
    if dtype.hasobject:
        raise _pickled(name)
    wanted = dtype.itemsize * int(np.prod(shape, dtype=object))
    if wanted > min(size, LARGEST):
        raise DataError(
            f"{name} says that it has {wanted:,} bytes, and holds {size:,}; at most {LARGEST:,} are read. "
            "It is damaged, or should be saved in parts."
        )


def _checked(found: np.ndarray, name: str) -> np.ndarray:
    if found.dtype.kind not in NUMBERS + "US":
        raise DataError(
            f"{name} is an array of {found.dtype}, and real numbers are wanted. Of complex ones give the real and the "
            "imaginary part, or amplitude and phase, as columns."
        )
    return found
