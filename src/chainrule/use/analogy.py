"""`analogy`: a is to b as c is to what? By 3CosAdd, the word nearest to b - a + c (Mikolov et al. 2013)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from chainrule.use.similar import Neighbour, check_count, lexicon, unit

if TYPE_CHECKING:
    from chainrule.bundle import Bundle


@dataclass(frozen=True)
class Analogy:
    """Words that fit, best first: without the three words of the question, and with them.

    The usual way leaves them out, and hides how often the nearest word is one of them.
    """

    question: tuple[str, str, str]
    answers: tuple[Neighbour, ...]
    with_query: tuple[Neighbour, ...]

    def __iter__(self) -> Iterator[Neighbour]:
        return iter(self.answers)

    def to_dict(self) -> dict[str, Any]:
        """For scripts."""
        lists = {"answers": self.answers, "with_query": self.with_query}
        ranked = {name: [one.to_dict() for one in found] for name, found in lists.items()}
        return {"question": list(self.question), **ranked}


def analogy(bundle: Bundle, a: str, b: str, c: str, k: int = 10) -> Analogy:
    """The `k` words that are to `c` as `b` is to `a`."""
    check_count(k)
    own = lexicon(bundle)
    query = unit((own.vector(b) - own.vector(a) + own.vector(c))[None])[0]  # (D,)
    return Analogy((a, b, c), own.nearest(query, k, (a, b, c)), own.nearest(query, k))
