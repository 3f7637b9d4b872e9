"""Forecasts are those of the model, in units of the data, and are judged beside what anybody could guess."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pytest

from chainrule.codecs.base import Texts
from chainrule.codecs.numbers import Numbers, NumbersConfig, parse
from chainrule.errors import DataError, ModelError
from chainrule.judge.forecast import ForecastScore, distributions, forecast_score, quantiles
from chainrule.models.base import LanguageModel, ModelConfig
from chainrule.models.ngram import Ngram, NgramConfig
from chainrule.models.registry import family
from chainrule.models.windows import LONG
from chainrule.seasons import season
from chainrule.symbols import BOS, EOS, FIRST
from tiny import Table, TinyMasked


@dataclass(frozen=True)
class Bins:
    """Bins by hand."""

    edges: tuple[float, ...]
    values: tuple[float, ...]


THREE = Bins((0.0, 1.0, 3.0, 7.0), (0.5, 2.0, 5.0))


def table(rows: dict[int, tuple[float, ...]], bins: int) -> Table:
    """A model that knows p(next bin | last symbol); a sequence ends with one tenth."""
    chances = np.zeros((FIRST + bins, FIRST + bins))
    for last, row in rows.items():
        chances[last, EOS] = 0.1
        chances[last, FIRST:] = 0.9 * np.array(row)
    return Table(ModelConfig(vocab_size=FIRST + bins), chances)


def test_quantiles_lie_inside_bins_in_proportion_and_an_end_does_not_count() -> None:
    model = table({BOS: (0.25, 0.5, 0.25), FIRST: (0.0, 1.0, 0.0), FIRST + 1: (0.9, 0.05, 0.05)}, 3)
    ids = np.array([BOS, FIRST, FIRST + 1, EOS, BOS, FIRST + 1, FIRST + 1, EOS])
    found = quantiles(model, ids, THREE)
    first, certain, low = [0.4, 2.0, 5.4], [1.2, 2.0, 2.8], [1 / 9, 5 / 9, 1.0]
    assert found == pytest.approx(np.array([first, certain, first, low]))


def test_bins_of_one_value_each_are_not_interpolated() -> None:
    model = table({BOS: (0.3, 0.3, 0.4)}, 3)
    found = quantiles(model, np.array([BOS, FIRST, EOS]), Bins((1.0, 1.5, 6.0, 10.0), (1.0, 2.0, 10.0)))
    assert found.tolist() == [[1.0, 2.0, 10.0]]


def test_a_model_that_knows_no_value_says_that_all_bins_are_alike() -> None:
    model = table({BOS: (1.0, 0.0, 0.0)}, 3)  # after a value nothing is possible at all
    found = quantiles(model, np.array([BOS, FIRST, FIRST, EOS]), THREE, (1 / 6, 0.5))
    assert found[1] == pytest.approx([0.5, 2.0])


def some_ids(rng: np.random.Generator, vocab_size: int, lengths: list[int]) -> np.ndarray:
    rows = [[BOS, *rng.integers(FIRST, vocab_size, length), EOS] for length in lengths]
    return np.concatenate(rows).astype(np.int32)


def carrying(name: str) -> LanguageModel:
    model = family(name).tiny()
    config = replace(model.config, stateful=True)
    return type(model).from_arrays(config, model.arrays())


@pytest.mark.parametrize(
    "model",
    [*(family(name).tiny() for name in ("ngram", "window", "lstm", "gpt", "mix")), carrying("lstm")],
    ids=["ngram", "window", "lstm", "gpt", "mix", "carrying"],
)
@pytest.mark.parametrize("lengths", [[3, 1, 40, 17, 0, 25], [9, LONG + 200]], ids=["short", "long"])
def test_what_is_forecast_from_is_what_is_scored(model: LanguageModel, lengths: list[int]) -> None:
    ids = some_ids(np.random.default_rng(0), model.config.vocab_size, lengths)
    logs = np.zeros(len(ids))
    with model.inference():
        for places, logits in distributions(model, ids, batch=4):
            found = logits.double().log_softmax(1).numpy()
            logs[places] = found[np.arange(len(places)), ids[places]]
    assert logs == pytest.approx(np.where(ids >= FIRST, model.score_ids(ids), 0), abs=1e-4)


def test_a_long_sequence_is_read_in_parts_and_each_value_is_forecast_once() -> None:
    model = Table.random(np.random.default_rng(1), FIRST + 3)
    ids = some_ids(np.random.default_rng(2), FIRST + 3, [2 * LONG + 77])
    places = np.concatenate([found for found, _ in distributions(model, ids)])
    assert np.array_equal(np.sort(places), np.flatnonzero(ids >= FIRST))
    ordered = {FIRST + at: quantiles(model, np.array([BOS, FIRST + at, FIRST]), THREE)[1] for at in range(3)}
    assert quantiles(model, ids, THREE)[5000] == pytest.approx(ordered[int(ids[5000])])


def calibrated(
    rng: np.random.Generator, sequences: int, length: int
) -> tuple[Table, np.ndarray, np.ndarray, Bins]:
    """A model, and values that come just as it says: bins by its table, evenly spread inside."""
    edges = np.array([-4.0, -2.0, -1.0, 0.0, 0.5, 1.0, 3.0, 9.0])
    weights = rng.random((8, 7)) ** 2
    chances = weights / weights.sum(1, keepdims=True)
    model = table({BOS: chances[0], **{FIRST + at: chances[at + 1] for at in range(7)}}, 7)
    ids, values = [], []
    for _ in range(sequences):
        last = 0
        ids.append(BOS)
        for _ in range(length):
            bin = int(rng.choice(7, p=chances[last]))
            ids.append(FIRST + bin)
            values.append(rng.uniform(edges[bin], edges[bin + 1]))
            last = bin + 1
        ids.append(EOS)
    bins = Bins(tuple(edges.tolist()), tuple(((edges[1:] + edges[:-1]) / 2).tolist()))
    return model, np.array(ids), np.array(values), bins


def test_80_of_100_values_lie_where_a_calibrated_model_says() -> None:
    found = forecast_score(*calibrated(np.random.default_rng(3), 20, 150))
    assert found.count == 20 * 149 and 0.78 < found.coverage < 0.82
    assert found.mae < found.naive_mae and found.seasonal_mae is found.season is None


def test_figures_are_what_a_hand_computes() -> None:
    model = table({BOS: (0.25, 0.5, 0.25), **{FIRST + at: (0.25, 0.5, 0.25) for at in range(3)}}, 3)
    ids = np.array(
        [BOS, FIRST, FIRST + 2, FIRST, FIRST + 1, EOS, BOS, FIRST + 1, EOS, BOS, FIRST, FIRST, EOS]
    )
    values = np.array([0.2, 6.0, 0.3, 2.0, 1.5, 0.5, 0.9])  # quantiles are 0.4, 2.0, 5.4 everywhere
    found = forecast_score(model, ids, values, THREE, season=2)
    assert found == ForecastScore(
        mae=pytest.approx((4.0 + 1.7 + 0.0 + 1.1) / 4),
        coverage=0.5,
        naive_mae=pytest.approx((5.8 + 5.7 + 1.7 + 0.4) / 4),
        seasonal_mae=pytest.approx((5.8 + 0.1 + 4.0 + 0.4) / 4),
        season=2,
        count=4,
    )


def wave(count: int, noise: float, seed: int = 0, period: int = 24) -> np.ndarray:
    steps = np.arange(count)
    return 10 + 5 * np.sin(2 * np.pi * steps / period) + np.random.default_rng(seed).normal(0, noise, count)


def encoded(codec: Numbers, values: np.ndarray) -> np.ndarray:
    return codec.encode(Texts.of([" ".join(map(repr, values.tolist()))])).ids


def test_of_a_noisy_wave_the_season_is_found_and_the_rival_that_knows_it_wins() -> None:
    train, held = np.split(wave(1500, 0.4), [1200])
    texts = Texts.of([" ".join(map(repr, train.tolist()))])
    codec = Numbers.learn(lambda: [texts], NumbersConfig(bins=32))
    config = NgramConfig(vocab_size=codec.size, suppressed=codec.suppressed, order=3)
    model = Ngram.learn(config, encoded(codec, train))
    assert season(*parse(texts)) == 24
    found = forecast_score(model, encoded(codec, held), held, codec.bins, season(train))
    assert found.seasonal_mae is not None and found.seasonal_mae < 0.7 * found.naive_mae
    assert found.mae < found.naive_mae, "a trigram knows whether the wave rises or falls"
    assert 0.65 < found.coverage < 0.95


@pytest.mark.parametrize("noise", [0.1, 2.0, 5.0])
@pytest.mark.parametrize("period", [7, 24, 100])
def test_a_season_is_found_through_noise_and_trend(period: int, noise: float) -> None:
    trend = np.linspace(0, 40, 1000)
    assert abs((season(wave(1000, noise, period, period) + trend) or 0) - period) <= period // 50


def test_a_season_is_found_across_sequences_that_begin_anywhere_in_it() -> None:
    rows = [wave(60 + at, 1.0, at, 7)[at:] for at in range(30)]
    assert season(np.concatenate(rows), [60] * 30) == 7


def test_a_week_wins_over_a_day_if_it_explains_more() -> None:
    profile = np.random.default_rng(4).normal(0, 3, 21)
    values = np.tile(profile, 40) + np.tile([0.0, 1.0, 0.0], 280)
    assert season(values) == 21 and season(np.tile([1.0, 5.0], 50)) == 2


def test_where_nothing_comes_round_there_is_no_season() -> None:
    rng = np.random.default_rng(5)
    for length in (30, 300, 2000):
        assert season(rng.normal(size=length)) is None
        assert season(np.cumsum(rng.normal(size=length))) is None
    assert (
        season(np.ones(100)) is season(np.arange(100.0)) is season(np.zeros(0)) is season(np.ones(3)) is None
    )


def test_what_cannot_be_judged_is_refused() -> None:
    model = table({BOS: (0.25, 0.5, 0.25)}, 3)
    with pytest.raises(ModelError, match="1 symbols was expected, and 2 came"):
        forecast_score(model, np.array([BOS, FIRST, EOS]), np.ones(2), THREE)
    with pytest.raises(DataError, match="none has two"):
        forecast_score(model, np.array([BOS, FIRST, EOS]), np.ones(1), THREE)
    with pytest.raises(ModelError, match="left to right"):
        list(distributions(TinyMasked.tiny(), np.array([BOS, FIRST, EOS])))
