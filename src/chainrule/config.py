"""Settings as frozen dataclasses, to and from plain values, TOML and command-line flags.

Each setting is documented where it is defined, and that sentence is its help on the command line:

    @dataclass(frozen=True, kw_only=True)
    class NgramConfig(Config):
        order: int = option(5, "how many symbols a count spans", low=1, high=9)

A setting may be a Config itself: a group, for models of several parts.

    @dataclass(frozen=True, kw_only=True)
    class TranslatorConfig(Config):
        encoder: PartConfig = option(PartConfig(layers=6), "reads the source")

It is `--encoder.layers 4` on the command line, a table `[encoder]` in TOML, `encoder={"layers": 4}` in Python.
"""

from __future__ import annotations

import json
import math
import re
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import Field, asdict, dataclass, field, fields, replace
from functools import cache
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Literal, Self, TypeVar, Union, get_args, get_origin, get_type_hints

from chainrule.aliases import elsewhere, words_for
from chainrule.errors import ConfigError, suggest

LARGEST_SEED = 1 << 62


def option(
    default: Any,
    help: str,
    *,
    choices: Sequence[str] = (),
    low: float | None = None,
    high: float | None = None,
    hidden: bool = False,
    chosen: bool = False,
) -> Any:
    """A setting with its help; `hidden` ones are filled in by the program, never by flags.

    One that is `chosen` has no fixed default for a user: if not given, it is chosen for the data and the budget.
    """
    facts = {"help": help, "choices": tuple(choices), "low": low, "high": high, "chosen": chosen}
    return field(default=default, metadata=facts | {"hidden": hidden})


@dataclass(frozen=True, kw_only=True)
class Config:
    """The root of all settings: checks itself when made."""

    def __post_init__(self) -> None:
        for setting in fields(self):
            _check(_setting(setting, setting.type, setting.name), getattr(self, setting.name))

    @classmethod
    def from_values(cls, values: Mapping[str, Any]) -> Self:
        """From plain values, as JSON or TOML give them: strings become what the setting wants."""
        known = {setting.name: setting for setting in fields(cls)}
        types = _types(cls)
        for name in values:
            if name not in known:
                raise ConfigError(f"There is no setting {name!r}. {suggest(name, known, words_for(known))}")
        return cls(**{name: _read(known[name], value, types[name]) for name, value in values.items()})

    @classmethod
    def from_toml(cls, path: Path) -> Self:
        """From a TOML file of `name = value` lines, groups as tables."""
        return cls.from_values(read_toml(path))

    def values(self) -> dict[str, Any]:
        """As plain values, for JSON."""
        return asdict(self)

    def to_toml(self) -> str:
        """As TOML, one setting a line, with its help above it; groups follow as tables."""
        return "\n".join(self._toml_lines("")) + "\n"

    def _toml_lines(self, before: str) -> list[str]:
        lines: list[str] = []
        tables: list[str] = []
        for setting in visible(type(self)):
            value, help = getattr(self, setting.name), f"# {setting.metadata.get('help', '')}"
            if isinstance(value, Config):
                name = before + setting.name
                tables += ["", help, f"[{name}]", *value._toml_lines(f"{name}.")]
            else:
                lines += [help, _assignment(setting.name, value)]
        return [*lines, *tables]


@dataclass(frozen=True)
class Setting:
    """One setting as a user sees it; that of a group has a name such as `encoder.layers`."""

    name: str
    kind: Any  # its type
    default: Any
    help: str = ""
    choices: tuple[str, ...] = ()
    low: float | None = None
    high: float | None = None
    chosen: bool = False  # for the data and the budget, if not given

    @property
    def flag(self) -> str:
        """As it is typed."""
        return flag(self.name)

    @property
    def switch(self) -> bool:
        """Whether it is yes or no: `--bf16`, `--no-bf16`, and no value follows."""
        return bool in (self.kind, *get_args(self.kind))

    @property
    def repeats(self) -> bool:
        """Whether it is several texts: its flag may be given more than once, and commas do not divide."""
        return get_origin(self.kind) is tuple and get_args(self.kind)[0] is str

    @property
    def listed(self) -> bool:
        """Whether its value is a list of numbers."""
        return get_origin(self.kind) is tuple and not self.repeats

    @property
    def metavar(self) -> str:
        """What stands for its value in a help text."""
        if self.choices:
            return "[" + "|".join(self.choices) + "]"
        kinds = {kind: word for kind, word in METAVARS.items() if kind in (self.kind, *get_args(self.kind))}
        word = next(iter(kinds.values()), "TEXT")
        return f"{word},..." if self.listed else word

    def check(self, value: Any) -> None:
        """Refuse a value that this setting cannot have."""
        _check(self, _convert(self.name, value, self.kind))


METAVARS = {int: "INTEGER", float: "NUMBER"}


def settings(config: type[Config], before: str = "") -> list[Setting]:
    """All settings a user may give, those of groups under names such as `encoder.layers`."""
    types, found = _types(config), []
    for one in visible(config):
        kind, name = types[one.name], before + one.name
        if not _is_group(kind):
            found.append(_setting(one, kind, name))
            continue
        default: Any = one.default
        usual = flattened(default.values(), f"{name}.")
        found += [replace(inner, default=usual[inner.name]) for inner in settings(kind, f"{name}.")]
    return found


def _types(config: type[Config]) -> Mapping[str, Any]:
    """The types of its settings; Python reads them from their names anew each time."""
    known: Any = config  # a class can be hashed, whatever mypy thinks of its instances
    return _hints(known)


_hints = cache(get_type_hints)


def _setting(one: Field[Any], kind: Any, name: str) -> Setting:
    keys = ("help", "choices", "low", "high", "chosen")
    facts = {key: one.metadata[key] for key in keys if key in one.metadata}
    return Setting(name, kind, one.default, **facts)


def _is_group(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, Config)


def read_toml(path: Path) -> dict[str, Any]:
    """The settings in a TOML file, its tables as groups; `min-count` and `min_count` are the same name."""
    try:
        values = tomllib.loads(path.read_text(encoding="utf-8"))
        return _underscored(values)
    except OSError as error:
        raise ConfigError(f"The settings file {path} cannot be read: {error.strerror}.") from error
    except (ValueError, RecursionError) as error:  # a number may have thousands of digits, too
        raise ConfigError(f"{path} is not TOML: {error}. Write one `name = value` a line.") from error


def _underscored(values: Mapping[str, Any]) -> dict[str, Any]:
    return {
        name.replace("-", "_"): _underscored(value) if isinstance(value, dict) else value
        for name, value in values.items()
    }


def merged(first: Mapping[str, Any], second: Mapping[str, Any]) -> dict[str, Any]:
    """Both, with groups put together; where both have a setting, the second one wins."""
    both = {**first, **second}
    for name in first.keys() & second.keys():
        if isinstance(first[name], Mapping) and isinstance(second[name], Mapping):
            both[name] = merged(first[name], second[name])
    return both


def flattened(values: Mapping[str, Any], before: str = "") -> dict[str, Any]:
    """Values by full name: `{"encoder": {"layers": 4}}` as `{"encoder.layers": 4}`."""
    found: dict[str, Any] = {}
    for name, value in values.items():
        inner = flattened(value, f"{before}{name}.") if isinstance(value, Mapping) else {before + name: value}
        found |= inner
    return found


def visible(config: type[Config]) -> list[Field[Any]]:
    """The settings a user may give."""
    return [setting for setting in fields(config) if not setting.metadata.get("hidden")]


def share(options: Mapping[str, Any], config: type[Config]) -> dict[str, Any]:
    """Those of the options that are settings of one config."""
    names = {setting.name for setting in visible(config)}
    return {name: value for name, value in options.items() if name in names}


C = TypeVar("C", bound="Config")


def parted(options: Mapping[str, Any], config: type[C]) -> tuple[C, dict[str, Any]]:
    """One config with its settings among the options, and the options that say something else."""
    own = share(options, config)
    return config.from_values(own), {name: value for name, value in options.items() if name not in own}


def refuse_unknown(options: Mapping[str, Any], *configs: type[Config]) -> None:
    """Every option must be a setting of some config; the nearest name is suggested for one that is not."""
    known = {setting.name for config in configs for setting in visible(config)}
    for name in options:
        if name not in known:
            advice = suggest(name, known, words_for(known)) or elsewhere(name)
            raise ConfigError(f"There is no option {name!r} ({flag(name)}). {advice}".rstrip())


def flag(name: str) -> str:
    """`min_count` as it is typed: `--min-count`."""
    return "--" + name.replace("_", "-")


def _assignment(name: str, value: Any) -> str:
    return f"# {name} =" if value is None else f"{name} = {_toml(value)}"


def _toml(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, tuple | list):
        return "[" + ", ".join(_toml(item) for item in value) + "]"
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False)  # JSON's escapes are TOML's too
    return repr(value)


def _check(setting: Setting, value: Any) -> None:
    if setting.choices and value is not None and value not in setting.choices:
        raise ConfigError(
            f"{setting.flag} {value!r} is not one of its values. {suggest(str(value), setting.choices)}"
        )
    for number in value if isinstance(value, tuple) else (value,):
        if isinstance(number, int | float):
            _check_range(setting.flag, number, setting.low, setting.high)


def _check_range(name: str, number: float, low: float | None, high: float | None) -> None:
    if low is not None and not number >= low:  # `not >=` also refuses NaN
        raise ConfigError(f"{name} must be at least {low:,}, not {number}.")
    if high is not None and not number <= high:
        raise ConfigError(f"{name} must be at most {high:,}, not {number}.")


def _read(setting: Field[Any], value: Any, wanted: Any) -> Any:
    """The value of a setting, or of a group of them."""
    if _is_group(wanted):
        return _group(setting.name, value, wanted, setting.default)
    return _convert(setting.name, value, wanted)


def _convert(name: str, value: Any, wanted: Any) -> Any:
    """`value` as the type `wanted`; strings come from flags, lists from JSON."""
    origin = get_origin(wanted)
    if origin in (Union, UnionType):
        kinds = get_args(wanted)
        if NoneType in kinds and (value is None or value == "none"):
            return None
        return _convert(name, value, next(kind for kind in kinds if kind is not NoneType))
    if origin is tuple:
        kind = get_args(wanted)[0]
        items = (value,) if kind is str and isinstance(value, str) else _items(value)
        return tuple(_convert(name, item, kind) for item in items)
    if origin is Literal and value not in get_args(wanted):
        raise ConfigError(
            f"{flag(name)} {value!r} is not one of its values. {suggest(str(value), get_args(wanted))}"
        )
    return value if origin is Literal or wanted is Any else _scalar(name, value, wanted)


def _group(name: str, value: Any, wanted: type[Config], usual: Any) -> Config:
    """A group from some of its values; the others are as usual."""
    if isinstance(value, wanted):
        return value
    if not isinstance(value, Mapping):
        raise ConfigError(f"{name} is a group of settings, such as {flag(name)}.NAME VALUE, not {value!r}.")
    try:
        return wanted.from_values(merged(usual.values(), value))
    except ConfigError as error:
        raise ConfigError(f"In the group {name}: {error}") from error


def _items(value: Any) -> Iterable[Any]:
    if isinstance(value, str):
        return [item for item in value.split(",") if item]
    return value if isinstance(value, list | tuple) else (value,)


def _scalar(name: str, value: Any, wanted: type) -> Any:
    try:
        return _plain(value, wanted)
    except (ValueError, KeyError, TypeError, OverflowError) as error:
        raise ConfigError(f"{flag(name)} wants {KINDS.get(wanted, 'a text')}, not {value!r}.") from error


KINDS = {bool: "yes or no", int: "a whole number such as 12, 10k or 5M", float: "a number such as 0.5"}
WORDS = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}


def _plain(value: Any, wanted: type) -> Any:
    if wanted is bool:
        return value if isinstance(value, bool) else WORDS[str(value).lower()]
    if isinstance(value, bool | list | dict) or (wanted is str and isinstance(value, float)):
        raise ValueError(value)
    if isinstance(value, str):
        value.encode("utf-8", "surrogateescape")  # half of a character stands in no text, and names no file
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


UNITS = {"": 1, "k": 1_000, "K": 1_000, "M": 1_000_000, "g": 1_000_000_000, "G": 1_000_000_000}


def amount(text: str) -> int:
    """A count as people write it: `10k`, `1.5M`, `2G`, `12_000`; a small m would be minutes."""
    plain = text.strip().replace("_", "").removesuffix("b").removesuffix("B")
    unit = plain[-1:] if plain[-1:] in UNITS else ""
    number = float(plain.removesuffix(unit)) * UNITS[unit]
    if not math.isfinite(number) or number != int(number):
        raise ValueError(text)
    return int(number)
