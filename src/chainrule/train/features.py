"""A frozen body says the same of a text in every epoch: it reads each once, without dropout, and this is kept."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import AbstractContextManager
from typing import Any, Self

import numpy as np
import torch
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from chainrule.data.batches import Batches
from chainrule.models.base import Body, CostForecast
from chainrule.models.neural import Neural
from chainrule.models.state import State
from chainrule.symbols import PAD

MOST = 2 << 30  # bytes that are kept


class Features(Body):
    """Reads as a body does whose weights stay as they are, and looks up what it has read before.

    A batch is looked up if all its rows are known, and read else: what was read when is of no importance then, and a
    training that was stopped resumes to the same bits.
    """

    def __init__(self, body: Neural, most: int = MOST) -> None:
        self.body, self.most = body, most
        self.context, self.width, self.reads, self.config = body.context, body.width, body.reads, body.config
        self.known: dict[bytes, Tensor] = {}  # by symbols, (T, D) each

    def learn(self, every: Iterable[Batches]) -> None:
        """Read what is going to be read, as far as there is room."""
        for batches in every:
            for number in range(len(batches)):
                tokens = torch.from_numpy(batches.batch(0, number).tokens)
                if 4 * tokens.numel() * self.width > self.most:
                    return
                hidden, _ = self._read(tokens, self.body.start(len(tokens)))
                self._keep(tokens.numpy(), hidden)

    def _keep(self, tokens: np.ndarray, hidden: Tensor) -> None:
        lengths = (tokens != PAD).sum(1).tolist()
        for key, one, length in zip(_keys(tokens), hidden, lengths, strict=True):
            self.known[key] = one[:length].clone()
            self.most -= 4 * length * self.width

    def _read(self, tokens: Tensor, state: State) -> tuple[Tensor, State]:
        with self.body.inference(tokens.numel()):
            return self.body.read(tokens, state)

    def start(self, batch: int, source: Any = None) -> State:
        return self.body.start(batch, source)

    def read(self, tokens: Tensor, state: State) -> tuple[Tensor, State]:
        """What is known of rows `BOS … EOS` (B, T, D), zeros where there is padding; the memory is not kept."""
        found = [self.known.get(key) for key in _keys(tokens.cpu().numpy())]
        rows = [one for one in found if one is not None]
        if len(rows) < len(found):
            return self._read(tokens, state)
        return pad_sequence(rows, batch_first=True), state

    @property
    def device(self) -> Any:
        return self.body.device

    def inference(self, symbols: int = 0) -> AbstractContextManager[None]:
        return self.body.inference(symbols)

    def compressed(self) -> Self:
        return type(self)(self.body.compressed(), self.most)

    @classmethod
    def tiny(cls, seed: int = 0) -> Self:
        from chainrule.models.lstm import Lstm

        return cls(Lstm.tiny(seed))

    @classmethod
    def cost_forecasts(
        cls, sample: np.ndarray, vocab_size: int, symbols: int, seconds: float | None = None
    ) -> Mapping[str, CostForecast]:
        return {}

    def arrays(self) -> Mapping[str, np.ndarray]:
        return self.body.arrays()

    @classmethod
    def from_arrays(cls, config: Any, arrays: Mapping[str, np.ndarray]) -> Self:
        raise NotImplementedError("A body is saved, what it said is not.")


def _keys(tokens: np.ndarray) -> list[bytes]:
    """The symbols of rows (B, T), without their padding."""
    lengths = (tokens != PAD).sum(1).tolist()
    return [row[:length].tobytes() for row, length in zip(tokens, lengths, strict=True)]
