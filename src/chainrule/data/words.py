"""Where words stand among the ids of a codec, and batches of sentences with a tag for every word.

A codec may read a word as one id or as several. Each different word is encoded by itself, once: how many ids it has
says where the next one begins, as for passages. A word is answered at its last id, when all of it has been read; a
mark has no answer.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property

import numpy as np

from chainrule.codecs.base import Codec, Texts
from chainrule.data.batches import Batch
from chainrule.data.conll import MARK
from chainrule.data.corpus import Corpus, Part
from chainrule.data.labelled import LabelledBatches, Windows
from chainrule.data.rows import LABEL, TEXT
from chainrule.data.tagged import BREAK, WORDS
from chainrule.errors import CodecError
from chainrule.symbols import BOS, EOS, FIRST, PAD, UNK

PLACES = "places"  # of the words of a batch


class WordPlaces:
    """The words of a part that want a tag: what they are, and where they stand among the flat ids."""

    def __init__(self, part: Part, codec: Codec) -> None:
        self.corpus = part[TEXT]
        self.first, self.lengths = self.corpus.starts, self.corpus.lengths
        every = _sentences(part[WORDS])
        self.sentences = [[word for word in words if word != MARK] for words in every]
        self.counts = np.array([len(words) for words in self.sentences], np.int64)  # (sentences,)
        self.places = self._places(every, codec)  # (words,)
        self.labels = part.get(LABEL)

    def __len__(self) -> int:
        return len(self.sentences)

    @cached_property
    def starts(self) -> np.ndarray:
        """(sentences + 1,) which word each begins with, and how many there are."""
        return np.concatenate([[0], np.cumsum(self.counts)])

    @cached_property
    def ids(self) -> np.ndarray:
        """(words,) the id each is answered at."""
        return np.asarray(self.corpus.ids[self.places])

    @cached_property
    def tags(self) -> np.ndarray:
        """(words,) the ids of the right tags, PAD where one is unknown or not given."""
        if self.labels is None:
            return np.full(len(self.places), PAD, np.int64)
        ids = np.asarray(self.labels.ids, np.int64)
        found = ids[(ids != BOS) & (ids != EOS)]
        return np.where(found == UNK, PAD, found)

    def _places(self, every: Sequence[Sequence[str]], codec: Codec) -> np.ndarray:
        """Word by word, from how many ids each has."""
        counts = np.array([len(words) for words in every], np.int64)
        rows = np.repeat(np.arange(len(every)), counts)
        sizes = np.ones(len(rows), np.int64)
        if not np.array_equal(counts, self.lengths):
            sizes = np.concatenate([sizes[:0], *_sizes(every, codec)])
        totals = np.bincount(rows, sizes, len(every)).astype(np.int64)
        wrong = np.flatnonzero(totals != self.lengths)
        if len(wrong):
            raise CodecError(
                f"The codec {codec.name} reads {self.lengths[wrong[0]]:,} symbols in a sentence whose words have "
                f"{totals[wrong[0]]:,} ({' '.join(every[wrong[0]]):.40}…): tags have no place. Use --codec words."
            )
        last = np.cumsum(sizes) - np.repeat(np.cumsum(totals) - totals, counts)  # from the sentence's BOS on
        asked = np.array([word != MARK for words in every for word in words], np.bool_)
        found: np.ndarray = (self.first[rows] + last)[asked]
        return found


def _sentences(corpus: Corpus) -> list[list[str]]:
    """The words of every sentence, from ids of bytes."""
    ids, starts = np.asarray(corpus.ids), corpus.starts
    text = np.where(ids < FIRST, 0, ids - FIRST).astype(np.uint8).tobytes()
    ends = np.append(starts[1:], len(ids)) - 1
    return [
        text[start + 1 : end].decode().split(BREAK)
        for start, end in zip(starts.tolist(), ends.tolist(), strict=True)
    ]


def _sizes(every: Sequence[Sequence[str]], codec: Codec) -> Iterator[np.ndarray]:
    """How many ids the words of each sentence have; all but the first stand after a space."""
    spelled = [[*words[:1], *(f" {word}" for word in words[1:])] for words in every]
    different = list(dict.fromkeys(word for words in spelled for word in words))
    encoded = codec.encode(Texts.of(different)).ids
    sizes = np.diff(np.flatnonzero(encoded == BOS), append=len(encoded)) - 2
    known = dict(zip(different, sizes.tolist(), strict=True))
    for words in spelled:
        yield np.array([known[word] for word in words], np.int64)


class TagBatches:
    """Sentences of similar length side by side, in another order every epoch; of a longer one a window, drawn every
    time. Targets (B, W) are the tags of the words of each, whose places (B, W) in the row are told, too.
    """

    def __init__(self, words: WordPlaces, rows: int, longest: int | None, seed: int = 0) -> None:
        self.words, self.longest = words, longest
        self.sentences = LabelledBatches(words.corpus, np.full(len(words), FIRST), rows, longest, seed)

    def __len__(self) -> int:
        return len(self.sentences)

    @property
    def windows(self) -> Windows:
        """All there is to read."""
        return self.sentences.windows

    def batch(self, epoch: int, number: int) -> Batch:
        return self.at(self.sentences.drawn(epoch, number))

    def at(self, some: np.ndarray) -> Batch:
        """These windows, and the tags of the words in them."""
        tokens, _ = self.sentences.tokens(some)
        which, places = self.inside(some)
        targets = np.where(which >= 0, self.words.tags[which], PAD)
        return Batch(tokens, targets, extra={PLACES: places})

    def inside(self, some: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The words (B, W) of these windows, -1 behind the last one, and their places (B, W) in them, then 0."""
        begin = self.words.first[self.windows.rows[some]] + self.windows.offsets[some]
        end = begin + self.windows.sizes[some] - 1  # the place of EOS
        first = np.searchsorted(self.words.places, begin, "right")
        counts = np.searchsorted(self.words.places, end) - first
        columns = np.arange(max(1, int(counts.max(initial=0))))[None]
        real = columns < counts[:, None]  # (B, W)
        which = np.where(real, first[:, None] + columns, -1)
        return which, np.where(real, self.words.places[which] - begin[:, None], 0)
