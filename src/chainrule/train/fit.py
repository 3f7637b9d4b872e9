"""`fit`: from data to a model one can use, whatever the family and the task."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from chainrule.aliases import our_name, our_spelling
from chainrule.bundle import Bundle
from chainrule.codecs.base import Codec
from chainrule.codecs.registry import codec as codec_named
from chainrule.codecs.registry import codecs
from chainrule.config import Config, flag, share, visible
from chainrule.data.columns import Data
from chainrule.data.corpus import Part
from chainrule.data.dataset import Prepared, prepare
from chainrule.data.roles import Role
from chainrule.data.rows import TEXT
from chainrule.data.sources import ReadConfig
from chainrule.errors import ConfigError
from chainrule.models.base import (
    AnySourceConfig,
    CountingModel,
    FrameConfig,
    LanguageModel,
    ModelConfig,
    SourceConfig,
)
from chainrule.models.readers import ArrayLearner, CountingReader
from chainrule.models.registry import families, family
from chainrule.progress import Progress
from chainrule.progress import progress as shown
from chainrule.tasks.base import Task, tasks
from chainrule.tasks.base import task as task_named
from chainrule.tasks.sequence import SequenceTask
from chainrule.tasks.supervised import Supervised, Teaching
from chainrule.tasks.translate import cleaned
from chainrule.train.budget import Timing
from chainrule.train.card import Outcome, card_of
from chainrule.train.checkpoint import clear_run
from chainrule.train.config import TUNING, FitConfig, TrainConfig
from chainrule.train.guess import forecast, framed, guessed_task, paired, several, sourced
from chainrule.train.refit import Twin, first_half, recount, refit_facts, reread, retrain
from chainrule.train.shared import SharedCodecs
from chainrule.train.start import Start
from chainrule.train.start_vectors import given_vectors

USUAL, FRAMED = "ngram", "lstm"


def fit(
    data: Data,
    *,
    model: str | None = None,
    task: str | None = None,
    multi_label: bool = False,
    codec: str | None = None,
    codec_from: str | Path | Bundle | SharedCodecs | None = None,
    valid: Data | None = None,
    test: Data | None = None,
    init_from: str | Path | Bundle | None = None,
    old: Data | None = None,
    run: str | Path | None = None,
    resume: bool = False,
    force: bool = False,
    progress: Progress = shown,
    timing: Timing | None = None,
    **options: Any,
) -> Bundle:
    """Train a model of any family, an n-gram if none is named; what is not given is chosen, and the choice is noted.

    `options` are settings of the family (`order=5`), of the task (`mask_prob=0.15`), of the codec (`vocab="10k"`), of
    reading (`column="text"`) and, for models that learn by gradient, of training (`budget="10m"`). Such a training
    keeps its checkpoints in the folder `run`, and continues from there with `resume`; a run that is there already is
    replaced with `force` only. Names of other tools are understood: `model="LSTM"`, and with a warning
    `learning_rate=0.001`. A budget counts from this call, or as `timing` says, until the model is trained and judged.

    Counting models are then fitted once more on everything, held-out parts included; `refit` says yes or no for any
    family. With `init_from`, a saved model or its folder, that model is fine-tuned; `old` are data like those it was
    trained on, to see what it forgets. The codec of `codec_from`, another model, is shared: both can be mixed.
    """
    place = Place(run, resume, progress, timing or Timing())
    asked = Asked(data, valid, test, old, model, several(task, multi_label), codec).understood(options)
    options = sourced(paired(options, data))
    _check_origins(asked, codec_from, init_from, options.get("vectors"))
    clear_run(run, resume, force)
    if init_from is not None and asked.supervised:
        from chainrule.train.transfer import transfer

        return transfer(init_from, asked, options, place)
    if init_from is not None:
        from chainrule.train.adapt import adapt

        return adapt(init_from, asked, options, place)
    shared = None if codec_from is None else SharedCodecs.of(codec_from)
    return _fit(asked, shared.prepare if shared else partial(prepare, codec=asked.codec), options, place)


@dataclass(frozen=True)
class Asked:
    """What is to be learnt from: the data, text like the old, and what was said of model, task and codec."""

    data: Data
    valid: Data | None
    test: Data | None
    old: Data | None
    model: str | None
    task: str | None
    codec: str | None

    def understood(self, options: Mapping[str, Any]) -> Asked:
        """With names of other tools as ours, and with the task that the columns tell."""
        model = self.model and our_spelling(self.model, families())
        codec = self.codec and our_spelling(self.codec, codecs())
        task = self.task and our_spelling(self.task, tasks())
        return replace(self, model=model, codec=codec, task=task or self._guessed(options, codec))

    def _guessed(self, options: Mapping[str, Any], codec: str | None) -> str | None:
        """The task that columns of labels, or frames without any, tell."""
        return guessed_task(options, self.data) or forecast(self.data, options, codec)

    @property
    def supervised(self) -> bool:
        """Whether a head is to answer."""
        return self.task is not None and issubclass(task_named(self.task), Supervised)


def _check_origins(asked: Asked, codec_from: object, init_from: object, vectors: object) -> None:
    """Refuse two answers to one question, and old text that nothing is compared with."""
    if codec_from is not None and (asked.codec is not None or init_from is not None):
        other = "--codec" if asked.codec is not None else "--from"
        raise ConfigError(f"{other} says which codec to take, and --codec-from too: give one of them.")
    if vectors is not None and init_from is not None:
        raise ConfigError(
            "--from MODEL has vectors of its own for its words, and --vectors gives others: give one."
        )
    if asked.old is not None and init_from is None:
        raise ConfigError("Old text shows what a fine-tuned model forgets: add --from MODEL.")


def usual_model(task: str | None, frames: bool = False) -> str:
    """The family for a task, if none is named; for frames, a network."""
    return FRAMED if frames else (task_named(task).default_model if task else None) or USUAL


@dataclass(frozen=True)
class Place:
    """Where a training runs: its folder, who watches, since when its budget counts."""

    run: str | Path | None
    resume: bool
    progress: Progress
    timing: Timing

    def judging(self, task: Task, *parts: Part | None) -> Place:
        """With what will be judged at the end, which takes time too."""
        ids = sum(task.judging(part) for part in parts if part is not None)
        return replace(self, timing=replace(self.timing, judged=ids))


def _fit(
    asked: Asked, preparing: Callable[..., Prepared], options: Mapping[str, Any], place: Place
) -> Bundle:
    """From scratch."""
    sources = asked.task is not None and task_named(asked.task).source is not None
    frames = not sources and framed(options, asked.data, asked.codec)
    model = asked.model or usual_model(asked.task, frames)
    known = list(settings_of(model, asked.task).values())
    options = renamed(options, known)
    vectors = given_vectors(model, options)
    options = vectors.sized(options) if vectors else options
    task = ask(model, asked.task, options)
    options = {**_suiting(task, model), **options}
    parts = (asked.data, asked.valid, asked.test)
    roles = _roles(model, task)
    prepared = preparing(*parts, options=options, roles=roles, allowed=known, divide=task.divides)
    prepared = cleaned(task, vectors.known(prepared) if vectors else prepared)
    start = vectors.start(prepared) if vectors else None
    settings: Any = family(model).Config.from_values(share(options, family(model).Config))
    read = prepared.codecs[task.body_role(prepared.codecs)]
    check_frames(model, task, read)
    prepared = prepared.spelled_out() if settings.word_letters or read.features else prepared
    again = refits(model, prepared, options)
    place = place.judging(task, prepared.valid, prepared.test)
    gradient = family(model).learner == "gradient"
    if again and gradient:
        options = first_half(options, place.run, place.resume)
    run = (place.run, place.resume, place.progress, place.timing)
    found = learn(model, task, prepared, options, *run, start)
    found = replace(found, notes=(*found.notes, vectors.note(prepared))) if vectors else found
    return finished(task, found, prepared, place, again, start)


def _suiting(task: Task, model: str) -> dict[str, Any]:
    """Settings of a family that suit a task."""
    return share(task.suits, family(model).Config) if isinstance(task, Supervised) else {}


def check_frames(model: str, task: Task, codec: Codec) -> None:
    """Refuse frames where symbols are read or predicted, and files where there is no encoder."""
    if codec.reads_files:
        raise ConfigError(
            f"{codec.name} are what texts are written from: name --source and --target, the columns of both."
        )
    if codec.features and task.predicts:
        raise ConfigError(
            f"The task {task.name!r} predicts symbols, and these are frames of real numbers. Say what to predict "
            "of a sequence, --label COLUMN, or take one column by itself: --codec numbers."
        )
    if codec.features and not issubclass(family(model).Config, FrameConfig):
        raise ConfigError(
            f"A {model} reads symbols, and these are frames of real numbers: take a network, such as --model lstm, "
            "gru, cnn, gpt or bert."
        )


def _roles(model: str, task: Task) -> list[Role]:
    """The columns a task reads, with the codec the family likes where the task names none."""
    kind = family(model)
    return [
        one if one.codec else replace(one, prefers=kind.codec, usual=kind.codec_settings)
        for one in task.roles()
    ]


def refits(model: str, prepared: Prepared, options: Mapping[str, Any]) -> bool:
    """Whether to fit once more on everything: as asked, else where it takes seconds, if anything was held out."""
    config = FitConfig.from_values(share(options, FitConfig))
    asked = family(model).learner == "count" if config.refit is None else config.refit
    return asked and bool(prepared.data.held)


def finished(
    task: Task, found: Outcome, prepared: Prepared, place: Place, again: bool, start: Start | None = None
) -> Bundle:
    """What was learnt, calibrated, judged and, if wanted, fitted `again` on everything."""
    if isinstance(task, Supervised) and found.head is not None:
        found = replace(found, head=task.calibrated(found.body, found.head, prepared.valid, prepared.codecs))
    card = card_of(task, found, prepared)
    if not again:
        return Bundle(prepared.codecs, found.body, task, found.head, card)
    whole = cleaned(task, prepared.everything())
    told = card | refit_facts(card, prepared, whole, found.head)
    if isinstance(found.body, CountingModel):
        return Bundle(prepared.codecs, recount(found.body, whole, place.progress), task, None, told)
    if isinstance(found.body, ArrayLearner):
        counted = reread(found.body, task, whole, place.progress)
        return Bundle(prepared.codecs, counted, task, found.head, told)
    twin = Twin(found.body, task, found.facts, start)
    body, head = retrain(twin, whole, place.progress, place.run, place.resume)
    if head is not None and found.head is not None:
        head = head.calibrated_as(found.head)
    return Bundle(prepared.codecs, body, task, head, told)


def ask(model: str, task: str | None, options: Mapping[str, Any]) -> Task:
    """The task a family is to be trained for; mistakes are told before long work."""
    kind = family(model)
    if kind.learner is None:
        raise ConfigError(
            f"The family {model!r} is not trained: it is made of trained models, with `chainrule mix A B -o C`, "
            "which takes --neural-cache and --dynamic."
        )
    able = kind.tasks if issubclass(kind, CountingReader) else (kind.task,)
    if (kind.learner == "count" or issubclass(kind, CountingReader)) and task not in (None, *able):
        made = "made by counting, for" if kind.learner == "count" else "for"
        raise ConfigError(
            f"A {model} is {made} {' and '.join(map(repr, able))}, not for {task!r}. "
            "Choose another with --model: chainrule models lists them."
        )
    wanted = task_named(task or kind.task)
    if issubclass(kind.Config, SourceConfig) and not wanted.source:
        raise ConfigError(
            f"A {model} writes from a source: it is for {kind.task!r}, not for {task!r}. Name --source and "
            "--target, or another --model."
        )
    if wanted.predicts and not issubclass(kind, LanguageModel):
        raise ConfigError(
            f"A {model} predicts no symbols, as the task {wanted.name!r} wants: it is for {kind.task!r}."
        )
    for name in ("extend_vocab", "unfreeze", "merge", "transfer", *TUNING):
        if options.get(name) and not (name == "transfer" and options.get("vectors")):
            raise ConfigError(f"{flag(name)} is for fine-tuning a trained model: add --from MODEL.")
    configs: list[type[Config]] = [ReadConfig, *settings_of(model, task).values()]
    for config in configs:
        config.from_values(share(options, config))
    found = wanted.from_values(share(options, wanted))
    if isinstance(found, SequenceTask):
        found.check_family(kind)
    return found


def renamed(options: Mapping[str, Any], configs: Iterable[type[Config]]) -> dict[str, Any]:
    """Options with settings of other tools under the names they have here."""
    all_configs: list[type[Config]] = [ReadConfig, *(codec_named(name).Config for name in codecs()), *configs]
    known = {one.name for config in all_configs for one in visible(config)}
    names = {name: name if name in known else our_name(name, known) or name for name in options}
    for theirs, ours in names.items():
        if theirs != ours:
            warnings.warn(f"{theirs} is called {ours} here.", stacklevel=4)
    return {names[name]: value for name, value in options.items()}


def learn(
    model: str,
    task: Task,
    prepared: Prepared,
    options: Mapping[str, Any],
    run: str | Path | None = None,
    resume: bool = False,
    progress: Progress = shown,
    timing: Timing | None = None,
    start: Start | None = None,
) -> Outcome:
    """A model of a family from prepared data; `options` of reading and of codecs are not looked at.

    One that learns by gradient may begin with the weights of a `start`, whose settings it then has.
    """
    kind: Any = family(model)
    settings = kind.Config.from_values(share(options, kind.Config))
    told = _told(settings, task, prepared.codecs)
    place = Place(run, resume, progress, timing or Timing())
    if issubclass(kind, CountingReader) and kind.learner == "gradient":
        from chainrule.train.by_class import learn_by_class

        return learn_by_class(kind, task, prepared, options, place)
    if kind.learner == "gradient":
        known = start.model if start else None
        return _train(kind, known or told, task, prepared, options, place, start)
    if issubclass(kind, ArrayLearner):
        return _read(kind, told, task, prepared, progress)
    valid = prepared.valid[TEXT].ids if prepared.valid else None
    learnt = kind.learn(told, prepared.train[TEXT].ids, progress, valid)
    return Outcome(learnt, None, learnt.notes, {})


def _read(kind: Any, told: Any, task: Task, prepared: Prepared, progress: Progress) -> Outcome:
    """A reader made by counting, and its head."""
    assert isinstance(task, Teaching)
    valid = task.examples(prepared.valid, prepared.codecs) if prepared.valid else None
    body = kind.learn(told, task.examples(prepared.train, prepared.codecs), progress, valid)
    return Outcome(body, task.head(body, prepared.codecs, 0), body.notes, {})


def _told(settings: Any, task: Task, codecs: Mapping[str, Codec]) -> Any:
    """The settings of a model with what it must know of the vocabularies."""
    known = task.sizes(codecs)
    check_sources(settings, known)
    sizes = {name: size for name, size in known.items() if hasattr(settings, name)}
    if hasattr(settings, "softmax"):
        sizes["softmax"] = task.predicts is not None
    return replace(settings, suppressed=codecs[task.body_role(codecs)].suppressed, **sizes)


def check_sources(settings: ModelConfig, sizes: Mapping[str, Any]) -> None:
    """Refuse sources of several kinds where one of symbols is read."""
    if "source_kinds" in sizes and not isinstance(settings, AnySourceConfig):
        told = " and ".join(sizes["source_kinds"])
        raise ConfigError(
            f"This model reads one source of symbols, and there are {told}: take --model transformer."
        )


def settings_of(model: str, task: str | None = None) -> dict[str, type[Config]]:
    """What a user may set: of the model, and of the task and the training if it learns by gradient."""
    kind = family(model)
    if kind.learner != "gradient":
        reads = {"task": task_named(task or kind.task)} if issubclass(kind, ArrayLearner) else {}
        return {"model": kind.Config} | reads | ({"fitting": FitConfig} if kind.learner else {})
    asked = task_named(task or kind.task)
    return {"model": kind.Config, "task": asked, "training": TrainConfig, "fitting": FitConfig}


def _train(
    kind: Any,
    settings: Any,
    task: Task,
    prepared: Prepared,
    options: Mapping[str, Any],
    place: Place,
    start: Start | None,
) -> Outcome:
    from chainrule.train.gradient import Run, learn

    config = TrainConfig.from_values(share(options, TrainConfig))
    folder = None if place.run is None else Path(place.run)
    held = {one.name for one in visible(kind.Config)} if start and start.model else set[str]()
    asked = Run(
        kind, settings, task, config, options.keys() | held, folder, place.resume, place.timing, start
    )
    found = learn(asked, prepared, place.progress)
    return Outcome(found.body, found.head, found.notes, found.facts)
