"""Sequences with labels as batches: whole, or in windows where they are longer than a model can hold."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from chainrule.data.corpus import Corpus
from chainrule.data.labelled import LabelledBatches, Windows
from chainrule.errors import ConfigError
from chainrule.symbols import BOS, EOS, PAD


def batches(lengths: list[int], longest: int | None, rows: int = 2) -> LabelledBatches:
    """Sequences 100, 101, … each."""
    ids = [one for length in lengths for one in (BOS, *range(100, 100 + length), EOS)]
    corpus = Corpus(np.array(ids, np.int32), len(lengths), 0)
    return LabelledBatches(corpus, np.arange(len(lengths)), rows, longest)


@given(st.lists(st.integers(1, 60), min_size=1, max_size=6), st.integers(3, 20))
def test_windows_cover_every_symbol_in_order_and_hold_no_more_than_fits(
    lengths: list[int], longest: int
) -> None:
    given = batches(lengths, longest)
    windows = given.windows
    tokens = given.at(np.arange(len(windows.rows))).tokens
    assert tokens.shape[1] <= longest and (tokens[:, 0] == BOS).all()
    for row, length in enumerate(lengths):
        seen = [one[one != PAD] for one in tokens[windows.rows == row]]
        assert all(one[-1] == EOS for one in seen)
        inner = [one[1:-1].tolist() for one in seen]
        assert all(one == list(range(one[0], one[0] + len(one))) for one in inner)
        assert {symbol for one in inner for symbol in one} == set(range(100, 100 + length))
        assert len(inner) == 1 or length > longest - 2


def test_windows_overlap_by_a_quarter_and_end_with_the_text() -> None:
    windows = Windows.over(np.array([8, 26]), 10)
    assert windows.rows.tolist() == [0, 1, 1, 1, 1] and windows.sizes.tolist() == [10] * 5
    assert windows.offsets.tolist() == [0, 0, 6, 12, 18]


def test_each_epoch_another_window_of_a_long_text_is_learnt_from_and_the_same_again_after_a_resume() -> None:
    given = batches([200], 10)
    starts = [int(given.batch(epoch, 0).tokens[0, 1]) for epoch in range(20)]
    assert len(set(starts)) > 8 and starts == [
        int(batches([200], 10).batch(epoch, 0).tokens[0, 1]) for epoch in range(20)
    ]
    assert batches([5], 10).batch(3, 0).tokens.tolist() == [[BOS, 100, 101, 102, 103, 104, EOS]]


def test_a_context_without_room_is_refused() -> None:
    with pytest.raises(ConfigError, match="at least 3"):
        batches([5], 2)
