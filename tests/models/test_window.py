"""The window model against Bengio's formula."""

from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor

from chainrule.errors import ConfigError
from chainrule.models.window import Window, WindowConfig, WindowState
from chainrule.symbols import BOS, PAD
from laws.case import Case, teach
from laws.laws import LAWS, Law


def direct() -> Window:
    return Window.seeded(WindowConfig(vocab_size=9, width=8, embedding=3, window=2, direct=True), 0)


def formula(model: Window, context: list[int]) -> Tensor:
    """y = b + W x + U tanh(d + H x) for one window of ids, -inf for the suppressed ones."""
    x = torch.cat([model.embedding.weight[id] for id in context])
    [first] = model.layers
    hidden = torch.tanh(first.bias + first.weight @ x)
    output = model.output
    y = output.bias + output.weight[:, : len(hidden)] @ hidden
    if model.config.direct:
        y = y + output.weight[:, len(hidden) :] @ x
    return y.masked_fill(model.output.suppressed, -math.inf)


@pytest.mark.parametrize("straight", [False, True])
def test_every_window_is_read_by_the_formula(straight: bool) -> None:
    settings = {"width": 8, "embedding": 3, "tied": "no"}
    model = Window.seeded(WindowConfig(vocab_size=9, window=2, direct=straight, **settings), 0)
    tokens = [BOS, 5, 8, 6]
    hidden, state = model.read(torch.tensor([tokens]), model.start(1))
    found = model.logits(hidden)[0]
    windows = [[PAD, BOS], [BOS, 5], [5, 8], [8, 6]]
    torch.testing.assert_close(found, torch.stack([formula(model, one) for one in windows]))
    assert isinstance(state, WindowState)
    assert state.ids.tolist() == [[8, 6]]


def test_what_lies_before_the_window_is_forgotten() -> None:
    model = Window.tiny()
    one, other = torch.tensor([[BOS, 5, 6, 7, 8]]), torch.tensor([[BOS, 8, 6, 7, 8]])
    found = [model.read(tokens, model.start(1))[0] for tokens in (one, other)]
    assert torch.equal(found[0][:, -1], found[1][:, -1])
    assert not torch.equal(found[0][:, -2], found[1][:, -2])


def test_padding_is_not_remembered() -> None:
    model = Window.tiny()
    _, state = model.read(torch.tensor([[BOS, 5, 6, 7], [BOS, PAD, PAD, PAD]]), model.start(2))
    assert state.ids.tolist() == [[5, 6, 7], [PAD, PAD, BOS]]


@pytest.mark.parametrize("law", LAWS, ids=lambda law: law.__name__)
def test_direct_connections_keep_the_laws(law: Law) -> None:
    law(Case("direct", direct, teach))


def test_direct_connections_need_a_table_of_their_own() -> None:
    with pytest.raises(ConfigError, match="--direct"):
        WindowConfig(vocab_size=9, direct=True, tied="yes")
