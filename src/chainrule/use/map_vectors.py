"""`map-vectors`: a linear map from the vectors of one language to those of another, which translates words.

orthogonal: a rotation, by Procrustes analysis (Xing et al. 2015); linear: least squares (Mikolov et al. 2013).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from chainrule.errors import ConfigError, DataError
from chainrule.models.vectors import WordVectors
from chainrule.use.similar import Lexicon, lexicon, unit

if TYPE_CHECKING:
    from chainrule.bundle import Bundle

METHODS = ("orthogonal", "linear")
HELD = 5  # one source word in so many is held out
SIDES = 1024  # words looked up at once
Pairs = Sequence[tuple[str, str]]


@dataclass(frozen=True, eq=False)
class Mapped:
    """The source's words in the space of the target, and how well words that were held out were translated."""

    bundle: Bundle
    method: str
    pairs: int  # of the dictionary, both words known
    unknown: int  # with a word that has no vector
    held_out: int  # source words judged
    precision_at_1: float | None
    precision_at_5: float | None

    def to_dict(self) -> dict[str, Any]:
        """For scripts."""
        names = ("method", "pairs", "unknown", "held_out", "precision_at_1", "precision_at_5")
        return {name: getattr(self, name) for name in names}


def map_vectors(
    source: Bundle, target: Bundle, dictionary: Pairs, method: str = "orthogonal", seed: int = 1
) -> Mapped:
    """Learn a map from pairs of words; judged on source words held out, then learnt again from all of them."""
    if method not in METHODS:
        raise ConfigError(f"A map is {' or '.join(METHODS)}, not {method!r}.")
    ours, theirs = lexicon(source), lexicon(target)
    known = [(a, b) for a, b in dict.fromkeys(dictionary) if a in ours.numbers and b in theirs.numbers]
    unknown = len(dict.fromkeys(dictionary)) - len(known)
    if len(known) < 2:
        raise DataError(
            f"Only {len(known)} pairs of the dictionary have both words among the vectors; {unknown} have not. "
            "The first column is for words of the source, the second for those of the target."
        )
    kept, held = _split(known, seed)
    precisions = _judged(ours, theirs, _solved(ours, theirs, kept, method), held) if held else {}
    mapped = _applied(source, ours, _solved(ours, theirs, known, method))
    at = {f"precision_at_{k}": precisions.get(k) for k in (1, 5)}
    return Mapped(mapped, method, len(known), unknown, len({a for a, _ in held}), **at)


def _split(known: Pairs, seed: int) -> tuple[Pairs, Pairs]:
    """Pairs to learn from, and those of other source words to judge on."""
    words = list(dict.fromkeys(a for a, _ in known))
    order = np.random.default_rng(seed).permutation(len(words))
    away = {words[at] for at in order[: len(words) // HELD]}
    return [one for one in known if one[0] not in away], [one for one in known if one[0] in away]


def _solved(ours: Lexicon, theirs: Lexicon, pairs: Pairs, method: str) -> np.ndarray:
    """The matrix W (D, E) that makes x W nearest to y over all pairs."""
    x = ours.units[[ours.numbers[a] for a, _ in pairs]].astype(np.float64)  # (n, D)
    y = theirs.units[[theirs.numbers[b] for _, b in pairs]].astype(np.float64)  # (n, E)
    if method == "linear":
        found: np.ndarray = np.linalg.lstsq(x, y, rcond=None)[0]
        return found
    u, _, v = np.linalg.svd(x.T @ y, full_matrices=False)
    rotation: np.ndarray = u @ v
    return rotation


def _judged(ours: Lexicon, theirs: Lexicon, weights: np.ndarray, held: Pairs) -> Mapping[int, float]:
    """Precision at 1 and at 5: the share of source words with a right translation among so many."""
    right: dict[int, set[int]] = {}
    for a, b in held:
        right.setdefault(ours.numbers[a], set()).add(theirs.numbers[b])
    words, hits = list(right), {1: 0, 5: 0}
    for low in range(0, len(words), SIDES):
        some = words[low : low + SIDES]
        cosines = (ours.units[some] @ weights.astype(np.float32)) @ theirs.units.T  # (n, V)
        best = np.argsort(-cosines, axis=1, kind="stable")[:, :5]
        for k in hits:
            hits[k] += sum(bool(right[a] & set(row[:k].tolist())) for a, row in zip(some, best, strict=True))
    return {k: count / len(words) for k, count in hits.items()}


def _applied(source: Bundle, ours: Lexicon, weights: np.ndarray) -> Bundle:
    """The same words with mapped vectors; n-grams are mapped alike, so spelt words are, too."""
    body, matrix = ours.body, weights.astype(np.float32)
    table = unit(np.asarray(body.table)) @ matrix  # (V, E)
    buckets = {} if body.buckets is None else {"buckets": body.buckets @ matrix}
    config = replace(body.config, width=matrix.shape[1])
    return replace(source, body=WordVectors(config, {"vectors": table, **buckets}))
