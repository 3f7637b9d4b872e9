"""Recurrent layers: (B, T, I) -> (B, T, D), memory in, memory out, nothing kept on modules."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Literal

import torch
from torch import Tensor, nn

from chainrule.nn import tap
from chainrule.nn.cells import Cell, CellState, after, unseen
from chainrule.nn.dropout import Dropout, dropped
from chainrule.symbols import PAD


class OneWay(nn.Module):
    """One recurrent layer in one direction.

    Rows may end early: after `lengths` (B,) symbols; what comes then changes no memory and its hidden vectors
    mean nothing. None: no row does. With `bf16` it trains by products in bfloat16 unless it goes step by step, and
    runs in full precision otherwise. With `learned` the memory before the first symbol is learnt, too; it begins as
    zeros.
    """

    def __init__(
        self,
        cell: Cell,
        *,
        backward: bool = False,
        weight_drop: float = 0.0,
        bf16: bool = False,
        learned: bool = False,
    ) -> None:
        super().__init__()
        self.first = nn.Parameter(torch.zeros(cell.memories, cell.width)) if learned else None
        self.bf16 = bf16
        self.cell = cell
        self.backward = backward
        self.weight_drop = weight_drop
        self.inner = cell.inner

    @property
    def width(self) -> int:
        """D."""
        return self.cell.width

    def start(self, batch: int) -> CellState:
        """The memory of having read nothing."""
        if self.first is None:
            return (self.cell.bias.new_zeros(batch, self.width),) * self.cell.memories
        return self.first.unsqueeze(1).repeat(1, batch, 1).unbind()

    def forward(
        self, vectors: Tensor, memory: CellState, lengths: Tensor | None = None
    ) -> tuple[Tensor, CellState]:
        if vectors.shape[1] == 0:
            return vectors.new_empty(*vectors.shape[:2], self.width), memory
        if self.backward:
            vectors = turned(vectors, lengths)
        weight = dropped(self.cell.hidden_weight, self.weight_drop, self.training)  # (G D, D)
        steps = vectors.transpose(0, 1)  # (T, B, I)
        if self._goes_step_by_step():
            values, memory = self._loop(steps, memory, weight, lengths)
        else:
            values, memory = self.cell.run(steps, memory, weight, lengths, self.bf16 and self.training)
        hidden = self._in_order(values, lengths)  # (B, T, D)
        tap.hear(self, "hidden", hidden)
        return hidden, memory

    def _goes_step_by_step(self) -> bool:
        """For cells that nothing else runs, and for taps inside a step."""
        return not self.cell.fused or tap.is_tapped(self, *self.inner) or tap.is_replaced(self, "hidden")

    def _loop(
        self, vectors: Tensor, memory: CellState, weight: Tensor, lengths: Tensor | None
    ) -> tuple[Tensor, CellState]:
        """Many steps (T, B, I), one by one: hidden (T, B, D), and the memory after `lengths` steps."""
        seen, memories, moved = StepTaps(self), [], memory
        see = seen if tap.is_tapped(self, "hidden", *self.inner) else unseen
        for inputs in self.cell.project(vectors).unbind(0):  # (B, G D)
            moved = self.cell.step(inputs, moved, weight, see)
            memories.append(moved)
        for name, one in seen.items():
            tap.hear(self, name, self._in_order(torch.stack(one), lengths))  # (B, T, D)
        values = [torch.stack(steps) for steps in zip(*memories, strict=True)]  # (T, B, D) each
        ended = tuple(after(new, old, lengths) for new, old in zip(values, memory, strict=True))
        return values[0], ended

    def _in_order(self, values: Tensor, lengths: Tensor | None) -> Tensor:
        """Steps (T, B, D) as rows (B, T, D) in the order of the text, in either direction."""
        rows = values.transpose(0, 1)
        return turned(rows, lengths) if self.backward else rows


class StepTaps(dict[str, list[Tensor]]):
    """The taps inside a step: a value (B, D) is replaced at once, and heard when all steps are done."""

    def __init__(self, layer: OneWay) -> None:
        super().__init__()
        self.layer = layer

    def __call__(self, name: str, value: Tensor) -> Tensor:
        value = tap.replaced(self.layer, name, value.unsqueeze(1)).squeeze(1)
        if name != "hidden":  # which the layer tells
            self.setdefault(name, []).append(value)
        return value


class BothWays(nn.Module):
    """Two layers side by side, one reading left to right, one right to left; their vectors are joined."""

    def __init__(self, forward: OneWay, backward: OneWay) -> None:
        super().__init__()
        self.rightward = forward
        self.leftward = backward

    @property
    def width(self) -> int:
        """D of both together."""
        return self.rightward.width + self.leftward.width

    def start(self, batch: int) -> CellState:
        """The memory of having read nothing, in both directions."""
        return (*self.rightward.start(batch), *self.leftward.start(batch))

    def forward(
        self, vectors: Tensor, memory: CellState, lengths: Tensor | None = None
    ) -> tuple[Tensor, CellState]:
        half = len(memory) // 2
        right, one = self.rightward(vectors, memory[:half], lengths)  # (B, T, D)
        left, other = self.leftward(vectors, memory[half:], lengths)  # (B, T, D)
        return torch.cat([right, left], 2), (*one, *other)


Direction = Literal["forward", "backward", "both"]


def layer(
    make: Callable[[], Cell],
    direction: Direction = "forward",
    weight_drop: float = 0.0,
    bf16: bool = False,
    learned: bool = False,
) -> OneWay | BothWays:
    """A layer of the cells that `make` makes, for any direction; `learned`: so is its initial state."""
    one = partial(OneWay, weight_drop=weight_drop, bf16=bf16, learned=learned)
    if direction == "both":
        return BothWays(one(make()), one(make(), backward=True))
    return one(make(), backward=direction == "backward")


class Stack(nn.Module):
    """Layers one above the other, called 0, 1, …, with dropout between them."""

    def __init__(self, layers: Sequence[OneWay | BothWays], dropout: Dropout | None = None) -> None:
        super().__init__()
        self.depth = len(layers)
        for place, layer in enumerate(layers):
            self.add_module(str(place), layer)
        self.between = dropout or Dropout(0.0)

    @property
    def layers(self) -> list[OneWay | BothWays]:
        """From the lowest to the highest."""
        return [getattr(self, str(place)) for place in range(self.depth)]

    def start(self, batch: int) -> tuple[CellState, ...]:
        """The memory of every layer, having read nothing."""
        return tuple(layer.start(batch) for layer in self.layers)

    def forward(
        self, vectors: Tensor, memories: Sequence[CellState], lengths: Tensor | None = None
    ) -> tuple[Tensor, tuple[CellState, ...]]:
        ended = []
        for place, (layer, memory) in enumerate(zip(self.layers, memories, strict=True)):
            below = self.between(vectors) if place else vectors
            vectors, memory = layer(below, memory, lengths)  # (B, T, D)
            ended.append(memory)
        return vectors, tuple(ended)


def lengths_of(tokens: Tensor) -> Tensor | None:
    """How many symbols each row of tokens (B, T) has before its padding; None if no row has any."""
    real = tokens != PAD
    return None if bool(real.all()) else real.sum(1)


def turned(vectors: Tensor, lengths: Tensor | None) -> Tensor:
    """Rows of vectors (B, T, …) back to front, padding staying where it is."""
    if lengths is None:
        return vectors.flip(1)
    steps = torch.arange(vectors.shape[1], device=lengths.device)  # (T,)
    place = torch.where(steps < lengths[:, None], lengths[:, None] - 1 - steps, steps)  # (B, T)
    return vectors[torch.arange(len(place), device=lengths.device)[:, None], place]
