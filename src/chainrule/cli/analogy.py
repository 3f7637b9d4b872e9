"""`analogy`: a is to b as c is to what?"""

from __future__ import annotations

from typing import Annotated

import typer

from chainrule.cli.output import Json, Printer, Quiet, Verbose
from chainrule.cli.saved import loaded
from chainrule.cli.similar import Best, Vectors, ranked


def analogy(
    model: Vectors,
    a: Annotated[str, typer.Argument(metavar="A", help="A word, such as man,")],
    b: Annotated[str, typer.Argument(metavar="B", help="what belongs to it, such as king,")],
    c: Annotated[str, typer.Argument(metavar="C", help="and another word, such as woman.")],
    k: Best = 10,
    json: Json = False,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Analogy: A is to B as C is to what? By 3CosAdd, without the three words and with them."""
    found = loaded(model, False).analogy(a, b, c, k)
    both = [
        ranked(found.answers, f"{a} : {b} = {c} :"),
        ranked(found.with_query, "with the words of the question"),
    ]
    Printer(json, quiet, verbose).result(found.to_dict(), "\n\n".join(both))
