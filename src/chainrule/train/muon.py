"""Muon: matrices inside a network move by the orthogonal part of their momentum (Jordan et al. 2024).

All directions of a matrix are learnt at the same pace, not only the few that gradients are full of. Tables of vectors,
biases and norms are left to AdamW.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import torch
from torch import Tensor

from chainrule.errors import ConfigError
from chainrule.nn.product import bf16_pays
from chainrule.train.config import TrainConfig
from chainrule.train.network import Network, Rates
from chainrule.train.optimizer import NO_SCALES, AdamW

MOMENTUM = 0.95
ROUNDS = 5  # of the iteration below
SIZE = 0.2  # of a step, to be about as long as one of AdamW


class Muon(AdamW):
    """Matrices of equal shape are kept and moved together."""

    def __init__(
        self,
        parameters: Iterable[Tensor],
        matrices: Iterable[Tensor],
        decay: float,
        scales: Mapping[Tensor, float] = NO_SCALES,
    ) -> None:
        piles: dict[tuple[torch.Size, float], list[Tensor]] = {}
        for matrix in (one for one in matrices if one.requires_grad):
            piles.setdefault((matrix.shape, scales.get(matrix, 1.0)), []).append(matrix)
        self.piles, self.factors = list(piles.values()), [scale for _, scale in piles]
        taken = {id(one) for pile in self.piles for one in pile}
        super().__init__([one for one in parameters if id(one) not in taken], decay, scales=scales)
        self.decay = decay
        self.momentum = [torch.zeros(len(pile), *pile[0].shape) for pile in self.piles]  # (K, N, D) each

    def zero(self) -> None:
        super().zero()
        for one in (one for pile in self.piles for one in pile):
            one.grad = None

    @torch.no_grad()
    def step(self, rate: float) -> None:
        super().step(rate)
        for pile, momentum, factor in zip(self.piles, self.momentum, self.factors, strict=True):
            gradient = torch.stack([torch.zeros_like(one) if one.grad is None else one.grad for one in pile])
            momentum.lerp_(gradient, 1 - MOMENTUM)
            change = orthogonal(gradient.lerp_(momentum, MOMENTUM))  # (K, N, D)
            change *= -factor * rate * SIZE * max(pile[0].shape) ** 0.5
            for one, moved in zip(pile, change, strict=True):
                if one.grad is None:  # it does not learn yet
                    continue
                one.mul_(1 - factor * rate * self.decay).add_(moved)

    def state(self) -> dict[str, Tensor]:
        return super().state() | {f"momentum/{number}": one for number, one in enumerate(self.momentum)}

    def restore(self, state: dict[str, Tensor]) -> None:
        super().restore(state)
        for number, one in enumerate(self.momentum):
            one.copy_(state[f"momentum/{number}"])


def orthogonal(matrices: Tensor) -> Tensor:
    """Of matrices (K, N, D) about the nearest ones whose rows, or columns, are orthogonal and of length 1.

    A polynomial drives all singular values towards 1, roughly: between 0.7 and 1.2 is enough for learning.
    """
    found = matrices.to(torch.bfloat16 if bf16_pays() else matrices.dtype)
    tall = found.shape[-2] > found.shape[-1]
    found = found.mT if tall else found
    found = found / (found.norm(dim=(-2, -1), keepdim=True) + 1e-7)
    for _ in range(ROUNDS):
        square = found @ found.mT  # (K, N, N)
        found = 3.4445 * found + (-4.7750 * square + 2.0315 * square @ square) @ found
    whole: Tensor = found.mT if tall else found
    return whole.to(matrices.dtype)


def optimizer_for(network: Network, config: TrainConfig, rates: Rates) -> AdamW:
    """The optimiser that the settings name, for all parameters of a network."""
    scales = rates.scales_of(network)
    if config.optimizer == "adamw":
        return AdamW(network.parameters(), config.weight_decay, scales=scales)
    matrices = list(network.body.matrices())
    if not matrices or config.shard:
        raise ConfigError(
            "Muon moves whole matrices of attention layers, and has none here. Use --optimizer adamw."
        )
    return Muon(network.parameters(), matrices, config.weight_decay, scales=scales)
