"""Everything that was found, as the plain values of results.json."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from chainrule.choose import answers
from chainrule.choose.advice import advice
from chainrule.choose.ladder import Rung
from chainrule.choose.plan import GIVEN, TYPED, by_bytes, judged_on, rate
from chainrule.choose.race import Race
from chainrule.choose.rounds import DROPPED
from chainrule.choose.scored import read_cases
from chainrule.choose.subsets import LABELS, PAIRS, SYMBOLS
from chainrule.choose.yardsticks import YARDSTICKS, said
from chainrule.data.check import Check
from chainrule.data.dataset import Prepared
from chainrule.judge.bootstrap import Interval, difference, drawn_difference, ends, interval, paired
from chainrule.judge.curve import LearningCurve, crossing, fitted
from chainrule.models.base import CostForecast
from chainrule.models.registry import family
from chainrule.runtime import threads, versions
from chainrule.tasks.base import Task
from chainrule.train.unfinished import UNFINISHED

FEW = 50  # sequences below which a training part is tiny
POINTS = 40  # of a band
TWICE, TRIFLE = 2.0, {"seconds": 2.0, "memory_bytes": 1e8}  # how far forecasts may be off
OWN = {GIVEN: "texts given", TYPED: "standard input"}  # what users call them


@dataclass(frozen=True)
class Compared:
    """The data as ids of every codec, and what was found in them, by the name of the codec."""

    prepared: Mapping[str, Prepared]
    checks: Mapping[str, Check]
    task: Task | None = None  # whose answers are compared; None: how symbols are predicted

    @property
    def figure(self) -> str:
        """What decides, on the validation part."""
        return self.task.figure.replace("_", " ") if self.task else self.unit

    @property
    def unit(self) -> str:
        """In which all models are told."""
        if self.task:
            return answers.unit(self.task)
        return "bits per byte" if all(map(by_bytes, self.prepared.values())) else "bits per symbol"


def results(
    race: Race, compared: Compared, forecasts: Mapping[str, Any], command: str, seed: int
) -> dict[str, Any]:
    """The whole report as values, best model first."""
    names = [rung.name for rung in race.rungs]
    mixed = sorted(path.stem for path in (race.out / "found").glob("* + *.json"))
    rows = [_row(race, name, compared) for name in [*names, *mixed] if "bits" in (race.found(name) or {})]
    rows.sort(key=lambda row: row["loss"])  # the validation part decides
    for row in rows:
        row["behind"] = _behind(race, row["name"], rows[0]["name"], "")
        row["chosen_behind"] = _behind(race, row["name"], rows[0]["name"], ".valid")
        row["forecast"] = _forecast(row, forecasts)
        row["missed"] = _missed(row)
    curves = _curves(race, rows, compared)
    data = _data(compared, rows[0]["codec"] if rows else next(iter(compared.prepared)))
    crossings, unit, task = _crossings(curves), compared.unit, compared.task
    broken = [{"name": name, "title": name, "failed": why} for name, why in race.failed.items()]
    yardsticks = race.found(YARDSTICKS)
    return {
        "data": data,
        "unit": unit,
        "task": task and task.name,
        "figures": _figures(task, rows) if task else [],
        "amount": _amount(task),  # what learning curves are over
        "budget": race.budget,
        "seconds": race.passed,
        "models": [*({**row, "surprise": None} for row in rows), *broken],
        "rounds": [asdict(turn) for turn in race.turns],
        "yardsticks": yardsticks,
        "notes": [*race.notes, *([said(yardsticks, unit, rows)] if yardsticks else [])],
        "curves": [one for one, _ in curves],
        "crossings": crossings,
        "surprise": _surprise(rows),
        "advice": advice(
            rows, names, crossings, data, unit, task.figure if task else None, curves, _amount(task)
        ),
        "reproduce": {"command": command, "seed": seed, "versions": versions(), "machine": _machine()},
    }


def _amount(task: Task | None) -> str:
    """What there can be more of."""
    return SYMBOLS if task is None else PAIRS if task.source else LABELS


def _figures(task: Task, rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """The figures that are shown, the one that decides first; some, as that of unknown words, there need not be."""
    named = dict.fromkeys([task.figure, *task.shown])
    return [name for name in named if name == task.figure or any(name in row["figures"] for row in rows)]


def _row(race: Race, name: str, compared: Compared) -> dict[str, Any]:
    found = race.found(name)
    told = _interval(race, name, found)
    nats = rate(compared.prepared[found["codec"]]) / math.log(2.0)
    last = next((turn for turn in reversed(race.turns) if turn.name == name), None)
    return {
        **found,
        "failed": None,
        "dropped": last.why if last and last.decision == DROPPED else None,
        "unfinished": found.get(UNFINISHED),
        "bits": told.value,
        "low": told.low,
        "high": told.high,
        "progress": [[seconds, nats * valid] for seconds, valid in found["progress"] if not compared.task],
    }


def _cases(race: Race, name: str, part: str = "") -> np.ndarray:
    """Bits and sizes (2, S) of what a model was judged on, or its cost on test sets drawn (1, R); `.valid`: of what
    decided about it.
    """
    return read_cases(race.out / "found" / f"{name}{part}.npy")


def _interval(race: Race, name: str, found: Mapping[str, Any]) -> Interval:
    cases = _cases(race, name)
    if len(cases) > 1:
        return interval(*cases)
    return Interval(found["bits"], *(ends(cases[0]) if cases.size else (-math.inf, math.inf)))


def _behind(race: Race, name: str, best: str, part: str) -> dict[str, Any] | None:
    """The paired difference to the best; none of the best itself, nor where they were not judged alike."""
    if name == best or not (race.out / "found" / f"{name}{part}.npy").exists():
        return None
    cases, others = _cases(race, name, part), _cases(race, best, part)
    if len(cases) > 1:
        told = difference(*paired(*cases, *others))
    else:
        values = [float(race.found(one)["loss" if part else "bits"]) for one in (name, best)]
        told = drawn_difference(values[0], cases[0], values[1], others[0])
    return {"bits": told.value, "low": told.low, "high": told.high, "real": bool(told.real)}


def _forecast(row: Mapping[str, Any], forecasts: Mapping[str, Any]) -> dict[str, float] | None:
    """What was expected; of a model that was dropped, not the time, which was that of a winner."""
    found = forecasts.get(row["name"])
    return {"memory_bytes": found["memory_bytes"]} if found and row["dropped"] else found


def cost_forecasts(race: Race, compared: Compared) -> dict[str, dict[str, float]]:
    """Seconds and bytes of memory each model is expected to need, by its name: before anything is trained."""
    given, found, known = race.planned(), {}, {}
    for rung in race.rungs:
        seconds = given.get(rung.name)
        key = (rung.family, rung.codec, seconds)
        if key not in known:
            known[key] = _forecasts(rung, compared, seconds)
        for one in known[key]:
            if one.options == rung.options:
                found[rung.name] = {"seconds": one.seconds, "memory_bytes": float(one.memory)}
    return found


def _forecasts(rung: Rung, compared: Compared, budget: float | None) -> list[CostForecast]:
    """The cost forecasts of a family."""
    prepared, sample = compared.prepared[rung.codec], compared.checks[rung.codec].sample
    told = family(rung.family).cost_forecasts(
        sample, prepared.codec.size, prepared.train.main.symbols, budget
    )
    return list(told.values())


def _missed(row: Mapping[str, Any]) -> list[str]:
    """Which forecasts were off by more than a factor of two and more than a trifle."""
    forecast = row["forecast"] or {}
    told = [(name, float(value), float(row[name])) for name, value in forecast.items()]
    return [
        name.removesuffix("_bytes")
        for name, one, two in told
        if max(one, two) > TWICE * min(one, two) and abs(one - two) > TRIFLE[name]
    ]


def _curves(
    race: Race, rows: Sequence[Mapping[str, Any]], compared: Compared
) -> list[tuple[dict[str, Any], LearningCurve | None]]:
    """Learning curves with the full data as their last point."""
    told = []
    for row in rows:
        found = race.found(f"curve of {row['name']}")
        if not found or (not compared.task and row["codec"] != rows[0]["codec"]):
            continue
        points = _points(found, compared.prepared[row["codec"]], row["bits"])
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


def _points(found: Mapping[str, Any], prepared: Prepared, cost: float) -> list[tuple[float, float]]:
    """Sizes of training data and bits: of parts of them, or of what rounds had read when none had read all."""
    if "labels" in found:
        return [*((float(size), told) for size, told in found["labels"]), (prepared.train.examples, cost)]
    symbols, unit = float(prepared.train.main.symbols), rate(prepared) / judged_on(prepared).symbols
    if "read" in found:
        return [(symbols * epochs, told) for epochs, told in found["read"]]
    return [*((float(size), unit * told) for size, told in found["points"]), (symbols, cost)]


def _crossings(curves: Sequence[tuple[dict[str, Any], LearningCurve | None]]) -> list[dict[str, Any]]:
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
    """A stretch of held-out text as every model saw it that reads the symbols of the best."""
    if not rows or not rows[0]["surprise"]:
        return None
    return {
        "symbols": rows[0]["surprise"]["symbols"],
        "bits": {row["name"]: row["surprise"]["bits"] for row in rows if row["codec"] == rows[0]["codec"]},
    }


def _data(compared: Compared, codec: str) -> dict[str, Any]:
    """What is to be known of the data; symbols are those of one codec, the best model's."""
    prepared, facts = compared.prepared[codec], compared.checks[codec]
    name = Path(prepared.data.source.name).name
    warnings = [one for facts in compared.checks.values() for one in _warnings(facts)]
    parts = {
        name: {"sequences": part.sequences, "symbols": part.symbols, "bytes": part.bytes}
        for name, part in facts.parts.items()
    }
    return {
        "name": OWN.get(name, name),
        "codec": prepared.codec.name,
        "codecs": list(compared.prepared),
        "vocab_size": prepared.codec.size,
        "how": facts.how,
        "parts": parts,
        "warnings": list(dict.fromkeys(warnings)),
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
                f"{100 * part.unknown_rate:.1f} % of the symbols of the {name} part are not in the vocabulary."
            )
    if train.duplicates > 0.05 * train.sequences:
        told.append(f"{train.duplicates:,} of {train.sequences:,} training sequences came before.")
    if train.sequences > 1 and train.sequences < FEW:
        told.append(f"The training part has {train.sequences} sequences only.")
    return told


def _machine() -> str:
    pages = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") if hasattr(os, "sysconf") else 0
    return f"{threads()} cores, {pages / 1e9:.0f} GB"
