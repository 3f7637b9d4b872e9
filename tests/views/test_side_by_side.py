"""Several models side by side, also those with different symbols, in every view that is of one text."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import chainrule as cr
from chainrule.views.words import by_word, words_of
from fitted import LINES, fitted
from views.opened import Visit
from views.seen import gpt, small

TEXT = "what is the  weather\ntoday"
SEEN = "what is the weather"


def by_letters() -> cr.Bundle:
    return cr.fit(LINES * 3, order=4, codec="characters", valid=LINES, test=LINES)


def test_bits_of_letters_and_of_words_are_compared_word_by_word() -> None:
    words, letters = fitted(), by_letters()
    view = cr.look([words, letters], TEXT)
    assert view["symbols"] == ["what", "is", "the", "weather", "today", "</s>"]
    np.testing.assert_allclose(view["bits"][0], [one.bits for one in words.score(TEXT).tokens])
    each, place = [one.bits for one in letters.score(TEXT).tokens], 0
    for at, word in enumerate(["what", " is", " the", "  weather", "\ntoday"]):
        assert view["bits"][1, at] == pytest.approx(sum(each[place : place + len(word)]))
        place += len(word)
    assert view["bits"][1].sum() == pytest.approx(-letters.score(TEXT).log2prob)
    assert any("word by word" in note for note in view.notes)
    assert "bits per word" in str(view)
    assert view.notes[1].endswith("bits less for this text.")


def test_words_put_together_are_the_text() -> None:
    for text in (TEXT, " a", "a \n", "  a  b  ", "one"):
        assert "".join(words_of(text)) == text


def test_sub_words_are_added_up_and_what_does_not_add_up_is_refused() -> None:
    rows = [line.replace(" ", "_") for line in LINES] * 3
    pieces = cr.fit(rows, order=2, codec="subwords", vocab=300, valid=rows, test=rows)
    view = cr.look([pieces, by_letters()], "what_is")
    assert view["symbols"] == ["what_is", "</s>"]
    assert view["bits"][0].sum() == pytest.approx(-pieces.score("what_is").log2prob)
    with pytest.raises(cr.ChainruleError, match="does not read this text word by word"):
        by_word(pieces, ["what_is"], np.ones(99))


def test_a_hypothesis_of_the_tree_has_the_log_probability_of_its_symbols() -> None:
    models = fitted(order=3), fitted(order=1)
    view = cr.look(models, "what", view="beam", beam=2, length=3)
    assert [model["name"] for model in view["models"]] == cr.look(models, "what")["models"]
    for lm, tree in zip(models, view["models"], strict=True):
        assert len(tree["symbols"]) > 3
        for at in range(len(tree["symbols"])):
            path, number = [], at
            while number >= 0:
                path.insert(0, tree["symbols"][number])
                number = int(tree["parents"][number])
            assert tree["log_probabilities"][at] == pytest.approx(log_of(lm, "what", path), rel=1e-4)


def log_of(lm: cr.Bundle, text: str, symbols: list[str]) -> float:
    """ln p(symbols | text), by the chain rule."""
    found = 0.0
    for symbol in symbols:
        after = lm.next(text, lm.codec.size)
        found += math.log(
            next(one.probability for one in after if symbol == ("(end)" if one.ends else one.token))
        )
        text = f"{text} {symbol}"
    return found


PAIRS: dict[str, Any] = {
    "surprise": lambda: (fitted(), by_letters()),
    "next": lambda: (fitted(), fitted(order=1)),
    "attention": lambda: (gpt(), gpt(seed=1)),
    "masked": lambda: tuple(small("bert", layers=1, width=8, heads=2, context=32, seed=at) for at in (0, 1)),
    "layers": lambda: (gpt(), gpt(seed=1)),
    "gradient": lambda: (small("gru", layers=1, width=4), small("lstm", layers=1, width=4)),
    "beam": lambda: (fitted(), fitted(order=1)),
    "cells": lambda: (small("gru", layers=1, width=4), small("rnn", layers=1, width=4)),
    "saliency": lambda: (gpt(), small("gru", layers=1, width=4)),
    "vectors": lambda: (gpt(), small("gru", layers=1, width=4)),
}


@pytest.mark.parametrize("kind", PAIRS)
def test_two_models_stand_side_by_side_in_every_view(kind: str, browser: Any, tmp_path: Path) -> None:
    view = cr.look(PAIRS[kind](), SEEN, view=kind)
    names = view.data.get("names") or [one if isinstance(one, str) else one["name"] for one in view["models"]]
    assert len(set(names)) >= 2
    view.save(tmp_path / "view.html")
    page = Visit(browser, tmp_path / "view.html")
    assert page.complaints == []
    shown, drawn = page.page.locator("body").inner_text(), view.drawn(_svg)
    for name in names:
        assert name in shown and name in drawn and name in str(view)


def _svg(view: cr.View) -> str:
    from chainrule.views.kinds import kind_named
    from chainrule.views.scene import svg

    return str(svg(kind_named(view.kind).scene(view)))
