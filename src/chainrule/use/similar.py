"""`similar`: the words whose vectors are nearest to that of a word, by cosine similarity."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import numpy as np

from chainrule.errors import ConfigError, ModelError, suggest
from chainrule.models.vectors import WordVectors
from chainrule.symbols import FIRST

if TYPE_CHECKING:
    from chainrule.bundle import Bundle


@dataclass(frozen=True)
class Neighbour:
    """A word and how like the query it is."""

    word: str
    similarity: float  # cosine

    def to_dict(self) -> dict[str, Any]:
        """For scripts."""
        return {"word": self.word, "similarity": self.similarity}


@dataclass(frozen=True)
class Similar:
    """The nearest words, nearest first."""

    word: str
    known: bool  # False: its vector was made of its n-grams
    neighbours: tuple[Neighbour, ...]

    def __iter__(self) -> Iterator[Neighbour]:
        return iter(self.neighbours)

    def to_dict(self) -> dict[str, Any]:
        """For scripts."""
        found = [one.to_dict() for one in self.neighbours]
        return {"word": self.word, "known": self.known, "neighbours": found}


class Lexicon:
    """The words of a model and their directions."""

    def __init__(self, bundle: Bundle) -> None:
        if not isinstance(bundle.body, WordVectors):
            raise ModelError(
                f"A {bundle.body.family} has no vectors of words to compare. Make some: chainrule fit TEXT --model "
                "vectors -o V, or chainrule import vectors FILE -o V."
            )
        self.body = bundle.body
        self.words = [bundle.codec.shown(number) for number in range(FIRST, bundle.codec.size)]
        self.numbers: Mapping[str, int] = {word: at for at, word in reversed(list(enumerate(self.words)))}
        self.units = unit(np.asarray(self.body.table[FIRST:]))  # (V, D)

    def vector(self, word: str) -> np.ndarray:
        """The direction (D,) of a word, known or spelt; refuses one of which nothing is known."""
        if word in self.numbers:
            found: np.ndarray = self.units[self.numbers[word]]
            return found
        spelt = self.body.spelt(word)
        if spelt is None:
            advice = suggest(word, self.words[:NEAR])
            raise ModelError(f"{word!r} is not among the {len(self.words):,} words. {advice}".rstrip())
        made: np.ndarray = unit(spelt[None])[0]
        return made

    def nearest(self, query: np.ndarray, k: int, without: Collection[str] = ()) -> tuple[Neighbour, ...]:
        """The `k` words nearest to a direction (D,)."""
        cosines = self.units @ query.astype(np.float32)  # (V,)
        cosines[[self.numbers[word] for word in without if word in self.numbers]] = -np.inf
        some = np.argpartition(-cosines, min(k, len(cosines)) - 1)[:k]
        order = some[np.lexsort((some, -cosines[some]))]
        found = ((self.words[at], float(cosines[at])) for at in order.tolist())
        return tuple(Neighbour(word, cosine) for word, cosine in found if np.isfinite(cosine))


NEAR = 50_000  # words that a misspelt one is compared with
_LEXICONS: WeakKeyDictionary[WordVectors, Lexicon] = WeakKeyDictionary()


def lexicon(bundle: Bundle) -> Lexicon:
    """That of a model; made once."""
    body = bundle.body
    if not isinstance(body, WordVectors):
        return Lexicon(bundle)
    if body not in _LEXICONS:
        _LEXICONS[body] = Lexicon(bundle)
    return _LEXICONS[body]


def unit(vectors: np.ndarray) -> np.ndarray:
    """The same directions (n, D), of length 1; zeros stay zeros."""
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    found: np.ndarray = (vectors / np.maximum(lengths, 1e-12)).astype(np.float32)
    return found


def check_count(k: int) -> None:
    """How many words may be asked for."""
    if isinstance(k, bool) or not isinstance(k, int) or k < 1:
        raise ConfigError(f"k says how many words are wanted, 1 or more, not {k!r}.")


def similar(bundle: Bundle, word: str, k: int = 10, among: Bundle | None = None) -> Similar:
    """The `k` words nearest to a word, itself left out.

    `among`: of another model whose vectors are in the same space, as `map-vectors` makes them.
    """
    check_count(k)
    own = lexicon(bundle)
    query, known = own.vector(word), word in own.numbers
    if among is None:
        return Similar(word, known, own.nearest(query, k, [word]))
    other = lexicon(among)
    if other.body.width != own.body.width:
        raise ModelError(
            f"The vectors have {own.body.width} and {other.body.width} numbers: they are not in one space. Map them "
            "first: chainrule map-vectors SOURCE TARGET dictionary.tsv -o MAPPED"
        )
    return Similar(word, known, other.nearest(query, k))
