"""`show` describes a saved model."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Annotated, Any

import typer

from chainrule.cli.caveats import of_parts
from chainrule.cli.output import Json, Printer, Quiet, Verbose, number, size, table
from chainrule.cli.saved import Saved

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    import numpy as np

    from chainrule.bundle import Bundle


def show(
    model: Saved,
    verify: Annotated[bool, typer.Option("--verify", help="Check every byte of every file.")] = False,
    json: Json = False,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Describe a saved model: settings, layers with shapes and parameters, data and evaluation."""
    from chainrule.bundle import load

    bundle = load(model, verify=verify)
    facts = _facts(bundle) | ({"verified": True} if verify else {})
    told = [_described(model, facts, bundle.task.loss_unit), *_layers(facts), *of_parts(bundle)]
    Printer(json, quiet, verbose).result(facts, "\n".join(told))


HIDDEN = ("vocab_size", "suppressed")
UNITS = {"seconds": "s", "bytes": "bytes", "log2prob": "bits"}  # of figures whose names do not say it


def _facts(bundle: Bundle) -> dict[str, Any]:
    from chainrule.use.summary import summary

    arrays = bundle.arrays()
    shapes = {name: {"shape": list(one.shape), "dtype": str(one.dtype)} for name, one in arrays.items()}
    return bundle.config | {
        "vocab_size": bundle.codec.size,
        "parameters": bundle.parameters,
        "bytes": sum(one.nbytes for one in arrays.values()),
        "layers": [layer.to_dict() for layer in summary(bundle)],
        "arrays": shapes,
        **_mix(arrays),
        "card": dict(bundle.card),
    }


def _mix(arrays: Mapping[str, np.ndarray]) -> dict[str, Any]:
    """How much of each layer a task takes, where that is learnt, the lowest first: the softmax of `mix.weights`."""
    if "mix.weights" not in arrays:
        return {}
    raised = [math.exp(one) for one in arrays["mix.weights"].tolist()]
    shares = [one / sum(raised) for one in raised]
    return {"mix": {"weights": shares, "gamma": float(arrays["mix.gamma"].item())}}


def _described(model: Path, facts: dict[str, Any], unit: str) -> str:
    rows = [
        ("model", str(model)),
        ("task", facts["task"]["name"]),
        *_plain(facts["task"]["settings"]),
        ("family", facts["family"]),
        *_model(facts["model"], facts["card"].get("parts")),
        *_part("head", facts["head"]),
        *(row for role, one in facts["codecs"].items() for row in _part(f"codec of {role}", one)),
        ("vocab_size", f"{facts['vocab_size']:,} ids"),
        ("parameters", f"{facts['parameters']:,} numbers, {size(facts['bytes'])}"),
        *(
            ("array " + name, f"{tuple(one['shape'])} {one['dtype']}")
            for name, one in facts["arrays"].items()
            if not facts["layers"]
        ),
        *([("mix of layers", ""), *_plain(facts["mix"])] if "mix" in facts else []),
        ("card", ""),
        *_plain(_with_unit(facts["card"], unit)),
        *([("files", "verified: every byte is as it was saved")] if facts.get("verified") else []),
    ]
    width = 2 + max(len(name) for name, _ in rows)
    return "\n".join(f"{name:{width}}{value}".rstrip() for name, value in rows)


def _layers(facts: dict[str, Any]) -> list[str]:
    """The layers of a network as a table; B are rows, T symbols."""
    rows = [
        [f"{one['name']} ({one['kind']})", _shape(one["output"]), _weights(one), f"{one['parameters']:,}"]
        for one in facts["layers"]
    ]
    if not rows:
        return []
    total = ["total", "", "", f"{sum(one['parameters'] for one in facts['layers']):,}"]
    return ["", table(["layer (type)", "output shape", "weights", "parameters"], [*rows, total], left=3)]


def _weights(layer: dict[str, Any]) -> str:
    return ", ".join(_shape(shape) for shape in layer["weights"].values())


def _shape(shape: Sequence[int | str] | None) -> str:
    return "-" if shape is None else f"({', '.join(map(str, shape))})"


def _with_unit(card: dict[str, Any], unit: str) -> dict[str, Any]:
    """Losses of a training are told with their unit; of all validations, the first and the last one."""
    told, training, history = dict(card), card.get("training", {}), card.get("history")
    if "best" in training:
        told["training"] = training | {"best": f"{number(training['best'])} {unit}"}
    told.pop("losses", None)  # of training, many lines
    if history:
        first, last = (number(line["valid"]) for line in (history[0], history[-1]))
        told["history"] = f"{len(history)} validations, {first} to {last} {unit} (all of them: --json)"
    return told


def _part(title: str, part: dict[str, Any] | None) -> list[tuple[str, str]]:
    """A head or a codec as lines."""
    return [] if part is None else [(title, part["name"]), *_plain(part["config"])]


def _model(config: dict[str, Any], names: Sequence[str] | None) -> list[tuple[str, str]]:
    """Settings of a model; of an ensemble, those of every part under its name."""
    if "parts" not in config:
        return _plain(config)
    called = names or [f"model {at}" for at in range(1, len(config["parts"]) + 1)]
    rows: list[tuple[str, str]] = []
    weights = config.get("weights") or [1 / len(called)] * len(called)
    for name, part, weight in zip(called, config["parts"], weights, strict=True):
        rows.append((f"  {name}", f"{part['family']}, weight {weight:.3f}"))
        rows += _plain(part["config"], "    ")
    return rows


def _plain(values: dict[str, Any], before: str = "  ") -> list[tuple[str, str]]:
    """Settings and figures as lines, what is inside others set in."""
    return [row for name, value in values.items() if name not in HIDDEN for row in _rows(name, value, before)]


def _rows(name: str, value: Any, before: str) -> list[tuple[str, str]]:
    """One of them: a line, a line for each of several texts, or all that is inside it."""
    if isinstance(value, dict) and value.keys() == {"family", "config"}:
        return [(before + name, value["family"]), *_plain(value["config"], before + "  ")]
    if isinstance(value, dict):
        return [(before + name, ""), *_plain(value, before + "  ")]
    if isinstance(value, list) and value and all(isinstance(one, str | dict) for one in value):
        return [(before + name if not at else "", _cell(one)) for at, one in enumerate(value)]
    unit = UNITS.get(name, "") if isinstance(value, int | float) and not isinstance(value, bool) else ""
    return [(before + name, f"{_cell(value)} {unit}".rstrip())]


def _cell(value: Any) -> str:
    if isinstance(value, list | tuple):
        return ("; " if isinstance(value, list) else ",").join(map(_cell, value)) or "-"
    if isinstance(value, dict):
        return ", ".join(f"{name} {_cell(one)}" for name, one in value.items())
    if isinstance(value, bool):
        return "on" if value else "off"
    if isinstance(value, float):
        return number(value)
    return "-" if value is None else str(value)
