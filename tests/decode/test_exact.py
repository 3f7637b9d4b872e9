"""The most probable text of all, against brute force; no beam finds a better one."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

import chainrule as cr
from chainrule.decode.config import Constraints, GenerationConfig
from chainrule.decode.exact import most_probable
from chainrule.errors import ConfigError, ModelError
from chainrule.models.ngram import Ngram
from chainrule.symbols import BOS, EOS, FIRST, UNK
from decoding import beam, everything
from tiny import Table, TinyAttention

tables = some.integers(0, 10_000).map(lambda seed: Table.random(np.random.default_rng(seed)))
FREE = Constraints()


@settings(max_examples=30, deadline=None)
@given(tables, some.integers(1, 4))
def test_it_equals_brute_force_up_to_the_end_and_of_a_given_length(model: Table, length: int) -> None:
    every = everything(model, [BOS], length)
    for ends in (True, False):
        fit = {
            way: log
            for way, log in every.items()
            if (way[-1] == EOS) == ends and (ends or len(way) == length)
        }
        if not fit:
            with pytest.raises(ConfigError, match="--length"):
                most_probable(model, [BOS], length, FREE, ends)
            continue
        found = most_probable(model, [BOS], length, FREE, ends)
        assert found.log_probability == pytest.approx(max(fit.values()))
        assert every[found.ids] == pytest.approx(found.log_probability)


@pytest.mark.parametrize("ends", [True, False])
def test_of_an_n_gram_it_equals_brute_force_and_is_the_yardstick_of_beams(ends: bool) -> None:
    model = Ngram.tiny()
    symbols = [UNK, *range(FIRST, model.config.vocab_size)]
    ways = [
        (*way, *([EOS] if ends else []))
        for size in (range(4) if ends else (4,))
        for way in itertools.product(symbols, repeat=size)
    ]
    prompt = [BOS, FIRST]
    logs = {
        way: float(
            model.score_ids(np.array([*prompt, *way, *([] if ends else [EOS])], np.int32))[
                2 : 2 + len(way)
            ].sum()
        )
        for way in ways
    }
    found = most_probable(model, prompt, 4, FREE, ends)
    assert found.log_probability == pytest.approx(max(logs.values()), abs=1e-5)
    never = () if ends else (EOS,)
    for width in (1, 2, 5):
        [best, *_] = [one for one in beam(model, prompt, width, 4, never=never) if one.finished == ends] or [
            None
        ]
        assert best is None or best.log_probability <= found.log_probability + 1e-5


def test_it_is_found_from_the_command_of_generation_and_what_cannot_be_is_refused() -> None:
    lm = cr.fit(["a b a b a c", "a b c", "b a b"] * 5, model="ngram", codec="words", order=3)
    [text] = lm.generate(["a"], exact="end", length=20)
    assert text.startswith("a b")
    assert len(lm.generate("a", exact="length", length=7).split()) == 8
    with pytest.raises(ConfigError, match="--beam"):
        GenerationConfig(exact="end", beam=3)
    with pytest.raises(ModelError, match="without limit"):
        most_probable(TinyAttention.tiny(), [BOS], 3, FREE, True)
