"""`anomalies`: how surprising every value of a series was, with what was expected instead; ranked.

The surprise of an event is minus log2 of its probability. That of a number is minus log2 of the probability of a value
at least as far out on its side, doubled as in a two-sided test: bins are not equally wide, and how much probability one
of them has says little.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from chainrule.errors import ConfigError
from chainrule.symbols import BOS, EOS, FIRST
from chainrule.use.series import Series, series_of
from chainrule.use.times import day

if TYPE_CHECKING:
    from torch import Tensor

    from chainrule.bundle import Bundle
    from chainrule.data.sources import Given


@dataclass(frozen=True)
class Anomaly:
    """One value or event."""

    row: int  # of the data, from 1
    value: str
    bits: float  # how surprising it was
    expected: str  # the median of numbers, the most probable event
    series: str | None = None
    time: str | None = None
    id: str | None = None
    low: float | None = None  # of numbers: between them lie 80 of 100 values
    high: float | None = None
    probability: float | None = None  # of the expected event

    def to_dict(self) -> dict[str, Any]:
        """For scripts."""
        return {name: value for name, value in vars(self).items() if value is not None}


@dataclass(frozen=True)
class Total:
    """A day or a session."""

    name: str
    bits: float  # a value, on average
    values: int
    most: Anomaly  # the most surprising one in it

    def to_dict(self) -> dict[str, Any]:
        """For scripts."""
        return {"name": self.name, "bits": self.bits, "values": self.values, "most": self.most.to_dict()}


@dataclass(frozen=True)
class Anomalies:
    """Everything found, the most surprising first."""

    events: tuple[Anomaly, ...]
    days: tuple[Total, ...]  # none if the data have no dates
    sessions: tuple[Total, ...]  # none if the data have no groups
    in_order: tuple[Anomaly, ...]  # all values as they were read
    notes: tuple[str, ...] = ()  # what is odd about the data, for people

    def __repr__(self) -> str:
        return f"<Anomalies of {len(self.events):,} values, {len(self.days)} days, {len(self.sessions)} sessions>"

    def top(self, k: int) -> dict[str, list[dict[str, Any]]]:
        """The `k` most surprising of each kind, for scripts."""
        kinds: dict[str, Sequence[Anomaly | Total]] = {
            "events": self.events,
            "days": self.days,
            "sessions": self.sessions,
        }
        return {name: [one.to_dict() for one in found[:k]] for name, found in kinds.items() if found}

    def to_dict(self) -> dict[str, Any]:
        """For scripts."""
        return self.top(len(self.events))

    def rows(self) -> list[dict[str, Any]]:
        """A table with one row a value, in the order of the data."""
        return [one.to_dict() for one in self.in_order]


def anomalies(bundle: Bundle, data: Given, reading: Mapping[str, Any], id: str | None = None) -> Anomalies:
    """How surprising every value is, given those before it; `id` is the column that names rows."""
    if bundle.model.reads != "left":
        raise ConfigError(
            f"A {bundle.body.family} sees what comes after a value. Use a model that reads left to right."
        )
    found: list[Anomaly] = []
    series, notes = series_of(bundle, data, reading, id)
    for some in _batches(series):
        found += _judged(bundle, some)
    found.sort(key=lambda one: one.row)
    judged = [one for one in found if one.expected]
    days = _totals(judged, lambda one: one.time and day(one.time))
    sessions = _totals(judged, lambda one: one.series)
    ranked = sorted(found, key=lambda one: -one.bits)
    return Anomalies(tuple(ranked), tuple(days), tuple(sessions), tuple(found), notes)


def _batches(series: Sequence[Series], most: int = 100_000) -> Iterator[list[Series]]:
    """About so many values at a time."""
    held, size = list[Series](), 0
    for one in series:
        held.append(one)
        size += len(one.values)
        if size >= most:
            yield held
            held, size = [], 0
    if held:
        yield held


def _judged(bundle: Bundle, series: Sequence[Series]) -> list[Anomaly]:
    ids = np.concatenate([one.encoded(bundle.codec) for one in series])
    tell = _of_events if bundle.codec.bins is None else _of_numbers
    rows = [(one, place) for one in series for place in range(len(one.values))]
    return [
        Anomaly(
            int(one.rows[place]),
            one.values[place],
            series=one.name,
            time=one.times[place] if one.times else None,
            id=one.ids[place] if one.ids else None,
            **judged,
        )
        for (one, place), judged in zip(rows, tell(bundle, series, ids), strict=True)
    ]


def _distributions(bundle: Bundle, ids: np.ndarray) -> Iterator[tuple[np.ndarray, Tensor]]:
    """Numbers (n,) of symbols and the logits (n, V) before each; that a sequence might have ended is no surprise."""
    from chainrule.judge.forecast import distributions

    inner = (ids != BOS) & (ids != EOS)
    number = np.cumsum(inner) - 1
    with bundle.model.inference(), np.errstate(divide="ignore"):
        for places, logits in distributions(bundle.model, ids, asked=inner):
            logits[:, EOS] = -math.inf
            yield number[places], logits


def _of_events(bundle: Bundle, series: Sequence[Series], ids: np.ndarray) -> Iterator[dict[str, Any]]:
    """Surprise, and the most probable event instead."""
    symbols = ids[(ids != BOS) & (ids != EOS)]
    bits, best, chance = np.zeros(len(symbols)), np.zeros(len(symbols), np.int64), np.zeros(len(symbols))
    for places, logits in _distributions(bundle, ids):
        chances = logits.double().softmax(-1).cpu().numpy()  # (n, V)
        bits[places] = 0.0 - bundle.codec.tail(chances, symbols[places], None)
        best[places], chance[places] = FIRST + chances[:, FIRST:].argmax(1), chances[:, FIRST:].max(1)
    for one, event, share in zip(bits.tolist(), best.tolist(), chance.tolist(), strict=True):
        yield {"bits": one, "expected": bundle.codec.token(event), "probability": share}


def _of_numbers(bundle: Bundle, series: Sequence[Series], ids: np.ndarray) -> Iterator[dict[str, Any]]:
    """Surprise, and the median and the interval before each value; what is missing or has no level is not judged."""
    from chainrule.codecs.base import Texts
    from chainrule.codecs.numbers import parse, written
    from chainrule.judge.forecast import LEVELS, quantiles_of

    bins = bundle.codec.bins
    assert bins is not None
    values, lengths = parse(Texts.of([" ".join(one.values).encode() for one in series]))
    (level, scale), has = bins.level.before(values, lengths), bins.level.has(values, lengths)
    symbols, places_of = ids[(ids != BOS) & (ids != EOS)], np.flatnonzero(has)
    bits, found = np.zeros(len(values)), np.full((len(values), len(LEVELS)), np.nan)
    for numbers, logits in _distributions(bundle, ids):
        places, chances = places_of[numbers], logits.double().softmax(-1).cpu().numpy()  # (n,), (n, V)
        apart = (values[places] - level[places]) / scale[places]
        bits[places] = 0.0 - bundle.codec.tail(chances, symbols[numbers], apart)
        found[places] = level[places, None] + scale[places, None] * quantiles_of(logits, bins)
    for value, one, (low, middle, high) in zip(values, bits.tolist(), found.tolist(), strict=True):
        if math.isnan(value) or math.isnan(middle):
            yield {"bits": 0.0, "expected": ""}
        else:
            yield {"bits": one, "expected": written(float(f"{middle:.6g}")), "low": low, "high": high}


def _totals(found: Sequence[Anomaly], name_of: Any) -> list[Total]:
    """By day or by session, the most surprising on average first."""
    groups: dict[str, list[Anomaly]] = {}
    for one in found:
        name = name_of(one)
        if name is not None:
            groups.setdefault(name, []).append(one)
    totals = [
        Total(name, sum(one.bits for one in some) / len(some), len(some), max(some, key=lambda one: one.bits))
        for name, some in groups.items()
    ]
    return sorted(totals, key=lambda one: -one.bits)
