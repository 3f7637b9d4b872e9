"""What is printed of a model that was just made, by fit or by mix."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from chainrule.cli.caveats import of_parts
from chainrule.cli.output import number, seconds, size, table

if TYPE_CHECKING:
    from pathlib import Path

    from chainrule.bundle import Bundle


def values(bundle: Bundle, out: Path, took: float) -> dict[str, Any]:
    """For scripts."""
    return {
        "output": str(out),
        "task": bundle.task.name,
        "family": bundle.body.family,
        "codec": bundle.codec.name,
        "vocab_size": bundle.codec.size,
        "parameters": bundle.parameters,
        "bytes": _bytes(bundle),
        **{name: dict(figures) for name, figures in bundle.card.get("figures", {}).items()},
        **({"adapted": bundle.card["adapted"]} if "adapted" in bundle.card else {}),
        "seconds": took,
    }


def _bytes(bundle: Bundle) -> int:
    return sum(array.nbytes for array in bundle.arrays().values())


def _adapted(bundle: Bundle) -> dict[str, Any]:
    """Of a fine-tuned model: figures on old and new text, before and after."""
    texts = bundle.card.get("adapted", {}).get("figures", {})
    return {f"{text}, {when}": one for text, both in texts.items() for when, one in both.items()}


def summary(bundle: Bundle, out: Path, took: float) -> str:
    """For people."""
    what = f"{bundle.body.family} on {bundle.codec.name}, vocabulary {bundle.codec.size:,}"
    lines = [f"{out}: {what}, {size(_bytes(bundle))}, {seconds(took)}"]
    parts = {**bundle.card.get("figures", {}), **_adapted(bundle)}
    if parts:
        names = [
            name
            for name in bundle.task.shown or next(iter(parts.values()))
            if all(name in one for one in parts.values())
        ]
        rows = [[part, *(number(figures[name]) for name in names)] for part, figures in parts.items()]
        lines.append(table(["", *(name.replace("_", " ") for name in names)], rows))
    return "\n".join([*lines, *of_parts(bundle)])
