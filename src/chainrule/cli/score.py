"""`score`: perplexity and bits of a text or of data."""

from __future__ import annotations

import os
import sys
import time
from typing import TYPE_CHECKING, Annotated, Any

import typer

from chainrule.cli.arguments import named
from chainrule.cli.caveats import caveats, few
from chainrule.cli.output import Json, Printer, Quiet, Verbose, encoded, number, table, visible
from chainrule.cli.saved import Int8, Saved, loaded, tell_unknown
from chainrule.cli.verb import typed
from chainrule.config import flag, parted
from chainrule.errors import ConfigError

if TYPE_CHECKING:
    from chainrule.bundle import Bundle
    from chainrule.use.adapt import AdaptConfig
    from chainrule.use.score import ModelScore, SequenceScore, TextScore


Text = Annotated[str | None, typer.Argument(metavar="TEXT", help="A text to score; - is standard input.")]
File = Annotated[str | None, typer.Option("--file", "-f", help="Data to score, of any kind fit reads.")]
Each = Annotated[
    bool,
    typer.Option("--each", help="One line a row: log2 probability, perplexity, text; empty if it is blank."),
]
Id = Annotated[
    str | None,
    typer.Option("--id", metavar="COLUMN", help="With --each: the column with the id of each row."),
]
Valid = Annotated[
    str | None,
    typer.Option("--valid", metavar="DATA", help="Validation data to choose settings of adapting on."),
]


def score(
    context: typer.Context,
    model: Saved,
    text: Text = None,
    file: File = None,
    each: Each = False,
    id: Id = None,
    valid: Valid = None,
    int8: Int8 = False,
    json: Json = False,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Evaluate: perplexity and bits per byte of a text or a file.

    Give a text, --file, or neither to read standard input. A text is shown symbol by symbol. With --each, every row has
    its line, with --json a line of JSON, as soon as it is read.
    """
    from chainrule.use.adapt import AdaptConfig

    output, (adapt, reading) = Printer(json, quiet, verbose), parted(typed(context), AdaptConfig)
    source = _source(text, file, each)
    if id is not None and not each:
        raise ConfigError("--id names the rows of data that are scored one by one: add --each.")
    if source is None and reading:
        raise ConfigError(f"{flag(next(iter(reading)))} is for data: give --file, or standard input.")
    bundle = _adapted(loaded(model, int8), adapt, valid, output)
    if source is None:
        assert text is not None
        if os.path.isfile(text):
            output.note(f"{text} is scored as a text. It is also a file: to score its content, use --file.")
        return _score_text(bundle, text, output)
    if each:
        return _score_each(bundle, source, id, reading, output)
    _score_data(bundle, source, reading, output)


def _adapted(bundle: Bundle, config: AdaptConfig, valid: str | None, output: Printer) -> Bundle:
    """The same model, or one that adapts itself to what it scores, if that is asked for."""
    from chainrule.use.adapt import AdaptConfig, adapted

    if config == AdaptConfig() and valid is None:
        return bundle
    found = adapted(bundle, config, valid)
    output.note(found.card["notes"][-1])
    return found


def _source(text: str | None, file: str | None, each: bool) -> str | None:
    """Where the data are; None when a text itself was given."""
    if text not in (None, "-") and file is not None:
        raise ConfigError("Give a text or --file, not both.")
    if text not in (None, "-"):
        if each:
            raise ConfigError("--each is for data of many sequences: give --file, or standard input.")
        return None
    return named("-" if file is None else file)


def _score_text(bundle: Bundle, text: str, output: Printer) -> None:
    tell_unknown(bundle, [text], output)
    scored = bundle.score(text)
    values = scored.to_dict()
    output.result(values, "\n".join([describe_text(scored, output.quiet), *caveats(bundle, values)]))


def _score_data(bundle: Bundle, source: str, reading: dict[str, Any], output: Printer) -> None:
    total = bundle.score_file(source, **reading)
    values = total.to_dict()
    output.result(values, "\n".join([describe(total), *caveats(bundle, values), *few(values)]))
    output.detail(f"{number(total.symbols / max(total.seconds, 1e-9))} symbols per second")


def _score_each(
    bundle: Bundle, source: str, id: str | None, reading: dict[str, Any], output: Printer
) -> None:
    """One line a row as it is read; the totals follow on stderr."""
    from chainrule.judge.score import Score
    from chainrule.use.score import data_score, score_lines

    began, sums = time.perf_counter(), Score()
    waiting = source == "-" and id is None and not reading
    rows = score_lines(bundle, sys.stdin.buffer) if waiting else bundle.score_each(source, id=id, **reading)
    for one in rows:
        sums += one
        print(encoded(one.to_dict()) if output.json else _line(one), flush=waiting)
    total = data_score(bundle, sums, began)
    output.note("\n".join(["", describe(total), *caveats(bundle, total.to_dict())]))


def _line(one: SequenceScore) -> str:
    """A result as a line with tabs; a blank row has no figures."""
    named = [] if one.id is None else [one.id]
    figures = ["", ""] if one.blank else [f"{one.log2prob:.4f}", f"{one.perplexity:.4f}"]
    return "\t".join([*named, *figures, _one_line(one.text)])


def _one_line(text: str) -> str:
    return text.replace("\r", "\\r").replace("\n", "\\n") if "\n" in text or "\r" in text else text


def describe(score: ModelScore) -> str:
    """A score for people."""
    pseudo = "pseudo " if score.reads == "both" else ""
    apart = [("without unknown", number(score.perplexity_known))] if score.known < score.symbols else []
    rows = [
        (f"{pseudo}perplexity", number(score.perplexity)),
        *apart,
        (f"{pseudo}bits per symbol", number(score.bits_per_symbol)),
        (f"{pseudo}bits per byte", number(score.bits_per_byte)),
        (f"{pseudo}log2 probability", number(score.log2prob)),
        ("symbols", number(score.symbols)),
        ("unknown", number(score.unknown)),
    ]
    lines = "\n".join(f"{name:{18 + len(pseudo)}}{value:>14}" for name, value in rows)
    if not score.zero_probability:
        return lines
    return f"{lines}\n{score.zero_probability:,} symbol(s) have probability zero: the model never saw them there."


def describe_text(score: TextScore, quiet: bool = False) -> str:
    """The score of a text for people, symbol by symbol."""
    if quiet:
        return describe(score)
    extra = list(score.tokens[0].facts) if score.tokens else []
    rows = [
        [visible(one.shown), f"{one.bits:.2f}", *(_fact(one.facts[name]) for name in extra)]
        for one in score.tokens
    ]
    return f"{table(['symbol', 'bits', *extra], rows)}\n\n{describe(score)}"


def _fact(value: Any) -> str:
    return " ".join(f"{one:.2f}" for one in value) if isinstance(value, list) else str(value)
