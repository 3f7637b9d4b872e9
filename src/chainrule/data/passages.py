"""Questions and passages as one sequence `BOS question EOS passage EOS`, whose places are known to be words.

A codec may read a word as one id or as several, and knows nothing of characters. So every word is encoded by itself,
once: how many ids it has says where it stands among those of the passage, and where it stands in the text is known.
Answers run from the first character of a word to the last of a word: they are always a part of the passage.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np

from chainrule.codecs.base import Codec, Texts
from chainrule.data.batches import Batch
from chainrule.data.corpus import Corpus, Part
from chainrule.data.labelled import POOL
from chainrule.data.squad import ANSWER, NOWHERE, PASSAGE, QUESTION, WORD
from chainrule.errors import CodecError, ConfigError
from chainrule.symbols import BOS, EOS, FIRST, PAD, UNK

FRAME = 3  # BOS and two EOS
OVERLAP = 4  # two windows share the fourth part of what they hold
NOTHING, UNSEEN = -1, -2  # instead of a word: there is no answer; it does not stand in the passage
NULL = 1  # the target that means no answer; place p is NULL + 1 + p, so that none is PAD


@dataclass(frozen=True)
class Passage:
    """A text, and its words as characters and as ids."""

    text: str
    starts: np.ndarray  # (words,) the character a word begins with
    ends: np.ndarray  # (words,) the one after its last
    places: np.ndarray  # (words + 1,) how many ids come before each word, and how many there are
    ids: np.ndarray  # (places,) by the codec that was asked

    def between(self, first: int, last: int) -> str:
        """The text from one word to another."""
        return self.text[self.starts[first] : self.ends[last]]

    def words_of(self, start: int, end: int) -> tuple[int, int]:
        """The first and the last word of these characters."""
        first = int(np.searchsorted(self.ends, start, "right"))
        last = int(np.searchsorted(self.starts, end, "left")) - 1
        return (first, last) if first <= last else (UNSEEN, UNSEEN)

    def windows(self, room: int | None) -> list[tuple[int, int]]:
        """Words from … to before …, of which `room` ids hold as many as they can; a longer word is cut."""
        count, windows, first = len(self.starts), list[tuple[int, int]](), 0
        while room is not None and self.places[count] - self.places[first] > room:
            after = max(first + 1, int(np.searchsorted(self.places, self.places[first] + room, "right")) - 1)
            if after >= count:
                break
            windows.append((first, after))
            shared = self.places[first] + room - room // OVERLAP
            first = min(after, max(first + 1, int(np.searchsorted(self.places, shared))))
        return [*windows, (first, count)]


class Aligned:
    """The examples of a part: what is read, the words it stands for, and the right answers."""

    def __init__(self, part: Part, codec: Codec) -> None:
        self.corpus = part[QUESTION]
        self.starts, self.lengths = self.corpus.starts, self.corpus.lengths
        texts = [_text(one) for one in _sequences(part[PASSAGE])]
        known = _passages(list(dict.fromkeys(texts)), codec)
        self.passages = [known[text] for text in texts]
        self.asked = self.lengths - np.array([one.places[-1] for one in self.passages], np.int64)  # (N,)
        self.answers = [_answers(one) for one in _sequences(part[ANSWER])] if ANSWER in part else []
        self._check(codec)

    def __len__(self) -> int:
        return len(self.passages)

    def _check(self, codec: Codec) -> None:
        """Refuse a codec that reads a word otherwise beside others than alone."""
        for row, passage in enumerate(self.passages):
            end = self.starts[row] + 1 + self.lengths[row]
            own = self.corpus.ids[end - passage.places[-1] : end]
            if self.asked[row] < 1 or not ((own == passage.ids) | (passage.ids == UNK)).all():
                raise CodecError(
                    f"The codec {codec.name} does not read a text word by word, so that answers cannot be found in it. "
                    "Use --codec words, subwords or characters."
                )

    @cached_property
    def targets(self) -> np.ndarray:
        """(N, 2) first and last word of the first answer that has a place; NOTHING; UNSEEN if none has one."""
        found = [self._target(row) for row in range(len(self.answers))]
        return np.array(found, np.int64).reshape(-1, 2)

    def _target(self, row: int) -> tuple[int, int]:
        answers = self.answers[row]
        placed = [(text, start) for text, start in answers if start != NOWHERE]
        if not placed:
            return (UNSEEN, UNSEEN) if answers else (NOTHING, NOTHING)
        text, start = placed[0]
        return self.passages[row].words_of(start, start + len(text))

    def question(self, row: int, context: int | None) -> np.ndarray:
        """The ids of a question, of which half of a window is the most."""
        most = int(self.asked[row]) if context is None else min(int(self.asked[row]), _room(context) // 2)
        begin = self.starts[row] + 1
        return np.asarray(self.corpus.ids[begin : begin + most])

    def windows(self, row: int, context: int | None) -> list[tuple[int, int]]:
        """The words of each window of a passage."""
        room = None if context is None else _room(context) - len(self.question(row, context))
        return self.passages[row].windows(room)

    def tokens(self, row: int, window: tuple[int, int], context: int | None) -> np.ndarray:
        """`BOS question EOS words EOS`."""
        question, passage = self.question(row, context), self.passages[row]
        first = self.starts[row] + 1 + self.asked[row]
        begin, end = (first + passage.places[one] for one in window)
        if context is not None:
            end = min(end, begin + _room(context) - len(question))
        return np.concatenate([[BOS], question, [EOS], self.corpus.ids[begin:end], [EOS]]).astype(np.int64)


def _room(context: int) -> int:
    if context < FRAME + 2:
        raise ConfigError(
            f"A context of {context} has no room for a question and a passage: give at least {FRAME + 2}."
        )
    return context - FRAME


def _sequences(corpus: Corpus) -> Iterator[np.ndarray]:
    for start, length in zip(corpus.starts.tolist(), corpus.lengths.tolist(), strict=True):
        yield corpus.ids[start + 1 : start + 1 + length]


def _text(ids: np.ndarray) -> str:
    """The text of ids of bytes."""
    return bytes((ids - FIRST).astype(np.uint8)).decode()


def _answers(ids: np.ndarray) -> list[tuple[str, int]]:
    return [(str(text), int(start)) for text, start in json.loads(_text(ids))]


def _passages(texts: Sequence[str], codec: Codec) -> dict[str, Passage]:
    """Every text with its words; each different word is encoded once, after a space as it stands in a text."""
    found = [list(WORD.finditer(text)) for text in texts]
    different = list(dict.fromkeys(one.group() for words in found for one in words))
    encoded = dict(zip(different, _each(different, codec), strict=True))
    return {text: _passage(text, words, encoded) for text, words in zip(texts, found, strict=True)}


def _each(words: Sequence[str], codec: Codec) -> Iterator[np.ndarray]:
    ids = codec.encode(Texts.of([f" {word}" for word in words])).ids
    for one in np.split(ids, np.flatnonzero(ids == BOS)[1:]):
        yield one[1:-1]


def _passage(text: str, found: Sequence[re.Match[str]], encoded: dict[str, np.ndarray]) -> Passage:
    """Words that a codec does not see at all are none."""
    matches = [one for one in found if len(encoded[one.group()])]
    ids = [encoded[one.group()] for one in matches]
    places = np.concatenate([[0], np.cumsum([len(one) for one in ids], dtype=np.int64)]).astype(np.int64)
    starts = np.array([one.start() for one in matches], np.int64)
    ends = np.array([one.end() for one in matches], np.int64)
    return Passage(text, starts, ends, places, np.concatenate([np.empty(0, np.int32), *ids]))


@dataclass(frozen=True)
class Reading:
    """Windows side by side: what is read, and where answers may begin and end."""

    tokens: np.ndarray  # (B, T)
    passage: np.ndarray  # (B, T) whether it stands in the passage
    opens: np.ndarray  # (B, T) whether a word begins here
    closes: np.ndarray  # (B, T) whether one ends
    same: np.ndarray  # (B, T) whether it stands in the question, too

    @property
    def extra(self) -> dict[str, np.ndarray]:
        """For a batch."""
        return {"passage": self.passage, "opens": self.opens, "closes": self.closes, "same": self.same}


def reading(
    aligned: Aligned, rows: Sequence[int], windows: Sequence[tuple[int, int]], context: int | None
) -> Reading:
    """One window of each of these rows."""
    found = [aligned.tokens(row, window, context) for row, window in zip(rows, windows, strict=True)]
    shape = len(found), max(map(len, found))
    tokens, same = np.full(shape, PAD, np.int64), np.zeros(shape, np.float32)
    passage, opens, closes = (np.zeros(shape, np.bool_) for _ in range(3))
    for at, (row, (first, after)) in enumerate(zip(rows, windows, strict=True)):
        own, places = found[at], aligned.passages[row].places
        begin = len(aligned.question(row, context)) + 2
        last = len(own) - 2  # of the passage
        tokens[at, : len(own)], passage[at, begin : last + 1] = own, True
        opens[at, begin + places[first:after] - places[first]] = True
        closes[at, np.minimum(begin + places[first + 1 : after + 1] - places[first] - 1, last)] = True
        same[at, begin : last + 1] = np.isin(own[begin : last + 1], own[1 : begin - 1])
    return Reading(tokens, passage, opens, closes, same)


class PassageBatches:
    """Questions with their passages, of similar length side by side, in another order every epoch.

    Of a passage that is longer than the context a window is drawn, every other time the one with the answer.
    """

    def __init__(self, aligned: Aligned, rows: int, context: int | None, seed: int = 0) -> None:
        self.aligned, self.rows, self.context, self.seed = aligned, rows, context, seed
        self.known = np.flatnonzero(aligned.targets[:, 0] != UNSEEN)
        self.groups = lru_cache(maxsize=2)(self._groups)
        if not len(self.known):
            raise ConfigError("No answer stands in its passage, so that there is nothing to learn from.")

    def __len__(self) -> int:
        return -(-len(self.known) // self.rows)

    def batch(self, epoch: int, number: int) -> Batch:
        rows = self.groups(epoch)[number].tolist()
        random = np.random.default_rng([self.seed, epoch, number])
        windows = [self._drawn(row, random) for row in rows]
        read = reading(self.aligned, rows, windows, self.context)
        targets = [self._target(row, window) for row, window in zip(rows, windows, strict=True)]
        return Batch(read.tokens, np.array(targets, np.int64), extra=read.extra)

    def _drawn(self, row: int, random: np.random.Generator) -> tuple[int, int]:
        windows = self.aligned.windows(row, self.context)
        first, last = self.aligned.targets[row]
        having = [one for one in windows if one[0] <= first and last < one[1]]
        chosen = having if having and random.random() < 0.5 else windows
        return chosen[int(random.integers(len(chosen)))]

    def _target(self, row: int, window: tuple[int, int]) -> tuple[int, int]:
        """Where the answer begins and ends (NULL + 1 + place); NULL where it is not in the window."""
        first, last = self.aligned.targets[row].tolist()
        if first < window[0] or last >= window[1]:
            return NULL, NULL
        places = self.aligned.passages[row].places - self.aligned.passages[row].places[window[0]]
        begin = len(self.aligned.question(row, self.context)) + 2
        end = begin + int(places[last + 1]) - 1
        if self.context is not None:
            end = min(end, self.context - 2)
        return NULL + 1 + begin + int(places[first]), NULL + 1 + end

    def _groups(self, epoch: int) -> list[np.ndarray]:
        """The rows of every batch of an epoch."""
        random = np.random.default_rng([self.seed, epoch])
        order, sizes = random.permutation(self.known), self.aligned.lengths
        pools = [order[at : at + POOL * self.rows] for at in range(0, len(order), POOL * self.rows)]
        order = np.concatenate([pool[np.argsort(sizes[pool], kind="stable")] for pool in pools])
        groups = [order[at : at + self.rows] for at in range(0, len(order), self.rows)]
        return [groups[at] for at in random.permutation(len(groups))]
