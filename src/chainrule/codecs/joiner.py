"""A small tokeniser that can be undone: punctuation becomes a word of its own, marked where it was glued.

    Don't stop (yet)!   ->   Don ￭'￭ t stop (￭ yet ￭) ￭!

Punctuation is ASCII's, the general and CJK punctuation of Unicode, and ¡ « · » ¿. The joiner stands on the
side of the punctuation where no white space was; between two marks only the second carries it. The joiner
itself, met in a text, is punctuation and written `#￭#`. A `<unk>` between spaces stays whole.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from chainrule.codecs.base import Texts
from chainrule.runtime import compiled

JOINER = "￭"
ESCAPED = f"#{JOINER}#"  # neither begins nor ends with the joiner, so it cannot be taken for a glued mark
_MARK = np.frombuffer(JOINER.encode(), np.uint8)  # (3,)
_UNKNOWN = np.frombuffer(b"<unk>", np.uint8)


@compiled
def _width(data: np.ndarray, position: int, end: int) -> int:
    """How many bytes the punctuation at `position` has; 0 if there is none."""
    first = data[position]
    if first < 0x80:
        mark = 33 <= first <= 47 or 58 <= first <= 64 or 91 <= first <= 96 or 123 <= first <= 126
        return 1 if mark else 0
    if first == 0xC2 and position + 1 < end:
        second = data[position + 1]
        return 2 if second in (0xA1, 0xAB, 0xB7, 0xBB, 0xBF) else 0
    if first in (0xE2, 0xE3, 0xEF) and position + 2 < end:
        point = (first & 15) << 12 | (data[position + 1] & 63) << 6 | (data[position + 2] & 63)
        general = 0x2010 <= point <= 0x2027 or 0x2030 <= point <= 0x205E
        return (
            3 if general or 0x3001 <= point <= 0x3003 or 0x3008 <= point <= 0x3011 or point == 0xFFED else 0
        )
    return 0


@compiled
def _kept(data: np.ndarray, position: int, end: int, separators: np.ndarray, keep: np.ndarray) -> bool:
    """Whether the word `keep` stands alone at `position`, the beginning of a word."""
    after = position + len(keep)
    if after > end or (after < end and not separators[data[after]]):
        return False
    step = 0
    while step < len(keep) and data[position + step] == keep[step]:
        step += 1
    return step == len(keep)


@compiled
def _separate(
    data: np.ndarray,
    start: int,
    end: int,
    separators: np.ndarray,
    joiner: np.ndarray,
    keep: np.ndarray,
    out: np.ndarray,
    size: int,
) -> int:
    """Write one sequence to `out` from `size` on, a space around every mark; give where it ends."""
    position, glued = start, False  # glued: something other than white space came just before
    while position < end:
        if not glued and _kept(data, position, end, separators, keep):
            out[size : size + len(keep)] = keep
            size, position, glued = size + len(keep), position + len(keep), True
            continue
        width = _width(data, position, end)
        if width == 0:
            out[size] = data[position]
            glued = not separators[data[position]]
            size, position = size + 1, position + 1
            continue
        if glued:
            out[size] = 32
            out[size + 1 : size + 4] = joiner
            size += 4
        own = width == 3 and data[position] == 0xEF
        if own:
            out[size] = 35
            size += 1
        out[size : size + width] = data[position : position + width]
        size, position, glued = size + width, position + width, True
        if own:
            out[size] = 35
            size += 1
        if position < end and not separators[data[position]] and _width(data, position, end) == 0:
            out[size : size + 3] = joiner
            out[size + 3] = 32
            size, glued = size + 4, True
    return size


@compiled
def _split(
    data: np.ndarray,
    starts: np.ndarray,
    ends: np.ndarray,
    separators: np.ndarray,
    joiner: np.ndarray,
    keep: np.ndarray,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    out = np.empty(len(data) + 64, np.uint8)
    begins, stops = np.empty_like(starts), np.empty_like(ends)
    size = 0
    for sequence in range(len(starts)):
        most = size + 10 * (ends[sequence] - starts[sequence])  # `￭.￭` and two spaces for one byte
        if most > len(out):
            out = np.concatenate((out[:size], np.empty(most + len(out) - size, np.uint8)))
        begins[sequence] = size
        size = _separate(data, starts[sequence], ends[sequence], separators, joiner, keep, out, size)
        stops[sequence] = size
    return out[:size], begins, stops


def split(texts: Texts, separators: np.ndarray) -> Texts:
    """The same sequences with a space between words and punctuation."""
    data, starts, ends = _split(texts.data, texts.starts, texts.ends, separators, _MARK, _UNKNOWN)
    return Texts(data, starts, ends, texts.opens, texts.closes, texts.skipped)


def join(words: Iterable[str]) -> str:
    """The text these words were split from, one space where there was white space."""
    text, glued = [], True
    for word in words:
        left, core, right = _sides(word)
        text += ["" if glued or left else " ", core]
        glued = right
    return "".join(text)


def bare(word: str) -> str:
    """A word without its joiners, as it stood in the text."""
    return _sides(word)[1]


def _sides(word: str) -> tuple[bool, str, bool]:
    """Whether it is glued on the left, the word itself, and whether it is glued on the right."""
    left = len(word) > 1 and word.startswith(JOINER)
    right = len(word) > 1 and word.endswith(JOINER)
    core = word[left : len(word) - right]
    return left, JOINER if core == ESCAPED else core, right
