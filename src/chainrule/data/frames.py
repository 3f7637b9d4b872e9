"""Frames as data: when they are meant, and sequences of them as rows of one table, whatever they came from."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from chainrule.codecs.choose import Choice
from chainrule.codecs.registry import codec as codec_named
from chainrule.data.paths import Stamp, is_pipe
from chainrule.data.recordings import ID, Form, Recording, is_nested, names_arrays, recordings
from chainrule.data.roles import Request
from chainrule.data.room import Spool
from chainrule.data.rows import LABEL, TARGET
from chainrule.data.sources import ReadConfig, Source, read
from chainrule.data.tagged import BREAK, WORDS
from chainrule.errors import ConfigError, DataError


def are_frames(given: Any, asked: Request) -> bool:
    """Whether frames are to be read: a codec was named, or data or columns say so."""
    if TARGET in asked.names:  # a source may be anything, see `data.attached`
        return False
    arrays_given = names_arrays(given) or is_nested(given)
    name = asked.asked[asked.main]
    if name is not None:
        if arrays_given and not codec_named(name).framed:
            raise DataError(f"The data are arrays of numbers, and the codec is {name}: take --codec frames.")
        return codec_named(name).framed
    return arrays_given or _several(given, asked)


def _several(given: Any, asked: Request) -> bool:
    """Whether --column names several columns, and not one with commas in its name."""
    column = asked.reading.column or ""
    if len([one for one in column.split(",") if one.strip()]) < 2 or isinstance(given, Mapping):
        return False
    if isinstance(given, str | os.PathLike) and is_pipe(given):  # it can be looked at once
        return True
    source = read(given, replace(asked.reading, group=None, sort=None))
    return source.table and column not in source.names()


def frames_table(given: Any, asked: Request) -> tuple[Source, Choice]:
    """The data as a table with the columns that are asked for, a row for each sequence; and why they are frames."""
    if asked.reading.stream:
        raise ConfigError("--stream is for text, and frames are read. Leave it out.")
    form, columns = Form.of(asked), {role.name: asked.column(role) or role.name for role in asked.roles}
    name, found = recordings(given, asked, form)
    roles = (asked.main, LABEL, ID)
    lines = (_line(one, columns, roles, form.tags) for one in found)
    spool = Spool(name, lines, ".jsonl")
    notes, states = tuple(dict.fromkeys(form.notes)), (Stamp.of(spool.path),)
    why = "every moment has several numbers" if form.columns else "the data are arrays of numbers"
    return Source(name, (spool.path,), ReadConfig(), (), None, (spool,), notes, states), Choice("frames", why)


def _line(one: Recording, columns: Mapping[str, str], roles: Sequence[str], tags: bool) -> bytes:
    text, label, name = roles
    told_label: Any = _tags(one) if tags else next(iter(one.labels), "")
    frames = list(one.frames)
    cells = {text: frames, label: told_label, name: one.id, WORDS: BREAK.join(frames)}
    return json.dumps({column: cells[role] for role, column in columns.items()}).encode() + b"\n"


def _tags(one: Recording) -> list[str]:
    """A tag for every frame; what stands behind the last frame was padding."""
    tags = ["_".join(tag.split()) for tag in one.labels]
    if len(tags) < len(one.frames) or any(not tag for tag in tags[: len(one.frames)]):
        missing = next((at for at, tag in enumerate(tags, 1) if not tag), len(tags) + 1)
        raise DataError(
            f"Sequence {one.id!r} has {len(one.frames):,} frames, and frame {missing:,} has no tag: give one for each."
        )
    return tags[: len(one.frames)]
