"""Forecasts of the next value from a model over bins, judged beside naive and seasonal-naive baselines.

Before every held-out value a model has said how probable each bin is. That gives quantiles: the median is a forecast,
and between the lowest and the highest tenth should lie 80 of 100 values. Two baselines know no model at all: the
last value again, and the value one season ago.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np

from chainrule.errors import DataError, ModelError
from chainrule.models.base import BATCH, CHUNK, LanguageModel
from chainrule.models.windows import WINDOW, TokenWindow, read_windows
from chainrule.seasons import ago, carried_forward
from chainrule.symbols import BOS, FIRST

if TYPE_CHECKING:
    from torch import Tensor

    from chainrule.models.state import State

LEVELS = (0.1, 0.5, 0.9)


class Binned(Protocol):
    """Where bins begin and what stands for them: `codec.bins` of the numbers codec."""

    @property
    def edges(self) -> Sequence[float]:
        """Bins + 1, rising."""

    @property
    def values(self) -> Sequence[float]:
        """One a bin."""


@dataclass(frozen=True)
class ForecastScore:
    """How near forecasts came, each figure over the same held-out values: all but the first of each sequence."""

    mae: float  # mean absolute error of the median
    coverage: float  # share of values between the 10 % and the 90 % quantile; 0.8 would be just right
    naive_mae: float  # of the last value again
    seasonal_mae: (
        float | None
    )  # of the value a season ago, or the last one where a sequence is not yet that long
    season: int | None  # None: the training values show none
    count: int  # how many values were forecast


def forecast_score(
    model: LanguageModel,
    ids: np.ndarray,
    values: np.ndarray,
    bins: Binned,
    season: int | None = None,
    base: np.ndarray | float = 0.0,
    scale: np.ndarray | float = 1.0,
) -> ForecastScore:
    """Judge forecasts of `values`, the numbers of flat sequences `ids` before they were put into bins.

    `base` was taken from each value, and the rest divided by `scale`, before it was put into its bin. Missing values
    (NaN) are not judged, and a baseline has the last one that is known instead.
    """
    truth = np.asarray(values, np.float64)
    lengths = _lengths(np.asarray(ids), len(truth))
    held = carried_forward(truth, lengths)
    naive = ago(held, lengths, 1)
    known = ~np.isnan(naive + truth + base + scale)
    if not known.any():
        raise DataError("Forecasts are judged from the second value of a sequence on, and none has two.")
    below, unit = (np.broadcast_to(one, len(truth))[:, None] for one in (base, scale))  # (values, 1) each
    levels = below + unit * quantiles(model, ids, bins)  # (values, levels)
    low, middle, high = levels[known].T
    truth = truth[known]
    return ForecastScore(
        mae=_error(middle, truth),
        coverage=float(((low <= truth) & (truth <= high)).mean()),
        naive_mae=_error(naive[known], truth),
        seasonal_mae=None if season is None else _error(_seasonal(held, lengths, season)[known], truth),
        season=season,
        count=int(known.sum()),
    )


def quantiles(
    model: LanguageModel, ids: np.ndarray, bins: Binned, levels: Sequence[float] = LEVELS, batch: int = BATCH
) -> np.ndarray:
    """What was expected before each value of flat sequences `BOS … EOS`: (values, levels), in units of the data.

    That a sequence might have ended is left out: a value is what is asked for.
    """
    ids = np.asarray(ids)
    found = np.empty((len(ids), len(levels)))
    with model.inference():
        for places, logits in distributions(model, ids, batch):
            found[places] = quantiles_of(logits, bins, levels)
    return found[ids >= FIRST]


def quantiles_of(logits: Tensor, bins: Binned, levels: Sequence[float] = LEVELS) -> np.ndarray:
    """Quantiles (n, levels) of logits (n, V), given that a value comes."""
    edges, middles = np.asarray(bins.edges, np.float64), np.asarray(bins.values, np.float64)
    return _inverse(_chances(logits[:, FIRST : FIRST + len(middles)]), edges, middles, levels)


def distributions(
    model: LanguageModel, ids: np.ndarray, batch: int = BATCH, asked: np.ndarray | None = None
) -> Iterator[tuple[np.ndarray, Tensor]]:
    """Places (n,) in flat sequences, and the logits (n, V) before each; together they are all that are `asked` for.

    That is marked for every position; if not given, all values are.
    """
    if model.reads != "left":
        raise ModelError(
            "Forecasts come from models that read left to right. This one sees what comes after a value."
        )
    asked = ids >= FIRST if asked is None else asked
    width = min(WINDOW, max(1, CHUNK // (batch * model.config.vocab_size)))

    def read(window: TokenWindow, tokens: Tensor, state: State) -> tuple[Tensor, State]:
        return model.read(tokens, state)

    for window, hidden in read_windows(model, ids, read, batch, width):  # (B, T, D)
        wanted = window.wanted & asked[window.places]
        if wanted.any():
            chosen = hidden[_mask(wanted, hidden)]  # (n, D)
            yield window.places[wanted], model.logits(chosen[None])[0]


def _mask(wanted: np.ndarray, hidden: Tensor) -> Tensor:
    """A choice of places (B, T) where the hidden vectors live."""
    import torch

    return torch.as_tensor(wanted, device=hidden.device)


def _chances(logits: Tensor) -> np.ndarray:
    """Probabilities (n, bins) float64 of values; all alike where a model thinks that there can be none."""
    import torch

    logs = logits.double().cpu()
    chances = torch.softmax(logs, 1).numpy()
    return np.where(np.isnan(chances), 1 / chances.shape[1], chances)


def _inverse(
    chances: np.ndarray, edges: np.ndarray, values: np.ndarray, levels: Sequence[float]
) -> np.ndarray:
    """Quantiles (n, levels): values are spread evenly within a bin, but for bins that hold one value each."""
    single = (
        edges[0] == values[0] and edges[-1] == values[-1]
    )  # so the codec makes bins of few different values
    below = np.cumsum(chances, 1)  # (n, bins)
    rows, columns = np.arange(len(chances)), []
    for level in levels:
        bin = np.minimum((below < level).sum(1), len(values) - 1)  # (n,)
        inside = chances[rows, bin]
        share = np.divide(level - below[rows, bin] + inside, inside, out=np.ones(len(rows)), where=inside > 0)
        spread = edges[bin] + np.clip(share, 0, 1) * (edges[bin + 1] - edges[bin])
        columns.append(values[bin] if single else spread)
    return np.stack(columns, 1)


def _lengths(ids: np.ndarray, count: int) -> np.ndarray:
    """How many values each sequence has."""
    inner = ids >= FIRST
    if int(inner.sum()) != count:
        raise ModelError(
            f"A value for each of {int(inner.sum()):,} symbols was expected, and {count:,} came. "
            "Give the numbers that these ids were made of."
        )
    return np.bincount(np.cumsum(ids == BOS)[inner] - 1, minlength=int((ids == BOS).sum()))


def _seasonal(values: np.ndarray, lengths: np.ndarray, season: int) -> np.ndarray:
    before = ago(values, lengths, season)
    return np.where(np.isnan(before), ago(values, lengths, 1), before)


def _error(forecasts: np.ndarray, truth: np.ndarray) -> float:
    return float(np.abs(forecasts - truth).mean())
