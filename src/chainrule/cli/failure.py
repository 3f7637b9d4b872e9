"""Error messages and exit codes, for people and for scripts."""

from __future__ import annotations

import sys
import traceback
from contextlib import suppress

import typer

from chainrule.cli import STOPPED
from chainrule.cli.command import Ended
from chainrule.cli.output import encoded
from chainrule.errors import ChainruleError, ConfigError, Stopped

ERROR, USAGE = 1, 2
UsageError, ClickException = typer.BadParameter.__mro__[1:3]  # typer shows only their children


def explain(error: BaseException, as_json: bool, verbose: bool) -> int:
    """Tell stderr, and with --json stdout too, what went wrong; give the exit code."""
    if isinstance(error, SystemExit | typer.Exit):
        return _exit_code(error)
    if type(error).__name__ == "NoArgsIsHelpError":
        print(_formatted(error), file=sys.stderr)
        return USAGE
    message = _message(error)
    with suppress(OSError, ValueError):  # where nothing can be written, the exit code has to say it
        if verbose and not isinstance(error, ClickException):
            traceback.print_exception(error)
        if sys.stderr is not None:
            print(f"chainrule: {message}", file=sys.stderr, flush=True)
    with suppress(OSError, ValueError):
        if as_json:
            print(encoded({"error": message}), flush=True)
    return _code(error)


def _exit_code(error: SystemExit | typer.Exit) -> int:
    code = error.exit_code if isinstance(error, typer.Exit) else error.code
    return code if isinstance(code, int) else int(code is not None)


def _code(error: BaseException) -> int:
    if isinstance(error, Ended):
        return error.code
    if isinstance(error, KeyboardInterrupt | typer.Abort | Stopped):
        return STOPPED
    return USAGE if isinstance(error, (ConfigError, UsageError)) else ERROR


def _message(error: BaseException) -> str:
    if isinstance(error, KeyboardInterrupt | typer.Abort):
        return "stopped; nothing was written."
    if isinstance(error, UsageError):
        context = getattr(error, "ctx", None)
        told = _formatted(error).rstrip()
        told += "" if told.endswith((".", "?", "!")) else "."
        told += " Put text with spaces in quotes." if "unexpected extra" in told else ""
        return told + (f" Try: {context.command_path} --help" if context else "")
    if isinstance(error, ClickException):
        return _formatted(error)
    if isinstance(error, ChainruleError | Ended):
        return str(error)
    if isinstance(error, MemoryError):
        return "there is not enough memory. Use less data, a smaller model, or an option such as --memory 2G."
    if isinstance(error, OSError):
        return f"{error.filename or 'the system'}: {error.strerror or error}."
    first = str(error).strip().partition("\n")[0]
    return f"unexpected {type(error).__name__}: {first}. Run it again with --verbose to see where."


def _formatted(error: BaseException) -> str:
    """The message of typer, with the option it is about."""
    formatted = getattr(error, "format_message", None)
    return str(formatted() if formatted else error)
