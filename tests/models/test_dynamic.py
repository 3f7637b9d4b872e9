"""Dynamic evaluation: a window is scored before it is learnt from, and the trained model never changes."""

from __future__ import annotations

from collections.abc import Iterator
from copy import deepcopy
from unittest.mock import patch

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from chainrule.errors import ModelError
from chainrule.models import dynamic
from chainrule.models.dynamic import PRIOR, Dynamic
from chainrule.models.neural import NeuralLanguageModel
from chainrule.models.neural_cache import NeuralCache
from chainrule.models.ngram import Ngram
from chainrule.models.registry import family
from chainrule.models.windows import TokenWindow, windows_in_order
from chainrule.symbols import BOS, EOS, MASK
from models.adapting import A, B, running, text, unchanged

FAMILIES = ["rnn", "lstm", "gru", "gpt", "window"]


def eager(model: NeuralLanguageModel, window: int = 7, **options: object) -> Dynamic:
    """One that learns so much that a tiny model shows it."""
    return Dynamic.of(model, lr=0.05, window=window, **options)


@pytest.mark.parametrize("name", FAMILIES)
def test_without_a_learning_rate_it_is_the_trained_model(name: str) -> None:
    for model in (
        family(name).tiny(),
        running(name) if name in ("rnn", "lstm", "gru") else family(name).tiny(),
    ):
        ids = text(0, 60)
        still = Dynamic.of(model, lr=0.0, window=7)
        np.testing.assert_allclose(still.score_ids(ids), model.score_ids(ids), atol=1e-5)


@pytest.mark.parametrize("name", FAMILIES)
def test_the_trained_model_is_left_as_it_was_to_the_bit(name: str) -> None:
    model = family(name).tiny()
    before = {key: np.array(value) for key, value in model.arrays().items()}
    eager(model).score_ids(text(1, 60))
    assert all(np.array_equal(before[key], value) for key, value in model.arrays().items())
    assert all(one.grad is None for one in model.parameters()) and not model.training


def test_an_error_on_the_way_leaves_the_trained_model_as_it_was() -> None:
    model = family("lstm").tiny()
    before = {key: np.array(value) for key, value in model.arrays().items()}
    with pytest.raises(IndexError):
        eager(model).score_ids(np.array([BOS, *[A, B] * 20, 99, EOS], np.int32))
    assert all(np.array_equal(before[key], value) for key, value in model.arrays().items())


def test_a_second_window_is_scored_by_weights_moved_once() -> None:
    """The step from its definition: each row's gradient by its scale, then a tenth of the way back."""
    model, ids = family("rnn").tiny(), [BOS, A, B, A, A, B, EOS]
    moved, tokens, targets = deepcopy(model), torch.tensor([ids[:-1]]), torch.tensor([ids[1:]])
    first, state = moved.score(tokens[:, :3], targets[:, :3], moved.start(1))
    first.mean().neg().backward()
    for new, old in zip(moved.parameters(), model.parameters(), strict=True):
        rows = new.grad if new.dim() > 1 else new.grad[None]
        squares = rows.square().mean(1, keepdim=True)
        scale = ((PRIOR * squares.mean() + squares) / (PRIOR + 1)).sqrt()
        new.data = 0.9 * (old.data - 0.05 * (rows / scale.clamp(min=1e-12)).view_as(old)) + 0.1 * old.data
    with torch.no_grad():
        second, _ = moved.score(tokens[:, 3:], targets[:, 3:], state.detach())
    found = Dynamic.of(model, lr=0.05, decay=0.1, window=3).score_ids(np.array(ids, np.int32))
    np.testing.assert_allclose(found[1:], torch.cat([first, second], 1)[0].detach(), atol=1e-5)


@pytest.mark.parametrize("name", FAMILIES)
def test_what_repeats_itself_is_predicted_better_and_better(name: str) -> None:
    ids = np.array([BOS, *[A, A, B, B] * 40, EOS], np.int32)
    model = family(name).tiny()
    gain = eager(model).score_ids(ids) - model.score_ids(ids)
    assert gain[-40:].mean() > gain[:40].mean() + 0.1


@settings(max_examples=12, deadline=None)
@given(
    seed=st.integers(0, 99), cut=st.integers(2, 45), name=st.sampled_from(FAMILIES), stateful=st.booleans()
)
def test_what_comes_later_changes_nothing_before(seed: int, cut: int, name: str, stateful: bool) -> None:
    unchanged(eager(family(name).tiny(), stateful=stateful), seed, cut)


@settings(max_examples=4, deadline=None)
@given(seed=st.integers(0, 99), cut=st.integers(2, 45))
def test_nor_does_it_in_running_text_with_a_neural_cache(seed: int, cut: int) -> None:
    unchanged(eager(running("rnn")), seed, cut)
    unchanged(NeuralCache.of(eager(running("rnn")), size=9, theta=2.0, weight=0.6, prior=1.0), seed, cut)


def test_learning_from_a_window_before_it_is_scored_is_caught() -> None:
    """The bug: every window is read twice, and its second score is kept."""

    def twice(model: NeuralLanguageModel, ids: np.ndarray, width: int) -> Iterator[TokenWindow]:
        for window in windows_in_order(model, ids, width):
            yield from (window, window)

    with patch.object(dynamic, "windows_in_order", twice), pytest.raises(AssertionError):
        unchanged(eager(family("window").tiny()), 0, 20)


def test_every_symbol_but_bos_is_scored_once_in_order() -> None:
    for name in FAMILIES:
        for stateful in (True, False):
            ids = text(2, 90)
            found = list(eager(family(name).tiny(), stateful=stateful).readings(ids))
            assert (
                np.concatenate([one.places for one in found]).tolist() == np.flatnonzero(ids != BOS).tolist()
            )


def test_how_long_a_sequence_is_does_not_tell_what_is_in_it() -> None:
    """Where windows end must not depend on what is not read yet: found by the test before last."""
    short = np.array([BOS, A, A, EOS, BOS, A, EOS], np.int32)
    long = np.array([BOS, A, A, EOS, BOS, A, *[B] * 9, EOS], np.int32)
    one, other = (eager(family("rnn").tiny()).score_ids(ids)[5] for ids in (short, long))
    assert one == pytest.approx(other, abs=1e-6)


def test_short_sequences_that_follow_each_other_share_a_window() -> None:
    ids = np.array([BOS, A, EOS] * 6 + [BOS, *[A] * 9, EOS], np.int32)
    found = windows_in_order(family("rnn").tiny(), ids, 5)
    assert [window.tokens.shape for window in found] == [(3, 2), (3, 2), (1, 5), (1, 5)]


def test_sequences_apart_are_learnt_from_apart_if_told_so() -> None:
    rows = [np.array([BOS, *[A, A, B] * 9, EOS], np.int32)] * 2
    model = family("gru").tiny()
    alone = eager(model, stateful=False).score_ids(np.concatenate(rows))
    np.testing.assert_allclose(alone[: len(rows[0])], alone[len(rows[0]) :], atol=1e-6)
    carried = eager(model).score_ids(np.concatenate(rows))
    assert carried[len(rows[0]) :].sum() > carried[: len(rows[0])].sum() + 1.0


def test_what_cannot_be_said_is_not_learnt_from() -> None:
    ids = np.array([BOS, *[A, MASK, B] * 9, EOS], np.int32)
    logs = eager(family("lstm").tiny()).score_ids(ids)
    assert (np.isneginf(logs) == (ids == MASK)).all()


def test_settings_are_found_on_held_out_text() -> None:
    ids = np.array([BOS, *[A, A, B, B] * 40, EOS], np.int32)
    model = family("lstm").tiny()
    found = Dynamic.fitted(model, ids, window=8)
    usual = Dynamic.of(model, window=8)
    assert found.config.window == 8
    assert found.score_ids(ids).sum() > usual.score_ids(ids).sum() >= model.score_ids(ids).sum()
    assert (
        Dynamic.fitted(model, ids, lr=0.5, decay=0.25).config == Dynamic.of(model, lr=0.5, decay=0.25).config
    )


def test_a_rate_at_which_weights_go_astray_is_not_chosen() -> None:
    def astray(self: Dynamic, ids: np.ndarray) -> np.ndarray:
        return np.full(len(ids), np.nan if self.config.lr > 0.001 else -2.0 - self.config.lr, np.float32)

    with patch.object(Dynamic, "score_ids", astray):
        assert Dynamic.fitted(family("rnn").tiny(), text(0, 60)).config.lr == 0.0


def test_a_search_goes_where_it_gets_better_and_comes_to_an_end() -> None:
    assert dynamic._climb(lambda value: -abs(value - 7.0), 1.0) == 8.0
    assert dynamic._climb(lambda value: -abs(value - 0.2), 1.0) == 0.25
    assert dynamic._climb(lambda value: -value, 1.0) == 0.0
    assert dynamic._climb(lambda value: value, 1.0) == dynamic.FACTOR**dynamic.MOST


def test_a_counting_model_has_no_gradient() -> None:
    with pytest.raises(ModelError, match="learns by gradient"):
        Dynamic.of(Ngram.tiny())
