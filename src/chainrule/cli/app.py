"""The verbs of `chainrule`. Heavy libraries are imported inside the verbs that need them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import typer

from chainrule import __version__
from chainrule.cli import (
    STOPPED,
    analogy,
    anomalies,
    check,
    compare,
    complete,
    demo,
    embed,
    evaluate,
    example,
    export,
    fill,
    fit,
    forecast,
    generate,
    import_,
    look,
    map_vectors,
    mix,
    models,
    next,
    predict,
    rank,
    rate,
    score,
    serve,
    show,
    similar,
    studio,
    translate,
)
from chainrule.cli.verb import DataVerb, ReadingVerb, Verb, Verbs
from chainrule.errors import ConfigError
from chainrule.progress import quiet

app = typer.Typer(
    cls=Verbs,
    help="Sequence models: train, evaluate, sample, save and exchange them.",
    epilog="Begin with: chainrule demo. Then: chainrule fit book.txt -o my-lm",
    add_completion=False,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command("fit", cls=fit.FitVerb)(fit.fit)
app.command("score", cls=ReadingVerb)(score.score)
app.command("generate", cls=generate.GenerateVerb)(generate.generate)
app.command("complete", cls=Verb)(complete.complete)
app.command("next", cls=Verb)(next.next_symbol)
app.command("fill", cls=Verb)(fill.fill)
app.command("embed", cls=Verb)(embed.embed)
app.command("similar", cls=Verb)(similar.similar)
app.command("analogy", cls=Verb)(analogy.analogy)
app.command("map-vectors", cls=Verb)(map_vectors.map_vectors)
app.command("predict", cls=DataVerb)(predict.predict)
app.command("evaluate", cls=evaluate.EvaluateVerb)(evaluate.evaluate)
app.command("translate", cls=translate.TranslateVerb)(translate.translate)
app.command("rate", cls=Verb)(rate.rate)
app.command("rank", cls=rank.RankVerb)(rank.rank)
app.command("forecast", cls=forecast.ForecastVerb)(forecast.forecast)
app.command("anomalies", cls=DataVerb)(anomalies.anomalies)
app.command("check", cls=check.CheckVerb)(check.check)
app.command("compare", cls=compare.CompareVerb)(compare.compare)
app.command("mix", cls=ReadingVerb)(mix.mix)
app.command("serve", cls=serve.ServeVerb)(serve.serve)
app.command("look", cls=look.LookVerb)(look.look)
app.command("studio", cls=Verb)(studio.studio)
app.command("models", cls=Verb)(models.models)
app.command("show", cls=Verb)(show.show)
app.add_typer(import_.imports, name="import")
app.add_typer(export.exports, name="export")
app.command("example", cls=Verb)(example.example)
app.command("demo", cls=Verb)(demo.demo)


def _version(wanted: bool) -> None:
    if wanted:
        print(f"chainrule {__version__}")
        raise typer.Exit


@app.callback()
def _front(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Sequence models: train, evaluate, sample, save and exchange them."""


def run(words: Sequence[str], began: float | None = None) -> int:
    """Run one command, which `began` at a moment of `time.monotonic`; errors are raised, an exit is its code."""
    odd = [word for word in words if "\0" in word]
    if odd:  # no shell can write it, a program that calls this can
        raise ConfigError(f"{odd[0]!r} holds a NUL, which no argument can have. Leave it out.")
    with quiet("--quiet" in words or "-q" in words):
        code = app(list(words), standalone_mode=False, prog_name="chainrule", obj=began)
    if code == STOPPED:  # typer makes this number of a KeyboardInterrupt; we have something to say about it
        raise KeyboardInterrupt
    return code if isinstance(code, int) else 0
