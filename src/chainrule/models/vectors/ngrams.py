"""Character n-grams of words, hashed into buckets as in fastText: words that were never seen have vectors, too."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

OFFSET, PRIME, MASK = 2166136261, 16777619, 0xFFFFFFFF  # FNV-1a of 32 bits


def buckets_of(word: str, sizes: Sequence[int], buckets: int) -> list[int]:
    """The buckets of the n-grams of `<word>`, from the shortest to the longest of two `sizes`."""
    low, high = sizes
    letters = [letter.encode("utf-8", "surrogatepass") for letter in f"<{word}>"]
    found = []
    for first in range(len(letters)):
        for size in range(low, min(high, len(letters) - first) + 1):
            found.append(_hash(b"".join(letters[first : first + size])) % buckets)
    return found


def _hash(gram: bytes) -> int:
    found = OFFSET
    for byte in gram:
        signed = byte | 0xFFFFFF00 if byte & 0x80 else byte  # fastText reads bytes as signed
        found = ((found ^ signed) * PRIME) & MASK
    return found


def rows_of(words: Sequence[str], sizes: Sequence[int], buckets: int) -> tuple[np.ndarray, np.ndarray]:
    """The rows of a table that each word is made of, flat, and where they begin (V + 1,).

    The first V rows are those of the words themselves, those of the buckets follow.
    """
    lists = [
        [at, *(len(words) + one for one in buckets_of(word, sizes, buckets))] for at, word in enumerate(words)
    ]
    starts = np.concatenate([[0], np.cumsum([len(one) for one in lists], dtype=np.int64)])
    return np.array([row for one in lists for row in one], np.int64), starts


def own_rows(count: int) -> tuple[np.ndarray, np.ndarray]:
    """Every word is one row."""
    return np.arange(count, dtype=np.int64), np.arange(count + 1, dtype=np.int64)


def means(table: np.ndarray, rows: np.ndarray, starts: np.ndarray) -> np.ndarray:
    """The vector of every word (V, D): the mean of its rows."""
    sums = np.empty((len(starts) - 1, table.shape[1]), np.float32)
    for low in range(0, len(sums), STEP):
        high = min(low + STEP, len(sums))
        part = table[rows[starts[low] : starts[high]]]
        sums[low:high] = np.add.reduceat(part, starts[low:high] - starts[low], 0)
    return sums / np.diff(starts)[:, None].astype(np.float32)


STEP = 1 << 12  # words at a time
