"""What must be said beside a figure, so that nobody takes it for more than it is."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from chainrule.cli.output import percent

if TYPE_CHECKING:
    from chainrule.bundle import Bundle

FEW = 1_000  # symbols below which a figure may be chance


def caveats(bundle: Bundle, figures: Mapping[str, Any]) -> list[str]:
    """Sentences about bits per byte on this alphabet; none where it is exact."""
    return [
        *_pseudo(bundle),
        *_unspelled(figures["unknown"], figures["symbols"]),
        *_lossy(bundle.codec.name, bool(bundle.card.get("reading", {}).get("stream"))),
    ]


def few(figures: Mapping[str, Any]) -> list[str]:
    """A sentence about data too small to judge on."""
    symbols = figures["symbols"]
    return [f"only {symbols:,} symbols were judged: the figures mean little"] if symbols < FEW else []


def of_parts(bundle: Bundle) -> list[str]:
    """The same for every part of the data a model was judged on when it was fitted."""
    found: dict[str, None] = {}
    for name, figures in bundle.card.get("figures", {}).items():
        said = [
            f"{name}: {one}" for one in (*_unspelled(figures["unknown"], figures["symbols"]), *few(figures))
        ]
        found |= dict.fromkeys(said)
    whole = [*_pseudo(bundle), *_lossy(bundle.codec.name, bool(bundle.card.get("reading", {}).get("stream")))]
    return [*found, *(whole if bundle.card.get("figures") else [])]


def _pseudo(bundle: Bundle) -> list[str]:
    if bundle.model.reads == "left":
        return []
    return [
        "pseudo-figures: each symbol was guessed with all others in sight; compare them with such models only"
    ]


def _unspelled(unknown: int, symbols: int) -> list[str]:
    if not unknown:
        return []
    share = percent(unknown / max(1, symbols))
    symbol = "symbol" if unknown == 1 else "symbols"
    return [f"bits per byte leaves out the spelling of {unknown:,} unknown {symbol} ({share})"]


def _lossy(codec: str, stream: bool) -> list[str]:
    if codec == "numbers":
        return ["bits per byte of the bins: what a bin leaves open is not counted"]
    if codec == "words" and stream:
        return ["bits per byte leaves out the line ends: between words all white space is alike"]
    return []
