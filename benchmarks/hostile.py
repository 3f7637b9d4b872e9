"""Hostile input, in the process itself: every reader and loader gets examples with something changed in them."""

from __future__ import annotations

import io
import math
import shutil
from collections.abc import Callable, Mapping
from contextlib import redirect_stderr, redirect_stdout, suppress
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
from faults import Section, Wrong
from mutations import changed, mutated
from workshop import answers, example_data, some_model, with_heads

import chainrule as cr
from chainrule.cli import main
from chainrule.cli.app import app
from chainrule.config import amount, read_toml
from chainrule.data.where import Condition
from chainrule.interop.arpa import import_arpa
from chainrule.interop.huggingface import import_hf
from chainrule.interop.word2vec import FORMATS, import_vectors
from chainrule.store import manifest, tensors
from chainrule.tasks.base import task
from chainrule.tasks.supervised import Supervised
from chainrule.train import checkpoint
from chainrule.train.config import TrainConfig
from chainrule.train.schedule import duration


def data_files(examples: Path, place: Path, random: Random) -> None:
    """Data of every format."""
    source = random.choice(
        sorted(one for one in (examples / "data").iterdir() if one.is_file() and one.name != "settings.toml")
    )
    path = place / source.name
    path.write_bytes(mutated(random, source.read_bytes()))
    options: dict[str, Any] = {}
    if path.suffix in (".csv", ".tsv", ".jsonl", ".parquet") and "numbers" not in path.name:
        options = random.choice([{}, {"column": "text"}, {"column": "label", "group": "n", "sort": "n"}])
    if random.random() < 0.1:
        options |= {"codec": random.choice(["bytes", "characters", "words", "subwords"])}
    cr.check(path, **options)


LABELLED = (
    *("table.csv", "table.tsv", "rows.jsonl", "rows.parquet", "measured.csv"),  # tables
    *("marked.txt", "first.txt", "trees.conllu"),
)


def labelled_files(examples: Path, place: Path, random: Random) -> None:
    """Data with labels, for every task in which a head answers: checked, learnt from, evaluated on, predicted."""
    data, name = examples / "data", random.choice([*LABELLED, "by-name", "folders"])
    some = "folders/*/*" if name == "folders" else "by-name.*" if name == "by-name" else name
    paths, few = sorted(data.glob(some)), random.randrange(2)
    given = [place / path.relative_to(data) for path in paths]
    for path, source in zip(given, paths, strict=True):
        path.parent.mkdir(parents=True, exist_ok=True)
        content = source.read_bytes()
        path.write_bytes(
            mutated(random, content) if len(paths) == 1 or random.randrange(2) == few else content
        )
    about = random.choice([one for one in with_heads() if one != "span"])
    options: dict[str, Any] = {"column": "text", "label": "label"} if name in LABELLED[:5] else {}
    if name == "trees.conllu":
        options = random.choice([{}, {"column": "form"}, {"column": "form", "label": "upos"}])
    doing = random.randrange(4)
    if doing == 0:
        cr.check([str(path) for path in given], roles=task(about)().roles(), **options)
    elif doing == 1:
        kind = random.choice(["classify", "regress"])
        cr.fit([str(path) for path in given], model="majority", task=kind, **options)
    else:
        _read(
            cr.load(examples / "models" / "class-ngram"), [str(path) for path in given], options, doing == 2
        )


def _read(bundle: cr.Bundle, given: list[str], options: dict[str, Any], judged: bool) -> None:
    if judged:
        _counted(bundle.evaluate(given, **options).figures)
        return
    for one in bundle.predict_each(given, **{key: value for key, value in options.items() if key != "label"}):
        _probable(one)


def question_files(examples: Path, place: Path, random: Random) -> None:
    """Questions about passages, in the format of SQuAD: checked, learnt from, evaluated on, answered."""
    path = place / "squad.json"
    shutil.copy(examples / "data" / path.name, path)
    changed(random, path)
    doing = random.randrange(4)
    if doing == 0:
        cr.check(path, roles=task("span")().roles())
    elif doing == 1:
        cr.fit(path, model="window", task="span", width=8, embedding=8, head_units=8, tokens=400)
    elif doing == 2:
        _counted(cr.load(examples / "models" / "span-window").evaluate(path).figures)
    else:
        for one in cr.load(examples / "models" / "span-window").predict_each(path):
            _probable(one)


def vector_files(examples: Path, place: Path, random: Random) -> None:
    """Word vectors of other programs, in every format."""
    source = random.choice(sorted((examples / "foreign").glob("vectors.*")))
    path = place / source.name
    path.write_bytes(mutated(random, source.read_bytes()))
    _use(import_vectors(path, random.choice([None, None, *FORMATS])), random)


def settings_files(examples: Path, place: Path, random: Random) -> None:
    """TOML, and values as they are typed."""
    path = place / "settings.toml"
    path.write_bytes(mutated(random, (examples / "data" / "settings.toml").read_bytes()))
    typed = mutated(random, random.choice([b"10k", b"1.5M", b"2h", b"90s", b"stars >= 4", b"a == 'b'"]))
    text = typed.decode("utf-8", "surrogateescape")
    for read in (duration, Condition.parsed, _amount):
        try:
            read(text)
        except cr.ChainruleError:
            continue
    TrainConfig.from_values(
        {name: one for name, one in read_toml(path).items() if name in ("seed", "lr", "epochs")}
    )
    read_toml(path)


def _amount(text: str) -> None:
    with suppress(ValueError):  # what those who call it expect
        amount(text)


def arpa_files(examples: Path, place: Path, random: Random) -> None:
    """Models in ARPA format."""
    path = place / "some.arpa"
    path.write_bytes(mutated(random, (examples / "foreign" / "small.arpa").read_bytes()))
    model, codec = import_arpa(path, random.choice(["words", "words", "events"]))
    _use(cr.Bundle.of(codec, model), random)


def tensor_files(examples: Path, place: Path, random: Random) -> None:
    """Files of arrays."""
    path = place / "some.safetensors"
    shutil.copy(some_model(random, examples) / "model.safetensors", path)
    path.write_bytes(mutated(random, path.read_bytes()))
    for array in tensors.read(path).values():
        array.sum()


def checkpoints(examples: Path, place: Path, random: Random) -> None:
    """What a training is resumed from."""
    shutil.copy(examples / "runs" / "lm.run" / checkpoint.FILE, place / checkpoint.FILE)
    changed(random, place / checkpoint.FILE)
    checkpoint.load(place)


def foreign_folders(examples: Path, place: Path, random: Random) -> None:
    """Folders of Hugging Face."""
    folder = shutil.copytree(examples / "foreign" / random.choice(["gpt", "bert"]), place / "hf")
    changed(random, random.choice(sorted(folder.iterdir())))
    _use(import_hf(folder), random)


def signed_models(examples: Path, place: Path, random: Random) -> None:
    """Saved models that somebody has changed and signed again."""
    folder = shutil.copytree(some_model(random, examples), place / "lm")
    files = sorted(one for one in folder.rglob("*") if one.is_file() and one.name != manifest.MARK)
    changed(random, random.choice(files))
    manifest.write(folder)
    _use(cr.load(folder), random)


def _use(bundle: cr.Bundle, random: Random) -> None:
    """Score, generate, predict and evaluate; what is no probability is an answer that is wrong."""
    text = random.choice(["she was late", "", "he 3 zebra", "1 2 3"])
    if isinstance(bundle.task, Supervised):
        for one in answers(bundle, text):
            _probable(one)
        _counted(bundle.evaluate(example_data(bundle.task.name)).figures)
    elif bundle.task.predicts is None:
        _alike(bundle, text)
    else:
        _predicting(bundle, text, random)
    repr(bundle), bundle.parameters


def _counted(figures: Mapping[str, float]) -> None:
    """Figures are numbers, and shares are between 0 and 1."""
    shares = [figures[name] for name in ("accuracy", "exact_match", "f1") if name in figures]
    if any(math.isnan(value) for value in figures.values()) or any(not 0 <= one <= 1 for one in shares):
        raise Wrong(f"{figures}")


def _alike(bundle: cr.Bundle, text: str) -> None:
    """Word vectors: cosines are cosines."""
    found = [*bundle.similar("she", 3), *bundle.analogy("she", "was", "he", 3).answers]
    if any(not -1.001 <= one.similarity <= 1.001 for one in found):
        raise Wrong(f"{found}")
    if not np.isfinite(bundle.embed(text or "she")).all():
        raise Wrong("vectors that are no numbers")


def _predicting(bundle: cr.Bundle, text: str, random: Random) -> None:
    """A language model: probabilities of texts, and texts."""
    found = bundle.score(text)
    if math.isnan(found.log2prob) or any(
        math.isnan(one.log2prob) or one.log2prob > 1e-3 for one in found.tokens
    ):
        raise Wrong(f"{text!r} has {found.log2prob} bits")
    if bundle.model.reads == "left":
        bundle.generate("she", 4, seed=random.randrange(9))
        bundle.complete("she w", 2, 2)


def _probable(one: Any) -> None:
    """Probabilities are probabilities, where a task gives some."""
    chances = list(getattr(one, "probabilities", {}).values())
    if chances and not (
        all(0 <= chance <= 1 for chance in chances) and math.isclose(sum(chances), 1, rel_tol=1e-3)
    ):
        raise Wrong(f"{chances[:9]}")


WORDS = [
    "--json",
    "-q",
    "-k",
    "--length",
    "--seed",
    "--beam",
    "--top-p",
    "--temperature",
    "--count",
    "--int8",
    "--each",
]
WORDS += [
    "--id",
    "--column",
    "--where",
    "--verify",
    "--tokens",
    "--bits",
    "--help",
    "--unknown",
    "--stop",
    "-",
    "--",
]
TYPED = [
    "-1",
    "0",
    "1",
    "2",
    "1e999",
    "nan",
    "x",
    "",
    "she was",
    "\udcff",
    "a\x00b",
    "9" * 30,
    "n > 3",
    "--x",
    "é" * 300,
]
WRITING = ("fit", "compare", "mix", "example", "demo")  # and those that take long
VERBS = [one.name for one in app.registered_commands if one.name and one.name not in WRITING]


def commands(examples: Path, place: Path, random: Random) -> str | None:
    """Words nobody would type."""
    files = [str(one) for one in (examples / "data").iterdir()]
    models = [
        str(examples / "models" / name)
        for name in (
            *("ngram", "gru", "bert", "numbers", "class-ngram", "classify-gru"),
            *("elmo", "vectors", "span-window", "regress-bag", "cnn"),
        )
    ]
    words = [random.choice(VERBS), random.choice([*models, *models, *TYPED])]
    for _ in range(random.randint(0, 4)):
        words.append(random.choice([*WORDS, *TYPED, random.choice(files)]))
    out, err = io.TextIOWrapper(io.BytesIO(), "utf-8"), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        code = main(words)
    if code not in (0, 1, 2) or "chainrule: unexpected " in err.getvalue():
        raise RuntimeError(f"{words}: {code}: {err.getvalue().strip()[-200:]}")
    return "success" if code == 0 else "refused"


def _section(
    name: str, wanted: int, share: float, case: Callable[[Path, Path, Random], str | None]
) -> Section:
    return Section(name, wanted, share, case)


SECTIONS = [
    _section("data files", 5000, 2.0, data_files),
    _section("labelled files", 3000, 1.0, labelled_files),
    _section("question files", 2000, 1.0, question_files),
    _section("vector files", 2000, 0.5, vector_files),
    _section("settings files", 3000, 0.3, settings_files),
    _section("ARPA files", 3000, 0.7, arpa_files),
    _section("tensor files", 3000, 0.3, tensor_files),
    _section("checkpoints", 2000, 0.3, checkpoints),
    _section("Hugging Face folders", 3000, 1.0, foreign_folders),
    _section("models signed again", 6000, 2.0, signed_models),
    _section("command lines", 2000, 1.0, commands),
]
