"""Using a saved model: score, generate, complete, rank."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from chainrule.cli.output import Json, Output, Quiet, Verbose, number, table
from chainrule.cli.reading import Columns, Encodings, Formats, Groups, Sorts, Streams, given
from chainrule.errors import ConfigError

if TYPE_CHECKING:
    from chainrule.bundle import Completions, TextScore
    from chainrule.judge.score import Score

Saved = Annotated[Path, typer.Argument(metavar="MODEL", help="The folder of a saved model.")]
Prompt = Annotated[str, typer.Argument(metavar="[PROMPT]", help="The text to go on from.")]
Length = Annotated[int, typer.Option(min=0, help="How many symbols to add at most.")]


def score(
    model: Saved,
    text: Annotated[str | None, typer.Argument(metavar="[TEXT]", help="A text to score.")] = None,
    file: Annotated[
        str | None, typer.Option("--file", "-f", help="Data to score, of any kind fit reads.")
    ] = None,
    stream: Streams = False,
    column: Columns = None,
    group: Groups = None,
    sort: Sorts = None,
    encoding: Encodings = None,
    format: Formats = None,
    json: Json = False,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """How probable a text or a file is.

    Give a text, --file, or neither to read standard input. A text is shown symbol by symbol.
    """
    from chainrule.bundle import load

    output = Output(json, quiet, verbose)
    if text is not None and file is not None:
        raise ConfigError("Give a text or --file, not both.")
    bundle = load(model)
    began = time.perf_counter()
    if text is not None:
        scored = bundle.score(text)
        seconds = time.perf_counter() - began
        output.result(figures(scored, seconds) | {"pieces": symbols(scored)}, describe_text(scored, quiet))
    else:
        options = given(
            stream=stream, column=column, group=group, sort=sort, encoding=encoding, format=format
        )
        total = bundle.score_file("-" if file is None else file, **options)
        seconds = time.perf_counter() - began
        output.result(figures(total, seconds), describe(total))
        output.detail(f"{number(total.symbols / max(seconds, 1e-9))} symbols per second")


def figures(score: Score, seconds: float) -> dict[str, Any]:
    """A score for scripts."""
    return {
        "perplexity": score.perplexity,
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


def describe(score: Score) -> str:
    """A score for people."""
    rows = [
        ("perplexity", number(score.perplexity)),
        ("bits per symbol", number(score.bits_per_symbol)),
        ("bits per byte", number(score.bits_per_byte)),
        ("log2 probability", number(score.log2prob)),
        ("symbols", number(score.symbols)),
        ("unknown", number(score.unknown)),
    ]
    lines = "\n".join(f"{name:18}{value:>14}" for name, value in rows)
    if not score.impossible:
        return lines
    return f"{lines}\n{score.impossible} symbol(s) have probability zero: the model never saw the like."


def describe_text(score: TextScore, quiet: bool = False) -> str:
    """The score of a text for people, symbol by symbol."""
    if quiet:
        return describe(score)
    extra = list(score.pieces[0].facts) if score.pieces else []
    rows = [
        [visible(one.piece), f"{one.bits:.2f}", *(str(one.facts[name]) for name in extra)]
        for one in score.pieces
    ]
    return f"{table(['symbol', 'bits', *extra], rows)}\n\n{describe(score)}"


def visible(piece: str) -> str:
    """A symbol as it can be shown in one cell."""
    return piece if piece.isprintable() and piece.strip() else repr(piece)[1:-1].replace(" ", "␣")


def generate(
    model: Saved,
    prompt: Prompt = "",
    length: Length = 200,
    seed: Annotated[int | None, typer.Option(help="The same seed gives the same text.")] = None,
    temperature: Annotated[float, typer.Option(help="Below 1 safer, above 1 bolder, 0 the best only.")] = 1.0,
    top_k: Annotated[int | None, typer.Option(help="Draw from the k best symbols only.")] = None,
    top_p: Annotated[
        float | None, typer.Option(help="Draw from the best with this probability only.")
    ] = None,
    beam: Annotated[
        int | None, typer.Option(help="Search the most probable text with a beam so wide.")
    ] = None,
    stop: Annotated[list[str] | None, typer.Option(help="Stop before this text; may be given twice.")] = None,
    count: Annotated[int, typer.Option("--count", "-n", min=1, help="How many texts; seeds count up.")] = 1,
    json: Json = False,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Let the model write on from a prompt.

    The text appears as it is drawn.
    """
    import secrets

    from chainrule.bundle import load

    bundle = load(model)
    output = Output(json, quiet, verbose)
    first = secrets.randbelow(2**31) if seed is None else seed
    if beam is None:
        output.detail(f"seed {first}")
    for one in range(first, first + count):
        pieces = bundle.stream(
            prompt,
            length,
            one,
            temperature=temperature,
            top_k=top_k,
            top_p=top_p,
            beam=beam,
            stop=stop,
        )
        if json:
            text = "".join(pieces)
            output.result(
                {"prompt": prompt, "text": text, "continuation": text[len(prompt) :], "seed": one}, ""
            )
        else:
            for piece in pieces:
                print(piece, end="", flush=True)
            print()


def complete(
    model: Saved,
    prompt: Prompt = "",
    k: Annotated[int, typer.Option("-k", "--best", min=1, help="How many of each.")] = 5,
    length: Length = 10,
    json: Json = False,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """What a search box would offer.

    The likeliest next symbols, and the likeliest continuations.
    """
    from chainrule.bundle import load

    found = load(model).complete(prompt, k, length)
    output = Output(json, quiet, verbose)
    values = {
        "prompt": prompt,
        "next": [
            {
                "symbol": "".join(one.symbols),
                "text": one.text,
                "probability": one.probability,
                "ends": one.ends,
            }
            for one in found.next
        ],
        "continuations": [
            {"text": one.text, "probability": one.probability, "ends": one.ends}
            for one in found.continuations
        ],
    }
    output.result(values, describe_completions(prompt, found))


def describe_completions(prompt: str, found: Completions) -> str:
    """Completions for people."""
    symbols = [[visible("".join(one.symbols)) or "(end)", f"{one.probability:.2%}"] for one in found.next]
    texts = [
        [f"{prompt}{one.text}{'' if one.ends else ' …'}", f"{one.probability:.2%}"]
        for one in found.continuations
    ]
    return f"{table(['next', 'probability'], symbols)}\n\n{table(['continuation', 'probability'], texts)}"


def rank(
    model: Saved,
    candidates: Annotated[
        list[str] | None, typer.Argument(metavar="[CANDIDATE]...", help="Texts; none given: lines of stdin.")
    ] = None,
    json: Json = False,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Put candidates in order, best first.

    As for the guesses of a speech recogniser: the most probable text comes first.
    """
    from chainrule.bundle import load

    bundle = load(model)
    texts = candidates or [line.rstrip("\n") for line in sys.stdin if line.strip()]
    began = time.perf_counter()
    ranked = bundle.rank(texts)
    seconds = time.perf_counter() - began
    values = [{"text": text} | figures(one, seconds) for text, one in ranked]
    for row in values:
        del row["seconds"]
    lines = [
        [text, number(one.log2prob), number(one.perplexity), number(one.unknown)] for text, one in ranked
    ]
    header = ["text", "log2 probability", "perplexity", "unknown"]
    Output(json, quiet, verbose).result({"ranked": values, "seconds": seconds}, table(header, lines))
