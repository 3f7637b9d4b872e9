"""A search for units of a network that track something: chosen on one half of a text, judged on the other.

A unit counts only if it beats what chance gives (the same search for a track that is shifted against the text), what
an untrained network gives, and what a linear probe sees in the last eight symbols.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from chainrule.nn.tap import listening, replacing
from chainrule.use.text import typed_texts
from chainrule.views.tracks import tracks

if TYPE_CHECKING:
    from chainrule.bundle import Bundle

WINDOW, NEAR = 256, 8  # symbols read at once; symbols that a probe sees
CLAMPED = 8 * WINDOW  # symbols on which a unit is clamped
RARE = 20  # occurrences that a track must have, and lack, in both halves
RIDGE = 1.0
KNOWN = 0.8  # from which agreement on a unit is explained


@dataclass(frozen=True)
class Units:
    """Values of all units over a text."""

    names: tuple[tuple[str, int], ...]  # the tap of a unit and its number there
    values: np.ndarray  # (T, U)


@dataclass(frozen=True)
class Found:
    """The unit that follows a track best."""

    track: str
    tap: str
    unit: int
    sign: int  # -1: the unit is low where the track is high
    agreement: float  # on the held-out half: AUC of a track of two values, 0.5 + |Spearman| / 2 of others
    by_chance: float  # of the best unit for the same track, shifted
    untrained: float  # of the best unit of a network before training
    probe: float  # of a linear probe on the last eight symbols
    cost_on: float  # bits per symbol lost where the track is high, if the unit is clamped to its mean
    cost_off: float  # and where it is low

    @property
    def real(self) -> bool:
        """Whether it beats everything it must beat."""
        return self.agreement > max(self.by_chance, self.untrained, self.probe)

    @property
    def used(self) -> bool:
        """Whether clamping it costs something where the track is high, and more than elsewhere."""
        return self.cost_on > max(0.0, self.cost_off)


def units_of(body: Any, ids: np.ndarray, patterns: tuple[str, ...]) -> Units:
    """What the units tell while the ids (T,) are read in one go."""
    import torch

    tokens, state, parts = torch.from_numpy(ids.astype(np.int64))[None], body.start(1), []
    for piece in torch.split(tokens, WINDOW, 1):
        with body.inference(), listening(body, *patterns) as heard:
            _, state = body.read(piece, state)
        parts.append({name: values[0][0].float().numpy() for name, values in heard.items()})
    names = [(name, unit) for name, one in parts[0].items() for unit in range(one.shape[1])]
    rows = [np.concatenate(list(part.values()), 1) for part in parts]
    return Units(tuple(names), np.concatenate(rows))


def ranks(values: np.ndarray) -> np.ndarray:
    """Mean ranks (T, …) down the first axis, from 1."""
    order = np.argsort(values, axis=0, kind="stable")
    found = np.empty(values.shape)
    np.put_along_axis(found, order, np.arange(1.0, len(values) + 1).reshape(-1, *[1] * (values.ndim - 1)), 0)
    flat = found.reshape(len(values), -1)
    columns = values.reshape(len(values), -1)
    for column in range(flat.shape[1]):  # equal values share their mean rank
        _, place, count = np.unique(columns[:, column], return_inverse=True, return_counts=True)
        if len(count) < len(values):
            flat[:, column] = (np.bincount(place, flat[:, column]) / count)[place]
    return flat.reshape(values.shape)


def agreements(ranked: np.ndarray, track: np.ndarray) -> np.ndarray:
    """How well each unit, by its ranks (T, U), follows a track (T,): 1 the same way, 0 the other way, 0.5 not at all.

    Of a track of two values it is the AUC, of others 0.5 + Spearman / 2.
    """
    if track.dtype == bool:
        ones, zeros = int(track.sum()), int((~track).sum())
        found: np.ndarray = (ranked[track].sum(0) - ones * (ones + 1) / 2) / max(1, ones * zeros)
        return found
    centred, wanted = ranked - ranked.mean(0), ranks(track) - (len(track) + 1) / 2
    spread = np.sqrt((centred**2).sum(0) * (wanted**2).sum())
    rho: np.ndarray = (centred * wanted[:, None]).sum(0) / np.maximum(spread, 1e-12)
    return 0.5 + rho / 2


def best_unit(
    halves: tuple[np.ndarray, np.ndarray], tracked: tuple[np.ndarray, np.ndarray]
) -> tuple[int, int, float]:
    """The unit that follows a track best on the first half, its sign, and its agreement on the second half."""
    first = agreements(halves[0], tracked[0])
    unit = int(np.abs(first - 0.5).argmax())
    sign = 1 if first[unit] >= 0.5 else -1
    held = float(agreements(halves[1][:, unit : unit + 1], tracked[1])[0])
    return unit, sign, held if sign > 0 else 1 - held


class Probe:
    """A linear probe on the last eight symbols, fitted by ridge regression on the first half of a text."""

    def __init__(self, ids: np.ndarray, vocab_size: int) -> None:
        padded = np.concatenate([np.zeros(NEAR - 1, ids.dtype), ids])
        back = [padded[NEAR - 1 - at : len(padded) - at] + at * vocab_size for at in range(NEAR)]
        inputs = np.zeros((len(ids), NEAR * vocab_size), np.float32)  # one-hot, a block for each distance
        np.put_along_axis(inputs, np.stack(back, 1), 1.0, 1)
        self.first, self.second = np.array_split(inputs, [len(ids) // 2])
        self.gram = self.first.T @ self.first + RIDGE * np.eye(inputs.shape[1], dtype=np.float32)

    def agreement(self, track: np.ndarray) -> float:
        """With a track on the second half."""
        known, held = np.array_split(track, [len(self.first)])
        wanted = known.astype(np.float32) - np.float32(known.mean())
        answers = self.second @ np.linalg.solve(self.gram, self.first.T @ wanted)
        found = float(agreements(ranks(answers)[:, None], held)[0])
        return max(found, 1 - found)


def search(bundle: Bundle, text: str, patterns: tuple[str, ...], seed: int = 0) -> tuple[list[Found], float]:
    """For every track that the text has the unit that follows it best, the surest first; and the share of units that
    follow none of them."""
    random = np.random.default_rng(seed)
    ids = bundle.codec.encode(typed_texts(bundle.codec, [text])).ids[1:-1]
    body: Any = bundle.body
    own = units_of(body, ids, patterns)
    fresh = units_of(type(body).seeded(body.config, seed), ids, patterns)
    middle, near = len(ids) // 2, Probe(ids, bundle.codec.size)
    ranked, untrained = ((ranks(one.values[:middle]), ranks(one.values[middle:])) for one in (own, fresh))
    found, explained = [], np.zeros(len(own.names), bool)
    for name, track in tracks(_symbols(bundle, text, ids)).items():
        halves = track[:middle], track[middle:]
        if not all(map(_varies, halves)):
            continue
        unit, sign, agreement = best_unit(ranked, halves)
        shifted = np.roll(track, int(random.integers(len(track) // 4, 3 * len(track) // 4)))
        tap, number = own.names[unit]
        on, off = _clamped(bundle, ids, own, unit, track)
        found.append(
            Found(
                track=name,
                tap=tap,
                unit=number,
                sign=sign,
                agreement=agreement,
                by_chance=best_unit(ranked, (shifted[:middle], shifted[middle:]))[2],
                untrained=best_unit(untrained, halves)[2],
                probe=near.agreement(track),
                cost_on=on,
                cost_off=off,
            )
        )
        explained |= np.abs(agreements(ranked[1], halves[1]) - 0.5) >= KNOWN - 0.5
    return sorted(found, key=lambda one: (-one.real, -one.agreement)), float(1 - explained.mean())


def _symbols(bundle: Bundle, text: str, ids: np.ndarray) -> list[str]:
    """What is written for each id; of characters the text itself, unknown ones, too."""
    return list(text) if len(text) == len(ids) else [bundle.codec.shown(int(one)) for one in ids]


def _high(track: np.ndarray) -> np.ndarray:
    """Where a track is high (T,)."""
    return track if track.dtype == bool else track > np.median(track)


def _varies(track: np.ndarray) -> bool:
    """Whether a half of a text has enough of a track, and enough without it."""
    return RARE <= int(_high(track).sum()) <= len(track) - RARE


def stretch(track: np.ndarray, middle: int) -> slice:
    """Where the held-out half has most of what a track has less of, high or low."""
    high = _high(track)
    starts = range(middle, max(middle + 1, len(track) - CLAMPED + 1), WINDOW)

    def rarer(start: int) -> int:
        here = high[start : start + CLAMPED]
        return min(int(here.sum()), int((~here).sum()))

    first = max(starts, key=rarer)
    return slice(first, first + CLAMPED)


def _clamped(
    bundle: Bundle, ids: np.ndarray, own: Units, unit: int, track: np.ndarray
) -> tuple[float, float]:
    """Bits per symbol that are lost on the held-out half if a unit always has its mean: where the track is high, and
    where it is low."""
    tap, number = own.names[unit]
    mean, middle = float(own.values[: len(ids) // 2, unit].mean()), len(ids) // 2
    kept = stretch(track, middle)
    before = _bits(bundle, ids[kept])
    with replacing(bundle.body, tap, _holding(number, mean)):
        lost = _bits(bundle, ids[kept]) - before
    high = _high(track)[kept][:-1]
    return (
        float(lost[high].mean()) if high.any() else 0.0,
        float(lost[~high].mean()) if (~high).any() else 0.0,
    )


def _holding(unit: int, value: float) -> Callable[[Any], Any]:
    def held(values: Any) -> Any:
        kept = values.clone()
        kept[..., unit] = value
        return kept

    return held


def _bits(bundle: Bundle, ids: np.ndarray) -> np.ndarray:
    """Of every symbol but the first (T - 1,)."""
    import torch

    tokens, body = torch.from_numpy(ids.astype(np.int64))[None], bundle.model
    with body.inference():
        found, _ = body.score(tokens[:, :-1], tokens[:, 1:], body.start(1))
    bits: np.ndarray = -found[0].numpy() / np.log(2.0)
    return bits


def told(one: Found) -> Mapping[str, Any]:
    """A row for people and scripts."""
    return {**vars(one), "real": one.real, "used": one.used}
