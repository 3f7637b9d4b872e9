"""The view `filters`: the n-grams that each filter of a text CNN fires on, and the label it votes for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from chainrule.config import option
from chainrule.errors import ModelError
from chainrule.symbols import FIRST
from chainrule.views.kinds import Kind, register
from chainrule.views.reading import read
from chainrule.views.scene import COOL, INK, QUIET, Box, Part, Scene, Words, cut, mixed
from chainrule.views.text import lines_of, named, written
from chainrule.views.view import View

if TYPE_CHECKING:
    from chainrule.bundle import Bundle

TAP = "layers.0.filters"
NONE = "A {family} has no filters over n-grams. The family that has them: cnn."
WIDE, LINE = 900.0, 20.0


@dataclass(frozen=True)
class Ngram:
    """What a filter fires on."""

    words: tuple[str, ...]
    strength: float
    times: int


@register("filters")
@dataclass(frozen=True, kw_only=True)
class Filters(Kind):
    """relu(W x_t…x_{t+k} + b) of the lowest layer over a corpus: for each filter the n-grams it fires on most."""

    corpus: str | None = option(None, "a file of texts, one a line; TEXT alone if not given")
    best: int = option(6, "how many n-grams of each filter", low=1, high=1_000)
    find: str | None = option(None, "only filters that fire on n-grams with this word")
    most: int = option(20_000, "lines of the file that are read", low=1, high=10_000_000)

    def look(self, bundles: tuple[Bundle, ...], text: str) -> View:
        texts = self._texts(text)
        models = [self._model(name, one, texts) for name, one in zip(named(bundles), bundles, strict=True)]
        meta = {"title": f"filters over {len(texts):,} texts", "text": text}
        return View("filters", {"models": models}, meta)

    def _texts(self, text: str) -> list[str]:
        if self.corpus is None:
            return [written(text)]
        return lines_of(self.corpus, self.most)

    def _model(self, name: str, bundle: Bundle, texts: Sequence[str]) -> dict[str, Any]:
        widths = getattr(bundle.body.config, "widths", ())
        if not widths:
            raise ModelError(NONE.format(family=bundle.body.family))
        found = strongest(bundle, texts, widths, self.best)
        votes = votes_of(bundle, len(found))
        rows: list[dict[str, Any]] = [
            {"filter": at, "width": len(ngrams[0].words), "ngrams": [vars(one) for one in ngrams], **vote}
            for at, (ngrams, vote) in enumerate(zip(found, votes, strict=True))
            if ngrams and (self.find is None or any(self.find in one.words for one in ngrams))
        ]
        if self.find is not None:  # the more of its n-grams have the word, the more a filter means it
            rows.sort(key=lambda row: -sum(self.find in one["words"] for one in row["ngrams"]))
        return {"name": name, "filters": rows}

    @staticmethod
    def scene(view: View) -> Scene:
        parts: list[Part] = []
        y = 24.0
        for model in view["models"]:
            parts.append(Words(16, y, model["name"], INK, bold=True))
            y += 12
            for row in model["filters"]:
                most = max(one["strength"] for one in row["ngrams"]) or 1.0
                parts.append(Words(16, y + 14, _named(row), QUIET, 12))
                for at, one in enumerate(row["ngrams"]):
                    below = y + 18 + at * LINE
                    parts += [Box(16, below, 160 * one["strength"] / most, LINE - 4, mixed(COOL, 0.5))]
                    parts += [Words(186, below + 12, cut(_told(one), 80), INK, 12)]
                y += 26 + len(row["ngrams"]) * LINE
        return Scene(WIDE, y + 16, parts, view.title)

    @staticmethod
    def words(view: View) -> str:
        rows = []
        for model in view["models"]:
            rows.append(model["name"])
            for row in model["filters"]:
                rows += [_named(row), *(f"  {one['strength']:7.3f}  {_told(one)}" for one in row["ngrams"])]
        return "\n".join(rows)


def strongest(bundle: Bundle, texts: Sequence[str], widths: Sequence[int], best: int) -> list[list[Ngram]]:
    """For every filter the n-grams it fires on most, each once, the strongest first."""
    each = bundle.body.config.filters  # type: ignore[attr-defined]
    kept: list[dict[tuple[str, ...], list[float]]] = [{} for _ in range(each * len(widths))]
    for text in texts:
        found = read(bundle, text, TAP)
        values, padded = found.array(TAP)[0], _padded(found.symbols, max(widths))  # (T, D)
        for at, place in zip(*_tops(values, best), strict=True):
            width = widths[at // each]
            start = place - width // 2 + max(widths)
            ngram = kept[at].setdefault(tuple(padded[start : start + width]), [0.0, 0.0])
            ngram[0], ngram[1] = max(ngram[0], float(values[place, at])), ngram[1] + 1
    return [_sorted(one, best) for one in kept]


def _padded(symbols: list[str], most: int) -> list[str]:
    """With what lies outside a text, so that every filter has all of its places."""
    return ["·"] * most + symbols + ["·"] * most


def _tops(values: np.ndarray, best: int) -> tuple[Iterator[int], Iterator[int]]:
    """Filters and places of their strongest values (T, D) in one text, those above zero."""
    order = np.argsort(-values, axis=0, kind="stable")[:best]  # (k, D)
    rows, filters = np.nonzero(np.take_along_axis(values, order, 0) > 0)
    return iter(filters.tolist()), iter(order[rows, filters].tolist())


def _sorted(found: Mapping[tuple[str, ...], list[float]], best: int) -> list[Ngram]:
    order = sorted(found.items(), key=lambda item: -item[1][0])[:best]
    return [Ngram(words, strength, int(times)) for words, (strength, times) in order]


def votes_of(bundle: Bundle, filters: int) -> list[dict[str, Any]]:
    """For every filter the label whose logit it raises most above the others, if a head has such weights."""
    weights = bundle.arrays().get("head/output.weight")
    if weights is None or weights.shape[1] != filters or "label" not in bundle.codecs:
        return [{} for _ in range(filters)]
    if len(weights) == 1:  # one unit for two labels
        weights = np.concatenate([-weights / 2, weights / 2])
    codec = bundle.codecs["label"]
    labels, apart = codec.tokens(range(FIRST, codec.size)), weights - weights.mean(0)
    return [
        {"label": labels[int(column.argmax())], "weight": float(column.max())}
        if len(labels) == len(column)
        else {}
        for column in apart.T
    ]


def _named(row: Mapping[str, Any]) -> str:
    vote = f", votes for {row['label']} ({row['weight']:+.3f})" if "label" in row else ""
    return f"filter {row['filter'] + 1}, width {row['width']}{vote}"


def _told(one: Mapping[str, Any]) -> str:
    return f"{' '.join(one['words'])}  ({one['times']} times)"
