"""How an n-gram came to a probability: each step against counting by hand."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest

import chainrule as cr
from chainrule.models.ngram.path import counted, paths
from chainrule.use.text import typed_texts
from fitted import LINES, fitted

TEXT = "what is the weather zebra"


def ids_of(lm: cr.Bundle, text: str) -> np.ndarray:
    return np.asarray(lm.codec.encode(typed_texts(lm.codec, [text])).ids)


@pytest.mark.parametrize("smoothing", ["kneser-ney", "witten-bell", "absolute"])
def test_weights_on_the_way_make_the_probability(smoothing: str) -> None:
    lm = fitted(order=3, smoothing=smoothing)
    ids = ids_of(lm, TEXT)
    wanted = np.exp(lm.model.score_ids(ids)[1:])
    found = [math.prod(one.weight for one in way) * way[-1].probability for way in paths(lm.model, ids)]
    np.testing.assert_allclose(found, wanted, rtol=1e-4)


def test_smoothing_mass_is_what_unseen_symbols_have_together() -> None:
    lm = fitted(order=3)
    [*_, way] = paths(lm.model, ids_of(lm, "what is the zebra"))[:4]
    assert not way[0].seen and way[0].length == 2
    chances, codec = lm.next("what is the").probabilities, lm.codec
    after = {third for line in LINES for (one, two), third in trigrams(line) if (one, two) == ("is", "the")}
    known = {token: at for at, token in enumerate(codec.tokens(range(codec.size)))}
    seen = sum(chances[known[word]] for word in after)
    assert way[0].probability == pytest.approx(1 - seen, abs=1e-5)


def trigrams(line: str) -> list[tuple[tuple[str, str], str]]:
    words = [*line.split(), "</s>"]
    return [(pair, third) for pair, third in zip(pairwise(words), words[2:], strict=False)]


def test_ngrams_are_counted_where_they_stand() -> None:
    ids = np.array([1, 5, 6, 5, 6, 5, 2])
    assert [counted(ids, np.array(one)) for one in ([5], [5, 6], [5, 6, 5], [6, 6], [5, 2], [9])] == [
        3,
        2,
        2,
        0,
        1,
        0,
    ]
    assert counted(ids[:1], np.array([1, 5])) == 0
