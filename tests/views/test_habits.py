"""Habits of heads, and symbols hidden in turn."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import chainrule as cr
from chainrule.symbols import MASK
from chainrule.views.habits import HABITS, Habits
from views.seen import gpt, small

IDS = np.array([1, 7, 8, 7, 9])


def test_a_habit_is_where_it_says() -> None:
    found = {name: [tuple(one) for one in np.argwhere(mask(IDS)).tolist()] for name, mask in HABITS.items()}
    assert found["the symbol before"] == [(1, 0), (2, 1), (3, 2), (4, 3)]
    assert found["the same symbol"] == [(1, 3), (3, 1)]
    assert found["what followed the same symbol"] == [(3, 2)]
    assert found["the first symbol"] == [(1, 0), (2, 0), (3, 0), (4, 0)]


def test_a_head_with_one_habit_gives_it_all_of_its_attention() -> None:
    before = np.eye(5, k=-1)
    before[0, 0] = 1.0
    flat = np.tri(5) / np.arange(1, 6)[:, None]
    habits = Habits()
    habits.add(np.stack([before, flat])[None], IDS)
    names, shares = habits.shares()
    assert shares.shape == (1, 2, len(HABITS))
    assert shares[0, 0, names.index("the symbol before")] == pytest.approx(1.0)
    assert shares[0, 0, names.index("what followed the same symbol")] == pytest.approx(1.0)  # 8 stands before
    wanted = np.mean([1 / 2, 1 / 3, 1 / 4, 1 / 5])
    assert shares[0, 1, names.index("the first symbol")] == pytest.approx(wanted)
    assert shares[0, 1, names.index("the symbol after")] == 0.0


def test_habits_are_measured_over_the_lines_of_a_file(tmp_path: Path) -> None:
    (tmp_path / "texts.txt").write_text("what is the time\n\nthe weather is fine\n")
    view = cr.look(gpt(), "what is", view="attention", corpus=str(tmp_path / "texts.txt"))
    habits = view["models"][0]["habits"]
    assert habits["texts"] == 2
    assert habits["shares"].shape == (2, 2, len(HABITS))
    assert "over 2 texts" in str(view)


def test_texts_that_are_too_long_have_no_habits_and_are_counted(tmp_path: Path) -> None:
    path = tmp_path / "texts.txt"
    path.write_text("what is the time\n" + "the time " * 30)
    lm = gpt(context=8)
    view = cr.look(lm, "what is", view="attention", corpus=str(path))
    assert (view["models"][0]["habits"]["texts"], view["models"][0]["habits"]["long"]) == (1, 1)
    assert "over 1 texts; 1 that are too long are left out" in str(view)
    path.write_text("the time " * 30)
    with pytest.raises(cr.ChainruleError, match="longer than the model can read"):
        cr.look(lm, "what is", view="attention", corpus=str(path))


def test_a_symbol_that_is_hidden_is_predicted_from_all_others() -> None:
    bert = small("bert", layers=1, width=8, heads=2, context=32)
    [model] = cr.look(bert, "what is the time", view="masked", best=3)["models"]
    ids = bert.codec.encode(_texts("what is the time")).ids.astype(np.int64)
    ids[3] = MASK
    tokens = torch.from_numpy(ids)[None]
    with bert.body.inference():
        hidden, _ = bert.model.read(tokens, bert.body.start(1))
        wanted = bert.model.logits(hidden)[0, 3].softmax(-1).sort(descending=True).values[:3]
    np.testing.assert_allclose(model["probabilities"][2], wanted.numpy(), rtol=1e-5)
    assert model["symbols"] == ["what", "is", "the", "time"]
    with pytest.raises(cr.ChainruleError, match="--view next"):
        cr.look(gpt(), "what", view="masked")


def _texts(text: str) -> Any:
    from chainrule.codecs.base import Texts

    return Texts.of([text])
