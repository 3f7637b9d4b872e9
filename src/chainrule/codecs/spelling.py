"""How symbols are spelled, for models that read words letter by letter: the bytes of their UTF-8."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from chainrule.symbols import BYTE_LETTER, FIRST, NO_LETTER, SPECIAL_LETTER, WORD_BEGIN, WORD_END

SHORTEST = 3  # letters: one, between the marks of begin and end


def spelled(words: Sequence[bytes], letters: int) -> np.ndarray:
    """(words, letters) int16: begin, bytes, end, then NO_LETTER; the end of a long word is cut off."""
    found = np.full((len(words), letters), NO_LETTER, np.int16)
    for row, word in zip(found, words, strict=True):
        some = word[: letters - 2]
        row[1 : 1 + len(some)] = np.frombuffer(some, np.uint8).astype(np.int16) + BYTE_LETTER
        row[0], row[1 + len(some)] = WORD_BEGIN, WORD_END
    return found


def spelled_specials(letters: int) -> np.ndarray:
    """(FIRST, letters) int16: every special symbol is a letter of its own."""
    found = np.full((FIRST, letters), NO_LETTER, np.int16)
    found[:, 0], found[:, 2] = WORD_BEGIN, WORD_END
    found[:, 1] = SPECIAL_LETTER + np.arange(FIRST)
    return found
