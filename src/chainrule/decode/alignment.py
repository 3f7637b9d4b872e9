"""Alignment by attention: at which places of its source a model looks, symbol by symbol."""

from __future__ import annotations

from typing import TYPE_CHECKING

from chainrule.errors import ModelError
from chainrule.models.base import Body
from chainrule.models.state import State

if TYPE_CHECKING:
    from torch import Tensor

    from chainrule.nn.tap import Heard

BLIND = "The family {family!r} attends to no source: it has no alignment. Fit a transformer, or seq2seq with attention."


def alignments(body: Body, tokens: Tensor, state: State) -> Tensor:
    """Attention weights (B, T, S): where it looks for what comes after each of tokens (B, T), read from `state`.

    Those of a row sum to 1, and are 0 at padding of the source. A family names the tap that tells them in `alignment`:
    (B, T, S), or (B, H, T, S) by heads, of which the mean is taken. Where several layers tell, the last one counts.
    """
    from chainrule.nn.tap import listening

    with body.inference(tokens.numel()), listening(body, tap_of(body)) as heard:
        body.read(tokens, state)
    if not heard:
        raise ModelError(BLIND.format(family=body.family))
    return last_heard(heard, every=True)


def tap_of(body: Body) -> str:
    """What tells them."""
    if body.alignment is None:
        raise ModelError(BLIND.format(family=body.family))
    return body.alignment


def last_heard(heard: Heard, every: bool = False) -> Tensor:
    """The weights (B, T, S) of the last layer that told some, as they were told last, or all of them joined."""
    import torch

    told = list(heard.values())[-1]
    weights: Tensor = torch.cat(told, -2) if every else told[-1]
    return weights.mean(1) if weights.dim() == 4 else weights
