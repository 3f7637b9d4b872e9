"""Pairs of texts that share a word or do not: `same` or `other`. Either side alone says nothing about it."""

from __future__ import annotations

import numpy as np

WORDS = ["sun", "rain", "wind", "snow", "fog", "hail"]
FILLERS = ["the", "a", "so", "it"]


def paired(count: int, seed: int = 0, fillers: int = 2, words: int = len(WORDS)) -> dict[str, list[str]]:
    """Columns text, pair and label; every word stands on either side as often for one label as for the other."""
    random = np.random.default_rng(seed)
    rows = []
    for at in range(count):
        first = int(random.integers(words))
        second = first if at % 2 else int((first + random.integers(1, words)) % words)
        sides = [_side(WORDS[one], random, fillers) for one in (first, second)]
        rows.append((*sides, "same" if at % 2 else "other"))
    return {name: [row[at] for row in rows] for at, name in enumerate(("text", "pair", "label"))}


def _side(word: str, random: np.random.Generator, fillers: int) -> str:
    words = random.choice(FILLERS, random.integers(fillers + 1)).tolist()
    words.insert(int(random.integers(len(words) + 1)), word)
    return " ".join(words)
