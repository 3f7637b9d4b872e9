"""Word alignment error (AER) of attention, IBM model 1 and the diagonal on a word-aligned toy. Prints a Markdown table.

    python benchmarks/alignment.py [BUDGET]
    python benchmarks/alignment.py multi30k MODEL...     # trained models on 20 sentences of Multi30k, aligned by hand

BUDGET is the time of each network, 60s if not given. The toy is `chainrule example aligned`: other word order, words
with two translations and with none. All see the same training part and are judged on the test part; attention is that
of the right target, read with teacher forcing, and a link is where most of it goes.
"""

from __future__ import annotations

import os
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
from chainrule.use.align import alignments, word_links
from chainrule.use.source_inputs import SourceReader

DATA = Path(os.environ.get("CHAINRULE_DATA", "../shared/data"))
# Sentences of test 2016 by their number from 0 on, English - German, words between white space; only sure links.
BY_HAND = {
    0: "0-0 1-1 2-2 3-3 4-4 5-5 6-8 7-8 8-7",
    23: "0-0 1-1 2-2 3-2 4-3 5-4 6-4 8-5 9-5 10-6 11-7 12-8",
    46: "0-0 1-1 1-2 2-3 3-3 4-4 5-5 5-6 6-7",
    69: "0-0 1-1 2-2 3-3 4-4 5-5 6-6 7-7 8-8 9-9 10-10",
    92: "0-0 1-1 2-2 3-7 4-8 5-9 6-3 7-4 8-5 9-6",
    138: "0-0 1-1 2-2 3-2 3-3 3-10 4-4 5-5 6-6 7-7 8-8 9-9",
    161: "0-0 1-1 2-1 3-1 4-2 5-3 6-4 7-5 8-6 9-7 10-7 11-8",
    207: "0-0 1-3 2-3 3-1 4-4 5-5 6-6 7-7 8-7",
    230: "0-0 1-1 2-2 3-3 4-4 5-6 6-5 6-7 7-9 8-10 9-11 10-12 11-13 12-14",
    253: "0-0 1-2 1-3 2-1 3-1 4-4 5-5 6-6 7-7 8-8 9-8 10-9 11-10 12-11",
    276: "0-0 1-1 2-2 3-2 4-2 5-2 6-3 8-5 9-4",
    299: "0-0 1-1 3-2 4-3 5-4 6-5 7-6 8-7 9-8 10-9",
    322: "0-0 1-1 2-1 3-2 4-3 5-4 6-5 6-6 7-7 8-8 9-9 10-10",
    345: "0-0 1-1 2-2 3-2 4-3 5-4 6-5 7-6 8-7 9-8 10-9",
    368: "0-0 1-1 2-2 3-3 4-4 5-5 6-6 7-7",
    414: "2-0 3-1 4-2 5-3 6-4 7-5 8-6 9-7",
    460: "0-0 1-1 2-2 3-3 4-4 5-5 6-6",
    483: "0-0 1-1 2-2 3-3 4-4 5-5 6-7 7-7 8-8 9-9 10-9 11-10 12-10",
    506: "0-0 1-1 2-2 3-3 4-4 5-5 6-6 7-6 8-7 9-8 10-9 11-10 12-11 13-12",
    552: "0-0 1-1 2-2 3-3 4-4 5-5 5-6 5-9 6-9 7-7 8-8 9-8",
}
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


def on_multi30k(models: list[str]) -> None:
    """Trained models, IBM model 1 over words learnt here, and the diagonal."""
    home = DATA / "multi30k"
    english, german = (
        (home / f"test_2016_flickr.{one}").read_text("utf-8").splitlines() for one in ("en", "de")
    )
    rows = [(english[number], german[number]) for number in BY_HAND]
    gold = [Gold.read(links) for links in BY_HAND.values()]
    print("| aligner | AER | precision | recall | perplexity | seconds |\n|---|---|---|---|---|---|")
    lengths = [(len(one.split()), len(other.split())) for one, other in rows]
    _print("diagonal", alignment_score([diagonal(*one) for one in lengths], gold), "", 0.0)
    train = {"source": str(home / "train.en"), "target": str(home / "train.de")}
    for name in list(MODELS)[:2]:
        began = time.perf_counter()
        model = cr.fit(train, codec="words", split="simple", **MODELS[name])
        _print(name, alignment_score(_by_words(model, rows), gold), "", time.perf_counter() - began)
    for folder in models:
        _print(folder, alignment_score(_by_words(cr.load(folder), rows), gold), "", 0.0)


def _by_words(model: Bundle, rows: list[tuple[str, str]]) -> list[Links]:
    """Links between words, whatever the codec."""
    sources = SourceReader(model).typed([source for source, _ in rows])
    return [frozenset(links) for links in word_links(model, sources, [target for _, target in rows])]


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
    on_multi30k(sys.argv[2:]) if sys.argv[1:2] == ["multi30k"] else main(*sys.argv[1:])
