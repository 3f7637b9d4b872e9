"""N-grams of two texts read as `BOS a EOS b EOS`: of each by itself, those they share, and how many these are."""

from __future__ import annotations

import numpy as np

from chainrule.models.bag.features import PRIME, Features
from chainrule.symbols import EOS

SECOND, SHARED, AMOUNT = (
    np.uint64(one) for one in (0x42B2AE3D27D4EB4F, 0x165667B19E3779F9, 0x27D4EB2F165667C5)
)
# None has the bit that tells n-grams of letters from those of words.
STEPS = 10  # shares of n-grams in common are told in tenths


def of_pairs(found: Features, ids: np.ndarray, starts: np.ndarray) -> Features:
    """The same for single texts; of two, n-grams of the second have names of their own, and more are added."""
    ends = np.flatnonzero(ids == EOS)
    if len(ends) <= len(starts):
        return found
    firsts = ends[np.searchsorted(ends, starts)]  # (sequences,) where each first text ends
    second = found.places > firsts[found.sequences]  # (n-grams,)
    named = found.hashes ^ (found.sequences.astype(np.uint64) + np.uint64(1)) * PRIME  # by text and n-gram
    shared = np.zeros(len(named), np.bool_)
    shared[second] = np.isin(named[second], named[~second])
    shared[~second] = np.isin(named[~second], named[second])
    both = shared & second
    own = Features(np.where(second, found.hashes ^ SECOND, found.hashes), found.places, found.sequences)
    common = Features(found.hashes[both] ^ SHARED, found.places[both], found.sequences[both])
    return _in_order(own, common, _amounts(found.sequences, shared, firsts))


def _amounts(sequences: np.ndarray, shared: np.ndarray, firsts: np.ndarray) -> Features:
    """Which share of its n-grams a pair has in common, at least: 0.1, 0.2, … are features, too."""
    count = np.bincount(sequences, minlength=len(firsts))
    share = np.bincount(sequences, shared, len(firsts)) / np.maximum(1, count)
    reached = np.floor(share * STEPS + 1e-9).astype(np.int64)  # (sequences,) tenths
    rows = np.repeat(np.arange(len(firsts)), reached)
    step = np.arange(len(rows)) - np.repeat(np.cumsum(reached) - reached, reached)
    return Features(AMOUNT ^ step.astype(np.uint64), firsts[rows], rows)


def _in_order(*parts: Features) -> Features:
    """All of them, sequence by sequence."""
    sequences = np.concatenate([one.sequences for one in parts])
    order = np.argsort(sequences, kind="stable")
    hashes, places = (np.concatenate([getattr(one, name) for one in parts]) for name in ("hashes", "places"))
    return Features(hashes[order], places[order], sequences[order])
