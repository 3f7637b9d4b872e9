"""Filters over letters, by tables."""

from __future__ import annotations

import torch
from torch import Tensor

from chainrule.nn.letters import greatest

LETTERS = torch.tensor([[1, 2, 3, 4], [2, 2, 2, 0], [5, 0, 0, 0], [3, 1, 0, 0]])
LENGTHS, WIDTHS = torch.tensor([4, 3, 1, 2]), torch.tensor([1, 3, 2, 3, 2])


def table() -> Tensor:
    """(P, L, F), 0 where filters do not reach."""
    torch.manual_seed(0)
    wide = torch.randn(3, 6, 5, dtype=torch.float64) * (torch.arange(3)[:, None, None] < WIDTHS)
    return wide.requires_grad_()


def by_hand(weights: Tensor) -> Tensor:
    """Every window of every word, one by one."""
    words = []
    for row, length in zip(LETTERS.tolist(), LENGTHS.tolist(), strict=True):
        windows = [row[start : min(start + 3, length)] for start in range(length)]
        sums = [sum(weights[place, letter] for place, letter in enumerate(one)) for one in windows]
        words.append(torch.stack(sums).amax(0))  # type: ignore[arg-type]
    return torch.stack(words)


def test_every_filter_has_its_greatest_sum_over_the_windows_of_a_word() -> None:
    torch.testing.assert_close(greatest(LETTERS, LENGTHS, table(), WIDTHS), by_hand(table()))


def test_the_gradient_of_the_table_is_that_of_the_windows_that_were_greatest() -> None:
    asked = torch.randn(4, 5, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    ours, theirs = table(), table()
    (greatest(LETTERS, LENGTHS, ours, WIDTHS) * asked).sum().backward()
    (by_hand(theirs) * asked).sum().backward()
    reached = torch.arange(3)[:, None, None] < WIDTHS
    assert ours.grad is not None and theirs.grad is not None
    torch.testing.assert_close(ours.grad, theirs.grad * reached)


def test_no_words_have_no_maxima() -> None:
    assert greatest(LETTERS[:0], LENGTHS[:0], table(), WIDTHS).shape == (0, 5)
