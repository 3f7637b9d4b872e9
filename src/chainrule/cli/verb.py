"""The one parser: every verb takes its own options, and settings as flags beside them, in any order."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from typer.core import TyperCommand, TyperGroup

from chainrule.aliases import SLIP, VERBS, hinted
from chainrule.cli.settings import Groups, default_of, of_adapting, of_data, owner
from chainrule.config import Setting, flag
from chainrule.errors import ConfigError, near, suggest
from chainrule.flags import UnknownFlag, called_here, name_of, read_flags

GROUPS, TYPED = "chainrule.groups", "chainrule.typed"
KINDS = {
    "int": "INTEGER",
    "float": "NUMBER",
    "str": "TEXT",
    "path": "PATH",
    "Path": "PATH",
    "list[str]": "TEXT",
}
PLAIN: dict[str, Callable[[Any], Any]] = {str(str): str, "list[str]": str, str(Path): Path, str(bool): bool}
HELP, QUIET = {"-h", "--help"}, {"-q", "--quiet", "-qv", "-vq"}


class Verb(TyperCommand):
    """A command whose settings come from Configs: the same flags, checks and help wherever a Config is used."""

    def groups(self, asked: Mapping[str, str]) -> Groups:
        """Its settings by heading; `asked` are values of its own options, such as the model."""
        return {}

    def usual(self, asked: Mapping[str, str]) -> Groups:
        """Those that --help shows."""
        return self.groups(asked)

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Settings are read from the flags first, and the words that are left are the verb's own."""
        own = {word: not param.is_flag for word, param in self._options(ctx).items()}
        words = args[: args.index("--")] if "--" in args else args
        asked = self._asked(ctx, words)
        if HELP & set(words):
            ctx.meta[GROUPS] = self.usual(asked)
            return super().parse_args(ctx, ["--help"])
        settings = [one for group in self.groups(asked).values() for one in group]
        try:
            typed = read_flags(args, settings, own)
        except UnknownFlag as error:
            told = _explained(error, [*own, *(one.flag for one in settings)])
            raise ConfigError(told or f"{error} Try: {ctx.command_path} --help") from error
        for theirs, ours in typed.renamed.items():
            if not QUIET & set(words):
                print(f"note: {theirs} is called {ours} here", file=sys.stderr)
        ctx.meta[TYPED] = dict(typed.values)
        _spare_pydantic(self.get_params(ctx))
        return super().parse_args(ctx, list(typed.rest))

    def _options(self, ctx: Any) -> dict[str, Any]:
        """The verb's own options by flag."""
        flags = ((word, param) for param in self.get_params(ctx) for word in param.opts)
        return {word: param for word, param in flags if word.startswith("-")}

    def _asked(self, ctx: Any, words: Sequence[str]) -> dict[str, str]:
        """Values of its own options, seen before anything is parsed: they decide which settings there are."""
        options, asked = self._options(ctx), {}
        for word, following in zip(words, [*words[1:], None], strict=False):
            name, equals, value = word.partition("=")
            param = options.get(name) or options.get(called_here(name, options) or "")
            if name.startswith("-") and param is not None and (param.is_flag or equals or following):
                asked[param.name] = "yes" if param.is_flag else value if equals else str(following)
        return asked

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Arguments, its own options, then the settings of every group."""
        sections: dict[str, list[tuple[str, str]]] = {"Arguments": [], "Options": []}
        for param in self.get_params(ctx):
            kind = "Arguments" if param.param_type_name == "argument" else "Options"
            name, told = param.get_help_record(ctx) or ("", "")
            plain, typed, python = name.partition(" <")  # typer names Python types
            word = KINDS.get(python.split()[0].rstrip(">"), "") if typed and kind == "Options" else ""
            sections[kind].append((f"{plain} {word}".rstrip(), told))
        for title, group in ctx.meta.get(GROUPS, {}).items():
            sections[title] = [_help(one) for one in group]
        for title, rows in sections.items():
            if rows:
                with formatter.section(title):
                    formatter.write_dl(rows)

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        """Without braces: `chainrule fit [OPTIONS] TRAIN...`."""
        return [piece.replace("{", "").replace("}", "") for piece in super().collect_usage_pieces(ctx)]


class _AsTyped:
    """A value of an option as it was typed, made what its type says."""

    def __init__(self, kind: Callable[[Any], Any]) -> None:
        self.kind = kind

    def coerce(self, value: Any, param: Any, ctx: Any) -> Any:
        if value is None:
            return () if param.multiple or param.nargs == -1 else None
        return [self.kind(one) for one in value] if isinstance(value, list | tuple) else self.kind(value)


def _spare_pydantic(params: Sequence[Any]) -> None:
    """Text, paths and switches need none of typer's validators, which take a tenth of a second to import."""
    for param in params:
        kind = PLAIN.get(str(getattr(getattr(param, "type_descriptor", None), "annotation", "")))
        if kind is not None and getattr(param, "_runtime_param", True) is None:
            param._runtime_param = _AsTyped(kind)


class DataVerb(Verb):
    """A verb whose settings are how files are read."""

    def groups(self, asked: Mapping[str, str]) -> Groups:
        return of_data()


class ReadingVerb(Verb):
    """A verb that reads data and may let a model adapt itself to them."""

    def groups(self, asked: Mapping[str, str]) -> Groups:
        return {**of_data(), **of_adapting()}


def typed(context: Any) -> dict[str, Any]:
    """The settings that were given as flags."""
    return dict(context.meta.get(TYPED, {}))


def _explained(error: UnknownFlag, known: Sequence[str]) -> str:
    """Whose a flag is; nothing for a slip of the finger, or where a group has it."""
    grouped = any(one.endswith(f".{error.word[2:]}") for one in known)
    suggested = any(flag(one) in known for one in hinted(name_of(error.word)))
    return "" if grouped or suggested or near(error.word, known, SLIP) else owner(error.word, known)


def _help(setting: Setting) -> tuple[str, str]:
    """A setting as a line of help."""
    default = default_of(setting)
    told = setting.help + (f"  [default: {default}]" if default else "")
    if setting.switch:
        return f"{setting.flag} / --no-{setting.flag.removeprefix('--')}", told
    return f"{setting.flag} {setting.metavar}", told


class Verbs(TyperGroup):
    """All verbs; a wrong one gets the nearest right one, also if other tools call it so."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        _spare_pydantic(self.get_params(ctx))
        return super().parse_args(ctx, args)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        name = args[0]
        if name in self.commands or name.startswith("-"):
            return super().resolve_command(ctx, args)
        advice = suggest(
            name, self.commands, {one: ours for one, ours in VERBS.items() if ours in self.commands}
        )
        raise ConfigError(f"There is no command {name!r}. {advice} Try: {ctx.command_path} --help")
