"""One step against the gradient: how far it moves a loss, beside the bound of its Lipschitz constant."""

from __future__ import annotations

import math
from collections.abc import Sequence
from copy import deepcopy
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from torch import Tensor

    from chainrule.bundle import Bundle

POINTS = 9  # on the way of a step, where the gradient is measured


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
