"""Recurrent layers: padding, directions, dropout and looking inside."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from functools import partial

import pytest
import torch
from torch import Tensor

from chainrule.nn import cells
from chainrule.nn.cells import Cell
from chainrule.nn.dropout import Dropout, dropped, embed
from chainrule.nn.recurrent import Direction, OneWay, Stack, layer, lengths_of
from chainrule.nn.tap import listening
from chainrule.symbols import PAD

INPUTS, D, B, T = 3, 4, 3, 6
KINDS: dict[str, Callable[[int, int], Cell]] = {
    "rnn": cells.RnnCell,
    "relu": partial(cells.RnnCell, activation="relu"),
    "sigmoid": partial(cells.RnnCell, activation="sigmoid"),
    "lstm": cells.LstmCell,
    "coupled": cells.CoupledLstmCell,
    "additive": cells.AdditiveCell,
    "no-output": cells.NoOutputCell,
    "before": cells.GruBeforeCell,
    "after": cells.GruAfterCell,
    "rnn-norm": partial(cells.RnnCell, norm=True),
    "lstm-norm": partial(cells.LstmCell, norm=True),
    "coupled-norm": partial(cells.CoupledLstmCell, norm=True),
    "additive-norm": partial(cells.AdditiveCell, norm=True),
    "no-output-norm": partial(cells.NoOutputCell, norm=True),
    "before-norm": partial(cells.GruBeforeCell, norm=True),
    "after-norm": partial(cells.GruAfterCell, norm=True),
}
every_kind = pytest.mark.parametrize("kind", KINDS)


def stack(kind: str, direction: Direction = "forward", depth: int = 2) -> Stack:
    torch.manual_seed(0)
    sides = 2 if direction == "both" else 1
    return Stack(
        [layer(partial(KINDS[kind], sides * D if at else INPUTS, D), direction) for at in range(depth)]
    ).double()


def inputs(rows: int = B, steps: int = T) -> Tensor:
    return torch.randn(rows, steps, INPUTS, generator=torch.Generator().manual_seed(1)).double()


@every_kind
@pytest.mark.parametrize("direction", ["forward", "backward", "both"])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_a_padded_row_is_read_as_alone(kind: str, direction: Direction, dtype: torch.dtype) -> None:
    layers, vectors, lengths = stack(kind, direction).to(dtype), inputs().to(dtype), torch.tensor([4, T, 0])
    begin = tuple(tuple(one + 0.3 for one in memory) for memory in layers.start(B))
    hidden, memories = layers(vectors, begin, lengths)
    for row, length in enumerate(lengths.tolist()):
        own = tuple(tuple(one[row : row + 1] for one in memory) for memory in begin)
        alone, ended = layers(vectors[row : row + 1, :length], own)
        torch.testing.assert_close(hidden[row : row + 1, :length], alone)
        for found, expected in zip(memories, ended, strict=True):
            for one, other in zip(found, expected, strict=True):
                torch.testing.assert_close(one[row : row + 1], other)


@every_kind
def test_padding_gets_no_gradient(kind: str) -> None:
    layers, vectors = stack(kind), inputs().requires_grad_()
    lengths = torch.tensor([4, T, 1])
    hidden, memories = layers(vectors, layers.start(B), lengths)
    real = torch.arange(T) < lengths[:, None]
    (hidden[real].sum() + sum(one.sum() for memory in memories for one in memory)).backward()
    assert (vectors.grad[~real] == 0.0).all()
    assert (vectors.grad[real] != 0.0).any()


@every_kind
def test_one_step_equals_many(kind: str) -> None:
    layers, vectors = stack(kind), inputs()
    whole, end = layers(vectors, layers.start(B))
    memories, parts = layers.start(B), []
    for step in range(T):
        hidden, memories = layers(vectors[:, step : step + 1], memories)
        parts.append(hidden)
    torch.testing.assert_close(torch.cat(parts, 1), whole)
    torch.testing.assert_close(memories, end)


@every_kind
@pytest.mark.parametrize("direction", ["forward", "both"])
def test_listening_changes_nothing(kind: str, direction: Direction) -> None:
    layers, vectors, lengths = stack(kind, direction), inputs(), torch.tensor([4, T, 1])
    quiet = layers(vectors, layers.start(B), lengths)
    with listening(layers) as heard:
        loud = layers(vectors, layers.start(B), lengths)
    real = torch.arange(T) < lengths[:, None]
    torch.testing.assert_close(loud[0][real], quiet[0][real])
    torch.testing.assert_close(loud[1], quiet[1])
    assert heard


@every_kind
@pytest.mark.parametrize("lengths", [None, torch.tensor([4, T, 0])])
def test_a_run_has_the_gradients_of_its_steps(kind: str, lengths: Tensor | None) -> None:
    layers = stack(kind)
    told = []
    for heard in (False, True):  # who listens makes it go step by step
        vectors = inputs().requires_grad_()
        begin = [[(one + 0.3).requires_grad_() for one in memory] for memory in layers.start(B)]
        with listening(layers) if heard else nullcontext():
            hidden, memories = layers(vectors, [tuple(memory) for memory in begin], lengths)
        if lengths is not None:
            hidden = hidden[torch.arange(T) < lengths[:, None]]
        total = hidden.sin().sum() + sum(one.cos().sum() for memory in memories for one in memory)
        wanted = [vectors, *(one for memory in begin for one in memory), *layers.parameters()]
        told.append(torch.autograd.grad(total, wanted))
    for one, other in zip(*told, strict=True):
        torch.testing.assert_close(one, other)


def test_every_layer_tells_hidden_cell_and_gates() -> None:
    layers, vectors = stack("lstm"), inputs()
    with listening(layers) as heard:
        hidden, memories = layers(vectors, layers.start(B))
    gates = tuple(f"gates.{name}" for name in ("input", "forget", "candidate", "output"))
    assert set(heard) == {f"{at}.{what}" for at in range(2) for what in ("hidden", "cell", *gates)}
    torch.testing.assert_close(heard["1.hidden"], [hidden])
    torch.testing.assert_close(heard["1.cell"][0][:, -1], memories[1][1])
    i, f, g, o = (heard[f"0.{name}"][0] for name in gates)  # (B, T, D) each
    before = torch.cat([torch.zeros(B, 1, D).double(), heard["0.cell"][0][:, :-1]], 1)
    torch.testing.assert_close(heard["0.cell"][0], f * before + i * g)
    torch.testing.assert_close(heard["0.hidden"][0], o * heard["0.cell"][0].tanh())


def test_listening_to_one_model_leaves_another_alone() -> None:
    one, other = stack("lstm"), stack("lstm")
    with listening(one) as heard:
        other(inputs(), other.start(B))
    assert heard == {}


def test_a_listener_hears_nothing_afterwards() -> None:
    layers = stack("after")
    with listening(layers) as heard:
        pass
    layers(inputs(), layers.start(B))
    assert heard == {}


def test_a_coupled_cell_stays_between_what_it_was_and_its_candidate() -> None:
    layers = stack("coupled", depth=1)
    with listening(layers) as heard:
        layers(inputs(), layers.start(B))
    cell, candidate = heard["0.cell"][0], heard["0.gates.candidate"][0]
    before = torch.cat([torch.zeros(B, 1, D).double(), cell[:, :-1]], 1)
    assert (cell <= torch.maximum(before, candidate)).all()
    assert (cell >= torch.minimum(before, candidate)).all()


def test_reading_nothing_remembers_the_same() -> None:
    layers = stack("lstm")
    memories = layers.start(B)
    hidden, after = layers(inputs(steps=0), memories)
    assert hidden.shape == (B, 0, D)
    assert after == memories


@pytest.mark.parametrize("kind", ["rnn", "lstm", "before"])
def test_hidden_weights_begin_as_asked(kind: str) -> None:
    identity, orthogonal = (KINDS[kind](INPUTS, D, init=init) for init in ("identity", "orthogonal"))
    for block in identity.hidden_weight.split(D):
        assert torch.equal(block, torch.eye(D))
    for block in orthogonal.hidden_weight.split(D):
        torch.testing.assert_close(block @ block.t(), torch.eye(D))


def test_a_forget_gate_begins_open() -> None:
    assert (cells.LstmCell(INPUTS, D).bias.view(4, D)[1] == 1.0).all()
    assert (cells.CoupledLstmCell(INPUTS, D).bias.view(3, D)[0] == -1.0).all()


@pytest.mark.parametrize("kind", ["rnn", "lstm", "after", "coupled", "additive", "no-output"])
@pytest.mark.parametrize("lengths", [None, torch.tensor([4, T, 0])], ids=["whole", "padded"])
def test_bf16_layers_teach_nearly_the_same_and_answer_the_same(kind: str, lengths: Tensor | None) -> None:
    torch.manual_seed(0)
    cell, vectors = KINDS[kind](INPUTS, D), inputs().float().requires_grad_()
    fine, bf16 = OneWay(cell), OneWay(cell, bf16=True)
    real = torch.arange(T) < (torch.full((B,), T) if lengths is None else lengths)[:, None]
    found, expected = (one(vectors, one.start(B), lengths) for one in (bf16, fine))
    torch.testing.assert_close(found[0][real], expected[0][real], rtol=0.05, atol=0.01)
    torch.testing.assert_close(found[1], expected[1], rtol=0.05, atol=0.01)
    ours, theirs = (
        torch.autograd.grad(hidden[real].sum(), [vectors, *cell.parameters()])
        for hidden, _ in (found, expected)
    )
    for one, other in zip(ours, theirs, strict=True):
        assert torch.nn.functional.cosine_similarity(one.flatten(), other.flatten(), dim=0) > 0.999
    alike = [one.eval()(vectors, one.start(B), lengths)[0][real] for one in (bf16, fine)]
    assert torch.equal(*alike)


@pytest.mark.parametrize("kind", ["rnn", "lstm", "after", "coupled", "additive", "no-output"])
def test_bf16_layers_can_learn_from_one_step(kind: str) -> None:
    torch.manual_seed(0)
    one = OneWay(KINDS[kind](INPUTS, D), bf16=True)
    hidden, memory = one(inputs(steps=1).float(), one.start(B), torch.tensor([1, 0, 1]))
    hidden.sum().backward()
    assert all(value.dtype == torch.float32 for value in (hidden, *memory))
    assert all((value[1] == 0.0).all() for value in memory)
    assert (one.cell.input_weight.grad != 0.0).any()


def test_lengths_are_known_only_where_there_is_padding() -> None:
    assert lengths_of(torch.tensor([[5, 6], [7, 8]])) is None
    assert lengths_of(torch.tensor([[5, 6], [7, PAD], [PAD, PAD]])).tolist() == [2, 1, 0]


def test_plain_dropout_keeps_the_mean_and_answers_untouched() -> None:
    torch.manual_seed(0)
    drop, ones = Dropout(0.25), torch.ones(20, 20, 20)
    assert float(drop(ones).mean()) == pytest.approx(1.0, abs=0.05)
    assert drop.eval()(ones) is ones


def test_locked_dropout_drops_the_same_numbers_at_every_step() -> None:
    torch.manual_seed(0)
    found = Dropout(0.5, "locked")(torch.ones(8, T, 16))
    assert (found == found[:, :1]).all()
    assert not (found == found[:1]).all()
    assert set(found.unique().tolist()) == {0.0, 2.0}


def test_embedding_dropout_drops_whole_symbols_everywhere() -> None:
    torch.manual_seed(0)
    tokens = torch.arange(40).repeat(2, 3)  # (2, 120)
    found = embed(tokens, torch.ones(40, D), 0.5, training=True).view(6, 40, D)
    assert (found == found[:1, :, :1]).all()
    assert set(found.unique().tolist()) == {0.0, 2.0}


@pytest.mark.parametrize("kind", ["lstm", "before"])
def test_weight_drop_reads_with_some_hidden_weights_gone(kind: str) -> None:
    torch.manual_seed(0)
    one = OneWay(KINDS[kind](INPUTS, D), weight_drop=0.5).double()
    torch.manual_seed(3)
    found, _ = one(inputs(), one.start(B))
    torch.manual_seed(3)
    weight = dropped(one.cell.hidden_weight, 0.5, training=True).detach()
    plain = OneWay(one.cell).eval()
    with torch.no_grad():
        one.cell.hidden_weight.copy_(weight)
    torch.testing.assert_close(found, plain(inputs(), plain.start(B))[0])
    assert 0 < int((weight == 0.0).sum()) < weight.numel()


@pytest.mark.parametrize("kind", ["plain", "locked"])
def test_the_same_global_seed_drops_the_same(kind: str) -> None:
    drop = Dropout(0.5, kind)
    found = []
    for seed in (1, 1, 2):
        torch.manual_seed(seed)
        found.append(drop(torch.ones(B, T, D)))
    assert torch.equal(found[0], found[1])
    assert not torch.equal(found[1], found[2])
