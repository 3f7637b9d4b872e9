"""`look`: what a model computes about a text, in the terminal or as a page or picture."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from chainrule.cli.output import Json, Printer, Quiet, Verbose
from chainrule.cli.saved import Int8, Saved, loaded, tell_unknown
from chainrule.cli.settings import Groups
from chainrule.cli.verb import Verb, typed
from chainrule.config import settings

if TYPE_CHECKING:
    from chainrule.views.view import View

USUAL = "surprise"


class LookVerb(Verb):
    """Its settings are those of the view."""

    def groups(self, asked: Mapping[str, str]) -> Groups:
        from chainrule.views.kinds import kind_named

        view = asked.get("view", USUAL)
        return {f"View {view}": settings(kind_named(view))}


def look(
    context: typer.Context,
    model: Saved,
    text: Annotated[str, typer.Argument(metavar="TEXT", help="What the model reads.")] = "",
    view: Annotated[str, typer.Option("--view", metavar="VIEW", help="What to look at.")] = USUAL,
    against: Annotated[
        list[Path] | None,
        typer.Option("--against", metavar="MODEL", help="Another model, side by side; may be given twice."),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option("-o", "--out", metavar="FILE", help="Write it as .html, .svg, .png or .json."),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace FILE if it exists.")] = False,
    int8: Int8 = False,
    json: Json = False,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Look inside a model: next symbols, surprise, attention, in the terminal or as a page, a picture, or numbers."""
    from chainrule.views.files import check
    from chainrule.views.front import look as view_of

    if out is not None:
        check(out, force)
    bundles, output = [loaded(one, int8) for one in (model, *(against or ()))], Printer(json, quiet, verbose)
    tell_unknown(bundles[0], [text], output)
    found = view_of(bundles, text, view=view, **typed(context))
    if out is None:
        return output.result(found.to_dict(), str(found))
    found.save(out, force)
    output.result({"out": str(out), "kind": found.kind}, _written(found, out))


def _written(found: View, out: Path) -> str:
    told: Any = "open it in a browser" if out.suffix.lower() == ".html" else found.title
    return f"wrote {out}: {told}"
