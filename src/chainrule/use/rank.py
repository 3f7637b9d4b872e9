"""`rank`: candidates in order, the most probable first."""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from chainrule.errors import ConfigError
from chainrule.use.score import SequenceScore, results_of
from chainrule.use.source_inputs import SourceReader
from chainrule.use.text import texts_of, typed_texts

if TYPE_CHECKING:
    from chainrule.bundle import Bundle


@dataclass(frozen=True)
class Ranking:
    """Candidates with their scores, best first."""

    ranked: tuple[SequenceScore, ...]
    seconds: float = field(compare=False)

    def to_dict(self) -> dict[str, Any]:
        """For scripts."""
        return {"ranked": [one.to_dict() for one in self.ranked], "seconds": self.seconds}


def rank(bundle: Bundle, candidates: Iterable[str], source: Any = None) -> Ranking:
    """The candidates with their scores; equally probable ones stay in the order given.

    They are scored side by side, and one given twice only once. A model that writes from a `source` must be told it.
    """
    if isinstance(candidates, str):
        raise ConfigError("rank wants several texts, and one came. Use score(text) for one.")
    began = time.perf_counter()
    given = texts_of(candidates)
    different = list(dict.fromkeys(given))
    texts = typed_texts(bundle.codec, different)
    sources = None if source is None else SourceReader(bundle).typed([source] * len(different))
    scored = dict(zip(different, results_of(bundle, texts, sources=sources), strict=True))
    rows = (replace(scored[text], row=row, text=text) for row, text in enumerate(given, 1))
    return Ranking(tuple(sorted(rows, key=_surprise)), time.perf_counter() - began)


def _surprise(one: SequenceScore) -> tuple[int, float]:
    return one.zero_probability, one.bits
