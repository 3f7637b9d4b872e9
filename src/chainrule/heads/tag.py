"""A tag for every word: a linear layer on its vector, alone or as a linear-chain CRF, decoded by Viterbi.

Where tags are BIO or BIOES, what may follow what is known, and no other tags are ever predicted: the most probable
chain of legal ones is. The weights are learnt without that rule, so that a slip in the data does no harm.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, final

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from chainrule.config import option
from chainrule.errors import ModelError
from chainrule.heads.base import Head, HeadConfig, register
from chainrule.heads.layered import LayeredConfig, layers_of
from chainrule.nn.crf import best, log_likelihood, shares
from chainrule.nn.dropout import drop
from chainrule.nn.product import Linear

SLIGHT = 1e-3  # transitions begin about so large
ILLEGAL = 1e4  # how much less a chain scores for every step that may not be: any legal one is more probable


@dataclass(frozen=True, kw_only=True)
class TagConfig(LayeredConfig):
    """What is between a vector and its tag."""

    crf: bool = option(False, "conditional random field (CRF): learn which tag follows which")
    direct: bool = option(False, "the body's vectors are logits of the tags already", hidden=True)
    averaged: bool = option(False, "they are means of probabilities over legal chains", hidden=True)


@register("tag")
class TagHead(Head):
    """W h_t + b for every word; with a CRF, plus what each step from tag to tag is worth."""

    Config: ClassVar[type[HeadConfig]] = TagConfig
    config: TagConfig
    illegal: Tensor  # (K + 1, K + 1) bool: from tag to tag, from the beginning (last row), to the end (last column)

    def __init__(self, config: TagConfig) -> None:
        super().__init__(config)
        count = config.answers
        self.layers = layers_of(config)
        self.output = None if config.direct else Linear(config.read_width, count)
        self.register_buffer("illegal", torch.zeros(count + 1, count + 1, dtype=torch.bool))
        if config.crf:
            self.steps = nn.Parameter(SLIGHT * torch.randn(count + 1, count + 1))

    @final
    def ruled(self, rules: tuple[np.ndarray, np.ndarray, np.ndarray] | None) -> TagHead:
        """The same head, told which tag may follow which (K, K), which may be first and which last (K,)."""
        if rules is not None:
            follows, first, last = rules
            self.illegal[:-1, :-1] = torch.from_numpy(~follows)
            self.illegal[-1, :-1], self.illegal[:-1, -1] = torch.from_numpy(~first), torch.from_numpy(~last)
        return self

    @final  # type: ignore[misc]  # torch leaves it open
    def forward(self, hidden: Tensor, real: Tensor) -> Tensor:
        """Logits (B, W, K) of words (B, W, D)."""
        if self.output is None:
            return hidden
        if self.layers is not None:
            hidden = self.layers(hidden, real)  # (B, W, 2 U)
        found: Tensor = self.output(drop(hidden, self.config.dropout, self.training))
        return found

    @final
    def loss(self, logits: Tensor, tags: Tensor, real: Tensor, smoothing: float = 0.0) -> Tensor:
        """Nats of the tags (B, W) of the `real` words, summed; of a tag below 0 nothing is known."""
        if not self.config.crf:
            known = real & (tags >= 0)
            return F.cross_entropy(logits[known], tags[known], reduction="sum", label_smoothing=smoothing)
        between, opens, closes = self.steps[:-1, :-1], self.steps[-1, :-1], self.steps[:-1, -1]
        return -log_likelihood(logits, tags, real, between, opens, closes).sum()

    @final
    @property
    def chained(self) -> bool:
        """Whether the tag of a word depends on those of its neighbours."""
        return self.config.crf or bool(self.illegal.any())

    @final
    def decoded(self, logits: np.ndarray, starts: np.ndarray) -> np.ndarray:
        """The most probable tags (words,) of sentences that begin at `starts` (sentences + 1,)."""
        if not self.chained:
            found: np.ndarray = logits.argmax(1) if len(logits) else np.empty(0, np.int64)
            return found
        return best(logits.astype(np.float64), starts, *self._chain(1.0))  # type: ignore[no-any-return]

    @final
    def probabilities(self, logits: np.ndarray, starts: np.ndarray, temperature: float) -> np.ndarray:
        """(words, K) of every tag at every word, over all chains of tags that are legal."""
        scaled = logits.astype(np.float64) / temperature
        if not self.chained or self.config.averaged:
            raised = np.exp(scaled - scaled.max(1, keepdims=True, initial=-np.inf))
            found = raised / raised.sum(1, keepdims=True)
        else:
            found = shares(scaled, starts, *self._chain(temperature))
        if not np.isfinite(found).all():
            raise ModelError(
                "Tags of this model have probabilities that are no numbers. Save the model again."
            )
        return found  # type: ignore[no-any-return]

    def _chain(self, temperature: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """What each step is worth (K, K), and beginning and ending with each tag (K,)."""
        illegal = self.illegal.cpu().numpy()
        steps = self.steps.detach().double().cpu().numpy() if self.config.crf else np.zeros(illegal.shape)
        worth = steps / temperature - ILLEGAL * illegal
        return tuple(np.ascontiguousarray(one) for one in (worth[:-1, :-1], worth[-1, :-1], worth[:-1, -1]))  # type: ignore[return-value]
