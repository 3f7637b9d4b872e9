"""Held-out text with two rows of colour, one a model, and the difference below; the script chooses which two."""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from typing import Any

from chainrule.draw.markup import NOTHING, Html, block, joined, listed, mapping, number, shown, tag, text

LEVELS = 10  # classes l0 … l9 of the style sheet
STEPS = 5  # classes u1 … u5 where the upper model was less surprised, w1 … w5 where the lower one was
SIGNS = {" ": "\u00a0", "\n": "↵", "\t": "⇥", "": "∅"}
MOST = 600  # symbols shown
ENDLESS = 1e6  # stands for infinite surprise, which JSON has no word for

Bits = Sequence[float | None]


def view(given: Mapping[str, Any]) -> Html:
    """The text, what to choose, and the data the script works on; empty where there are none."""
    symbols = [text(one) for one in listed(given.get("symbols"))[:MOST]]
    rows = {text(name): _row(bits, len(symbols)) for name, bits in mapping(given.get("bits")).items()}
    rows = {name: row for name, row in rows.items() if any(one is not None for one in row)}
    if not rows:
        return NOTHING
    names, ceiling = list(rows), _ceiling(one for row in rows.values() for one in row)
    data = {"symbols": symbols, "names": names, "bits": list(rows.values()), "ceiling": ceiling}
    return joined(
        _choice(rows) if len(rows) > 1 else NOTHING,
        _legend(names, ceiling),
        tag("p", "Point at a symbol, or use the arrow keys.", id="readout", aria_live="polite"),
        _staff(symbols, [rows[name] for name in names[:2]], names, ceiling),
        block("surprise-data", data),
    )


def _row(bits: object, length: int) -> list[float | None]:
    """As many figures as there are symbols, rounded as far as eyes can see."""
    row = [_rounded(value) for value in listed(bits)[:length]]
    return row + [None] * (length - len(row))


def _rounded(value: object) -> float | None:
    finite = ENDLESS if value == math.inf else number(value)
    return None if finite is None else round(min(max(finite, 0.0), ENDLESS), 3)


def _said(bits: float) -> str:
    return f"{bits:.2f}" if bits < ENDLESS else "∞"


def _ceiling(bits: Iterable[float | None]) -> float:
    """What counts as very surprised: more than 19 of 20 symbols are."""
    known = sorted(one for one in bits if one is not None and one < ENDLESS)
    return max(known[int(0.95 * (len(known) - 1))], 1.0) if known else 1.0


def _choice(rows: Mapping[str, Bits]) -> Html:
    """Two lists of models, the first two chosen."""
    return tag("div", _select("upper", rows, 0), _select("lower", rows, 1), class_="choice")


def _select(which: str, rows: Mapping[str, Bits], chosen: int) -> Html:
    options = [
        tag(
            "option",
            f"{name} ({shown(_mean(row), _said)} here)",
            value=at,
            selected=(at == chosen) or None,
        )
        for at, (name, row) in enumerate(rows.items())
    ]
    return tag("label", f"{which.capitalize()} row", tag("select", *options, id=which, autocomplete="off"))


def _mean(row: Bits) -> float:
    known = [one for one in row if one is not None]
    return ENDLESS if ENDLESS in known else sum(known) / len(known)


def _legend(names: Sequence[str], ceiling: float) -> Html:
    """What the colours mean."""
    steps = [tag("i", class_=f"l{level}") for level in range(LEVELS)]
    scale = tag("span", "0 ", tag("span", *steps, class_="ramp"), f" {ceiling:.1f} bits and more")
    if len(names) == 1:
        return tag("p", scale, class_="note legend")
    rows = tag("span", "Rows: ", tag("b", names[0]), " above ", tag("b", names[1]), ".", class_="fixed")
    upper = tag("span", tag("i", class_="key u5"), " upper row less surprised")
    lower = tag("span", tag("i", class_="key w5"), " lower row less surprised")
    return tag("p", rows, scale, upper, lower, class_="note legend")


def _staff(symbols: Sequence[str], rows: Sequence[Bits], names: Sequence[str], ceiling: float) -> Html:
    """All cells, those of a word held together."""
    cells = [_cell(symbol, [row[at] for row in rows], names, ceiling) for at, symbol in enumerate(symbols)]
    wide = sum(map(len, symbols)) > 1.5 * len(symbols)  # words rather than characters
    pairs = zip(symbols, cells, strict=True)
    runs = groupby(pairs, lambda pair: wide or pair[0].isspace())
    words = (tag("span", *(cell for _, cell in run), class_=None if apart else "word") for apart, run in runs)
    return tag("div", *words, class_="staff wide" if wide else "staff", id="staff")


def _cell(symbol: str, bits: Bits, names: Sequence[str], ceiling: float) -> Html:
    sign = _sign(symbol)
    said = ", ".join(f"{name} {shown(one, _said)}" for name, one in zip(names, bits, strict=False))
    rows = [
        tag("b", sign, class_=_level(one, ceiling), aria_hidden="true" if at else None)
        for at, one in enumerate(bits)
    ]
    below = tag("i", class_=_difference(bits[0], bits[1], ceiling)) if len(bits) == 2 else NOTHING
    return tag("span", *rows, below, class_="cell", title=f"{sign}: {said}")


def _sign(symbol: str) -> str:
    """A symbol as it can be seen."""
    return SIGNS.get(symbol) or ("◌" + symbol if unicodedata.combining(symbol[0]) else symbol)


def _level(bits: float | None, ceiling: float) -> str:
    return "lx" if bits is None else f"l{min(LEVELS - 1, max(0, int(LEVELS * bits / ceiling)))}"


def _difference(upper: float | None, lower: float | None, ceiling: float) -> str | None:
    """Whose surprise was smaller, and by how much."""
    if upper is None or lower is None:
        return None
    step = min(STEPS, int(2 * STEPS * abs(upper - lower) / ceiling + 0.5))
    return f"{'u' if upper < lower else 'w'}{step}" if step else None
