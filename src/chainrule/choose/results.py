"""Everything that was found, as the plain values of results.json."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from chainrule.choose.advice import advice
from chainrule.choose.ladder import Rung
from chainrule.choose.measure import by_bytes
from chainrule.choose.plan import judged_on
from chainrule.choose.race import Race
from chainrule.data.check import Check
from chainrule.data.dataset import Prepared
from chainrule.judge.bootstrap import difference, interval
from chainrule.judge.curve import Curve, crossing, fitted
from chainrule.models.base import Forecast
from chainrule.models.registry import family
from chainrule.runtime import threads, versions

FEW = 50  # sequences below which a training part is tiny
POINTS = 40  # of a band


def results(race: Race, prepared: Prepared, facts: Check, command: str, seed: int) -> dict[str, Any]:
    """The whole report as values, best model first."""
    rate = _rate(prepared)
    names = [rung.name for rung in race.rungs]
    mixed = sorted(path.stem for path in (race.out / "found").glob("* + *.json"))
    rows = [_row(race, name, rate) for name in [*names, *mixed] if race.found(name)]
    rows.sort(key=lambda row: row["bits"])
    forecasts = _forecasts(race.rungs, prepared, facts)
    for row in rows:
        _beside_best(race, row, rows[0]["name"], rate)
        row["forecast"] = _forecast(row, forecasts, race.shares)
    curves = _curves(race, rows, rate, prepared)
    data = _data(prepared, facts)
    crossings = _crossings(curves)
    unit = "bits per byte" if by_bytes(prepared) else "bits per symbol"
    broken = [{"name": name, "title": name, "failed": why} for name, why in race.failed.items()]
    return {
        "data": data,
        "unit": unit,
        "budget": race.budget,
        "seconds": race.passed,
        "models": [*({**row, "surprise": None} for row in rows), *broken],
        "curves": [one for one, _ in curves],
        "crossings": crossings,
        "surprise": _surprise(rows),
        "advice": advice(rows, names, crossings, data, unit),
        "reproduce": {"command": command, "seed": seed, "versions": versions(), "machine": _machine()},
    }


def _rate(prepared: Prepared) -> float:
    """What bits per symbol are multiplied by to be in the unit of the report."""
    test = judged_on(prepared)
    return test.symbols / test.bytes if by_bytes(prepared) and test.bytes else 1.0


def _row(race: Race, name: str, rate: float) -> dict[str, Any]:
    found = race.found(name)
    bits, sizes = np.load(race.out / "found" / f"{name}.npy")
    told = interval(bits, sizes)
    nats = rate / math.log(2.0)
    return {
        **found,
        "failed": None,
        "bits": rate * told.value,
        "low": rate * told.low,
        "high": rate * told.high,
        "progress": [[seconds, nats * valid] for seconds, valid in found["progress"]],
    }


def _beside_best(race: Race, row: dict[str, Any], best: str, rate: float) -> None:
    """The paired difference to the best."""
    if row["name"] == best:
        row["behind"] = None
        return
    bits, sizes = np.load(race.out / "found" / f"{row['name']}.npy")
    others, _ = np.load(race.out / "found" / f"{best}.npy")
    told = difference(bits, others, sizes)
    row["behind"] = {
        "bits": rate * told.value,
        "low": rate * told.low,
        "high": rate * told.high,
        "real": bool(told.real),
    }


def _forecasts(rungs: Sequence[Rung], prepared: Prepared, facts: Check) -> dict[str, Forecast]:
    """What `check` foretells, by family."""
    found: dict[str, Forecast] = {}
    for name in {rung.family for rung in rungs}:
        found |= family(name).forecasts(facts.sample, prepared.codec.size, prepared.train.symbols)
    return found


def _forecast(row: Mapping[str, Any], forecasts: Mapping[str, Forecast], shares: Mapping[str, float]) -> Any:
    """For the model of a row: memory from its family, and the time it was given, or its family's opinion."""
    for name, one in forecasts.items():
        order = row["settings"].get("order")
        if name.startswith(row["family"]) and (order is None or str(order) in name):
            return {"seconds": shares.get(row["name"], one.seconds), "memory_bytes": one.memory}
    return None


def _curves(
    race: Race, rows: Sequence[Mapping[str, Any]], rate: float, prepared: Prepared
) -> list[tuple[dict[str, Any], Curve | None]]:
    """Learning curves with the full data as their last point."""
    told = []
    total = judged_on(prepared).symbols
    for row in rows:
        found = race.found(f"curve of {row['name']}")
        if not found:
            continue
        points = [(float(symbols), rate * bits / total) for symbols, bits in found["points"]]
        points.append((float(prepared.train.symbols), row["bits"]))
        curve = fitted(points)
        places = np.geomspace(points[0][0], 8 * points[-1][0], POINTS).tolist()
        told.append(
            (
                {
                    "name": row["name"],
                    "points": [list(point) for point in points],
                    "fit": curve and {"floor": curve.floor, "scale": curve.scale, "power": curve.power},
                    "band": curve.band(places) if curve else [],
                },
                curve,
            )
        )
    return told


def _crossings(curves: Sequence[tuple[dict[str, Any], Curve | None]]) -> list[dict[str, Any]]:
    """Where one curve comes below another."""
    told = []
    for first, one in curves:
        for second, other in curves:
            if first is second or one is None or other is None:
                continue
            found = crossing(one, other)
            if found is not None:
                high = found.high if math.isfinite(found.high) else None
                names = {"first": first["name"], "second": second["name"]}
                told.append({**names, "symbols": found.symbols, "low": found.low, "high": high})
    return told


def _surprise(rows: Sequence[Mapping[str, Any]]) -> dict[str, Any] | None:
    """A stretch of held-out text as every model saw it."""
    if not rows:
        return None
    return {
        "symbols": rows[0]["surprise"]["symbols"],
        "bits": {row["name"]: row["surprise"]["bits"] for row in rows},
    }


def _data(prepared: Prepared, facts: Check) -> dict[str, Any]:
    parts = {
        name: {"sequences": part.sequences, "symbols": part.symbols, "bytes": part.bytes}
        for name, part in facts.parts.items()
    }
    return {
        "name": Path(prepared.data.source.name).name,
        "codec": prepared.codec.name,
        "alphabet": prepared.codec.size,
        "how": facts.how,
        "parts": parts,
        "warnings": _warnings(facts),
    }


def _warnings(facts: Check) -> list[str]:
    """What may make the figures mean less than they seem to."""
    told = []
    train = facts.parts["train"]
    for name, part in facts.parts.items():
        if name != "train" and part.leaked:
            told.append(
                f"{part.leaked:,} of {part.sequences:,} sequences of the {name} part are in the training part, too."
            )
        if name != "train" and part.unknown_rate > 0.01:
            told.append(
                f"{100 * part.unknown_rate:.1f} % of the symbols of the {name} part are unknown to the alphabet."
            )
    if train.duplicates > 0.05 * train.sequences:
        told.append(f"{train.duplicates:,} of {train.sequences:,} training sequences came before.")
    if train.sequences > 1 and train.sequences < FEW:
        told.append(f"The training part has {train.sequences} sequences only.")
    return told


def _machine() -> str:
    pages = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") if hasattr(os, "sysconf") else 0
    return f"{threads()} cores, {pages / 1e9:.0f} GB"
