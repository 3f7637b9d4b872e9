"""`translate`: for every source its translation."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Annotated, Any

import typer

from chainrule.cli.arguments import named
from chainrule.cli.output import Json, Printer, Quiet, Verbose, encoded
from chainrule.cli.saved import Draft, Int8, Saved, Tree, loaded, name_unknown
from chainrule.cli.settings import Groups, of_data
from chainrule.cli.verb import Verb, typed
from chainrule.config import settings, share
from chainrule.errors import ConfigError

if TYPE_CHECKING:
    from chainrule.bundle import Bundle
    from chainrule.use.translate import Translation


class TranslateVerb(Verb):
    """Its settings are those of generation, of lengths, and of reading data."""

    def groups(self, asked: Mapping[str, str]) -> Groups:
        from chainrule.decode.config import GenerationConfig
        from chainrule.use.translate import AlignConfig, WriteConfig

        return {
            "Generation": [*settings(GenerationConfig), *settings(WriteConfig), *settings(AlignConfig)],
            **of_data(),
        }


def translate(
    context: typer.Context,
    model: Saved,
    texts: Annotated[
        list[str] | None,
        typer.Argument(metavar="TEXT", help="Sources; without any, or with -, the lines of stdin."),
    ] = None,
    file: Annotated[
        str | None, typer.Option("--file", "-f", help="Data to translate, of any kind fit reads.")
    ] = None,
    id: Annotated[
        str | None, typer.Option("--id", metavar="COLUMN", help="The column with the id of each row.")
    ] = None,
    draft: Draft = None,
    tree: Tree = False,
    int8: Int8 = False,
    json: Json = False,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Translate texts: one line out for every line in, in order.

    Beam search with a beam of 5 and --length-penalty 1, if nothing else is said; --temperature draws at random.
    With --count N the N best ones, each with its log-probability; with --json, one line for each source.
    """
    from chainrule.data.sources import ReadConfig
    from chainrule.use.translate import Translator, translate, translate_each, translate_lines

    options, output = typed(context), Printer(json, quiet, verbose)
    reading = share(options, ReadConfig)
    writing = {name: value for name, value in options.items() if name not in reading}
    texts = None if texts == ["-"] else texts
    if texts and (file is not None or reading or id):
        raise ConfigError("Give texts, or --file with what says how to read it, not both.")
    bundle, drafter = loaded(model, int8), None if draft is None else loaded(draft, False)
    if tree:
        return _trees(bundle, texts or (), writing)
    if texts:
        _tell(bundle, texts, output)
        return _lines(translate(bundle, texts, draft=drafter, **writing), output)
    translator = Translator.of(bundle, writing, draft=drafter)
    if file is None and not reading and id is None:
        named("-")
        return _lines(translate_lines(translator, sys.stdin.buffer), output, waiting=True)
    _lines(translate_each(translator, named(file or "-"), id=id, **reading), output)


def _tell(bundle: Bundle, texts: list[str], output: Printer) -> None:
    """What may surprise: a name of a file that is read as a text, and symbols that the model has never seen."""
    from chainrule.use.source_inputs import SourceReader
    from chainrule.use.unknown import unknown_to

    if bundle.task.source is None:
        return  # refused
    reader = SourceReader(bundle)
    if reader.plain and len(texts) == 1 and os.path.isfile(texts[0]):
        output.note(
            f"{texts[0]} is translated as a text. It is also a file: to translate what is in it, use --file."
        )
    name_unknown((name for codec, text in reader.spelled(texts) for name in unknown_to(codec, text)), output)


def _trees(bundle: Bundle, texts: Iterable[str], writing: Mapping[str, Any]) -> None:
    """One line of JSON for each text."""
    if not texts:
        raise ConfigError("--tree shows the search for a text given behind the model: give one.")
    for text in texts:
        print(encoded(bundle.search_tree(text, **writing).to_dict()))


def _lines(found: Iterable[Translation], output: Printer, waiting: bool = False) -> None:
    for one in found:
        print(encoded(one.to_dict()) if output.json else _plain(one), flush=waiting)


def _plain(one: Translation) -> str:
    """One line; of several choices, a line each with its log-probability; an alignment after a tab."""
    links = "" if one.alignment is None else "\t" + " ".join(f"{i}-{j}" for i, j in one.alignment)
    if len(one.choices) <= 1:
        return " ".join(one.text.split()) + links
    rows = ((" ".join(way.text.split()), way.log2prob) for way in one.choices)
    first, *others = (text if log is None else f"{one.row}\t{log:.4f}\t{text}" for text, log in rows)
    return "\n".join([first + links, *others])
