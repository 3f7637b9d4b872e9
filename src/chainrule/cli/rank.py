"""`rank`: candidates by probability."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Annotated, Any

import typer

from chainrule.cli.arguments import named
from chainrule.cli.output import Json, Printer, Quiet, Verbose, encoded, number, table
from chainrule.cli.saved import Int8, Saved, loaded, tell_unknown
from chainrule.cli.settings import Groups, of_data
from chainrule.cli.verb import Verb, typed
from chainrule.config import flag, parted, settings
from chainrule.errors import ConfigError

if TYPE_CHECKING:
    from chainrule.bundle import Bundle
    from chainrule.use.nbest import Candidate, Nbest
    from chainrule.use.rank import Ranking


BESIDE = ("source", "also", "channel", "lm_weight", "log_base")  # settings that need no table


class RankVerb(Verb):
    """Its settings are those of n-best lists, and how files are read."""

    def groups(self, asked: Mapping[str, str]) -> Groups:
        from chainrule.use.nbest import NbestConfig

        lists = settings(NbestConfig)
        data = [one for one in of_data()["Data"] if one.name not in ("stream", "group", "sort")]
        shared = [one for one in lists if one.name in BESIDE]
        rest = [one for one in lists if one not in shared]
        return {"Sources and other models": shared, "N-best lists, with --file": rest, "Data": data}


def rank(
    context: typer.Context,
    model: Saved,
    candidates: Annotated[
        list[str] | None,
        typer.Argument(metavar="CANDIDATE", help="Texts; without any, or with -, the lines of stdin."),
    ] = None,
    file: Annotated[
        str | None, typer.Option("--file", "-f", help="A table of candidates, one list for each --group.")
    ] = None,
    int8: Int8 = False,
    json: Json = False,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Rerank candidates, the most probable first.

    As for the hypotheses (n-best lists) of a speech recogniser: texts, lines of standard input, or a table with
    --file, --group, --id and --weight; with --json a line of JSON for each list. lm and the columns of --weight are
    told times their weights; their sum is the total. A model that translates wants --source; --also and --channel add
    what other models say (noisy channel).
    """
    output, options = Printer(json, quiet, verbose), typed(context)
    if file is not None:
        if candidates:
            raise ConfigError("Give candidates or --file, not both.")
        return _rank_file(loaded(model, int8), named(file), options, output)
    for name in options:
        if name not in BESIDE:
            raise ConfigError(f"{flag(name)} is for a table of candidates: give --file.")
    bundle = loaded(model, int8)
    given = [] if candidates == ["-"] else candidates or []
    texts = given or _lines()
    if len(given) == 1 and os.path.isfile(given[0]):
        output.note(f"{given[0]} is ranked as a text. It is also a file: to rank what is in it, use --file.")
    tell_unknown(bundle, given, output)
    if options:
        from chainrule.bundle import load
        from chainrule.use.nbest import NbestConfig, rank_from

        return _told([rank_from(bundle, texts, NbestConfig.from_values(options), load)], output)
    found = bundle.rank(texts)
    output.result(found.to_dict(), _table(found))


def _table(found: Ranking) -> str:
    rows = [
        [one.text or "(blank)", number(one.log2prob), number(one.perplexity), number(one.unknown)]
        for one in found.ranked
    ]
    return table(["text", "log2 probability", "perplexity", "unknown"], rows)


def _lines() -> list[str]:
    from chainrule.data.arriving import arriving

    named("-")
    return [line for lines in arriving(sys.stdin.buffer) for line in lines]


def _rank_file(bundle: Bundle, source: str, options: Mapping[str, Any], output: Printer) -> None:
    from chainrule.bundle import load
    from chainrule.use.nbest import NbestConfig, rank_file

    config, reading = parted(options, NbestConfig)
    _told(rank_file(bundle, source, config, load, **reading), output)


def _told(lists: Iterable[Nbest], output: Printer) -> None:
    for found in lists:
        if output.json:
            print(encoded(found.to_dict()))
            continue
        if found.group is not None:
            print(f"{found.group}:")
        weighted = found.ranked[0].weighted
        header = ["id", "text", "symbols", "model" if "lm" in weighted else "lm", *weighted, "total"]
        print(table(header, [_row(one) for one in found.ranked], left=2), end="\n\n")


def _row(one: Candidate) -> list[str]:
    name = str(one.scored.row) if one.scored.id is None else one.scored.id
    figures = (one.scored.symbols, one.lm, *one.weighted.values(), one.total)
    return [name, one.scored.text or "(blank)", *map(number, figures)]
