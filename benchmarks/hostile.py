"""Hostile input, in the process itself: every reader and loader gets examples with something changed in them."""

from __future__ import annotations

import math
import shutil
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
from faults import Section, Wrong
from formats import FORMATS, Format
from mutations import changed, mutated
from workshop import FOREIGN, answers, example_data, some_model

import chainrule as cr
from chainrule.config import amount, read_toml
from chainrule.data.where import Condition
from chainrule.interop.arpa import import_arpa
from chainrule.interop.huggingface import import_hf
from chainrule.interop.word2vec import FORMATS as VECTORS
from chainrule.interop.word2vec import import_vectors
from chainrule.store import manifest, tensors
from chainrule.tasks.base import task
from chainrule.tasks.supervised import Supervised
from chainrule.train import checkpoint
from chainrule.train.config import TrainConfig
from chainrule.train.schedule import duration
from chainrule.use.evaluate_texts import evaluate_texts, evaluate_translations
from chainrule.use.map_vectors import map_vectors
from chainrule.use.translate import Translator, translate_each


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


def files_of_tasks(examples: Path, place: Path, random: Random) -> None:
    """Files of every format with something changed: checked, learnt from, evaluated on, answered."""
    name = random.choice(sorted(FORMATS))
    one = FORMATS[name]
    paths = one.write(place / "data")
    for path in random.sample(paths, random.randint(1, min(3, len(paths)))):
        changed(random, path)
    given, doing = one.given([str(path) for path in paths]), random.randrange(4)
    if doing == 0:
        cr.check(given, roles=task(one.task)().roles(), **_reading(one))
    elif doing == 1:
        cr.fit(given, task=one.task, model=one.model, **one.options, **one.settings)
    else:
        _read(cr.load(examples / "formats" / name), one, given, doing == 2)


def _reading(one: Format) -> dict[str, Any]:
    """What of its options is for `check`."""
    return {name: value for name, value in one.options.items() if name not in ("separator", "pair")}


def _read(bundle: cr.Bundle, one: Format, given: Any, judged: bool) -> None:
    options = {
        name: value for name, value in one.options.items() if name in ("format", "column", "group", "sort")
    }
    if bundle.task.source:
        if judged:
            _counted(evaluate_translations(bundle, given, beam=1).figures)
        else:
            source = given["source"] if isinstance(given, dict) else given
            list(translate_each(Translator.of(bundle, {"beam": 1}), source))
    elif judged:
        _counted(bundle.evaluate(given, one.options.get("label"), **options).figures)
    else:
        for found in bundle.predict_each(given, **options):
            _probable(bundle, found)


def texts_and_lists(examples: Path, place: Path, random: Random) -> None:
    """What is no training data: hypotheses and references, dictionaries, lists of candidates, histories."""
    data, models, doing = examples / "data", examples / "models", random.randrange(5)
    name = ("text.txt", "words.tsv", "nbest.tsv", "numbers.csv", "numbers.csv")[doing]
    path = place / name
    path.write_bytes(mutated(random, (data / name).read_bytes()))
    if doing == 0:
        both = [path, data / name]
        random.shuffle(both)
        _counted(evaluate_texts(*both).figures)
    elif doing == 1:
        _mapped(models / "vectors", path)
    elif doing == 2:
        cr.load(models / "ngram").rank_file(path, group="id", column="text", weight=("acoustic=0.1",))
    elif doing == 3:
        found = cr.load(models / "numbers").forecast(path, steps=2, paths=9, seed=random.randrange(9))
        _finite([step.median for one in found for step in one.steps])
    else:
        _finite([one.bits for one in cr.load(models / "numbers").anomalies(path).in_order])


def _mapped(model: Path, dictionary: Path) -> None:
    bundle = cr.load(model)
    pairs = [tuple(line.split("\t")) for line in dictionary.read_text("utf-8", "replace").splitlines()]
    found = map_vectors(bundle, bundle, [(one[0], one[-1]) for one in pairs if one])
    if not np.isfinite(found.bundle.embed("she")).all():
        raise Wrong("vectors that are no numbers")


def _finite(values: Iterable[Any]) -> None:
    if any(isinstance(value, float) and math.isnan(value) for value in values):
        raise Wrong("it is no number")


def vector_files(examples: Path, place: Path, random: Random) -> None:
    """Word vectors of other programs, in every format."""
    source = random.choice(sorted((examples / "foreign").glob("vectors.*")))
    path = place / source.name
    path.write_bytes(mutated(random, source.read_bytes()))
    _use(import_vectors(path, random.choice([None, None, *VECTORS])), random)


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
    folder = shutil.copytree(examples / "foreign" / random.choice(sorted(FOREIGN)), place / "hf")
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
            _probable(bundle, one)
        _counted(bundle.evaluate(example_data(bundle)).figures)
    elif bundle.task.source:
        _translated(bundle, text, random)
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


def _translated(bundle: cr.Bundle, text: str, random: Random) -> None:
    """A model that writes from a source: log-probabilities of what it writes."""
    found = bundle.translate(["she was late", text], beam=random.randint(1, 3))
    if any(not one.log2prob <= 1e-3 for row in found for one in row.choices if one.log2prob is not None):
        raise Wrong(f"{found}")


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


def _probable(bundle: cr.Bundle, one: Any) -> None:
    """Probabilities are probabilities, where a task gives some; of labels that exclude each other, they sum to one."""
    chances, exclusive = list(one.probabilities.values()), bundle.task.name != "multi-label"
    chances += [one.probability] * (not chances and one.probability == one.probability)
    if not all(0 <= chance <= 1 for chance in chances):
        raise Wrong(f"{chances[:9]}")
    if exclusive and one.probabilities and not math.isclose(sum(chances), 1, rel_tol=1e-3):
        raise Wrong(f"{chances[:9]}, of all {sum(chances)}")


SECTIONS = [
    Section("data files", 5000, 1.5, data_files),
    Section("files of tasks", 5000, 3.0, files_of_tasks),
    Section("texts and lists", 2000, 0.7, texts_and_lists),
    Section("vector files", 4000, 0.3, vector_files),
    Section("settings files", 3000, 0.3, settings_files),
    Section("ARPA files", 4000, 0.7, arpa_files),
    Section("tensor files", 3000, 0.3, tensor_files),
    Section("checkpoints", 3000, 0.3, checkpoints),
    Section("Hugging Face folders", 3000, 1.0, foreign_folders),
    Section("models signed again", 6000, 3.0, signed_models),
]
