"""Tagging on public data: figures on the test part, time of training, words a second. Prints a Markdown table.

    python benchmarks/tagging.py ewt --models most-frequent-tag,lstm       # UPOS of UD-EWT, gold tokens
    python benchmarks/tagging.py wikiann --models most-frequent-tag,lstm --set crf=yes
    python benchmarks/tagging.py ewt --models lstm --part dev              # to choose settings by

Data come from $CHAINRULE_DATA: ud-ewt/*.conllu and wikiann-en/*.txt. What is not given is chosen by `fit`.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from pathlib import Path
from typing import Any

import chainrule as cr
from chainrule.runtime import threads

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


def measured(name: str, model: str, part: str, settings: dict[str, Any]) -> list[str]:
    """One row of the table."""
    began = time.perf_counter()
    columns = SETS[name][1]
    bundle = cr.fit(
        path(name, "train"), valid=path(name, "dev"), task="tag", model=model, **columns, **settings
    )
    trained = time.perf_counter() - began
    found = bundle.evaluate(path(name, part))
    words = found.to_dict()["words"]
    began = time.perf_counter()
    for _ in bundle.predict_each(path(name, part)):
        pass
    speed = words / (time.perf_counter() - began)
    figures = found.figures
    unknown = f"{100 * figures['unknown_accuracy']:.2f}" if "unknown_accuracy" in figures else ""
    shown = [f"{100 * figures[one]:.2f}" for one in ("accuracy", "f1")]
    return [model, *shown, unknown, f"{trained:.0f} s", f"{speed:,.0f}", str(threads())]


def main() -> None:
    """Read the arguments, print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("data", choices=SETS)
    parser.add_argument("--models", default="most-frequent-tag,lstm")
    parser.add_argument("--part", default="test", choices=("dev", "test"))
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE")
    given = parser.parse_args()
    settings: dict[str, Any] = dict(one.split("=", 1) for one in given.set)
    head = ["model", "accuracy", "F1", "accuracy of unknown words", "training", "words/s", "threads"]
    print(f"| {' | '.join(head)} |\n|{'---|' * len(head)}")
    for model in given.models.split(","):
        print(f"| {' | '.join(measured(given.data, model, given.part, settings))} |", flush=True)


if __name__ == "__main__":
    main()
