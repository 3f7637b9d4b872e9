"""The family `dynamic`: dynamic evaluation, a model that keeps learning from the text it scores (Krause et al. 2018).

A window of the text is scored, then the weights take a step down the gradient of what the window cost, and a step
back towards the trained weights. So no symbol is predicted by weights that have seen it, or anything behind it.

Scoring whole files (`score_ids`) learns; `read`, and so generating, is the trained model's. The trained model itself
never changes: every pass learns in a copy.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from copy import deepcopy
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, NoReturn, Self

import numpy as np
import torch
from torch import Tensor

from chainrule.config import option
from chainrule.errors import ModelError
from chainrule.models.base import BATCH, LanguageModel, ModelConfig
from chainrule.models.neural import NeuralLanguageModel
from chainrule.models.readings import Reading, VectorModel
from chainrule.models.registry import register
from chainrule.models.rnn import Rnn
from chainrule.models.state import State
from chainrule.models.windows import sequences, tensor, windows_in_order
from chainrule.models.wrapper import Wrapper, WrapperConfig
from chainrule.runtime import blocks_kept
from chainrule.symbols import BOS

TRIED = 20_000  # symbols of held-out text on which settings are tried
PRIOR = 20  # as so many gradients counts what is known of a matrix when nothing is known of its rows
SMALLEST = 1e-12  # no scale is below it: what has no gradient stays
FACTOR, MOST = 2.0, 5  # between one value tried and the next, and how many are tried in each direction
LEAST = -1e4  # log-probability of what has none, where totals are compared


@dataclass(frozen=True, kw_only=True)
class DynamicConfig(WrapperConfig):
    """Learning rate, decay towards the trained weights, and window of dynamic evaluation."""

    lr: float = option(
        0.0015, "learning rate: how far a weight moves at a usual gradient", low=0.0, high=10.0
    )
    decay: float = option(
        0.003, "share of the way back to the trained weights at each step", low=0.0, high=1.0
    )
    window: int = option(64, "how many symbols are scored before they are learnt from", low=1, high=1_000_000)
    stateful: bool = option(True, "keep what was learnt from one sequence to the next")


@register("dynamic")
class Dynamic(Wrapper, VectorModel):
    """A model that learns by gradient, evaluated dynamically."""

    Config: ClassVar[type[ModelConfig]] = DynamicConfig
    config: DynamicConfig
    model: NeuralLanguageModel

    def __init__(self, config: DynamicConfig, model: LanguageModel) -> None:
        if not isinstance(model, NeuralLanguageModel) or model.reads != "left":
            raise ModelError(
                "Dynamic evaluation needs a model that learns by gradient and reads left to right, "
                f"not a {model.family}. Take an lstm, gru, gpt …"
            )
        super().__init__(config, model)
        self.width = model.width

    @classmethod
    def fitted(cls, model: LanguageModel, ids: np.ndarray, **settings: Any) -> Self:
        """With the learning rate and the decay, where not given, under which these held-out ids are most probable.

        They are tried on the beginning of the ids. Where learning does not help, the rate is 0.
        """
        ids = _beginning(np.asarray(ids))
        found = cls.of(model, **settings)
        for name in ("lr", "decay"):
            if name not in settings and settings.get("lr") != 0.0:
                tried = partial(cls._total, model, ids, settings, name)
                settings = {**settings, name: _climb(tried, getattr(found.config, name))}
        return cls.of(model, **settings)

    @classmethod
    def _total(
        cls, model: LanguageModel, ids: np.ndarray, settings: Mapping[str, Any], name: str, value: float
    ) -> float:
        """The log-probability of these ids with one more setting; weights that went astray count as LEAST."""
        logs = cls.of(model, **{**settings, name: value}).score_ids(ids)
        return float(np.nan_to_num(logs, nan=LEAST, neginf=LEAST).sum(dtype=np.float64))

    @classmethod
    def tiny(cls, seed: int = 0) -> Self:
        """Sequences shorter than a window are scored as the trained model scores them."""
        return cls.of(Rnn.tiny(seed), lr=0.1, window=40, stateful=False)

    def compressed(self) -> NoReturn:
        raise ModelError("Weights in eight bits do not learn: dynamic evaluation needs them whole.")

    def start(self, batch: int, source: Any = None) -> State:
        return self.model.start(batch, source)

    def read(self, tokens: Tensor, state: State) -> tuple[Tensor, State]:
        return self.model.read(tokens, state)

    def logits(self, hidden: Tensor) -> Tensor:
        return self.model.logits(hidden)

    def score(self, tokens: Tensor, targets: Tensor, state: State) -> tuple[Tensor, State]:
        return self.model.score(tokens, targets, state)

    def score_hidden(self, hidden: Tensor, targets: Tensor) -> Tensor:
        return self.model.score_hidden(hidden, targets)

    def score_ids(self, ids: np.ndarray, batch: int = BATCH) -> np.ndarray:
        logs = np.zeros(len(ids), np.float32)
        for reading in self.readings(ids):
            logs[reading.places] = reading.logs.cpu().numpy()
        return logs

    def readings(self, ids: np.ndarray, batch: int = BATCH) -> Iterator[Reading]:
        """One window after the other, each by the weights that the ones before it left: `batch` changes nothing."""
        ids = np.asarray(ids)
        if self.config.stateful:
            yield from self._pass(ids)
            return
        for start, length in zip(*sequences(ids), strict=True):
            for found in self._pass(ids[start : start + length]):
                yield Reading(start + found.places, found.logs, found.hidden)

    def _pass(self, ids: np.ndarray) -> Iterator[Reading]:
        with blocks_kept():
            yield from self._windows(ids, Learner(self.model, self.config))

    def _windows(self, ids: np.ndarray, learner: Learner) -> Iterator[Reading]:
        # Not by `read_windows`: that reads rows side by side, without gradients, by weights that stay as they are.
        model, state = learner.model, learner.model.start(1)
        for window in windows_in_order(model, ids, self.config.window):
            state = model.start(len(window.tokens)) if window.first else state.detach()
            with torch.enable_grad():
                hidden, state = model.read(tensor(model, window.tokens), state)  # (B, T, D)
                found = model.score_hidden(hidden, tensor(model, window.targets(ids)))  # (B, T)
                wanted = torch.as_tensor(window.wanted, device=found.device)
                logs = found[wanted]  # (n,)
                learner.learn(logs)
            yield Reading(window.places[window.wanted], logs.detach(), hidden.detach()[wanted].float())


class Learner:
    """A copy of a model that takes one step for each window, and a step back to where it came from.

    Steps are scaled by the root mean square of the gradients so far. Every row of a matrix (the vector of a symbol,
    the weights of a unit) has a scale of its own, so that rare symbols learn as fast as frequent ones; until there
    are many gradients, it is that of the whole matrix.
    """

    def __init__(self, model: NeuralLanguageModel, config: DynamicConfig) -> None:
        self.model = deepcopy(model).eval().requires_grad_(True)
        self.config = config
        self.weights = list(self.model.parameters())
        self.trained = [one.detach().clone() for one in self.weights]
        self.squares: list[Tensor | None] = [None] * len(self.weights)  # sums over windows, one a row
        self.steps = 0

    def learn(self, logs: Tensor) -> None:
        """Move towards weights under which these symbols (n,) would have been more probable."""
        possible = logs[logs > -torch.inf]
        if not (self.config.lr and len(possible)):
            return
        grads = torch.autograd.grad(-possible.mean(), self.weights, allow_unused=True)
        self.steps += 1
        with torch.no_grad():
            for number, grad in enumerate(grads):
                if grad is not None:
                    self._step(number, grad)

    def _step(self, number: int, grad: Tensor) -> None:
        weight, rows = self.weights[number], grad.view(len(grad), -1) if grad.dim() > 1 else grad[None]
        norm = torch.linalg.vector_norm(rows, dim=1, keepdim=True)  # (rows, 1)
        square = norm.square_().div_(rows.shape[1])
        before = self.squares[number]
        if before is None:
            before = (PRIOR * square.mean()).expand_as(square)
        self.squares[number] = total = before + square
        scale = (total / (PRIOR + self.steps)).sqrt_().clamp_(min=SMALLEST)
        weight.view_as(rows).addcdiv_(rows, scale, value=-self.config.lr)
        weight.lerp_(self.trained[number], self.config.decay)


def _beginning(ids: np.ndarray) -> np.ndarray:
    """The first sequences, of about TRIED symbols together; one at least, and not more of it."""
    later = np.flatnonzero(ids[TRIED:] == BOS)
    return ids[: TRIED + int(later[0])] if len(later) else ids


def _climb(worth: Callable[[float], float], start: float) -> float:
    """The best of 0 and of `start` times powers of FACTOR: steps up as long as they help, and if none does, down."""
    known = {0.0: worth(0.0), start: worth(start)}
    for factor in (FACTOR, 1 / FACTOR):
        at = start
        for _ in range(MOST):
            known[at * factor] = worth(at * factor)
            if known[at * factor] <= known[at]:
                break
            at *= factor
        if at != start:
            break
    return max(known, key=known.__getitem__)
