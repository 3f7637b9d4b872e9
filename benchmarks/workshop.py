"""Examples of everything the program reads: data, settings, models of every family, runs, folders of other programs."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from random import Random
from typing import Any

import shim
from formats import FORMATS, FRAMES, TABLE, WAYS, plain

import chainrule as cr
from chainrule.cli import main
from chainrule.config import visible
from chainrule.data.roles import Role
from chainrule.interop.word2vec import FORMATS as VECTORS
from chainrule.models.base import FrameConfig, SourceConfig
from chainrule.models.registry import FAMILIES, families, family
from chainrule.tasks.base import task, tasks
from chainrule.tasks.supervised import Supervised
from chainrule.train.mix import mix
from chainrule.use.predict import Prediction
from chainrule.views.kinds import kinds

CELLS = {
    "labels": "label",
    "values": "value",
    "label-sets": "sets",
    "tags": "tags",
}  # the column, by the codec
SMALL = {
    "layers": 1,
    "width": 8,
    "embedding": 8,
    "heads": 2,
    "context": 32,
    "filters": 4,
    "order": 3,
    "dim": 8,
}
FIT = {"tokens": 400, "width": 8}
FRAMED: dict[str, dict[str, Any]] = {  # families that read frames
    "gru": FIT,
    "cnn": {"tokens": 400, "filters": 4},
    "bert": {**FIT, "layers": 1, "heads": 2, "context": 16},
}
PROBE = "she was late"
LOOKS: dict[str, tuple[str, str, dict[str, Any]]] = {  # by view a model, a text, and settings
    "attention": ("gpt", PROBE, {}),
    "beam": ("gpt", PROBE, {}),
    "cells": ("lstm", PROBE, {}),
    "filters": ("cnn", PROBE, {"corpus": "text.txt"}),
    "gradient": ("rnn", PROBE, {}),
    "layers": ("gpt", PROBE, {}),
    "masked": ("bert", PROBE, {}),
    "mixing": ("classify-elmo", PROBE, {}),
    "next": ("ngram", PROBE, {}),
    "recall": ("ngram", PROBE, {"corpus": "recall.txt"}),
    "saliency": ("classify-gru", PROBE, {}),
    "surprise": ("ngram", PROBE, {}),
    "training": ("gru", "", {}),
    "vectors": ("vectors", "she was he", {}),
}
FORECASTS = ("next-frame",)  # tasks of which frames are what is answered, too
COMPOSED = ("lstm", "gpt")  # of which families like class-… are composed; the others take the same way


def some_model(random: Random, examples: Path) -> Path:
    """One of the saved models there are."""
    return random.choice(sorted((examples / "models").iterdir()))


def make(folder: Path, few: bool = False) -> None:
    """All examples, in folders by kind; a few of them take a second or two."""
    for name in ("data", "models", "runs", "foreign"):
        (folder / name).mkdir(parents=True)
    _data(folder / "data")
    _wordnet(folder / "wordnet")
    if few:
        _small(folder)
        return
    _models(folder / "models")
    _formats(folder / "formats")
    _foreign(folder)
    _run(folder)
    _views(folder)
    words = ("--budget", "30s", "--models", "unigram,3-gram", "-o", folder / "comparison")
    _command("compare", folder / "data" / "text.txt", *words)


def _data(folder: Path) -> None:
    for name, content in plain():
        (folder / name).write_bytes(content)


def _formats(folder: Path) -> None:
    """A model of the files of every format."""
    for name, one in FORMATS.items():
        given = one.given([str(path) for path in one.write(folder / "data" / name)])
        cr.fit(given, task=one.task, model=one.model, **one.options, **one.settings).save(folder / name)


def with_heads() -> list[str]:
    """The tasks in which a head answers."""
    return [name for name in tasks() if issubclass(task(name), Supervised)]


def wanted() -> Iterator[tuple[str, str, str]]:
    """A name, a family and a task: every family with every task it is for, so that what is registered is among them."""
    for name in [*families(), *(f"{begin}{one}" for begin in FAMILIES.composed for one in COMPOSED)]:
        kind = family(name)
        if kind.learner is not None:
            yield name, name, kind.task
        yield from ((f"{other}-{name}", name, other) for other in _others(kind) if other != kind.task)


def _others(kind: Any) -> list[str]:
    """The tasks a family is for beside its own."""
    if kind.learner != "gradient" or hasattr(kind, "tasks"):
        return list(getattr(kind, "tasks", ()))
    if issubclass(kind.Config, SourceConfig):
        return [name for name in tasks() if task(name).source]
    predicting = "next", "masked", "both-ways"
    heads = [name for name in with_heads() if name not in FORECASTS or _forecasts_frames(kind)]
    return [name for name in tasks() if name in heads or (name in predicting and name == kind.task)]


def _forecasts_frames(kind: Any) -> bool:
    """Whether it reads frames, and sees nothing of what follows."""
    return issubclass(kind.Config, FrameConfig) and kind.tiny().reads == "left"


def example_data(about: Any) -> Any:
    """What a task reads, or a model: lines, or a column for every role."""
    one = task(about)() if isinstance(about, str) else about.task
    if one.name in FORECASTS:
        return {"text": FRAMES}
    if not isinstance(one, Supervised) and not one.source:
        return TABLE["text"]
    if not isinstance(about, str) and about.codec.features:
        return {"text": FRAMES, one.answers_role: WAYS}
    return {
        role.name: TABLE[_column(role)] for role in one.roles() if role.name not in getattr(one, "made", ())
    }


def _column(role: Role) -> str:
    return (
        role.name if role.name in TABLE and role.codec not in CELLS else CELLS.get(role.codec or "", "text")
    )


def answers(bundle: cr.Bundle, text: str) -> list[Prediction]:
    """What a model with a head says of a text and of examples it was made of."""
    assert isinstance(bundle.task, Supervised)
    given = {
        role: column[:2] for role, column in example_data(bundle).items() if role != bundle.task.answers_role
    }
    if not bundle.codec.features:
        given = {role: [text, *column] for role, column in given.items()}
    return list(bundle.predict_each(given))


def said(folder: Path) -> list[float]:
    """What a saved model says: the score of a text, words that are alike, translations, or predictions and figures."""
    bundle = cr.load(folder)
    if bundle.task.source:
        return list(_numbers([one.to_dict() for one in bundle.translate([PROBE], beam=2)]))
    if bundle.task.predicts is not None:
        return [float(bundle.score("1 2 3" if bundle.codec.name == "numbers" else PROBE).log2prob)]
    if not isinstance(bundle.task, Supervised):
        return [*_numbers(bundle.similar("she", 3).to_dict()), *map(float, bundle.embed(PROBE)[0])]
    told = [one.to_dict() for one in answers(bundle, PROBE)]
    return list(_numbers([told, dict(bundle.evaluate(example_data(bundle)).figures)]))


def _numbers(value: Any) -> Iterator[float]:
    if isinstance(value, Mapping | list | tuple):
        for one in value.values() if isinstance(value, Mapping) else value:
            yield from _numbers(one)
    elif isinstance(value, int | float):
        yield float(value)


def example_model(name: str, about: str) -> cr.Bundle:
    """A tiny model of a family for a task."""
    kind = family(name)
    options = {one.name: SMALL[one.name] for one in visible(kind.Config) if one.name in SMALL}
    options |= {"tokens": 400} if kind.learner == "gradient" else {}
    return cr.fit(example_data(about), model=name, task=about, **options)


def _paired(join: str) -> cr.Bundle:
    pairs = {role: TABLE[role] for role in ("text", "pair", "label")}
    return cr.fit(pairs, model="gru", task="classify", pair="pair", join=join, **FIT)


def _framed(name: str) -> cr.Bundle:
    return cr.fit({"text": FRAMES, "label": WAYS}, model=name, task="classify", **FRAMED[name])


def _averaged(models: Path, about: str, parts: Sequence[str]) -> cr.Bundle:
    return mix([cr.load(models / one) for one in parts], example_data(about), names=list(parts))


AVERAGED = {  # tasks whose answers can be averaged, and models whose answers are
    "classify": ("bag", "classify-gru"),
    "regress": ("regress-bag", "regress-gru"),
    "tag": ("most-frequent-tag", "tag-gru"),
}
LINES = TABLE["text"]
OTHERS: dict[
    str, Callable[[Path], cr.Bundle]
] = {  # models that differ in something else than family and task
    "subwords": lambda _: cr.fit(LINES, model="ngram", order=2, codec="subwords", vocab=300),
    "numbers": lambda _: cr.fit(
        [[n % 12 + n // 9 for n in range(200)]], model="ngram", order=2, codec="numbers"
    ),
    "deep": lambda _: cr.fit(LINES, model="lstm", **FIT, layers=2),
    "adapted": lambda models: cr.load(models / "lstm").adapted(dynamic=True, neural_cache=True),
    "crf": lambda _: cr.fit(example_data("tag"), model="gru", task="tag", crf=True, **FIT),
    "spelt": lambda _: cr.fit(LINES, model="vectors", subwords=True, min_count=1, width=8, buckets=99),
    **{
        f"ensemble-{about}": lambda models, a=about, b=both: _averaged(models, a, b)
        for about, both in AVERAGED.items()
    },  # type: ignore[misc]
    **{f"pair-{one}": lambda _, one=one: _paired(one) for one in ("features", "attention", "sequence")},  # type: ignore[misc]
    **{f"frames-{one}": lambda _, one=one: _framed(one) for one in FRAMED},  # type: ignore[misc]
}


def example_names() -> list[str]:
    """Of all models that are made, without making them."""
    return [*(name for name, _, _ in wanted()), *OTHERS, "mix"]


def _models(folder: Path) -> None:
    for name, kind, about in wanted():
        example_model(kind, about).save(folder / name)
    for name, made in OTHERS.items():
        made(folder).save(folder / name)
    valid = folder.parent / "data" / "text.txt"
    _command("mix", folder / "ngram", folder / "gru", "--valid", valid, "-o", folder / "mix")
    check_complete(folder)


def check_complete(folder: Path) -> None:
    """Refuse to begin where a registered family or task is not among the models."""
    found = [path.read_text() for path in folder.rglob("config.json")]
    missing = [
        name
        for name in [*families(), *FAMILIES.composed, *tasks()]
        if not any(f'"{name}"' in text or (name.endswith("-") and f'"{name}' in text) for text in found)
    ]
    if missing:
        raise RuntimeError(f"no example of {', '.join(missing)}")


def _small(folder: Path) -> None:
    """Models that are made by counting, and one that is not."""
    lines = TABLE["text"]
    cr.fit(lines, model="ngram", order=3).save(folder / "models" / "ngram")
    cr.fit(lines, model="ngram", order=2, codec="subwords", vocab=300).save(folder / "models" / "subwords")
    cr.fit(lines, model="gru", **FIT).save(folder / "models" / "gru")
    for name in ("majority", "class-ngram", "vectors"):
        example_model(name, family(name).task).save(folder / "models" / name)
    _exported(folder)


def _exported(folder: Path) -> None:
    """What other programs read: an ARPA file, and vectors in every format."""
    models, foreign = folder / "models", folder / "foreign"
    _command("export", "arpa", models / "ngram", foreign / "small.arpa")
    for format in VECTORS:
        _command("export", "vectors", models / "vectors", foreign / f"vectors.{format}", "--format", format)


def _foreign(folder: Path) -> None:
    models, foreign = folder / "models", folder / "foreign"
    _exported(folder)
    for name, (kind, more) in FOREIGN.items():
        small = {"codec": "subwords", "vocab": 270, "layers": 1, "heads": 2, "context": 32}
        data = example_data(family(kind).task)
        cr.fit(data, model=kind, **FIT, **small, **more).save(foreign / f"own-{name}")
        _command("export", "hf", foreign / f"own-{name}", foreign / name)
        _command("import", "hf", foreign / name, "-o", models / f"hf-{name}")


FOREIGN: dict[str, tuple[str, dict[str, Any]]] = {  # folders of Hugging Face: a family, and its settings
    "gpt": ("gpt", {"positions": "learned"}),
    "bert": ("bert", {}),
    "marian": ("transformer", {"positions": "sinusoidal", "norm": "post"}),
    "pegasus": ("transformer", {"positions": "sinusoidal", "norm": "pre"}),
}


def _views(folder: Path) -> None:
    """A view of every kind."""
    (folder / "views").mkdir()
    for kind in kinds():
        name, text, settings = LOOKS[kind]
        bundle, given = cr.load(folder / "models" / name), dict(settings)
        given |= {"corpus": str(folder / "data" / given["corpus"])} if given else {}
        cr.look(bundle, text, view=kind, **given).save(folder / "views" / f"{kind}.json")


def _wordnet(folder: Path) -> None:
    """Words of the texts that share a synset, by the format of Princeton's database."""
    folder.mkdir()
    (folder / "index.noun").write_text(
        f"  1 a licence\n{'she n 2 1 @ 2 1 00000100 00000200'}\nhe n 1 0 1 0 00000100\n"
    )
    (folder / "index.verb").write_text("was v 1 1 @ 1 1 00000300\nbe v 1 0 1 0 00000300\n")
    (folder / "verb.exc").write_text("were be\n")


RUN = ("--model", "gru", "--width", "8", "--tokens", "3k", "--checkpoint-every", "0.001s", "--codec", "words")


def _run(folder: Path) -> None:
    """A training that was killed while it wrote a checkpoint, and what it would have become."""
    data, runs = folder / "data" / "text.txt", folder / "runs"
    _command("fit", data, "-o", runs / "whole", *RUN)
    child = os.fork()
    if not child:
        points = shim.install("kill", -1)
        replace = os.replace

        def replaced(one: Any, other: Any, **more: Any) -> None:
            replace(one, other, **more)
            if str(other).endswith("checkpoint.safetensors") and points.count > 60:
                os._exit(1)

        os.replace = replaced
        _command("fit", data, "-o", runs / "lm", *RUN)
        os._exit(0)
    os.waitpid(child, 0)
    if not (runs / "lm.run" / "checkpoint.safetensors").exists():
        raise RuntimeError("the run was not stopped")


def _command(*words: object) -> None:
    if main([*map(str, words), "-q"]):
        raise RuntimeError(f"{' '.join(map(str, words))} failed")
