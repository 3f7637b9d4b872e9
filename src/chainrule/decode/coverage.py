"""Coverage penalty (Wu et al. 2016): against hypotheses that leave parts of their source unattended.

Letters: B prompts, K places of a beam, N hypotheses that grow, S source positions, T symbols.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import torch
from torch import Tensor

from chainrule.decode.alignment import alignments, last_heard, tap_of
from chainrule.decode.cursor import Prompts, padded
from chainrule.models.base import LanguageModel
from chainrule.nn.tap import Heard, listening
from chainrule.symbols import PAD

LEAST = 1e-9  # attention that counts as some


@dataclass
class Coverage:
    """How much attention each position of a source has had, by every hypothesis.

    The penalty is `weight` times the sum over positions of log(min(attention, 1)): 0 where everything was looked at.
    """

    weight: float
    heard: Heard | None = None
    given: Tensor | None = None  # (B, K, S)

    @classmethod
    @contextmanager
    def heard_by(
        cls, model: LanguageModel, prompts: Prompts, weight: float, source: object
    ) -> Iterator[Coverage]:
        """Within this block a model's attention is heard, if there is a penalty at all."""
        if not weight or not len(prompts):
            yield cls(0.0)
            return
        tokens = padded([list(map(int, prompt)) for prompt in prompts], model.device)
        with model.inference():
            state = model.start(len(tokens), source)
        weights = alignments(model, tokens, state) * (tokens != PAD)[:, :, None]  # (B, T, S)
        with listening(model, tap_of(model)) as heard:
            yield cls(weight, heard, weights.sum(1, keepdim=True).double())

    def look(self, live: Tensor) -> None:
        """Add what was heard last, of the rows that stand at the places which are `live` (B, K)."""
        if self.heard is None or self.given is None or not bool(live.any()):
            return
        self.given = self.given.clone()
        self.given[live] += last_heard(self.heard)[:, -1].double()  # (N, S)
        self.heard.clear()

    def move(self, parents: Tensor) -> None:
        """Everybody has had what was given to the place that it continues (B, K)."""
        if self.given is not None:
            self.given = self._of(self.given, parents)

    def penalties(self, parents: Tensor | None = None) -> Tensor | float:
        """Of every place (B, K), or of what continues these."""
        if self.given is None:
            return 0.0
        given = self.given if parents is None else self._of(self.given, parents)
        real = self.given.amax(1, keepdim=True) > 0.0  # (B, 1, S) padding is never attended to
        logs = given.clamp(min=LEAST, max=1.0).log()  # (B, K, S)
        return self.weight * torch.where(real, logs, 0.0).sum(2)

    @staticmethod
    def _of(given: Tensor, parents: Tensor) -> Tensor:
        return given.gather(1, parents[:, :, None].expand(-1, -1, given.shape[2]))
