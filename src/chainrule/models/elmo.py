"""The family `elmo`: forward and backward LSTM language models over words read by their letters (Peters et al. 2018).

Each direction is a language model of its own; they share the character CNN below and the softmax above. The backward
one reads a sentence from its end just as the forward one reads it: it, too, begins with BOS and says EOS at the end.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar, Literal, Self

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from chainrule.config import option
from chainrule.errors import ModelError
from chainrule.models.base import BATCH, CostForecast, LanguageModel, ModelConfig
from chainrule.models.neural import PROCESS, STARTING, Neural, asked, grown_table, training_speed
from chainrule.models.registry import register
from chainrule.models.sizing import EPOCHS, MOST, Workload
from chainrule.models.state import State, Unremembered
from chainrule.models.windows import in_batches, sequences, tensor
from chainrule.nn import tap
from chainrule.nn.cells import LstmCell
from chainrule.nn.characters import CharacterCNN, SpelledEmbedding, numbered
from chainrule.nn.dropout import Dropout
from chainrule.nn.elmo import LayerMix, ResidualStack
from chainrule.nn.recurrent import lengths_of
from chainrule.nn.softmax import SoftmaxOutput
from chainrule.symbols import BOS, EOS, PAD, UNK

LARGE, SAMPLES = 5_000, 1_024  # words from which a softmax is sampled, and how many are drawn


@dataclass(frozen=True, kw_only=True)
class ElmoConfig(ModelConfig):
    """Settings of ELMo: the reader of letters, the layers of each direction, the softmax."""

    softmax: bool = option(True, "it predicts symbols; else a head stands on it", hidden=True)
    layers: int = option(2, "LSTM layers of each direction", low=1, high=64)
    width: int = option(
        256, "hidden size: units of a layer, in each direction", low=1, high=65_536, chosen=True
    )
    projection: int | None = option(
        None, "size that a layer is projected to; not given: --width, no projection", low=1, high=65_536
    )
    word_length: int = option(24, "bytes of a word that are read, two marks included", low=3, high=1_000)
    letter_embedding: int = option(16, "embedding size of a letter", low=1, high=65_536)
    highway_layers: int = option(1, "highway layers above the character CNN", low=0, high=64)
    dropout: float = option(0.0, "dropout between layers while training", low=0.0, high=0.99, chosen=True)
    sampled_softmax: int = option(
        0,
        "sampled softmax: train against so many drawn symbols instead of all; 0: all of them",
        low=0,
        high=100_000_000,
        chosen=True,
    )
    bf16: bool | None = option(
        None,
        "train with matrix products in bfloat16; chosen: where the machine has instructions for them",
        chosen=True,
    )

    @property
    def word_letters(self) -> int:
        return self.word_length

    @property
    def size(self) -> int:
        """D: the numbers of a vector of one direction."""
        return self.projection or self.width


@register("elmo")
class Elmo(Neural, LanguageModel):
    """p(x_t | x_<t) and p(x_t | x_>t); under a head, a mix of all layers: gamma * sum_j softmax(s)_j h_j."""

    Config: ClassVar[type[ModelConfig]] = ElmoConfig
    task: ClassVar[str] = "both-ways"
    codec: ClassVar[str | None] = "words"
    pooling: ClassVar[str] = "max"
    reads: Literal["left", "both"] = "both"
    config: ElmoConfig

    def __init__(self, config: ElmoConfig) -> None:
        super().__init__(config)
        self.width = 2 * config.size
        self.dropout = Dropout(config.dropout)
        bf16 = bool(config.bf16)
        reader = CharacterCNN(config.size, letter=config.letter_embedding, highways=config.highway_layers)
        self.embedding = SpelledEmbedding(reader, config.vocab_size, config.word_length)
        cell = partial(LstmCell, config.size, config.width)
        make = partial(ResidualStack, cell, config.layers, config.size, dropout=self.dropout, bf16=bf16)
        self.rightward, self.leftward = make(backward=False), make(backward=True)
        if config.softmax:  # without bias: the product of both directions is then a softmax of their sum
            self.output = SoftmaxOutput(config.size, config.vocab_size, config.suppressed, bias=False)
        else:
            self.mix = LayerMix(config.layers + 1)

    @classmethod
    def tiny(cls, seed: int = 0) -> Self:
        return cls.seeded(ElmoConfig(vocab_size=9, width=8, letter_embedding=4, word_length=6), seed)

    def start(self, batch: int, source: Any = None) -> Unremembered:
        if source is not None:
            raise ModelError("The family 'elmo' reads no source. Fit an encoder-decoder to write from one.")
        return Unremembered(torch.empty(batch, 0, device=self.device))

    def read(self, tokens: Tensor, state: State) -> tuple[Tensor, State]:
        """The highest layer, or the mix of all: [forward; backward] (B, T, 2 D), 0 where there is padding."""
        if not tokens.shape[1]:
            return torch.empty(*tokens.shape, self.width, device=tokens.device), state
        layers = self.all_layers(tokens)
        hidden = self.dropout(layers[-1]) if self.config.softmax else self.mix(layers)
        return hidden * (tokens != PAD).unsqueeze(-1), state

    def all_layers(self, tokens: Tensor) -> list[Tensor]:
        """The L + 1 layers (B, T, 2 D), the lowest of them [x; x]."""
        lengths = lengths_of(tokens)
        words = self.embedding(torch.stack([tokens, reversed_marks(tokens)]))  # (2, B, T, D)
        below = tap.tell(self, "embeddings", words)
        pairs = zip(self.rightward(below[0], lengths), self.leftward(below[1], lengths), strict=True)
        return [torch.cat([*below], -1), *(torch.cat(pair, -1) for pair in pairs)]

    def logits(self, hidden: Tensor) -> Tensor:
        """Of the symbol at each place, by those before and those after it: forward * backward, renormalised."""
        return self.output.logits(between(hidden))

    def score(self, tokens: Tensor, targets: Tensor, state: State) -> tuple[Tensor, State]:
        hidden, state = self.read(tokens, state)
        return self._logs(between(hidden), targets), state

    def score_ids(self, ids: np.ndarray, batch: int = BATCH) -> np.ndarray:
        """No symbol has to be masked: what stands at a place is not read when it is predicted."""
        logs = np.zeros(len(ids), np.float32)
        starts, lengths = sequences(ids)
        for rows in in_batches(np.argsort(lengths, kind="stable"), batch):
            columns = np.arange(int(lengths[rows].max()))[None]
            real = columns < lengths[rows][:, None]  # (B, T)
            places = np.where(real, starts[rows][:, None] + columns, 0)
            tokens = tensor(self, np.where(real, ids[places], PAD))
            with self.inference(tokens.numel()):
                targets = torch.where(tokens == BOS, PAD, tokens)
                found, _ = self.score(tokens, targets, self.start(len(rows)))
            logs[places[real]] = found.cpu().numpy()[real]
        return logs

    def grown(self, vocab_size: int, suppressed: tuple[int, ...]) -> Self:
        """The same model with more words, which it must then be told the spelling of (`respelled`)."""
        config = replace(self.config, vocab_size=vocab_size, suppressed=suppressed)
        tables = {"embedding.spellings": numbered(vocab_size, config.word_length)}
        weight = grown_table(self.arrays()["output.weight"], vocab_size - self.config.vocab_size)
        return self.from_arrays(config, {**self.arrays(), **tables, "output.weight": weight})

    def both_ways_loss(self, tokens: Tensor, smoothing: float = 0.0) -> Tensor:
        """Cross-entropy of both directions together, summed over whole rows (B, T), in nats."""
        rows, wanted = zip(*(asked(*one) for one in self._directions(tokens)), strict=True)
        hidden, targets = torch.cat(rows), torch.cat(wanted)  # (N, D), (N,)
        bf16 = self.training and bool(self.config.bf16)
        if self.training and self.config.sampled_softmax and not smoothing:
            return self.output.sampled_loss(hidden, targets, self.config.sampled_softmax, bf16)
        return self.output.loss(hidden, targets, smoothing, bf16)

    def both_ways_logs(self, tokens: Tensor) -> tuple[Tensor, Tensor]:
        """Log-probabilities (B, T - 1) of the forward direction, of places 1 on, and of the backward one, from 0 on.

        At BOS, backward, stands that of the end; 0 where nothing is asked.
        """
        forward, backward = (self._logs(*one) for one in self._directions(tokens))
        return forward, backward

    def _directions(self, tokens: Tensor) -> list[tuple[Tensor, Tensor]]:
        """For each direction its hidden vectors (B, T - 1, D) and what they are to predict (B, T - 1)."""
        hidden, _ = self.read(tokens, self.start(len(tokens)))
        right, left = hidden.chunk(2, -1)  # (B, T, D)
        words = torch.where(tokens < self.config.vocab_size, tokens, UNK)
        before = torch.where(words == BOS, EOS, words)[:, :-1]
        after = torch.where(words == BOS, PAD, words)[:, 1:]
        return [(right[:, :-1], after), (left[:, 1:], torch.where(tokens[:, 1:] == PAD, PAD, before))]

    def _logs(self, hidden: Tensor, targets: Tensor) -> Tensor:
        """Log-probability of targets (B, T) by hidden vectors (B, T, D), 0 where one is PAD."""
        rows, wanted = asked(hidden, targets)  # (N, D), (N,)
        if torch.is_grad_enabled():
            found = -F.cross_entropy(self.output.logits(rows), wanted, reduction="none")
        else:
            found = self.output.score(rows, wanted).float()
        return found.new_zeros(targets.shape).index_put((targets != PAD,), found)

    @classmethod
    def suggest(cls, config: Any, workload: Workload, given: Mapping[str, Any]) -> dict[str, Any]:
        if not config.softmax:
            chosen: dict[str, Any] = {"width": 128, "dropout": 0.3, "batch_size": 32, "lr": 0.002}
        else:
            chosen = {"width": 128 if workload.symbols < 1e6 else 256, "dropout": 0.1, "batch_size": 32}
            chosen |= {"seq_len": 32, "lr": 0.003}
            chosen |= {"sampled_softmax": SAMPLES} if workload.vocab_size >= LARGE else {}
        return {name: value for name, value in chosen.items() if name not in given}

    @classmethod
    def cost_forecasts(
        cls, sample: np.ndarray, vocab_size: int, symbols: int, seconds: float | None = None
    ) -> Mapping[str, CostForecast]:
        config = ElmoConfig(vocab_size=vocab_size, width=128)
        drawn = min(vocab_size, 2 * SAMPLES)
        weights = 2 * (8 * config.layers * config.width**2 + config.width * drawn)
        taken = seconds or STARTING + 6.0 * weights * min(EPOCHS * symbols, MOST) / training_speed(False)
        return {cls.family: CostForecast(PROCESS + 20 * vocab_size * config.width + 4 * symbols, taken)}


def reversed_marks(tokens: Tensor) -> Tensor:
    """Tokens as the backward direction reads them: the end of a sentence is its beginning."""
    return torch.where(tokens == BOS, EOS, torch.where(tokens == EOS, BOS, tokens))


def between(hidden: Tensor) -> Tensor:
    """What each place is predicted from (B, T, D): forward before it plus backward after it; 0 for nothing."""
    right, left = hidden.chunk(2, -1)  # (B, T, D)
    return F.pad(right, (0, 0, 1, 0))[:, :-1] + F.pad(left, (0, 0, 0, 1))[:, 1:]
