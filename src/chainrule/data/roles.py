"""Roles: what every column of the data is for, and through which codec it is read.

Role("text")                                                  # a language model needs no more
Role("text"), Role("label", column="stars", codec="events")   # classification
Role("source"), Role("target")                                # translation: columns of a table, or a file each
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from chainrule.codecs.choose import Choice
from chainrule.codecs.registry import codec as codec_named
from chainrule.config import Config, refuse_unknown, share
from chainrule.data.rows import TEXT, main_of
from chainrule.data.sources import ReadConfig
from chainrule.errors import ConfigError


@dataclass(frozen=True)
class Role:
    """One column of the data: what it is for, where it is read from, and its codec."""

    name: str  # "text", "label", "source", "target", …
    column: str | None = None  # of a table; None: the one called like the role
    codec: str | None = None  # None: the one that suits the data
    settings: Mapping[str, Any] = field(
        default_factory=dict
    )  # of the codec; they win over options for all roles
    prefers: str | None = None  # the codec for text in words, if none is named
    otherwise: str | None = None  # the codec, whatever the data are, if none is named
    usual: Mapping[str, Any] = field(default_factory=dict)  # settings of the codec where none are given
    empty: bool = False  # a blank cell is an empty sequence; else its row is left out, for all roles
    shares: str | None = None  # the role it has a vocabulary in common with, where their codecs allow it
    alike: bool = (
        False  # they are of one language: the vocabulary is common to both if it is one of words, too
    )
    like: str | None = None  # the role whose codec reads it, too


@dataclass(frozen=True)
class Request:
    """What is asked of the data: roles, a codec for those that name none, and options of all kinds."""

    roles: tuple[Role, ...]
    codec: str | None
    options: Mapping[str, Any]
    allowed: tuple[type[Config], ...]  # configs of others, whose settings may be among the options

    @classmethod
    def of(
        cls,
        roles: Sequence[Role],
        codec: str | None,
        options: Mapping[str, Any],
        allowed: Sequence[type[Config]],
    ) -> Request:
        """With what the options say of a role in the role itself; as much as possible is checked before reading."""
        found = cls(tuple(_grouped(role, options) for role in roles), codec, options, tuple(allowed))
        found._check_roles()
        if all(found.asked.values()):
            found.settled({})
        return found

    @property
    def names(self) -> list[str]:
        """Of the roles, in their order."""
        return [role.name for role in self.roles]

    @property
    def main(self) -> str:
        """The main role."""
        return main_of(self.names)

    @property
    def reading(self) -> ReadConfig:
        """How files are read."""
        return ReadConfig.from_values(share(self.options, ReadConfig))

    @property
    def asked(self) -> dict[str, str | None]:
        """The codec that was named for every role."""
        return {role.name: role.codec or self.codec for role in self.roles}

    def column(self, role: Role, table: bool = True) -> str | None:
        """The column a role is read from; None: the usual one. In a `table` of all roles it is called like the role."""
        named = role.column or (self.reading.column if role.name == self.main else None)
        return named or (role.name if table and role.name != TEXT else None)

    def settled(self, choices: Mapping[str, Choice]) -> tuple[Role, ...]:
        """Every role with its codec and all its settings; `choices` are for roles without a given codec.

        Options that name no role are meant for the main one, and for all that leave their codec open.
        """
        codecs = {
            name: choices[name].name if name in choices else str(asked) for name, asked in self.asked.items()
        }
        general = {role.name for role in self.roles if role.name == self.main or role.codec is None}
        plain = {name: value for name, value in self.options.items() if name.partition(".")[0] not in codecs}
        refuse_unknown(
            plain, ReadConfig, *(codec_named(codecs[name]).Config for name in general), *self.allowed
        )
        return tuple(
            _settled(role, codecs[role.name], choices.get(role.name), plain if role.name in general else {})
            for role in self.roles
        )

    def _check_roles(self) -> None:
        if not self.names or len(set(self.names)) < len(self.names):
            raise ConfigError(f"Every role needs a name of its own, not {', '.join(self.names) or 'none'}.")
        if self.codec and all(role.codec for role in self.roles):
            wanted = self.asked[self.main]
            if wanted != self.codec:
                raise ConfigError(f"The codec of {self.main} is {wanted} here, and cannot be {self.codec}.")


def _grouped(role: Role, options: Mapping[str, Any]) -> Role:
    """A role with what the options say of it: {"label": {"column": "stars"}}, or {"label": "stars"} for short."""
    group = options.get(role.name, {})
    group = {"column": group} if isinstance(group, str) else group
    if not isinstance(group, Mapping):
        raise ConfigError(f"{role.name} is a column, or a group such as {role.name}.column, not {group!r}.")
    dotted = {name.partition(".")[2]: name for name in options if name.startswith(f"{role.name}.")}
    group = {**group, **{name: options[full] for name, full in dotted.items()}}
    own = {name: group[name] for name in ("column", "codec", "empty") if name in group}
    rest = {name: value for name, value in group.items() if name not in own}
    return replace(role, **own, settings={**role.settings, **rest})


def _settled(role: Role, codec: str, choice: Choice | None, options: Mapping[str, Any]) -> Role:
    kind = codec_named(codec)
    usual = {**(choice.settings if choice else {}), **share(role.usual, kind.Config)}
    settings = {**usual, **share(options, kind.Config), **role.settings}
    kind.Config.from_values(settings)  # mistakes are told before long work
    return replace(role, codec=kind.name, settings=settings)
