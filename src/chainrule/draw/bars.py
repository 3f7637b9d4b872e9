"""Bars of letters, for terminals."""

from __future__ import annotations

from collections.abc import Sequence

EIGHTHS = " ▏▎▍▌▋▊▉█"


def bars(values: Sequence[float], width: int = 30, plain: bool = False) -> list[str]:
    """A bar for each value from 0 up, the longest as wide as asked; `plain` are those of ASCII."""
    most = max(values, default=0.0) or 1.0
    return [_bar(max(0.0, value) / most * width, plain) for value in values]


def _bar(length: float, plain: bool) -> str:
    if plain:
        return "#" * round(length)
    whole, rest = divmod(round(8 * length), 8)
    return EIGHTHS[8] * whole + EIGHTHS[rest].strip()
