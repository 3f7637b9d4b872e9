"""From flat sequences of ids to n-grams: of words, and of letters across words, each a number of 64 bits."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from chainrule.models.readers import LETTER, WORD, Spelling
from chainrule.runtime import compiled
from chainrule.symbols import EOS

ORDERS = 8  # of word n-grams, at most
OFFSET, PRIME, EDGE = np.uint64(0xCBF29CE484222325), np.uint64(0x100000001B3), np.uint64(0xFFFFFFFF)
LETTERS = np.uint64(1 << 63)  # the bit that n-grams of letters have and those of words have not


@dataclass(frozen=True)
class Features:
    """All n-grams, in the order of the text."""

    hashes: np.ndarray  # (n-grams,) uint64
    places: np.ndarray  # (n-grams,) int64, where each ends
    sequences: np.ndarray  # (n-grams,) int64, of which sequence it is


def features(
    ids: np.ndarray, starts: np.ndarray, spelling: Spelling, words: int, letters: tuple[int, int]
) -> Features:
    """N-grams of up to `words` words, and of `letters` from and to so many; none where every symbol is a word."""
    low, high = letters if (spelling.kinds == LETTER).any() else (0, 0)
    given = (ids, starts, spelling.kinds, spelling.folded, words, low, high)
    nothing = np.empty(0, np.int64)
    count = _extract(*given, nothing.view(np.uint64), nothing, nothing)
    found = Features(np.empty(count, np.uint64), np.empty(count, np.int64), np.empty(count, np.int64))
    _extract(*given, found.hashes, found.places, found.sequences)
    return found


def of_letters(hashes: np.ndarray) -> np.ndarray:
    """Which n-grams (n,) are of letters."""
    found: np.ndarray = hashes >= LETTERS
    return found


@compiled
def _extract(
    ids: np.ndarray,
    starts: np.ndarray,
    kinds: np.ndarray,
    folded: np.ndarray,
    words: int,
    low: int,
    high: int,
    hashes: np.ndarray,
    places: np.ndarray,
    sequences: np.ndarray,
) -> int:
    """Fill the last three arrays if they have room, and say how much is needed."""
    count = 0
    past = np.zeros(ORDERS, np.uint64)  # the words before, the nearest first
    for sequence in range(len(starts)):
        end = starts[sequence + 1] if sequence + 1 < len(starts) else len(ids)
        first, known, place = count, 0, starts[sequence]
        while place < end:
            begin, kind = place, kinds[ids[place]]
            place += 1
            if ids[begin] == EOS:  # another text may follow
                known = 0
            if kind != LETTER and kind != WORD:
                continue
            while kind == LETTER and place < end and kinds[ids[place]] == LETTER:
                place += 1
            past[1:] = past[:-1].copy()
            past[0] = _word(folded[ids[begin:place]])
            known = min(known + 1, words)
            count = _word_grams(past, known, place - 1, count, hashes, places)
        if high:
            count = _letter_grams(ids, starts[sequence], end, kinds, folded, low, high, count, hashes, places)
        if len(hashes):
            sequences[first:count] = sequence
    return count


@compiled
def _word(spelt: np.ndarray) -> Any:
    """The number of a word."""
    found = OFFSET
    for letter in spelt:
        found = (found ^ np.uint64(letter)) * PRIME
    return found


@compiled
def _word_grams(
    past: np.ndarray, known: int, place: int, count: int, hashes: np.ndarray, places: np.ndarray
) -> int:
    """N-grams that end with the last word: of it alone, with the one before, and so on."""
    gram = OFFSET
    for order in range(known):
        gram = (gram ^ past[order]) * PRIME
        gram ^= gram >> np.uint64(29)
        if len(hashes):
            hashes[count], places[count] = gram & ~LETTERS, place
        count += 1
    return count


@compiled
def _letter_grams(
    ids: np.ndarray,
    begin: int,
    end: int,
    kinds: np.ndarray,
    folded: np.ndarray,
    low: int,
    high: int,
    count: int,
    hashes: np.ndarray,
    places: np.ndarray,
) -> int:
    """N-grams of the letters of a text; spaces in a row, BOS and EOS are one letter."""
    spelt, where = np.empty(end - begin, np.uint64), np.empty(end - begin, np.int64)
    length = 0
    for place in range(begin, end):
        space = kinds[ids[place]] != LETTER and kinds[ids[place]] != WORD
        if not (space and length and spelt[length - 1] == EDGE):
            spelt[length], where[length] = EDGE if space else np.uint64(folded[ids[place]]), place
            length += 1
    for first in range(length):
        gram = OFFSET
        for at in range(first, min(first + high, length)):
            if at > first and ids[where[at - 1]] == EOS:  # another text begins
                break
            gram = (gram ^ spelt[at]) * PRIME
            gram ^= gram >> np.uint64(31)
            if at - first + 1 < low:
                continue
            if len(hashes):
                hashes[count], places[count] = gram | LETTERS, where[at]
            count += 1
    return count


@compiled
def first_ones(index: np.ndarray, sequences: np.ndarray, size: int) -> np.ndarray:
    """Which n-grams (n,) are known, `index` >= 0, and have not come before in their sequence."""
    seen = np.full(size, -1, np.int64)
    keep = np.zeros(len(index), np.bool_)
    for at in range(len(index)):
        one = index[at]
        if one >= 0 and seen[one] != sequences[at]:
            seen[one] = sequences[at]
            keep[at] = True
    return keep
