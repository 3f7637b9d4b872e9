"""Forecasts of four made series beside seasonal-naive and exponential smoothing. Prints a Markdown table.

    pip install statsmodels
    python benchmarks/forecast.py [--budget 30s]

Each series has 1,200 values; models learn from the first 1,000 and forecast 14 steps from 14 origins in the rest, with
the history up to there. Exponential smoothing (statsmodels' ETSModel) is fitted again at every origin, in the form that
has the lowest AIC of four: with and without a damped trend, with and without the season. MASE: mean absolute error over
that of seasonal-naive in the first 1,000 values. Coverage: share of values in the 80 % interval; 80 % would be right.
"""

from __future__ import annotations

import argparse
import itertools
import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np

import chainrule as cr

LEARNT, STEPS, ORIGINS = 1_000, 14, 14
LOW, HIGH = 0.1, 0.9
Forecast = tuple[np.ndarray, np.ndarray, np.ndarray]  # median, low, high (steps,)


def series() -> dict[str, tuple[np.ndarray, int]]:
    """Values and their season."""
    rng, t = np.random.default_rng(7), np.arange(LEARNT + STEPS * ORIGINS + 4)
    week = np.sin(2 * np.pi * t / 7) + 0.5 * np.cos(4 * np.pi * t / 7)
    shifts = np.repeat(rng.normal(0, 8, 14), 100)[: len(t)]
    rate = np.exp(1.2 + 0.6 * np.sin(2 * np.pi * t / 24))
    return {
        "trend and season": (50 + 0.05 * t + 6 * week + rng.normal(0, 1.5, len(t)), 7),
        "season": (20 + 8 * np.sin(2 * np.pi * t / 12) + rng.normal(0, 2, len(t)), 12),
        "level shifts": (100 + shifts + rng.normal(0, 1, len(t)), 1),
        "counts": (rng.poisson(rate).astype(float), 24),
    }


def seasonal_naive(history: np.ndarray, season: int) -> Forecast:
    """The last season again; the interval is that of past errors, wider after each season."""
    errors = np.std(history[season:] - history[:-season])
    steps = np.arange(STEPS)
    middle = history[-season:][steps % season]
    spread = 1.2816 * errors * np.sqrt(1 + steps // season)
    return middle, middle - spread, middle + spread


def smoothing(history: np.ndarray, season: int) -> Forecast:
    """Exponential smoothing, the form chosen by AIC, its interval simulated."""
    from statsmodels.tsa.exponential_smoothing.ets import ETSModel

    fits = []
    for trend, seasonal in itertools.product([None, "add"], [None, "add"] if season > 1 else [None]):
        made = ETSModel(
            history,
            error="add",
            trend=trend,
            damped_trend=bool(trend),
            seasonal=seasonal,
            seasonal_periods=season if seasonal else None,
        )
        fits.append(made.fit(disp=False))
    best = min(fits, key=lambda one: one.aic)
    paths = best.simulate(STEPS, anchor="end", repetitions=500, rng=np.random.default_rng(1))
    low, high = np.quantile(np.asarray(paths), [LOW, HIGH], axis=1)
    return np.asarray(best.forecast(STEPS)), low, high


def ours(model: str, values: np.ndarray, folder: Path, **options: object) -> Callable[..., Forecast]:
    """A model of the first values, with the difference that suits them."""
    lm = cr.fit(values[:LEARNT].tolist(), model=model, codec="numbers", difference="auto", **options)

    def found(history: np.ndarray, season: int) -> Forecast:
        [one] = lm.forecast(history.tolist(), STEPS, paths=500)
        columns = ([getattr(step, name) for step in one.steps] for name in ("median", "low", "high"))
        middle, low, high = (np.array(column) for column in columns)
        return middle, low, high

    return found


def judged(forecast: Callable[..., Forecast], values: np.ndarray, season: int) -> tuple[float, float]:
    """MASE and coverage over all origins."""
    scale = np.abs(values[season:LEARNT] - values[: LEARNT - season]).mean()
    errors, inside = [], []
    for number in range(ORIGINS):
        at = LEARNT + number * STEPS
        middle, low, high = forecast(values[:at], season)
        truth = values[at : at + STEPS]
        errors.append(np.abs(middle - truth).mean() / scale)
        inside.append(((low <= truth) & (truth <= high)).mean())
    return float(np.mean(errors)), float(np.mean(inside))


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--budget", default="30s")
    asked = parser.parse_args()
    warnings.simplefilter("ignore")
    print("| series | forecast | MASE | coverage of 80 % |\n|---|---|---|---|")
    for name, (values, season) in series().items():
        with tempfile.TemporaryDirectory() as folder:
            ways = {
                "seasonal-naive": seasonal_naive,
                "exponential smoothing": smoothing,
                "chainrule, n-gram": ours("ngram", values, Path(folder)),
                f"chainrule, gru, {asked.budget}": ours("gru", values, Path(folder), budget=asked.budget),
            }
            for way, forecast in ways.items():
                mase, coverage = judged(forecast, values, season)
                print(f"| {name} | {way} | {mase:.3f} | {coverage:.0%} |", flush=True)


if __name__ == "__main__":
    main()
