"""Classification on public data: accuracy and time of every family. Prints a Markdown table.

    python benchmarks/reading.py mr --models bag,cnn            # ten folds, drawn by --seed
    python benchmarks/reading.py sst5 --models bag,cnn,lstm     # the usual parts
    python benchmarks/reading.py sst5 --models lstm --seeds 3   # the mean over seeds of training, and the dev part
    python benchmarks/reading.py mr --models cnn --ensemble 3   # the mix of three trainings with seeds from 1 on
    python benchmarks/reading.py mr --models cnn --processes 2  # trainings side by side, each with one thread
    python benchmarks/reading.py mr --compare 3m                # what `compare` hands over in every fold
    python benchmarks/reading.py mr --compare 3m --only 1       # the first fold alone

Data come from $CHAINRULE_DATA: mr/rt-polarity.pos and .neg, one sentence a line; sst5/*.txt, `label text` lines. What
is not given is chosen by `fit`: sizes, rates, length of training, and a part held out for validation. Settings can be
given for all models: --set epochs=6.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

import chainrule as cr
from chainrule.train.mix import mix

HELD = 20  # of an ensemble's examples one of so many is held out, where no part for validation is given
DATA = Path(os.environ.get("CHAINRULE_DATA", "../shared/data")).resolve()
Rows = list[tuple[str, str]]  # text and label


def lines(path: Path) -> list[str]:
    """The lines of a file that say something."""
    if not path.exists():
        sys.exit(f"There is no {path}. Set CHAINRULE_DATA to the folder that holds it.")
    return [line.strip() for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]


def mr(folds: int, seed: int) -> Iterator[tuple[Rows, None, Rows]]:
    """Movie reviews, fold after fold."""
    texts = {name: lines(DATA / "mr" / f"rt-polarity.{name}") for name in ("pos", "neg")}
    rows = [(text, label) for label, own in texts.items() for text in own]
    order = np.random.default_rng(seed).permutation(len(rows))
    parts = np.array_split(order, folds)
    for at in range(folds):
        rest = np.concatenate([part for other, part in enumerate(parts) if other != at])
        yield [rows[one] for one in rest], None, [rows[one] for one in parts[at]]


def sst5(folds: int, seed: int) -> Iterator[tuple[Rows, Rows, Rows]]:
    """Stanford sentiment, five classes, whole sentences only."""
    paths = {
        name: next((DATA / "sst5").glob(f"*{name}*"), DATA / "sst5" / name)
        for name in ("train", "dev", "test")
    }
    train, dev, test = (
        [(text, label) for label, _, text in (line.partition(" ") for line in lines(path))]
        for path in paths.values()
    )
    yield train, dev, test


def columns(rows: Rows | None) -> dict[str, list[str]] | None:
    """As `fit` reads them."""
    return rows and {"text": [text for text, _ in rows], "label": [label for _, label in rows]}


def measured(
    model: str, parts: tuple[Rows, Rows | None, Rows], settings: dict[str, Any]
) -> tuple[float, float]:
    """Accuracy on the test part, and on the validation part, on which settings are chosen."""
    train, valid, test = (columns(rows) for rows in parts)
    assert train is not None and test is not None
    bundle = cr.fit(train, valid=valid, model=model, task="classify", **settings)
    judged = bundle.card["figures"]["valid"]["accuracy"]
    return bundle.evaluate(test).figures["accuracy"], judged


def together(
    model: str, parts: tuple[Rows, Rows | None, Rows], settings: dict[str, Any], count: int
) -> tuple[float, float]:
    """The same of a mix of several trainings."""
    rows, valid, test = parts
    if valid is None:
        order = np.random.default_rng(0).permutation(len(rows))
        at = len(rows) // HELD
        rows, valid = [rows[one] for one in order[at:]], [rows[one] for one in order[:at]]
    train, held, asked = columns(rows), columns(valid), columns(test)
    assert train is not None and held is not None and asked is not None
    models = [
        cr.fit(train, valid=held, model=model, task="classify", seed=seed, **settings)
        for seed in range(1, count + 1)
    ]
    found = mix(models, held)
    return found.evaluate(asked).figures["accuracy"], found.evaluate(held).figures["accuracy"]


def handed_over(
    budget: str, parts: tuple[Rows, Rows | None, Rows], seed: int, settings: dict[str, Any]
) -> tuple[str, float, float]:
    """What `compare` recommends, its accuracy on the test part, which the comparison never saw, and all seconds."""
    train, valid, test = (columns(rows) for rows in parts)
    assert train is not None and test is not None and valid is None
    began = time.perf_counter()
    with TemporaryDirectory() as folder:
        found = cr.compare(
            train, out=Path(folder) / "out", budget=budget, seed=seed, task="classify", **settings
        )
        accuracy = found.model().evaluate(test).figures["accuracy"]
    return str(found.recommended), accuracy, time.perf_counter() - began


def compared(folds: list[tuple[Rows, Rows | None, Rows]], given: argparse.Namespace, settings: Any) -> None:
    """Every fold of a comparison, and the mean."""
    print("| fold | handed over | accuracy | seconds |\n|---|---|---|---|")
    accuracies = []
    for number, parts in enumerate(folds, 1):
        if given.only and number != given.only:
            continue
        name, accuracy, seconds = handed_over(given.compare, parts, given.seed, settings)
        accuracies.append(100 * accuracy)
        print(f"| {number} | {name} | {100 * accuracy:.2f} | {seconds:.0f} |", flush=True)
    print(f"| all {len(accuracies)} | | {statistics.mean(accuracies):.2f} | |")


def main() -> None:
    """All models, one after another."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("data", choices=("mr", "sst5"))
    parser.add_argument("--models", default="majority,class-ngram,bag,cnn,lstm")
    parser.add_argument("--folds", type=int, default=10)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seeds", type=int, help="train so many times, with seeds from 1 on")
    parser.add_argument("--ensemble", type=int, metavar="N", help="a mix of so many trainings")
    parser.add_argument(
        "--processes", type=int, default=1, metavar="N", help="so many trainings side by side"
    )
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE")
    parser.add_argument("--compare", metavar="BUDGET", help="compare, and judge what is handed over")
    parser.add_argument("--only", type=int, metavar="FOLD", help="with --compare: this fold alone")
    given = parser.parse_args()
    settings = dict(one.partition("=")[::2] for one in given.set)
    if given.compare:
        folds = list({"mr": mr}[given.data](given.folds, given.seed))
        compared(folds, given, settings)
        return
    print("| model | accuracy | validation | trainings | seconds |\n|---|---|---|---|---|")
    for model in given.models.split(","):
        print(line(model, given, settings), flush=True)


def all_measured(
    model: str, given: argparse.Namespace, settings: dict[str, Any]
) -> list[tuple[float, float]]:
    """Every fold with every seed, one after another or several at a time."""
    seeds: list[dict[str, Any]] = [{"seed": one} for one in range(1, (given.seeds or 0) + 1)]
    folds = {"mr": mr, "sst5": sst5}[given.data](given.folds, given.seed)
    if given.ensemble:
        return [together(model, parts, settings, given.ensemble) for parts in folds]
    asked = [(model, parts, settings | seed) for parts in folds for seed in seeds or [{}]]
    if given.processes == 1:
        return [measured(*one) for one in asked]
    os.environ["CHAINRULE_THREADS"] = "1"  # of the processes
    with ProcessPoolExecutor(given.processes, get_context("spawn")) as pool:
        return list(pool.map(measured, *zip(*asked, strict=True)))


def line(model: str, given: argparse.Namespace, settings: dict[str, Any]) -> str:
    """What one model reaches, over all folds and seeds; the seconds are those of the clock, with judging."""
    began = time.perf_counter()
    found = all_measured(model, given, settings)
    passed = time.perf_counter() - began
    accuracy, judged = ([one[at] for one in found] for at in range(2))
    mean, chosen = 100 * statistics.mean(accuracy), 100 * statistics.mean(judged)
    spread = f", {100 * min(accuracy):.1f} to {100 * max(accuracy):.1f}" if len(found) > 1 else ""
    return f"| {model} | {mean:.2f}{spread} | {chosen:.2f} | {len(found)} | {passed:.0f} |"


if __name__ == "__main__":
    main()
