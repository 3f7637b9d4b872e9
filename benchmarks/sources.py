"""Is the source read? Every kind of source by itself and in pairs, on combinations that training never showed.

    python benchmarks/sources.py                   # all tasks, one after another
    python benchmarks/sources.py captions digits   # some of them
    python benchmarks/sources.py --seconds 60      # stop every training after so long

Data are those of `chainrule example`, made again. Each row of the table: exact matches and ROUGE-L of what is written
greedily for the test part, the same with every row given the source of another one, and how many nats the right source
is worth: the mean of log p(w | x) - log p(w | x of another row). A text in somebody's style is right if its author and
its topic are recognised.
"""

from __future__ import annotations

import argparse
import csv
import json
import random
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

import chainrule as cr
from chainrule.data.examples import MADE, made
from chainrule.data.examples.written import recognised
from chainrule.judge.texts import rouge_metrics

MOST = 300  # rows that are written
WORDS = {"codec": "words", "where": "part = train"}


@dataclass(frozen=True)
class Trial:
    """An example, what its source is called here, and what is unusual about its training."""

    kind: str
    steps: int
    options: Mapping[str, Any] = field(default_factory=dict)
    parts: Sequence[str] = ("test",)


TRIALS = {
    "styles": Trial("two labels", 300),
    "dates": Trial("a sentence", 1500, {"codec": "characters", "where": ()}, ("held out",)),
    "weeks": Trial("frames: a week of numbers", 700),
    "captions": Trial("an image", 700),
    "digits": Trial("audio", 900),
    "summaries": Trial("a document", 900, {"source_window": 64}),
    "questions": Trial("question + image", 1200),
    "documents": Trial("question + document", 1500, {"source_window": 64}, ("test", "long")),
}
SMALL = {
    "model": "transformer",
    "layers": 2,
    "width": 64,
    "heads": 4,
    "dropout": 0.05,
    "label_smoothing": 0.0,
    "lr": 0.004,
    "batch_size": 64,
    "seq_len": 32,
    "patience": 0,
    "seed": 1,
}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("names", nargs="*", help=f"some of {', '.join(TRIALS)}")
    parser.add_argument("--seconds", type=float, help="of every training, at most")
    asked = parser.parse_args()
    head = (
        f"{'task':<10} {'source':<26} {'part':<9} {'exact':>6} {'ROUGE-L':>8} {'shuffled':>9} {'ROUGE-L':>8}"
    )
    print(f"{head} {'nats':>6} {'fit':>7} {'write':>7}", flush=True)
    for name in asked.names or TRIALS:
        with tempfile.TemporaryDirectory() as folder:
            run(name, Path(folder), asked.seconds)


def run(name: str, folder: Path, seconds: float | None) -> None:
    """Train on the training part, write for the others."""
    trial, one = TRIALS[name], MADE[name]
    rows = written(name, folder)
    if trial.parts == ("held out",):
        random.Random(1).shuffle(rows)
        rows = [{**row, "part": "held out" if at < 1000 else "train"} for at, row in enumerate(rows)]
        (folder / one.file).write_text("\n".join(["\t".join(rows[0]), *map(joined, rows[1000:])]))
    began = time.perf_counter()
    length = {"steps": trial.steps} | ({} if seconds is None else {"budget": f"{seconds}s"})
    length = {"budget": length["budget"]} if seconds is not None else length
    options = {**SMALL, **WORDS, **trial.options, **length}
    model = cr.fit(folder / one.file, source=one.source, target=one.target, **options)
    fitted = time.perf_counter() - began
    for part in trial.parts:
        began = time.perf_counter()
        some = [row for row in rows if row["part"] == part][:MOST]
        figures = judged(model, name, folder, some)
        told = " ".join(figures)
        print(
            f"{name:<10} {trial.kind:<26} {part:<9} {told} {fitted:6.0f}s {time.perf_counter() - began:6.0f}s",
            flush=True,
        )


def written(name: str, folder: Path) -> list[dict[str, Any]]:
    """The rows of an example, whose files lie in a folder."""
    found = made(name)
    (folder / found.file).write_text(found.text)
    for place, data in found.files.items():
        (folder / place).parent.mkdir(exist_ok=True)
        (folder / place).write_bytes(data)
    if found.file.endswith(".jsonl"):
        return [json.loads(line) for line in found.text.splitlines()]
    return list(csv.DictReader(found.text.splitlines(), delimiter="\t", quoting=csv.QUOTE_NONE))


def joined(row: Mapping[str, Any]) -> str:
    return "\t".join(map(str, row.values()))


def judged(model: cr.Bundle, name: str, folder: Path, rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """Exact matches and ROUGE-L with the right sources and with those of others, and nats between the two."""
    one = MADE[name]
    columns = str(one.source).split(",")
    right = [{column: named(folder, row[column]) for column in columns} for row in rows]
    wrong = [right[at - 1 - len(rows) // 3] for at in range(len(rows))]
    targets = [row[str(one.target)] for row in rows]
    logs = [model.log_probability(targets, sources) for sources in (right, wrong)]
    cells = []
    for sources in (right, wrong):
        said = [found.text for found in model.translate(sources, beam=1, length=60)]
        if name == "styles":
            exact = [
                recognised(text) == recognised(target) for text, target in zip(said, targets, strict=True)
            ]
        else:
            exact = [text == target for text, target in zip(said, targets, strict=True)]
        rouge = rouge_metrics(said, [[one] for one in targets])["rougeL"].value
        cells += [f"{100 * np.mean(exact):5.1f}%", f"{rouge:8.3f}"]
    return [cells[0], cells[1], f"{cells[2]:>9}", cells[3], f"{np.mean(logs[0] - logs[1]):6.1f}"]


def named(folder: Path, cell: Any) -> Any:
    """A name of a file as one that is found from here."""
    return str(folder / cell) if isinstance(cell, str) and cell.endswith((".png", ".wav")) else cell


if __name__ == "__main__":
    main()
