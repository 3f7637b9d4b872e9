"""How probable something is to a saved model: score, rank."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from chainrule.cli.caveats import caveats, few
from chainrule.cli.output import Json, Output, Quiet, Verbose, number, table
from chainrule.cli.reading import Columns, Encodings, Formats, Groups, Sorts, Streams, given
from chainrule.cli.words import named
from chainrule.errors import ConfigError
from chainrule.judge.names import own_names

if TYPE_CHECKING:
    from chainrule.bundle import Bundle, TextScore
    from chainrule.judge.score import Score

Saved = Annotated[Path, typer.Argument(metavar="MODEL", help="The folder of a saved model.")]
Int8 = Annotated[
    bool,
    typer.Option("--int8", help="Answer with weights in eight bits: faster for large models, hardly worse."),
]
NAMED = 10  # unknown symbols named one by one


def score(
    model: Saved,
    text: Annotated[
        str | None, typer.Argument(metavar="TEXT", help="A text to score; - is standard input.")
    ] = None,
    file: Annotated[
        str | None, typer.Option("--file", "-f", help="Data to score, of any kind fit reads.")
    ] = None,
    each: Annotated[
        bool, typer.Option("--each", help="Of data, one line a sequence: log2 probability, perplexity, text.")
    ] = False,
    stream: Streams = False,
    column: Columns = None,
    group: Groups = None,
    sort: Sorts = None,
    encoding: Encodings = None,
    format: Formats = None,
    int8: Int8 = False,
    json: Json = False,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """How probable a text or a file is.

    Give a text, --file, or neither to read standard input. A text is shown symbol by symbol.
    """
    output = Output(json, quiet, verbose)
    source = _source(text, file, each)
    bundle = loaded(model, int8)
    if source is None:
        assert text is not None
        if os.path.isfile(text):
            output.note(f"{text} is scored as a text. It is a file, too: to score what is in it, say --file.")
        return _score_text(bundle, text, output)
    reading = given(stream=stream, column=column, group=group, sort=sort, encoding=encoding, format=format)
    (_score_each if each else _score_data)(bundle, source, reading, output)


def loaded(model: Path, int8: bool) -> Bundle:
    """A saved model, with small weights if wanted."""
    from chainrule.bundle import load

    return load(model).compressed() if int8 else load(model)


def _source(text: str | None, file: str | None, each: bool) -> str | None:
    """Where the data are; None when a text itself was given."""
    if text not in (None, "-") and file is not None:
        raise ConfigError("Give a text or --file, not both.")
    if text not in (None, "-"):
        if each:
            raise ConfigError("--each is for data of many sequences: give --file, or standard input.")
        return None
    return named("-" if file is None else file)


def _score_text(bundle: Bundle, text: str, output: Output) -> None:
    tell_unknown(bundle, [text], output)
    began = time.perf_counter()
    scored = bundle.score(text)
    values = own_names(figures(scored, time.perf_counter() - began), bundle.model)
    output.result(
        values | {"pieces": symbols(scored)},
        "\n".join([describe_text(scored, bundle, output.quiet), *caveats(bundle, values)]),
    )


def _score_data(bundle: Bundle, source: str, reading: dict[str, Any], output: Output) -> None:
    began = time.perf_counter()
    total = bundle.score_file(source, **reading)
    seconds = time.perf_counter() - began
    values = own_names(figures(total, seconds), bundle.model)
    output.result(values, "\n".join([describe(total, bundle), *caveats(bundle, values), *few(values)]))
    output.detail(f"{number(total.symbols / max(seconds, 1e-9))} symbols per second")


def _score_each(bundle: Bundle, source: str, reading: dict[str, Any], output: Output) -> None:
    """One line a sequence as it is read; the sums follow on stderr, where they are in nobody's way."""
    from chainrule.judge.score import Score

    began, total, rows = time.perf_counter(), Score(), []
    for text, one in bundle.score_each(source, **reading):
        total += one
        if output.json:
            rows.append(_sequence(text, one))
        else:
            print(f"{one.log2prob:.4f}\t{one.perplexity:.4f}\t{_one_line(text)}")
    values = own_names(figures(total, time.perf_counter() - began), bundle.model)
    if output.json:
        output.result({"sequences": rows} | values, "")
    else:
        output.note("\n".join(["", describe(total, bundle), *caveats(bundle, values)]))


def _sequence(text: str, score: Score) -> dict[str, Any]:
    return {
        name: value for name, value in ({"text": text} | figures(score, 0.0)).items() if name != "seconds"
    }


def _one_line(text: str) -> str:
    return text.replace("\r", "\\r").replace("\n", "\\n") if "\n" in text or "\r" in text else text


def figures(score: Score, seconds: float) -> dict[str, Any]:
    """A score for scripts."""
    return {
        "perplexity": score.perplexity,
        "perplexity_known": score.perplexity_known,
        "bits_per_symbol": score.bits_per_symbol,
        "bits_per_byte": score.bits_per_byte,
        "symbols": score.symbols,
        "bytes": score.bytes,
        "unknown": score.unknown,
        "impossible": score.impossible,
        "log2prob": score.log2prob,
        "seconds": seconds,
    }


def symbols(score: TextScore) -> list[dict[str, Any]]:
    """Each symbol of a text for scripts."""
    return [
        {"piece": one.piece, "log2prob": one.log2prob, "bits": one.bits, **one.facts} for one in score.pieces
    ]


def describe(score: Score, bundle: Bundle) -> str:
    """A score for people."""
    pseudo = "pseudo " if bundle.model.reads == "both" else ""
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
    if not score.impossible:
        return lines
    return f"{lines}\n{score.impossible:,} symbol(s) have probability zero: the model never saw the like."


def describe_text(score: TextScore, bundle: Bundle, quiet: bool = False) -> str:
    """The score of a text for people, symbol by symbol."""
    if quiet:
        return describe(score, bundle)
    extra = list(score.pieces[0].facts) if score.pieces else []
    rows = [
        [visible(one.shown), f"{one.bits:.2f}", *(str(one.facts[name]) for name in extra)]
        for one in score.pieces
    ]
    return f"{table(['symbol', 'bits', *extra], rows)}\n\n{describe(score, bundle)}"


def visible(piece: str) -> str:
    """A symbol as it can be shown in one cell."""
    return piece if piece.isprintable() and piece.strip() else repr(piece)[1:-1].replace(" ", "␣")


def tell_unknown(bundle: Bundle, texts: Iterable[str], output: Output) -> None:
    """Name the symbols the model does not know: a misspelt one would pass unseen."""
    if output.quiet:
        return
    names = list(dict.fromkeys(name for text in texts for name in bundle.unknown(text)))
    for name in names[:NAMED]:
        output.note(f"{name!r} is unknown to this model")
    if len(names) > NAMED:
        output.note(f"and so are {len(names) - NAMED:,} more symbols")


def rank(
    model: Saved,
    candidates: Annotated[
        list[str] | None, typer.Argument(metavar="CANDIDATE", help="Texts; none given: lines of stdin.")
    ] = None,
    int8: Int8 = False,
    json: Json = False,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Put candidates in order, best first.

    As for the guesses of a speech recogniser: the most probable text comes first.
    """
    bundle, output = loaded(model, int8), Output(json, quiet, verbose)
    texts = candidates or list(_lines())
    tell_unknown(bundle, candidates or [], output)
    began = time.perf_counter()
    ranked = bundle.rank(texts)
    seconds = time.perf_counter() - began
    values = [_sequence(text, one) for text, one in ranked]
    lines = [
        [text, number(one.log2prob), number(one.perplexity), number(one.unknown)] for text, one in ranked
    ]
    header = ["text", "log2 probability", "perplexity", "unknown"]
    output.result({"ranked": values, "seconds": seconds}, table(header, lines))


def _lines() -> Iterator[str]:
    named("-")
    return (line.rstrip("\n") for line in sys.stdin if line.strip())
