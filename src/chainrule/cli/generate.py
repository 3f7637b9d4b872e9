"""`generate`: texts that continue prompts."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from chainrule.cli.arguments import named
from chainrule.cli.output import Json, Printer, Quiet, Verbose, encoded
from chainrule.cli.saved import Int8, Saved, loaded, tell_unknown
from chainrule.cli.settings import Groups
from chainrule.cli.verb import Verb, typed
from chainrule.config import settings

if TYPE_CHECKING:
    from chainrule.bundle import Bundle
    from chainrule.decode.config import GenerationConfig


class GenerateVerb(Verb):
    """Its settings are those of generation."""

    def groups(self, asked: Mapping[str, str]) -> Groups:
        from chainrule.decode.config import GenerationConfig

        return {"Generation": settings(GenerationConfig)}


def generate(
    context: typer.Context,
    model: Saved,
    prompts: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="PROMPT", help="Texts to continue; none: from the start; -: the lines of stdin."
        ),
    ] = None,
    draft: Annotated[
        Path | None,
        typer.Option(
            metavar="MODEL",
            help="Speculative decoding: a smaller model drafts. The same distribution, sooner; the text of a seed "
            "may differ.",
        ),
    ] = None,
    tree: Annotated[
        bool,
        typer.Option(
            "--tree",
            help="The whole search tree as JSON: log-probabilities of a beam, and why ways were dropped.",
        ),
    ] = False,
    int8: Int8 = False,
    json: Json = False,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Continue prompts by sampling or beam search.

    One sampled text appears as it is drawn. Several prompts are continued side by side; with --json, one line each.
    """
    from chainrule.use.generate import generate as texts_of
    from chainrule.use.generate import refuse_draft_for_a_beam
    from chainrule.use.generate import settings as settled

    given, config = prompts or [""], settled(typed(context)).seeded()
    refuse_draft_for_a_beam(config, draft)
    bundle, output = loaded(model, int8), Printer(json, quiet, verbose)
    if tree:
        for prompt in given:
            print(encoded(bundle.search_tree(prompt, **typed(context)).to_dict()))
        return None
    drafter = None if draft is None else loaded(draft, False)
    if config.seed is not None:
        output.detail(f"seed {config.seed}")
    if given == ["-"]:
        return _answer(bundle, config, drafter, output)
    tell_unknown(bundle, given, output)
    if not output.json and config.beam is None and not config.exact and len(given) * config.count == 1:
        return _print(bundle, given[0], config, drafter)
    for found in texts_of(bundle, given, config, drafter):
        output.result(found.to_dict(), "\n".join(one.text for one in found.texts))


def _answer(bundle: Bundle, config: GenerationConfig, drafter: Bundle | None, output: Printer) -> None:
    """Continue the lines of standard input, each as soon as it comes."""
    from chainrule.data.arriving import arriving
    from chainrule.use.generate import generate as texts_of

    named("-")
    for lines in arriving(sys.stdin.buffer):
        for found in texts_of(bundle, lines, config, drafter):
            text = "\n".join(one.text for one in found.texts)
            print(encoded(found.to_dict()) if output.json else text, flush=True)


def _print(bundle: Bundle, prompt: str, config: GenerationConfig, drafter: Bundle | None) -> None:
    """A text as it is drawn."""
    from chainrule.use.generate import stream

    for piece in stream(bundle, prompt, config, drafter):
        print(piece, end="", flush=True)
    print()
