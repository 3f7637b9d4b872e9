"""The view `gradient`: how much of a loss reaches the memory of earlier steps, vanishing or exploding on the way."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
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
from chainrule.views.descent import step_of
from chainrule.views.kinds import Kind, register
from chainrule.views.plot import BEFORE, WIDE, height, lines
from chainrule.views.scene import INK, Part, Scene, Words, cut, paragraphs
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
LEAST = 1e-30
KEPT = 0.02  # change of the logarithm for each step, up to which a gradient is kept


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
            shown = [bundle.body.config for bundle in bundles] if self.untrained else []
            models += [self._model(name, one, text) for name, one in untrained(bundles[0], self.seed, shown)]
        title = f"gradient through time, from the last symbol of {cut(text, 50)!r}"
        for model in models:
            model["told"] = told(model)
        return View("gradient", {"models": models}, {"title": title, "text": text})

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
        parts: list[Part] = [Words(16, 22, cut(view.title, 90), INK, bold=True)]
        y = 60.0
        for curves, axes in (_norms_drawn(view), _derivatives_drawn(view)):
            if curves:
                parts += lines(curves, 16, y, axes)
                y += height(len(curves)) + 40
        for model in view["models"]:
            parts.append(Words(16, y - 12, cut(model["name"], 90), INK, 12))
            facts = [f"{name}: {one}" for name, one in model["told"].items()]
            y = paragraphs(parts, facts, y + 8, WIDE + 140) + 16
        return Scene(WIDE + 140, y, parts, view.title)

    @staticmethod
    def words(view: View) -> str:
        rows = []
        for model in view["models"]:
            rows.append(model["name"])
            for memory, values in model["norms"].items():
                shown = " ".join(f"{value:7.2f}" for value in _thinned(values))
                rows.append(f"  {memory}, log10 of the norm, from the last step back\n  {shown}")
            rows += [f"  {name}: {one}" for name, one in model["told"].items()]
        return "\n".join([*rows, *view.notes])


def _norms_drawn(view: View) -> tuple[dict[str, np.ndarray], tuple[str, str]]:
    """Curves and axes of the gradients."""
    curves = {
        f"{model['name']}: {memory}": values
        for model in view["models"]
        for memory, values in model["norms"].items()
    }
    return curves, ("T - t, steps back", "log10 of the norm of the gradient")


def _derivatives_drawn(view: View) -> tuple[dict[str, np.ndarray], tuple[str, str]]:
    """Curves and axes of the derivatives along the chain."""
    curves = {
        f"{model['name']}: layer {at}": values
        for model in view["models"]
        for at, values in enumerate(model["derivative"], 1)
    }
    return curves, ("step of the text", "mean derivative of the activation")


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


def untrained(like: Bundle, seed: int, shown: Sequence[Any] = ()) -> Iterator[tuple[str, Bundle]]:
    """Recurrent networks of every kind, as wide as this one and for the same symbols, with their first weights.

    Kinds that are `shown` already, by the settings of their networks, are left out.
    """
    held: Any = like.body.config
    shared = ("vocab_size", "suppressed", "width", "layers", "embedding", "tied")
    sizes = {name: getattr(held, name) for name in shared}
    for name, kind, settings in KINDS_OF_CELLS:
        made: Any = family(kind)
        if any(_is_kind(one, made, settings) for one in shown):
            continue
        yield f"{name}{BEFORE}", replace(like, body=made.seeded(made.Config(**sizes, **settings), seed))


def _is_kind(config: Any, made: Any, settings: Mapping[str, Any]) -> bool:
    """Whether a network is of this family, with these settings."""
    return type(config) is made.Config and all(
        getattr(config, name) == value for name, value in settings.items()
    )


def told(model: Mapping[str, Any]) -> dict[str, str]:
    """What became of the gradient, and why, in words."""
    (memory, norms), one = next(reversed(model["norms"].items())), model["step"]
    change = float(norms[-1] - norms[0]) / max(1, len(norms) - 1)
    kind = "vanishes" if change < -KEPT else "explodes" if change > KEPT else "is kept"
    done = "without clipping"
    if one["clip_norm"]:
        done = f"clipping at {one['clip_norm']:g} "
        done += f"shortens a step to {one['share']:.1%}" if one["share"] < 1 else "changes nothing"
    found = {
        "the gradient": f"{kind} ({memory}: x {10**change:.2f} for each step back)",
        "spectral radius of hidden-to-hidden weights": _radii_told(model["radius"]),
        f"a step of {one['lr']:g}": f"moved the loss by {one['moved']:.4g}; the bound L * lr * norm(g) is "
        f"{one['bound']:.4g}",
        "norm of the gradient of all weights": f"{one['norm']:.3g}; {done}",
    }
    if model["derivative"]:
        means = (f"layer {at} {float(np.mean(one)):.2f}" for at, one in enumerate(model["derivative"], 1))
        found["mean derivative of the activation"] = ", ".join(means)
    return found


def _radii_told(radius: Mapping[str, float]) -> str:
    """By layer, the gates of one together: `layer 1: input 0.60, forget 0.57; layer 2: …`."""
    layers: dict[str, list[str]] = {}
    for name, value in radius.items():
        layer, _, gate = name.partition(", ")
        layers.setdefault(layer, []).append(f"{gate} {value:.2f}".strip())
    return "; ".join(f"{layer}: {', '.join(gates)}" for layer, gates in layers.items())


def _thinned(values: np.ndarray, most: int = 16) -> list[float]:
    """So many of the values, evenly spread."""
    places = np.unique(np.linspace(0, len(values) - 1, min(most, len(values))).round().astype(int))
    found: list[float] = values[places].tolist()
    return found
