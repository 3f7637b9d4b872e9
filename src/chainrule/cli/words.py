"""Words a verb does not know itself: the options of the family and the codec, and where the data are."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import Field
from pathlib import Path
from typing import Any

import typer

from chainrule.config import Config, flag, read_flags, read_toml, visible
from chainrule.errors import ConfigError, DataError, suggest


def divide(
    words: Sequence[str], model: str | None, codec: str | None, own: Iterable[str]
) -> tuple[list[str], dict[str, Any]]:
    """Plain words, and options by name; `own` are the flags the verb knows itself, as suggestions."""
    settings = settings_of(model, codec)
    takes = {flag(setting.name) for setting in settings if setting.type not in ("bool", bool)}
    plain: list[str] = []
    flags: list[str] = []
    rest = list(words)
    while rest:
        word = rest.pop(0)
        if not word.startswith("-") or word == "-":
            plain.append(word)
            continue
        flags.append(word)
        if word in takes and rest:
            flags.append(rest.pop(0))
    for word in flags:
        _refuse_foreign(word, settings)
    return plain, read_flags(flags, settings, own)


def _refuse_foreign(word: str, settings: Sequence[Field[Any]]) -> None:
    """Say whose a flag is, if another family or codec has it."""
    name = word.partition("=")[0]
    if not name.startswith("--") or name in {flag(setting.name) for setting in settings}:
        return
    for kind, owners in _owners(name):
        if owners:
            raise ConfigError(
                f"{name} belongs to the {kind} {' and '.join(owners)}. Add --{kind} {owners[0]}."
            )


def _owners(word: str) -> Iterator[tuple[str, list[str]]]:
    """The codecs, then the families that take a flag; these are imported only when no codec does."""
    from chainrule.codecs.registry import codec, codecs
    from chainrule.models.registry import families, family

    yield "codec", [name for name in codecs() if word in _flags(codec(name).Config)]
    yield "model", [name for name in families() if word in _flags(family(name).Config)]


def _flags(config: type[Config]) -> set[str]:
    return {flag(setting.name) for setting in visible(config)}


def sources(plain: Sequence[str], what: str) -> str | list[Path]:
    """The words that name the data: one, or several files, as a shell makes them of a pattern."""
    if not plain:
        raise ConfigError(f"Which data? Expected: {what}")
    for word in plain:
        named(word)
    return plain[0] if len(plain) == 1 else [Path(word) for word in plain]


def named(source: str) -> str:
    """A name of data as it was given; refuses one that is empty, and standard input that is closed."""
    if not source:
        raise ConfigError("The name of the data is empty. Name a file or a folder; this folder is . (a dot).")
    if source == "-" and sys.stdin is None:
        raise DataError("Standard input is closed, and data were to be read from it. Name a file instead.")
    return source


def settings_of(model: str | None, codec: str | None) -> list[Field[Any]]:
    """The options a family and a codec take; of all codecs when it is still to be chosen."""
    from chainrule.codecs.registry import codec as codec_class
    from chainrule.codecs.registry import codecs
    from chainrule.train.fit import settings_of as settings_of_family

    found = [one for config in settings_of_family(model) for one in visible(config)] if model else []
    for name in [codec] if codec else codecs():
        found += visible(codec_class(name).Config)
    return found


def own_flags(context: typer.Context) -> list[str]:
    """The flags of a verb itself."""
    return [word for one in context.command.params for word in one.opts if word.startswith("--")]


def from_file(path: Path | None, own: Sequence[str], settings: Sequence[Field[Any]]) -> dict[str, Any]:
    """Settings from a TOML file; unknown ones get a suggestion."""
    values = read_toml(path) if path else {}
    known = {*own, *(setting.name for setting in settings)}
    for name in values:
        if name not in known:
            raise ConfigError(f"{path} has an unknown setting {name!r}. {suggest(name, known)}")
    return values
