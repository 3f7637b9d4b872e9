"""Files of every format that is read, each with a task that can be learnt from it."""

from __future__ import annotations

import bz2
import gzip
import io
import json
import lzma
import wave
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import zstandard

TEXT = "".join(f"she was {'late' if n % 3 else 'not late'} and he was {n % 7} there\n" for n in range(60))
ROWS = [{"text": line, "n": n, "label": "ab"[n % 2]} for n, line in enumerate(TEXT.splitlines())]
PASSAGES = [f"{name} lives in Rome. Bob has {n} cats." for n, name in enumerate(["Anna", "Ève", "Zoë"] * 20)]
TABLE: dict[str, list[Any]] = {
    "text": [row["text"] for row in ROWS],
    "pair": [f"he was {'late' if n % 3 else 'there'}" for n in range(len(ROWS))],
    "label": ["yes" if n % 3 else "no" for n in range(len(ROWS))],
    "value": [n % 7 + n / 8 for n in range(len(ROWS))],
    "sets": [["", "good", "good|long", "long"][n % 4] for n in range(len(ROWS))],
    "tags": [" ".join("N" if word.isdigit() else "W" for word in row["text"].split()) for row in ROWS],
    "source": [row["text"] for row in ROWS],
    "target": [" ".join(reversed(row["text"].split())) for row in ROWS],
    "question": ["Where does she live?" if n % 4 else "Who has dogs?" for n in range(len(ROWS))],
    "passage": PASSAGES,
    "answer": ["Rome" if n % 4 else "" for n in range(len(ROWS))],
    "author": ["anna" if n % 3 else "boris" for n in range(len(ROWS))],
}
FRAMES = [
    np.round(np.cumsum(np.random.default_rng(n).normal(0.5 - n % 2, 1, (6, 2)), 0), 3) for n in range(24)
]
WAYS = ["up" if n % 2 else "down" for n in range(len(FRAMES))]
NAMES = "example.yes", "example.no"


@dataclass(frozen=True)
class Format:
    """Files of one kind, what is to be said so that they are read, and what can be learnt from them."""

    files: Mapping[str, bytes]
    task: str
    model: str  # a family that learns it quickly
    options: Mapping[str, Any] = field(default_factory=dict)
    settings: Mapping[str, Any] = field(default_factory=dict)  # of the model
    given: Callable[[list[str]], Any] = lambda paths: paths[0] if len(paths) == 1 else paths

    def write(self, folder: Path) -> list[Path]:
        """All of them, in a folder."""
        paths = [folder / name for name in self.files]
        for path, content in zip(paths, self.files.values(), strict=True):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
        return paths


def _pairs(paths: list[str]) -> dict[str, str]:
    return {"source": paths[0], "target": paths[1]}


def _folder(paths: list[str]) -> str:
    return str(Path(paths[0]).parents[1])


def lines(rows: list[Any]) -> bytes:
    """A row on each line."""
    return "".join(f"{row}\n" for row in rows).encode()


def cells(*columns: str, head: str = "", between: str = "\t") -> bytes:
    """Columns of the table side by side."""
    rows = zip(*(TABLE[name] for name in columns), strict=True)
    return f"{head}\n".encode() * bool(head) + lines([between.join(map(str, row)) for row in rows])


def sentences(word: str) -> bytes:
    """A word a line, a blank line after each sentence."""
    texts = [text.split() for text in TABLE["text"]]
    told = [
        "".join(word.format(n=n, at=n + 1, word=one, tag=_tag(one, n)) for n, one in enumerate(text)) + "\n"
        for text in texts
    ]
    return "".join(told).encode()


def _tag(word: str, at: int) -> str:
    return "B-NUM" if word.isdigit() else "I-NUM" if word == "there" else "O"


def squad() -> bytes:
    """Questions about passages, a few of them without an answer."""
    paragraphs = []
    for n, passage in enumerate(PASSAGES):
        right = [{"text": "Rome", "answer_start": passage.index("Rome")}] if n % 4 else []
        asked: dict[str, Any] = {"id": f"q{n}", "question": TABLE["question"][n]}
        asked |= {"answers": right, "is_impossible": not right}
        paragraphs.append({"context": passage, "qas": [asked]})
    return json.dumps({"version": "v2.0", "data": [{"title": "who", "paragraphs": paragraphs}]}).encode()


def array(value: Any, **named: Any) -> bytes:
    """A file of NumPy, or several arrays in one."""
    file = io.BytesIO()
    if named:
        np.savez(file, **named)
    else:
        np.save(file, value)
    return file.getvalue()


def _moments() -> bytes:
    rows = [
        f"{n},{at},{x},{y},{way}"
        for n, (one, way) in enumerate(zip(FRAMES, WAYS, strict=True))
        for at, (x, y) in enumerate(one)
    ]
    return lines(["session,time,x,y,motion", *rows])


def _parquet() -> bytes:
    import pyarrow as pa
    import pyarrow.parquet as pq

    file = io.BytesIO()
    pq.write_table(pa.Table.from_pylist(ROWS), file)
    return file.getvalue()


def picture(number: int, kind: str) -> bytes:
    """A small image, PNG or JPEG."""
    from PIL import Image

    file = io.BytesIO()
    Image.fromarray(np.random.default_rng(number).integers(0, 256, (9, 8, 3), np.uint8)).save(file, kind)
    return file.getvalue()


def recording(number: int) -> bytes:
    """A short .wav file of 8, 16, 24 or 32 bits."""
    file, width = io.BytesIO(), 1 + number % 4
    with wave.open(file, "wb") as held:
        held.setparams((1 + number % 2, width, 1000, 0, "NONE", ""))
        held.writeframes(np.random.default_rng(number).bytes(width * 2 * 60))
    return file.getvalue()


def plain() -> Iterator[tuple[str, bytes]]:
    """Files that a language model can be learnt from, and settings."""
    text = TEXT.encode()
    table = [f"{row['text']},{row['n']},{row['label']}" for row in ROWS]
    yield "text.txt", text
    yield "table.csv", lines(["text,n,label", *table])
    yield "table.tsv", lines(["text,n,label", *table]).replace(b",", b"\t")
    yield "rows.jsonl", lines([json.dumps(row) for row in ROWS])
    yield "rows.parquet", _parquet()
    yield "trees.conllu", sentences("{at}\t{word}\t{word}\tX\t_\t_\t0\troot\t_\t_\n")
    yield "text.txt.gz", gzip.compress(text, mtime=0)
    yield "text.txt.xz", lzma.compress(text)
    yield "text.txt.bz2", bz2.compress(text)
    yield "text.txt.zst", zstandard.ZstdCompressor().compress(text)
    yield "wide.txt", TEXT.encode("utf-16")
    yield "recall.txt", lines([f"{word} is {n} late {word}" for n in range(9) for word in ("she", "he")])
    yield "squad.json", squad()
    yield "moments.csv", _moments()
    yield "numbers.csv", b"value\n" + lines([n % 12 + n // 9 for n in range(200)])
    yield "words.tsv", lines([f"{word}\t{word}" for word in sorted(set(TEXT.split()))])
    yield "nbest.tsv", lines(["id\ttext\tacoustic", *(f"{n // 3}\tshe was late\t-{n}.5" for n in range(30))])
    about = b"width = 8\ndropout = 0.1\nseq-len = 16\nseed = 3\nbf16 = false\n"
    yield "settings.toml", b"model = 'gru'\n" + about


SMALL = {"width": 4, "tokens": 100}
LABELS = {"label": "label"}
MOMENTS = {"column": "x,y", "group": "session", "sort": "time", "label": "motion"}
FRAMED = {"codec": "frames", "label": "label"}


def _tables() -> Iterator[tuple[str, Format]]:
    """Labelled rows, and files for labels."""
    pieces, two = {"column": "text", "label": "label"}, dict(zip(("no", "yes"), (1, 0), strict=True))
    files = dict(plain())
    for name in ("table.csv", "table.tsv", "rows.jsonl", "rows.parquet"):
        yield name, Format({name: files[name]}, "classify", "class-ngram", pieces)
    yield (
        "measured.csv",
        Format({"a.csv": cells("text", "value", head="text,label", between=",")}, "regress", "bag"),
    )
    told = cells("text", "sets", head="text\tlabel")
    yield "sets.tsv", Format({"a.tsv": told}, "multi-label", "bag", {"separator": "|"})
    marked = [f"__label__{label} {text}" for text, label in zip(TABLE["text"], TABLE["label"], strict=True)]
    yield "marked", Format({"a.txt": lines(marked)}, "classify", "majority")
    yield "first", Format({"a.txt": cells("label", "text")}, "classify", "bag")
    trees = [f"({n % 5} (2 she) (3 (1 was) ({n % 5} late)))" for n in range(40)]
    yield "trees", Format({"a.txt": lines(trees)}, "classify", "bag")
    texts = {
        label: [text for text, one in zip(TABLE["text"], TABLE["label"], strict=True) if one == label]
        for label in two
    }
    yield "by name", Format({f"a.{one}": lines(texts[one]) for one in two}, "classify", "bag")
    single = {f"{one}/{n}.txt": texts[one][n].encode() for one in two for n in range(6)}
    yield "folders", Format(single, "classify", "bag", given=_folder)


def _published() -> Iterator[tuple[str, Format]]:
    """As the makers of corpora publish them."""
    glue = {"format": "glue"}
    for name, head, columns, task in (
        ("MRPC", "#1 String\t#2 String\tQuality", ("text", "pair", "label"), "classify"),
        ("QNLI", "question\tsentence\tlabel", ("question", "passage", "label"), "classify"),
        ("STS-B", "sentence1\tsentence2\tscore", ("text", "pair", "value"), "regress"),
        ("SST-2", "sentence\tlabel", ("text", "label"), "classify"),
    ):
        yield name, Format({"train.tsv": cells(*columns, head=head)}, task, "bag", glue)
    cola = [f"a\t{n % 2}\t\t{text}" for n, text in enumerate(TABLE["text"])]
    yield "CoLA", Format({"train.tsv": lines(cola)}, "classify", "bag", glue)
    names = dict(zip(("sentence1", "sentence2", "gold_label"), ("text", "pair", "label"), strict=True))
    rows = [{name: TABLE[column][n] for name, column in names.items()} for n in range(40)]
    yield "SNLI", Format({"a.jsonl": lines([json.dumps(one) for one in rows])}, "classify", "bag", glue)
    tagger = "tag", "most-frequent-tag"
    universal = {"column": "FORM", "label": "UPOS"}
    tree = sentences("{at}\t{word}\t{word}\t{tag}\t_\t_\t0\troot\t_\t_\n")
    yield "CoNLL-U", Format({"a.conllu": tree}, *tagger, universal)
    columns = b"-DOCSTART- -X- -X- O\n\n" + sentences("{word} N B-NP {tag}\n")
    yield "CoNLL-2003", Format({"a.txt": columns}, *tagger)
    yield "WikiANN", Format({"a.txt": sentences("en:{word}\t{tag}\n")}, *tagger)
    roles = b"Ann - (A0*)\nsaw see (V*)\nBob - (A1*\nleft - *)\n\n" * 30
    yield "CoNLL-2005", Format({"a.txt": roles}, *tagger, {"label": "SRL"})
    yield (
        "SQuAD",
        Format({"a.json": squad()}, "span", "window", {}, {**SMALL, "embedding": 4, "head_units": 4}),
    )
    tagged = [
        json.dumps({"text": text.split(), "label": tags.split()})
        for text, tags in zip(TABLE["text"], TABLE["tags"], strict=True)
    ]
    yield "tags.jsonl", Format({"a.jsonl": lines(tagged)}, *tagger, LABELS)


def _frames() -> Iterator[tuple[str, Format]]:
    """Sequences of real vectors."""
    body = "classify", "window", MOMENTS, {**SMALL, "embedding": 4}
    yield "moments", Format({"a.csv": _moments()}, *body)
    one = {
        f"{way}/{n}.npy": array(frames)
        for n, (frames, way) in enumerate(zip(FRAMES[:12], WAYS, strict=False))
    }
    yield "arrays in folders", Format(one, *body[:2], {}, body[3], given=_folder)
    named = lines(["file,label", *(f"{n}.npy,{way}" for n, way in enumerate(WAYS))])
    beside = {"r/labels.csv": named} | {f"r/{n}.npy": array(frames) for n, frames in enumerate(FRAMES)}
    yield (
        "arrays and a table",
        Format(beside, *body[:2], FRAMED, body[3], given=lambda paths: str(Path(paths[0]).parent)),
    )
    rows = {"X.npy": array(np.stack(FRAMES)), "labels.csv": lines(["label", *WAYS])}
    yield "one array and a table", Format(rows, *body[:2], LABELS, body[3])
    both = array(None, X=np.stack(FRAMES), y=np.array(WAYS))
    yield "arrays in one file", Format({"both.npz": both}, *body[:2], {}, body[3])
    nested = [
        json.dumps({"signal": frames.tolist(), "label": way})
        for frames, way in zip(FRAMES, WAYS, strict=True)
    ]
    told = {**FRAMED, "column": "signal"}
    yield "nested lists", Format({"a.jsonl": lines(nested)}, *body[:2], told, body[3])
    forecast = {name: one for name, one in MOMENTS.items() if name != "label"}
    yield "next moments", Format({"a.csv": _moments()}, "next-frame", "window", forecast, body[3])


def _parallel() -> Iterator[tuple[str, Format]]:
    """A source and a target."""
    body = "translate", "transformer"
    settings = {"layers": 1, "heads": 2, **SMALL}
    two = {f"train.{name}": cells(name) for name in ("source", "target")}
    yield "parallel files", Format(two, *body, {}, settings, given=_pairs)
    table = {"a.tsv": cells("source", "target", head="source\ttarget")}
    yield "parallel columns", Format(table, *body, {}, settings)
    yield "parallel columns, recurrent", Format(table, "translate", "seq2seq", {}, SMALL | {"embedding": 4})
    yield "parallel columns, dictionary", Format(table, "translate", "ibm1")
    rows = zip(TABLE["author"], TABLE["source"], TABLE["target"], strict=True)
    several = lines(["author\ttopic\tsaid", *("\t".join(row) for row in rows)])
    yield (
        "several sources",
        Format({"a.tsv": several}, *body, {"source": "author,topic", "target": "said"}, settings),
    )


def _attached() -> Iterator[tuple[str, Format]]:
    """Sources that stand in files of their own, beside a table that names them."""
    body = "translate", "transformer", {"source": "it", "target": "said"}
    settings = {"layers": 1, "heads": 2, **SMALL}
    numbers = range(16)

    def beside(files: Mapping[str, bytes]) -> dict[str, bytes]:
        said = zip(files, TABLE["target"], strict=False)
        return {"a.tsv": lines(["it\tsaid", *("\t".join(row) for row in said)]), **files}

    def first(paths: list[str]) -> str:
        return paths[0]

    pictures = {f"p/{n}.{'jpg' if n % 2 else 'png'}": picture(n, ("PNG", "JPEG")[n % 2]) for n in numbers}
    small = {"size": 8}
    yield "images", Format(beside(pictures), *body[:2], body[2] | small, settings, first)
    sounds = {f"s/{n}.wav": recording(n) for n in numbers}
    yield "recordings", Format(beside(sounds), *body[:2], body[2] | {"mels": 4}, settings, first)
    matrices = {f"m/{n}.npy": array(FRAMES[n]) for n in numbers if n % 2}
    told = ["x,y\n" + "\n".join(f"{x},{y}" for x, y in FRAMES[n]) + "\n" for n in numbers]
    matrices |= {f"m/{n}.csv": told[n].encode() for n in numbers if not n % 2}
    yield "matrices", Format(beside(matrices), *body, settings, first)
    nested = [json.dumps({"it": FRAMES[n].tolist(), "said": TABLE["target"][n]}) for n in range(len(FRAMES))]
    yield "nested sources", Format({"a.jsonl": lines(nested)}, *body, settings)


FORMATS = dict((*_tables(), *_published(), *_frames(), *_parallel(), *_attached()))
