"""Everything together: an LSTM, a neural cache, dynamic evaluation and an n-gram, as whole commands within one time.

    python benchmarks/together.py ptb                         # an hour
    python benchmarks/together.py shakespeare --budget 14m    # 20 minutes; the budget is that of the LSTM

Penn Treebank is judged on its test part; everything is chosen on its validation part. Of Shakespeare the last tenth is
judged, as is usual, and nothing is chosen on it: the text before it gives its last twentieth to choose on. Prints a
Markdown table with the seconds from the beginning of the first command to the end of each row.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

DATA = Path(os.environ.get("CHAINRULE_DATA", "../shared/data"))
RECIPES = Path(__file__).parent.parent / "recipes"
COMMAND = [sys.executable, "-m", "chainrule.cli"]


@dataclass(frozen=True)
class Text:
    """Three files, how they are read, and what is trained on them."""

    train: Path
    valid: Path
    test: Path
    reading: tuple[str, ...]
    recipe: str
    order: int
    ways: tuple[str, ...]  # flags of adapting, mixed with the n-gram


def penn(folder: Path) -> Text:
    """Words, line by line."""
    parts = [DATA / "ptb" / f"ptb.{part}.txt" for part in ("train", "valid", "test")]
    return Text(*parts, ("--codec", "words", "--closed"), "ptb-lstm.toml", 5, ("--neural-cache",))


def shakespeare(folder: Path) -> Text:
    """Characters, one stream."""
    text = (DATA / "shakespeare" / "input.txt").read_text(encoding="utf-8")
    cut = len(text) * 9 // 10
    pieces = {"train": text[: cut * 19 // 20], "valid": text[cut * 19 // 20 : cut], "test": text[cut:]}
    for name, piece in pieces.items():
        (folder / f"{name}.txt").write_text(piece, encoding="utf-8")
    parts = [folder / f"{name}.txt" for name in pieces]
    reading, ways = ("--codec", "characters", "--stream"), ("--dynamic",)
    return Text(*parts, reading, "shakespeare-lstm.toml", 8, ways)


TEXTS = {"ptb": (penn, "45m"), "shakespeare": (shakespeare, "14m")}


def run(*words: str | Path) -> dict[str, float]:
    """One command; gives what it prints."""
    done = subprocess.run([*COMMAND, *map(str, words), "--json", "-q"], check=True, stdout=subprocess.PIPE)
    told: dict[str, float] = json.loads(done.stdout)
    return told


def row(name: str, model: Path, test: Path, began: float) -> str:
    """A model on the test part; time stands still while one is judged that the last one does not need."""
    bits = run("score", model, "--file", test)["bits_per_symbol"]
    seconds = time.perf_counter() - began
    return f"| {name} | {2**bits:.2f} | {bits * math.log(2):.4f} | {seconds:,.0f} s |"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("text", choices=TEXTS)
    parser.add_argument("--budget", help="of the LSTM")
    parser.add_argument("--keep", type=Path, help="a folder for the models")
    asked = parser.parse_args()
    made, usual = TEXTS[asked.text]
    with tempfile.TemporaryDirectory() as temporary:
        folder = asked.keep or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        text = made(folder)
        lstm, counts, both, all_in = (folder / name for name in ("lstm", "counts", "both", "all"))
        files = (text.train, "--valid", text.valid)
        began = time.perf_counter()
        budget = ("--config", RECIPES / text.recipe, "--budget", asked.budget or usual)
        run("fit", *files, *budget, "-o", lstm)
        run("fit", *files, *text.reading, "--order", str(text.order), "-o", counts)
        print("| model | perplexity | nats | after |\n|---|---|---|---|")
        run("mix", lstm, counts, "--valid", text.valid, *text.ways, "-o", all_in)
        print(
            row(f"with {' '.join(text.ways)} and a {text.order}-gram", all_in, text.test, began), flush=True
        )
        run("mix", lstm, counts, "--valid", text.valid, "-o", both)
        for name, model in (("LSTM", lstm), (f"with a {text.order}-gram", both)):
            print(row(name, model, text.test, began), flush=True)


if __name__ == "__main__":
    main()
