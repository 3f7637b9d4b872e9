"""`rate`: people judge two systems, side by side and blind."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from chainrule.cli.arguments import named
from chainrule.cli.output import Json, Printer, Quiet, Verbose, number, table
from chainrule.config import LARGEST_SEED
from chainrule.errors import ConfigError

if TYPE_CHECKING:
    from chainrule.rate.report import Ratings

Texts = Annotated[
    str | None, typer.Argument(metavar="FILE", help="Texts of a system, one a line.", show_default=False)
]
Sources = Annotated[
    str | None,
    typer.Option("--source", metavar="FILE", help="What the texts were made of, shown above them."),
]
Out = Annotated[
    Path, typer.Option("--output", "-o", metavar="FILE", help="Where ratings are kept; it continues there.")
]
Report = Annotated[
    Path | None, typer.Option("--report", metavar="FILE", help="Tell what was rated so far, in such a file.")
]
Port = Annotated[
    int,
    typer.Option(
        "--port", metavar="N", min=0, max=65_535, help="The port of this machine; 0: any that is free."
    ),
]
Seed = Annotated[
    int,
    typer.Option(
        "--seed",
        metavar="N",
        min=0,
        max=LARGEST_SEED,
        help="Draws the order of pairs and who stands on the left.",
    ),
]
USUAL = Path("ratings.jsonl")


def rate(
    a: Texts = None,
    b: Texts = None,
    source: Sources = None,
    out: Out = USUAL,
    report: Report = None,
    port: Port = 0,
    seed: Seed = 1,
    json: Json = False,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Let people rate two systems side by side (human evaluation).

    Serves one page to browsers of this machine: blind pairs in random order, ties allowed, keys ← → ↓. Every click
    is on the disk at once, and a rating continues where it stopped. Several people may rate, each under a name.
    Ctrl-C ends it and tells wins with an interval, and agreement (kappa); so does --report FILE.
    """
    from chainrule.rate.journal import Journal
    from chainrule.rate.report import Ratings

    output = Printer(json, quiet, verbose)
    if report is None:
        if a is None or b is None:
            raise ConfigError("Give the texts of two systems, chainrule rate A.txt B.txt, or --report FILE.")
        _serve(a, b, source, out, port, seed, output)
        report = out
    elif a is not None:
        raise ConfigError("Give two files to rate, or --report FILE to see what was rated, not both.")
    found = Ratings.of(Journal.opened(report))
    if found.damaged:
        one = found.damaged == 1
        lines, do = ("1 line", "does") if one else (f"{found.damaged:,} lines", "do")
        output.note(f"{lines} of {report} {do} not count: damaged, or cut off by a crash.")
    output.result(found.to_dict(), described(found))


def _serve(a: str, b: str, source: str | None, out: Path, port: int, seed: int, output: Printer) -> None:
    """Until somebody presses Ctrl-C."""
    from chainrule.rate.journal import Journal
    from chainrule.rate.pairs import Pairs
    from chainrule.rate.server import Server
    from chainrule.use.evaluate_texts import lines

    names = (a, b) if a != b else (a, f"{b} (again)")
    sources = None if source is None else lines(named(source))
    pairs = Pairs(names, (lines(named(a)), lines(named(b))), sources, seed)
    server = Server(pairs, Journal.opened(out, pairs.subject), port)
    same = pairs.subject.pairs - len(pairs.shown)
    output.note(f"Rate at {server.address} ({len(pairs.shown):,} pairs; ratings in {out}). Ctrl-C ends it.")
    if same:
        output.note(f"{same:,} {'pair is' if same == 1 else 'pairs are'} the same in both and not shown.")
    try:
        server.serve_forever()
    except KeyboardInterrupt:
        pass
    finally:
        server.server_close()


def described(found: Ratings) -> str:
    """Ratings for people."""
    from chainrule.rate.journal import CHOICES

    share, counts = found.share(), found.counts
    if share is None:
        return "Nobody has rated anything yet."
    a, b = found.subject.a, found.subject.b
    rows = [
        [rater, *(str(list(own.values()).count(choice)) for choice in CHOICES)]
        for rater, own in found.said.items()
    ]
    rows.append(["all", *(str(counts[choice]) for choice in CHOICES)])
    parts = [table(["rater", a, b, "tie"], rows)]
    ends = f"{number(100 * share[1])} to {number(100 * share[2])} %"
    verdict = "significant" if not share[1] <= 0.5 <= share[2] else "not significant"
    parts.append(
        f"{a} has {number(100 * share[0])} % of the votes (95 %: {ends}), ties as halves: {verdict}."
    )
    agreed = found.agreement()
    if agreed:
        told = [
            [" and ".join(one.raters), str(one.pairs), number(one.same), number(one.kappa)] for one in agreed
        ]
        parts.append(table(["agreement", "pairs", "same", "kappa"], told))
    return "\n\n".join(parts)
