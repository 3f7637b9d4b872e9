"""The view `next`: the distribution over the next symbol, of one model or of several side by side."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from chainrule.config import option
from chainrule.draw.bars import bars
from chainrule.symbols import EOS
from chainrule.use.next import next_symbols
from chainrule.use.text import prompt_ids
from chainrule.views.kinds import Kind, register
from chainrule.views.scene import COOL, INK, KINDS, QUIET, Box, Part, Scene, Words, breadth, cut
from chainrule.views.text import check_alone, check_shared, named, visible
from chainrule.views.view import View

if TYPE_CHECKING:
    from chainrule.bundle import Bundle
    from chainrule.decode.cursor import Cursor

ROW, BAR, LABEL = 22.0, 220.0, 20  # height of a row, longest bar, letters of a symbol
TINY = 1e-12


@dataclass(frozen=True)
class Place:
    """A continuation, by its ids, and what each model expects after it: (V,)."""

    path: tuple[int, ...]
    chances: tuple[np.ndarray, ...]

    def best(self, count: int) -> list[int]:
        """So many of the most probable symbols of each model; what one thinks likely is asked of all."""
        orders = [np.argsort(-one, kind="stable")[:count] for one in self.chances]
        likely = [order[one[order] > 0] for order, one in zip(orders, self.chances, strict=True)]
        return list(dict.fromkeys(id for order in likely for id in order.tolist()))


@dataclass(frozen=True)
class Walk:
    """A model that has read a text, and some continuations of it side by side."""

    bundle: Bundle
    cursor: Cursor

    @classmethod
    def of(cls, bundle: Bundle, text: str) -> Walk:
        from chainrule.decode.cursor import begin

        return cls(bundle, begin(bundle.model, [prompt_ids(bundle.codec, text)]))

    def after(self, rows: list[int], ids: list[int]) -> Walk:
        """These rows, each with one symbol more."""
        import torch

        from chainrule.decode.cursor import advance

        tokens = torch.tensor(ids, device=self.cursor.rows.device)[:, None]
        return Walk(self.bundle, advance(self.bundle.model, self.cursor, torch.tensor(rows), tokens))

    @property
    def chances(self) -> np.ndarray:
        """(B, V) of what follows."""
        found: np.ndarray = np.exp(self.cursor.logs.cpu().numpy())
        return found


@register("next")
@dataclass(frozen=True, kw_only=True)
class Next(Kind):
    """p(x_t | x_<t) of the most probable symbols; a page narrows it by temperature, top-k and top-p as one looks."""

    best: int = option(20, "how many symbols, the most probable first", low=1, high=10_000)
    ahead: int = option(
        2, "on a page: how often one can click a symbol to continue with it; 0: not at all", low=0, high=6
    )
    branches: int = option(
        6, "on a page: how many of the most probable symbols can be clicked", low=1, high=100
    )

    def look(self, bundles: tuple[Bundle, ...], text: str) -> View:
        check_alone(bundles)
        check_shared(bundles)
        found = [next_symbols(bundle, text, self.best) for bundle in bundles]
        root = Place((), tuple(one.probabilities for one in found))
        data = {
            "models": named(bundles),
            **self._listed(bundles[0], root),
            "vocabulary": bundles[0].codec.size,
            "further": [
                {"path": list(place.path), **self._listed(bundles[0], place)}
                for place in self._further(bundles, text, root)
            ],
        }
        return View("next", data, {"title": f"what follows {cut(text, 60)!r}", "text": text})

    def _listed(self, bundle: Bundle, place: Place) -> dict[str, Any]:
        """The most probable symbols of any of the models, and what each thinks of them."""
        ids = place.best(self.best)
        tokens = bundle.codec.tokens(np.array(ids, np.int32))
        probabilities = np.stack([chances[ids] for chances in place.chances])  # (M, N)
        return {
            "ids": ids,
            "symbols": [
                "(end)" if one == EOS else visible(token) for one, token in zip(ids, tokens, strict=True)
            ],
            "probabilities": probabilities,
            "others": 1.0 - probabilities.sum(1),
        }

    def _further(self, bundles: Sequence[Bundle], text: str, root: Place) -> list[Place]:
        """What follows each of the best symbols, and each of the best after these, in so many steps."""
        if not self.ahead:
            return []
        walks = [Walk.of(bundle, text) for bundle in bundles]
        places, found = [root], list[Place]()
        for _ in range(self.ahead):
            ways = [
                (row, (*place.path, id))
                for row, place in enumerate(places)
                for id in place.best(self.branches)[: self.branches]
                if id != EOS
            ]
            if not ways:
                break
            walks = [walk.after([row for row, _ in ways], [path[-1] for _, path in ways]) for walk in walks]
            chances = zip(*(walk.chances for walk in walks), strict=True)
            places = [Place(path, told) for (_, path), told in zip(ways, chances, strict=True)]
            found += places
        return found

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
