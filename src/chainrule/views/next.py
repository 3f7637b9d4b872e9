"""The view `next`: the distribution over the next symbol, of one model or of several side by side."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from chainrule.config import option
from chainrule.draw.bars import bars
from chainrule.use.next import next_symbols
from chainrule.views.kinds import Kind, register
from chainrule.views.scene import COOL, INK, KINDS, QUIET, Box, Part, Scene, Words, breadth, cut
from chainrule.views.text import check_shared, named, visible
from chainrule.views.view import View

if TYPE_CHECKING:
    from chainrule.bundle import Bundle

ROW, BAR, LABEL = 22.0, 220.0, 20  # height of a row, longest bar, letters of a symbol
TINY = 1e-12


@register("next")
@dataclass(frozen=True, kw_only=True)
class Next(Kind):
    """p(x_t | x_<t) of the most probable symbols; a page narrows it by temperature, top-k and top-p as one looks."""

    best: int = option(20, "how many symbols, the most probable first", low=1, high=10_000)

    def look(self, bundles: tuple[Bundle, ...], text: str) -> View:
        check_shared(bundles)
        found = [next_symbols(bundle, text, self.best) for bundle in bundles]
        # A symbol that one model thinks likely is shown for all of them.
        ids = list(dict.fromkeys(one.id for symbols in found for one in symbols))
        probabilities = np.stack([symbols.probabilities[ids] for symbols in found])  # (M, N)
        ends = {one.id for symbols in found for one in symbols if one.ends}
        tokens = bundles[0].codec.tokens(np.array(ids, np.int32))
        data = {
            "models": named(bundles),
            "symbols": [
                "(end)" if one in ends else visible(token) for one, token in zip(ids, tokens, strict=True)
            ],
            "probabilities": probabilities,
            "others": 1.0 - probabilities.sum(1),
            "vocabulary": bundles[0].codec.size,
        }
        return View("next", data, {"title": f"what follows {cut(text, 60)!r}", "text": text})

    @staticmethod
    def scene(view: View) -> Scene:
        tokens, shares = [cut(one, LABEL) for one in view["symbols"]], view["probabilities"]
        left = 16 + breadth("m" * max([6, *map(len, tokens)]))
        place = [left + model * (BAR + 90) for model in range(len(shares))]
        parts: list[Part] = []
        for x, name in zip(place, view["models"], strict=True):
            parts.append(Words(x, 20, cut(name, 36), QUIET))
        for row, token in enumerate(tokens):
            parts += _row(token, shares[:, row], left, place, 36 + row * ROW)
        return Scene(place[-1] + BAR + 90, 48 + len(tokens) * ROW, parts, view.title)

    @staticmethod
    def words(view: View) -> str:
        tables = [
            _table(name, view["symbols"], shares)
            for name, shares in zip(view["models"], view["probabilities"], strict=True)
        ]
        return "\n\n".join(tables)


def _row(token: str, shares: np.ndarray, left: float, place: Sequence[float], y: float) -> list[Part]:
    parts: list[Part] = [Words(left - 8, y + 13, token, INK, anchor="end")]
    for model, (x, share) in enumerate(zip(place, shares.tolist(), strict=True)):
        width = BAR * share
        colour = KINDS[model % len(KINDS)] if len(place) > 1 else COOL
        parts += [Box(x, y, max(1.0, width), ROW - 6, colour, f"{token}: {share:.4%}")]
        parts += [Words(x + width + 6, y + 13, f"{share:.2%}", QUIET, 12)]
    return parts


def _table(name: str, tokens: Sequence[str], shares: np.ndarray) -> str:
    """Symbols with bars, the most probable first."""
    order = np.argsort(-shares, kind="stable")
    order = order[shares[order] > TINY]
    wide = max((len(tokens[at]) for at in order), default=1)
    drawn = bars([float(shares[at]) for at in order])
    rows = [f"{tokens[at]:<{wide}}  {shares[at]:8.3%}  {bar}" for at, bar in zip(order, drawn, strict=True)]
    return "\n".join([name, *rows])
