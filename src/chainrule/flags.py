"""Flags of the command line, read against settings: wherever they stand, under their names or those of other tools."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from chainrule.aliases import elsewhere, our_name, words_for
from chainrule.config import Setting, flag, flattened, merged
from chainrule.errors import ConfigError, suggest


class UnknownFlag(ConfigError):
    """A flag that does not exist."""

    def __init__(self, word: str, advice: str) -> None:
        super().__init__(f"There is no option {word}. {advice}".rstrip())
        self.word = word


@dataclass(frozen=True)
class Typed:
    """Words of the command line, read."""

    values: Mapping[str, Any]  # of settings, as they were typed, groups as mappings
    rest: tuple[str, ...]  # plain words, and flags that others read
    renamed: Mapping[str, str]  # flags of other tools -> what they are called here


def read_flags(
    words: Sequence[str], settings: Iterable[Setting], others: Mapping[str, bool] | None = None
) -> Typed:
    """Flags of settings wherever they stand among the words; each value is checked, and a wrong flag explained.

    Several settings may have one flag (`--vocab` of two codecs): then a value must suit one of them. `others` are
    flags that are read elsewhere, and whether a value follows. After `--` there are no flags.
    """
    known: dict[str, list[Setting]] = {}
    for one in settings:
        known.setdefault(one.flag, []).append(one)
    reader = _Reader(known, others or {}, list(words))
    while reader.left:
        reader.step()
    return Typed(reader.values, tuple(reader.rest), reader.renamed)


@dataclass
class _Reader:
    """Where reading stands."""

    known: Mapping[str, Sequence[Setting]]
    others: Mapping[str, bool]
    left: list[str]
    values: dict[str, Any] = field(default_factory=dict)
    rest: list[str] = field(default_factory=list)
    renamed: dict[str, str] = field(default_factory=dict)

    def step(self) -> None:
        """Read one word, and its value."""
        first = self.left.pop(0)
        typed, equals, value = first.partition("=") if first.startswith("-") else (first, "", "")
        if typed == "--":
            self.rest += [typed, *self.left]
            self.left.clear()
            return
        word, negated = _positive(self._called_here(typed), self.known)
        if word in self.known:
            text = self._value(self.known[word][0], word, value if equals else None, negated)
            check_any(self.known[word], text)
            self._keep(self.known[word][0], text)
            return
        self.rest.append(word + equals + value)
        if self.others.get(word) and not equals and self.left:
            self.rest.append(self.left.pop(0))

    def _keep(self, setting: Setting, value: Any) -> None:
        """The last value counts; of a setting that repeats, all of them."""
        if setting.repeats:
            value = (*flattened(self.values).get(setting.name, ()), value)
        self.values = merged(self.values, nested(setting.name, value))

    def _called_here(self, word: str) -> str:
        """A flag by the name it has here; an unknown one is refused."""
        names = {*self.known, *self.others}
        if not word.startswith("--") or {word, "--" + word.removeprefix("--no-")} & names:
            return word
        if f"{word}.column" in names:
            return f"{word}.column"
        meant = called_here(word, names)
        if meant is None:
            others = words_for({name_of(one) for one in names})
            advice = suggest(word, names, {flag(one): flag(ours) for one, ours in others.items()})
            raise UnknownFlag(word, advice or elsewhere(name_of(word)))
        self.renamed[word] = meant
        return meant

    def _value(self, setting: Setting, word: str, value: str | None, negated: bool) -> Any:
        """What was typed for a flag: behind `=`, or the next word."""
        if setting.switch:
            return not negated if value is None else value
        if value is None and (not self.left or self.left[0].startswith("--")):
            raise ConfigError(f"{word} wants a value: {setting.help}.")
        text = self.left.pop(0) if value is None else value
        while value is None and setting.listed and self.left and self.left[0].isdigit():
            text += f",{self.left.pop(0)}"  # --prune 0 0 1, as KenLM writes it
        return text


def called_here(word: str, flags: Iterable[str]) -> str | None:
    """The flag of ours that another tool calls so, if it is among these; groups keep their names."""
    group, dot, last = name_of(word).rpartition(".")
    inside = {name.removeprefix(group + dot) for name in map(name_of, flags) if name.startswith(group + dot)}
    meant = our_name(last, inside)
    return None if meant is None else flag(f"{group}{dot}{meant}")


def name_of(word: str) -> str:
    """A flag as its setting is named: `--seq-len` as `seq_len`."""
    return word.removeprefix("--").replace("-", "_")


def _positive(word: str, known: Mapping[str, Sequence[Setting]]) -> tuple[str, bool]:
    """`--no-bf16` as `--bf16`, and that it was negated."""
    plain = "--" + word.removeprefix("--no-")
    if word in known or not word.startswith("--no-") or plain not in known:
        return word, False
    if not known[plain][0].switch:
        raise UnknownFlag(word, f"{plain} takes a value.")
    return plain, True


def check_any(settings: Sequence[Setting], value: Any) -> None:
    """Refuse a value that suits none of the settings."""
    errors = []
    for one in settings:
        try:
            return one.check(value)
        except ConfigError as error:
            errors.append(error)
    raise errors[0]


def nested(name: str, value: Any) -> dict[str, Any]:
    """`encoder.layers` as a value in a group."""
    first, inside, rest = name.partition(".")
    return {first: nested(rest, value) if inside else value}
