"""Attention of encoder-decoders: a grid for the encoder, for the decoder over itself, and over its source."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import torch

import chainrule as cr

ROWS = {"source": [f"ein haus {at}" for at in range(40)], "target": [f"a house {at}" for at in range(40)]}


def translator(model: str, **settings: Any) -> cr.Bundle:
    return cr.fit(ROWS, task="translate", model=model, codec="words", steps=2, width=8, layers=1, **settings)


@pytest.fixture(scope="module")
def transformer() -> cr.Bundle:
    return translator("transformer", heads=2)


def grids(lm: cr.Bundle, **settings: Any) -> dict[str, Any]:
    view = cr.look(lm, "ein haus 7", view="attention", **settings)
    return {grid["name"]: grid for grid in view["models"][0]["grids"]}


def test_every_side_has_its_symbols(transformer: cr.Bundle) -> None:
    found = grids(transformer, target="a house 7")
    assert list(found) == ["encoder", "decoder over itself", "decoder over the source"]
    assert found["encoder"]["keys"] == ["ein", "haus", "7", "</s>"]
    assert found["decoder over itself"]["queries"] == ["a", "house", "7", "</s>"]
    assert found["decoder over itself"]["keys"] == ["<s>", "a", "house", "7"]
    over = found["decoder over the source"]
    assert (over["queries"], over["keys"]) == (["a", "house", "7", "</s>"], ["ein", "haus", "7", "</s>"])
    assert over["weights"].shape == (1, 2, 4, 4)
    np.testing.assert_allclose(over["weights"].sum(-1), 1.0, rtol=1e-5)


def test_without_a_target_the_model_translates(transformer: cr.Bundle) -> None:
    said = transformer.translate(["ein haus 7"])[0].text
    found = grids(transformer)["decoder over the source"]
    assert " ".join(found["queries"][:-1]) == said


@pytest.mark.parametrize("view", ["surprise", "next", "saliency", "recall"])
def test_a_text_without_its_source_is_not_looked_at(transformer: cr.Bundle, view: str) -> None:
    with pytest.raises(cr.ChainruleError, match="writes from a source"):
        cr.look(transformer, "a house 7", view=view)


def test_the_weights_of_a_recurrent_decoder_are_its_alignment() -> None:
    from chainrule.use.align import alignments

    lm = translator("seq2seq", attention="additive")
    found = grids(lm, target="a house 7")["decoder over the source"]
    codec = lm.codecs["source"]
    source = torch.tensor([codec.encode(texts_of("ein haus 7")).ids[1:].tolist()])
    tokens = torch.tensor([lm.codec.encode(texts_of("a house 7")).ids[:-1].tolist()])
    wanted = alignments(lm.body, tokens, lm.body.start(1, source))[0]
    np.testing.assert_allclose(found["weights"][0, 0], wanted.numpy(), atol=1e-6)


def texts_of(text: str) -> Any:
    from chainrule.codecs.base import Texts

    return Texts.of([text])


def test_a_head_of_cross_attention_is_switched_off(transformer: cr.Bundle) -> None:
    view = cr.look(transformer, "ein haus 7", view="attention", target="a house 7", ablate=True)
    losses = view["models"][0]["losses"]
    assert [one.shape for one in losses] == [(1, 2)] * 3
    assert all(math.isfinite(one) for cost in losses for one in cost.flat)
