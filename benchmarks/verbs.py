"""Verbs that write: the command, what it writes, and how it is read back. What is registered is among them."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from formats import FORMATS
from workshop import FOREIGN, LOOKS, PROBE, RUN, example_names, said

import chainrule as cr
from chainrule.interop.word2vec import FORMATS as VECTORS
from chainrule.models.registry import families, family
from chainrule.tasks.base import task, tasks
from chainrule.tasks.supervised import Supervised
from chainrule.views.files import FORMATS as VIEWS

OLD, BESIDE = "subwords", "of the user\n"
SAVE, PLOT = "save a model", "save a picture"  # what Python users do: no verbs of the command line
SAVES: dict[str, Callable[..., object]] = {
    SAVE: lambda model, out, *flags: cr.load(model).save(out, "--force" in flags),
    PLOT: lambda model, out, *flags: cr.load(model).plot().save(out),
}


@dataclass(frozen=True)
class Verb:
    """A command that writes: its words, what it writes, and what that says when it is read."""

    name: str
    words: Callable[[Path], list[object]]  # from the folder of examples
    out: str = "lm"
    reads: Callable[[Path], object] = said
    old: bool = False  # something is replaced
    again: tuple[str, ...] = ("--force",)  # flags with which it can be done again
    before: Callable[[Path, Path], object] | None = None
    one_by_one: bool = False  # several results, each whole, of which some may be there
    forks: bool = False  # it has several processes

    def line(self, examples: Path, place: Path, *more: str) -> list[str]:
        """The command."""
        words = [str(place / self.out) if word is OUT else str(word) for word in self.words(examples)]
        return [*words, "-q", *more]

    def prepare(self, examples: Path, place: Path) -> None:
        """What is there before: files of the user, and an older result."""
        (place / "beside.txt").write_text(BESIDE)
        if self.old:
            shutil.copytree(examples / "models" / OLD, place / self.out)
        if self.before:
            self.before(examples, place)


OUT = object()


def _stopped(examples: Path, place: Path) -> object:
    return shutil.copytree(examples / "runs" / "lm.run", place / "lm.run")


def _hf(path: Path) -> object:
    from chainrule.interop.huggingface import import_hf

    found = import_hf(path)
    return found.translate([PROBE])[0].to_dict() if found.task.source else found.score(PROBE).log2prob


def _vectors(path: Path) -> object:
    return cr.load(path).embed(PROBE).tobytes()


def compared(folder: Path) -> object:
    """The figure of every model in a comparison that has ended, or why there is none."""
    if not (folder / "results.json").exists():
        return None
    rows = json.loads((folder / "results.json").read_text())["models"]
    for row in rows:
        row["failed"] or cr.load(folder / "models" / row["name"])
    return {row["name"]: row["failed"] or row["bits"] for row in rows}


def _each(folder: Path) -> object:
    """What each of the models says; one that was being written when the process was killed has a hidden name."""
    return {one.name: said(one) for one in sorted(folder.iterdir()) if not one.name.startswith(".")}


def _text(examples: Path) -> Path:
    return examples / "data" / "text.txt"


def _fits() -> Iterator[Verb]:
    """Trainings: counted, replaced, with checkpoints, resumed; and for every task."""
    ngram = ["--order", "2", "--codec", "words"]
    yield Verb("fit", lambda e: ["fit", _text(e), "-o", OUT, *ngram])
    yield Verb("fit --force", lambda e: ["fit", _text(e), "-o", OUT, *ngram, "--force"], old=True, again=())
    yield Verb("fit gru", lambda e: ["fit", _text(e), "-o", OUT, *RUN], again=("--resume", "--force"))
    yield Verb(
        "fit --keep",
        lambda e: ["fit", _text(e), "-o", OUT, *RUN, "--keep", "2"],
        again=("--resume", "--force"),
    )
    yield Verb(
        "fit --resume",
        lambda e: ["fit", _text(e), "-o", OUT, *RUN, "--resume"],
        before=_stopped,
        again=("", "--force"),
    )
    yield from (Verb(f"fit {name}", _learning(name), again=("--resume", "--force")) for name in tasks())


def _learning(name: str) -> Callable[[Path], list[object]]:
    """The command that trains for a task: on files of its format or, if it has none, on text."""
    found = next((key for key, one in FORMATS.items() if one.task == name), None)
    words = ["--task", name, "-o", OUT]
    if found is None:
        if issubclass(task(name), Supervised):
            raise RuntimeError(f"a format for {name} is missing")
        model = next(one for one in ("gru", *families()) if family(one).task == name)
        about = ["--tokens", "100"] if family(model).learner == "gradient" else ["--epochs", "1"]
        return lambda e: ["fit", _text(e), *words, "--model", model, "--width", "8", *about]
    one = FORMATS[found]
    told = [f"--{key.replace('_', '-')}={value}" for key, value in {**one.options, **one.settings}.items()]
    return lambda e: [
        "fit",
        *_given(e / "formats" / "data" / found, found),
        *words,
        "--model",
        one.model,
        *told,
    ]


def _given(folder: Path, name: str) -> list[object]:
    given = FORMATS[name].given([str(folder / one) for one in FORMATS[name].files])
    if isinstance(given, dict):
        return [word for role, path in given.items() for word in (f"--{role}", path)]
    return [given] if isinstance(given, str) else given


def _others() -> Iterator[Verb]:
    """What else writes."""
    models, foreign = "models", "foreign"
    parts = "ngram", "gru"
    yield Verb("mix", lambda e: ["mix", *(e / models / one for one in parts), "--valid", _text(e), "-o", OUT])
    yield Verb("import arpa", lambda e: ["import", "arpa", e / foreign / "small.arpa", "-o", OUT])
    for one in FOREIGN:
        yield Verb(
            f"import hf, {one}",
            lambda e, one=one: ["import", "hf", e / foreign / one, "-o", OUT, "--force"],
            old=True,
            again=(),
        )  # type: ignore[misc]
        yield Verb(
            f"export hf, {one}",
            lambda e, one=one: ["export", "hf", e / foreign / f"own-{one}", OUT],
            "hf",
            _hf,
            again=("", "--force"),
        )  # type: ignore[misc]
    exported: dict[str, tuple[str, str, str, Callable[[Path], object]]] = {
        "export arpa": ("models/ngram", "out.arpa", "--force", Path.read_bytes),
        "export arpa, packed": ("models/ngram", "out.arpa.gz", "--force", Path.exists),
        **{
            f"export vectors, {one}": ("models/vectors", f"v.{one}", "--force", Path.read_bytes)
            for one in VECTORS
        },
    }
    for name, (model, out, again, reads) in exported.items():
        verb, _, format = name.partition(", ")
        more = ["--format", format] if format in VECTORS else []
        yield Verb(
            name,
            lambda e, verb=verb, model=model, more=more: [*verb.split(), e / model, OUT, *more],  # type: ignore[misc]
            out,
            reads,
            again=("", again),
        )
    found = ["import", "vectors"]
    yield Verb(
        "import vectors", lambda e: [*found, e / foreign / "vectors.binary", "-o", OUT], reads=_vectors
    )
    yield Verb(
        "map-vectors",
        lambda e: ["map-vectors", *[e / models / "vectors"] * 2, e / "data" / "words.tsv", "-o", OUT],
        reads=_vectors,
    )
    steps = ["--steps", "2", "--paths", "9"]
    for kind in ("csv", "svg"):
        yield Verb(
            f"forecast, {kind}",
            lambda e: [
                "forecast",
                e / models / "numbers",
                "--data",
                e / "data" / "numbers.csv",
                *steps,
                "-o",
                OUT,
            ],
            f"next.{kind}",
            Path.read_bytes,
            again=("", "--force"),
        )
    for kind, (model, text, settings) in LOOKS.items():
        ending = sorted(VIEWS)[len(kind) % len(VIEWS)]
        yield Verb(
            f"look, {kind}",
            lambda e, kind=kind, model=model, text=text, settings=settings: [
                *(
                    "look",
                    e / models / model,
                    text,
                    "--view",
                    kind,
                    *(word for name, one in settings.items() for word in (f"--{name}", e / "data" / one)),
                    "-o",
                    OUT,
                )
            ],  # type: ignore[misc]
            f"view{ending}",
            Path.read_bytes,
            again=("", "--force"),
        )
    averaged = [Path(models) / "bag", Path(models) / "classify-gru"]
    yield Verb(
        "mix labels",
        lambda e: [
            "mix",
            *(e / one for one in averaged),
            "--valid",
            e / "data" / "table.csv",
            "-o",
            OUT,
        ],
    )
    yield Verb(
        "fit --from",
        lambda e: ["fit", _text(e), "--from", e / models / "gru", "--tokens", "100", "-o", OUT],
        again=("--resume", "--force"),
    )
    yield Verb(
        "fit --each",
        lambda e: [
            "fit",
            e / "data" / "table.csv",
            "--column",
            "text",
            "--each",
            "label",
            "--order",
            "2",
            "-o",
            OUT,
        ],
        reads=_each,
        one_by_one=True,
    )
    yield Verb("example", lambda e: ["example", "text", "-o", OUT], "example.txt", Path.read_bytes)
    embed = ["embed", "models/gru", PROBE]
    yield Verb(
        "embed",
        lambda e: [embed[0], e / embed[1], embed[2], "-o", OUT],
        "v.npy",
        Path.read_bytes,
        again=("", "--force"),
    )


def _saved() -> Iterator[Verb]:
    """Every example of a model, saved, and the picture of a training."""
    yield Verb(PLOT, lambda e: [PLOT, e / "models" / "gru", OUT], "loss.svg", Path.read_bytes, again=("",))
    for name in example_names():
        yield Verb(f"save {name}", lambda e, name=name: [SAVE, e / "models" / name, OUT])  # type: ignore[misc]


def _comparisons() -> Iterator[Verb]:
    """Comparisons of texts, labels, numbers and tags."""
    for name, data, more in (
        ("compare", "data/text.txt", ["--models", "unigram,3-gram"]),
        (
            "compare labels",
            "data/table.csv",
            ["--column", "text", "--label", "label", "--models", "majority,class-ngram"],
        ),
        (
            "compare numbers",
            "formats/data/measured.csv/a.csv",
            ["--task", "regress", "--models", "majority,bag"],
        ),
        ("compare tags", "formats/data/CoNLL-2003/a.txt", ["--task", "tag", "--models", "most-frequent-tag"]),
    ):
        yield Verb(
            name,
            lambda e, data=data, more=more: [  # type: ignore[misc]
                *("compare", e / data, "--budget", "30s", *more, "-o", OUT)
            ],
            "comparison",
            compared,
            again=("--resume",),
            forks=True,
        )


VERBS = {verb.name: verb for verb in (*_fits(), *_others(), *_saved(), *_comparisons())}
QUICK = ("fit", "fit --force", "import arpa", "export arpa", "example")  # where there are few examples
