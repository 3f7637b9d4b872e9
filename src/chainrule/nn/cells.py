"""Recurrent cells: one step of a recurrence, and a fast run over many steps where there is one.

Every cell has the same three parameters: the rows of `input_weight`, `hidden_weight` and `bias` are blocks of D, one
for each of `gates`, in torch's order.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import ClassVar

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from chainrule.nn import unrolled
from chainrule.nn.product import bf16_pays
from chainrule.nn.stepwise import StepMatrix, times

CellState = tuple[Tensor, ...]  # (B, D) each: hidden, and for an LSTM the cell
Weight = Tensor | StepMatrix  # hidden weights (G D, D)
INITS: dict[str, Callable[[Tensor], Tensor] | None] = {
    "default": None,
    "orthogonal": nn.init.orthogonal_,
    "identity": nn.init.eye_,
}
See = Callable[[str, Tensor], Tensor]  # a tap at (B, D) by its name: what comes back is computed with
WIDE = 384  # units from which products of few rows gain by bfloat16
FAINT = 0.1  # of the usual hidden weights: with what a memory begins that nothing else holds in check
LATCH = 1e4  # far enough for a sigmoid to be 0 or 1


def unseen(name: str, value: Tensor) -> Tensor:
    """No tap is used."""
    return value


class Cell(nn.Module):
    """What all cells share; `step` is the recurrence."""

    gates: ClassVar[tuple[str, ...]]
    memories: ClassVar[int] = 1
    biases: ClassVar[dict[str, float]] = {}  # initial bias of a gate, if not random

    def __init__(self, inputs: int, width: int, init: str = "default", norm: bool = False) -> None:
        super().__init__()
        rows = len(self.gates) * width
        self.width = width
        self.input_weight = nn.Parameter(torch.empty(rows, inputs))
        self.hidden_weight = nn.Parameter(torch.empty(rows, width))
        self.bias = nn.Parameter(torch.empty(rows))
        self.input_norm = nn.LayerNorm(rows, bias=False) if norm else None
        self.hidden_norm = nn.LayerNorm(rows, bias=False) if norm else None
        self.reset(init)

    def reset(self, init: str) -> None:
        """Initialise: uniform within 1 / sqrt(width), hidden weights orthogonal or the identity if wanted."""
        limit = 1.0 / math.sqrt(self.width)
        for weight in (self.input_weight, self.hidden_weight, self.bias):
            nn.init.uniform_(weight, -limit, limit)
        if begin := INITS[init]:
            for block in torch.split(self.hidden_weight, self.width):
                begin(block)
        if init == "identity":
            nn.init.zeros_(self.bias)
        for gate, value in self.biases.items():
            nn.init.constant_(self.bias.view(len(self.gates), -1)[self.gates.index(gate)], value)

    def project(self, vectors: Tensor) -> Tensor:
        """The inputs' (…, I) share of all gates (…, G D): one product for all steps."""
        if self.input_norm is None:
            return F.linear(vectors, self.input_weight, self.bias)
        return self.input_norm(F.linear(vectors, self.input_weight)) + self.bias  # type: ignore[no-any-return]

    def joined(self, inputs: Tensor, hidden: Tensor, weight: Weight) -> Tensor:
        """Projected inputs (B, G D) plus the share of the hidden vector (B, D)."""
        if self.hidden_norm is not None:
            return inputs + self.hidden_norm(times(hidden, weight))  # type: ignore[no-any-return]
        if isinstance(weight, StepMatrix):
            return inputs + weight.times(hidden)
        return torch.addmm(inputs, hidden, weight.t())

    def step(self, inputs: Tensor, memory: CellState, weight: Weight, see: See = unseen) -> CellState:
        """One step from projected inputs (B, G D); `weight` is the hidden weight, perhaps with some dropped."""
        raise NotImplementedError

    @property
    def inner(self) -> tuple[str, ...]:
        """The taps inside a step, beside `hidden`: a fast run does not have them."""
        gates = tuple(f"gates.{name}" for name in self.gates if name != "hidden")
        return ("cell", *gates) if self.memories > 1 else gates

    @property
    def fused(self) -> bool:
        """Whether there is a `run` for this cell as it is."""
        return False

    def run(
        self, vectors: Tensor, memory: CellState, weight: Tensor, lengths: Tensor | None, bf16: bool = False
    ) -> tuple[Tensor, CellState]:
        """Many steps (T, B, I) in one go: hidden (T, B, D), and the memory after `lengths` steps.

        `bf16`: products may be in bfloat16.
        """
        with torch.autocast(vectors.device.type, torch.bfloat16, enabled=bf16):
            inputs = self.project(vectors).to(vectors.dtype)  # (T, B, G D)
        values = self.unrolled(inputs, memory[0], weight, bf16 and self.width >= WIDE)
        return values, (after(values, memory[0], lengths),)

    def unrolled(self, inputs: Tensor, first: Tensor, weight: Tensor, bf16: bool) -> Tensor:
        """All hidden vectors (T, B, D) from projected inputs (T, B, G D) and the first one (B, D)."""
        raise NotImplementedError


def after(values: Tensor, first: Tensor, lengths: Tensor | None) -> Tensor:
    """Which of values (T, B, D) each row stands at after `lengths` (B,) steps; `first` (B, D) after none."""
    if lengths is None:
        return values[-1]
    rows = torch.arange(len(lengths), device=lengths.device)
    found = values[(lengths - 1).clamp(min=0), rows]  # (B, D)
    return torch.where((lengths > 0).unsqueeze(1), found, first)


ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "tanh": torch.tanh,
    "relu": torch.relu,
    "sigmoid": torch.sigmoid,
}


class RnnCell(Cell):
    """h = g(W x + U h + b)."""

    gates = ("hidden",)

    def __init__(
        self, inputs: int, width: int, init: str = "default", norm: bool = False, activation: str = "tanh"
    ) -> None:
        super().__init__(inputs, width, init, norm)
        self.activation = activation

    def step(self, inputs: Tensor, memory: CellState, weight: Weight, see: See = unseen) -> CellState:
        hidden = ACTIVATIONS[self.activation](self.joined(inputs, memory[0], weight))  # (B, D)
        return (see("hidden", hidden),)

    @property
    def fused(self) -> bool:
        return self.hidden_norm is None

    def unrolled(self, inputs: Tensor, first: Tensor, weight: Tensor, bf16: bool) -> Tensor:
        return unrolled.rnn(inputs, first, weight, self.activation, bf16)


class LstmCell(Cell):
    """i, f, o from x and h; c = f * c + i * g, h = o * tanh(c)."""

    gates: ClassVar[tuple[str, ...]] = ("input", "forget", "candidate", "output")
    memories = 2
    biases: ClassVar = {"forget": 1.0}  # remember, until there is a reason to forget

    def __init__(self, inputs: int, width: int, init: str = "default", norm: bool = False) -> None:
        super().__init__(inputs, width, init, norm)
        self.cell_norm = nn.LayerNorm(width, bias=False) if norm else None

    def step(self, inputs: Tensor, memory: CellState, weight: Weight, see: See = unseen) -> CellState:
        hidden, cell = memory
        i, f, g, o = self.joined(inputs, hidden, weight).chunk(4, 1)  # (B, D) each
        i, f = see("gates.input", i.sigmoid()), see("gates.forget", f.sigmoid())
        g, o = see("gates.candidate", g.tanh()), see("gates.output", o.sigmoid())
        cell = see("cell", torch.addcmul(f * cell, i, g))
        return see("hidden", o * self.squashed(cell)), cell

    def squashed(self, cell: Tensor) -> Tensor:
        """tanh(c), of the normalised cell if there is layer norm."""
        return torch.tanh(cell if self.cell_norm is None else self.cell_norm(cell))

    @property
    def fused(self) -> bool:
        return self.hidden_norm is None

    def run(
        self, vectors: Tensor, memory: CellState, weight: Tensor, lengths: Tensor | None, bf16: bool = False
    ) -> tuple[Tensor, CellState]:
        """By torch's own loop, which has none in bfloat16 for machines without such products."""
        if len(vectors) == 1:
            return self._once(vectors, memory, weight, lengths)
        with torch.autocast(vectors.device.type, torch.bfloat16, enabled=bf16 and bf16_pays()):
            values, moved = self._many(vectors, memory, weight, lengths)
        return values.to(vectors.dtype), tuple(one.to(vectors.dtype) for one in moved)

    def _many(
        self, vectors: Tensor, memory: CellState, weight: Tensor, lengths: Tensor | None
    ) -> tuple[Tensor, CellState]:
        into: Tensor = self.input_weight
        if lengths is not None:
            vectors, into = self._latched(vectors, lengths)
        weights = [into, weight, self.bias, torch.zeros_like(self.bias)]
        start = (memory[0][None], memory[1][None])
        values, _, cell = torch.lstm(vectors, start, weights, *_one_layer())
        return values, (after(values, memory[0], lengths), cell[0])

    def _once(
        self, vectors: Tensor, memory: CellState, weight: Tensor, lengths: Tensor | None
    ) -> tuple[Tensor, CellState]:
        """One step by torch's cell. Its loop puts weights in an order of its own first, which costs more than the
        step of one row itself: with 200 units 240 µs against 50, with 512 units 4,400 against 200.
        """
        none = torch.zeros_like(self.bias)
        moved = torch.lstm_cell(vectors[0], memory, self.input_weight, weight, self.bias, none)
        ended = tuple(after(new[None], old, lengths) for new, old in zip(moved, memory, strict=True))
        return moved[0][None], ended

    def _latched(self, vectors: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor]:
        """One more input, 1 from a row's end on, that shuts the input gate and holds the forget gate open.

        torch's loop gives hidden vectors of all steps but only the last cell; so the cell of a row that has ended
        is kept where it was until then, and padded batches run at full speed.
        """
        ended = torch.arange(len(vectors), device=lengths.device).unsqueeze(1) >= lengths  # (T, B)
        latch = self.bias.new_tensor([-LATCH, LATCH, 0.0, 0.0]).repeat_interleave(self.width)  # (4 D,)
        more = torch.cat([vectors, ended.unsqueeze(2).to(vectors.dtype)], 2)  # (T, B, I + 1)
        return more, torch.cat([self.input_weight, latch.unsqueeze(1)], 1)


class LoopedLstmCell(LstmCell):
    """A cell with a memory that torch has no loop for: it runs by one of our own."""

    def run(
        self, vectors: Tensor, memory: CellState, weight: Tensor, lengths: Tensor | None, bf16: bool = False
    ) -> tuple[Tensor, CellState]:
        with torch.autocast(vectors.device.type, torch.bfloat16, enabled=bf16):
            inputs = self.project(vectors).to(vectors.dtype)  # (T, B, G D)
        paths = unrolled.memory(inputs, memory[0], memory[1], weight, self.gates, bf16 and self.width >= WIDE)
        return paths[0], tuple(after(path, one, lengths) for path, one in zip(paths, memory, strict=True))


class AdditiveCell(LoopedLstmCell):
    """c = c + g, h = tanh(c): a memory that is added to and never forgets, the first step from an RNN to the LSTM.

    The gradient dc_t/dc_{t-1} is I + diag(1 - g²) U diag(1 - h²), so U begins small.
    """

    gates = ("candidate",)
    biases: ClassVar = {}

    def reset(self, init: str) -> None:
        super().reset(init)
        if INITS[init] is None:
            with torch.no_grad():
                self.hidden_weight.mul_(FAINT)

    def step(self, inputs: Tensor, memory: CellState, weight: Weight, see: See = unseen) -> CellState:
        hidden, cell = memory
        g = see("gates.candidate", self.joined(inputs, hidden, weight).tanh())  # (B, D)
        cell = see("cell", cell + g)
        return see("hidden", self.squashed(cell)), cell


class NoOutputCell(LoopedLstmCell):
    """c = f * c + i * g, h = tanh(c): it forgets and takes in by gates, and shows all that it holds."""

    gates = ("input", "forget", "candidate")

    def step(self, inputs: Tensor, memory: CellState, weight: Weight, see: See = unseen) -> CellState:
        hidden, cell = memory
        i, f, g = self.joined(inputs, hidden, weight).chunk(3, 1)  # (B, D) each
        i, f = see("gates.input", i.sigmoid()), see("gates.forget", f.sigmoid())
        g = see("gates.candidate", g.tanh())
        cell = see("cell", torch.addcmul(f * cell, i, g))
        return see("hidden", self.squashed(cell)), cell


class CoupledLstmCell(LoopedLstmCell):
    """As `LstmCell` with f = 1 - i: a cell moves from what it was towards the candidate, never beyond."""

    gates = ("input", "candidate", "output")
    biases: ClassVar = {"input": -1.0}  # the same as a forget gate that begins at 1

    def step(self, inputs: Tensor, memory: CellState, weight: Weight, see: See = unseen) -> CellState:
        hidden, cell = memory
        i, g, o = self.joined(inputs, hidden, weight).chunk(3, 1)  # (B, D) each
        i = see("gates.input", i.sigmoid())
        g, o = see("gates.candidate", g.tanh()), see("gates.output", o.sigmoid())
        cell = see("cell", torch.lerp(cell, g, i))
        return see("hidden", o * self.squashed(cell)), cell


class GruBeforeCell(Cell):
    """h = (1 - z) * h + z * g with g = tanh(W x + U (r * h)): reset before the product."""

    gates = ("reset", "update", "candidate")

    def __init__(self, inputs: int, width: int, init: str = "default", norm: bool = False) -> None:
        super().__init__(inputs, width, init, norm)
        if norm:  # two products, so two norms
            self.hidden_norm = nn.LayerNorm(2 * width, bias=False)
        self.candidate_norm = nn.LayerNorm(width, bias=False) if norm else None

    def step(self, inputs: Tensor, memory: CellState, weight: Weight, see: See = unseen) -> CellState:
        assert isinstance(weight, Tensor), "it multiplies twice, with two parts of the weight"
        [hidden] = memory
        opening, into = torch.split(inputs, [2 * self.width, self.width], 1)  # (B, 2 D), (B, D)
        to_gates, to_candidate = torch.split(weight, [2 * self.width, self.width])
        r, z = self.joined(opening, hidden, to_gates).sigmoid().chunk(2, 1)  # (B, D) each
        r, z = see("gates.reset", r), see("gates.update", z)
        if self.candidate_norm is None:
            g = torch.addmm(into, r * hidden, to_candidate.t()).tanh()
        else:
            g = (into + self.candidate_norm((r * hidden) @ to_candidate.t())).tanh()
        return (see("hidden", torch.lerp(hidden, see("gates.candidate", g), z)),)

    @property
    def fused(self) -> bool:
        return self.hidden_norm is None

    def unrolled(self, inputs: Tensor, first: Tensor, weight: Tensor, bf16: bool) -> Tensor:
        return unrolled.gru_before(inputs, first, weight, bf16)


class GruAfterCell(Cell):
    """h = (1 - z) * g + z * h with g = tanh(W x + r * (U h + b)): torch's convention, reset after the product."""

    gates = ("reset", "update", "candidate")

    def __init__(self, inputs: int, width: int, init: str = "default", norm: bool = False) -> None:
        super().__init__(inputs, width, init, norm)
        self.hidden_bias = nn.Parameter(torch.zeros(width))

    def step(self, inputs: Tensor, memory: CellState, weight: Weight, see: See = unseen) -> CellState:
        [hidden] = memory
        opening, into = torch.split(inputs, [2 * self.width, self.width], 1)  # (B, 2 D), (B, D)
        product = times(hidden, weight)  # (B, 3 D)
        product = product if self.hidden_norm is None else self.hidden_norm(product)
        to_gates, to_candidate = torch.split(product, [2 * self.width, self.width], 1)
        r, z = (opening + to_gates).sigmoid().chunk(2, 1)  # (B, D) each
        r, z = see("gates.reset", r), see("gates.update", z)
        g = see("gates.candidate", torch.addcmul(into, r, to_candidate + self.hidden_bias).tanh())
        return (see("hidden", torch.lerp(g, hidden, z)),)

    @property
    def fused(self) -> bool:
        return self.hidden_norm is None

    def unrolled(self, inputs: Tensor, first: Tensor, weight: Tensor, bf16: bool) -> Tensor:
        return unrolled.gru_after(inputs, first, weight, self.hidden_bias, bf16)


def _one_layer() -> tuple[bool, int, float, bool, bool, bool]:
    """For torch's loop: biases, one layer, no dropout, gradients if wanted, one direction, time first."""
    return True, 1, 0.0, torch.is_grad_enabled(), False, False
