"""What there is: `models` lists families, codecs and their options, `show` describes a saved model."""

from __future__ import annotations

from dataclasses import Field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from chainrule.cli.caveats import of_parts
from chainrule.cli.output import Json, Output, Quiet, Verbose, number, size, table
from chainrule.errors import ConfigError, suggest

if TYPE_CHECKING:
    from chainrule.bundle import Bundle
    from chainrule.config import Config


def models(
    name: Annotated[
        str | None, typer.Argument(metavar="NAME", help="A family or a codec: its options.")
    ] = None,
    json: Json = False,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """List families and codecs, or options of one."""
    output = Output(json, quiet, verbose)
    if name is None:
        listed = {"families": _families(), "codecs": _codecs()}
        output.result(listed, _listing(listed))
    else:
        options = [_option(setting) for setting in _settings(name)]
        output.result({"name": name, "options": options}, _help(name, options))


def _families() -> dict[str, str]:
    from chainrule.models.registry import BUILT_IN, families

    return {name: BUILT_IN[name][1] if name in BUILT_IN else "" for name in families()}


def _codecs() -> dict[str, str]:
    from chainrule.codecs.registry import BUILT_IN, codecs

    return {name: BUILT_IN[name][1] if name in BUILT_IN else "" for name in codecs()}


def _listing(listed: dict[str, dict[str, str]]) -> str:
    parts = [table([title, ""], listed[title].items(), left=2) for title in listed]
    return "\n\n".join([*parts, "Options of one: chainrule models NAME"])


def _settings(name: str) -> list[Field[Any]]:
    from chainrule.config import visible

    return visible(_config(name))


def _config(name: str) -> type[Config]:
    from chainrule.codecs.registry import codec, codecs
    from chainrule.models.registry import families, family

    if name in families():
        return family(name).Config
    if name in codecs():
        return codec(name).Config
    raise ConfigError(f"There is no family or codec {name!r}. {suggest(name, [*families(), *codecs()])}")


def _option(setting: Field[Any]) -> dict[str, Any]:
    from chainrule.config import flag

    facts = setting.metadata
    return {
        "flag": flag(setting.name),
        "help": facts["help"],
        "default": setting.default,
        "choices": list(facts["choices"]),
    }


def _help(name: str, options: list[dict[str, Any]]) -> str:
    if not options:
        return f"{name} has no options."
    rows = [
        [one["flag"], _default(one["default"]), one["help"] + _choices(one["choices"])] for one in options
    ]
    return table([name, "default", ""], rows, left=3)


def _default(value: Any) -> str:
    if isinstance(value, bool):
        return "on" if value else "off"
    if value is None or value == ():
        return "-"
    if isinstance(value, list):
        return "; ".join(map(str, value)) or "-"
    return ",".join(map(str, value)) if isinstance(value, tuple) else str(value)


def _choices(choices: list[str]) -> str:
    return f" ({', '.join(choices)})" if choices else ""


def show(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="The folder of a saved model.")],
    verify: Annotated[bool, typer.Option("--verify", help="Check every byte of every file.")] = False,
    json: Json = False,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Describe a saved model.

    What it is, how large, where it comes from, how good it was.
    """
    from chainrule.bundle import load

    bundle = load(model, verify=verify)
    facts = _facts(bundle) | ({"verified": True} if verify else {})
    Output(json, quiet, verbose).result(facts, "\n".join([_described(model, facts), *of_parts(bundle)]))


def _facts(bundle: Bundle) -> dict[str, Any]:
    arrays = bundle.model.arrays()
    shapes = {name: {"shape": list(one.shape), "dtype": str(one.dtype)} for name, one in arrays.items()}
    return bundle.config | {
        "alphabet": bundle.codec.size,
        "parameters": bundle.model.parameters_count,
        "bytes": sum(one.nbytes for one in arrays.values()),
        "arrays": shapes,
        "card": dict(bundle.card),
    }


def _described(model: Path, facts: dict[str, Any]) -> str:
    codec = facts["codec"]
    rows = [
        ("model", str(model)),
        ("family", facts["family"]),
        *_plain(facts["model"], skip=("alphabet", "silent")),
        ("codec", codec["name"]),
        *_plain(codec["config"]),
        ("alphabet", f"{facts['alphabet']:,} ids"),
        ("parameters", f"{facts['parameters']:,} numbers, {size(facts['bytes'])}"),
        *(
            ("array " + name, f"{tuple(one['shape'])} {one['dtype']}")
            for name, one in facts["arrays"].items()
        ),
        *_plain(facts["card"]),
        *([("files", "all as they were saved, to the last byte")] if facts.get("verified") else []),
    ]
    return "\n".join(f"{name:22}{value}" for name, value in rows)


def _plain(values: dict[str, Any], skip: tuple[str, ...] = (), before: str = "  ") -> list[tuple[str, str]]:
    """Settings and figures as lines, what is inside others set in."""
    rows: list[tuple[str, str]] = []
    for name, value in values.items():
        if name in skip:
            continue
        if isinstance(value, dict):
            rows += [(before + name, ""), *_plain(value, skip, before + "  ")]
        else:
            rows.append((before + name, number(value) if isinstance(value, float) else _default(value)))
    return rows
