"""What an encoder is given of every example: the ids of one source, or the frames and ids of several."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from chainrule.data.corpus import Corpus
from chainrule.data.labelled import padded
from chainrule.symbols import PADDING

Given = np.ndarray | tuple[np.ndarray, ...]


@dataclass(frozen=True)
class EncoderInputs:
    """The sources of all examples, one corpus for each kind."""

    corpora: tuple[Corpus, ...]

    @classmethod
    def of(cls, part: Mapping[str, Corpus], target: str) -> EncoderInputs:
        """All roles but the one that is written."""
        return cls(tuple(corpus for role, corpus in part.items() if role != target))

    @cached_property
    def lengths(self) -> np.ndarray:
        """(examples,) columns of all sources together, their ends not counted."""
        found: np.ndarray = sum((one.lengths for one in self.corpora[1:]), self.corpora[0].lengths)
        return found

    @cached_property
    def _starts(self) -> list[np.ndarray]:
        return [one.starts + 1 for one in self.corpora]

    @cached_property
    def _lengths(self) -> list[np.ndarray]:
        return [one.lengths for one in self.corpora]

    def select(self, rows: np.ndarray) -> EncoderInputs:
        """Those of some examples."""
        return EncoderInputs(tuple(one.select(rows) for one in self.corpora))

    def take(self, rows: np.ndarray) -> Given:
        """Of these examples: an array, or a tuple of as many as there are sources of several kinds."""
        columns = zip(self.corpora, self._starts, self._lengths, strict=True)
        found = tuple(_taken(one, starts[rows], lengths[rows]) for one, starts, lengths in columns)
        return found[0] if len(found) == 1 else found


def _taken(corpus: Corpus, starts: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    """Ids (B, S), with EOS where an end says something, or frames (B, S, F)."""
    if corpus.vectors is None:
        return padded(corpus.ids, starts, lengths + (not corpus.bare))
    columns = np.arange(max(1, int(lengths.max(initial=0))))[None]
    real = columns < lengths[:, None]  # (B, S)
    found = corpus.vectors[np.where(real, starts[:, None] + columns, 0)]
    if not real.all():
        found[~real] = PADDING
    return np.ascontiguousarray(found)
