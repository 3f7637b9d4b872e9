"""Which codec reads a column for which none was named: by what settings, tasks and models say, else by the data."""

from __future__ import annotations

from dataclasses import replace

from chainrule.codecs.choose import Choice, choose
from chainrule.codecs.registry import codec as codec_named
from chainrule.codecs.registry import codecs
from chainrule.config import Config, flag, visible
from chainrule.data.attached import source_choice
from chainrule.data.columns import Columns
from chainrule.data.roles import Request
from chainrule.data.rows import TARGET
from chainrule.data.sources import ReadConfig


def codec_choices(source: Columns, asked: Request) -> dict[str, Choice]:
    """For roles without a given codec, the one that suits the beginning of the data."""
    left = [role for role, codec in asked.asked.items() if codec is None]
    fixed = {role.name: role.otherwise for role in asked.roles if role.otherwise}
    known = {
        role: choice
        for role in left
        if (choice := _implied(role, asked) or source.choice(role) or _fixed(fixed.get(role)))
    }
    sample = source.sample() if len(known) < len(left) else {}
    writes = TARGET in asked.names
    alone = len(asked.roles) == 1  # beside a label or a translation, a text that comes again is still a text
    found = {
        role.name: known.get(role.name)
        or (source_choice(sample[role.name]) if writes and role.name != TARGET else None)
        or _preferred(choose(sample[role.name], table=alone and source.is_table(role.name)), role.prefers)
        for role in asked.roles
        if role.name in left and not role.like
    }
    alike = {
        role.name: replace(found[role.like], reason=f"that of {role.like}")
        for role in asked.roles
        if role.like in found
    }
    return found | alike


def with_sources(source: Columns, asked: Request) -> Request:
    """Where a codec is named for all roles, it is for texts: sources that are none keep one that reads them."""
    if asked.codec is None or TARGET not in asked.names:
        return asked
    sample = source.sample()
    found = {name: source_choice(sample[name]) for name in asked.names if name != TARGET}
    roles = (
        replace(role, codec=choice.name) if (choice := found.get(role.name)) and not role.codec else role
        for role in asked.roles
    )
    return replace(asked, roles=tuple(roles))


def _fixed(name: str | None) -> Choice | None:
    """What a task reads its words with."""
    return Choice(name, "words are taken as they are given") if name else None


def _preferred(choice: Choice, name: str | None) -> Choice:
    """What a model likes to read words with, where there are words."""
    if name in (None, choice.name) or not choice.prose:
        return choice
    return Choice(name, "the model finds words and parts of words in them")


def _implied(role: str, asked: Request) -> Choice | None:
    """The codec that alone has a setting which was given, such as `bins`; signs in numbers mean numbers."""
    if role == asked.main and not asked.reading.decimals.usual:
        return Choice("numbers", "--decimal and --thousands say how numbers are written")
    configs: list[type[Config]] = [ReadConfig, *asked.allowed]
    others = {one.name for config in configs for one in visible(config)}
    for name in asked.options if role == asked.main else ():
        owners = [one for one in codecs() if name in {own.name for own in visible(codec_named(one).Config)}]
        if len(owners) == 1 and name not in others:
            return Choice(owners[0], f"{flag(name)} is a setting of this codec alone")
    return None
