"""Label sets: every sequence is some labels, or none; for classification where several may be right."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Self

import numpy as np

from chainrule.codecs.base import UNIT, Blocks, CodecConfig, Encoded, Texts
from chainrule.codecs.labels import Labels, LabelsConfig, in_order
from chainrule.codecs.registry import register
from chainrule.codecs.vocabulary import Vocabulary
from chainrule.config import option
from chainrule.symbols import BOS, EOS, UNK


@dataclass(frozen=True, kw_only=True)
class LabelSetsConfig(LabelsConfig):
    """What lies between two labels of a cell."""

    separator: str = option(",", "what separates the labels of a cell; an empty cell has none", hidden=True)


@register("label-sets")
class LabelSets(Labels):
    """`BOS l_1 … l_k EOS`, each label once, ascending; lists are labels as they are, texts are divided."""

    Config = LabelSetsConfig
    joins_rows = True
    config: LabelSetsConfig

    @classmethod
    def learn(cls, blocks: Blocks, config: CodecConfig) -> Self:
        assert isinstance(config, LabelSetsConfig)
        sets = (_labels(cell, config.separator) for texts in blocks() for cell in texts)
        counts = Counter(label for one in sets for label in one)
        kept = [label for label, count in counts.most_common(config.vocab) if count >= config.min_count]
        return cls(config, Vocabulary(tuple(in_order(kept)), len(kept) < len(counts)))

    def encode(self, texts: Texts) -> Encoded:
        known = {
            label: number for number, label in enumerate(self.vocabulary.symbols, self.size - self.count)
        }
        ids = list[int]()
        for cell in texts:
            own = [known.get(label, UNK) for label in _labels(cell, self.config.separator)]
            ids += [BOS, *sorted(own), EOS]
        found = np.array(ids, np.int32)
        return Encoded(found, int(np.count_nonzero(found == UNK)))

    def symbols_of(self, text: str) -> list[str]:
        return [one.decode() for one in _labels(text.encode(), self.config.separator)]


def _labels(cell: bytes, separator: str) -> list[bytes]:
    """The labels of a cell, each once."""
    between = UNIT if UNIT.encode() in cell else separator
    parts = (one.strip() for one in cell.split(between.encode()))
    return list(dict.fromkeys(one for one in parts if one))
