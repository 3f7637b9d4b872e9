"""`show` describes a saved model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from chainrule.cli.caveats import of_parts
from chainrule.cli.output import Json, Printer, Quiet, Verbose, number, size
from chainrule.cli.saved import Saved

if TYPE_CHECKING:
    from pathlib import Path

    from chainrule.bundle import Bundle


def show(
    model: Saved,
    verify: Annotated[bool, typer.Option("--verify", help="Check every byte of every file.")] = False,
    json: Json = False,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Describe a saved model: settings, size, data and evaluation."""
    from chainrule.bundle import load

    bundle = load(model, verify=verify)
    facts = _facts(bundle) | ({"verified": True} if verify else {})
    Printer(json, quiet, verbose).result(facts, "\n".join([_described(model, facts), *of_parts(bundle)]))


def _facts(bundle: Bundle) -> dict[str, Any]:
    arrays = bundle.arrays()
    shapes = {name: {"shape": list(one.shape), "dtype": str(one.dtype)} for name, one in arrays.items()}
    return bundle.config | {
        "vocab_size": bundle.codec.size,
        "parameters": bundle.parameters,
        "bytes": sum(one.nbytes for one in arrays.values()),
        "arrays": shapes,
        "card": dict(bundle.card),
    }


def _described(model: Path, facts: dict[str, Any]) -> str:
    rows = [
        ("model", str(model)),
        ("task", facts["task"]["name"]),
        *_plain(facts["task"]["settings"]),
        ("family", facts["family"]),
        *_plain(facts["model"], skip=("vocab_size", "suppressed")),
        *_part("head", facts["head"]),
        *(row for role, one in facts["codecs"].items() for row in _part(f"codec of {role}", one)),
        ("vocab_size", f"{facts['vocab_size']:,} ids"),
        ("parameters", f"{facts['parameters']:,} numbers, {size(facts['bytes'])}"),
        *(
            ("array " + name, f"{tuple(one['shape'])} {one['dtype']}")
            for name, one in facts["arrays"].items()
        ),
        *_plain(facts["card"]),
        *([("files", "verified: every byte is as it was saved")] if facts.get("verified") else []),
    ]
    width = 2 + max(len(name) for name, _ in rows)
    return "\n".join(f"{name:{width}}{value}".rstrip() for name, value in rows)


def _part(title: str, part: dict[str, Any] | None) -> list[tuple[str, str]]:
    """A head or a codec as lines."""
    return [] if part is None else [(title, part["name"]), *_plain(part["config"])]


def _plain(values: dict[str, Any], skip: tuple[str, ...] = (), before: str = "  ") -> list[tuple[str, str]]:
    """Settings and figures as lines, what is inside others set in."""
    rows: list[tuple[str, str]] = []
    for name, value in values.items():
        if name in skip:
            continue
        if isinstance(value, dict):
            rows += [(before + name, ""), *_plain(value, skip, before + "  ")]
        else:
            rows.append((before + name, number(value) if isinstance(value, float) else _cell(value)))
    return rows


def _cell(value: Any) -> str:
    if isinstance(value, list | tuple):
        return ("; " if isinstance(value, list) else ",").join(map(str, value)) or "-"
    if isinstance(value, bool):
        return "on" if value else "off"
    return "-" if value is None else str(value)
