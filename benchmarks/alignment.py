"""Word alignment error (AER) of attention, IBM model 1 and the diagonal on a word-aligned toy. Prints a Markdown table.

    python benchmarks/alignment.py [BUDGET]

BUDGET is the time of each network, 60s if not given. The toy is `chainrule example aligned`: other word order, words
with two translations and with none. All see the same training part and are judged on the test part; attention is that
of the right target, read with teacher forcing, and a link is where most of it goes.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch

import chainrule as cr
from chainrule.bundle import Bundle
from chainrule.codecs.base import Texts
from chainrule.data.examples import example
from chainrule.judge.alignment import AlignmentScore, Gold, Links, alignment_score, diagonal
from chainrule.symbols import BOS, EOS
from chainrule.use.align import alignments

COMMON: dict[str, Any] = {"codec": "words", "min_count": 1, "seed": 1}
MODELS: dict[str, dict[str, Any]] = {
    "IBM model 1": {"model": "ibm1", "diagonal": 0.0, "iterations": 20, "refit": False},
    "the same, near the diagonal": {"model": "ibm1", "iterations": 20, "refit": False},
    "seq2seq, additive attention": {"model": "seq2seq", "attention": "additive", "width": 128},
    "seq2seq, dot attention": {"model": "seq2seq", "attention": "dot", "width": 128},
    "transformer": {"model": "transformer", "width": 128, "layers": 2},
}
Row = list[str]  # source, target, links, part
Aligner = Callable[
    [np.ndarray, np.ndarray], np.ndarray
]  # ids of both to the source place of every target word, -1: none


def main(budget: str = "60s") -> None:
    rows = [line.split("\t") for line in example("aligned")[1].splitlines()[1:]]
    test = [row for row in rows if row[3] == "test"]
    gold = [Gold.read(row[2]) for row in test]
    print("| aligner | AER | precision | recall | perplexity | seconds |\n|---|---|---|---|---|---|")
    lengths = [(len(row[0].split()), len(row[1].split())) for row in test]
    _print("diagonal", alignment_score([diagonal(*one) for one in lengths], gold), "", 0.0)
    with tempfile.TemporaryDirectory() as folder:
        data = {part: _written(Path(folder), part, rows) for part in ("train", "valid", "test")}
        for name, options in MODELS.items():
            began = time.perf_counter()
            more = {} if options["model"] == "ibm1" else {"budget": budget}
            parts = {"valid": data["valid"], "test": data["test"]}
            model = cr.fit(data["train"], **parts, **COMMON, **options, **more)
            seconds = time.perf_counter() - began
            figures = model.card["figures"]["test"]
            score = alignment_score([_links(model, row) for row in test], gold)
            _print(name, score, f"{figures['perplexity']:.2f}", seconds)


def _written(folder: Path, part: str, rows: list[Row]) -> dict[str, str]:
    """Parallel files of one part."""
    found = {}
    for at, role in enumerate(("source", "target")):
        path = folder / f"{part}.{role}"
        path.write_text("".join(f"{row[at]}\n" for row in rows if row[3] == part), encoding="utf-8")
        found[role] = str(path)
    return found


def _links(model: Bundle, row: Row) -> Links:
    """Where a model looks for every target word."""
    source, target = (_ids(model, role, text) for role, text in zip(("source", "target"), row, strict=False))
    assert len(source) == len(row[0].split()) and len(target) == len(row[1].split()), "a word is one symbol"
    aligned = model.body.aligned if model.body.family == "ibm1" else _attended(model)
    return frozenset((int(i), j) for j, i in enumerate(aligned(source, target)) if i >= 0)


def _attended(model: Bundle) -> Aligner:
    def aligned(source: np.ndarray, target: np.ndarray) -> np.ndarray:
        given = torch.tensor([[*source.tolist(), EOS]])
        weights = alignments(model.body, torch.tensor([[BOS, *target.tolist()]]), model.body.start(1, given))[
            0
        ]
        best = weights[: len(target)].argmax(-1).numpy()
        return np.where(best < len(source), best, -1)  # the end of the source is no word

    return aligned


def _ids(model: Bundle, role: str, text: str) -> np.ndarray:
    return model.codecs[role].encode(Texts.of([text.encode()])).ids[1:-1]


def _print(name: str, score: AlignmentScore, perplexity: str, seconds: float) -> None:
    print(
        f"| {name} | {score.error:.3f} | {score.precision:.3f} | {score.recall:.3f} | {perplexity} | {seconds:.0f} |",
        flush=True,
    )


if __name__ == "__main__":
    main(*sys.argv[1:])
