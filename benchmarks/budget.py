"""Does a budget hold on a busy machine? Whole commands beside a load that comes and goes. Prints a Markdown table.

    python benchmarks/budget.py                 # every kind of load, five times each: about twelve minutes
    python benchmarks/budget.py --budget 10s --times 1 none both

Times are of the whole command, from start to saved model, judging included.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

DATA = Path(os.environ.get("CHAINRULE_DATA", "../shared/data"))
SPIN = "while True: pass"
LOADS = {"none": 0, "one core": 1, "both": 2, "at the beginning": 2, "at the end": 2}  # processes that spin


def phases(load: str, budget: float, rng: random.Random) -> list[tuple[float, bool]]:
    """Seconds and whether there is a load, one after the other."""
    if load == "at the beginning":
        return [(0.3 * budget, True)]
    if load == "at the end":
        return [(0.6 * budget, False), (10 * budget, True)]
    return [(rng.uniform(0.05, 0.3) * budget, number % 2 == 1) for number in range(60)]


def spinning(count: int) -> list[subprocess.Popen[bytes]]:
    """Processes that keep cores busy."""
    return [subprocess.Popen([sys.executable, "-c", SPIN]) for _ in range(count)]


@contextlib.contextmanager
def disturbed(load: str, budget: float, seed: int) -> Iterator[None]:
    """A stretch in which a load is switched on and off by a process of its own."""
    words = [sys.executable, __file__, "--disturb", load, "--seed", str(seed), "--budget", f"{budget}s"]
    process = subprocess.Popen(words, stdin=subprocess.PIPE)
    try:
        yield
    finally:
        process.communicate()  # its input ends, and so does it


def disturb(load: str, budget: float, seed: int) -> None:
    """Switch the load on and off until nobody listens any more."""
    import select

    for seconds, busy in phases(load, budget, random.Random(seed)):
        spinners = spinning(LOADS[load] if busy else 0)
        ended = select.select([sys.stdin], [], [], seconds)[0]
        for spinner in spinners:
            spinner.kill()
            spinner.wait()
        if ended:
            return


def measured(load: str, family: str, budget: float, seed: int, folder: Path) -> tuple[float, int, float]:
    """Seconds of one command, the steps it made and the bits it reached."""
    text = (DATA / "shakespeare" / "input.txt").read_bytes()[:900_000]
    (folder / "text.txt").write_bytes(text)
    words = [sys.executable, "-m", "chainrule.cli", "fit", str(folder / "text.txt"), "--stream"]
    words += ["--codec", "characters", "--model", family, "--budget", f"{budget}s", "--json", "--force"]
    with disturbed(load, budget, seed):
        began = time.perf_counter()
        told = subprocess.run([*words, "-q", "-o", str(folder / "lm")], check=True, stdout=subprocess.PIPE)
        taken = time.perf_counter() - began
    card = json.loads((folder / "lm" / "card.json").read_text())
    return taken, card["training"]["steps"], json.loads(told.stdout)["valid"]["bits_per_symbol"]


def row(load: str, family: str, budget: float, times: int) -> str:
    """One kind of load, as a row."""
    with tempfile.TemporaryDirectory() as folder:
        found = [measured(load, family, budget, seed, Path(folder)) for seed in range(times)]
    taken = [one[0] / budget for one in found]
    steps, bits = (statistics.median(one[place] for one in found) for place in (1, 2))
    shares = f"{statistics.median(taken):.1%} | {min(taken):.1%} - {max(taken):.1%}"
    return f"| {load} | {family} | {shares} | {steps:,.0f} | {bits:.3f} |"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("loads", nargs="*", help=f"of {', '.join(LOADS)}")
    parser.add_argument("--model", default="gru")
    parser.add_argument("--budget", default="30s")
    parser.add_argument("--times", type=int, default=5)
    parser.add_argument("--disturb", choices=LOADS, help=argparse.SUPPRESS)
    parser.add_argument("--seed", type=int, default=0, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    budget = float(asked.budget.removesuffix("s"))
    if asked.disturb:
        disturb(asked.disturb, budget, asked.seed)
        return
    print("| load | family | share of the budget, median | from - to | steps | bits per symbol |")
    print("|---|---|---|---|---|---|")
    for load in asked.loads or LOADS:
        print(row(load, asked.model, budget, asked.times), flush=True)


if __name__ == "__main__":
    main()
