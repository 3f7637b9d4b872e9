"""One walk over everything a model remembers, and what is made of it."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
import torch
from torch import Tensor

from chainrule.models.registry import families, family
from chainrule.models.state import Memory, State, merged
from chainrule.nn.attention import KVCache
from laws.case import CASES, Case, padded, predictions, random_rows


@dataclass(frozen=True)
class Nested(State):
    layers: tuple[Tensor, ...]
    memory: Memory
    cache: KVCache | None = None


def nested(rows: int = 3, columns: int = 2) -> Nested:
    count = torch.arange(rows)
    vectors = torch.arange(1.0, 1.0 + rows * columns).reshape(rows, columns, 1)
    memory = Memory(vectors, torch.ones(rows, columns, dtype=torch.bool))
    return Nested((count, 10 * count), memory, KVCache(vectors[:, None], -vectors[:, None]))


def test_select_reaches_tuples_memories_caches_and_nothing() -> None:
    state = nested().select(torch.tensor([2, 0]))
    assert [layer.tolist() for layer in state.layers] == [[2, 0], [20, 0]]
    assert state.memory.vectors[:, 0, 0].tolist() == [5.0, 1.0]
    assert state.cache is not None and state.cache.settled().values[:, 0, 0, 0].tolist() == [-5.0, -1.0]
    assert Nested((), state.memory).select(torch.tensor([0])).cache is None


def test_tensors_come_in_the_order_of_the_fields_and_fill_a_state_in_it() -> None:
    state = nested()
    tensors = state.tensors()
    assert len(tensors) == 6 and tensors[1] is state.layers[1] and tensors[2] is state.memory.vectors
    again = nested().filled(2 * tensor for tensor in tensors)
    assert again.layers[1].tolist() == [0, 20, 40]
    assert again.cache is not None and again.cache.values[2, 0, 0, 0] == -10.0


def test_detach_cuts_every_tensor_off() -> None:
    weight = torch.ones(1, requires_grad=True)
    state = nested().map(lambda tensor: tensor * weight)
    assert all(tensor.requires_grad for tensor in state.tensors())
    assert not any(tensor.requires_grad for tensor in state.detach().tensors())


def test_merged_rows_stand_where_they_are_told_with_their_last_columns_in_line() -> None:
    short, long = nested(rows=1, columns=1), nested(rows=2, columns=3)
    found = merged([(torch.tensor([0, 2]), long), (torch.tensor([1]), short)])
    assert found.memory.vectors[..., 0].tolist() == [[1.0, 2.0, 3.0], [0.0, 0.0, 1.0], [4.0, 5.0, 6.0]]
    assert found.memory.real.tolist() == [[True] * 3, [False, False, True], [True] * 3]
    assert found.cache is not None and found.cache.keys[1, 0, :, 0].tolist() == [0.0, 0.0, 1.0]


def test_later_parts_of_a_merger_replace_rows_of_earlier_ones() -> None:
    found = merged([(torch.arange(3), nested()), (torch.tensor([1]), nested(rows=1))])
    assert found.layers[0].tolist() == [0, 0, 2]


def test_nothing_is_left_of_the_rows_that_are_replaced_by_shorter_ones() -> None:
    found = merged([(torch.arange(3), nested(columns=3)), (torch.tensor([1]), nested(rows=1, columns=1))])
    assert found.memory.real.tolist() == [[True] * 3, [False, False, True], [True] * 3]
    assert found.cache is not None and found.cache.keys[1, 0, :, 0].tolist() == [0.0, 0.0, 1.0]


LEFT = [case for case in CASES if case.make().reads == "left"]


@pytest.mark.parametrize("case", LEFT, ids=[case.name for case in LEFT])
def test_rows_that_were_merged_are_continued_as_if_alone(case: Case) -> None:
    model = case.make()
    rows, more = random_rows(model, (2, 7, 4)), random_rows(model, (3, 3, 3), seed=1)
    parts = []
    for place in ([1], [2, 0]):
        tokens = padded([rows[row] for row in place])
        parts.append((torch.tensor(place), predictions(model, tokens, case.start(model, place))[1]))
    together, _ = predictions(model, padded(more)[:, 1:], merged(parts))
    for index in range(3):
        _, own = predictions(model, padded([rows[index]]), case.start(model, [index]))
        alone, _ = predictions(model, padded([more[index]])[:, 1:], own)
        torch.testing.assert_close(together[index], alone[0], rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("name", families())
def test_a_state_holds_tensors_alone_whatever_it_has_read(name: str) -> None:
    model = family(name).tiny()
    before = model.start(2)
    with model.inference():
        _, after = model.read(padded(random_rows(model, (4, 2))), before)
    assert all(isinstance(tensor, Tensor) for tensor in after.tensors())
    assert len(before.tensors()) == len(after.tensors())
