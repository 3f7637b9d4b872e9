"""Which symbols may be drawn: pure functions on logits (B, V) -> (B, V); what is -inf stays -inf."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from chainrule.decode.config import GenerationConfig
from chainrule.errors import ModelError


def narrowed(logits: Tensor, config: GenerationConfig) -> Tensor:
    """The logits to draw from: temperature first, then top-k, then top-p, as is the custom."""
    logits = temperature(logits, config.temperature)
    logits = logits if config.top_k is None else top_k(logits, config.top_k)
    return logits if config.top_p is None else top_p(logits, config.top_p)


def without(logits: Tensor, never: Sequence[int]) -> Tensor:
    """The same with these ids made impossible; the others keep their values."""
    if not never:
        return logits
    return logits.index_fill(-1, torch.tensor(list(never), device=logits.device), -torch.inf)


def only(logits: Tensor, ids: Sequence[int]) -> Tensor:
    """The same with all but these ids made impossible."""
    kept = torch.tensor(list(ids), device=logits.device, dtype=torch.long)
    return torch.full_like(logits, -torch.inf).index_copy(-1, kept, logits[..., kept])


def temperature(logits: Tensor, heat: float) -> Tensor:
    """Sharper below 1, flatter above; at 0 only the best symbol remains, of equal ones the lowest id."""
    if heat == 0:
        return top_k(logits, 1)
    if heat == 1:
        return logits
    best = logits.amax(-1, keepdim=True)  # (B, 1)
    # Relative to the best, so that a small temperature drives the others to -inf and nothing to +inf.
    below = logits - best.masked_fill(best == -torch.inf, 0.0)  # (B, V)
    return (below.double() / heat).to(logits.dtype)


def top_k(logits: Tensor, count: int) -> Tensor:
    """Only the `count` best symbols, the lowest ids of equally good ones."""
    return logits.masked_fill(~best(logits, count), -torch.inf)


def best(scores: Tensor, count: int) -> Tensor:
    """Which `count` entries of each row (B, V) are the largest; of equal ones those with the lowest index."""
    count = min(count, scores.shape[-1])
    least = scores.topk(count).values[:, -1:]  # (B, 1)
    above, level = scores > least, scores == least  # (B, V)
    room = count - above.sum(-1, keepdim=True)  # (B, 1)
    return above | (level & (level.cumsum(-1) <= room))


def top_p(logits: Tensor, mass: float) -> Tensor:
    """Only the fewest best symbols that together have at least the probability `mass` (nucleus)."""
    if mass >= 1:
        return logits.clone()
    ordered, order = logits.double().sort(dim=-1, descending=True, stable=True)  # (B, V)
    chances = ordered.softmax(-1)
    before = chances.cumsum(-1) - chances  # what the better ones have together
    drop = before >= mass
    drop[:, 0] = False
    return logits.masked_fill(torch.zeros_like(drop).scatter(-1, order, drop), -torch.inf)


def check_finite(best: Tensor) -> None:
    """Refuse predictions that are no probabilities: the greatest logit of a row (B,) is NaN or infinite."""
    if not bool((best < torch.inf).all()):
        raise ModelError(
            "The model's predictions are not finite: its weights are damaged, or it diverged. Fit it again."
        )
