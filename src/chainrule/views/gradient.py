"""The view `gradient`: how much of a loss reaches the memory of earlier steps, vanishing or exploding on the way."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from copy import deepcopy
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from chainrule.config import option
from chainrule.errors import ModelError
from chainrule.models.registry import family
from chainrule.nn.tap import replacing
from chainrule.symbols import EOS
from chainrule.use.text import typed_texts
from chainrule.views.kinds import Kind, register
from chainrule.views.plot import BEFORE, WIDE, height, lines
from chainrule.views.scene import INK, QUIET, Part, Scene, Words, cut
from chainrule.views.text import named, written
from chainrule.views.view import View

if TYPE_CHECKING:
    from torch import Tensor

    from chainrule.bundle import Bundle

NONE = "A {family} has no recurrent memory that a gradient travels through. Families that have it: rnn, lstm, gru."
DERIVATIVES = {
    "tanh": lambda hidden: 1 - hidden**2,
    "relu": lambda hidden: (hidden > 0).astype(float),
    "sigmoid": lambda hidden: hidden * (1 - hidden),
}
KINDS_OF_CELLS: tuple[tuple[str, str, dict[str, Any]], ...] = (
    ("rnn, tanh", "rnn", {"activation": "tanh"}),
    ("rnn, relu", "rnn", {"activation": "relu"}),
    ("rnn, relu from the identity", "rnn", {"activation": "relu", "init": "identity"}),
    ("gru", "gru", {}),
    ("lstm", "lstm", {}),
)
POINTS = 9  # on the way of a step, where the gradient is measured
LEAST = 1e-30


@register("gradient")
@dataclass(frozen=True, kw_only=True)
class Gradient(Kind):
    """Norms of dL_T/dh_t (and of dL_T/dc_t) against T - t, L_T being the loss at the last symbol of the text."""

    untrained: bool = option(True, "beside each model the same network before training")
    families: bool = option(
        False, "beside: rnn (tanh, relu, relu from the identity), gru and lstm of this size, before training"
    )
    clip_norm: float | None = option(
        None,
        "gradient clipping threshold that the step is held to; that of the training if not given",
        low=0.0,
        high=1e9,
    )
    lr: float = option(0.1, "learning rate of the one step whose effect is measured", low=1e-9, high=1e6)
    seed: int = option(0, "of the untrained network", low=0, high=1 << 31)

    def look(self, bundles: tuple[Bundle, ...], text: str) -> View:
        models = [
            self._model(name, bundle, text)
            for label, one in zip(named(bundles), bundles, strict=True)
            for name, bundle in self._both(label, one)
        ]
        if self.families:
            models += [self._model(name, one, text) for name, one in untrained(bundles[0], self.seed)]
        title = f"gradient through time, from the last symbol of {cut(text, 50)!r}"
        return View("gradient", {"models": models}, {"title": title, "text": text, "notes": _notes(models)})

    def _both(self, name: str, bundle: Bundle) -> Iterator[tuple[str, Bundle]]:
        yield name, bundle
        if self.untrained:
            fresh: Any = type(bundle.body)
            yield f"{name}{BEFORE}", replace(bundle, body=fresh.seeded(bundle.body.config, self.seed))

    def _model(self, name: str, bundle: Bundle, text: str) -> dict[str, Any]:
        tokens = _tokens(bundle, text)
        norms, values = norms_of(bundle, tokens)
        memories = {memory: np.log10(np.maximum(norms[memory], LEAST)) for memory in norms}
        return {
            "name": name,
            "symbols": bundle.codec.tokens(tokens[0].numpy()),
            "norms": memories,
            "radius": radii(bundle),
            "derivative": _derivative(bundle, values),
            "step": step_of(bundle, tokens, self.lr, self._threshold(bundle)),
        }

    def _threshold(self, bundle: Bundle) -> float:
        """Of gradient clipping; 0: nothing is clipped."""
        held = bundle.card.get("settings", {}).get("clip_norm", 0.0)
        return float(held if self.clip_norm is None else self.clip_norm)

    @staticmethod
    def scene(view: View) -> Scene:
        curves = {
            f"{model['name']}: {memory}": values
            for model in view["models"]
            for memory, values in model["norms"].items()
        }
        parts: list[Part] = [Words(16, 22, cut(view.title, 90), INK, bold=True)]
        parts += lines(curves, 16, 60, ("T - t, steps back", "log10 of the norm of the gradient"))
        y = 60 + height(len(curves))
        for at, note in enumerate(view.notes):
            parts.append(Words(16, y + 18 * at, cut(note, 100), QUIET, 12))
        return Scene(WIDE + 140, y + 18 * len(view.notes) + 12, parts, view.title)

    @staticmethod
    def words(view: View) -> str:
        rows = []
        for model in view["models"]:
            for memory, values in model["norms"].items():
                told = " ".join(f"{value:7.2f}" for value in _thinned(values))
                rows.append(
                    f"{model['name']}: {memory}, log10 of the norm, from the last step back\n  {told}"
                )
        return "\n".join([*rows, *view.notes])


def _tokens(bundle: Bundle, text: str) -> Tensor:
    """A text (1, T), its end included."""
    import torch

    ids = bundle.codec.encode(typed_texts(bundle.codec, [written(text)])).ids.astype(np.int64)
    return torch.from_numpy(ids if ids[-1] == EOS else np.append(ids, EOS))[None]


def norms_of(bundle: Bundle, tokens: Tensor) -> tuple[dict[str, np.ndarray], np.ndarray]:
    """By memory the norms (T,) of the gradient of the last symbol's loss, from the last step back; and the hidden
    vectors (layers, T, D) in the order of the text."""
    import torch
    import torch.nn.functional as F

    body: Any = bundle.model
    own = hasattr(body, "layers") and hasattr(body.start(1), "memories")
    layers = body.layers.layers if own else []
    if not layers:
        raise ModelError(NONE.format(family=body.family))
    taps = {
        f"{name} {at + 1}": f"layers.{at}.{name}"
        for at, layer in enumerate(layers)
        for name in ("hidden", "cell")[: layer.cell.memories]
    }
    steps: dict[str, list[Tensor]] = {memory: [] for memory in taps}
    with torch.enable_grad(), ExitStack() as stack:
        for memory, tap in taps.items():
            stack.enter_context(replacing(body, tap, partial(_kept, steps[memory])))
        hidden, _ = body.read(tokens[:, :-1], body.start(1))
        loss = F.cross_entropy(body.logits(hidden)[:, -1], tokens[:, -1])
        norms = {memory: _norms(loss, each) for memory, each in steps.items()}
    values = [
        torch.cat([one[0] for one in each]) for memory, each in steps.items() if memory.startswith("hidden")
    ]
    return norms, torch.stack(values).detach().numpy()


def _kept(steps: list[Tensor], value: Tensor) -> Tensor:
    """The value (1, 1, D) that a step computes and all that follows reads; it is kept to ask for its gradient."""
    steps.append(value)
    return value


def _norms(loss: Tensor, steps: Sequence[Tensor]) -> np.ndarray:
    """Of the gradient at each of these steps, the last one first; 0 where nothing depends on it."""
    import torch

    grads = torch.autograd.grad(loss, steps, retain_graph=True, allow_unused=True)
    return np.array([0.0 if one is None else float(one.norm()) for one in reversed(grads)])


def radii(bundle: Bundle) -> dict[str, float]:
    """The spectral radius of every hidden-to-hidden matrix, by layer and gate."""
    found = {}
    body: Any = bundle.body
    for layer, one in enumerate(body.layers.layers):
        blocks = one.cell.hidden_weight.detach().double().numpy().reshape(len(one.cell.gates), one.width, -1)
        for gate, block in zip(one.cell.gates, blocks, strict=True):
            name = f"layer {layer + 1}" if len(one.cell.gates) == 1 else f"layer {layer + 1}, {gate}"
            found[name] = float(np.abs(np.linalg.eigvals(block)).max())
    return found


def _derivative(bundle: Bundle, hidden: np.ndarray) -> list[np.ndarray]:
    """Mean derivative of the activation at every step, layer by layer, where a plain recurrence has one."""
    activation = getattr(bundle.body.config, "activation", None)
    if activation not in DERIVATIVES:
        return []
    return [DERIVATIVES[activation](layer.astype(float)).mean(1) for layer in hidden]


def untrained(like: Bundle, seed: int) -> Iterator[tuple[str, Bundle]]:
    """Recurrent networks of every kind, as wide as this one and for the same symbols, with their first weights."""
    held: Any = like.body.config
    shared = ("vocab_size", "suppressed", "width", "layers", "embedding", "tied")
    sizes = {name: getattr(held, name) for name in shared}
    for name, kind, settings in KINDS_OF_CELLS:
        made: Any = family(kind)
        yield f"{name}{BEFORE}", replace(like, body=made.seeded(made.Config(**sizes, **settings), seed))


def step_of(bundle: Bundle, tokens: Tensor, lr: float, clip_norm: float = 0.0) -> dict[str, float]:
    """How far one step against the gradient moves the loss of the text, beside the bound L * lr * norm(g).

    L is the largest norm of the gradient on the way: no loss changes faster than that. Clipping at `clip_norm` shortens
    the step to `share` of its length, where the gradient is longer than that.
    """
    import torch

    body: Any = deepcopy(bundle.body)
    weights = [one for one in body.parameters() if one.requires_grad]
    before, grads = _loss(body, tokens, weights)
    norm = _norm(grads)
    steepest, after = norm, before
    for _ in range(POINTS):
        with torch.no_grad():
            for weight, grad in zip(weights, grads, strict=True):
                if grad is not None:
                    weight -= lr / POINTS * grad
        after, there = _loss(body, tokens, weights)
        steepest = max(steepest, _norm(there))
    return {
        "lr": lr,
        "norm": norm,
        "before": before,
        "after": after,
        "moved": abs(after - before),
        "bound": steepest * lr * norm,
        "clip_norm": clip_norm,
        "share": min(1.0, clip_norm / norm) if clip_norm and norm else 1.0,
    }


def _loss(body: Any, tokens: Tensor, weights: Sequence[Tensor]) -> tuple[float, tuple[Tensor | None, ...]]:
    """Of all symbols together, per symbol, with its gradient."""
    import torch
    import torch.nn.functional as F

    with torch.enable_grad():
        hidden, _ = body.read(tokens[:, :-1], body.start(1))
        loss = F.cross_entropy(body.logits(hidden)[0], tokens[0, 1:])
        return float(loss.detach()), torch.autograd.grad(loss, weights, allow_unused=True)


def _norm(grads: Sequence[Tensor | None]) -> float:
    return math.sqrt(sum(float(one.square().sum()) for one in grads if one is not None))


def _notes(models: Sequence[dict[str, Any]]) -> list[str]:
    """What became of the gradient, in words."""
    found = []
    for model in models:
        name, norms = model["name"], next(reversed(model["norms"].values()))
        change = float(norms[-1] - norms[0]) / max(1, len(norms) - 1)
        kind = "vanishes" if change < -0.02 else "explodes" if change > 0.02 else "is kept"
        found.append(f"{name}: the gradient {kind}, x {10**change:.2f} for each step back.")
        radius = ", ".join(f"{layer} {value:.2f}" for layer, value in model["radius"].items())
        found.append(f"{name}: spectral radius of hidden-to-hidden weights: {radius}.")
        one = model["step"]
        found.append(
            f"{name}: a step of {one['lr']:g} moved the loss by {one['moved']:.4g}; the bound is {one['bound']:.4g}."
        )
        if one["clip_norm"]:
            done = f"shortens a step to {one['share']:.1%}" if one["share"] < 1 else "changes nothing"
            found.append(
                f"{name}: the gradient of all weights has the norm {one['norm']:.3g}; clipping at "
                f"{one['clip_norm']:g} {done}."
            )
    return found


def _thinned(values: np.ndarray, most: int = 16) -> list[float]:
    """So many of the values, evenly spread."""
    places = np.unique(np.linspace(0, len(values) - 1, min(most, len(values))).round().astype(int))
    found: list[float] = values[places].tolist()
    return found
