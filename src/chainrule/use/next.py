"""`next`: the distribution over the next symbol, all of it or its most probable part."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from chainrule.errors import ConfigError
from chainrule.symbols import EOS
from chainrule.use.conditional import UNWRITTEN, refuse_without_source
from chainrule.use.text import check_writes, prompt_ids, text_of

if TYPE_CHECKING:
    from chainrule.bundle import Bundle


@dataclass(frozen=True)
class NextSymbol:
    """A symbol that may come next."""

    token: str
    probability: float
    id: int
    ends: bool  # the sequence ends here

    def to_dict(self) -> dict[str, Any]:
        """For scripts."""
        return {"token": self.token, "probability": self.probability, "id": self.id, "ends": self.ends}


@dataclass(frozen=True, eq=False, repr=False)
class NextSymbols:
    """What may come after a prompt: the most probable symbols first, and the probability of every symbol."""

    prompt: str
    symbols: tuple[NextSymbol, ...]
    probabilities: np.ndarray  # (V,) by id, float64; they sum to one

    def __iter__(self) -> Iterator[NextSymbol]:
        return iter(self.symbols)

    def __len__(self) -> int:
        return len(self.symbols)

    @property
    def rest(self) -> float:
        """The probability of all symbols that are not listed."""
        return max(0.0, 1.0 - sum(one.probability for one in self.symbols))

    def __repr__(self) -> str:
        best = f", {self.symbols[0].token!r} {self.symbols[0].probability:.1%}" if self.symbols else ""
        return f"<NextSymbols after {self.prompt[-20:]!r}{best}>"

    def _repr_html_(self) -> str:
        from chainrule.use.pictures import next_html

        return next_html(self)

    def to_dict(self) -> dict[str, Any]:
        """For scripts."""
        return {"prompt": self.prompt, "symbols": [one.to_dict() for one in self.symbols]}


def next_symbols(bundle: Bundle, prompt: str = "", k: int = 20) -> NextSymbols:
    """The distribution over the symbol that follows a prompt, read once: no search is made."""
    from chainrule.decode.cursor import begin

    if isinstance(k, bool) or not isinstance(k, int) or k < 1:
        raise ConfigError(f"k says how many symbols are wanted, 1 or more, not {k!r}.")
    check_writes(bundle.codec)
    refuse_without_source(bundle, UNWRITTEN)
    cursor = begin(bundle.model, [prompt_ids(bundle.codec, text_of(prompt))])
    probabilities = np.exp(cursor.logs[0].cpu().numpy())  # (V,)
    order = np.argsort(-probabilities, kind="stable")[:k]
    likely = order[probabilities[order] > 0].tolist()
    tokens = bundle.codec.tokens(np.array(likely, np.int32))
    symbols = (
        NextSymbol(token, float(probabilities[one]), one, one == EOS)
        for token, one in zip(tokens, likely, strict=True)
    )
    return NextSymbols(prompt, tuple(symbols), probabilities)
