"""Attention: torch's own layers on the same weights, sources, masks, and a KV cache that never changes."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
import torch
from torch import Tensor, nn

from chainrule.nn import position
from chainrule.nn.attention import (
    Attention,
    AttentionMask,
    Block,
    BlockStack,
    SelfAttention,
    causal_mask,
    padding_mask,
)
from chainrule.nn.int8 import Int8Linear, compress
from chainrule.nn.kv_cache import KVCache
from chainrule.nn.tap import listening

B, T, S, D, M, H = 3, 7, 5, 16, 12, 4
REAL = torch.arange(S) < torch.tensor([3, S, 1])[:, None]  # (B, S)
SELF = {"qkv": "in_proj_", "out": "out_proj."}
BLOCK = {
    **{f"attention.{ours}": f"self_attn.{theirs}" for ours, theirs in SELF.items()},
    "up": "linear1.",
    "down": "linear2.",
    "attention_norm": "norm1.",
}


def loud(theirs: nn.Module) -> nn.Module:
    torch.manual_seed(0)
    for value in theirs.parameters():
        nn.init.normal_(value, std=0.3)
    return theirs.eval()


def copied(ours: nn.Module, theirs: nn.Module, names: Mapping[str, str]) -> None:
    """Give ours the weights of theirs."""
    pairs = {
        f"{mine}.{kind}": f"{other}{kind}" for mine, other in names.items() for kind in ("weight", "bias")
    }
    values = theirs.state_dict()
    missing, _ = ours.load_state_dict({mine: values[other] for mine, other in pairs.items()}, strict=False)
    assert not [name for name in missing if not name.startswith("cross.")]


def taken_crosswise(ours: Attention, theirs: nn.MultiheadAttention) -> None:
    """The same for attention to a memory."""
    if theirs.in_proj_weight is None:
        weights = [theirs.q_proj_weight, theirs.k_proj_weight, theirs.v_proj_weight]
    else:
        weights = list(theirs.in_proj_weight.chunk(3))
    with torch.no_grad():
        ours.q.weight.copy_(weights[0])
        ours.kv.weight.copy_(torch.cat(weights[1:]))
        ours.q.bias.copy_(theirs.in_proj_bias[:D])
        ours.kv.bias.copy_(theirs.in_proj_bias[D:])
        ours.out.load_state_dict(theirs.out_proj.state_dict())


def block(first: bool, activation: str = "gelu") -> tuple[Block, nn.Module]:
    theirs = loud(nn.TransformerEncoderLayer(D, H, 32, 0.0, activation, batch_first=True, norm_first=first))
    ours = Block(D, H, 32, activation, first)
    copied(ours, theirs, {**BLOCK, "mlp_norm": "norm2."})
    return ours.eval(), theirs


def decoder(first: bool, activation: str = "gelu") -> tuple[BlockStack, nn.Module]:
    """One block that reads a source, and that of torch."""
    theirs = loud(nn.TransformerDecoderLayer(D, H, 32, 0.0, activation, batch_first=True, norm_first=first))
    ours = Block(D, H, 32, activation, first, source_width=D)
    copied(ours, theirs, {**BLOCK, "cross_norm": "norm2.", "mlp_norm": "norm3."})
    taken_crosswise(ours.cross, theirs.multihead_attn)
    return BlockStack([ours]).eval(), theirs


def memory(width: int = D) -> Tensor:
    return torch.randn(B, S, width, generator=torch.Generator().manual_seed(5))


def vectors(seed: int = 1) -> Tensor:
    return torch.randn(B, T, D, generator=torch.Generator().manual_seed(seed))


@pytest.mark.parametrize("first", [True, False])
@pytest.mark.parametrize("activation", ["gelu", "relu"])
def test_a_block_equals_that_of_torch_forward_and_gradient(first: bool, activation: str) -> None:
    ours, theirs = block(first, activation)
    mine, other = vectors().requires_grad_(), vectors().requires_grad_()
    mask = nn.Transformer.generate_square_subsequent_mask(T)
    found, _ = ours(mine, None, AttentionMask(causal=True))
    expected = theirs(other, src_mask=mask, is_causal=True)
    torch.testing.assert_close(found, expected, rtol=1e-5, atol=1e-5)
    for result, source in ((found, mine), (expected, other)):
        result.square().sum().backward()
        assert source.grad is not None
    torch.testing.assert_close(mine.grad, other.grad, rtol=1e-4, atol=1e-4)
    torch.testing.assert_close(ours.up.weight.grad, theirs.linear1.weight.grad, rtol=1e-4, atol=1e-4)


def same(found: list[Tensor], expected: list[Tensor]) -> None:
    for one, other in zip(found, expected, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("first", [True, False])
@pytest.mark.parametrize("activation", ["gelu", "relu"])
@pytest.mark.parametrize("padded", [True, False])
def test_a_block_with_a_source_equals_that_of_torch_forward_and_gradient(
    first: bool, activation: str, padded: bool
) -> None:
    ours, theirs = decoder(first, activation)
    real = REAL if padded else torch.ones_like(REAL)
    mine, other, source = vectors().requires_grad_(), vectors().requires_grad_(), memory().requires_grad_()
    found, _ = ours(mine, None, AttentionMask(causal=True), ours.read_source(source, real))
    mask = nn.Transformer.generate_square_subsequent_mask(T)
    their_source = memory().requires_grad_()
    expected = theirs(other, their_source, mask, memory_key_padding_mask=~real)
    torch.testing.assert_close(found, expected, rtol=1e-5, atol=1e-5)
    [own] = ours.all
    wanted = [mine, source, own.cross.out.weight, own.cross_norm.weight, own.attention.qkv.weight]
    given = theirs.multihead_attn.out_proj.weight, theirs.norm2.weight, theirs.self_attn.in_proj_weight
    same(
        list(torch.autograd.grad(found.square().sum(), wanted)),
        list(torch.autograd.grad(expected.square().sum(), [other, their_source, *given])),
    )


@pytest.mark.parametrize("width", [D, M])
def test_attention_to_a_memory_equals_that_of_torch_forward_and_gradient(width: int) -> None:
    theirs = loud(nn.MultiheadAttention(D, H, kdim=width, vdim=width, batch_first=True))
    ours = Attention(D, H, width).eval()
    taken_crosswise(ours, theirs)
    mine, other = vectors().requires_grad_(), vectors().requires_grad_()
    source, their_source = memory(width).requires_grad_(), memory(width).requires_grad_()
    found = ours(mine, ours.start(source, REAL), padding_mask(REAL))
    expected, weights = theirs(
        other, their_source, their_source, key_padding_mask=~REAL, average_attn_weights=False
    )
    torch.testing.assert_close(found, expected, rtol=1e-5, atol=1e-5)
    same(
        list(torch.autograd.grad(found.square().sum(), [mine, source])),
        list(torch.autograd.grad(expected.square().sum(), [other, their_source])),
    )
    with listening(ours) as heard:
        told = ours(mine, ours.start(source, REAL), padding_mask(REAL))
    torch.testing.assert_close(told, expected, rtol=1e-5, atol=1e-5)
    torch.testing.assert_close(heard["weights"], [weights], rtol=1e-5, atol=1e-5)


def test_self_attention_is_attention_to_what_the_queries_come_from() -> None:
    theirs = loud(nn.MultiheadAttention(D, H, batch_first=True))
    ours, crosswise = SelfAttention(D, H).eval(), Attention(D, H, D).eval()
    copied(ours, theirs, SELF)
    taken_crosswise(crosswise, theirs)
    real = torch.ones(B, T, dtype=torch.bool)
    found, _ = ours(vectors(), None, AttentionMask())
    torch.testing.assert_close(found, crosswise(vectors(), crosswise.start(vectors(), real), AttentionMask()))
    expected, _ = theirs(vectors(), vectors(), vectors(), need_weights=False)
    torch.testing.assert_close(found, expected, rtol=1e-5, atol=1e-5)


@torch.no_grad()
@pytest.mark.parametrize("parts", [(7,), (1,) * 7, (3, 4), (2, 1, 4)])
def test_reading_in_parts_equals_reading_at_once(parts: tuple[int, ...]) -> None:
    ours, _ = block(True)
    whole, _ = ours(vectors(), ours.start(B), AttentionMask(causal=True))
    cache, found = ours.start(B), []
    for part in vectors().split(parts, 1):
        hidden, cache = ours(part, cache, causal_mask(None, cache.length, part.shape[1]))
        found.append(hidden)
    torch.testing.assert_close(torch.cat(found, 1), whole, rtol=1e-5, atol=1e-5)


@torch.no_grad()
@pytest.mark.parametrize("parts", [(7,), (1,) * 7, (2, 1, 4)])
def test_reading_in_parts_with_a_source_equals_reading_at_once_and_reads_the_source_once(
    parts: tuple[int, ...],
) -> None:
    ours, _ = decoder(True)
    asked: list[int] = []
    ours.all[0].cross.kv.register_forward_hook(lambda *_: asked.append(1))
    source = ours.read_source(memory(), REAL)
    whole, _ = ours(vectors(), ours.start(B), AttentionMask(causal=True), source)
    caches, found = ours.start(B), []
    for part in vectors().split(parts, 1):
        hidden, caches = ours(part, caches, causal_mask(None, caches[0].length, part.shape[1]), source)
        found.append(hidden)
    torch.testing.assert_close(torch.cat(found, 1), whole, rtol=1e-5, atol=1e-5)
    assert asked == [1]
    assert source.blocks[0].length == S


@torch.no_grad()
def test_a_row_does_not_depend_on_the_padding_of_its_source() -> None:
    ours, _ = decoder(True)
    together, _ = ours(vectors(), None, AttentionMask(causal=True), ours.read_source(memory(), REAL))
    worse = memory().masked_fill(~REAL[:, :, None], torch.nan)
    again, _ = ours(vectors(), None, AttentionMask(causal=True), ours.read_source(worse, REAL))
    assert torch.equal(together, again)
    for row, length in enumerate(REAL.sum(1).tolist()):
        own = ours.read_source(memory()[row : row + 1, :length], REAL[row : row + 1, :length])
        alone, _ = ours(vectors()[row : row + 1], None, AttentionMask(causal=True), own)
        torch.testing.assert_close(together[row : row + 1], alone, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("openly", [True, False])
def test_a_source_of_nothing_but_padding_says_nothing_however_much_there_is(openly: bool) -> None:
    ours, _ = decoder(False)
    found = []
    for width in (S, 2, 0):
        source = memory()[:, :width].requires_grad_()
        read = ours.read_source(source, torch.zeros(B, width, dtype=torch.bool))
        with listening(ours if openly else nn.Identity()):
            hidden, _ = ours(vectors(), None, AttentionMask(causal=True), read)
        hidden.sum().backward()
        assert source.grad is not None and (source.grad == 0.0).all()
        found.append(hidden.detach())
    torch.testing.assert_close(found[1], found[0])
    torch.testing.assert_close(found[2], found[0])


@torch.no_grad()
def test_rows_of_a_source_are_selected_with_the_rest() -> None:
    ours, _ = decoder(True)
    rows = torch.tensor([2, 0, 0])
    late = ours.read_source(memory(), REAL).map(lambda one: one[rows])
    soon = ours.read_source(memory()[rows], REAL[rows])
    found, _ = ours(vectors(), None, AttentionMask(causal=True), late)
    expected, _ = ours(vectors(), None, AttentionMask(causal=True), soon)
    torch.testing.assert_close(found, expected)


def test_all_matrices_of_a_block_are_known_to_optimisers() -> None:
    for made in (Block(D, H, 32), Block(D, H, 32, source_width=M)):
        assert set(made.linears) == {one for one in made.modules() if isinstance(one, nn.Linear)}


@torch.no_grad()
def test_a_block_with_a_source_can_be_had_in_eight_bits() -> None:
    ours, _ = decoder(True)
    plain, _ = ours(vectors(), ours.start(B), AttentionMask(causal=True), ours.read_source(memory(), REAL))
    compress(ours)
    assert not [one for one in ours.modules() if isinstance(one, nn.Linear)]
    assert isinstance(ours.all[0].cross.kv, Int8Linear)
    found, _ = ours(vectors(), ours.start(B), AttentionMask(causal=True), ours.read_source(memory(), REAL))
    assert not torch.equal(found, plain)
    assert (found - plain).norm() < 0.1 * plain.norm()


@torch.no_grad()
def test_the_more_is_added_to_the_residual_stream_the_smaller_it_begins() -> None:
    for source_width, many in ((None, 4), (M, 6)):
        stack = BlockStack([Block(64, H, 256, source_width=source_width) for _ in range(2)])
        stack.scaled_init(0.5)
        last = [one for made in stack.all for one in made.last_linears]
        assert len(last) == many
        for layer in last:
            assert float(layer.weight.std()) == pytest.approx(0.5 / many**0.5, rel=0.1)


def numbers(columns: int, value: float) -> Tensor:
    return torch.full((2, 1, columns, 3), value)


@torch.no_grad()
def test_a_cache_never_changes_whoever_extends_it() -> None:
    start = KVCache(numbers(0, 0.0), numbers(0, 0.0)).extended(numbers(2, 1.0), numbers(2, 1.0))
    one = start.extended(numbers(1, 2.0), numbers(1, 2.0))
    other = start.extended(numbers(1, 3.0), numbers(1, 3.0))
    assert one.keys[:, :, 2].eq(2.0).all() and other.keys[:, :, 2].eq(3.0).all()
    assert start.length == 2 and one.length == other.length == 3
    assert (
        one.buffer is start.buffer and other.buffer is not start.buffer
    )  # the first continues without copying


@torch.no_grad()
def test_a_mapped_cache_leaves_the_buffer_to_the_other() -> None:
    start = KVCache(numbers(0, 0.0), numbers(0, 0.0)).extended(numbers(2, 1.0), numbers(2, 1.0))
    doubled = start.map(lambda one: 2.0 * one)
    assert doubled.buffer is None and doubled.keys.eq(2.0).all() and doubled.values.eq(2.0).all()
    doubled.extended(numbers(1, 5.0), numbers(1, 5.0))
    assert start.extended(numbers(1, 3.0), numbers(1, 3.0)).buffer is start.buffer
    assert start.keys.eq(1.0).all()


@torch.no_grad()
def test_a_cropped_cache_is_extended_from_there() -> None:
    whole = KVCache(numbers(0, 0.0), numbers(0, 0.0)).extended(numbers(4, 1.0), numbers(4, 1.0))
    found = whole.crop(2).extended(numbers(1, 7.0), numbers(1, 7.0))
    assert found.buffer is whole.buffer
    assert found.values[0, 0, :, 0].tolist() == [1.0, 1.0, 7.0]


@torch.no_grad()
def test_a_cache_grows_as_long_as_there_is_memory() -> None:
    cache = KVCache(numbers(0, 0.0), numbers(0, 0.0))
    rooms = set()
    for step in range(500):
        cache = cache.extended(numbers(1, float(step)), numbers(1, float(step)))
        rooms.add(id(cache.buffer))
    assert cache.keys[0, 0, :, 0].tolist() == [float(step) for step in range(500)]
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
