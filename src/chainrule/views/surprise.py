"""The view `surprise`: bits for each symbol of a text, of one model or of several side by side, and who wins where."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from chainrule.codecs.base import Texts
from chainrule.config import option
from chainrule.models.ngram.path import counted
from chainrule.symbols import EOS, SPECIALS
from chainrule.use.score import TextScore, score
from chainrule.use.text import typed_texts
from chainrule.views.kinds import Kind, register
from chainrule.views.scene import HEAT, INK, QUIET, Box, Part, Scene, Words, breadth, cut, mixed, paragraphs
from chainrule.views.text import check_alone, file_text, named, shared, symbols, visible, written
from chainrule.views.view import View
from chainrule.views.words import by_word, words_of

if TYPE_CHECKING:
    from chainrule.bundle import Bundle

CEILING = 12.0  # bits of the darkest ground
WIDE, LINE, GAP = 900.0, 22.0, 12.0
CLEAR = 1.0  # bits by which a symbol is clearly won
TOLD = 5  # symbols that words name
APART = "These models have different symbols, so their bits are added up word by word."


@register("surprise")
@dataclass(frozen=True, kw_only=True)
class Surprise(Kind):
    """-log2 p(x_t | x_<t) of each symbol, and what the family tells of it: a mix's shares, an n-gram's path."""

    counts: str | None = option(
        None, "a text file: how often it has each n-gram that was asked for, such as the file of the training"
    )

    def look(self, bundles: tuple[Bundle, ...], text: str) -> View:
        check_alone(bundles)
        found = [score(bundle, written(text)) for bundle in bundles]
        told = self._symbols if shared(bundles) else self._words
        data = {"models": named(bundles), **told(bundles, text, found)}
        notes = compared(data) if shared(bundles) else [APART, *compared(data)]
        return View(
            "surprise", data, {"title": f"surprise of {cut(text, 60)!r}", "text": text, "notes": notes}
        )

    def _symbols(self, bundles: Sequence[Bundle], text: str, found: Sequence[TextScore]) -> dict[str, Any]:
        """Symbol by symbol."""
        return {
            "unit": "symbol",
            "symbols": [visible(one.shown or one.token) for one in found[0].tokens],
            "spaced": all(" " not in (one.shown or one.token) for one in found[0].tokens),
            "bits": np.array([[one.bits for one in scored.tokens] for scored in found]),  # (M, T)
            "facts": [[dict(one.facts) for one in scored.tokens] for scored in found],
            "paths": [asked(bundle, text, self.counts) for bundle in bundles],
        }

    def _words(self, bundles: Sequence[Bundle], text: str, found: Sequence[TextScore]) -> dict[str, Any]:
        """Word by word, of models that have different symbols."""
        words = words_of(text)
        bits = [
            by_word(bundle, words, np.array([one.bits for one in scored.tokens]))
            for bundle, scored in zip(bundles, found, strict=True)
        ]
        shown = [*(visible(word.strip()) for word in words), SPECIALS[EOS]]
        return {
            "unit": "word",
            "symbols": shown,
            "spaced": True,
            "bits": np.stack(bits),  # (M, W)
            "facts": [[{} for _ in shown] for _ in bundles],
            "paths": [[] for _ in bundles],
        }

    @staticmethod
    def scene(view: View) -> Scene:
        parts: list[Part] = []
        y = 24.0
        for name, bits in zip(view["models"], view["bits"], strict=True):
            total = f"{name}: {bits.mean():.2f} bits per {view['unit']}"
            parts.append(Words(16, y, total, QUIET))
            y = _line(parts, view["symbols"], bits, y + 12) + 2 * GAP
        y = paragraphs(parts, view.notes, y + GAP, WIDE)
        return Scene(WIDE, y + GAP, parts, view.title)

    @staticmethod
    def words(view: View) -> str:
        wide = [max(len(symbol), 6) for symbol in view["symbols"]]
        rows = [" ".join(symbol.rjust(size) for symbol, size in zip(view["symbols"], wide, strict=True))]
        for name, bits in zip(view["models"], view["bits"], strict=True):
            cells = [f"{value:.2f}".rjust(size) for value, size in zip(bits.tolist(), wide, strict=True)]
            rows.append(f"{' '.join(cells)}  {name}: {bits.mean():.3f} bits per {view['unit']}")
        for name, paths in zip(view["models"], view["paths"], strict=True):
            told = zip(view["symbols"], paths, strict=False)
            rows += [f"{name}, {symbol}: {', '.join(map(step, way))}" for symbol, way in told]
        return "\n".join([*rows, *view.notes])


def _line(parts: list[Part], symbols: Sequence[str], bits: np.ndarray, y: float) -> float:
    """Symbols on grounds as dark as they are surprising, in as many lines as they need; where the last one ends."""
    x = 16.0
    for symbol, value in zip(symbols, bits.tolist(), strict=True):
        width = breadth(symbol, 14) + 8
        if x + width > WIDE - 16:
            x, y = 16.0, y + LINE
        ground = mixed(HEAT, 0.85 * min(1.0, value / CEILING))
        parts += [Box(x, y, width - 1, LINE - 3, ground, f"{symbol}: {value:.2f} bits")]
        parts += [Words(x + 4, y + 14, symbol, INK, 14)]
        x += width
    return y + LINE


def asked(bundle: Bundle, text: str, counts: str | None) -> list[list[dict[str, Any]]]:
    """Of an n-gram and every symbol: the contexts it was looked for after, the longest first; of others nothing."""
    found = getattr(bundle.model, "paths", None)
    ids = bundle.codec.encode(typed_texts(bundle.codec, [text])).ids
    ways = found(ids) if found else []
    lines = Texts.of(file_text(counts).splitlines()) if counts and ways else None
    corpus = None if lines is None else bundle.codec.encode(lines).ids
    told: list[list[dict[str, Any]]] = []
    for at, way in enumerate(ways, 1):
        told.append([])
        for one in way:
            ngram = ids[at - one.length : at + 1]
            told[-1].append({**vars(one), "context": symbols(bundle, ngram[:-1])})
            if corpus is not None:
                told[-1][-1] |= {"count": counted(corpus, ngram), "of": counted(corpus, ngram[:-1])}
    return told


def step(one: Mapping[str, Any]) -> str:
    """A context and what came of it."""
    context = " ".join(one["context"]) or "nothing"
    counts = f" ({one['count']} of {one['of']})" if one.get("of") else ""
    if one["seen"]:
        return f"after {context!r} {one['probability']:.3g}{counts}"
    mass = f"{one['probability']:.3g} is left for what is unseen"
    return f"not seen after {context!r}{counts}, {mass}: x {one['weight']:.3g}"


def compared(data: Mapping[str, Any]) -> list[str]:
    """Who wins where, in words."""
    if len(data["models"]) != 2:
        return []
    first, second = data["models"]
    ahead = data["bits"][1] - data["bits"][0]  # (T,) bits that the first model saves
    better, total = (first, ahead.sum()) if ahead.sum() >= 0 else (second, -ahead.sum())
    return [
        f"{better} needs {total:.1f} bits less for this text.",
        *_won(first, data, ahead),
        *_won(second, data, -ahead),
    ]


def _won(name: str, data: Mapping[str, Any], ahead: np.ndarray) -> list[str]:
    """What a model predicts clearly better."""
    order = [at for at in np.argsort(-ahead, kind="stable").tolist() if ahead[at] >= CLEAR]
    if not order:
        return []
    most = ", ".join(f"{data['symbols'][at]} ({ahead[at]:.1f})" for at in order[:TOLD])
    each = f"{len(order)} of {len(ahead)} {data['unit']}s"
    return [f"{name} is clearly better at {each}, most at {most} bits."]
