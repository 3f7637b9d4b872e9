"""Commands: what a person asked for on the page, as the words one would type after `chainrule`."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from chainrule.studio.folder import Folder, Outside

FLAG = re.compile(r"[a-z][a-z0-9_]*(\.[a-z][a-z0-9_]*)*")
OWNED = {
    "out",
    "output",
    "resume",
    "force",
    "json",
    "quiet",
    "verbose",
    "config",
    "data",
    "run",
    "tensorboard",
}
FORMATS = {"arpa": ".arpa", "vectors": ".txt", "hf": "-hf"}


@dataclass(frozen=True)
class Asked:
    """A command: its verb, what it makes, its words."""

    kind: str
    name: str
    words: tuple[str, ...]


def training(folder: Folder, form: Mapping[str, Any]) -> Asked:
    """`fit`, or `compare` where no family is named."""
    kind = "compare" if form.get("compare") else "fit"
    name = folder.new(text(form, "name")).name
    words = [kind, *_data(folder, form)]
    for flag in ("task", "label", *(("models",) if kind == "compare" else ("model",)), "budget", "codec"):
        if value := text(form, flag):
            words += [f"--{flag}", _plain(folder, flag, value)]
    words += [*settings(folder, form.get("settings") or {}), "-o", name]
    return Asked(kind, name, tuple(words))


def _data(folder: Folder, form: Mapping[str, Any]) -> Iterator[str]:
    """One file, or the two sides of parallel ones."""
    if form.get("target_file"):
        for side in ("source", "target"):
            yield from (f"--{side}", named(folder, text(form, f"{side}_file")))
        return
    yield named(folder, text(form, "data"))
    for side in ("source", "target"):
        if value := text(form, side):
            yield from (f"--{side}", _plain(folder, side, value))


def rating(folder: Folder, form: Mapping[str, Any]) -> Asked:
    """`rate`: two files side by side, on a page of its own."""
    name = folder.new(text(form, "name")).name
    source = text(form, "source")
    more = ["--source", named(folder, source)] if source else []
    files = [named(folder, text(form, side)) for side in ("a", "b")]
    return Asked("rate", name, ("rate", *files, *more, "--port", "0", "-o", name))


def exporting(folder: Folder, form: Mapping[str, Any]) -> Asked:
    """`export`: a model for another program."""
    kind = text(form, "format")
    if kind not in FORMATS:
        raise Outside(f"Models are exported as {', '.join(FORMATS)}, not as {kind!r}.")
    model = named(folder, text(form, "model"))
    name = folder.new(f"{model.rpartition('/')[2]}{FORMATS[kind]}").name
    return Asked("export", name, ("export", kind, model, name))


def named(folder: Folder, name: str) -> str:
    """Something in the folder, as one types it there."""
    return folder.whole(name).relative_to(folder.root).as_posix()


def settings(folder: Folder, given: Mapping[str, Any]) -> list[str]:
    """Settings as flags; files that they name must be in the folder."""
    words: list[str] = []
    for name, value in given.items():
        if not FLAG.fullmatch(name) or name in OWNED:
            raise Outside(f"{name!r} is no setting that can be given here.")
        flag = name.replace("_", "-")
        if isinstance(value, bool):
            words.append(f"--{flag}" if value else f"--no-{flag}")
        elif value not in (None, ""):
            words += [f"--{flag}", folder.value(_typed(name, value))]
    return words


def _typed(name: str, value: Any) -> str:
    told = str(value)
    if told.startswith("-") and not re.fullmatch(r"-[\d.]+(e-?\d+)?", told):
        raise Outside(f"{told!r} is no value for {name}.")
    return told


def _plain(folder: Folder, name: str, value: str) -> str:
    """The name of a family, a task or a column: a word, and nothing else."""
    if not value or value.startswith("-") or "\0" in value or len(value) > 200:
        raise Outside(f"{value!r} is no {name}.")
    return folder.value(value)


def text(form: Mapping[str, Any], name: str) -> str:
    """One of what was filled in; an empty text if it was not."""
    value = form.get(name)
    if value is not None and not isinstance(value, str):
        raise Outside(f"{name} is a text, and {value!r} came.")
    return (value or "").strip()


def looking(model: str, others: Sequence[str], typed: str, view: str, given: Mapping[str, Any]) -> list[str]:
    """The words of `look`, to show."""
    words = ["look", model, *([typed] if typed else []), "--view", view]
    for one in others:
        words += ["--against", one]
    for name, value in given.items():
        flag = name.replace("_", "-")
        if isinstance(value, bool):
            words.append(f"--{flag}" if value else f"--no-{flag}")
        elif value not in (None, ""):
            words += [f"--{flag}", str(value)]
    return [*words, "-o", f"{view}.html"]
