"""Models that learn by gradient: `torch.nn.Module` meets the one call."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, Self

import numpy as np
import torch
from torch import Tensor, nn

from chainrule.config import option, share
from chainrule.errors import ModelError
from chainrule.models.base import BATCH, Forecast, Model, ModelConfig, State, score_carried
from chainrule.models.sizing import EPOCHS, MOST, Task, recurrent, spoken
from chainrule.nn.attention import Block
from chainrule.nn.dropout import Dropout, embed
from chainrule.nn.int8 import compress
from chainrule.nn.product import Linear
from chainrule.nn.softmax import START, Output, coarse_pays

PROCESS, STARTING = 700_000_000, 4.0  # bytes and seconds that torch takes beside what is learnt


@cache
def _rate() -> float:
    """How many operations a second this machine multiplies matrices with."""
    left, right = torch.ones(512, 512), torch.ones(512, 512)
    taken = []
    for _ in range(5):
        began = time.perf_counter()
        torch.mm(left, right)
        taken.append(time.perf_counter() - began)
    return 2 * 512**3 / min(taken)


def training_speed(coarse: bool) -> float:
    """How many operations a second a model of middling size trains with."""
    return (1.2 if coarse else 0.75) * _rate()


class Neural(nn.Module, Model):
    """A model whose arrays are the tensors of its state dict."""

    silent: Tensor

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.config = config
        mask = torch.zeros(config.alphabet, dtype=torch.bool)
        mask[list(config.silent)] = True
        self.register_buffer("silent", mask, persistent=False)  # (V,)

    def hush(self, logits: Tensor) -> Tensor:
        """-inf for the symbols that are read but never spoken."""
        return logits.masked_fill(self.silent, -torch.inf)

    def compressed(self) -> Self:
        model = deepcopy(self)
        compress(model)
        for part in model.modules():
            if isinstance(part, Output):
                part.compress()
        return model

    @property
    def device(self) -> torch.device:
        return self.silent.device

    @contextmanager
    def answering(self) -> Iterator[None]:
        learning = [module for module in self.modules() if module.training] if self.training else []
        try:
            for module in learning:
                module.training = False
            with torch.no_grad():
                yield
        finally:
            for module in learning:
                module.training = True

    @classmethod
    def seeded(cls, config: ModelConfig, seed: int) -> Self:
        """A fresh model whose weights depend on `seed` alone; the global randomness is left as it was."""
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            return cls(config).eval()

    def loss(
        self, tokens: Tensor, targets: Tensor, state: State, smoothing: float = 0.0
    ) -> tuple[Tensor, State]:
        """What training makes small: the sum of nats over targets (B, T) that are not PAD, and the new memory."""
        if smoothing:
            raise ModelError(f"{type(self).__name__} knows no label smoothing. Train it without.")
        logs, state = self.score(tokens, targets, state)
        return -logs.sum(), state

    @classmethod
    def suggest(cls, config: Any, task: Task, given: Mapping[str, Any]) -> dict[str, Any]:
        """Settings, of the model and of its training, that suit a task, beside those `given`."""
        return {}

    def matrices(self) -> Iterator[Tensor]:
        """Weights that turn vectors into vectors inside a network, for optimisers that know what matrices are."""
        return (one.weight for block in self.modules() if isinstance(block, Block) for one in block.linears)

    def meet(self, ids: np.ndarray) -> None:
        """A look at the training data, before learning and before going on with it."""

    def arrays(self) -> Mapping[str, np.ndarray]:
        """A tensor that two layers share is kept once, under its first name."""
        values, first = self.state_dict(), self._first_names()
        return {name: values[name].detach().cpu().numpy() for name in values if first[name] == name}

    @classmethod
    def from_arrays(cls, config: Any, arrays: Mapping[str, np.ndarray]) -> Self:
        model = cls(config)
        values = {name: torch.from_numpy(np.array(value)) for name, value in arrays.items()}
        shared = {name: values[first] for name, first in model._first_names().items() if first in values}
        model.load_state_dict(values | shared)
        return model.eval()

    def _first_names(self) -> dict[str, str]:
        """For every name of a tensor, the first name of the same tensor."""
        first: dict[int, str] = {}
        return {
            name: first.setdefault(id(value), name) for name, value in self.state_dict(keep_vars=True).items()
        }


@dataclass(frozen=True, kw_only=True)
class NeuralConfig(ModelConfig):
    """What all models that begin with vectors of symbols and end with a softmax are told."""

    layers: int = option(1, "how many layers lie above each other", low=1, high=64)
    width: int = option(256, "how many numbers a layer computes with", low=1)
    embedding: int | None = option(None, "width of the vectors of symbols; as --width if not given", low=1)
    tied: str = option(
        "auto",
        "one table of vectors for reading and speaking; auto: if widths match",
        choices=("auto", "yes", "no"),
    )
    dropout: float = option(0.0, "share of numbers dropped between layers while training", low=0.0, high=0.99)
    embedding_dropout: float = option(0.0, "share of symbols left out while training", low=0.0, high=0.99)
    samples: int = option(0, "train with so many sampled symbols instead of all; 0: all of them", low=0)
    coarse: bool | None = option(
        None, "train with products in bfloat16; not given: where the machine has them, almost twice as fast"
    )

    @property
    def vector(self) -> int:
        """The width of the vectors of symbols."""
        return self.embedding or self.width

    @property
    def shared(self) -> bool:
        """Whether reading and speaking use one table."""
        return self.tied == "yes" or (self.tied == "auto" and self.vector == self.width)


@dataclass(frozen=True, kw_only=True)
class CarryingConfig(NeuralConfig):
    """For models whose memory has no end."""

    carry: bool = option(
        False, "memory goes on from one sequence to the next, as in running text line by line"
    )


class Speaker(Neural):
    """A model with vectors of symbols at one end and a softmax over them at the other; `read` is the family's.

    With one table for both ends, hidden vectors of another width are brought to that of the table by `bridge`.
    """

    config: NeuralConfig
    sizes = staticmethod(recurrent)  # how large, when nobody says

    def __init__(
        self, config: NeuralConfig, spoken_from: int, kind: str = "plain", bias: bool = True
    ) -> None:
        """`spoken_from` is the width of the hidden vectors."""
        super().__init__(config)
        self.embedding = nn.Embedding(config.alphabet, config.vector)
        nn.init.uniform_(self.embedding.weight, -START, START)
        fits = not config.shared or spoken_from == config.vector
        self.bridge = nn.Identity() if fits else Linear(spoken_from, config.vector, bias=False)
        table = self.embedding.weight if config.shared else None
        width = config.vector if config.shared else spoken_from
        self.output = Output(width, config.alphabet, config.silent, table, bias)
        self.dropout = Dropout(config.dropout, kind)

    @classmethod
    def forecasts(
        cls, sample: np.ndarray, alphabet: int, symbols: int, seconds: float | None = None
    ) -> Mapping[str, Forecast]:
        """What is chosen when nothing is asked for: six operations a weight and symbol."""
        config, asked = cls.Config(alphabet=alphabet), min(EPOCHS * symbols, MOST)
        task = Task(alphabet, symbols, seconds, asked, training_speed(coarse_pays()))
        chosen = share(cls.suggest(config, task, {}), cls.Config)
        inner, tables = cls.weights(replace(config, **chosen))
        needed = inner + spoken(task, chosen)
        reading = task.reading(needed)
        taken = seconds or STARTING + 6.0 * reading * needed / task.speed
        name = f"{cls.family}, {reading / max(1, symbols):.3g} epochs"
        return {name: Forecast(PROCESS + 20 * (inner + tables) + 4 * symbols, taken)}

    @classmethod
    def weights(cls, config: Any) -> tuple[int, int]:
        """How many there would be between the two tables, and in them."""
        made: Any = cls  # a family takes its config alone
        with torch.device("meta"):  # sizes only, no memory
            model = made(config)
        total = sum(one.numel() for one in model.parameters())
        tables = sum(one.numel() for one in {model.embedding.weight, model.output.weight})
        return total - tables, tables

    @classmethod
    def suggest(cls, config: Any, task: Task, given: Mapping[str, Any]) -> dict[str, Any]:
        return cls.sizes(task, given, lambda settings: cls.weights(replace(config, **settings))[0])

    def meet(self, ids: np.ndarray) -> None:
        """Symbols are sampled by how often they occur."""
        if self.config.samples:
            self.output.propose(torch.from_numpy(np.bincount(ids, minlength=self.config.alphabet)))

    def vectors(self, tokens: Tensor) -> Tensor:
        """The vectors (B, T, E) of symbols (B, T), with dropout while training."""
        found = embed(tokens, self.embedding.weight, self.config.embedding_dropout, self.training)
        return self.dropout(found)  # type: ignore[no-any-return]

    def logits(self, hidden: Tensor) -> Tensor:
        return self.output.logits(hidden)

    def score_ids(self, ids: np.ndarray, batch: int = BATCH) -> np.ndarray:
        if not getattr(self.config, "carry", False):
            return super().score_ids(ids, batch)
        with self.answering():
            return score_carried(self, np.asarray(ids), batch)

    def loss(
        self, tokens: Tensor, targets: Tensor, state: State, smoothing: float = 0.0
    ) -> tuple[Tensor, State]:
        hidden, state = self.read(tokens, state)  # (B, T, D)
        rows, wanted = hidden.flatten(0, 1), targets.flatten()  # (B T, D), (B T,)
        coarse = self.training and bool(self.config.coarse)
        if not (self.training and self.config.samples):
            return self.output.loss(rows, wanted, smoothing, coarse), state
        if smoothing:
            raise ModelError(
                "Sampled symbols and label smoothing do not go together. Give up one of the two."
            )
        return self.output.sampled_loss(rows, wanted, self.config.samples, coarse), state

    def score(self, tokens: Tensor, targets: Tensor, state: State) -> tuple[Tensor, State]:
        if torch.is_grad_enabled():
            return super().score(tokens, targets, state)
        hidden, state = self.read(tokens, state)  # (B, T, D)
        found = self.output.score(hidden.flatten(0, 1), targets.flatten())  # (B T,)
        return found.view(targets.shape).float(), state
