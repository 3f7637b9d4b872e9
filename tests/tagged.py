"""Tiny sentences with tags, made by rule."""

from __future__ import annotations

import numpy as np

NAMES = {"Anna": "PER", "Bob": "PER", "Rome": "LOC", "Oslo": "LOC", "Paris": "LOC"}
WORDS = ["sees", "and", "in", "the", "likes", "to"]
Tagged = tuple[list[str], list[str]]


def tagged(count: int, seed: int = 0) -> list[Tagged]:
    """Names of one or two words among other words: the second word of a name is `Smith` or `City`."""
    rng = np.random.default_rng(seed)
    found = []
    for _ in range(count):
        words, tags = [str(rng.choice(WORDS))], ["O"]
        for _ in range(rng.integers(1, 4)):
            name = str(rng.choice([*NAMES]))
            words.append(name)
            tags.append(f"B-{NAMES[name]}")
            if rng.random() < 0.4:
                words.append("Smith" if NAMES[name] == "PER" else "City")
                tags.append(f"I-{NAMES[name]}")
            more = int(rng.integers(0, 3))
            words += rng.choice(WORDS, more).tolist()
            tags += ["O"] * more
        found.append((words, tags))
    return found


def columns(rows: list[Tagged]) -> dict[str, list[list[str]]]:
    """As data for `fit`."""
    return {"text": [words for words, _ in rows], "label": [tags for _, tags in rows]}


def conll(rows: list[Tagged], separator: str = " ", prefix: str = "") -> str:
    """As a file of columns."""
    sentences = (
        "".join(f"{prefix}{word}{separator}{tag}\n" for word, tag in zip(*row, strict=True)) for row in rows
    )
    return "\n".join(sentences)
