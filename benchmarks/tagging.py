"""Tagging on public data: figures on the test part, time of training, words a second. Prints a Markdown table.

    python benchmarks/tagging.py ewt --models most-frequent-tag,lstm       # UPOS of UD-EWT, gold tokens
    python benchmarks/tagging.py wikiann --models most-frequent-tag,lstm --set crf=yes
    python benchmarks/tagging.py ewt --models lstm --part dev              # to choose settings by
    python benchmarks/tagging.py ewt --models lstm --ensemble 4            # the mix of four seeds, one a core at a time

Data come from $CHAINRULE_DATA: ud-ewt/*.conllu and wikiann-en/*.txt. What is not given is chosen by `fit`.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import chainrule as cr
from chainrule.runtime import threads
from chainrule.train.mix import mix

DATA = Path(os.environ.get("CHAINRULE_DATA", "../shared/data")).resolve()
SETS: dict[str, tuple[str, dict[str, str]]] = {
    "ewt": ("ud-ewt/{}.conllu", {"column": "FORM", "label": "UPOS"}),
    "wikiann": ("wikiann-en/{}.txt", {}),
}


def path(name: str, part: str) -> str:
    """The file of one part."""
    found = DATA / SETS[name][0].format(part)
    if not found.exists():
        sys.exit(f"There is no {found}. Set CHAINRULE_DATA to the folder that holds it.")
    return str(found)


def trained(name: str, model: str, settings: dict[str, Any]) -> cr.Bundle:
    """One tagger."""
    given = {**SETS[name][1], **settings}
    return cr.fit(path(name, "train"), valid=path(name, "dev"), task="tag", model=model, **given)


def kept(name: str, model: str, settings: dict[str, Any], folder: str) -> str:
    """The folder of one tagger."""
    trained(name, model, settings).save(folder)
    return folder


def together(name: str, model: str, settings: dict[str, Any], count: int) -> cr.Bundle:
    """The mix of taggers of several seeds, trained side by side: each in a process with one thread, a core for each."""
    os.environ["CHAINRULE_THREADS"] = "1"  # of the processes
    with TemporaryDirectory() as folder, ProcessPoolExecutor(mp_context=get_context("spawn")) as cores:
        seeds = [settings | {"seed": str(seed)} for seed in range(1, count + 1)]
        asked = [cores.submit(kept, name, model, one, f"{folder}/{one['seed']}") for one in seeds]
        return mix([cr.load(one.result()) for one in asked], path(name, "dev"))


def measured(name: str, model: str, part: str, settings: dict[str, Any], ensemble: int) -> list[str]:
    """One row of the table."""
    began = time.perf_counter()
    bundle = together(name, model, settings, ensemble) if ensemble else trained(name, model, settings)
    seconds = time.perf_counter() - began
    found = bundle.evaluate(path(name, part))
    words = found.to_dict()["words"]
    began = time.perf_counter()
    for _ in bundle.predict_each(path(name, part)):
        pass
    speed = words / (time.perf_counter() - began)
    figures = found.figures
    unknown = f"{100 * figures['unknown_accuracy']:.2f}" if "unknown_accuracy" in figures else ""
    shown = [f"{100 * figures[one]:.2f}" for one in ("accuracy", "f1")]
    return [model, *shown, unknown, f"{seconds:.0f} s", f"{speed:,.0f}", str(threads())]


def main() -> None:
    """Read the arguments, print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("data", choices=SETS)
    parser.add_argument("--models", default="most-frequent-tag,lstm")
    parser.add_argument("--ensemble", type=int, default=0, metavar="N", help="the mix of so many seeds")
    parser.add_argument("--part", default="test", choices=("dev", "test"))
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE")
    given = parser.parse_args()
    settings: dict[str, Any] = dict(one.split("=", 1) for one in given.set)
    head = ["model", "accuracy", "F1", "accuracy of unknown words", "training", "words/s", "threads"]
    print(f"| {' | '.join(head)} |\n|{'---|' * len(head)}")
    for model in given.models.split(","):
        row = measured(given.data, model, given.part, settings, given.ensemble)
        print(f"| {' | '.join(row)} |", flush=True)


if __name__ == "__main__":
    main()
