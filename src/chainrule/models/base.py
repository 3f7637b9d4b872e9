"""The one call every model answers, and the value its memory travels in.

Letters in shape comments, everywhere: B rows, T symbols newly read, S source positions, V alphabet,
D width, L remembered symbols, H heads, K beam.

A `Model` here is no `torch.nn.Module` yet (`models.neural.Neural` is): counting models are arrays and
numbers, and importing torch takes two seconds that `chainrule score` on an n-gram need not spend.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

from chainrule.config import Config, option
from chainrule.symbols import BOS, MASK, PAD

if TYPE_CHECKING:
    import numpy as np
    from torch import Tensor

CHUNK = 1 << 22  # most logits held at once while scoring (B * T * V), 16 MiB of float32


@dataclass(frozen=True)
class State:
    """What a model remembers between two calls of `read`. Batch is dimension 0 of every tensor inside."""

    def select(self, rows: Tensor) -> Self:
        """Fork, reorder or drop rows: `rows` (K,) names, for each new row, the old one it continues."""
        return replace(self, **{f.name: _pick(getattr(self, f.name), rows) for f in fields(self)})


def _pick(value: Any, rows: Tensor) -> Any:
    if isinstance(value, tuple | list):
        return type(value)(_pick(item, rows) for item in value)
    if isinstance(value, State):
        return value.select(rows)
    return value if value is None else value[rows]


@dataclass(frozen=True)
class Memory(State):
    """A source as a matrix, one column per position: a label is one column, a sentence one per word."""

    vectors: Tensor  # (B, S, D)
    real: Tensor  # (B, S) False where a column is padding


@dataclass(frozen=True, kw_only=True)
class ModelConfig(Config):
    """What every family is told: its alphabet, and which symbols of it are never spoken."""

    alphabet: int = option(0, "how many ids there are", hidden=True)
    silent: tuple[int, ...] = option((PAD, BOS, MASK), "ids that are read, never spoken", hidden=True)


class Model(ABC):
    """Reads symbols, remembers something, and says what it expects next."""

    family: ClassVar[str] = ""
    Config: ClassVar[type[ModelConfig]] = ModelConfig
    reads: ClassVar[Literal["left", "both"]] = "left"  # logits[:, t] speaks of symbol t + 1, or of symbol t
    context: int | None = None  # most symbols it can hold; None: no limit
    config: ModelConfig

    @abstractmethod
    def start(self, batch: int, source: Any = None) -> State:
        """The memory of having read nothing; a source is encoded here, once, into a `Memory`."""

    @abstractmethod
    def read(self, tokens: Tensor, state: State) -> tuple[Tensor, State]:
        """Read `tokens` (B, T); give what a head, a probe or the output layer uses (B, T, D), and the new memory.

        Rows of unequal length are padded on the right with PAD, and PAD leaves a row's memory as it was.
        """

    @abstractmethod
    def logits(self, hidden: Tensor) -> Tensor:
        """(B, T, D) -> (B, T, V), -inf for symbols that are never spoken."""

    def score(self, tokens: Tensor, targets: Tensor, state: State) -> tuple[Tensor, State]:
        """Natural log-probability of each target (B, T), 0 where it is PAD, never holding B*T*V at once."""
        import torch

        step = max(1, CHUNK // max(1, tokens.shape[0] * self.config.alphabet))
        parts = []
        hidden, state = self.read(tokens, state)  # (B, T, D)
        for some, wanted in zip(hidden.split(step, 1), targets.split(step, 1), strict=True):
            logs = self.logits(some).float().log_softmax(-1)  # (B, t, V)
            found = logs.gather(-1, wanted.unsqueeze(-1)).squeeze(-1)  # (B, t)
            parts.append(torch.where(wanted == PAD, 0.0, found))
        return torch.cat(parts, 1) if parts else targets.float(), state  # (B, T)

    @abstractmethod
    def arrays(self) -> Mapping[str, np.ndarray]:
        """Everything learnt, by name: what a bundle saves."""

    @classmethod
    @abstractmethod
    def from_arrays(cls, config: Any, arrays: Mapping[str, np.ndarray]) -> Self:
        """The same model again from its config and what `arrays` gave; large arrays arrive memory-mapped."""

    @property
    def parameters_count(self) -> int:
        """How many numbers it has learnt."""
        return sum(array.size for array in self.arrays().values())
