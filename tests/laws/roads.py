"""The laws of variants that lead to the LSTM and to the Transformer, and deliberate bugs that they must catch."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial

import torch
from torch import Tensor, nn

from chainrule.nn import cells
from chainrule.nn.attention import AttentionMask, DirectAttention
from chainrule.nn.cells import Cell, CellState, See, Weight, unseen
from chainrule.nn.kv_cache import KVCache
from chainrule.nn.recurrent import OneWay
from chainrule.nn.tap import listening

INPUTS, D, B, T = 3, 4, 2, 6
Make = Callable[[], nn.Module]
Law = Callable[[Make], None]


def inputs(width: int = INPUTS, steps: int = T) -> Tensor:
    return torch.randn(B, steps, width, generator=torch.Generator().manual_seed(1)).double()


def same(found: Tensor, expected: Tensor, claim: str) -> None:
    torch.testing.assert_close(found, expected, msg=lambda text: f"{claim}: {text}")


def running(make: Make) -> tuple[OneWay, dict[str, Tensor], Tensor]:
    """A layer, what it told on the way, (B, T, D) each, and the cells before every step."""
    layer = made(make)
    assert isinstance(layer, OneWay)
    with listening(layer) as heard:
        layer(inputs(), layer.start(B))
    told = {name: values[0] for name, values in heard.items()}
    before = torch.cat([torch.zeros(B, 1, D).double(), told["cell"][:, :-1]], 1)
    return layer, told, before


def made(make: Make) -> nn.Module:
    torch.manual_seed(0)
    return make().double().eval()


def law_additive_memory_is_a_sum(make: Make) -> None:
    """c_t - c_{t-1} is the candidate, and nothing is forgotten; without hidden weights the order does not matter."""
    layer, told, before = running(make)
    same(told["cell"] - before, told["gates.candidate"], "the cell grows by the candidate")
    same(told["hidden"], told["cell"].tanh(), "all of the cell is shown")
    with torch.no_grad():
        layer.cell.hidden_weight.zero_()
    ended = [layer(vectors, layer.start(B))[1][1] for vectors in (inputs(), inputs().flip(1))]
    same(ended[0], ended[1], "what was read, in another order, leaves the same memory")


def law_additive_gradient_is_the_identity_and_a_little(make: Make) -> None:
    """dc_t / dc_{t-1} = I + diag(1 - g²) U diag(1 - h²), which is I where the hidden weights are zero."""
    layer = made(make)
    assert isinstance(layer, OneWay)
    begin = torch.randn(1, D, generator=torch.Generator().manual_seed(2)).double()

    def once(cell: Tensor) -> Tensor:
        ended: Tensor = layer(inputs()[:1, :1], (cell.tanh(), cell))[1][1]
        return ended

    told: Tensor = torch.autograd.functional.jacobian(once, begin)[0, :, 0]  # (D, D)
    candidate = once(begin) - begin
    small = (1 - candidate.T**2) * layer.cell.hidden_weight * (1 - begin.tanh() ** 2)
    same(told, torch.eye(D).double() + small, "I + epsilon")
    with torch.no_grad():
        layer.cell.hidden_weight.zero_()
    same(torch.autograd.functional.jacobian(once, begin)[0, :, 0], torch.eye(D).double(), "I")


def law_no_output_gate_shows_the_whole_cell(make: Make) -> None:
    """c = f * c + i * g, h = tanh(c)."""
    _, told, before = running(make)
    i, f, g = (told[f"gates.{name}"] for name in ("input", "forget", "candidate"))
    same(told["cell"], f * before + i * g, "the cell forgets and takes in")
    same(told["hidden"], told["cell"].tanh(), "all of the cell is shown")
    assert "gates.output" not in told


def law_coupled_cell_is_a_convex_combination(make: Make) -> None:
    """Of what it was and of the candidate, so it never leaves (-1, 1)."""
    _, told, before = running(make)
    g = told["gates.candidate"]
    assert (told["cell"] <= torch.maximum(before, g)).all(), "beyond both"
    assert (told["cell"] >= torch.minimum(before, g)).all(), "below both"
    i = told["gates.input"]
    same(told["cell"], (1 - i) * before + i * g, "what is taken in is what is forgotten")


def law_a_learned_initial_state_is_read_and_learnt(make: Make) -> None:
    """Every row begins with the parameter, and the loss has a gradient for it."""
    layer = made(make)
    assert isinstance(layer, OneWay) and layer.first is not None
    with torch.no_grad():
        layer.first.normal_()
    begin = layer.start(B)
    for memory, wanted in zip(begin, layer.first, strict=True):
        same(memory, wanted.expand(B, D), "every row begins with what was learnt")
    hidden, _ = layer(inputs(), begin)
    [gradient] = torch.autograd.grad(hidden[:, -1].sum(), [layer.first], allow_unused=True)
    assert gradient is not None and (gradient != 0).all(), "nothing is learnt about the initial state"


def weights_of(make: Make, width: int = 8, steps: int = 7) -> tuple[nn.Module, Tensor, Tensor]:
    """A layer of attention, vectors (T, D) of equal norm, and its logs of weights (T, T), nothing masked."""
    layer = made(make)
    with torch.no_grad():
        for weight in layer.parameters():
            weight.normal_(std=0.3)
    vectors = nn.functional.layer_norm(inputs(width, steps)[:1], (width,))
    with listening(layer) as heard:
        found, _ = layer(vectors, None, AttentionMask())
    weights = heard["weights"][0][0, 0]
    same(found[0], weights @ vectors[0], "values are the vectors themselves")
    return layer, vectors[0], weights.log()


def law_plain_attention_is_symmetric_and_looks_at_itself(make: Make) -> None:
    """softmax(XX') X: i is to j what j is to i. Around any three, products of weights are equal both ways."""
    _, _, logs = weights_of(make)
    around = logs[:, :, None] + logs[None] + logs.T[:, None]  # i -> j -> k -> i
    same(around, around.transpose(0, 1).transpose(1, 2).transpose(0, 1), "the same backwards")
    assert (logs.argmax(1) == torch.arange(len(logs))).all(), (
        "of vectors of equal norm, each looks at itself most"
    )


def law_a_matrix_breaks_the_symmetry(make: Make) -> None:
    """softmax(X W X'): the logits are X W X' / sqrt(D) up to a number a row, of a W that is not symmetric."""
    layer, vectors, logs = weights_of(make)
    assert isinstance(layer, DirectAttention)
    [linear] = layer.linears
    logits = vectors @ linear.weight.T @ vectors.T / vectors.shape[1] ** 0.5
    same(logs, logits.log_softmax(1), "W between queries and keys")
    around = logs[:, :, None] + logs[None] + logs.T[:, None]
    assert not torch.allclose(around, around.transpose(0, 1).transpose(1, 2).transpose(0, 1)), "symmetric"


def law_low_rank_is_the_head_width(make: Make) -> None:
    """Logits less their mean in every row have the rank of L R, whatever that is, and at most one more is hidden."""
    layer, vectors, logs = weights_of(make, steps=12)
    assert isinstance(layer, DirectAttention)
    left, right = (one.weight for one in layer.linears)
    assert left.shape == right.shape == (layer.key_width, vectors.shape[1])
    logits = vectors @ left.T @ right @ vectors.T / layer.key_width**0.5
    same(logs, logits.log_softmax(1), "L R between queries and keys")
    centred = logs - logs.mean(1, keepdim=True)
    assert torch.linalg.matrix_rank(centred, tol=1e-8) == layer.key_width, "the rank of the logits"


class Forgetting(cells.AdditiveCell):
    """A tenth of the memory leaks away."""

    def step(self, inputs: Tensor, memory: CellState, weight: Weight, see: See = unseen) -> CellState:
        return super().step(inputs, (memory[0], 0.9 * memory[1]), weight, see)

    @property
    def fused(self) -> bool:
        return False


class Leaking(cells.NoOutputCell):
    """Half of the cell is shown."""

    def squashed(self, cell: Tensor) -> Tensor:
        return 0.5 * super().squashed(cell)


class Overdone(cells.CoupledLstmCell):
    """What is taken in is not forgotten."""

    def step(self, inputs: Tensor, memory: CellState, weight: Weight, see: See = unseen) -> CellState:
        hidden, cell = memory
        i, g, o = self.joined(inputs, hidden, weight).chunk(3, 1)  # type: ignore[arg-type]
        i, g = see("gates.input", i.sigmoid()), see("gates.candidate", g.tanh())
        cell = see("cell", cell + i * g)
        return see("hidden", see("gates.output", o.sigmoid()) * cell.tanh()), cell


class Fixed(OneWay):
    """Begins with a copy of what could be learnt."""

    def start(self, batch: int) -> CellState:
        return tuple(one.detach() for one in super().start(batch))


class Lopsided(DirectAttention):
    """Keys are not the vectors that the queries are."""

    def forward(
        self, vectors: Tensor, cache: KVCache | None, mask: AttentionMask
    ) -> tuple[Tensor, KVCache | None]:
        turned = vectors.roll(1, -1)
        keys = KVCache(turned[:, None], vectors[:, None])
        from chainrule.nn.attention import attend

        return attend(self, vectors[:, None], keys, mask), None


def layer(cell: type[Cell], kind: type[OneWay] = OneWay, learned: bool = False) -> Make:
    return lambda: kind(cell(INPUTS, D), learned=learned)


def attention(kind: str, key_width: int = 8, made: type[DirectAttention] = DirectAttention) -> Make:
    return partial(made, 8, key_width, kind)


@dataclass(frozen=True)
class Road:
    """A law, what keeps it, and what is wrong with others."""

    law: Law
    keeps: Mapping[str, Make]
    bugs: Mapping[str, Make]


ROADS = [
    Road(
        law_additive_memory_is_a_sum,
        {"additive": layer(cells.AdditiveCell)},
        {"forgets": layer(Forgetting)},
    ),
    Road(
        law_additive_gradient_is_the_identity_and_a_little,
        {"additive": layer(cells.AdditiveCell)},
        {"forgets": layer(Forgetting)},
    ),
    Road(
        law_no_output_gate_shows_the_whole_cell,
        {"no-output": layer(cells.NoOutputCell)},
        {"half is shown": layer(Leaking)},
    ),
    Road(
        law_coupled_cell_is_a_convex_combination,
        {"coupled": layer(cells.CoupledLstmCell)},
        {"nothing is forgotten": layer(Overdone)},
    ),
    Road(
        law_a_learned_initial_state_is_read_and_learnt,
        {
            kind.__name__: layer(kind, learned=True)
            for kind in (cells.RnnCell, cells.GruBeforeCell, cells.LstmCell)
        },
        {"nothing is learnt": layer(cells.LstmCell, Fixed, learned=True)},
    ),
    Road(
        law_plain_attention_is_symmetric_and_looks_at_itself,
        {"plain": attention("plain")},
        {"keys turned": attention("plain", made=Lopsided), "a matrix": attention("bilinear")},
    ),
    Road(
        law_a_matrix_breaks_the_symmetry,
        {"bilinear": attention("bilinear")},
        {"keys turned": attention("bilinear", made=Lopsided)},
    ),
    Road(
        law_low_rank_is_the_head_width,
        {f"of {rank}": attention("low-rank", rank) for rank in (1, 3, 5)},
        {"keys turned": attention("low-rank", 8, made=Lopsided)},
    ),
]
