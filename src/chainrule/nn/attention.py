"""Attention from queries (B, T, D) to a memory (B, S, M), its masks, and the Transformer block.

Letters: H heads of d = D / H numbers, L keys in a cache, S positions of a source.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from chainrule.nn import tap
from chainrule.nn.dropout import Dropout
from chainrule.nn.kv_cache import Cache, KVCache, SourceCache
from chainrule.nn.position import rotated
from chainrule.nn.product import Linear

ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "gelu": F.gelu,
    "gelu-tanh": partial(F.gelu, approximate="tanh"),
    "relu": F.relu,
    "silu": F.silu,
}


@dataclass(frozen=True)
class AttentionMask:
    """Attention mask: which keys a query may attend to; and the rotation of rotary position embeddings."""

    causal: bool = False  # a query attends to no key behind its own, both sides having the same length
    allowed: Tensor | None = None  # (B or 1, 1, T or 1, L) True: may be attended to; instead of `causal`
    rotation: tuple[Tensor, Tensor] | None = None  # cosines and sines (B or 1, 1, T, d), see `nn.position`


def causal_mask(real: Tensor | None, cached: int, new: int) -> AttentionMask:
    """Causal mask: `new` symbols attend to `cached` ones and up to themselves, where these are `real` (B, L).

    Padding stands to the right of a row's symbols, so those that are read together never attend to any of it.
    """
    if cached == 0:
        return AttentionMask(causal=new > 1)
    if real is None and new == 1:
        return AttentionMask()
    device = None if real is None else real.device
    rows = torch.arange(cached, cached + new, device=device).unsqueeze(1)  # (T, 1)
    columns = torch.arange(cached + new, device=device)  # (L,)
    allowed = (columns <= rows)[None, None]  # (1, 1, T, L)
    if real is not None:
        own = columns == rows  # padding attends to itself, so nothing is NaN
        allowed = allowed & (real[:, None, None] | own)
    return AttentionMask(allowed=allowed)


def padding_mask(real: Tensor) -> AttentionMask:
    """Padding mask: all queries attend to what is `real` (B, S), and to nothing else.

    A row that is nothing but padding attends to all of it, so nothing is NaN.
    """
    if bool(real.all()):
        return AttentionMask()
    return AttentionMask(allowed=(real | ~real.any(1, keepdim=True))[:, None, None])  # (B, 1, 1, S)


def attend(part: nn.Module, queries: Tensor, cache: Cache, mask: AttentionMask) -> Tensor:
    """Scaled dot-product attention: softmax(Q K' / sqrt(d)) V of queries (B, H, T, d), all heads joined (B, T, D)."""
    if tap.is_tapped(part, "weights"):
        weights = tap.tell(part, "weights", attention_weights(queries, cache.keys, mask))  # (B, H, T, L)
        mixed = weights @ cache.values  # (B, H, T, d)
    else:
        mixed = cache.attended(queries, mask.allowed, mask.causal)
    return mixed.transpose(1, 2).flatten(2)


def attention_weights(queries: Tensor, keys: Tensor, mask: AttentionMask) -> Tensor:
    """Attention weights (B, H, T, L): softmax(Q K' / sqrt(d)), 0 where the mask forbids it."""
    logits = queries @ keys.transpose(2, 3) / math.sqrt(queries.shape[-1])
    allowed = mask.allowed
    if mask.causal:
        allowed = torch.ones(logits.shape[-2:], dtype=torch.bool, device=logits.device).tril()
    if allowed is not None:
        logits = logits.masked_fill(~allowed, -torch.inf)
    return logits.softmax(-1)


def _in_heads(vectors: Tensor, heads: int, kinds: int) -> tuple[Tensor, ...]:
    """(B, T, kinds D) as one (B, H, T, d) of each kind."""
    parts: Tensor = vectors.unflatten(-1, (kinds, heads, -1))  # type: ignore[no-untyped-call]
    return parts.permute(2, 0, 3, 1, 4).unbind(0)


class Attention(nn.Module):
    """Multi-head attention from queries (B, T, D) to a memory (B, S, M), such as a source: cross-attention."""

    def __init__(self, width: int, heads: int, memory_width: int, bf16: bool = False) -> None:
        super().__init__()
        self.heads = heads
        self.q = Linear(width, width, bf16=bf16)
        self.kv = Linear(memory_width, 2 * width, bf16=bf16)
        self.out = Linear(width, width, bf16=bf16)

    @property
    def linears(self) -> list[Linear]:
        """Its matrices."""
        return [self.q, self.kv, self.out]

    def start(self, memory: Tensor, real: Tensor) -> KVCache:
        """Keys and values of a memory (B, S, M), zero where it is not `real` (B, S)."""
        keys, values = _in_heads(self.kv(memory), self.heads, 2)  # (B, H, S, d) each
        padding = ~real[:, None, :, None]  # (B, 1, S, 1)
        return KVCache(keys.masked_fill(padding, 0.0), values.masked_fill(padding, 0.0))

    def forward(self, vectors: Tensor, cache: Cache, mask: AttentionMask) -> Tensor:
        [queries] = _in_heads(self.q(vectors), self.heads, 1)  # (B, H, T, d)
        return self.out(attend(self, queries, cache, mask))  # type: ignore[no-any-return]


class SelfAttention(nn.Module):
    """Multi-head self-attention: the memory is what the queries come from, and one product makes all three."""

    def __init__(self, width: int, heads: int, bf16: bool = False) -> None:
        super().__init__()
        self.heads = heads
        self.qkv = Linear(width, 3 * width, bf16=bf16)
        self.out = Linear(width, width, bf16=bf16)

    @property
    def linears(self) -> list[Linear]:
        """Its matrices."""
        return [self.qkv, self.out]

    @property
    def last_linears(self) -> list[Linear]:
        """The matrix whose results are added to the residual stream."""
        return [self.out]

    def start(self, batch: int, device: torch.device) -> KVCache:
        """The cache of having read nothing."""
        width = self.out.in_features
        empty = torch.empty(batch, self.heads, 0, width // self.heads, device=device)
        return KVCache(empty, empty)

    def forward(
        self, vectors: Tensor, cache: Cache | None, mask: AttentionMask
    ) -> tuple[Tensor, Cache | None]:
        queries, keys, values = _in_heads(self.qkv(vectors), self.heads, 3)  # (B, H, T, d) each
        found, cache = _attend_to_itself(self, queries, keys, values, cache, mask)
        return self.out(found), cache


class DirectAttention(nn.Module):
    """softmax(X M X' / sqrt(d)) X: self-attention of one head whose values are the vectors X (T, D) themselves.

    M is the identity (`plain`), so that what two symbols are to each other is symmetric; or a matrix W (`bilinear`); or
    one of low rank, L R of any head width d (`low-rank`): queries are X L and keys X R', as in every Transformer.
    """

    def __init__(self, width: int, key_width: int, kind: str, bf16: bool = False) -> None:
        super().__init__()
        self.width, self.key_width = width, key_width
        self.q = nn.Identity() if kind == "plain" else Linear(width, key_width, bias=False, bf16=bf16)
        self.k = Linear(width, key_width, bias=False, bf16=bf16) if kind == "low-rank" else nn.Identity()

    @property
    def linears(self) -> list[Linear]:
        """Its matrices, if it has any."""
        return [one for one in (self.q, self.k) if isinstance(one, Linear)]

    @property
    def last_linears(self) -> list[Linear]:
        """None: values are added as they are."""
        return []

    def start(self, batch: int, device: torch.device) -> KVCache:
        """The cache of having read nothing."""
        keys, values = (
            torch.empty(batch, 1, 0, size, device=device) for size in (self.key_width, self.width)
        )
        return KVCache(keys, values)

    def forward(
        self, vectors: Tensor, cache: Cache | None, mask: AttentionMask
    ) -> tuple[Tensor, Cache | None]:
        queries, keys, values = (one.unsqueeze(1) for one in (self.q(vectors), self.k(vectors), vectors))
        return _attend_to_itself(self, queries, keys, values, cache, mask)


def _attend_to_itself(
    part: nn.Module, queries: Tensor, keys: Tensor, values: Tensor, cache: Cache | None, mask: AttentionMask
) -> tuple[Tensor, Cache | None]:
    """What queries (B, H, T, d) find in the cache and among their own symbols, and the cache with these."""
    if mask.rotation is not None:
        queries, keys = rotated(queries, mask.rotation), rotated(keys, mask.rotation)
    if cache is None:
        return attend(part, queries, KVCache(keys, values), mask), None
    cache = cache.extended(keys, values)
    return attend(part, queries, cache, mask), cache


class Block(nn.Module):
    """Transformer block: self-attention, cross-attention if there is a source, then an MLP, each with a residual.

    Pre-norm (GPT-2), or post-norm (the Transformer of 2017, BERT). `source_width` is that of the source's vectors;
    `attention` stands for that of several heads.
    """

    def __init__(
        self,
        width: int,
        heads: int,
        ffn_width: int,
        activation: str = "gelu",
        pre_norm: bool = True,
        dropout: float = 0.0,
        epsilon: float = 1e-5,
        bf16: bool = False,
        source_width: int | None = None,
        attention: DirectAttention | None = None,
    ) -> None:
        super().__init__()
        self.attention = attention or SelfAttention(width, heads, bf16)
        self.attention_norm = nn.LayerNorm(width, epsilon)
        self.cross = None if source_width is None else Attention(width, heads, source_width, bf16)
        self.cross_norm = None if source_width is None else nn.LayerNorm(width, epsilon)
        self.up = Linear(width, ffn_width, bf16=bf16)
        self.down = Linear(ffn_width, width, bf16=bf16)
        self.mlp_norm = nn.LayerNorm(width, epsilon)
        self.activation = activation
        self.pre_norm = pre_norm
        self.dropout = Dropout(dropout)

    @property
    def linears(self) -> list[Linear]:
        """Its matrices."""
        cross = [] if self.cross is None else self.cross.linears
        return [*self.attention.linears, *cross, self.up, self.down]

    @property
    def last_linears(self) -> list[Linear]:
        """The matrices whose results are added to the residual stream."""
        cross = [] if self.cross is None else [self.cross.out]
        return [*self.attention.last_linears, *cross, self.down]

    def start(self, batch: int) -> KVCache:
        """The cache of having read nothing."""
        return self.attention.start(batch, self.mlp_norm.weight.device)

    def mlp(self, vectors: Tensor) -> Tensor:
        """The position-wise feed-forward network."""
        activations = ACTIVATIONS[self.activation](self.up(vectors))  # (B, T, F)
        return self.down(tap.tell(self, "activations", activations))  # type: ignore[no-any-return]

    def forward(
        self,
        vectors: Tensor,
        cache: Cache | None,
        mask: AttentionMask,
        source: Cache | None = None,
        source_mask: AttentionMask | None = None,
    ) -> tuple[Tensor, Cache | None]:
        found, cache = self.attention(self._before(self.attention_norm, vectors), cache, mask)
        vectors = self._after(self.attention_norm, vectors, found)
        if self.cross is not None and self.cross_norm is not None:
            found = self.cross(self._before(self.cross_norm, vectors), source, source_mask)
            vectors = self._after(self.cross_norm, vectors, found)
        found = self.mlp(self._before(self.mlp_norm, vectors))
        return tap.tell(self, "output", self._after(self.mlp_norm, vectors, found)), cache

    def _before(self, norm: nn.Module, vectors: Tensor) -> Tensor:
        """What a layer is given."""
        return norm(vectors) if self.pre_norm else vectors

    def _after(self, norm: nn.Module, vectors: Tensor, found: Tensor) -> Tensor:
        """The residual connection around a layer that found this."""
        added = vectors + self.dropout(found)
        return added if self.pre_norm else norm(added)  # type: ignore[no-any-return]


class BlockStack(nn.Module):
    """Blocks one above the other, called 0, 1, …"""

    def __init__(self, blocks: Iterable[Block]) -> None:
        super().__init__()
        for place, block in enumerate(blocks):
            self.add_module(str(place), block)

    @property
    def all(self) -> list[Block]:
        """From the lowest to the highest."""
        return [block for block in self.children() if isinstance(block, Block)]

    def scaled_init(self, deviation: float) -> None:
        """Scaled initialisation (GPT-2): the more layers add to the residual stream, the smaller they begin."""
        last = [layer for block in self.all for layer in block.last_linears]
        for layer in last:
            nn.init.normal_(layer.weight, std=deviation / math.sqrt(len(last)))

    def start(self, batch: int) -> tuple[KVCache, ...]:
        """The cache of every block, having read nothing."""
        return tuple(block.start(batch) for block in self.all)

    def read_source(self, vectors: Tensor, real: Tensor) -> SourceCache:
        """Keys and values of a source (B, S, M) for the cross-attention of every block; `real` (B, S): no padding."""
        layers = [block.cross for block in self.all if block.cross is not None]
        return SourceCache(tuple(layer.start(vectors, real) for layer in layers), real)

    def forward(
        self,
        vectors: Tensor,
        caches: Sequence[Cache] | None,
        mask: AttentionMask,
        source: SourceCache | None = None,
    ) -> tuple[Tensor, tuple[Cache, ...]]:
        """Without `caches`, nothing is remembered either."""
        after, source_mask = [], None if source is None else padding_mask(source.real)
        for place, block in enumerate(self.all):
            before = caches[place] if caches else None
            known = None if source is None else source.blocks[place]
            vectors, cache = block(vectors, before, mask, known, source_mask)  # (B, T, D)
            after.append(cache)
        return vectors, tuple(after) if caches else ()
