"""`forecast`: what comes next in a series of numbers or events, from many sampled paths."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from chainrule.config import LARGEST_SEED, Config, option
from chainrule.errors import ConfigError
from chainrule.seasons import EARLY, Level
from chainrule.symbols import EOS, FIRST
from chainrule.use.series import Series, series_of
from chainrule.use.times import times_after

if TYPE_CHECKING:
    from chainrule.bundle import Bundle
    from chainrule.codecs.base import Codec
    from chainrule.data.sources import Given
    from chainrule.draw.picture import Picture

ROWS = 512  # paths drawn side by side
SHOWN = 3  # events of a step that are named
ENDED = "(end)"  # the sequence is over


@dataclass(frozen=True, kw_only=True)
class ForecastConfig(Config):
    """Settings of forecasting."""

    steps: int = option(14, "how many values to forecast", low=1, high=100_000)
    paths: int = option(200, "how many paths to sample; quantiles are theirs", low=1, high=100_000)
    interval: float = option(
        0.8, "share of the paths that lie in the prediction interval", low=0.01, high=0.999
    )
    seed: int = option(1, "seed of the random numbers", low=0, high=LARGEST_SEED)


@dataclass(frozen=True)
class ForecastStep:
    """One step ahead."""

    step: int  # from 1
    time: str | None = None  # where the sort column advances evenly
    median: float | None = None  # of numbers
    low: float | None = None
    high: float | None = None
    events: tuple[
        tuple[str, float], ...
    ] = ()  # of events: the most frequent ones, and their share of the paths

    def to_dict(self) -> dict[str, Any]:
        """For scripts."""
        named = {"step": self.step} | ({} if self.time is None else {"time": self.time})
        if self.events:
            return named | {"events": [{"event": name, "probability": share} for name, share in self.events]}
        return named | {"median": self.median, "low": self.low, "high": self.high}


@dataclass(frozen=True, eq=False, repr=False)
class Forecast:
    """The steps that follow one series, and the paths they were found by."""

    name: str | None  # of the series
    history: tuple[str, ...]
    steps: tuple[ForecastStep, ...]
    paths: np.ndarray  # (paths, steps): values, or ids of events
    interval: float
    times: tuple[str, ...] | None = None  # of the history

    def __repr__(self) -> str:
        return f"<Forecast of {self.name or 'a series'}, {len(self.steps)} steps, {len(self.paths)} paths>"

    def to_dict(self) -> dict[str, Any]:
        """For scripts."""
        return {
            "series": self.name,
            "interval": self.interval,
            "steps": [one.to_dict() for one in self.steps],
        }


@dataclass(frozen=True, eq=False)
class Forecasts(Sequence[Forecast]):
    """A forecast for each series."""

    each: tuple[Forecast, ...]
    notes: tuple[str, ...] = ()  # what is odd about the history, for people

    def __len__(self) -> int:
        return len(self.each)

    def __getitem__(self, place: Any) -> Any:
        return self.each[place]

    def __iter__(self) -> Iterator[Forecast]:
        return iter(self.each)

    def __repr__(self) -> str:
        steps = len(self.each[0].steps)
        return f"<Forecasts of {len(self)} series, {steps} steps, {len(self.each[0].paths)} paths each>"

    def plot(self) -> Picture:
        """History, median and interval of the first series: `found.plot().save("forecast.svg")`."""
        from chainrule.use.pictures import forecast_picture

        return forecast_picture(self)

    def _repr_html_(self) -> str:
        return self.plot()._repr_html_()

    def to_dict(self) -> dict[str, Any]:
        """For scripts."""
        return {"forecasts": [one.to_dict() for one in self.each]}

    def rows(self) -> list[dict[str, Any]]:
        """A table with one row a step: `pandas.DataFrame(found.rows())`."""
        return [{"series": one.name, **_flat(step)} for one in self.each for step in one.steps]


def _flat(step: ForecastStep) -> dict[str, Any]:
    values = step.to_dict()
    for place, one in enumerate(values.pop("events", ()), 1):
        values |= {f"event_{place}": one["event"], f"probability_{place}": one["probability"]}
    return values


def forecast(
    bundle: Bundle, data: Given | None, config: ForecastConfig, reading: Mapping[str, Any]
) -> Forecasts:
    """Forecast every series of the data from its end on; None: of the data that the model was trained on."""
    if bundle.model.reads != "left":
        raise ConfigError(
            f"A {bundle.body.family} reads both ways and forecasts nothing. Use a model that reads left to right."
        )
    found, notes = series_of(bundle, data, reading)
    drawn = _paths(bundle, [one.encoded(bundle.codec)[:-1] for one in found], config)
    tell = _numbers if bundle.codec.bins is not None else _events
    return Forecasts(
        tuple(tell(bundle.codec, one, ids, config) for one, ids in zip(found, drawn, strict=True)), notes
    )


def _paths(bundle: Bundle, prompts: Sequence[np.ndarray], config: ForecastConfig) -> Iterator[np.ndarray]:
    """Ids (paths, steps) for each prompt; numbers do not end, and a sequence of events that has ended stays so."""
    from chainrule.decode.config import Constraints, GenerationConfig
    from chainrule.decode.sample import joined, sample

    unwritten, numbers = bundle.codec.unwritten, bundle.codec.bins is not None
    never = Constraints(stop=(), never=(EOS, *unwritten)) if numbers else Constraints(never=unwritten)
    for number, prompt in enumerate(prompts):
        drawn: list[list[int]] = []
        while len(drawn) < config.paths:
            count = min(ROWS, config.paths - len(drawn))
            seed = config.seed + number * config.paths + len(drawn)
            wanted = GenerationConfig(length=config.steps, seed=seed, count=count)
            found = joined(sample(bundle.model, [prompt.tolist()], wanted, never))
            drawn += [path + [EOS] * (config.steps - len(path)) for path in found]
        yield np.array(drawn)


def _numbers(codec: Codec, series: Series, ids: np.ndarray, config: ForecastConfig) -> Forecast:
    """Quantiles of the values of all paths."""
    values = _values(
        codec, series, ids, np.random.default_rng([config.seed, int(ids.sum())])
    )  # (paths, steps)
    tail = (1 - config.interval) / 2
    low, middle, high = np.quantile(values, [tail, 0.5, 1 - tail], axis=0)  # (steps,) each
    times = times_after(series.times, config.steps)
    steps = (
        ForecastStep(at + 1, times[at], float(middle[at]), float(low[at]), float(high[at]))
        for at in range(config.steps)
    )
    return Forecast(series.name, series.values, tuple(steps), values, config.interval, series.times)


def _values(codec: Codec, series: Series, ids: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Values of paths (paths, steps): anywhere in their bins, and added to the level they are distances from."""
    from chainrule.codecs.base import Texts
    from chainrule.codecs.numbers import parse

    bins = codec.bins
    assert bins is not None
    edges, middles, place = np.array(bins.edges), np.array(bins.values), ids - FIRST
    single = edges[0] == middles[0] and edges[-1] == middles[-1]  # each bin is one value
    drawn = middles[place] if single else rng.uniform(edges[place], edges[place + 1])
    history = parse(Texts.of([" ".join(series.values).encode()]))[0]
    return _plausible(_levelled(drawn, history, bins.level), history)


def _levelled(drawn: np.ndarray, history: np.ndarray, level: Level) -> np.ndarray:
    """Paths (paths, steps) with the level added, which follows each of them."""
    if not level.lag:
        return drawn
    last, unit = level.after(history)
    levels = np.tile(last, (len(drawn), 1))  # (paths, lag)
    if np.isnan(levels).any() or math.isnan(unit):
        least = level.lag + (EARLY if level.scaled else 0)
        raise ConfigError(
            f"A history of at least {least} known values is needed, and one of {len(history)} came."
        )
    values, distances = np.empty_like(drawn), unit * drawn
    for at in range(drawn.shape[1]):
        place = at % level.lag
        values[:, at] = levels[:, place] + distances[:, at]
        levels[:, place] += level.weight * distances[:, at]
    return values


def _plausible(values: np.ndarray, history: np.ndarray) -> np.ndarray:
    """Values like those of the history: none below 0, and whole numbers, where all of them are so."""
    known = history[~np.isnan(history)]
    if not len(known):
        return values
    values = np.maximum(values, 0.0) if (known >= 0).all() else values
    return np.round(values) if (known == np.round(known)).all() else values


def _events(codec: Codec, series: Series, ids: np.ndarray, config: ForecastConfig) -> Forecast:
    """The most frequent events of each step."""
    times, steps = times_after(series.times, config.steps), []
    for at in range(config.steps):
        counted = Counter(ids[:, at].tolist()).most_common(SHOWN)
        events = tuple(
            (ENDED if one == EOS else codec.token(one), count / len(ids)) for one, count in counted
        )
        steps.append(ForecastStep(at + 1, times[at], events=events))
    return Forecast(series.name, series.values, tuple(steps), ids, config.interval)
