"""The view `cells`: units of a recurrent network over a text, their gates, and a search for what they track."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from chainrule.config import option
from chainrule.errors import ConfigError, ModelError
from chainrule.views.kinds import Kind, register
from chainrule.views.reading import Read, read
from chainrule.views.scene import (
    COOL,
    HEAT,
    INK,
    QUIET,
    Box,
    Part,
    Scene,
    Words,
    breadth,
    cut,
    mixed,
    paragraphs,
)
from chainrule.views.text import file_text, named, written
from chainrule.views.units import Found, search, told
from chainrule.views.view import View

if TYPE_CHECKING:
    from chainrule.bundle import Bundle

VALUES, GATES = ("layers.*.cell", "layers.*.hidden"), "layers.*.gates.*"
NONE = "A {family} has no units that go from step to step. Families that have: rnn, lstm, gru."
WIDE, LINE = 900.0, 22.0
SATURATED = 0.1  # a gate this near to 0 or 1
CANDIDATE = "candidate"
NOTHING = "No unit tracks anything better than chance, an untrained network and the last eight symbols do."


@register("cells")
@dataclass(frozen=True, kw_only=True)
class Cells(Kind):
    """Traces of units (Karpathy et al. 2015): a text coloured by one of them, and which of them mean something."""

    unit: int | None = option(
        None,
        "the unit that is drawn, from 1; the best one of a search, or the one that moves most",
        low=1,
        high=65_536,
    )
    layer: int | None = option(None, "its layer, from 1; the last one if not given", low=1, high=1000)
    search: str | None = option(
        None, "a text file: search for units that track quotes, brackets, lines, words, …"
    )
    most: int = option(40_000, "characters of the file that are searched", low=1_000, high=10_000_000)

    def look(self, bundles: tuple[Bundle, ...], text: str) -> View:
        models = [self._model(name, one, text) for name, one in zip(named(bundles), bundles, strict=True)]
        notes = [note for model in models for note in model.pop("notes")]
        meta = {"title": f"units over {cut(text, 60)!r}", "text": text, "notes": notes}
        return View("cells", {"models": models}, meta)

    def _model(self, name: str, bundle: Bundle, text: str) -> dict[str, Any]:
        found = read(bundle, written(text), *VALUES, GATES)
        taps = [tap for tap in found.heard if not tap.rpartition(".")[0].endswith("gates")]
        if not taps:
            raise ModelError(NONE.format(family=bundle.body.family))
        traces = {tap: found.array(tap)[0] for tap in taps}  # (T, D) each
        rows, unexplained = self._searched(bundle)
        tap, unit = self._chosen(traces, rows)
        return {
            "name": name,
            "symbols": found.symbols,
            "traces": traces,
            "gates": saturation(found),
            "tap": tap,
            "unit": unit,
            "found": [dict(told(one)) for one in rows],
            "unexplained": unexplained,
            "notes": _notes(name, rows, unexplained) if self.search else [],
        }

    def _searched(self, bundle: Bundle) -> tuple[list[Found], float | None]:
        if self.search is None:
            return [], None
        text = file_text(self.search)
        return search(bundle, text[: self.most], VALUES)

    def _chosen(self, traces: Mapping[str, np.ndarray], rows: Sequence[Found]) -> tuple[str, int]:
        """The tap and the number of the unit that is drawn."""
        if rows and self.unit is None:
            return rows[0].tap, rows[0].unit
        own = [tap for tap in traces if self.layer is None or tap.startswith(f"layers.{self.layer - 1}.")]
        if not own:
            raise ConfigError(f"There is no layer {self.layer}. The traces are {', '.join(traces)}.")
        tap = own[-1]
        if self.unit is not None and self.unit > traces[tap].shape[1]:
            raise ConfigError(f"There is no unit {self.unit}: {tap} has {traces[tap].shape[1]}.")
        return tap, int(traces[tap].std(0).argmax()) if self.unit is None else self.unit - 1

    @staticmethod
    def scene(view: View) -> Scene:
        parts: list[Part] = []
        y = 24.0
        for model in view["models"]:
            parts.append(
                Words(16, y, f"{model['name']}: {model['tap']}, unit {model['unit'] + 1}", INK, bold=True)
            )
            values = model["traces"][model["tap"]][:, model["unit"]]
            y = _line(parts, model["symbols"], values, y + 14) + 28
            for gate, shares in model["gates"].items():
                parts.append(Words(16, y, _gate_told(gate, shares), QUIET, 12))
                y += 18
        y = paragraphs(parts, view.notes, y, WIDE)
        return Scene(WIDE, y + 8, parts, view.title)

    @staticmethod
    def words(view: View) -> str:
        rows = []
        for model in view["models"]:
            rows.append(f"{model['name']}: {model['tap']}, unit {model['unit'] + 1}")
            values = model["traces"][model["tap"]][:, model["unit"]].tolist()
            rows += [
                f"  {symbol:>12}  {value:+.3f}"
                for symbol, value in zip(model["symbols"], values, strict=True)
            ]
            gates = model["gates"].items()
            rows += [_gate_told(gate, shares) for gate, shares in gates]
            rows += [_row(one) for one in model["found"]]
        return "\n".join([*rows, *view.notes])


def saturation(found: Read) -> dict[str, tuple[float, float]]:
    """Of every gate the share of values that are nearly closed (0), and nearly open (1); of a candidate, which is no
    gate but a tanh, the shares that are nearly -1 and nearly 1."""
    shares = {}
    for tap in (tap for tap in found.heard if tap.rpartition(".")[0].endswith("gates")):
        values, least = found.array(tap), -1.0 if tap.endswith(CANDIDATE) else 0.0
        shares[tap] = (
            float((values < least + SATURATED).mean()),
            float((values > 1 - SATURATED).mean()),
        )
    return shares


def _gate_told(gate: str, shares: Sequence[float]) -> str:
    low, high = ("near -1", "near 1") if gate.endswith(CANDIDATE) else ("closed", "open")
    return f"{gate}: {shares[0]:.0%} {low}, {shares[1]:.0%} {high}"


def _line(parts: list[Part], symbols: Sequence[str], values: np.ndarray, y: float) -> float:
    x, most = 16.0, max(1e-12, float(np.abs(values).max()))
    for symbol, value in zip(symbols, values.tolist(), strict=True):
        width = breadth(symbol, 14) + 4
        if x + width > WIDE - 16:
            x, y = 16.0, y + LINE
        ground = mixed(COOL if value > 0 else HEAT, 0.8 * abs(value) / most)
        parts += [
            Box(x, y, width, LINE - 3, ground, f"{symbol}: {value:+.3f}"),
            Words(x + 2, y + 14, symbol, INK, 14),
        ]
        x += width
    return y + LINE


def _row(one: Mapping[str, Any]) -> str:
    """A found unit, in a line."""
    confirmed = "and clamping confirms it" if one["used"] else "but clamping does not confirm it"
    verdict = f"tracks it, {confirmed}" if one["real"] else "no better than what it must beat"
    return (
        f"  {one['track']:<28} {one['tap']} {one['unit'] + 1:<5} {one['agreement']:.3f} held out; by chance "
        f"{one['by_chance']:.3f}, untrained {one['untrained']:.3f}, last eight symbols {one['probe']:.3f}; clamped: "
        f"{one['cost_on']:+.3f} bits where it matters, {one['cost_off']:+.3f} elsewhere: {verdict}"
    )


def _notes(name: str, rows: Sequence[Found], unexplained: float | None) -> list[str]:
    real = [one for one in rows if one.real]
    told = [
        f"{one.track} ({one.tap}, unit {one.unit + 1}: {one.agreement:.2f}{', confirmed' if one.used else ''})"
        for one in real
    ]
    first = f"{name}: units that track something: {', '.join(told)}." if told else NOTHING
    meant = "Confirmed: without the unit the model loses more where the track is high than elsewhere."
    rest = f"{name}: {unexplained:.0%} of the units follow none of these."
    return [first, *([meant] if any(one.used for one in real) else []), rest]
