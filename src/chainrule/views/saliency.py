"""The view `saliency`: how much each symbol of a text counts for an answer, by gradients or by leaving it out."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from chainrule.config import option
from chainrule.errors import ConfigError, ModelError, suggest
from chainrule.nn.tap import listening, replacing
from chainrule.symbols import FIRST, MASK, PAD, UNK
from chainrule.tasks.sequence import SequenceTask
from chainrule.use.fill import with_masks
from chainrule.views.kinds import Kind, register
from chainrule.views.reading import bounded, whole_ids
from chainrule.views.scene import (
    COOL,
    HEAT,
    INK,
    Box,
    Part,
    Scene,
    Words,
    breadth,
    cut,
    mixed,
    paragraphs,
)
from chainrule.views.text import check_alone, named, symbols, visible, written
from chainrule.views.view import View

if TYPE_CHECKING:
    from torch import Tensor

    from chainrule.bundle import Bundle

METHODS = ("integrated-gradients", "gradient-x-input", "leave-one-out")
WIDE, LINE = 900.0, 24.0
EMBEDDINGS, MASKED = "embeddings", "masked"
ONE = (
    "This view explains one answer to one text, and {task} has others: take a classifier or a language model."
)
MASKS = "A {family} is asked what stands at a mask. Write one [MASK] in the text: 'she was [MASK] for class'."
APART = "The {family} has no vector for each symbol alone, so gradients belong to none. Take --method leave-one-out."


@register("saliency")
@dataclass(frozen=True, kw_only=True)
class Saliency(Kind):
    """Attribution to the symbols of a text: of a label, of the symbol predicted next, or of the one at `[MASK]`."""

    method: str = option("integrated-gradients", "how symbols are weighed", choices=METHODS)
    target: str | None = option(
        None, "the label or next symbol that is explained; the most probable one if not given"
    )
    contrast: str | None = option(None, "another one: why the target, and not this")
    points: int = option(64, "of integrated gradients: points on the way from nothing", low=1, high=10_000)

    def look(self, bundles: tuple[Bundle, ...], text: str) -> View:
        check_alone(bundles)
        models = [self._model(name, one, text) for name, one in zip(named(bundles), bundles, strict=True)]
        notes = [note for model in models for note in _notes(model, self.method)]
        meta = {"title": f"what counts in {cut(text, 60)!r}", "text": text, "notes": notes}
        return View("saliency", {"models": models, "method": self.method}, meta)

    def _model(self, name: str, bundle: Bundle, text: str) -> dict[str, Any]:
        asked = Asked.of(bundle, written(text), self.target, self.contrast)
        if self.method == "leave-one-out":
            found, whole, base = asked.left_out()
        else:
            points = self.points if self.method == "integrated-gradients" else 0
            found, whole, base = asked.integrated(points) if points else asked.gradient()
        return {
            "name": name,
            "symbols": symbols(bundle, asked.tokens[0].tolist()),
            "attributions": found,
            "target": asked.names[0],
            "contrast": asked.names[1],
            "output": whole,
            "baseline": base,
        }

    @staticmethod
    def scene(view: View) -> Scene:
        parts: list[Part] = []
        y = 24.0
        for model in view["models"]:
            parts.append(Words(16, y, _headline(model), INK, bold=True))
            y = _line(parts, model["symbols"], model["attributions"], y + 14) + 28
        y = paragraphs(parts, view.notes, y, WIDE)
        return Scene(WIDE, y + 8, parts, view.title)

    @staticmethod
    def words(view: View) -> str:
        rows = []
        for model in view["models"]:
            rows.append(_headline(model))
            for symbol, value in zip(model["symbols"], model["attributions"].tolist(), strict=True):
                rows.append(f"  {symbol:>14}  {value:+8.4f}  {_bar(value, model['attributions'])}")
        return "\n".join([*rows, *view.notes])


@dataclass(frozen=True)
class Asked:
    """A number that a model computes of a text: a logit, or the difference of two."""

    bundle: Bundle
    tokens: Tensor  # (1, T)
    ids: tuple[int, int | None]  # which outputs
    names: tuple[str, str | None]

    @classmethod
    def of(cls, bundle: Bundle, text: str, target: str | None, contrast: str | None) -> Asked:
        """With the most probable output, if none is named."""
        import torch

        if bundle.head is not None and not _answers_texts(bundle):
            raise ModelError(ONE.format(task=bundle.task.name))
        tokens = torch.from_numpy(asked_ids(bundle, text))[None]
        with bundle.body.inference():
            found = outputs(bundle, tokens)
        named_ids = _names(bundle)
        wanted = int(found.argmax()) if target is None else _id(target, named_ids)
        other = None if contrast is None else _id(contrast, named_ids)
        told = [None if one is None else _name(bundle, one) for one in (wanted, other)]
        return cls(bundle, tokens, (wanted, other), (str(told[0]), told[1]))

    def value(self, tokens: Tensor, embeddings: Tensor | None = None) -> Tensor:
        """The number, of other tokens or with other embeddings of them (1, T, E)."""
        if embeddings is None:
            found = outputs(self.bundle, tokens)
        else:
            with replacing(self.bundle.body, EMBEDDINGS, lambda _: embeddings):
                found = outputs(self.bundle, tokens)
        wanted, other = self.ids
        return found[wanted] if other is None else found[wanted] - found[other]

    def embeddings(self, tokens: Tensor | None = None) -> Tensor:
        """(1, T, E) of the text, or of other tokens."""
        with self.bundle.body.inference(), listening(self.bundle.body, EMBEDDINGS) as heard:
            outputs(self.bundle, self.tokens if tokens is None else tokens)
        if EMBEDDINGS not in heard:
            raise ModelError(APART.format(family=self.bundle.body.family))
        found: Tensor = heard[EMBEDDINGS][0].detach()
        return found

    def nothing(self, embeddings: Tensor) -> Tensor:
        """Embeddings (1, T, E) that say nothing: zeros; where symbols can be masked, those of masks.

        BERT normalises its embeddings, so that all but zero of the way from zero would be the same to it.
        """
        if type(self.bundle.body).task != MASKED:
            return embeddings * 0.0
        return self.embeddings(self.tokens.masked_fill(self.tokens >= FIRST, MASK))

    def _gradient(self, embeddings: Tensor) -> tuple[Tensor, float]:
        import torch

        with torch.enable_grad():
            leaf = embeddings.clone().requires_grad_()
            value = self.value(self.tokens, leaf)
            [gradient] = torch.autograd.grad(value, [leaf])
        return gradient, float(value.detach())

    def by_symbol(self) -> Tensor:
        """The same, if each symbol has one vector: gradients of other models belong to no symbol."""
        found = self.embeddings()
        if found.shape[:-1] != self.tokens.shape:
            raise ModelError(APART.format(family=self.bundle.body.family))
        return found

    def gradient(self) -> tuple[np.ndarray, float, float]:
        """Gradient times input (T,): what the output would change by if it were linear."""
        embeddings = self.by_symbol()
        gradient, whole = self._gradient(embeddings)
        return _summed(gradient * embeddings), whole, self._base(embeddings)

    def integrated(self, points: int) -> tuple[np.ndarray, float, float]:
        """Integrated gradients (T,) from nothing to the text, at the middles of so many parts of the way."""
        embeddings = self.by_symbol()
        nothing, (_, whole) = self.nothing(embeddings), self._gradient(embeddings)
        total, way = embeddings.new_zeros(embeddings.shape), embeddings - nothing
        for point in range(points):
            total += self._gradient(nothing + way * ((point + 0.5) / points))[0]
        return _summed(total / points * way), whole, self._base(embeddings)

    def left_out(self) -> tuple[np.ndarray, float, float]:
        """What is lost (T,) if a symbol is unknown; BOS and EOS stay. There is no baseline."""
        with self.bundle.body.inference():
            whole, lost = float(self.value(self.tokens)), np.zeros(self.tokens.shape[1])
            for at, one in enumerate(self.tokens[0].tolist()):
                if one >= FIRST:
                    without = self.tokens.clone()
                    without[0, at] = UNK
                    lost[at] = whole - float(self.value(without))
        return lost, whole, math.nan

    def _base(self, embeddings: Tensor) -> float:
        """The number without any symbol."""
        with self.bundle.body.inference():
            return float(self.value(self.tokens, self.nothing(embeddings)))


def _answers_texts(bundle: Bundle) -> bool:
    """Whether its head has one answer to one text."""
    return isinstance(bundle.task, SequenceTask) and len(bundle.codecs) == 2


def asked_ids(bundle: Bundle, text: str) -> np.ndarray:
    """The ids (T,) of a text: all for a head, up to what is predicted for a language model, with a mask for BERT."""
    if bundle.head is None and bundle.model.reads == "both":
        found = bounded(bundle, np.array(with_masks(bundle.codec, text), np.int64))
        if (found == MASK).sum() != 1:
            raise ModelError(MASKS.format(family=bundle.body.family))
        return found
    ids = whole_ids(bundle, text).astype(np.int64)
    return ids if bundle.head is not None else ids[:-1]


def outputs(bundle: Bundle, tokens: Tensor) -> Tensor:
    """Logits of labels, or log-probabilities of the next symbol, or of the one at the mask (V,)."""
    hidden, _ = bundle.body.read(tokens, bundle.body.start(1))  # (1, T, D)
    if bundle.head is not None:
        found: Tensor = bundle.head(hidden, tokens != PAD)[0]
        return found
    place = int((tokens[0] == MASK).nonzero()[0]) if bundle.model.reads == "both" else -1
    return bundle.model.logits(hidden)[0, place].log_softmax(-1)


def _names(bundle: Bundle) -> dict[str, int]:
    """Outputs by name: labels, or symbols."""
    if bundle.head is not None:
        codec = bundle.codecs["label"]
        return {token: at for at, token in enumerate(codec.tokens(range(FIRST, codec.size)))}
    return {token: at for at, token in enumerate(bundle.codec.tokens(range(bundle.codec.size)))}


def _name(bundle: Bundle, id: int) -> str:
    if bundle.head is not None:
        return bundle.codecs["label"].token(FIRST + id)
    return visible(bundle.codec.token(id))


def _id(name: str, known: dict[str, int]) -> int:
    if name not in known:
        raise ConfigError(f"The model answers with nothing called {name!r}. {suggest(name, known)}")
    return known[name]


def _summed(values: Tensor) -> np.ndarray:
    found: np.ndarray = values[0].sum(-1).double().numpy()  # (T,)
    return found


def _headline(model: dict[str, Any]) -> str:
    instead = f", and not {model['contrast']}" if model["contrast"] else ""
    return f"{model['name']}: why {model['target']}{instead} ({model['output']:.3f})"


def _notes(model: dict[str, Any], method: str) -> list[str]:
    total, apart = float(model["attributions"].sum()), model["output"] - model["baseline"]
    told = f"attributions add up to {total:.4f}; the output differs from that of nothing by {apart:.4f}"
    return [f"{model['name']}: {told}."] if method != "leave-one-out" else []


def _line(parts: list[Part], tokens: list[str], values: np.ndarray, y: float) -> float:
    x, most = 16.0, max(1e-12, float(np.abs(values).max()))
    for token, value in zip(tokens, values.tolist(), strict=True):
        width = breadth(token, 14) + 8
        if x + width > WIDE - 16:
            x, y = 16.0, y + LINE
        ground = mixed(COOL if value > 0 else HEAT, 0.8 * abs(value) / most)
        parts += [
            Box(x, y, width - 1, LINE - 4, ground, f"{token}: {value:+.4f}"),
            Words(x + 4, y + 15, token, INK, 14),
        ]
        x += width
    return y + LINE


def _bar(value: float, values: np.ndarray) -> str:
    return ("+" if value > 0 else "-") * round(20 * abs(value) / max(1e-12, float(np.abs(values).max())))
