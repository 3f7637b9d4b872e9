"""Alignment by attention, whatever the family."""

from __future__ import annotations

import pytest
import torch

from chainrule.errors import ModelError
from chainrule.models.lstm import Lstm
from chainrule.models.transformer import Transformer
from chainrule.nn.tap import listening
from chainrule.symbols import BOS, EOS, PAD
from chainrule.use.align import alignments

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


def test_a_family_without_a_source_has_none() -> None:
    model = Lstm.tiny()
    with pytest.raises(ModelError, match="no alignment"):
        alignments(model, TOKENS, model.start(2))
