"""Masks: how many, what stands at them, and never the same ones twice."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from chainrule.data.corpus import Corpus
from chainrule.data.masked import FOLLOWS, Masking, masked_batches
from chainrule.symbols import BOS, EOS, FIRST, MASK, PAD

VOCAB_SIZE = 1000


def corpus(rows: int = 300, seed: int = 0) -> Corpus:
    rng = np.random.default_rng(seed)
    found = [
        [BOS, *rng.integers(FIRST, VOCAB_SIZE, size).tolist(), EOS] for size in rng.integers(5, 60, rows)
    ]
    return Corpus(np.concatenate(found).astype(np.int32), rows, 1)


def batches(next_sentence: bool = False, longest: int = 64):  # type: ignore[no-untyped-def]
    return masked_batches(corpus(), 512, longest, Masking(0.15, VOCAB_SIZE), next_sentence, 1)


def test_of_fifteen_in_a_hundred_eight_tenths_are_hidden_one_replaced_one_kept() -> None:
    symbols = np.random.default_rng(0).integers(FIRST, VOCAB_SIZE, (200, 500))
    tokens, targets = Masking(0.15, VOCAB_SIZE).mask(symbols, np.random.default_rng(1))
    chosen = targets != PAD
    assert chosen.mean() == pytest.approx(0.15, abs=0.005)
    assert (tokens[chosen] == MASK).mean() == pytest.approx(0.8, abs=0.01)
    assert (tokens[chosen] == symbols[chosen]).mean() == pytest.approx(0.1, abs=0.01)
    assert (tokens[~chosen] == symbols[~chosen]).all() and (targets[chosen] == symbols[chosen]).all()


def test_what_begins_and_what_fills_up_is_never_hidden() -> None:
    for number in range(len(batches())):
        batch = batches().batch(0, number)
        assert (batch.tokens[:, 0] == BOS).all() and (batch.targets[:, 0] == PAD).all()
        assert (batch.targets[batch.tokens == PAD] == PAD).all()
        assert (batch.targets != PAD).any(1).all()


def test_masks_are_drawn_again_every_epoch_and_the_same_for_the_same_number() -> None:
    one, again = batches().batch(0, 0), batches().batch(0, 0)
    np.testing.assert_array_equal(one.tokens, again.tokens)
    shown = [
        next(
            np.where(batch.targets != PAD, batch.targets, batch.tokens)
            for batch in (batches().batch(epoch, n),)
        )
        for epoch in (0, 1)
        for n in range(len(batches()))
    ]
    hidden = sorted(tuple(row) for rows in shown for row in rows)
    assert len(set(hidden)) == 300  # both epochs show the same sequences
    assert any(not np.array_equal(one.tokens, batches().batch(1, n).tokens) for n in range(len(batches())))


def test_whole_words_are_hidden_together() -> None:
    begins = np.zeros(VOCAB_SIZE, np.bool_)
    begins[: VOCAB_SIZE // 2] = True
    symbols = np.tile([[10, 900, 901, 11, 12, 902]], (2000, 1))
    _, targets = Masking(0.15, VOCAB_SIZE, begins).mask(symbols, np.random.default_rng(1))
    chosen = targets != PAD
    assert (chosen[:, 0] == chosen[:, 1]).all() and (chosen[:, 1] == chosen[:, 2]).all()
    assert (chosen[:, 4] == chosen[:, 5]).all() and not (chosen[:, 0] == chosen[:, 3]).all()


def test_half_of_the_pairs_are_strangers() -> None:
    made = batches(next_sentence=True)
    asked, whole = [], {tuple(row) for row in _sequences(corpus().ids)}
    for number in range(len(made)):
        batch = made.batch(0, number)
        symbols = np.where(batch.targets != PAD, batch.targets, batch.tokens)
        for row, told in zip(symbols, batch.extra[FOLLOWS], strict=True):
            real = row[row != PAD][1:]
            cut = int(np.flatnonzero(real == EOS)[0])
            joined = (*real[:cut], *real[cut + 1 :])
            assert (joined in whole) == (told == 1)
            asked.append(told)
    assert set(asked) == {0, 1}
    assert np.mean(asked) == pytest.approx(0.5, abs=0.1)


def test_the_end_between_two_segments_is_never_masked() -> None:
    """Hidden or replaced, it would put all that follows into the first segment."""
    row = [BOS, 10, EOS, 11, 12, EOS]
    symbols = np.tile([[*row, PAD]], (4000, 1))
    tokens, targets = Masking(0.5, VOCAB_SIZE).mask(symbols, np.random.default_rng(1))
    assert (targets[:, 2] == PAD).all() and (tokens[:, 2] == EOS).all()
    assert (targets[:, 5] != PAD).mean() == pytest.approx(
        0.5, abs=0.05
    )  # the last one is a symbol like others


def _sequences(ids: np.ndarray) -> list[list[int]]:
    starts = [*np.flatnonzero(ids == BOS), len(ids)]
    return [ids[a + 1 : b].tolist() for a, b in itertools.pairwise(starts)]


def test_no_sequence_is_longer_than_the_model_holds() -> None:
    made = batches(longest=20)
    assert all(made.batch(0, number).tokens.shape[1] <= 21 for number in range(len(made)))
