"""`models` lists families, tasks and codecs, and all settings of one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

import typer

from chainrule.cli.output import Json, Printer, Quiet, Verbose, table
from chainrule.cli.settings import Groups, codec_named, default_of, family_named, of_codec, of_fit, task_named
from chainrule.config import Setting, settings
from chainrule.errors import ConfigError, suggest

Name = Annotated[
    str | None, typer.Argument(metavar="NAME", help="A family, a task or a codec: all its settings.")
]


def models(name: Name = None, json: Json = False, quiet: Quiet = False, verbose: Verbose = False) -> None:
    """List model families, tasks and codecs, or the settings of one."""
    output = Printer(json, quiet, verbose)
    if name is None:
        listed = _listed()
        return output.result(listed, _listing(listed))
    groups = _groups(name)
    options = [_option(title, one) for title, group in groups.items() for one in group]
    output.result({"name": name, "options": options}, _help(name, groups))


def _listed() -> dict[str, dict[str, str]]:
    """Names with a line of help each."""
    from chainrule.codecs import registry as codecs
    from chainrule.models import registry as families
    from chainrule.tasks import base as tasks

    def helped(names: list[str], built_in: Mapping[str, tuple[str, str]]) -> dict[str, str]:
        return {name: built_in[name][1] if name in built_in else "" for name in names}

    return {
        "families": helped(families.families(), families.BUILT_IN),
        "tasks": helped(tasks.tasks(), tasks.BUILT_IN),
        "codecs": helped(codecs.codecs(), codecs.BUILT_IN),
    }


def _listing(listed: dict[str, dict[str, str]]) -> str:
    parts = [table([title, ""], listed[title].items(), left=2) for title in listed]
    return "\n\n".join([*parts, "All settings of one: chainrule models NAME"])


def _groups(name: str) -> Groups:
    """The settings of whatever has this name."""
    from chainrule.tasks.base import task

    listed = _listed()
    if (found := family_named(name)) in listed["families"]:
        return of_fit(found)
    if (found := task_named(name)) in listed["tasks"]:
        return {f"Task {found}": settings(task(found))}
    if (found := codec_named(name)) in listed["codecs"]:
        return of_codec(found)
    known = [one for names in listed.values() for one in names]
    raise ConfigError(f"There is no family, task or codec {name!r}. {suggest(name, known)}".rstrip())


def _option(title: str, setting: Setting) -> dict[str, Any]:
    return {
        "group": title,
        "flag": setting.flag,
        "help": setting.help,
        "default": None if setting.chosen else setting.default,
        "chosen": setting.chosen,
        "choices": list(setting.choices),
    }


def _help(name: str, groups: Groups) -> str:
    parts = [
        table([title, "default", ""], [_row(one) for one in group], left=3)
        for title, group in groups.items()
        if group
    ]
    return "\n\n".join(parts) or f"{name} has no settings."


def _row(setting: Setting) -> list[str]:
    choices = f" ({', '.join(setting.choices)})" if setting.choices else ""
    return [setting.flag, default_of(setting) or "-", setting.help + choices]
