"""Transfer on movie reviews (MR): a body frozen, tuned and fresh on the same few labels. Prints a Markdown table.

    python benchmarks/transfer.py --pretrain 5m                     # an LSTM of the texts, then 500 labels, three seeds
    python benchmarks/transfer.py --lm FOLDER                       # the same from a language model there is
    python benchmarks/transfer.py --hf FOLDER --folds 1 --labels 0  # an encoder of Hugging Face, all labels of fold 1

Data come from $CHAINRULE_DATA (mr/rt-polarity.pos and .neg). The test part is a fold that neither the language model
nor the classifier has seen. A language model reads all other texts, without labels. Of the labels that a seed draws, a
fifth is held out to stop and to calibrate on. `bag` is there to compare with.
"""

from __future__ import annotations

import argparse
import statistics
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from reading import Rows, columns, mr

import chainrule as cr

LM = {
    "model": "lstm",
    "codec": "words",
    "min_count": 2,
    "width": 384,
    "embedding": 256,
    "tied": "yes",
    "dropout": 0.5,
    "dropout_kind": "locked",
    "weight_drop": 0.4,
    "embedding_dropout": 0.15,
    "patience": 0,
}
TUNED = {"layer_lr_decay": 0.4, "gradual_unfreezing": True}
WAYS: dict[str, dict[str, Any]] = {"fresh": {}, "frozen": {}, "tuned": TUNED}


def drawn(rows: Rows, labels: int, seed: int) -> tuple[Rows, Rows]:
    """So many examples (0: all) in two parts: to learn from, and a fifth to decide on."""
    order = np.random.default_rng(seed).permutation(len(rows))[: labels or None]
    found = [rows[one] for one in order]
    return found[len(found) // 5 :], found[: len(found) // 5]


def accuracy(train: Rows, valid: Rows, test: Rows, settings: dict[str, Any]) -> float:
    """On the test part."""
    given, held = columns(train), columns(test)
    assert given is not None and held is not None
    model = cr.fit(given, valid=columns(valid), task="classify", **settings)
    return 100 * model.evaluate(held).figures["accuracy"]


def table(
    body: str, ways: list[str], folds: list[tuple[Rows, None, Rows]], given: argparse.Namespace
) -> None:
    """Every way on every fold with every seed."""
    print("| body | accuracy, mean | each | seconds |\n|---|---|---|---|")
    settings = {"epochs": given.epochs, **dict(one.partition("=")[::2] for one in given.set)}
    kinds: dict[str, dict[str, Any]] = {"bag": {"model": "bag"}}
    kinds |= {way: {"init_from": body, "transfer": way, **WAYS[way], **settings} for way in ways}
    for name, own in kinds.items():
        found, began = [], time.perf_counter()
        for rows, _, test in folds:
            for seed in range(1, given.seeds + 1):
                seeded = own if name == "bag" else {**own, "seed": seed}
                found.append(accuracy(*drawn(rows, given.labels, seed), test, seeded))
        each = ", ".join(f"{one:.1f}" for one in found)
        print(
            f"| {name} | {statistics.mean(found):.1f} | {each} | {time.perf_counter() - began:.0f} |",
            flush=True,
        )


def main() -> None:
    """Train the language model if there is none, then the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--pretrain", default="5m", metavar="BUDGET")
    parser.add_argument("--lm", metavar="FOLDER", help="a language model of the texts outside fold 1")
    parser.add_argument("--hf", metavar="FOLDER", help="a folder of Hugging Face instead")
    parser.add_argument("--labels", type=int, default=500, help="0: all")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--folds", type=int, default=1, help="of ten; a language model knows the first only")
    parser.add_argument("--epochs", type=float, default=20)
    parser.add_argument("--ways", default="fresh,frozen,tuned")
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE")
    given = parser.parse_args()
    folds = list(mr(10, 1))[: given.folds if given.hf else 1]
    with TemporaryDirectory() as folder:
        body = given.hf or given.lm or str(Path(folder) / "lm")
        if not (given.hf or given.lm):
            lm = cr.fit([text for text, _ in folds[0][0]], budget=given.pretrain, **LM)
            print(f"language model: perplexity {lm.card['figures']['test']['perplexity']:.1f}")
            lm.save(body)
        table(body, given.ways.split(","), folds, given)


if __name__ == "__main__":
    main()
