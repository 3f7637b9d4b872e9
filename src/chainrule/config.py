"""Settings as frozen dataclasses, to and from plain values, TOML and command-line flags.

Each setting is documented where it is defined, and that sentence is its help on the command line:

    @dataclass(frozen=True, kw_only=True)
    class NgramConfig(Config):
        order: int = option(5, "how many symbols a count spans", low=1, high=9)
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import Field, asdict, dataclass, field, fields
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Literal, Self, Union, get_args, get_origin, get_type_hints

from chainrule.errors import ConfigError, suggest


def option(
    default: Any,
    help: str,
    *,
    choices: Sequence[str] = (),
    low: float | None = None,
    high: float | None = None,
    hidden: bool = False,
) -> Any:
    """A setting with its help; `hidden` ones are filled in by the program, never by flags."""
    facts = {"help": help, "choices": tuple(choices), "low": low, "high": high, "hidden": hidden}
    return field(default=default, metadata=facts)


@dataclass(frozen=True, kw_only=True)
class Config:
    """The root of all settings: checks itself when made."""

    def __post_init__(self) -> None:
        for setting in fields(self):
            _check(setting, getattr(self, setting.name))

    @classmethod
    def from_values(cls, values: Mapping[str, Any]) -> Self:
        """From plain values, as JSON or TOML give them: strings become what the setting wants."""
        known = {setting.name: setting for setting in fields(cls)}
        types = get_type_hints(cls)
        for name in values:
            if name not in known:
                raise ConfigError(f"There is no setting {name!r}. {suggest(name, known)}")
        return cls(**{name: _convert(name, value, types[name]) for name, value in values.items()})

    @classmethod
    def from_toml(cls, path: Path) -> Self:
        """From a TOML file of `name = value` lines."""
        try:
            return cls.from_values(tomllib.loads(path.read_text(encoding="utf-8")))
        except tomllib.TOMLDecodeError as error:
            raise ConfigError(f"{path} is not TOML: {error}. Write one `name = value` a line.") from error

    @classmethod
    def from_flags(cls, flags: Sequence[str]) -> Self:
        """From command-line words such as `--order 5 --prune 0,0,1`."""
        return cls.from_values(read_flags(flags, visible(cls)))

    def values(self) -> dict[str, Any]:
        """As plain values, for JSON."""
        return asdict(self)

    def to_toml(self) -> str:
        """As TOML, one setting a line, with its help above it."""
        lines = []
        for setting in visible(type(self)):
            value = getattr(self, setting.name)
            text = "# not set" if value is None else _toml(value)
            lines += [f"# {setting.metadata.get('help', '')}", _assignment(setting.name, value, text)]
        return "\n".join(lines) + "\n"


def visible(config: type[Config]) -> list[Field[Any]]:
    """The settings a user may give."""
    return [setting for setting in fields(config) if not setting.metadata.get("hidden")]


def flag(name: str) -> str:
    """`min_count` as it is typed: `--min-count`."""
    return "--" + name.replace("_", "-")


def read_flags(flags: Sequence[str], settings: Iterable[Field[Any]]) -> dict[str, Any]:
    """Command-line words to values by setting name; an unknown word gets a suggestion."""
    known = {flag(setting.name): setting for setting in settings}
    values: dict[str, Any] = {}
    words = list(flags)
    while words:
        word, has_value, value = words.pop(0).partition("=")
        setting, negated = _find_flag(word, known)
        if setting.type in ("bool", bool):
            values[setting.name] = value if has_value else not negated
        elif has_value:
            values[setting.name] = value
        elif words:
            values[setting.name] = words.pop(0)
        else:
            raise ConfigError(f"{word} wants a value: {setting.metadata.get('help', '')}.")
    return values


def _find_flag(word: str, known: Mapping[str, Field[Any]]) -> tuple[Field[Any], bool]:
    if word in known:
        return known[word], False
    plain = "--" + word.removeprefix("--no-")
    if word.startswith("--no-") and plain in known and known[plain].type in ("bool", bool):
        return known[plain], True
    raise ConfigError(f"There is no option {word}. {suggest(word, known)}")


def _assignment(name: str, value: Any, text: str) -> str:
    return f"# {name} =" if value is None else f"{name} = {text}"


def _toml(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, tuple | list):
        return "[" + ", ".join(_toml(item) for item in value) + "]"
    if isinstance(value, str):
        return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'
    return repr(value)


def _check(setting: Field[Any], value: Any) -> None:
    facts = setting.metadata
    choices, low, high = facts.get("choices"), facts.get("low"), facts.get("high")
    if choices and value is not None and value not in choices:
        raise ConfigError(f"{flag(setting.name)} {value!r} is not one of its values. {suggest(str(value), choices)}")
    numbers = value if isinstance(value, tuple) else (value,)
    for number in numbers:
        if isinstance(number, int | float) and not (low is None or number >= low):
            raise ConfigError(f"{flag(setting.name)} must be at least {low}, not {number}.")
        if isinstance(number, int | float) and not (high is None or number <= high):
            raise ConfigError(f"{flag(setting.name)} must be at most {high}, not {number}.")


def _convert(name: str, value: Any, wanted: Any) -> Any:
    """`value` as the type `wanted`; strings come from flags, lists from JSON."""
    origin = get_origin(wanted)
    if origin in (Union, UnionType):
        if value is None and NoneType in get_args(wanted):
            return None
        return _convert(name, value, next(kind for kind in get_args(wanted) if kind is not NoneType))
    if origin is tuple:
        items = [item for item in value.split(",") if item] if isinstance(value, str) else value
        return tuple(_convert(name, item, get_args(wanted)[0]) for item in items)
    if origin is Literal or wanted is Any:
        return value
    return _scalar(name, value, wanted)


def _scalar(name: str, value: Any, wanted: type) -> Any:
    words = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}
    try:
        if wanted is bool:
            return value if isinstance(value, bool) else words[str(value).lower()]
        if wanted is int and isinstance(value, str):
            return amount(value)
        if wanted is int and isinstance(value, float) and value != int(value):
            raise ValueError
        return wanted(value)
    except (ValueError, KeyError, TypeError) as error:
        raise ConfigError(f"{flag(name)} wants a value of type {wanted.__name__}, not {value!r}.") from error


UNITS = {"": 1, "k": 1_000, "m": 1_000_000, "g": 1_000_000_000}


def amount(text: str) -> int:
    """A count as people write it: `10k`, `1.5m`, `2G`, `12_000`."""
    plain = text.strip().lower().replace("_", "").removesuffix("b")
    unit = plain[-1:] if plain[-1:] in ("k", "m", "g") else ""
    number = float(plain.removesuffix(unit)) * UNITS[unit]
    if number != int(number):
        raise ValueError(text)
    return int(number)


