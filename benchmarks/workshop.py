"""Examples of everything the program reads: data, settings, models of every family, runs, folders of other programs."""

from __future__ import annotations

import bz2
import gzip
import json
import lzma
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import shim
import zstandard

import chainrule as cr
from chainrule.cli import main
from chainrule.config import visible
from chainrule.data.roles import Role
from chainrule.interop.word2vec import FORMATS
from chainrule.models.registry import families, family
from chainrule.tasks.base import task, tasks
from chainrule.tasks.supervised import Supervised
from chainrule.use.predict import Prediction

TEXT = "".join(f"she was {'late' if n % 3 else 'not late'} and he was {n % 7} there\n" for n in range(60))
ROWS = [{"text": line, "n": n, "label": "ab"[n % 2]} for n, line in enumerate(TEXT.splitlines())]
PASSAGES = [f"{name} lives in Rome. Bob has {n} cats." for n, name in enumerate(["Anna", "Ève", "Zoë"] * 20)]
TABLE: dict[str, list[Any]] = {
    "text": [row["text"] for row in ROWS],
    "label": ["yes" if n % 3 else "no" for n in range(len(ROWS))],
    "value": [n % 7 + n / 8 for n in range(len(ROWS))],
    "question": ["Where does she live?" if n % 4 else "Who has dogs?" for n in range(len(ROWS))],
    "passage": PASSAGES,
    "answer": ["Rome" if n % 4 else "" for n in range(len(ROWS))],
}
CELLS = {"labels": "label", "values": "value"}  # the column for a role, by its codec
PAIRS = list(zip(TABLE["text"], TABLE["label"], strict=True))
MEASURED = list(zip(TABLE["text"], TABLE["value"], strict=True))
SMALL = {"layers": 1, "width": 8, "embedding": 8, "heads": 2, "context": 32, "filters": 4, "order": 3}
FIT = {"tokens": 400, "width": 8}


def some_model(random: Random, examples: Path) -> Path:
    """One of the saved models there are."""
    return random.choice(sorted((examples / "models").iterdir()))


def make(folder: Path, few: bool = False) -> None:
    """All examples, in folders by kind; a few of them take a second or two."""
    for name in ("data", "models", "runs", "foreign"):
        (folder / name).mkdir(parents=True)
    _data(folder / "data")
    if few:
        _small(folder)
        return
    _models(folder / "models")
    _foreign(folder)
    _run(folder)
    words = ("--budget", "10s", "--models", "unigram,3-gram", "-o", folder / "comparison")
    _command("compare", folder / "data" / "text.txt", *words)


def _data(folder: Path) -> None:
    text = TEXT.encode()
    table = "".join(f"{row['text']},{row['n']},{row['label']}\n" for row in ROWS)
    tokens = [
        f"{place}\t{word}\t{word}\tX\t_\t_\t0\troot\t_\t_\n"
        for place, word in enumerate(TEXT.split()[:12], 1)
    ]
    files: dict[str, bytes] = {
        "text.txt": text,
        "table.csv": b"text,n,label\n" + table.encode(),
        "table.tsv": b"text\tn\tlabel\n" + table.replace(",", "\t").encode(),
        "rows.jsonl": "".join(json.dumps(row) + "\n" for row in ROWS).encode(),
        "trees.conllu": ("".join(tokens) + "\n").encode() * 8,
        "text.txt.gz": gzip.compress(text, mtime=0),
        "text.txt.xz": lzma.compress(text),
        "text.txt.bz2": bz2.compress(text),
        "text.txt.zst": zstandard.ZstdCompressor().compress(text),
        "marked.txt": "".join(f"__label__{label} {text}\n" for text, label in PAIRS).encode(),
        "first.txt": "".join(f"{label}\t{text}\n" for text, label in PAIRS).encode(),
        "wide.txt": TEXT.encode("utf-16"),
        "squad.json": _squad(),
        "measured.csv": "".join(f"{one},{n}\n" for one, n in [("text", "label"), *MEASURED]).encode(),
        "numbers.csv": b"value\n" + b"".join(b"%d\n" % (n % 12 + n // 9) for n in range(200)),
        "settings.toml": b"model = 'gru'\nwidth = 8\ndropout = 0.1\nseq-len = 16\nseed = 3\nbf16 = false\n",
        "nbest.tsv": b"id\ttext\tacoustic\n"
        + b"".join(b"%d\tshe was late\t-%d.5\n" % (n // 3, n) for n in range(30)),
    }
    for name, content in files.items():
        (folder / name).write_bytes(content)
    _parquet(folder / "rows.parquet")
    for label in ("yes", "no"):
        (folder / "folders" / label).mkdir(parents=True)
        texts = [text for text, one in PAIRS if one == label]
        (folder / f"by-name.{label}").write_text("\n".join(texts))
        for at, text in enumerate(texts[:6]):
            (folder / "folders" / label / f"{at}.txt").write_text(text)


def _squad() -> bytes:
    """Questions about passages, a few of them without an answer."""
    paragraphs = []
    for n, passage in enumerate(PASSAGES):
        right = [{"text": "Rome", "answer_start": passage.index("Rome")}] if n % 4 else []
        asked = {
            "id": f"q{n}",
            "question": TABLE["question"][n],
            "answers": right,
            "is_impossible": not right,
        }
        paragraphs.append({"context": passage, "qas": [asked]})
    return json.dumps({"version": "v2.0", "data": [{"title": "who", "paragraphs": paragraphs}]}).encode()


def _parquet(path: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    pq.write_table(pa.Table.from_pylist(ROWS), path)


def with_heads() -> list[str]:
    """The tasks in which a head answers."""
    return [name for name in tasks() if issubclass(task(name), Supervised)]


def wanted() -> Iterator[tuple[str, str, str]]:
    """A name, a family and a task: every family with its own task and with every other in which a head answers that it
    can be made for. A new family or task is among them as soon as it is registered.
    """
    for name in families():
        kind = family(name)
        if kind.learner is not None:
            yield name, name, kind.task
        others = with_heads() if kind.learner == "gradient" else getattr(kind, "tasks", ())
        yield from ((f"{other}-{name}", name, other) for other in others if other != kind.task)


def example_data(name: str) -> Any:
    """What a task reads: lines, or a column for every role."""
    one = task(name)()
    if not isinstance(one, Supervised) and not one.source:
        return TABLE["text"]
    return {role.name: TABLE[_column(role)] for role in one.roles()}


def _column(role: Role) -> str:
    return (
        role.name if role.name in TABLE and role.codec not in CELLS else CELLS.get(role.codec or "", "text")
    )


def answers(bundle: cr.Bundle, text: str) -> list[Prediction]:
    """What a model with a head says of a text and of examples it was made of."""
    assert isinstance(bundle.task, Supervised)
    given = {role: [text, *example_data(bundle.task.name)[role][:2]] for role in bundle.task.inputs()}
    return list(bundle.predict_each(given))


def example_model(name: str, about: str) -> cr.Bundle:
    """A tiny model of a family for a task."""
    kind = family(name)
    options = {one.name: SMALL[one.name] for one in visible(kind.Config) if one.name in SMALL}
    options |= {"tokens": 400} if kind.learner == "gradient" else {}
    return cr.fit(example_data(about), model=name, task=about, **options)


def _models(folder: Path) -> None:
    lines = TEXT.splitlines()
    for name, kind, about in wanted():
        try:
            example_model(kind, about).save(folder / name)
        except cr.ChainruleError as error:
            print(f"no example of {name}: {error}", file=sys.stderr)
    made: dict[str, Any] = {
        "subwords": cr.fit(lines, model="ngram", order=2, codec="subwords", vocab=300),
        "numbers": cr.fit([[n % 12 + n // 9 for n in range(200)]], model="ngram", order=2, codec="numbers"),
        "deep": cr.fit(lines, model="lstm", **FIT, layers=2),
        "adapted": cr.load(folder / "lstm").adapted(dynamic=True, neural_cache=True),
    }
    for name, bundle in made.items():
        bundle.save(folder / name)
    valid = folder.parent / "data" / "text.txt"
    _command("mix", folder / "ngram", folder / "gru", "--valid", valid, "-o", folder / "mix")


def _small(folder: Path) -> None:
    """Models that are made by counting, and one that is not."""
    lines = TEXT.splitlines()
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
    for format in FORMATS:
        _command("export", "vectors", models / "vectors", foreign / f"vectors.{format}", "--format", format)


def _foreign(folder: Path) -> None:
    models, foreign = folder / "models", folder / "foreign"
    _exported(folder)
    for name in ("gpt", "bert"):
        more: dict[str, Any] = {"positions": "learned"} if name == "gpt" else {}
        small = {"codec": "subwords", "vocab": 270, "layers": 1, "heads": 2, "context": 32}
        cr.fit(TEXT.splitlines(), model=name, **FIT, **small, **more).save(foreign / f"own-{name}")
        _command("export", "hf", foreign / f"own-{name}", foreign / name)
        _command("import", "hf", foreign / name, "-o", models / f"hf-{name}")


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
