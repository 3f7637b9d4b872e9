"""Pictures and sounds as files: PNG and WAV, written with what Python has."""

from __future__ import annotations

import io
import struct
import wave
import zlib
from collections.abc import Callable, Sequence

Colour = tuple[int, int, int]
Inside = Callable[[float, float], bool]  # whether a point is part of a shape


def square(x: float, y: float, size: float) -> Inside:
    """A square around a middle, `size` from it to a side."""
    return lambda column, row: abs(column - x) <= size and abs(row - y) <= size


def circle(x: float, y: float, size: float) -> Inside:
    return lambda column, row: (column - x) ** 2 + (row - y) ** 2 <= size**2


def triangle(x: float, y: float, size: float) -> Inside:
    """One that stands on its side."""
    return lambda column, row: abs(row - y) <= size and 2 * abs(column - x) <= row - y + size


def cross(x: float, y: float, size: float) -> Inside:
    return lambda column, row: (
        min(abs(column - x), abs(row - y)) <= size / 3 and max(abs(column - x), abs(row - y)) <= size
    )


SHAPES: dict[str, Callable[[float, float, float], Inside]] = {
    "square": square,
    "circle": circle,
    "triangle": triangle,
    "cross": cross,
}


def drawn_pixels(side: int, ground: Colour, shapes: Sequence[tuple[Inside, Colour]]) -> list[list[Colour]]:
    """Rows of pixels; later shapes lie on top."""
    rows = [[ground] * side for _ in range(side)]
    for inside, colour in shapes:
        for row in range(side):
            for column in range(side):
                if inside(column + 0.5, row + 0.5):
                    rows[row][column] = colour
    return rows


def png(rows: Sequence[Sequence[Colour]]) -> bytes:
    """Rows of pixels as a PNG file, 8 bits for each of three colours."""
    header = struct.pack(">2I5B", len(rows[0]), len(rows), 8, 2, 0, 0, 0)
    lines = b"".join(b"\0" + bytes(one for pixel in row for one in pixel) for row in rows)
    parts = ((b"IHDR", header), (b"IDAT", zlib.compress(lines, 9)), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(map(_chunk, parts))


def _chunk(part: tuple[bytes, bytes]) -> bytes:
    name, data = part
    return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))


def wav(samples: Sequence[float], rate: int) -> bytes:
    """Samples from -1 to 1 as a WAV file of 16 bits."""
    held = io.BytesIO()
    with wave.open(held, "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(rate)
        whole = (max(-32767, min(32767, round(32767 * one))) for one in samples)
        file.writeframes(b"".join(struct.pack("<h", one) for one in whole))
    return held.getvalue()
