"""The view `vectors`: a map of words or of texts, exact neighbours, analogies, and words in their contexts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from chainrule.config import option
from chainrule.errors import ConfigError, ModelError
from chainrule.models.vectors import WordVectors
from chainrule.use.analogy import analogy
from chainrule.use.embed import embed_symbols
from chainrule.use.similar import lexicon, similar, unit
from chainrule.views.kinds import Kind, register
from chainrule.views.scene import INK, KINDS, LINE, Box, Part, Scene, Stroke, Words, cut, paragraphs
from chainrule.views.text import named, written
from chainrule.views.view import View

if TYPE_CHECKING:
    from chainrule.bundle import Bundle

WIDE, HIGH = 720.0, 520.0
BETWEEN = "|"  # between texts
MARKS = "▁Ġ# "  # with which sub-words say where a word begins or continues


@register("vectors")
@dataclass(frozen=True, kw_only=True)
class Vectors(Kind):
    """A map of the words of TEXT (word vectors), or of its texts, which `|` divides; distances on it are not exact."""

    neighbours: int = option(5, "neighbours of each word, by cosine similarity", low=0, high=1_000)
    word: str | None = option(None, "a word in contexts: its vector in every text that has it")
    analogy: str | None = option(None, "three words: the first is to the second as the third is to what?")
    projection: str = option("pca", "how the map is made; tsne needs scikit-learn", choices=("pca", "tsne"))
    seed: int = option(0, "of t-SNE", low=0, high=1 << 31)

    def look(self, bundles: tuple[Bundle, ...], text: str) -> View:
        models = [self._model(name, one, text) for name, one in zip(named(bundles), bundles, strict=True)]
        notes = [note for model in models for note in model.pop("notes")]
        return View("vectors", {"models": models}, {"title": self._title(text), "text": text, "notes": notes})

    def _title(self, text: str) -> str:
        return f"{self.word} in its contexts" if self.word else f"a map of {cut(text, 60)}"

    def _model(self, name: str, bundle: Bundle, text: str) -> dict[str, Any]:
        names, vectors, listed, lines = self._found(bundle, written(text))
        points, told = projected(vectors, self.projection, self.seed)
        units = unit(vectors.astype(np.float32))
        return {
            "name": name,
            "names": names,
            "points": points,
            "similarity": units @ units.T,
            "neighbours": listed,
            "lines": lines,
            "notes": [f"{name}: {told}"],
        }

    def _found(self, bundle: Bundle, text: str) -> tuple[list[str], np.ndarray, list[Any], list[list[int]]]:
        """Names, vectors (N, D), neighbours, and lines between points."""
        if isinstance(bundle.body, WordVectors):
            return self._of_words(bundle, text.replace(BETWEEN, " ").split())
        texts = [one.strip() for one in text.split(BETWEEN) if one.strip()]
        if self.word is None:
            return texts, bundle.embed(texts), [], []
        return (*in_contexts(bundle, texts, self.word), [], [])

    def _of_words(
        self, bundle: Bundle, words: list[str]
    ) -> tuple[list[str], np.ndarray, list[Any], list[list[int]]]:
        lines: list[list[int]] = []
        if self.analogy is not None:
            a, b, c = _three(self.analogy)
            answer = analogy(bundle, a, b, c, 1).answers[0].word
            words = list(dict.fromkeys([*words, a, b, c, answer]))
            places = [words.index(one) for one in (a, b, answer, c)]
            lines = [[places[at], places[(at + 1) % 4]] for at in range(4)]  # the parallelogram
        own = lexicon(bundle)
        near = [
            [vars(one) for one in similar(bundle, word, self.neighbours)] if self.neighbours else []
            for word in words
        ]
        return words, np.stack([own.vector(word) for word in words]), near, lines

    @staticmethod
    def scene(view: View) -> Scene:
        parts: list[Part] = []
        y = 24.0
        for model in view["models"]:
            parts.append(Words(16, y, model["name"], INK, bold=True))
            parts += _map(model, 16, y + 16)
            y += HIGH + 56
        y = paragraphs(parts, view.notes, y, WIDE + 140)
        return Scene(WIDE + 140, y + 8, parts, view.title)

    @staticmethod
    def words(view: View) -> str:
        rows = []
        for model in view["models"]:
            rows.append(model["name"])
            for at, name in enumerate(model["names"]):
                if model["neighbours"]:
                    near = ", ".join(
                        f"{one['word']} {one['similarity']:.2f}" for one in model["neighbours"][at]
                    )
                else:
                    order = np.argsort(-model["similarity"][at], kind="stable")
                    near = ", ".join(
                        f"{model['names'][one]} {model['similarity'][at, one]:.2f}"
                        for one in order[:4]
                        if one != at
                    )
                rows.append(f"  {name}: {near}")
        return "\n".join([*rows, *view.notes])


def in_contexts(bundle: Bundle, texts: Sequence[str], word: str) -> tuple[list[str], np.ndarray]:
    """The vector of a word in every text that has it as a symbol, where it stands first."""
    names, vectors = [], []
    for text, found in zip(texts, embed_symbols(bundle, list(texts)), strict=True):
        plain = [one.strip(MARKS).lower() for one in found.symbols]
        if word.lower() in plain:
            names.append(text)
            vectors.append(found.vectors[plain.index(word.lower())])
    if len(names) < 2:
        raise ConfigError(
            f"{word!r} stands in {len(names)} of these texts as a symbol of the model, and two are needed. Divide "
            f"texts by {BETWEEN}."
        )
    return names, np.stack(vectors)


def projected(vectors: np.ndarray, projection: str, seed: int) -> tuple[np.ndarray, str]:
    """Points (N, 2), and how they came about."""
    if not np.isfinite(vectors).all():
        raise ModelError("The vectors of this model are not finite, so there is no map of them.")
    centred = vectors.astype(float) - vectors.mean(0)
    if projection == "tsne" and len(vectors) > 3:
        return _tsne(centred, seed), "t-SNE: near points are alike; distances between groups mean nothing."
    left, sizes, _ = np.linalg.svd(centred, full_matrices=False)
    points = np.zeros((len(vectors), 2))
    points[:, : min(2, len(sizes))] = (left * sizes)[:, :2]
    share = float((sizes[:2] ** 2).sum() / max(1e-12, (sizes**2).sum()))
    return points, f"PCA: this plane has {share:.0%} of the variance."


def _tsne(vectors: np.ndarray, seed: int) -> np.ndarray:
    try:
        from sklearn.manifold import TSNE
    except ImportError as error:
        raise ConfigError(
            "t-SNE needs scikit-learn: pip install 'chainrule[sklearn]'. Or leave --projection out."
        ) from error
    near = min(30.0, (len(vectors) - 1) / 3)
    points: np.ndarray = TSNE(perplexity=near, random_state=seed, init="pca").fit_transform(vectors)
    return points


def _three(text: str) -> tuple[str, str, str]:
    words = text.replace(",", " ").split()
    if len(words) != 3:
        raise ConfigError(f"An analogy has three words, as in --analogy 'man king woman', not {text!r}.")
    return words[0], words[1], words[2]


def _map(model: dict[str, Any], x: float, y: float) -> list[Part]:
    points = model["points"] - model["points"].min(0)
    points = points / np.maximum(points.max(0), 1e-12) * [WIDE - 40, HIGH - 20] + [x + 10, y + 10]
    edge = [(x, y), (x + WIDE, y), (x + WIDE, y + HIGH), (x, y + HIGH), (x, y)]
    parts: list[Part] = [Stroke(edge, LINE)]
    parts += [Stroke([tuple(points[one]), tuple(points[other])], KINDS[1]) for one, other in model["lines"]]
    for name, (across, down) in zip(model["names"], points.tolist(), strict=True):
        parts.append(Box(across - 3, down - 3, 6, 6, KINDS[0], name))
        inwards = across > x + WIDE / 2  # a name stands on the side where there is room for it
        place, anchor = (across - 6, "end") if inwards else (across + 6, "start")
        parts.append(Words(place, down + 4, cut(name, 40), INK, 12, anchor))
    return parts
