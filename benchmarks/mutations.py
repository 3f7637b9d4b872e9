"""What makes input hostile: bytes, values of JSON and arrays of a file, changed at random."""

from __future__ import annotations

import json
import math
import re
from pathlib import Path
from random import Random
from typing import Any

import numpy as np

from chainrule.store import tensors

PIECES = [
    *(
        b"\x00",
        b"\xff",
        b"\xff\xfe",
        b"\x80",
        b"\r",
        b"\n\n",
        b"\t",
        b'"',
        b"'",
        b",",
        b"{",
        b"[" * 2000,
        b"\\ud800",
    ),
    *(
        b"\\",
        b"-",
        b"-1",
        b"0",
        b"1e999",
        b"9" * 400,
        b"9" * 5000,
        b"NaN",
        b"null",
        b"true",
        b"\xe2\x80\xa8",
        b"\x1f",
    ),
]
VALUES: list[Any] = [
    None,
    True,
    -1,
    0,
    1,
    2**31,
    2**63,
    10**30,
    10**400,
    1.5,
    -0.0,
    math.nan,
    math.inf,
    -math.inf,
]
VALUES += ["", "x", "\ud800", "/etc/passwd", "../x", "-1", [], {}, [None], ["x"], [[-1]], {"x": 1}, [5] * 300]


def mutated(random: Random, data: bytes) -> bytes:
    """The same bytes with one to three changes."""
    found = bytearray(data)
    for _ in range(random.randint(1, 3)):
        at = random.randrange(len(found) + 1)
        end = min(len(found), at + random.choice([1, 1, 2, 8, 64, 1024]))
        change = random.randrange(7)
        if change == 0 and at < len(found):
            found[at] ^= 1 << random.randrange(8)
        elif change == 1:
            del found[at:end]
        elif change == 2:
            found[at:at] = random.choice(PIECES)
        elif change == 3:
            found[at:end] = random.choice(PIECES)
        elif change == 4:
            found[at:at] = found[at:end]
        elif change == 5:
            del found[at:]
        else:
            found = bytearray(_other_number(random, bytes(found)))
    return bytes(found)


def _other_number(random: Random, data: bytes) -> bytes:
    numbers = list(re.finditer(rb"-?\d+(?:\.\d+)?", data[: 1 << 16]))
    if not numbers:
        return data
    one = random.choice(numbers)
    return (
        data[: one.start()]
        + random.choice([b"-1", b"0", b"1e400", b"9" * 30, b"1.5", b"nan"])
        + data[one.end() :]
    )


def mutated_json(random: Random, data: bytes) -> bytes:
    """The same JSON with another value, or without one."""
    values = json.loads(data)
    places = list(_places(values))
    if not places:
        return mutated(random, data)
    holder, key = random.choice(places)
    if random.random() < 0.2:
        del holder[key]
    else:
        holder[key] = random.choice(VALUES)
    return json.dumps(values).encode()


def _places(values: Any) -> Any:
    keys = (
        values.keys() if isinstance(values, dict) else range(len(values)) if isinstance(values, list) else ()
    )
    for key in list(keys)[:300]:
        yield values, key
        yield from _places(values[key])


def changed(random: Random, path: Path) -> None:
    """Change a file; of JSON, half of the time a value."""
    data = path.read_bytes()
    if path.suffix == ".safetensors" and random.random() < 0.6:
        _change_tensors(random, path)
    elif path.suffix == ".json" and random.random() < 0.6:
        path.write_bytes(mutated_json(random, data))
    else:
        path.write_bytes(mutated(random, data))


def _change_tensors(random: Random, path: Path) -> object:
    """A sound file with other arrays in it."""
    arrays = {name: array.copy() for name, array in tensors.read(path).items()}
    if not arrays:
        return path.write_bytes(mutated(random, path.read_bytes()))
    name = random.choice(sorted(arrays))
    array, change = arrays[name], random.randrange(6)
    if change == 0:
        del arrays[name]
    elif change == 1:
        arrays[name] = array.reshape(-1)[: max(0, array.size - 1)]
    elif change == 2:
        arrays[name] = array.astype(random.choice([np.int8, np.int64, np.float64, np.float16]))
    elif change == 3 and array.size:
        odd = [np.nan, np.inf, -np.inf, 1e30] if array.dtype.kind == "f" else [-1, 2**31 - 1, 127, 0]
        array.reshape(-1)[random.randrange(array.size)] = np.array(random.choice(odd)).astype(array.dtype)
    elif change == 4:
        arrays[name] = np.concatenate([array, array]) if array.ndim else array.reshape(1)
    else:
        arrays[name + "x"] = array
    return tensors.write(path, arrays)
