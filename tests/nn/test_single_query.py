"""Single queries and the caches of rows that fork: torch's own attention, side by side, on copies."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from chainrule.decode.cursor import advance, begin
from chainrule.models.transformer import Transformer
from chainrule.nn import single_query
from chainrule.nn.kv_cache import GROWTH, ForkedCache, KVCache
from chainrule.nn.single_query import attended
from chainrule.symbols import BOS, PAD

B, H, C = 5, 3, 23  # rows, heads, columns of the pool


def numbers(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def pool(keys: int = 8, values: int = 8) -> tuple[Tensor, Tensor]:
    return numbers(C, H, keys, seed=1), numbers(C, H, values, seed=2)


def named(length: int) -> Tensor:
    """Columns (B, L) that rows attend to, some of them the same."""
    return torch.randint(C, (B, length), generator=torch.Generator().manual_seed(3))


@torch.no_grad()
@pytest.mark.parametrize(("length", "sizes"), [(1, (8, 8)), (4, (8, 8)), (7, (2, 20)), (33, (17, 5))])
def test_single_queries_find_what_torch_finds(length: int, sizes: tuple[int, int]) -> None:
    (keys, values), places, queries = pool(*sizes), named(length), numbers(B, H, sizes[0])
    allowed = numbers(B, length, seed=4) > 0.0
    allowed[:, length // 2] = True
    copied = keys[places].transpose(1, 2), values[places].transpose(1, 2)
    for mask, inside in ((None, None), (allowed[:, None, None], allowed)):
        found = attended(queries, keys, values, places, inside)
        expected = F.scaled_dot_product_attention(queries[:, :, None], *copied, mask)[:, :, 0]
        torch.testing.assert_close(found, expected, rtol=1e-5, atol=1e-6)


@torch.no_grad()
def test_a_row_finds_the_same_to_the_bit_alone_and_among_others() -> None:
    (keys, values), places, queries = pool(), named(7), numbers(B, H, 8)
    together = attended(queries, keys, values, places)
    for row in range(B):
        one = slice(row, row + 1)
        assert torch.equal(attended(queries[one], keys, values, places[one]), together[one])


@torch.no_grad()
def test_columns_that_are_not_allowed_are_not_looked_at() -> None:
    (keys, values), queries = pool(), numbers(B, H, 8)
    places = torch.arange(6).expand(B, 6).clone()
    allowed = places != 4
    clean = attended(queries, keys, values, places, allowed)
    keys[4], values[4] = torch.nan, torch.nan
    assert torch.equal(attended(queries, keys, values, places, allowed), clean)
    assert attended(queries, keys, values, places).isnan().all()


@torch.no_grad()
def test_large_products_do_not_overflow() -> None:
    (keys, values), places = pool(), named(7)
    assert attended(numbers(B, H, 8) * 1e4, keys, values, places).isfinite().all()


def cache(length: int = 3, rows: int = B) -> KVCache:
    return KVCache(numbers(rows, H, length, 8, seed=5), numbers(rows, H, length, 8, seed=6))


def symbols(rows: int, seed: int, new: int = 1) -> tuple[Tensor, Tensor]:
    return numbers(rows, H, new, 8, seed=seed), numbers(rows, H, new, 8, seed=seed + 1)


def same(forked: ForkedCache | KVCache, copied: ForkedCache | KVCache) -> None:
    assert forked.length == copied.length
    assert torch.equal(forked.keys, copied.keys) and torch.equal(forked.values, copied.values)


@torch.no_grad()
def test_rows_that_fork_remember_what_their_copies_do() -> None:
    forked, copied = cache(), cache()
    for step in range(40):
        rows = torch.randint(
            forked.keys.shape[0], (1 + step % 7,), generator=torch.Generator().manual_seed(step)
        )
        new = symbols(len(rows), 10 + step, 1 + step % 2)
        forked = forked.select(rows).extended(*new)
        copied = copied.map(lambda one, rows=rows: one[rows]).extended(*new)
        same(forked, copied)
        queries = numbers(len(rows), H, 1, 8, seed=step)
        found, expected = (one.attended(queries, None, False) for one in (forked, copied))
        torch.testing.assert_close(found, expected, rtol=1e-5, atol=1e-6)
    assert isinstance(forked, ForkedCache)


@torch.no_grad()
def test_forks_of_one_cache_do_not_disturb_each_other() -> None:
    start = cache().select(torch.tensor([0, 0, 4]))
    one, other = start.extended(*symbols(3, 20)), start.extended(*symbols(3, 30))
    same(one, start.settled().extended(*symbols(3, 20)))
    same(other, start.settled().extended(*symbols(3, 30)))
    same(one.crop(3), start)
    same(one.crop(3).extended(*symbols(3, 40)), start.settled().extended(*symbols(3, 40)))
    same(one, start.settled().extended(*symbols(3, 20)))


@torch.no_grad()
def test_selecting_and_extending_forked_rows_copies_no_columns() -> None:
    start = cache(100).select(torch.tensor([1, 1, 2]))
    later = start.select(torch.tensor([2, 0, 0])).extended(*symbols(3, 20)).select(torch.tensor([1]))
    assert isinstance(start, ForkedCache) and isinstance(later, ForkedCache)
    assert later.pool is start.pool and later.pool.used == 100 * B + 3


def test_rows_that_want_gradients_are_copied() -> None:
    start = cache()
    keys = start.keys.requires_grad_()
    found = KVCache(keys, start.values).select(torch.tensor([1, 1]))
    assert isinstance(found, KVCache)
    found.keys.sum().backward()
    assert keys.grad is not None and keys.grad[1].eq(2.0).all() and keys.grad[0].eq(0.0).all()


def test_rows_of_a_search_are_selected_without_copies() -> None:
    model = Transformer.tiny()
    cursor = begin(model, [[BOS], [BOS]], torch.tensor([[5, 6, 7], [7, 5, PAD]]))
    rows = torch.tensor([0, 0, 1])
    with listening_to_kernel() as calls:
        after = advance(model, cursor, rows, torch.tensor([[5], [6], [7]]))
    assert all(isinstance(one, ForkedCache) for one in (*after.state.caches, *after.state.source.blocks))
    assert len(calls) == 2 * model.config.layers  # to what was said, and to the source


@torch.no_grad()
def test_forked_rows_are_trimmed_cropped_and_parted_like_others() -> None:
    model = Transformer.tiny()
    caches = tuple(cache(GROWTH + 3, 2) for _ in range(2))
    real = torch.arange(GROWTH + 3).expand(2, -1) >= GROWTH
    dense = replace(model.empty(2), caches=caches, real=real, length=torch.tensor([3, 3]))
    forked, right = dense.select(torch.tensor([1, 0])), dense.map(lambda one: one.flip(0))
    assert all(isinstance(one, ForkedCache) for one in forked.caches)
    trimmed = forked.trimmed()
    assert len(trimmed.caches) == 2 and trimmed.caches[0].length == 3
    same(trimmed.caches[1], right.trimmed().caches[1])
    short = trimmed.select(torch.tensor([0, 0]))
    cropped = short.cropped(short, torch.zeros(2, 0, dtype=torch.long))
    assert len(cropped.caches) == 2
    same(cropped.caches[1], short.caches[1])
    for own, other in zip(forked.rows(), right.rows(), strict=True):
        assert all(torch.equal(one.keys, two.keys) for one, two in zip(own, other, strict=True))


@contextmanager
def listening_to_kernel() -> Iterator[list[int]]:
    """The rows of every call of the loop."""
    calls = list[int]()

    def counted(queries: Tensor, *more: Any) -> Tensor:
        calls.append(len(queries))
        return attended(queries, *more)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(single_query, "attended", counted)
        yield calls
