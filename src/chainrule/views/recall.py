"""The view `recall`: how well a symbol is known again that stood so many symbols back, family by family."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from chainrule.codecs.base import Texts
from chainrule.config import option
from chainrule.errors import ConfigError, ModelError
from chainrule.symbols import EOS, FIRST
from chainrule.views.kinds import Kind, register
from chainrule.views.plot import WIDE, height, lines
from chainrule.views.scene import INK, Part, Scene, Words, paragraphs
from chainrule.views.text import check_alone, check_shared, lines_of, named
from chainrule.views.view import View

if TYPE_CHECKING:
    from chainrule.bundle import Bundle

LEFT = "A {family} reads both ways: nothing is far back for it. Families that recall: all that predict the next symbol."
NONE = (
    "No line of {corpus} ends with a symbol that the model knows and that stood in it before. Make such a file, and "
    "fit a model of it: chainrule example recall"
)
HALF = 0.5


@register("recall")
@dataclass(frozen=True, kw_only=True)
class Recall(Kind):
    """p(last symbol of a line | the rest), against how far back that symbol stood last; chance is the best guess."""

    corpus: str | None = option(
        None,
        "a file of texts, one a line, each ending with a symbol that stood in it before; not for training",
    )
    most: int = option(2_000, "lines of the file that are read", low=1, high=1_000_000)

    def look(self, bundles: tuple[Bundle, ...], text: str) -> View:
        check_alone(bundles)
        check_shared(bundles)
        if self.corpus is None:
            raise ConfigError(
                "Recall is measured over a file. Give one: --corpus FILE (chainrule example recall)"
            )
        ids = bundles[0].codec.encode(Texts.of(lines_of(self.corpus, self.most))).ids
        ends, apart = asked(ids)
        if not len(ends):
            raise ConfigError(NONE.format(corpus=self.corpus))
        distances, place, counts = np.unique(apart, return_inverse=True, return_counts=True)
        found = [np.bincount(place, chances(bundle, ids)[ends]) / counts for bundle in bundles]
        chance = float(np.bincount(ids[ends]).max() / len(ends))
        data = {
            "models": named(bundles),
            "distances": distances,
            "counts": counts,
            "probabilities": np.stack(found),  # (M, distances)
            "chance": chance,
        }
        meta = {"title": "recall of a symbol against its distance", "text": text, "notes": _notes(data)}
        return View("recall", data, meta)

    @staticmethod
    def scene(view: View) -> Scene:
        parts: list[Part] = [Words(16, 22, view.title, INK, bold=True)]
        curves = dict(zip(view["models"], _even(view), strict=True))
        first, last = view["distances"][0], view["distances"][-1]
        axes = "symbols back", "probability of the symbol"
        parts += lines(curves, 16, 60, axes, (float(first), float(last)))
        y = paragraphs(parts, view.notes, 60 + height(len(curves)), WIDE + 140)
        return Scene(WIDE + 140, y + 12, parts, view.title)

    @staticmethod
    def words(view: View) -> str:
        kept = np.unique(np.linspace(0, len(view["distances"]) - 1, 16).round().astype(int))
        head = "".join(f"{one:7d}" for one in view["distances"][kept].tolist())
        rows = [f"{'symbols back':>14}{head}"]
        for name, values in zip(view["models"], view["probabilities"], strict=True):
            rows.append(f"{'':14}{''.join(f'{one:7.1%}' for one in values[kept].tolist())}  {name}")
        return "\n".join([*rows, *view.notes])


def asked(ids: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Of whole sequences `BOS … EOS`: where the last symbol of each stands, and how far before it stood last; those
    that end with a new symbol, or with one that the model does not know, are left out."""
    ends, apart, begin = [], [], 0
    for end in np.flatnonzero(ids == EOS).tolist():
        earlier = np.flatnonzero(ids[begin : end - 1] == ids[end - 1])
        if len(earlier) and ids[end - 1] >= FIRST:
            ends.append(end - 1)
            apart.append(end - 1 - begin - int(earlier[-1]))
        begin = end + 1
    return np.array(ends, int), np.array(apart, int)


def chances(bundle: Bundle, ids: np.ndarray) -> np.ndarray:
    """p(x_t | x_<t) of every symbol (T,)."""
    if bundle.model.reads != "left":
        raise ModelError(LEFT.format(family=bundle.body.family))
    found: np.ndarray = np.exp(bundle.model.score_ids(ids).astype(float))
    return found


def _even(view: View) -> list[np.ndarray]:
    """A value for every distance from the first to the last, those without any line left out."""
    places = view["distances"] - view["distances"][0]
    found = []
    for values in view["probabilities"]:
        curve = np.full(int(places[-1]) + 1, np.nan)
        curve[places] = values
        found.append(curve)
    return found


def _notes(data: dict[str, Any]) -> list[str]:
    chance, far = data["chance"], data["distances"]
    told = [f"The best guess without any memory is right in {chance:.1%}."]
    for name, values in zip(data["models"], data["probabilities"], strict=True):
        told.append(f"{name}: {_reach(far, values)}")
    return told


def _reach(distances: np.ndarray, values: Sequence[float] | np.ndarray) -> str:
    """How far back a model knows a symbol again more often than not."""
    known = np.asarray(values) >= HALF
    if not known[0]:
        return "knows no distance well, not even the shortest."
    reach = len(known) if known.all() else int(np.argmin(known))
    end = "all distances" if known.all() else f"up to {distances[reach - 1]} symbols back"
    return f"the symbol has at least {HALF:.0%} {end}."
