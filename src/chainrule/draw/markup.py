"""HTML: tags whose text is escaped, and figures and values formatted for people."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from html import escape
from typing import Any

VOID = frozenset({"br", "meta"})  # tags that never close
# Control characters have pictures of their own, so that nothing in a name or a text is invisible or lost.
PICTURES = {
    **{code: 0x2400 + code for code in range(32) if code not in (9, 10)},
    **dict.fromkeys(range(0x80, 0xA0), 0xFFFD),
    0x7F: 0x2421,
}


class Html(str):
    """Text that is markup already; any other text is escaped when it gets between tags."""

    __slots__ = ()


NOTHING = Html()


def tag(name: str, *inside: object, **attributes: object) -> Html:
    """One element: `tag("td", value, class_="figure")`; what is None is left out, True stands alone."""
    opened = "".join(_attribute(key, value) for key, value in attributes.items() if value is not None)
    if name in VOID:
        return Html(f"<{name}{opened}>")
    return Html(f"<{name}{opened}>{joined(*inside)}</{name}>")


def joined(*parts: object) -> Html:
    """Parts one after another, escaped where they are not markup."""
    return Html("".join(part if isinstance(part, Html) else escape(text(part)) for part in parts))


def _attribute(key: str, value: object) -> str:
    name = key.rstrip("_").replace("_", "-")
    return f" {name}" if value is True else f' {name}="{escape(_brief(value))}"'


def _brief(value: object) -> str:
    """Coordinates need no more than a tenth of a pixel."""
    return f"{value:.1f}".removesuffix(".0") if isinstance(value, float) else text(value)


def text(value: object) -> str:
    """Anything as text that UTF-8 and HTML can hold."""
    return "" if value is None else str(value).encode("utf-8", "replace").decode().translate(PICTURES)


def block(identity: str, values: object) -> Html:
    """Data for the script; no text in it can end the block, whatever it says."""
    written = json.dumps(values, allow_nan=False, separators=(",", ":"))  # ASCII: U+2028 is escaped, too
    for sign in "<>&":
        written = written.replace(sign, f"\\u{ord(sign):04x}")
    return tag("script", Html(written), type="application/json", id=identity)


def number(value: object) -> float | None:
    """A finite number, or None for anything else."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        return float(value) if math.isfinite(value) else None
    except OverflowError:
        return None


def mapping(value: object) -> Mapping[str, Any]:
    """The value if it has names, otherwise none."""
    return value if isinstance(value, Mapping) else {}


def listed(value: object) -> list[Any]:
    """The value if it is a list, otherwise an empty one."""
    return list(value) if isinstance(value, list | tuple) else []


def mappings(value: object) -> list[Mapping[str, Any]]:
    """Those entries of a list that have names."""
    return [one for one in listed(value) if isinstance(one, Mapping)]


def rows(value: object, columns: int) -> list[tuple[float, ...]]:
    """Those rows of a list that are as many finite numbers as expected."""
    found = (tuple(number(one) for one in listed(row)[:columns]) for row in listed(value))
    return [row for row in found if len(row) == columns and None not in row]  # type: ignore[misc]


def shown(value: object, form: Callable[[float], str]) -> str:
    """A figure in its form, `∞` where it is infinite, a dash where there is none."""
    if isinstance(value, float) and math.isinf(value):
        return "∞" if value > 0 else "−∞"
    finite = number(value)
    return "–" if finite is None else form(finite).replace("-", "−").replace(" ", "\u00a0")


def bits(value: float) -> str:
    """Three digits behind the point: `1.830`."""
    return f"{value:.3f}" if abs(value) < 1e6 else f"{value:.2e}"


def signed(value: float) -> str:
    """The same with its sign: `+0.010`."""
    return ("+" if value >= 0 else "") + bits(value)


def figure(value: float) -> str:
    """Three digits that say something: `3.51`, `141`, `0.00012`."""
    return f"{value:,.0f}" if 100 <= abs(value) < 1e6 else f"{value:.3g}"


def count(value: float) -> str:
    """A number of things: `512`, `51,234`, `1.23 million`."""
    if abs(value) >= 1e15:
        return f"{value:.2e}"
    for name, factor in (("trillion", 1e12), ("billion", 1e9), ("million", 1e6)):
        if abs(value) >= factor:
            return f"{value / factor:.3g} {name}"
    return f"{value:,.0f}" if abs(value) >= 10 or value == int(value) else f"{value:.2g}"


def size(value: float) -> str:
    """A number of bytes: `1.2 MB`."""
    for unit, factor in (("TB", 1e12), ("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if abs(value) >= factor:
            return f"{value / factor:.1f} {unit}" if value < 1e18 else f"{value:.1e} bytes"
    return f"{value:.0f} bytes"


def duration(value: float) -> str:
    """A time: `0.12 s`, `48 s`, `3:05 min`, `2 h 05 min`."""
    if abs(value) < 59.5 or abs(value) >= 1e12:
        return f"{value:.2g} s" if abs(value) < 9.95 or abs(value) >= 1e12 else f"{value:.0f} s"
    minutes, seconds = divmod(round(value), 60)
    if minutes < 60:
        return f"{minutes}:{seconds:02} min"
    return f"{minutes // 60} h {minutes % 60:02} min"


def percent(value: float) -> str:
    """A share: `79 %`."""
    return f"{100 * value:.0f} %" if abs(value) < 1e4 else f"{100 * value:.1e} %"


def times(value: float) -> str:
    """A ratio: `× 1.20`."""
    return f"× {value:.2f}" if value < 100 else f"× {value:.3g}"
