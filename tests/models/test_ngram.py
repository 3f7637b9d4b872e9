"""N-grams against hand-computed tables, slow formulas and themselves."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chainrule.errors import ConfigError, ModelError
from chainrule.models.ngram import Ngram, NgramConfig
from chainrule.models.ngram.estimate import SMOOTHINGS
from chainrule.models.ngram.space import Space
from chainrule.models.ngram.trie import Trie, count_ngrams
from chainrule.nn.tap import listening
from chainrule.symbols import BOS, EOS, FIRST, UNK
from models.reference import Reference, count

A, B, C = FIRST, FIRST + 1, FIRST + 2


def flat(*rows: list[int]) -> np.ndarray:
    return np.array([symbol for row in rows for symbol in (BOS, *row, EOS)], np.int32)


def fit(*rows: list[int], vocab_size: int = FIRST + 3, **options: object) -> Ngram:
    return Ngram.learn(NgramConfig(vocab_size=vocab_size, **options), flat(*rows))  # type: ignore[arg-type]


def probability(model: Ngram, *symbols: int) -> float:
    """Of a whole sequence, its end included."""
    return float(np.exp(model.score_ids(flat(list(symbols))).astype(np.float64).sum()))


def named(trie: Trie) -> dict[tuple[int, ...], int]:
    """N-grams and their counts, read off the trie."""
    names: dict[int, tuple[int, ...]] = {0: ()}
    for node in range(trie.contexts):
        for below in range(trie.child[node], trie.child[node + 1]):
            names[below] = (*names[node], int(trie.word[below]))
    assert all(names[int(trie.link[node])] == name[1:] for node, name in names.items() if name)
    return {name: int(trie.count[node]) for node, name in names.items() if name and trie.count[node]}


rows_of = st.lists(st.lists(st.integers(FIRST, FIRST + 3), max_size=7), min_size=1, max_size=12)


@settings(max_examples=60, deadline=None)
@given(rows_of, st.integers(1, 9), st.sampled_from([FIRST + 4, 300, 70_000]))
def test_every_ngram_is_counted_and_linked(rows: list[list[int]], order: int, vocab_size: int) -> None:
    trie = count_ngrams(flat(*rows), vocab_size, order, Space())
    assert named(trie) == dict(count([[BOS, *row, EOS] for row in rows], order))


def test_large_groups_are_sorted_too() -> None:
    rng = np.random.default_rng(0)
    ids = np.concatenate([[BOS], np.minimum(rng.geometric(0.7, 400_000) + FIRST - 1, FIRST + 8), [EOS]])
    trie = count_ngrams(ids.astype(np.int32), 1 << 20, 3, Space())
    pairs, times = np.unique(ids[:-1] * (1 << 20) + ids[1:], return_counts=True)
    assert trie.word[trie.level(2)].tolist() == (pairs & ((1 << 20) - 1)).tolist()
    assert trie.count[trie.level(2)].tolist() == times.tolist()
    assert trie.count[trie.level(3)].sum() == len(ids) - 2


@settings(max_examples=40, deadline=None)
@given(rows_of, st.integers(1, 5), st.sampled_from([FIRST + 4, 5_000]))
def test_a_memory_limit_changes_nothing(rows: list[list[int]], order: int, vocab_size: int) -> None:
    whole = fit(*rows, vocab_size=vocab_size, order=order)
    parts = fit(*rows, vocab_size=vocab_size, order=order, memory=1_000_000)
    for name, array in whole.arrays().items():
        np.testing.assert_array_equal(array, parts.arrays()[name], err_msg=name)


@pytest.mark.parametrize("vocab_size", [FIRST + 4, 3_000])
def test_many_parts_give_the_same_model_to_the_bit(vocab_size: int) -> None:
    rng = np.random.default_rng(1)
    rows = [
        (FIRST + rng.zipf(1.5, size) % (vocab_size - FIRST)).tolist() for size in rng.integers(0, 60, 1_000)
    ]
    whole = fit(*rows, vocab_size=vocab_size, order=4)
    parts = fit(*rows, vocab_size=vocab_size, order=4, memory=1_000_000)
    for name, array in whole.arrays().items():
        np.testing.assert_array_equal(array, parts.arrays()[name], err_msg=name)


def test_a_unigram_does_not_care_about_order() -> None:
    model = fit([A, B, C], [A, A], order=1, smoothing="none")
    assert probability(model, A, B, C) == pytest.approx(probability(model, C, A, B))


def test_a_bigram_without_smoothing_is_the_hand_computed_table() -> None:
    # sun sun rain | sun rain rain : after sun 1 sun, 2 rain; after rain 1 rain, 2 ends
    model = fit([A, A, B], [A, B, B], order=2, smoothing="none")
    assert probability(model, A, B) == pytest.approx(1 * (2 / 3) * (2 / 3))


def test_what_was_never_seen_is_impossible_without_smoothing() -> None:
    model = fit([A, B], order=2, smoothing="none")
    logs = model.score_ids(flat([B, A]))
    assert not np.isnan(logs).any()
    assert logs[1] == -np.inf


@pytest.mark.parametrize("order", [1, 2, 3])
@pytest.mark.parametrize("smoothing", SMOOTHINGS)
def test_every_probability_equals_the_formula(smoothing: str, order: int) -> None:
    rng = np.random.default_rng(4)
    rows = [(FIRST + rng.integers(0, 3, size)).tolist() for size in rng.integers(0, 6, 30)]
    model = fit(*rows, order=order, smoothing=smoothing, k=0.5)
    discounts = _discounts_of(model, rows)
    predicted = [EOS, UNK, A, B, C]
    slow = Reference([[BOS, *row, EOS] for row in rows], order, predicted, discounts)
    for row in [[A, B, C, A], [C, C], [], [UNK, A]]:
        logs = model.score_ids(flat(row))
        expected = [slow.p(smoothing, s, (BOS, *row)[: i + 1], 0.5) for i, s in enumerate([*row, EOS])]
        np.testing.assert_allclose(np.exp(logs[1:].astype(float)), expected, rtol=1e-5, atol=1e-12)


def _discounts_of(model: Ngram, rows: list[list[int]]) -> list[list[float]]:
    from chainrule.models.ngram.estimate import estimate

    trie = count_ngrams(flat(*rows), model.config.vocab_size, model.config.order, Space())
    return estimate(trie, ~model.suppressed, model.config.smoothing, 0.5, None, Space()).discounts


def test_kneser_ney_discounts_are_those_of_chen_and_goodman() -> None:
    from chainrule.models.ngram.estimate import _modified

    notes: list[int] = []
    y = 10 / (10 + 2 * 5)
    expected = [0, 1 - 2 * y * 5 / 10, 2 - 3 * y * 3 / 5, 3 - 4 * y * 2 / 3]
    assert _modified(np.array([0, 10, 5, 3, 2]), 1, notes).tolist() == pytest.approx(expected)
    assert not notes


def test_three_days_of_weather_work_and_the_fallback_is_said() -> None:
    model = fit([A, A, B], order=5)
    assert model.notes and "0.5, 1, 1.5" in model.notes[0]
    assert 0 < probability(model, A, B) < 1


@settings(max_examples=40, deadline=None)
@given(rows_of, st.integers(1, 4), st.sampled_from(SMOOTHINGS), st.sampled_from([(), (0, 1), (0, 0, 2)]))
def test_probabilities_sum_to_one_after_every_history(
    rows: list[list[int]], order: int, smoothing: str, prune: tuple[int, ...]
) -> None:
    import torch

    model = fit(*rows, vocab_size=FIRST + 5, order=order, smoothing=smoothing, prune=prune)
    history = torch.from_numpy(flat(*rows, [FIRST + 4, A, B]).astype(np.int64))[None]
    hidden, _ = model.read(history, model.start(1))
    totals = model.logits(hidden).double().exp().sum(-1)
    assert torch.allclose(totals, torch.ones_like(totals), atol=1e-5)


def test_pruning_forgets_rare_ngrams_of_the_orders_it_names() -> None:
    rows = [[A, B, C]] * 3 + [[A, C, B]]
    model = fit(*rows, order=3, prune=(0, 0, 1))
    full = fit(*rows, order=3)
    assert model.sizes[:2] == full.sizes[:2]
    assert model.sizes[2] < full.sizes[2]


@pytest.mark.parametrize("prune", [(1,), (0, 2, 1)])
def test_thresholds_that_make_no_sense_are_refused(prune: tuple[int, ...]) -> None:
    with pytest.raises(ConfigError, match="begin with 0 and never fall"):
        NgramConfig(prune=prune)


def test_an_order_out_of_range_is_refused() -> None:
    with pytest.raises(ConfigError, match="at most 9"):
        NgramConfig(order=10)


def test_who_listens_hears_the_length_of_the_ngram_used() -> None:
    model = fit([A, B, C], [A, B, B], order=3)
    with listening(model) as heard:
        model.score_ids(flat([A, B, A]))
    [orders] = heard["order"]
    assert orders.tolist() == [0, 2, 3, 1, 1]


@settings(max_examples=60, deadline=None)
@given(rows_of, rows_of, st.integers(1, 5))
def test_the_order_used_is_that_of_the_longest_ngram_seen(
    rows: list[list[int]], asked: list[list[int]], order: int
) -> None:
    model, seen = (
        fit(*rows, vocab_size=FIRST + 4, order=order),
        count([[BOS, *row, EOS] for row in rows], order),
    )
    with listening(model, "order") as heard:
        model.score_ids(flat(*asked))
    expected = []
    for whole in ([BOS, *row, EOS] for row in asked):
        for end in range(2, len(whole) + 1):
            known = [n for n in range(1, order + 1) if n <= end and tuple(whole[end - n : end]) in seen]
            expected.append(max(known, default=1))
    [orders] = heard["order"]
    assert orders[flat(*asked) != BOS].tolist() == expected


@pytest.mark.parametrize("smoothing", ["kneser-ney", "add-k"])
def test_orders_come_in_the_order_of_the_ids_whatever_the_threads(
    smoothing: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from chainrule.models.ngram import family

    model = fit([A, B, C], [A, B, B], order=3, smoothing=smoothing)
    rows = [[A, B, C, B], [B], [C, C, A, B]] * 20
    expected = []
    for row in rows:
        with listening(model, "order") as heard:
            alone = model.score_ids(flat(row))
        expected += heard["order"][0].tolist()
        np.testing.assert_array_equal(alone, model.score_ids(flat(row)))
    monkeypatch.setattr(family, "PIECE", 16)
    monkeypatch.setenv("CHAINRULE_THREADS", "2")
    with listening(model, "order") as heard:
        model.score_ids(flat(*rows))
    [together] = heard["order"]
    assert together.tolist() == expected


def test_pieces_for_threads_hold_whole_sequences(monkeypatch: pytest.MonkeyPatch) -> None:
    from chainrule.models.ngram import family

    model = fit([A, B, C], [A, B, B], order=3)
    ids = flat(*[[A, B, C, B]] * 50)
    whole = model.score_ids(ids)
    monkeypatch.setattr(family, "PIECE", 16)
    monkeypatch.setenv("CHAINRULE_THREADS", "2")
    np.testing.assert_array_equal(model.score_ids(ids), whole)


def test_an_open_vocabulary_keeps_something_for_the_unknown() -> None:
    model = fit([A, B, C], [A, B, B], order=2)
    assert probability(model, UNK) > 0
    closed = fit([A, B, C], [A, B, B], order=2, suppressed=(0, BOS, UNK, 4))
    assert probability(closed, UNK) == 0
    assert math.isclose(np.exp(closed.logs_of(np.arange(1, 1 + FIRST + 3))).sum(), 1, rel_tol=1e-5)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32), st.integers(1, 4))
def test_arrays_made_to_harm_are_walked_without_leaving_them(seed: int, order: int) -> None:
    rng = np.random.default_rng(seed)
    model = fit([A, B, C], [C, C, A, B], [], order=order)
    harm = {name: array.copy() for name, array in model.arrays().items()}
    for name in ("word", "contexts", "leaves"):
        harm[name][:] = rng.integers(-(2**31), 2**31, harm[name].shape)
        some = rng.random(harm[name].shape) < 0.5
        harm[name][some] = rng.integers(-2, 40, int(some.sum()))
    broken = Ngram(model.config, harm)
    assert len(broken.score_ids(flat([A, B, C, C, UNK, A]))) == 8
    torch = pytest.importorskip("torch")
    hidden, _ = broken.read(torch.tensor([[BOS, A, B, C, A, EOS]]), broken.start(1))
    assert broken.logits(hidden).shape == (1, 6, FIRST + 3)


@pytest.mark.parametrize("name", ["levels", "word", "contexts", "leaves"])
def test_arrays_of_the_wrong_size_are_refused(name: str) -> None:
    model = fit([A, B, C], order=3)
    arrays = dict(model.arrays())
    for wrong in (arrays[name][:-1], arrays[name].astype(np.float64)):
        with pytest.raises(ModelError, match="not the arrays of an n-gram"):
            Ngram(model.config, arrays | {name: wrong})
    with pytest.raises(ModelError, match="not the arrays of an n-gram"):
        Ngram(model.config, {other: array for other, array in arrays.items() if other != name})


def test_ids_outside_the_vocabulary_are_refused() -> None:
    with pytest.raises(ModelError, match="0 to 7"):
        fit([A, B, C], order=3).score_ids(np.array([BOS, 8, EOS], np.int32))
    with pytest.raises(ModelError, match="0 to 7"):
        fit([A, B, -5], order=3)


def test_a_forecast_from_a_sample_is_near_what_the_whole_needs() -> None:
    rng = np.random.default_rng(0)
    ids = flat(*[(FIRST + rng.zipf(1.3, 20) % 5_000).tolist() for _ in range(20_000)])
    vocab_size = FIRST + 5_000
    sample = ids[: len(ids) // 8 // 22 * 22]
    symbols = int((ids != BOS).sum())
    costs = Ngram.cost_forecasts(sample, vocab_size, symbols)
    exact = Ngram.cost_forecasts(ids, vocab_size, symbols)
    for name, cost in costs.items():
        assert cost.memory == pytest.approx(exact[name].memory, rel=0.25)
        assert cost.seconds == pytest.approx(exact[name].seconds, rel=0.25)
    assert costs["ngram, order 5"].memory > costs["ngram, order 3"].memory


def test_the_order_is_chosen_on_what_was_held_out() -> None:
    rng = np.random.default_rng(0)
    chain = np.zeros(4_000, np.int64)
    for i in range(2, len(chain)):  # each symbol depends on the two before it, and nothing else
        chain[i] = (chain[i - 1] * 3 + chain[i - 2] + (rng.random() < 0.1)) % 5
    valid = flat((FIRST + chain[-500:]).tolist())
    config = NgramConfig(vocab_size=FIRST + 5)
    model = Ngram.learn(config, flat((FIRST + chain[:3_000]).tolist()), valid=valid)
    assert model.config.order == 3
    assert "order 3" in model.notes[0]


def test_without_anything_held_out_a_usual_order_is_taken() -> None:
    assert Ngram.learn(NgramConfig(vocab_size=FIRST + 3), flat([A, B, C])).config.order == 7
