"""`fit` trains a model and saves it."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from chainrule.cli.arguments import Codec, Force, MultiLabel, Out, Source, Target, Test, Valid, check_named
from chainrule.cli.fitted import summary, values
from chainrule.cli.output import Json, Printer, Quiet, Verbose
from chainrule.cli.parallel import HeldOutConfig, Named, parallel
from chainrule.cli.settings import (
    SPELLINGS,
    Groups,
    from_file,
    of_fit,
    of_sources,
    of_training,
    task_named,
    understood,
)
from chainrule.cli.verb import Verb, typed
from chainrule.config import merged, parted, read_toml, settings
from chainrule.errors import ConfigError

Train = Annotated[
    list[str] | None,
    typer.Argument(metavar="TRAIN", help="Files, folders, patterns, or - (stdin).", show_default=False),
]
Model = Annotated[
    str | None,
    typer.Option(
        "--model", metavar="NAME", help="The model family; ngram if not given. List: chainrule models."
    ),
]
Task = Annotated[
    str | None,
    typer.Option("--task", metavar="NAME", help="What to train for; that of the family if not given."),
]
InitFrom = Annotated[
    Path | None,
    typer.Option(
        "--from", metavar="MODEL", help="Fine-tune this trained model: same codec, same family, same sizes."
    ),
]
CodecFrom = Annotated[
    Path | None,
    typer.Option(
        "--codec-from", metavar="MODEL", help="Share the codec of this saved model, to mix and compare."
    ),
]
Each = Annotated[
    str | None,
    typer.Option(
        "--each",
        metavar="COLUMN",
        help="One model for each value of this column, over one codec; OUT holds them all.",
    ),
]
Label = Annotated[
    str | None,
    typer.Option(
        "--label", metavar="COLUMN", help="The column of labels or numbers: what is to be predicted."
    ),
]
Old = Annotated[
    str | None,
    typer.Option(
        "--old",
        metavar="DATA",
        help="With --from: text like that the model was trained on, to see what is forgotten.",
    ),
]
Settings = Annotated[
    Path | None, typer.Option("--config", metavar="FILE", help="Settings in a TOML file; flags win.")
]
Resume = Annotated[
    bool, typer.Option("--resume", help="Continue a training that was stopped, from its checkpoint.")
]
OWN = (
    "model",
    "task",
    "codec",
    "codec_from",
    "label",
    "valid",
    "test",
    "init_from",
    "old",
)  # options that may stand in a TOML file too
TRANSLATE, SIDES = "translate", {"source", "target"}
LEAVING = 0.6  # seconds to start Python and to leave it


class FitVerb(Verb):
    """Its settings are those of the family, the task and the codec that are asked for."""

    def groups(self, asked: Mapping[str, str]) -> Groups:
        return _groups(_with_file(asked))

    def usual(self, asked: Mapping[str, str]) -> Groups:
        """Without a model, those of the default one, and of training for all that learn by gradient."""
        if {"model", "init_from"} & _with_file(asked).keys():
            return self.groups(asked)
        (title, own), *others = self.groups(asked).items()
        return {f"{title}, the default": own, **of_training(), **dict(others)}


def _groups(told: Mapping[str, str]) -> Groups:
    from chainrule.train.fit import usual_model

    if "init_from" not in told:
        task = _task(told) or (TRANSLATE if SIDES & told.keys() else None)  # one side alone is refused later
        groups = of_fit(told.get("model") or usual_model(task, _framed(told)), task, told.get("codec"))
        groups |= of_sources(told.get("source", ""))
        return groups | ({"Parallel files": settings(HeldOutConfig)} if task == TRANSLATE else {})
    from chainrule.saved import read_config

    found = read_config(Path(told["init_from"]))
    return of_fit(found["family"], _task(told) or found["task"]["name"])


def _framed(told: Mapping[str, str]) -> bool:
    """Whether the codec that is named reads frames."""
    from chainrule.codecs.registry import codec, codecs

    name = told.get("codec")
    return name in codecs() and codec(str(name)).framed


def _task(told: Mapping[str, Any], source: str | list[Path] | None = None) -> str | None:
    """What was named, or what the columns are for."""
    from chainrule.train.guess import guessed_task

    task = _named_task(told.get("task"), bool(told.get("multi_label")))
    return task_named(task) if task else guessed_task(told, source)


def _with_file(asked: Mapping[str, str]) -> dict[str, str]:
    """What was asked for by flags and in the settings file."""
    written = read_toml(Path(asked["config"])) if asked.get("config") else {}
    return {name: one for name, one in written.items() if name in OWN and isinstance(one, str)} | dict(asked)


def fit(
    context: typer.Context,
    out: Out,
    train: Train = None,
    model: Model = None,
    task: Task = None,
    label: Label = None,
    source: Source = None,
    target: Target = None,
    multi_label: MultiLabel = False,
    codec: Codec = None,
    codec_from: CodecFrom = None,
    valid: Valid = None,
    test: Test = None,
    init_from: InitFrom = None,
    old: Old = None,
    each: Each = None,
    config: Settings = None,
    resume: Resume = False,
    force: Force = False,
    json: Json = False,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Train a model on your data and save it.

    Every setting is a flag. Without --model, this help shows the settings of the default model, ngram.
    Those of another family: chainrule fit --model lstm --help. All families: chainrule models.

    A default of "chosen" is chosen for the data and the budget, and reported. So is the codec.
    """
    from chainrule.store.files import check_free
    from chainrule.train.fit import ask

    output, began = Printer(json, quiet, verbose), context.find_root().obj or time.monotonic()
    told = (model, _named_task(task, multi_label), codec, codec_from, label, valid, test, init_from, old)
    held, flags = parted(typed(context), HeldOutConfig)
    files = parallel(train or [], source, target, held)
    own = files.settings | {name: str(one) for name, one in zip(OWN, told, strict=True) if one is not None}
    options = _settled(own, flags, config, output, train or [])
    if "init_from" not in options:
        ask(options["model"], options.get("task"), options)  # mistakes first, before anything is read
    if each is not None:
        return _fit_each(files.data, out, each, options | {"resume": resume}, force, output)
    check_free(out, force)
    _fit(files.data, out, options | files.parts | {"resume": resume}, force, output, began)


def _named_task(task: str | None, multi_label: bool) -> str | None:
    """What was named by either flag."""
    from chainrule.train.guess import several

    return several(task, multi_label)


def _settled(
    own: dict[str, str], flags: Mapping[str, Any], config: Path | None, output: Printer, train: list[str]
) -> dict[str, Any]:
    """Every setting: what was typed wins over the file; names of other tools become ours."""
    written: dict[str, Any] = {}
    if config is not None:
        groups = _groups(_with_file({**own, "config": str(config)}))
        written = from_file(config, OWN, groups, output)
    given = merged({**written, **own}, flags)
    options = given if "init_from" in given else _with_task(given, output, train)
    check_named(options.get("valid"), options.get("test"), options.get("old"))
    spelled = {kind: understood(kind, options[kind], output) for kind in SPELLINGS if kind in options}
    return options | spelled


def _with_task(given: dict[str, Any], output: Printer, train: list[str]) -> dict[str, Any]:
    """With the task that was guessed, which is said, and the usual family for it."""
    from chainrule.train.fit import usual_model
    from chainrule.train.guess import forecast, framed, told

    source = [Path(one) for one in train]
    task, frames = _task(given, None if "-" in train else source), framed(given, source, given.get("codec"))
    if not task and frames:
        task = forecast(source, given, given.get("codec"))
        output.note(f"task: {task}, because there are frames of numbers and no labels")
    elif task and "task" not in given:
        output.note(told(task))
    usual = "" if "model" in given else usual_model(task, frames)
    return {"model": usual, **given} | ({"task": task} if task else {})


def _fit(
    source: Named, out: Path, options: dict[str, Any], force: bool, output: Printer, began: float
) -> None:
    from chainrule.train.budget import Stopwatch, Timing
    from chainrule.train.fit import fit as train

    place = out if out.name.strip(".") else out.resolve()  # a dot has no name to put anything beside
    run = place.parent / f"{place.name}.run"  # beside the model: the checkpoints that --resume continues from
    timing = Timing(Stopwatch(began), leaving=LEAVING)
    bundle = train(source, run=run, force=force, timing=timing, **options)
    for note in bundle.card.get("notes", ()):
        output.note(note)
    if os.environ.get("RANK", "0") != "0":  # one of several processes of torchrun; the first one saves
        return
    bundle.save(out, force)
    took = time.monotonic() - began
    output.result(values(bundle, out, took), summary(bundle, out, took))


def _check_each(out: Path, force: bool) -> None:
    """Refuse a place that is taken, unless `force` is to replace models one by one."""
    from chainrule.store.files import check_free

    if not (force and out.is_dir()):
        return check_free(out, force)
    for one in sorted(out.iterdir()):
        if not one.name.startswith("."):  # what a killed process has left
            check_free(one, force)


def _fit_each(
    source: Named, out: Path, each: str, options: dict[str, Any], force: bool, output: Printer
) -> None:
    """A folder for each value, with a name that is one; what comes of each is told as soon as it is saved."""
    from chainrule.train.each import fit_each

    _check_each(out, force)
    if options.pop("resume") or "init_from" in options:
        raise ConfigError("--each trains several models from scratch: leave out --resume and --from.")
    taken: set[str] = set()
    began = time.monotonic()
    for value, bundle in fit_each(source, each, **options):
        folder = out / _folder(value, taken)
        bundle.save(folder, force)
        took, began = time.monotonic() - began, time.monotonic()
        told = summary(bundle, folder, took)
        output.result({"value": value, **values(bundle, folder, took)}, f"{each} = {value}\n{told}\n")


def _folder(value: str, taken: set[str]) -> str:
    """A name for a folder that looks like a value and that no other value has."""
    plain = re.sub(r"[^\w-]+", "_", value)[:60] or "_"
    name = next(
        one for one in (plain, *(f"{plain}_{n}" for n in range(2, 10_000))) if one.lower() not in taken
    )
    taken.add(name.lower())
    return name
