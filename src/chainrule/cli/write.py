"""What a saved model has to say: generate, complete."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from chainrule.cli.output import Json, Output, Quiet, Verbose, percent, table
from chainrule.cli.use import Int8, Saved, loaded, tell_unknown, visible

if TYPE_CHECKING:
    from chainrule.bundle import Bundle
    from chainrule.completion import Completion, Completions

Prompt = Annotated[str, typer.Argument(metavar="PROMPT", help="The text to go on from.")]
Length = Annotated[int, typer.Option(min=0, help="How many symbols to add at most.")]
Unknown = Annotated[bool, typer.Option("--unknown", help="Let it say <unk> too.")]


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
        int | None, typer.Option(help="Search the most probable texts with a beam so wide.")
    ] = None,
    stop: Annotated[list[str] | None, typer.Option(help="Stop before this text; may be given twice.")] = None,
    count: Annotated[int, typer.Option("--count", "-n", min=1, help="How many texts; seeds count up.")] = 1,
    unknown: Unknown = False,
    draft: Annotated[
        Path | None,
        typer.Option(metavar="MODEL", help="A smaller model that writes ahead: same text, sooner."),
    ] = None,
    int8: Int8 = False,
    json: Json = False,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Let the model write on from a prompt.

    The text appears as it is drawn.
    """
    import secrets

    from chainrule.continuation import check_drawing

    check_drawing(seed, temperature, top_k, top_p, beam)
    bundle, output = loaded(model, int8), Output(json, quiet, verbose)
    tell_unknown(bundle, [prompt], output)
    if beam is not None:
        return _print(prompt, _best(bundle, prompt, length, beam, count, stop, unknown), output)
    first = secrets.randbelow(2**31) if seed is None else seed
    output.detail(f"seed {first}")
    drawing: dict[str, Any] = {
        "temperature": temperature,
        "top_k": top_k,
        "top_p": top_p,
        "stop": stop,
        "unknown": unknown,
        "draft": None if draft is None else loaded(draft, False),
    }
    texts = ((one, bundle.stream(prompt, length, one, **drawing)) for one in range(first, first + count))
    _print(prompt, ((pieces, {"seed": one}) for one, pieces in texts), output)


Texts = Iterator[tuple[Iterator[str], dict[str, Any]]]  # pieces as they come, and facts for scripts


def _best(
    bundle: Bundle, prompt: str, length: int, beam: int, count: int, stop: list[str] | None, unknown: bool
) -> Texts:
    found = bundle.search(prompt, length, beam=beam, count=count, stop=stop, unknown=unknown)
    return ((iter([one.text]), {"log2prob": one.log2prob}) for one in found)


def _print(prompt: str, texts: Texts, output: Output) -> None:
    """Each text as it comes; for scripts one object, with the keys of the first text beside the list of all."""
    if output.json:
        rows = [_row(prompt, "".join(pieces), facts) for pieces, facts in texts]
        return output.result({"prompt": prompt, **rows[0], "texts": rows}, "")
    for pieces, _ in texts:
        for piece in pieces:
            print(piece, end="", flush=True)
        print()


def _row(prompt: str, text: str, facts: dict[str, Any]) -> dict[str, Any]:
    return {"text": text, "continuation": text[len(prompt) :], **facts}


def complete(
    model: Saved,
    prompt: Prompt = "",
    k: Annotated[int, typer.Option("-k", "--best", min=1, help="How many of each.")] = 5,
    length: Length = 10,
    unknown: Unknown = False,
    int8: Int8 = False,
    json: Json = False,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """What a search box would offer.

    Words that begin as the last one does, the likeliest next symbols, and the likeliest continuations.
    """
    bundle, output = loaded(model, int8), Output(json, quiet, verbose)
    found = bundle.complete(prompt, k, length, unknown=unknown)
    tell_unknown(bundle, [_typed_out(prompt, found)], output)
    values = {
        "prompt": prompt,
        "words": [_symbol(one) for one in found.words],
        "next": [_symbol(one) for one in found.next],
        "continuations": [
            {"text": one.text, "probability": one.probability, "ends": one.ends}
            for one in found.continuations
        ],
    }
    output.result(values, describe_completions(prompt, found))


def _typed_out(prompt: str, found: Completions) -> str:
    """The prompt without a word that is only half typed."""
    if found.next or not found.words:
        return prompt
    best = found.words[0]
    return prompt[: len(prompt) + len(best.text) - len(best.shown)]


def _symbol(one: Completion) -> dict[str, Any]:
    return {
        "symbol": "".join(one.symbols),
        "text": one.text,
        "probability": one.probability,
        "ends": one.ends,
    }


def describe_completions(prompt: str, found: Completions) -> str:
    """Completions for people."""
    kinds = {
        "word": [[one.shown, percent(one.probability)] for one in found.words],
        "next": [[visible(one.shown) or "(end)", percent(one.probability)] for one in found.next],
        "continuation": [
            [f"{prompt}{one.text}{'' if one.ends else ' …'}", percent(one.probability)]
            for one in found.continuations
        ],
    }
    return "\n\n".join(table([name, "probability"], rows) for name, rows in kinds.items() if rows)
