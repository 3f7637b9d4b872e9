"""What to do with the figures, in plain words."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from chainrule.choose.subsets import LABELS, PAIRS, SYMBOLS
from chainrule.judge.curve import LearningCurve

NEAR = 0.01  # a model this much worse than the best is still recommended if it is simpler and chance may explain it
CLOSE = 0.05  # and this much worse, it is good enough to be named as the fast one
FEW_CASES, FEW_SYMBOLS = 30, 2_000
TWICE = 2.0

WORTH = 0.02  # of the error that must go for more labels to be worth it

Row = Mapping[str, Any]
Curves = Sequence[tuple[Row, LearningCurve | None]]


def advice(
    models: Sequence[Row],
    order: Sequence[str],
    crossings: Sequence[Row],
    data: Row,
    unit: str,
    figure: str | None = None,
    curves: Curves = (),
    amount: str = LABELS,
) -> dict[str, Any]:
    """Which model to take and why; `models` best first, `order` of names from the simplest on.

    The validation part decides; what is told of bits is of the test part. With labels, models are told by their
    task's `figure`, and the `curves` say what more labels would do.
    """
    done = [row for row in models if not (row["failed"] or row["unfinished"]) and math.isfinite(row["bits"])]
    if not done:
        return {"best": None, "simplest": None, "fastest": None, "sentences": ["No model could be judged."]}
    hopeful = [row for row in done if not _outdone(row, done)]
    best = hopeful[0]
    simplest = min((row for row in hopeful if _equal(row, best)), key=lambda row: _place(order, row["name"]))
    close = [row for row in done if row["loss"] <= best["loss"] + CLOSE * abs(best["loss"])]
    fastest = max(close, key=lambda row: row["score_per_second"])
    sentences = [
        _choice(simplest, best, _simpler(hopeful, best, order), Said(unit, figure)),
        *_lucky(done[0], best),
        *_quick(fastest, simplest, Said(unit, figure)),
        *(more_labels([simplest, *done], curves, data, amount, unit) if figure else []),
        *_more(crossings, data, amount if figure else SYMBOLS),
        *_doubts(done, data),
    ]
    return {
        "best": best["name"],
        "simplest": simplest["name"],
        "fastest": fastest["name"],
        "sentences": sentences,
    }


@dataclass(frozen=True)
class Said:
    """How the figure of a model is told."""

    unit: str
    figure: str | None  # of its task; None: bits

    def of(self, row: Row) -> str:
        """`1.830 bits per byte`, `accuracy 0.812`."""
        if self.figure is None:
            return f"{row['bits']:.3f} {self.unit}"
        return f"{self.figure.replace('_', ' ')} {row['figures'][self.figure]:.3f}"

    def price(self, row: Row, other: Row) -> str:
        """What it costs to take another one."""
        worse = 100 * (row["bits"] / max(other["bits"], 1e-9) - 1)
        if self.figure is not None:
            return f"with {self.of(row)} instead of {other['figures'][self.figure]:.3f}"
        return f"for {worse:.1f} % more bits" if worse >= 0.05 else "and needs no more bits"


def more_labels(
    rows: Sequence[Row], curves: Curves, data: Row, amount: str = LABELS, unit: str = ""
) -> list[str]:
    """How many more labels, or pairs, would help: the learning curve at twice as many, with care; of the first of
    these models that has one.
    """
    known = {told["name"]: one for told, one in curves if one is not None}
    row = next((row for row in rows if row["name"] in known), None)
    have = data["parts"]["train"]["sequences"]
    if row is None:
        return []
    curve = known[row["name"]]
    [(_, low, middle, high)] = curve.band([2.0 * have])
    now = float(curve.predict(have))
    gain, sure = now - middle, now - high
    error = unit if amount == PAIRS else "error"
    told = (
        f"Twice as many {amount} ({2 * have:,}) would make the {error} of {row['title']} about {middle:.3f} "
    )
    told += f"instead of {now:.3f} (between {low:.3f} and {high:.3f})"
    if gain < WORTH * max(now, 1e-9) or sure <= 0:
        return [f"{told}: it is not sure that more {amount} would help."]
    return [f"{told}: more {amount} would help."]


def _place(order: Sequence[str], name: str) -> int:
    return order.index(name) if name in order else len(order)


def _equal(row: Row, best: Row) -> bool:
    """Whether the difference is too small to matter."""
    if row is best:
        return True
    if row["chosen_behind"] is None:  # it was dropped before all of the validation part was asked
        return False
    return not row["chosen_behind"]["real"] and row["loss"] <= best["loss"] + NEAR * abs(best["loss"])


def _outdone(row: Row, others: Sequence[Row]) -> bool:
    """Whether cross-validation, on many more examples than the validation part has, says that another one is better."""
    costs = [one["crossed"] for one in others if one.get("crossed") is not None]
    own = row.get("crossed")
    return own is not None and own > (1 + NEAR) * min(costs)


def _lucky(first: Row, best: Row) -> list[str]:
    """Why the first on the validation part is not taken."""
    told = f"{first['title']} comes first on the validation part by chance, as cross-validation says."
    return [] if first is best else [told]


def _simpler(rows: Sequence[Row], best: Row, order: Sequence[str]) -> list[Row]:
    """Those simpler than the best."""
    place = _place(order, best["name"])
    return [row for row in rows if row is not best and _place(order, row["name"]) < place]


def _winner(best: Row, simpler: Sequence[Row], said: Said) -> str:
    """Why the best one is to be taken: what the validation part says, which the test part need not confirm."""
    ahead = all(best["bits"] <= row["bits"] for row in simpler)
    told = f"with {said.of(best)} it is the best"
    if not ahead:
        told = f"it is the best on the validation part ({said.of(best)} on the test part)"
    unsure = next((row for row in simpler if (row["chosen_behind"] or {}).get("real") is False), None)
    if unsure is None:
        return f"Take {best['title']}: {told}, and the simpler ones are not behind by chance."
    gap = 100 * abs(unsure["loss"] / best["loss"] - 1)
    return (
        f"Take {best['title']}: {told}. {unsure['title']} is simpler and {gap:.1f} % worse on the validation part, "
        "which may be chance."
    )


def _choice(simplest: Row, best: Row, simpler: Sequence[Row], said: Said) -> str:
    if simplest is best:
        return _winner(best, simpler, said)
    gap = abs(simplest["loss"] / best["loss"] - 1)
    return (
        f"Take {simplest['title']}: {best['title']} is the best on the validation part ({said.of(best)} on the test "
        f"part), but only by {100 * gap:.1f} %, which may be chance, and it is less simple."
    )


def _quick(fastest: Row, simplest: Row, said: Said) -> list[str]:
    ratio = fastest["score_per_second"] / max(simplest["score_per_second"], 1e-9)
    if fastest is simplest or ratio < TWICE:
        return []
    price = said.price(fastest, simplest)
    return [f"If speed matters, {fastest['title']} reads {ratio:.0f} times as fast, {price}."]


def _more(crossings: Sequence[Row], data: Row, amount: str) -> list[str]:
    """What more data would change."""
    have, told = data["parts"]["train"]["symbols" if amount == SYMBOLS else "sequences"], []
    for one in crossings:
        low, high = (
            f"{value:,.0f}" if value is not None else "any number of" for value in (one["low"], one["high"])
        )
        verb = "overtakes" if one["symbols"] > have else "overtook"
        told.append(
            f"{one['first']} {verb} {one['second']} at about {one['symbols']:,.0f} {amount} of training data "
            f"(between {low} and {high}); you have {have:,}."
        )
    return told


def _doubts(done: Sequence[Row], data: Row) -> list[str]:
    """What cannot be concluded."""
    told, test = [], data["parts"]["test"]
    if test["sequences"] < FEW_CASES and test["symbols"] < FEW_SYMBOLS:
        what = "sequence was" if test["sequences"] == 1 else "sequences were"
        told.append(
            f"Only {test['sequences']:,} {what} held out ({test['symbols']:,} symbols): differences smaller than the "
            "intervals mean nothing, and more data could turn the order around."
        )
    unsure = sum(1 for row in done[1:] if not row["behind"]["real"])
    if unsure and not told:
        told.append(
            f"Chance may explain why {unsure} of the others stand{'s' if unsure == 1 else ''} behind the best."
        )
    return told
