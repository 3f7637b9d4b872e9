"""Notes beside figures: what they leave out, and when they are unreliable."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from chainrule.cli.output import percent

if TYPE_CHECKING:
    from chainrule.bundle import Bundle

FEW = 1_000  # symbols below which a figure may be chance


def caveats(bundle: Bundle, figures: Mapping[str, Any]) -> list[str]:
    """Sentences about bits per byte with this vocabulary; none where it is exact."""
    return [
        *_pseudo(bundle),
        *_unspelled(figures),
        *_lossy(bundle),
    ]


def few(figures: Mapping[str, Any]) -> list[str]:
    """A sentence about data too small to evaluate on."""
    symbols = figures.get("symbols", FEW)
    return [f"only {symbols:,} symbols were evaluated: the figures are unreliable"] if symbols < FEW else []


def of_parts(bundle: Bundle) -> list[str]:
    """The same for every part of the data a model was evaluated on when it was trained."""
    found: dict[str, None] = {}
    for name, figures in bundle.card.get("figures", {}).items():
        found |= dict.fromkeys(f"{name}: {one}" for one in (*_unspelled(figures), *few(figures)))
    names = {name for figures in bundle.card.get("figures", {}).values() for name in figures}
    pseudo = _pseudo(bundle) if any(name.startswith("pseudo_") for name in names) else []
    return [*found, *pseudo, *_lossy(bundle)] if "unknown" in names else [*found]


def _pseudo(bundle: Bundle) -> list[str]:
    if bundle.body.reads == "left":
        return []
    return [
        "pseudo-perplexity: each symbol was predicted from all others; compare it with that of such models only"
    ]


def _unspelled(figures: Mapping[str, Any]) -> list[str]:
    unknown = figures.get("unknown", 0)
    if not unknown:
        return []
    share = percent(unknown / max(1, figures["symbols"]))
    symbol = "symbol" if unknown == 1 else "symbols"
    return [f"bits per byte leaves out the spelling of {unknown:,} unknown {symbol} ({share})"]


def _lossy(bundle: Bundle) -> list[str]:
    """What the codec itself leaves out."""
    told = bundle.codec.caveat(bool(bundle.card.get("reading", {}).get("stream")))
    return [told] if told else []
