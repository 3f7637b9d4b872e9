"""Make a large text with the statistics of a small one: `python benchmarks/corpus.py SMALL.txt LARGE.txt 75000000`.

Each word continues a random earlier occurrence of its last two words (or of one word, or of none), and now and then
a rare word is drawn from an endless Zipf list, so that the vocabulary grows as it does in real text.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

from chainrule.codecs.base import Texts
from chainrule.codecs.words import Words, WordsConfig
from chainrule.models.ngram.sort import sorted_positions
from chainrule.runtime import compiled
from chainrule.symbols import BOS, EOS

RARE = 1_000_000  # words of the endless list
LINES = 1 << 16  # sentences written at a time


@compiled
def _groups(stream, places, order):  # type: ignore[no-untyped-def]
    """For each position, where the sorted positions with the same `order` symbols begin and end."""
    low, high = np.zeros(len(stream), np.int64), np.zeros(len(stream), np.int64)
    begin = 0
    for j in range(1, len(places) + 1):
        same = j < len(places)
        for k in range(order):
            same = same and stream[places[j] + k] == stream[places[begin] + k]
        if not same:
            for i in range(begin, j):
                low[places[i]], high[places[i]] = begin, j
            begin = j
    return low, high


@compiled
def _walk(stream, pairs, pair_low, pair_high, singles, low, high, starts, words, lines, seed):  # type: ignore[no-untyped-def]
    """Ids of `lines` new sentences, EOS after each."""
    np.random.seed(seed)
    out = [np.int64(0)]
    for _ in range(lines):
        at = starts[np.random.randint(len(starts))] + 1
        while stream[at] != EOS:
            word = np.int64(stream[at])
            if np.random.random() < 0.02:
                word = words + np.int64(min(np.random.random() ** -3.5, RARE))
            out.append(word)
            way = np.random.random()
            if way < 0.62 and stream[at - 1] != BOS:
                at = pairs[np.random.randint(pair_low[at - 1], pair_high[at - 1])] + 2
            elif way < 0.97:
                at = singles[np.random.randint(low[at], high[at])] + 1
            else:
                at = np.random.randint(1, len(stream) - 1)
                while stream[at] == BOS:
                    at = np.random.randint(1, len(stream) - 1)
        out.append(np.int64(EOS))
    return np.array(out[1:])


def main(small: Path, large: Path, wanted: int) -> None:
    """Write `large` with about `wanted` words."""
    texts = Texts.of(small.read_bytes().split(b"\n")[:-1])
    codec = Words.learn(lambda: [texts], WordsConfig())
    stream = codec.encode(texts).ids
    pairs, singles = (sorted_positions(stream, None, codec.size, n) for n in (2, 1))
    groups = (pairs, *_groups(stream, pairs, 2), singles, *_groups(stream, singles, 1))
    names = np.array([*codec.tokens(range(codec.size)), *(f"w{i}" for i in range(RARE + 1))], object)
    starts, done, seed = np.flatnonzero(stream == BOS), 0, 0
    with large.open("w", encoding="utf-8") as file:
        while done < wanted:
            ids = _walk(stream, *groups, starts, codec.size, LINES, seed)
            file.write(" ".join(names[ids].tolist()).replace(" </s> ", "\n").removesuffix(" </s>") + "\n")
            done, seed = done + len(ids) - LINES, seed + 1
            print(f"{done:,} words", end="\r", file=sys.stderr, flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3]))
