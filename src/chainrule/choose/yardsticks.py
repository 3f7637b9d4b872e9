"""Everyday yardsticks: what compressors of files need for the held-out part when they have seen the training part.

compress(train + test) - compress(train), by xz, bzip2 and zstd with windows as long as they have them. A compressor is
a sequence model, too; one that learns should need fewer bits.
"""

from __future__ import annotations

import bz2
import lzma
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import zstandard

from chainrule.choose.plan import by_bytes, judged_on
from chainrule.codecs.base import Blocks
from chainrule.data.dataset import Prepared

YARDSTICKS = "yardsticks"
SHARE = 0.02  # of the time, at most
SPEED = 250_000.0  # bytes that all of them compress in a second, at least, once with the held-out part and once without
HELD = 0.25  # of the bytes that can be compressed, how many may be held out
WINDOW = 1 << 27  # bytes that are looked back at


def _xz(text: bytes) -> int:
    filters = [{"id": lzma.FILTER_LZMA2, "preset": 6, "dict_size": min(WINDOW, max(4096, len(text)))}]
    return len(lzma.compress(text, lzma.FORMAT_XZ, filters=filters))


def _zstd(text: bytes) -> int:
    long = zstandard.ZstdCompressionParameters.from_level(19, window_log=27, enable_ldm=True)
    return len(zstandard.ZstdCompressor(compression_params=long).compress(text))


COMPRESSORS: dict[str, Callable[[bytes], int]] = {
    "xz": _xz,
    "bzip2": lambda text: len(bz2.compress(text, 9)),
    "zstd": _zstd,
}


def yardsticks(prepared: Prepared, budget: float) -> dict[str, Any]:
    """Bits per byte, or per symbol, of the held-out part by name of the compressor; large data are cut to a part."""
    data, most = prepared.data, max(10_000, int(SHARE * budget * SPEED))
    assert data.test is not None
    test = judged_on(prepared)
    held = _first(data.test[data.main], int(HELD * most))
    learnt = _first(data.train[data.main], most - len(held))
    whole = _first(data.test[data.main], len(held) + 1) == held
    share = 1.0 if whole else len(held) / max(1, test.bytes)
    units = len(held) if by_bytes(prepared) else max(1.0, share * test.symbols)
    bits = {name: 8.0 * (size(learnt + held) - size(learnt)) / units for name, size in COMPRESSORS.items()}
    everything = whole and _first(data.train[data.main], len(learnt) + 1) == learnt
    return {"bits": bits, "train_bytes": len(learnt), "test_bytes": len(held), "whole": everything}


def _first(blocks: Blocks, most: int) -> bytes:
    """The beginning of a part, a line for every sequence."""
    found, size = [], 0
    for texts in blocks():
        found.append(b"\n".join(texts) + (b"\n" if texts.closes else b""))
        size += len(found[-1])
        if size >= most:
            break
    return b"".join(found)[:most]


def said(found: Mapping[str, Any], unit: str, rows: Sequence[Mapping[str, Any]]) -> str:
    """A sentence about them, beside the best model."""
    bits = found["bits"]
    told = ", ".join(f"{name} {value:.3f}" for name, value in bits.items())
    part = (
        ""
        if found["whole"]
        else f" (of the first {found['train_bytes']:,} and {found['test_bytes']:,} bytes)"
    )
    best = min(bits, key=lambda name: bits[name])
    beaten = [row for row in rows if row["bits"] < bits[best]]
    verdict = "" if not rows or beaten else f" No model here does better than {best}."
    return f"Compressors need, for the held-out part after the training part{part}: {told} {unit}.{verdict}"
