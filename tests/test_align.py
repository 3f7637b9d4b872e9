"""Alignment by attention, whatever the family."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from chainrule.errors import ModelError
from chainrule.models.lstm import Lstm
from chainrule.models.transformer import Transformer
from chainrule.nn.tap import listening
from chainrule.symbols import BOS, EOS, PAD
from chainrule.use.align import alignments, symbol_weights

SOURCES = torch.tensor([[5, 6, 7, EOS], [6, EOS, PAD, PAD]])
TOKENS = torch.tensor([[BOS, 5, 8], [BOS, 7, PAD]])


def test_it_is_the_mean_over_the_heads_of_the_last_layer() -> None:
    model = Transformer.tiny()
    torch.nn.init.normal_(model.blocks.all[-1].cross.q.weight)
    with listening(model, "blocks.1.cross.weights") as heard, torch.no_grad():
        model.read(TOKENS, model.start(2, SOURCES))
    found = alignments(model, TOKENS, model.start(2, SOURCES))
    torch.testing.assert_close(found, heard["blocks.1.cross.weights"][0].mean(1))
    torch.testing.assert_close(found.sum(2), torch.ones(2, 3))
    assert not found[SOURCES[:, None].expand(2, 3, 4) == PAD].any()


def test_of_more_layers_those_between_the_first_and_the_last_tell_words() -> None:
    model = Transformer.seeded(replace(Transformer.tiny().config, layers=4), 0)
    for block in model.blocks.all:
        torch.nn.init.normal_(block.cross.q.weight)
    with listening(model, "blocks.*.cross.weights") as heard, torch.no_grad():
        model.read(torch.tensor([[BOS, 5, 8]]), model.start(1, torch.tensor([[5, 6, 7, EOS]])))
    inner = [heard[f"blocks.{layer}.cross.weights"][0][0].mean(0) for layer in (1, 2)]
    found = torch.from_numpy(symbol_weights(model, [5, 6, 7], [5, 8])).float()
    torch.testing.assert_close(found, torch.stack(inner).mean(0)[:2])


def test_a_family_without_a_source_has_none() -> None:
    model = Lstm.tiny()
    with pytest.raises(ModelError, match="no alignment"):
        alignments(model, TOKENS, model.start(2))
