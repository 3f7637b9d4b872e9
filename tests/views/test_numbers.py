"""The numbers of views, each against a computation of its own."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
import torch

import chainrule as cr
from fitted import LINES, fitted
from views.seen import gpt, small

TEXT = "what is the weather"


def test_next_is_the_softmax_of_the_last_symbol() -> None:
    lm = gpt()
    view = cr.look(lm, TEXT, view="next", best=4)
    tokens = torch.tensor([lm.prompt_ids(TEXT)])
    with lm.body.inference():
        hidden, _ = lm.model.read(tokens, lm.body.start(1))
        wanted = lm.model.logits(hidden)[0, -1].softmax(-1).sort(descending=True).values[:4]
    np.testing.assert_allclose(view["probabilities"][0], wanted.numpy(), rtol=1e-5)
    assert view["others"][0] == pytest.approx(1 - float(wanted.sum()), abs=1e-5)


def test_what_follows_a_symbol_is_what_follows_the_text_with_it() -> None:
    one, other = fitted(order=3), fitted(order=1)
    view = cr.look([one, other], "what is", view="next", best=4, ahead=2, branches=2)
    known = {token: at for at, token in enumerate(one.codec.tokens(range(one.codec.size)))}
    wanted = known["the"], known["weather"]
    [place] = [place for place in view["further"] if tuple(place["path"]) == wanted]
    for model, lm in enumerate((one, other)):
        expected = lm.next("what is the weather").probabilities
        np.testing.assert_allclose(place["probabilities"][model], expected[place["ids"]], rtol=1e-5)
    assert len(view["further"]) <= 4 + 16
    assert cr.look(one, "what is", view="next", ahead=0)["further"] == []


def test_next_shows_for_every_model_what_any_of_them_thinks_likely() -> None:
    one, other = small("gpt", layers=1, width=8, heads=2, seed=1), small("lstm", layers=1, width=8, seed=2)
    view = cr.look([one, other], TEXT, view="next", best=3)
    assert view["probabilities"].shape[0] == 2
    assert {*view["symbols"]} >= {
        "(end)" if symbol.ends else symbol.token for lm in (one, other) for symbol in lm.next(TEXT, 3)
    }


def test_surprise_is_what_score_says_and_two_models_are_compared() -> None:
    one, other = fitted(order=3), fitted(order=1)
    view = cr.look([one, other], TEXT)
    wanted = [[symbol.bits for symbol in lm.score(TEXT).tokens] for lm in (one, other)]
    np.testing.assert_allclose(view["bits"], wanted)
    saved = np.sum(wanted[1]) - np.sum(wanted[0])
    assert any(f"needs {saved:.1f} bits less" in note for note in view.notes)
    assert view["facts"][0][0].keys() == {"order"}


def test_an_n_gram_tells_its_path_and_a_file_the_counts(tmp_path: Path) -> None:
    (tmp_path / "lines.txt").write_text("\n".join(LINES))
    lm = fitted(order=3)
    view = cr.look([lm, gpt()], "what is the zebra", counts=str(tmp_path / "lines.txt"))
    assert view["paths"][1] == []
    first, last = view["paths"][0][2], view["paths"][0][3]
    assert first[-1]["context"] == ["what", "is"] and first[-1]["seen"]
    text = " ".join(LINES)
    assert (first[-1]["count"], first[-1]["of"]) == (text.count("what is the"), text.count("what is"))
    bits = -sum(math.log2(one["weight"]) for one in last) - math.log2(last[-1]["probability"])
    assert bits == pytest.approx(view["bits"][0, 3], rel=1e-4)
    assert "is left for what is unseen" in str(view)


def attention_by_hand(lm: cr.Bundle) -> np.ndarray:
    """Of the lowest layer, from its weights: softmax(Q K' / sqrt(d)) under a causal mask (H, T, T)."""
    body = lm.body
    tokens = torch.tensor([[*lm.prompt_ids(TEXT), 2]])  # BOS … EOS
    with torch.no_grad():
        block = body.blocks.all[0]  # type: ignore[attr-defined]
        vectors = body.positions(body.vectors(tokens), torch.arange(tokens.shape[1])[None])  # type: ignore[attr-defined]
        queries, keys, _ = block.attention.qkv(block.attention_norm(vectors)).chunk(3, -1)
        heads = [one.unflatten(-1, (2, 4)).transpose(1, 2) for one in (queries, keys)]  # (1, H, T, d)
        logits = heads[0] @ heads[1].transpose(2, 3) / math.sqrt(4)
        hidden = torch.ones(logits.shape[-2:], dtype=torch.bool).triu(1)
        return logits.masked_fill(hidden, -torch.inf).softmax(-1)[0].numpy()


def test_attention_weights_are_those_of_the_formula() -> None:
    lm = gpt(positions="learned")
    grid = cr.look(lm, TEXT, view="attention")["models"][0]["grids"][0]
    np.testing.assert_allclose(grid["weights"][0], attention_by_hand(lm), atol=1e-6)
    assert grid["queries"] == grid["keys"] == ["<s>", "what", "is", "the", "weather", "</s>"]


@pytest.mark.parametrize("wrong", [{"layer": 3}, {"head": 3}, {"layer": 1, "head": 9}])
def test_a_head_that_is_not_there_is_refused(wrong: dict[str, int]) -> None:
    with pytest.raises(cr.ChainruleError, match="layers go from 1 to 2, heads from 1 to 2"):
        cr.look(gpt(), TEXT, view="attention", **wrong)


def test_entropy_is_zero_of_one_symbol_and_log2_of_all() -> None:
    from chainrule.views.attention import entropies

    peaked, flat = np.eye(4), np.full((4, 4), 0.25)
    np.testing.assert_allclose(entropies(np.stack([peaked, flat])), [0.0, 2.0])


def test_a_head_that_looks_alike_at_all_it_may_is_flat_also_under_a_mask() -> None:
    from chainrule.views.attention import Grid

    masked = np.tri(6) / np.arange(1, 7)[:, None]
    names = [str(at) for at in range(6)]
    for even in (masked, np.full((6, 6), 1 / 6)):
        told = Grid("attention", names, names, np.stack([even, np.eye(6) * (even > 0)])[None], []).to_dict()
        np.testing.assert_allclose(told["flat"], [[1.0, 0.0]], atol=1e-9)


def test_switching_a_head_off_costs_what_removing_its_columns_does() -> None:
    lm = gpt()
    losses = cr.look(lm, TEXT, view="attention", ablate=True)["models"][0]["losses"][0]
    before = lm.score(TEXT).bits_per_symbol
    out = lm.body.blocks.all[1].attention.out.weight  # type: ignore[attr-defined]
    with torch.no_grad():
        out[:, 4:] = 0.0  # what the second of two heads adds
    assert losses[1, 1] == pytest.approx(lm.score(TEXT).bits_per_symbol - before, abs=1e-6)
    assert losses[1, 1] != 0.0
