"""Attention: torch's own layers on the same weights, and a past that never changes."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn

from chainrule.nn import position
from chainrule.nn.attention import Block, Past, Sight, causal_sight
from chainrule.nn.tap import listening

B, T, D, H = 3, 7, 16, 4


def block(first: bool, activation: str = "gelu") -> tuple[Block, nn.TransformerEncoderLayer]:
    torch.manual_seed(0)
    theirs = nn.TransformerEncoderLayer(
        D, H, 32, 0.0, activation, batch_first=True, norm_first=first, layer_norm_eps=1e-5
    ).eval()
    for value in theirs.parameters():
        nn.init.normal_(value, std=0.3)
    ours = Block(D, H, 32, activation, first)
    pairs = {
        "attention.asked.weight": "self_attn.in_proj_weight",
        "attention.asked.bias": "self_attn.in_proj_bias",
        "attention.answer.weight": "self_attn.out_proj.weight",
        "attention.answer.bias": "self_attn.out_proj.bias",
        "wide.weight": "linear1.weight",
        "wide.bias": "linear1.bias",
        "narrow.weight": "linear2.weight",
        "narrow.bias": "linear2.bias",
        "attention_norm.weight": "norm1.weight",
        "attention_norm.bias": "norm1.bias",
        "thought_norm.weight": "norm2.weight",
        "thought_norm.bias": "norm2.bias",
    }
    values = theirs.state_dict()
    ours.load_state_dict({own: values[other] for own, other in pairs.items()})
    return ours.eval(), theirs


def vectors(seed: int = 1) -> Tensor:
    return torch.randn(B, T, D, generator=torch.Generator().manual_seed(seed))


@pytest.mark.parametrize("first", [True, False])
@pytest.mark.parametrize("activation", ["gelu", "relu"])
def test_a_block_equals_that_of_torch_forward_and_gradient(first: bool, activation: str) -> None:
    ours, theirs = block(first, activation)
    mine, other = vectors().requires_grad_(), vectors().requires_grad_()
    mask = nn.Transformer.generate_square_subsequent_mask(T)
    found, _ = ours(mine, None, Sight(causal=True))
    expected = theirs(other, src_mask=mask, is_causal=True)
    torch.testing.assert_close(found, expected, rtol=1e-5, atol=1e-5)
    for result, source in ((found, mine), (expected, other)):
        result.square().sum().backward()
        assert source.grad is not None
    torch.testing.assert_close(mine.grad, other.grad, rtol=1e-4, atol=1e-4)
    torch.testing.assert_close(ours.wide.weight.grad, theirs.linear1.weight.grad, rtol=1e-4, atol=1e-4)


@torch.no_grad()
def test_who_listens_hears_the_weights_and_changes_nothing() -> None:
    ours, _ = block(True)
    with listening(ours) as heard:
        told, _ = ours(vectors(), None, Sight(causal=True))
    plain, _ = ours(vectors(), None, Sight(causal=True))
    torch.testing.assert_close(told, plain, rtol=1e-5, atol=1e-5)
    [weights] = heard["attention.attention"]
    assert weights.shape == (B, H, T, T)
    torch.testing.assert_close(weights.sum(-1), torch.ones(B, H, T))
    assert (weights.triu(1) == 0.0).all()


@torch.no_grad()
@pytest.mark.parametrize("parts", [(7,), (1,) * 7, (3, 4), (2, 1, 4)])
def test_reading_in_parts_equals_reading_at_once(parts: tuple[int, ...]) -> None:
    ours, _ = block(True)
    whole, _ = ours(vectors(), ours.attention.start(B), Sight(causal=True))
    past, found = ours.attention.start(B), []
    for part in vectors().split(parts, 1):
        hidden, past = ours(part, past, causal_sight(None, past.length, part.shape[1]))
        found.append(hidden)
    torch.testing.assert_close(torch.cat(found, 1), whole, rtol=1e-5, atol=1e-5)


def numbers(columns: int, value: float) -> Tensor:
    return torch.full((2, 1, columns, 3), value)


@torch.no_grad()
def test_a_past_never_changes_whoever_goes_on_from_it() -> None:
    start = Past(numbers(0, 0.0), numbers(0, 0.0)).extended(numbers(2, 1.0), numbers(2, 1.0))
    one = start.extended(numbers(1, 2.0), numbers(1, 2.0))
    other = start.extended(numbers(1, 3.0), numbers(1, 3.0))
    assert one.keys[:, :, 2].eq(2.0).all() and other.keys[:, :, 2].eq(3.0).all()
    assert start.length == 2 and one.length == other.length == 3
    assert one.room is start.room and other.room is not start.room  # the first goes on without copying


@torch.no_grad()
def test_a_past_grows_as_long_as_there_is_memory() -> None:
    past = Past(numbers(0, 0.0), numbers(0, 0.0))
    rooms = set()
    for step in range(500):
        past = past.extended(numbers(1, float(step)), numbers(1, float(step)))
        rooms.add(id(past.room))
    assert past.keys[0, 0, :, 0].tolist() == [float(step) for step in range(500)]
    assert len(rooms) < 12


def test_rotary_products_depend_on_the_distance_alone() -> None:
    query, key = vectors()[:1, :1, None].transpose(1, 2), vectors(2)[:1, :1, None].transpose(1, 2)

    def product(first: int, second: int) -> Tensor:
        turned = [
            position.rotated(one, position.rotation(torch.tensor([[place]]), D))
            for one, place in ((query, first), (key, second))
        ]
        return (turned[0] * turned[1]).sum()

    torch.testing.assert_close(product(3, 1), product(103, 101), rtol=1e-4, atol=1e-4)
    assert not torch.isclose(product(3, 1), product(3, 2))
    torch.testing.assert_close(product(5, 5), (query * key).sum())


def test_sinusoidal_places_are_those_of_the_paper() -> None:
    found = position.sinusoidal(torch.arange(50), 8)
    place, pair = 37, 2
    angle = torch.tensor(place / 10_000 ** (2 * pair / 8))
    torch.testing.assert_close(found[place, pair], angle.sin())
    torch.testing.assert_close(found[place, 4 + pair], angle.cos())
    assert len({tuple(row) for row in found.tolist()}) == 50
