"""Chunks (entities, phrases, arguments) written as tags of words: BIO and BIOES, and older ways that become them.

B-PER I-PER O          # BIO (IOB2): a chunk begins with B
I-PER I-PER O          # IOB1: it begins with I, and with B only beside another of its type
B-PER E-PER S-LOC O    # BIOES, also called BILOU (L and U for E and S) and BMES (M for I)

Chunks are found as conlleval and seqeval find them: also where tags break the rules, an I after O begins one.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

import numpy as np

OUTSIDE = "O"
LETTERS = {"B": "B", "I": "I", "M": "I", "E": "E", "L": "E", "S": "S", "U": "S"}
TAG = re.compile(rf"([{''.join(LETTERS)}])-(.+)", re.DOTALL)

Place = tuple[str, str]  # the letter of a tag, and the type of its chunk; "O" and nothing outside of any
Chunk = tuple[str, int, int]  # type, first and last word


def place(tag: str) -> Place:
    """B-PER is ("B", "PER"); what is no tag of a chunk is outside of all."""
    found = TAG.fullmatch(tag)
    if found:
        return LETTERS[found[1]], found[2]
    return (LETTERS[tag], "_") if tag in LETTERS else (OUTSIDE, "")


def scheme(tags: Iterable[str]) -> str | None:
    """BIO or BIOES, by all tags there are; None if they are no tags of chunks, but parts of speech, say."""
    tags = [tag for tag in tags if tag != OUTSIDE]
    typed = all(TAG.fullmatch(tag) for tag in tags)
    letters = {place(tag)[0] for tag in tags}
    if not tags or not (typed or {"B"} <= set(tags) <= set(LETTERS)) or not letters & {"B", "S"}:
        return None
    return "BIOES" if letters & {"E", "S"} else "BIO"


def chunks(places: Iterable[Place]) -> Iterator[Chunk]:
    """The chunks of one sentence, in order."""
    begin, before = -1, (OUTSIDE, "")
    at = -1
    for at, here in enumerate(places):
        if begin >= 0 and _ends(before, here):
            yield before[1], begin, at - 1
            begin = -1
        if _begins(before, here):
            begin = at
        before = here
    if begin >= 0:
        yield before[1], begin, at


def _ends(before: Place, here: Place) -> bool:
    return before[0] in "ES" or here[0] in "BSO" or before[1] != here[1]


def _begins(before: Place, here: Place) -> bool:
    if here[0] == OUTSIDE:
        return False
    return here[0] in "BS" or before[0] in "ESO" or before[1] != here[1]


def legal(tags: Sequence[str]) -> tuple[np.ndarray, np.ndarray, np.ndarray] | None:
    """Which tag may follow which (K, K), which may be first (K,) and which last (K,); None: there are no rules."""
    found = scheme(tags)
    if found is None:
        return None
    places = [place(tag) for tag in tags]
    closed = found == "BIOES"
    follows = np.array([[_may_follow(one, next, closed) for next in places] for one in places])
    first = np.array([one[0] not in "IE" for one in places])
    last = np.array([not (closed and one[0] in "BI") for one in places])
    return follows, first, last


def _may_follow(one: Place, next: Place, closed: bool) -> bool:
    """`closed`: a chunk that is open must be continued until its end is marked."""
    inside = one[0] in "BI" and one[1] == next[1]
    if next[0] in "IE":
        return inside
    return not (closed and one[0] in "BI")


def is_iob1(sentences: Iterable[Sequence[str]]) -> bool:
    """Whether chunks begin with I, and with B only where one of the same type comes just before."""
    inner = False
    for tags in sentences:
        before: Place = (OUTSIDE, "")
        for here in map(place, tags):
            apart = before[1] != here[1]
            if here[0] in "ES" or (here[0] == "B" and apart):
                return False
            inner |= here[0] == "I" and apart
            before = here
    return inner


def to_bio(tags: Sequence[str]) -> list[str]:
    """Tags of IOB1 as BIO."""
    found, before = [], ""
    for tag in tags:
        letter, kind = place(tag)
        found.append(f"B-{kind}" if letter == "I" and kind != before else tag)
        before = kind
    return found
