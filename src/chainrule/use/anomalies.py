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
    from chainrule.bundle import Bundle
    from chainrule.data.sources import Given

LEVELS = (0.1, 0.5, 0.9)


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
    for some in _batches(series_of(bundle, data, reading, id)):
        found += _judged(bundle, some)
    found.sort(key=lambda one: one.row)
    judged = [one for one in found if one.expected]
    days = _totals(judged, lambda one: one.time and day(one.time))
    sessions = _totals(judged, lambda one: one.series)
    ranked = sorted(found, key=lambda one: -one.bits)
    return Anomalies(tuple(ranked), tuple(days), tuple(sessions), tuple(found))


def _batches(series: Sequence[Series], most: int = 100_000) -> Iterator[list[Series]]:
    """About so many values at a time."""
    held: list[Series] = []
    for one in series:
        held.append(one)
        if sum(len(part.values) for part in held) >= most:
            yield held
            held = []
    if held:
        yield held


@dataclass(frozen=True)
class _Judging:
    """What a model expected before each value: all arrays (values,)."""

    bits: np.ndarray
    best: np.ndarray  # the most probable id
    chance: np.ndarray  # its probability

    def spread(self, has: np.ndarray) -> _Judging:
        """The same for all values (T,), 0 where one `has` no level yet, and so no symbol."""
        return _Judging(*(_spread(one, has) for one in (self.bits, self.best, self.chance)))


def _spread(known: np.ndarray, has: np.ndarray) -> np.ndarray:
    whole = np.zeros((len(has), *known.shape[1:]), known.dtype)
    whole[has] = known
    return whole


def _judged(bundle: Bundle, series: Sequence[Series]) -> list[Anomaly]:
    encoded = [one.encoded(bundle.codec) for one in series]
    ids = np.concatenate(encoded)
    inner = (ids != BOS) & (ids != EOS)
    values, has = _changes(bundle, series)
    found = _expected(bundle, ids, inner, values).spread(has)
    rows = [(one, place) for one in series for place in range(len(one.values))]
    expected = (
        _of_numbers(bundle, series, ids) if bundle.codec.bins is not None else _of_events(bundle, found)
    )
    return [
        Anomaly(
            int(one.rows[place]),
            one.values[place],
            series=one.name,
            time=one.times[place] if one.times else None,
            id=one.ids[place] if one.ids else None,
            **{"bits": float(bits), **more},
        )
        for (one, place), bits, more in zip(rows, found.bits, expected, strict=True)
    ]


def _changes(bundle: Bundle, series: Sequence[Series]) -> tuple[np.ndarray | None, np.ndarray]:
    """The numbers that were put into bins, None of events; and which values (T,) became symbols."""
    from chainrule.codecs.base import Texts
    from chainrule.codecs.numbers import parse

    if bundle.codec.bins is None:
        return None, np.ones(sum(len(one.values) for one in series), np.bool_)
    values, lengths = parse(Texts.of([" ".join(one.values).encode() for one in series]))
    level = bundle.codec.bins.level
    return level.known(values, lengths)[0], level.has(values, lengths)


def _expected(bundle: Bundle, ids: np.ndarray, inner: np.ndarray, values: np.ndarray | None) -> _Judging:
    """One pass over flat sequences; that one might have ended is no surprise."""
    from chainrule.judge.forecast import distributions

    bits, best, chance = np.zeros(len(ids)), np.zeros(len(ids), np.int64), np.zeros(len(ids))
    number = np.cumsum(inner) - 1  # of the value at each position
    with bundle.model.inference():
        for places, logits in distributions(bundle.model, ids, asked=inner):
            logits[:, EOS] = -math.inf
            chances = logits.double().softmax(-1).cpu().numpy()  # (n, V)
            with np.errstate(divide="ignore"):
                some = None if values is None else values[number[places]]
                bits[places] = 0.0 - bundle.codec.tail(chances, ids[places], some)
            best[places] = FIRST + chances[:, FIRST:].argmax(1)
            chance[places] = chances[:, FIRST:].max(1)
    return _Judging(bits[inner], best[inner], chance[inner])


def _of_numbers(bundle: Bundle, series: Sequence[Series], ids: np.ndarray) -> Iterator[dict[str, Any]]:
    """The median and the interval before each value."""
    from chainrule.codecs.base import Texts
    from chainrule.codecs.numbers import parse, written
    from chainrule.judge.forecast import quantiles

    bins = bundle.codec.bins
    assert bins is not None
    values, lengths = parse(Texts.of([" ".join(one.values).encode() for one in series]))
    levels = quantiles(bundle.model, ids, bins, LEVELS)  # (values, levels)
    levels = _spread(levels, bins.level.has(values, lengths))
    level, scale = bins.level.before(values, lengths)
    for value, (low, middle, high) in zip(values, level[:, None] + scale[:, None] * levels, strict=True):
        if math.isnan(middle):  # there is nothing yet to compare it with
            yield {"expected": "", "bits": 0.0}
            continue
        if math.isnan(value):  # it is missing, which is told and not judged
            yield {"expected": "", "bits": 0.0, "low": float(low), "high": float(high)}
            continue
        yield {"expected": written(float(f"{middle:.6g}")), "low": float(low), "high": float(high)}


def _of_events(bundle: Bundle, found: _Judging) -> Iterator[dict[str, Any]]:
    for best, chance in zip(found.best.tolist(), found.chance.tolist(), strict=True):
        yield {"expected": bundle.codec.token(best), "probability": chance}


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
