"""Settings as frozen dataclasses, to and from plain values, TOML and command-line flags.

Each setting is documented where it is defined, and that sentence is its help on the command line:

    @dataclass(frozen=True, kw_only=True)
    class NgramConfig(Config):
        order: int = option(5, "how many symbols a count spans", low=1, high=9)
"""

from __future__ import annotations

import json
import re
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
        return cls.from_values(read_toml(path))

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


def read_toml(path: Path) -> dict[str, Any]:
    """The `name = value` lines of a TOML file; `min-count` and `min_count` are the same name."""
    try:
        values = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ConfigError(f"The settings file {path} cannot be read: {error.strerror}.") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path} is not TOML: {error}. Write one `name = value` a line.") from error
    return {name.replace("-", "_"): value for name, value in values.items()}


def visible(config: type[Config]) -> list[Field[Any]]:
    """The settings a user may give."""
    return [setting for setting in fields(config) if not setting.metadata.get("hidden")]


def share(options: Mapping[str, Any], config: type[Config]) -> dict[str, Any]:
    """Those of the options that are settings of one config."""
    names = {setting.name for setting in visible(config)}
    return {name: value for name, value in options.items() if name in names}


def refuse_unknown(options: Mapping[str, Any], *configs: type[Config]) -> None:
    """Every option must be a setting of some config; the nearest name is suggested for one that is not."""
    known = {setting.name for config in configs for setting in visible(config)}
    for name in options:
        if name not in known:
            raise ConfigError(f"There is no option {name!r} ({flag(name)}). {suggest(name, known)}")


def flag(name: str) -> str:
    """`min_count` as it is typed: `--min-count`."""
    return "--" + name.replace("_", "-")


BOOLEAN = ("bool", "bool | None", bool)


def read_flags(
    flags: Sequence[str], settings: Iterable[Field[Any]], also: Iterable[str] = ()
) -> dict[str, Any]:
    """Command-line words to values by setting name; an unknown word gets a suggestion.

    `also` are flags read elsewhere, offered as suggestions only.
    """
    known = {flag(setting.name): setting for setting in settings}
    values: dict[str, Any] = {}
    words = list(flags)
    while words:
        word, has_value, value = words.pop(0).partition("=")
        setting, negated = _find_flag(word, known, also)
        if setting.type in BOOLEAN:
            values[setting.name] = value if has_value else not negated
        elif has_value:
            values[setting.name] = value
        elif words and not words[0].startswith("--"):
            values[setting.name] = words.pop(0)
        else:
            raise ConfigError(f"{word} wants a value: {setting.metadata.get('help', '')}.")
    return values


def _find_flag(word: str, known: Mapping[str, Field[Any]], also: Iterable[str]) -> tuple[Field[Any], bool]:
    if word in known:
        return known[word], False
    plain = "--" + word.removeprefix("--no-")
    if word.startswith("--no-") and plain in known and known[plain].type in BOOLEAN:
        return known[plain], True
    if not word.startswith("-"):
        raise ConfigError(f"There is one word too many: {word!r}. Put text with spaces in quotes.")
    raise ConfigError(f"There is no option {word}. {suggest(word, {*known, *also})}")


def _assignment(name: str, value: Any, text: str) -> str:
    return f"# {name} =" if value is None else f"{name} = {text}"


def _toml(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, tuple | list):
        return "[" + ", ".join(_toml(item) for item in value) + "]"
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False)  # JSON's escapes are TOML's too
    return repr(value)


def _check(setting: Field[Any], value: Any) -> None:
    facts = setting.metadata
    name, choices = flag(setting.name), facts.get("choices")
    if choices and value is not None and value not in choices:
        raise ConfigError(f"{name} {value!r} is not one of its values. {suggest(str(value), choices)}")
    for number in value if isinstance(value, tuple) else (value,):
        if isinstance(number, int | float):
            _check_range(name, number, facts.get("low"), facts.get("high"))


def _check_range(name: str, number: float, low: float | None, high: float | None) -> None:
    if low is not None and not number >= low:  # `not >=` also refuses NaN
        raise ConfigError(f"{name} must be at least {low}, not {number}.")
    if high is not None and not number <= high:
        raise ConfigError(f"{name} must be at most {high}, not {number}.")


def _convert(name: str, value: Any, wanted: Any) -> Any:
    """`value` as the type `wanted`; strings come from flags, lists from JSON."""
    origin = get_origin(wanted)
    if origin in (Union, UnionType):
        kinds = get_args(wanted)
        if NoneType in kinds and (value is None or value == "none"):
            return None
        return _convert(name, value, next(kind for kind in kinds if kind is not NoneType))
    if origin is tuple:
        return tuple(_convert(name, item, get_args(wanted)[0]) for item in _items(value))
    if origin is Literal and value not in get_args(wanted):
        raise ConfigError(
            f"{flag(name)} {value!r} is not one of its values. {suggest(str(value), get_args(wanted))}"
        )
    return value if origin is Literal or wanted is Any else _scalar(name, value, wanted)


def _items(value: Any) -> Iterable[Any]:
    if isinstance(value, str):
        return [item for item in value.split(",") if item]
    return value if isinstance(value, list | tuple) else (value,)


def _scalar(name: str, value: Any, wanted: type) -> Any:
    try:
        return _plain(value, wanted)
    except (ValueError, KeyError, TypeError, OverflowError) as error:
        raise ConfigError(f"{flag(name)} wants {KINDS.get(wanted, 'a text')}, not {value!r}.") from error


KINDS = {bool: "yes or no", int: "a whole number such as 12 or 10k", float: "a number such as 0.5"}
WORDS = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}


def _plain(value: Any, wanted: type) -> Any:
    if wanted is bool:
        return value if isinstance(value, bool) else WORDS[str(value).lower()]
    if isinstance(value, bool | list | dict):
        raise ValueError(value)
    if wanted is int and isinstance(value, str):
        return amount(value)
    if wanted is int and isinstance(value, float) and value != int(value):
        raise ValueError(value)
    return wanted(value)


# A whole string of a JSON text, which is left alone, or a number that only Python would read.
_STRING_OR_ODD = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"|-?Infinity|NaN')
_FINITE = {"Infinity": "1e999", "-Infinity": "-1e999", "NaN": "null"}
_HALVES = re.compile("[\ud800-\udfff]")  # no characters: what Python makes of file names that are no UTF-8


def to_json(values: Any, indent: int | None = None, ascii: bool = False) -> str:
    """JSON in which infinite numbers are written 1e999: that is valid, and read as infinite everywhere.

    It can always be written as UTF-8, and with `ascii` in any encoding.
    """
    text = json.dumps(values, ensure_ascii=ascii, indent=indent)
    if "Infinity" in text or "NaN" in text:
        text = _STRING_OR_ODD.sub(lambda found: _FINITE.get(found[0], found[0]), text)
    return _HALVES.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


UNITS = {"": 1, "k": 1_000, "m": 1_000_000, "g": 1_000_000_000}


def amount(text: str) -> int:
    """A count as people write it: `10k`, `1.5m`, `2G`, `12_000`."""
    plain = text.strip().lower().replace("_", "").removesuffix("b")
    unit = plain[-1:] if plain[-1:] in ("k", "m", "g") else ""
    number = float(plain.removesuffix(unit)) * UNITS[unit]
    if number != int(number):
        raise ValueError(text)
    return int(number)
