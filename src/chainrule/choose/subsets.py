"""Parts of the data for learning curves and quick decisions: smaller ones lie within larger ones."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from chainrule.data.corpus import Corpus, Part
from chainrule.symbols import BOS, EOS

LABELS, SYMBOLS, PAIRS = "labels", "symbols", "pairs"  # what there can be more of


def part(corpus: Corpus, fraction: float, seed: int) -> Corpus:
    """Some of the sequences, in an order of chance in which a smaller part lies within a larger one; or, of few long
    sequences, the beginning.
    """
    starts = corpus.starts
    if len(starts) < 64:
        ids = np.append(corpus.ids[: max(2, int(fraction * len(corpus.ids)))], EOS).astype(corpus.ids.dtype)
        return replace(corpus, ids=ids, sequences=int((ids == BOS).sum()), bytes=int(fraction * corpus.bytes))
    chosen = np.random.default_rng(seed).permutation(len(starts))[: max(2, int(fraction * len(starts)))]
    ends = np.append(starts[1:], len(corpus.ids))
    ids = np.concatenate([corpus.ids[starts[one] : ends[one]] for one in np.sort(chosen)])
    return replace(corpus, ids=ids, sequences=len(chosen), bytes=int(fraction * corpus.bytes))


def some(whole: Part, fraction: float, seed: int) -> Part:
    """Some of the examples, as `part` takes them; those of several roles stay together."""
    if len(whole) == 1:
        return Part({name: part(one, fraction, seed) for name, one in whole.items()})
    rows = np.random.default_rng(seed).permutation(whole.examples)
    return whole.select(np.sort(rows[: max(2, int(fraction * len(rows)))]))
