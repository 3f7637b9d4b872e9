"""Dropout: what is dropped, how often, and that the mean stays as it was."""

from __future__ import annotations

import pytest
import torch

from chainrule.nn.dropout import Dropout, WordDropout, drop, dropped, embed
from chainrule.symbols import FIRST, UNK


@pytest.mark.parametrize("share", [0.1, 0.5, 0.9])
def test_the_share_that_is_dropped_is_the_one_asked_for_and_the_mean_stays(share: float) -> None:
    torch.manual_seed(0)
    found = drop(torch.ones(400, 501), share, training=True)
    assert abs(float((found == 0).float().mean()) - share) < 0.005
    assert abs(float(found.mean()) - 1.0) < 0.02
    assert found.unique().tolist() == pytest.approx([0.0, 1.0 / (1.0 - share)])


def test_numbers_are_dropped_independently_of_their_neighbours() -> None:
    torch.manual_seed(0)
    gone = drop(torch.ones(200_000), 0.5, training=True) == 0
    for apart in range(1, 9):  # four numbers are drawn at once
        both = float((gone[apart:] & gone[:-apart]).float().mean())
        assert abs(both - 0.25) < 0.005, apart


def test_nothing_is_dropped_outside_training() -> None:
    vectors = torch.randn(2, 3, 4)
    assert drop(vectors, 0.5, training=False) is vectors
    assert Dropout(0.5).eval()(vectors) is vectors


def test_the_same_seed_drops_the_same() -> None:
    found = []
    for _ in range(2):
        torch.manual_seed(7)
        found.append(drop(torch.ones(5, 7), 0.4, training=True))
    assert torch.equal(*found)


def test_locked_dropout_is_the_same_at_every_step_and_plain_is_not() -> None:
    torch.manual_seed(0)
    vectors = torch.ones(3, 20, 40)
    locked, plain = Dropout(0.5, "locked")(vectors), Dropout(0.5)(vectors)
    assert torch.equal(locked, locked[:, :1].expand_as(locked)) and not torch.equal(locked[0], locked[1])
    assert not torch.equal(plain, plain[:, :1].expand_as(plain))


def test_gradients_reach_what_was_kept_and_nothing_else() -> None:
    torch.manual_seed(0)
    weight = torch.ones(30, 30, requires_grad=True)
    found = dropped(weight, 0.3, training=True)
    found.sum().backward()
    assert weight.grad is not None and torch.equal(weight.grad, found.detach())


def test_a_dropped_symbol_is_zero_wherever_it_occurs() -> None:
    torch.manual_seed(0)
    tokens = torch.arange(200).repeat(2)[None]
    vectors = embed(tokens, torch.ones(200, 3), 0.5, training=True)
    assert torch.equal(vectors[0, :200], vectors[0, 200:]) and 0 < int((vectors == 0).sum()) < vectors.numel()


def test_rare_words_become_unknown_more_often_than_frequent_ones() -> None:
    torch.manual_seed(0)
    counts = torch.tensor([0] * FIRST + [1, 9, 10**9])
    words = WordDropout(len(counts), 1.0)
    words.count(counts)
    shares = [
        float((words(torch.full((1, 20_000), FIRST + at)) == UNK).float().mean())
        for at in range(len(counts) - FIRST)
    ]
    assert shares == pytest.approx([1 / 2, 1 / 10, 0.0], abs=0.01)


def test_special_symbols_are_never_dropped_and_nothing_is_before_words_are_counted() -> None:
    tokens = torch.arange(FIRST + 2).repeat(50, 1)
    words = WordDropout(FIRST + 2, 1e6)
    assert torch.equal(words(tokens), tokens)
    words.count(torch.ones(FIRST + 2))
    assert torch.equal(words(tokens)[:, :FIRST], tokens[:, :FIRST]) and bool((words(tokens) == UNK).any())
    assert torch.equal(words.eval()(tokens), tokens)
