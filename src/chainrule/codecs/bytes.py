"""Bytes: every byte is a symbol, so that anything can be read."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Self

import numpy as np

from chainrule.codecs.base import Blocks, Codec, CodecConfig, Encoded, Texts, check_id
from chainrule.codecs.registry import register
from chainrule.runtime import compiled
from chainrule.symbols import BOS, EOS, FIRST, MASK, PAD, UNK


@compiled
def _spell(
    data: np.ndarray, starts: np.ndarray, ends: np.ndarray, opens: bool, closes: bool, out: np.ndarray
) -> int:
    """Write `BOS byte … byte EOS` for every sequence; give how many positions were written."""
    written = 0
    for sequence in range(len(starts)):
        if opens or sequence > 0:
            out[written] = BOS
            written += 1
        for position in range(starts[sequence], ends[sequence]):
            out[written] = FIRST + data[position]
            written += 1
        if closes or sequence < len(starts) - 1:
            out[written] = EOS
            written += 1
    return written


@register("bytes")
class Bytes(Codec):
    """The id of a byte is FIRST + its value; nothing is learnt and nothing is unknown."""

    reads_bytes = letters = shareable = True
    spaced = False

    def __init__(self, config: CodecConfig) -> None:
        self.config = config

    @property
    def size(self) -> int:
        return FIRST + 256

    @property
    def suppressed(self) -> tuple[int, ...]:
        return (PAD, BOS, UNK, MASK)

    @classmethod
    def learn(cls, blocks: Blocks, config: CodecConfig) -> Self:
        return cls(config)

    def encode(self, texts: Texts) -> Encoded:
        out = np.empty(int((texts.ends - texts.starts).sum()) + 2 * len(texts), np.int32)
        written = _spell(texts.data, texts.starts, texts.ends, texts.opens, texts.closes, out)
        return Encoded(out[:written])

    def symbol(self, number: int) -> str:
        return bytes([number - FIRST]).decode("ascii", "backslashreplace")

    def symbols_of(self, text: str) -> list[str]:
        return self.tokens(self.encode(Texts.of([text])).ids[1:-1])

    def decode(self, ids: Sequence[int] | np.ndarray) -> str:
        return self.decode_bytes(ids).decode("utf-8", "replace")

    def decode_bytes(self, ids: Sequence[int] | np.ndarray) -> bytes:
        """The very bytes of these ids, UTF-8 or not."""
        numbers = np.asarray(ids, np.int64).reshape(-1)
        for number in (numbers.min(initial=0), numbers.max(initial=0)):
            check_id(int(number), self.size)
        return (numbers[numbers >= FIRST] - FIRST).astype(np.uint8).tobytes()

    def save(self, folder: Path) -> None:
        pass  # the table of bytes is the same everywhere

    @classmethod
    def load(cls, folder: Path, config: CodecConfig) -> Self:
        return cls(config)
