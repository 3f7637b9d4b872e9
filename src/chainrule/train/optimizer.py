"""AdamW: the step is torch's own fused kernel; the class around it is ours.

`torch.optim` would import a compiler we do not use, more than a second at the start of every training.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

import torch
from torch import Tensor


def own(tensor: Tensor) -> Tensor:
    """This process's part of a tensor that is divided among processes; else the tensor itself."""
    part: Callable[[], Tensor] | None = getattr(tensor, "to_local", None)
    return tensor if part is None else part()


NO_SCALES: Mapping[Tensor, float] = {}


class AdamW:
    """Adam with decoupled weight decay; vectors (biases, norms) are not decayed.

    `scales` are factors of the learning rate for some parameters.
    Of a parameter that is divided among processes, each moves its own part, and remembers nothing of the others.
    """

    def __init__(
        self,
        parameters: Iterable[Tensor],
        decay: float,
        betas: tuple[float, float] = (0.9, 0.99),
        scales: Mapping[Tensor, float] = NO_SCALES,
    ) -> None:
        found = [one for one in parameters if one.requires_grad]
        matrices, vectors = ([one for one in found if (one.dim() > 1) is many] for many in (True, False))
        self.groups = [*_scaled(matrices, decay, scales), *_scaled(vectors, 0.0, scales)]
        self.betas = betas
        self.first = {one: torch.zeros_like(own(one)) for one in found}
        self.second = {one: torch.zeros_like(own(one)) for one in found}
        self.steps = {one: torch.zeros(()) for one in found}  # of each: some begin later than others

    @property
    def parameters(self) -> list[Tensor]:
        """All that is learnt."""
        return [one for group, _, _ in self.groups for one in group]

    def zero(self) -> None:
        """Forget the gradients: fresh ones need not be added to anything."""
        for one in self.parameters:
            one.grad = None

    @torch.no_grad()
    def step(self, rate: float) -> None:
        """Move every parameter against its gradient."""
        for group, decay, scale in self.groups:
            moving = [one for one in group if one.grad is not None]
            if moving:
                torch._foreach_add_([self.steps[one] for one in moving], 1.0)
                torch._fused_adamw_(
                    [own(one) for one in moving],
                    [own(one.grad) for one in moving if one.grad is not None],
                    [self.first[one] for one in moving],
                    [self.second[one] for one in moving],
                    [],
                    [self.steps[one] for one in moving],
                    lr=scale * rate,
                    beta1=self.betas[0],
                    beta2=self.betas[1],
                    weight_decay=decay,
                    eps=1e-8,
                    amsgrad=False,
                    maximize=False,
                )

    def state(self) -> dict[str, Tensor]:
        """What it remembers, by name."""
        kept = {"first": self.first, "second": self.second, "steps": self.steps}
        return {
            f"{number}/{name}": values[one]
            for number, one in enumerate(self.parameters)
            for name, values in kept.items()
        }

    def restore(self, state: dict[str, Tensor]) -> None:
        """Remember what `state` gave."""
        for number, one in enumerate(self.parameters):
            self.steps[one].copy_(state[f"{number}/steps"])
            self.first[one].copy_(state[f"{number}/first"])
            self.second[one].copy_(state[f"{number}/second"])


def _scaled(
    parameters: Sequence[Tensor], decay: float, scales: Mapping[Tensor, float]
) -> list[tuple[list[Tensor], float, float]]:
    """Parameters that move at the same rate, with their decay and the factor of their rate."""
    factors = dict.fromkeys(scales.get(one, 1.0) for one in parameters)
    return [([one for one in parameters if scales.get(one, 1.0) == by], decay, by) for by in factors]
