"""The tasks of GLUE from their published files: python benchmarks/glue.py FOLDER [--model bag] [--tasks MRPC RTE]

Fits on train.tsv, evaluates on dev.tsv (MNLI: matched and mismatched), prints the published figures and their average.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import Any

import chainrule as cr
from chainrule.judge.glue import PUBLISHED, glue_score, task_score

DEVS = {"MNLI": {"matched_accuracy": "dev_matched.tsv", "mismatched_accuracy": "dev_mismatched.tsv"}}


def figures(folder: Path, task: str, settings: dict[str, Any]) -> dict[str, float]:
    """Of one task."""
    devs = {name: folder / file for name, file in DEVS.get(task, {"": "dev.tsv"}).items()}
    kind = "regress" if task == "STS-B" else "classify"
    first = next(iter(devs.values()))
    model = cr.fit(folder / "train.tsv", valid=first, format="glue", task=kind, **settings)
    found = {name: model.evaluate(path).figures for name, path in devs.items()}
    return {name: own["accuracy"] for name, own in found.items()} if task in DEVS else found[""]


def main() -> None:
    """All tasks that are there."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--model", default="bag")
    parser.add_argument("--budget", help="of each task, for models that learn by gradient")
    parser.add_argument("--tasks", nargs="*", default=list(PUBLISHED), choices=list(PUBLISHED))
    given = parser.parse_args()
    settings = {"model": given.model} | ({"budget": given.budget} if given.budget else {})
    found = {}
    for task in given.tasks:
        if not (given.folder / task / "train.tsv").exists():
            print(f"{task}: no {given.folder / task / 'train.tsv'}")
            continue
        began = time.perf_counter()
        found[task] = figures(given.folder / task, task, settings)
        told = ", ".join(f"{name} {found[task][name]:.4f}" for name in PUBLISHED[task])
        print(
            f"{task}: {task_score(task, found[task]):.1f} ({told}; {time.perf_counter() - began:.0f} s)",
            flush=True,
        )
    if found:
        print(f"average over {len(found)} tasks: {glue_score(found):.1f}")


if __name__ == "__main__":
    main()
