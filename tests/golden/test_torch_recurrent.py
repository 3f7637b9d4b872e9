"""Recurrent layers equal torch's on the same weights, and short references where torch has none."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import pytest
import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from chainrule.nn import cells
from chainrule.nn.cells import Cell
from chainrule.nn.recurrent import BothWays, OneWay, Stack, layer

INPUTS, D, B, T = 3, 4, 3, 7
KINDS = {
    "tanh": (nn.RNN, cells.RnnCell),
    "relu": (partial(nn.RNN, nonlinearity="relu"), partial(cells.RnnCell, activation="relu")),
    "lstm": (nn.LSTM, cells.LstmCell),
    "gru": (nn.GRU, cells.GruAfterCell),
}
LENGTHS = torch.tensor([5, T, 2])


def pair(kind: str, depth: int, both: bool) -> tuple[nn.RNNBase, Stack]:
    """Torch's layers and ours, with the same random weights."""
    torch.manual_seed(0)
    theirs, cell = KINDS[kind]
    reference = theirs(INPUTS, D, depth, batch_first=True, bidirectional=both).double()
    inputs = [INPUTS, *[D * (1 + both)] * (depth - 1)]
    ours = Stack([layer(partial(cell, size, D), "both" if both else "forward") for size in inputs]).double()
    with torch.no_grad():
        for name, one in named_cells(ours):
            copy(reference, name, one)
    return reference, ours


def named_cells(stack: Stack) -> list[tuple[str, Cell]]:
    """Our cells by the ending torch gives their weights."""
    found = []
    for depth, one in enumerate(stack.layers):
        sides = (one.rightward, one.leftward) if isinstance(one, BothWays) else (one,)
        found += [
            (f"l{depth}{ending}", side.cell) for side, ending in zip(sides, ("", "_reverse"), strict=False)
        ]
    return found


def copy(reference: nn.RNNBase, name: str, cell: Cell) -> None:
    cell.input_weight.copy_(getattr(reference, f"weight_ih_{name}"))
    cell.hidden_weight.copy_(getattr(reference, f"weight_hh_{name}"))
    into, hidden = (getattr(reference, f"bias_{side}_{name}").clone() for side in ("ih", "hh"))
    if isinstance(cell, cells.GruAfterCell):  # the one bias that cannot be moved to the other side
        cell.hidden_bias.copy_(hidden[2 * D :])
        hidden[2 * D :] = 0.0
    cell.bias.copy_(into + hidden)


def given(depth: int, sides: int) -> tuple[Tensor, Tensor, Tensor]:
    """Inputs (B, T, I), and what torch wants to begin with (layers, B, D), twice."""
    generator = torch.Generator().manual_seed(1)
    shapes = [(B, T, INPUTS), (depth * sides, B, D), (depth * sides, B, D)]
    return tuple(torch.randn(*shape, generator=generator).double() for shape in shapes)  # type: ignore[return-value]


def as_memories(begin: Sequence[Tensor], depth: int, sides: int) -> tuple[tuple[Tensor, ...], ...]:
    """Torch's stacked memory as ours: for every layer, for every direction, hidden and perhaps cell."""
    return tuple(
        tuple(one[at * sides + side] for side in range(sides) for one in begin) for at in range(depth)
    )


@pytest.mark.parametrize("padded", [False, True])
@pytest.mark.parametrize("both", [False, True])
@pytest.mark.parametrize("depth", [1, 2])
@pytest.mark.parametrize("kind", KINDS)
def test_layers_equal_torch_forward_and_back(kind: str, depth: int, both: bool, padded: bool) -> None:
    reference, ours = pair(kind, depth, both)
    sides = 1 + both
    vectors, *memory = given(depth, sides)
    begin = memory if kind == "lstm" else memory[:1]
    vectors.requires_grad_()
    lengths = LENGTHS if padded else torch.full((B,), T)
    packed = pack_padded_sequence(vectors, lengths, batch_first=True, enforce_sorted=False)
    expected, ended = reference(packed, tuple(begin) if kind == "lstm" else begin[0])
    expected, _ = pad_packed_sequence(expected, batch_first=True)
    hidden, memories = ours(vectors, as_memories(begin, depth, sides), LENGTHS if padded else None)
    real = torch.arange(T) < lengths[:, None]
    torch.testing.assert_close(hidden[real], expected[real])
    torch.testing.assert_close(memories, as_memories(ended if kind == "lstm" else [ended], depth, sides))
    weigh = torch.randn(hidden.shape, generator=torch.Generator().manual_seed(2)).double()
    their_gradients = torch.autograd.grad((expected * weigh)[real].sum(), [vectors, *reference.parameters()])
    our_gradients = torch.autograd.grad((hidden * weigh)[real].sum(), [vectors, *ours.parameters()])
    torch.testing.assert_close(our_gradients[0], their_gradients[0])
    wanted = dict(zip([name for name, _ in reference.named_parameters()], their_gradients[1:], strict=True))
    found = dict(zip([id(one) for one in ours.parameters()], our_gradients[1:], strict=True))
    for name, cell in named_cells(ours):
        torch.testing.assert_close(found[id(cell.input_weight)], wanted[f"weight_ih_{name}"])
        torch.testing.assert_close(found[id(cell.hidden_weight)], wanted[f"weight_hh_{name}"])
        torch.testing.assert_close(found[id(cell.bias)], wanted[f"bias_ih_{name}"])
        if isinstance(cell, cells.GruAfterCell):
            torch.testing.assert_close(found[id(cell.hidden_bias)], wanted[f"bias_hh_{name}"][2 * D :])


def test_a_backward_layer_is_the_backward_half_of_torch() -> None:
    reference, ours = pair("lstm", 1, True)
    vectors, *begin = given(1, 2)
    one = OneWay(ours.layers[0].leftward.cell, backward=True)
    expected, _ = reference(vectors, tuple(begin))
    found, _ = one(vectors, (begin[0][1], begin[1][1]))
    torch.testing.assert_close(found, expected[..., D:])


def unrolled(cell: Cell, step: object, vectors: Tensor, memory: tuple[Tensor, ...]) -> Tensor:
    """A reference run one step at a time over vectors (B, T, I)."""
    hidden = []
    for x in vectors.unbind(1):
        memory = step(cell, x, *memory)  # type: ignore[operator]
        hidden.append(memory[0])
    return torch.stack(hidden, 1)


def blocks(cell: Cell) -> list[tuple[Tensor, Tensor, Tensor]]:
    """W, U and b of every gate."""
    return list(zip(cell.input_weight.split(D), cell.hidden_weight.split(D), cell.bias.split(D), strict=True))


def sigmoid_step(cell: Cell, x: Tensor, h: Tensor) -> tuple[Tensor, ...]:
    [(w, u, b)] = blocks(cell)
    return (1 / (1 + torch.exp(-(x @ w.T + h @ u.T + b))),)


def lstm_step(cell: Cell, x: Tensor, h: Tensor, c: Tensor) -> tuple[Tensor, ...]:
    i, f, g, o = (x @ w.T + h @ u.T + b for w, u, b in blocks(cell))
    c = f.sigmoid() * c + i.sigmoid() * g.tanh()
    return o.sigmoid() * c.tanh(), c


def coupled_step(cell: Cell, x: Tensor, h: Tensor, c: Tensor) -> tuple[Tensor, ...]:
    i, g, o = (x @ w.T + h @ u.T + b for w, u, b in blocks(cell))
    c = (1 - i.sigmoid()) * c + i.sigmoid() * g.tanh()
    return o.sigmoid() * c.tanh(), c


def additive_step(cell: Cell, x: Tensor, h: Tensor, c: Tensor) -> tuple[Tensor, ...]:
    [(w, u, b)] = blocks(cell)
    c = c + (x @ w.T + h @ u.T + b).tanh()
    return c.tanh(), c


def no_output_step(cell: Cell, x: Tensor, h: Tensor, c: Tensor) -> tuple[Tensor, ...]:
    i, f, g = (x @ w.T + h @ u.T + b for w, u, b in blocks(cell))
    c = f.sigmoid() * c + i.sigmoid() * g.tanh()
    return c.tanh(), c


def lecture_step(cell: Cell, x: Tensor, h: Tensor) -> tuple[Tensor, ...]:
    (wr, ur, br), (wz, uz, bz), (w, u, b) = blocks(cell)
    r = (x @ wr.T + h @ ur.T + br).sigmoid()
    z = (x @ wz.T + h @ uz.T + bz).sigmoid()
    return ((1 - z) * h + z * torch.tanh(x @ w.T + (r * h) @ u.T + b),)


def norm(values: Tensor, gain: Tensor) -> Tensor:
    middle = values.mean(-1, keepdim=True)
    return gain * (values - middle) / ((values - middle) ** 2).mean(-1, keepdim=True).add(1e-5).sqrt()


def normed_step(cell: Cell, x: Tensor, h: Tensor, c: Tensor) -> tuple[Tensor, ...]:
    """Ba, Kiros and Hinton 2016, equations 20 to 22."""
    assert isinstance(cell, cells.LstmCell)
    both = norm(x @ cell.input_weight.T, cell.input_norm.weight)
    both = both + norm(h @ cell.hidden_weight.T, cell.hidden_norm.weight) + cell.bias
    i, f, g, o = both.chunk(4, 1)
    c = f.sigmoid() * c + i.sigmoid() * g.tanh()
    return o.sigmoid() * norm(c, cell.cell_norm.weight).tanh(), c


@pytest.mark.parametrize(
    ("cell", "step"),
    [
        (partial(cells.RnnCell, activation="sigmoid"), sigmoid_step),
        (cells.LstmCell, lstm_step),
        (cells.CoupledLstmCell, coupled_step),
        (cells.AdditiveCell, additive_step),
        (cells.NoOutputCell, no_output_step),
        (cells.GruBeforeCell, lecture_step),
        (partial(cells.LstmCell, norm=True), normed_step),
    ],
    ids=["sigmoid", "lstm", "coupled", "additive", "no-output", "lecture", "layer-norm"],
)
def test_one_chunk_has_the_gradients_of_the_unrolled_recurrence(cell: partial, step: object) -> None:
    torch.manual_seed(0)
    one = OneWay(cell(INPUTS, D)).double()
    vectors = given(1, 1)[0].requires_grad_()
    memory = tuple(value + 0.3 for value in one.start(B))
    found, _ = one(vectors, memory)
    expected = unrolled(one.cell, step, vectors, memory)
    torch.testing.assert_close(found, expected)
    of = [vectors, *one.parameters()]
    ours, theirs = (torch.autograd.grad((values**2).sum(), of) for values in (found, expected))
    torch.testing.assert_close(ours, theirs)
