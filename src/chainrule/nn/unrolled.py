"""Recurrences over many steps with their gradients, for cells that torch has no fast loop for.

torch keeps a graph of every step and multiplies once a step for the gradient of the weights. Here a step back is a few
operations on buffers, and the weights get theirs by one product over all steps. `bf16`: products in bfloat16.

Letters: T steps, B rows, D units. `inputs` are the vectors projected for all gates, `first` (B, D) is the memory
before the first step; the hidden vectors of all steps (T, B, D) come out.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

tanh_back, sigmoid_back = torch.ops.aten.tanh_backward, torch.ops.aten.sigmoid_backward
relu_back = torch.ops.aten.threshold_backward
BENDS: dict[str, tuple[Any, Any]] = {
    "tanh": (torch.tanh, tanh_back),
    "sigmoid": (torch.sigmoid, sigmoid_back),
    "relu": (
        partial(torch.clamp_min, min=0.0),
        lambda gradient, output, **out: relu_back.grad_input(gradient, output, 0, **out),
    ),
}


def rnn(inputs: Tensor, first: Tensor, weight: Tensor, activation: str, bf16: bool = False) -> Tensor:
    """h = g(inputs + U h) for inputs (T, B, D)."""
    return _Rnn.apply(inputs, first, weight, activation, bf16)  # type: ignore[no-untyped-call, no-any-return]


def gru_before(inputs: Tensor, first: Tensor, weight: Tensor, bf16: bool = False) -> Tensor:
    """h = (1 - z) * h + z * tanh(… + U (r * h)) for inputs (T, B, 3 D)."""
    return _Before.apply(inputs, first, weight, bf16)  # type: ignore[no-untyped-call, no-any-return]


def gru_after(inputs: Tensor, first: Tensor, weight: Tensor, bias: Tensor, bf16: bool = False) -> Tensor:
    """h = (1 - z) * tanh(… + r * (U h + b)) + z * h for inputs (T, B, 3 D)."""
    return _After.apply(inputs, first, weight, bias, bf16)  # type: ignore[no-untyped-call, no-any-return]


def memory(
    inputs: Tensor, first: Tensor, cell: Tensor, weight: Tensor, gates: tuple[str, ...], bf16: bool = False
) -> tuple[Tensor, Tensor]:
    """c = f * c + i * g, h = o * tanh(c) for inputs (T, B, G D): all hidden vectors and all cells (T, B, D).

    A gate that is not among `gates` is 1; without a forget gate beside an input gate, f = 1 - i.
    """
    return _Memory.apply(inputs, first, cell, weight, gates, bf16)  # type: ignore[no-untyped-call, no-any-return]


def _sized(matrix: Tensor, bf16: bool) -> Tensor:
    return matrix.bfloat16() if bf16 else matrix


def _times(rows: Tensor, matrix: Tensor) -> Tensor:
    """(B, D) times (D, N), in the precision of the matrix."""
    return torch.mm(rows.to(matrix.dtype), matrix)


def _over_all(changes: Tensor, values: Tensor, bf16: bool) -> Tensor:
    """The gradient (N, D) of weights that turned values (T, B, D) into what changes by (T, B, N)."""
    left, right = (_sized(one.flatten(0, 1), bf16) for one in (changes, values))
    return torch.mm(left.t(), right).to(changes.dtype)


def _path(first: Tensor, steps: int) -> Tensor:
    """Room for the hidden vectors (T + 1, B, D), the first one known."""
    path = first.new_empty(steps + 1, *first.shape)
    path[0] = first
    return path


class _Rnn(torch.autograd.Function):
    @staticmethod
    def forward(
        context: Any, inputs: Tensor, first: Tensor, weight: Tensor, activation: str, bf16: bool
    ) -> Tensor:
        bend, path, into = BENDS[activation][0], _path(first, len(inputs)), _sized(weight, bf16).t()
        for step, given in enumerate(inputs):
            bend(torch.add(given, _times(path[step], into), out=path[step + 1]), out=path[step + 1])
        context.save_for_backward(path, weight)
        context.how = activation, bf16
        return path[1:]

    @staticmethod
    @once_differentiable
    def backward(context: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        (path, weight), (activation, bf16) = context.saved_tensors, context.how
        back, back_to = _sized(weight, bf16), BENDS[activation][1]
        changes, change = torch.empty_like(gradient), torch.zeros_like(path[0])  # (T, B, D), (B, D)
        for step in reversed(range(len(gradient))):
            back_to(change + gradient[step], path[step + 1], grad_input=changes[step])
            change = _times(changes[step], back)
        return changes, change.to(weight.dtype), _over_all(changes, path[:-1], bf16), None, None


class _Before(torch.autograd.Function):
    @staticmethod
    def forward(context: Any, inputs: Tensor, first: Tensor, weight: Tensor, bf16: bool) -> Tensor:
        width, path = first.shape[1], _path(first, len(inputs))
        opening, into = torch.split(inputs, [2 * width, width], 2)
        to_gates, to_candidate = (one.t() for one in torch.split(_sized(weight, bf16), [2 * width, width]))
        gates, candidates = torch.empty_like(opening), torch.empty_like(into)  # (T, B, 2 D), (T, B, D)
        kept = torch.empty_like(candidates)  # r * h
        for step, (hidden, gate, candidate) in enumerate(zip(path[:-1], gates, candidates, strict=True)):
            torch.add(opening[step], _times(hidden, to_gates), out=gate).sigmoid_()
            torch.mul(gate[:, :width], hidden, out=kept[step])
            torch.add(into[step], _times(kept[step], to_candidate), out=candidate).tanh_()
            torch.lerp(hidden, candidate, gate[:, width:], out=path[step + 1])
        context.save_for_backward(path, gates, candidates, kept, weight)
        context.bf16 = bf16
        return path[1:]

    @staticmethod
    @once_differentiable
    def backward(context: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        path, gates, candidates, kept, weight = context.saved_tensors
        width, bf16 = path.shape[2], context.bf16
        from_gates, from_candidate = torch.split(_sized(weight, bf16), [2 * width, width])
        to_gates, to_candidate = torch.empty_like(gates), torch.empty_like(candidates)
        opened, change = torch.empty_like(gates[0]), torch.zeros_like(path[0])  # (B, 2 D), (B, D)
        for step in reversed(range(len(gradient))):
            hidden, candidate = path[step], candidates[step]
            reset, update = torch.split(gates[step], width, 1)
            change = change + gradient[step]
            tanh_back(change * update, candidate, grad_input=to_candidate[step])
            through = _times(to_candidate[step], from_candidate)  # of r * h
            torch.mul(through, hidden, out=opened[:, :width])
            torch.mul(change, candidate - hidden, out=opened[:, width:])
            sigmoid_back(opened, gates[step], grad_input=to_gates[step])
            change = torch.addcmul(change, change, update, value=-1.0).addcmul_(through, reset)
            change += _times(to_gates[step], from_gates)
        to_weight = torch.cat([_over_all(to_gates, path[:-1], bf16), _over_all(to_candidate, kept, bf16)])
        return torch.cat([to_gates, to_candidate], 2), change, to_weight, None


class _After(torch.autograd.Function):
    @staticmethod
    def forward(
        context: Any, inputs: Tensor, first: Tensor, weight: Tensor, bias: Tensor, bf16: bool
    ) -> Tensor:
        width, path = first.shape[1], _path(first, len(inputs))
        opening, into = torch.split(inputs, [2 * width, width], 2)
        gates, candidates = torch.empty_like(opening), torch.empty_like(into)  # (T, B, 2 D), (T, B, D)
        projected, matrix = torch.empty_like(candidates), _sized(weight, bf16).t()  # U h + b
        for step, (hidden, gate, candidate) in enumerate(zip(path[:-1], gates, candidates, strict=True)):
            to_gates, to_candidate = torch.split(_times(hidden, matrix), [2 * width, width], 1)
            torch.add(opening[step], to_gates, out=gate).sigmoid_()
            torch.add(to_candidate, bias, out=projected[step])
            torch.addcmul(into[step], gate[:, :width], projected[step], out=candidate).tanh_()
            torch.lerp(candidate, hidden, gate[:, width:], out=path[step + 1])
        context.save_for_backward(path, gates, candidates, projected, weight)
        context.bf16 = bf16
        return path[1:]

    @staticmethod
    @once_differentiable
    def backward(context: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        path, gates, candidates, projected, weight = context.saved_tensors
        width, matrix = path.shape[2], _sized(weight, context.bf16)
        to_inputs = gradient.new_empty(*gradient.shape[:2], 3 * width)
        to_projected = torch.empty_like(to_inputs)  # (T, B, 3 D): gates, and what the candidate reads
        opened, change = torch.empty_like(gates[0]), torch.zeros_like(path[0])  # (B, 2 D), (B, D)
        for step in reversed(range(len(gradient))):
            hidden, candidate = path[step], candidates[step]
            reset, update = torch.split(gates[step], width, 1)
            change = change + gradient[step]
            below = tanh_back(torch.addcmul(change, change, update, value=-1.0), candidate)
            torch.mul(below, projected[step], out=opened[:, :width])
            torch.mul(change, hidden - candidate, out=opened[:, width:])
            to_projected[step, :, : 2 * width] = sigmoid_back(opened, gates[step])
            torch.mul(below, reset, out=to_projected[step, :, 2 * width :])
            to_inputs[step, :, 2 * width :] = below
            change = torch.mul(change, update).add_(_times(to_projected[step], matrix))
        to_inputs[..., : 2 * width] = to_projected[..., : 2 * width]
        to_weight = _over_all(to_projected, path[:-1], context.bf16)
        return to_inputs, change, to_weight, to_projected[..., 2 * width :].sum((0, 1)), None


class _Memory(torch.autograd.Function):
    @staticmethod
    def forward(
        context: Any,
        inputs: Tensor,
        first: Tensor,
        cell: Tensor,
        weight: Tensor,
        gates: tuple[str, ...],
        bf16: bool,
    ) -> tuple[Tensor, Tensor]:
        path, cells, into = _path(first, len(inputs)), _path(cell, len(inputs)), _sized(weight, bf16).t()
        opened, squashed = (
            torch.empty_like(inputs),
            torch.empty_like(path[1:]),
        )  # (T, B, G D), tanh(c) (T, B, D)
        parts = _gates(opened, gates)
        for step, given in enumerate(inputs):
            torch.add(given, _times(path[step], into), out=opened[step])
            own = {name: part[step] for name, part in parts.items()}
            for name, gate in own.items():
                gate.tanh_() if name == "candidate" else gate.sigmoid_()
            _remember(cells[step], own, out=cells[step + 1])
            torch.tanh(cells[step + 1], out=squashed[step])
            path[step + 1] = own["output"] * squashed[step] if "output" in own else squashed[step]
        context.save_for_backward(path, cells, opened, squashed, weight)
        context.how = gates, bf16
        return path[1:], cells[1:]

    @staticmethod
    @once_differentiable
    def backward(context: Any, to_hidden: Tensor, to_cells: Tensor) -> tuple[Tensor | None, ...]:
        (path, cells, opened, squashed, weight), (gates, bf16) = context.saved_tensors, context.how
        back, to_inputs = _sized(weight, bf16), torch.empty_like(opened)
        parts, changes = _gates(opened, gates), _gates(to_inputs, gates)
        change = kept = torch.zeros_like(path[0])  # of the hidden vector, of the cell (B, D)
        for step in reversed(range(len(opened))):
            own, to_own = ({name: part[step] for name, part in one.items()} for one in (parts, changes))
            change = change + to_hidden[step]
            if "output" in own:
                to_own["output"].copy_(sigmoid_back(change * squashed[step], own["output"]))
                change = change * own["output"]
            kept = kept + to_cells[step] + tanh_back(change, squashed[step])
            kept = _remember_back(kept, cells[step], own, to_own)
            change = _times(to_inputs[step], back)
        return to_inputs, change.to(weight.dtype), kept, _over_all(to_inputs, path[:-1], bf16), None, None


Gates = dict[str, Tensor]


def _gates(values: Tensor, gates: tuple[str, ...]) -> Gates:
    """Views (T, B, D) of values (T, B, G D), by the names of the gates."""
    return dict(zip(gates, values.chunk(len(gates), 2), strict=True))


def _remember(cell: Tensor, gates: Gates, out: Tensor) -> None:
    """The next cell (B, D)."""
    if "input" not in gates:
        torch.add(cell, gates["candidate"], out=out)
    elif "forget" not in gates:
        torch.lerp(cell, gates["candidate"], gates["input"], out=out)
    else:
        torch.mul(cell, gates["forget"], out=out).addcmul_(gates["input"], gates["candidate"])


def _remember_back(kept: Tensor, cell: Tensor, gates: Gates, changes: Gates) -> Tensor:
    """From the gradient of the next cell to that of this one; those of the gates are written into `changes`."""
    candidate = gates["candidate"]
    if "input" not in gates:
        changes["candidate"].copy_(tanh_back(kept, candidate))
        return kept
    opened, coupled = gates["input"], "forget" not in gates
    changes["candidate"].copy_(tanh_back(kept * opened, candidate))
    changes["input"].copy_(sigmoid_back(kept * (candidate - cell if coupled else candidate), opened))
    if coupled:
        return torch.addcmul(kept, kept, opened, value=-1.0)
    changes["forget"].copy_(sigmoid_back(kept * cell, gates["forget"]))
    return kept * gates["forget"]
