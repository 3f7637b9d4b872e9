"""How good a model gets in how much time: whole commands on Penn Treebank and Shakespeare. Prints a Markdown table.

    python benchmarks/learning.py                     # everything, three hours
    python benchmarks/learning.py shakespeare-45s     # one of them; --list names them

Times are of the whole command, from start to saved model, judging included.
"""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

DATA = Path(os.environ.get("CHAINRULE_DATA", "../shared/data"))
RECIPES = Path(__file__).parent.parent / "recipes"
COMMAND = [sys.executable, "-m", "chainrule.cli"]
SHAKESPEARE = ["--model", "lstm", "--codec", "characters", "--stream"]
GPT = ["--model", "gpt", "--codec", "characters", "--stream"]
PTB = ["--model", "lstm", "--codec", "words", "--closed", "--stateful"]
RUNS: dict[str, tuple[str, list[str]]] = {
    "shakespeare-45s": ("shakespeare", [*SHAKESPEARE, "--budget", "38s"]),
    "shakespeare-5m": ("shakespeare", [*SHAKESPEARE, "--budget", "285s"]),
    "shakespeare-20m": ("shakespeare", ["--config", str(RECIPES / "shakespeare-lstm.toml")]),
    "shakespeare-default": ("shakespeare", SHAKESPEARE),
    "gpt-30s": ("shakespeare", [*GPT, "--budget", "25s"]),
    "gpt-5m": ("shakespeare", [*GPT, "--budget", "285s"]),
    "gpt-20m": ("shakespeare", [*GPT, "--budget", "19m"]),
    "ptb-6m": ("ptb", [*PTB, "--budget", "325s"]),
    "ptb-25m": ("ptb", ["--config", str(RECIPES / "ptb-lstm.toml"), "--budget", "25m"]),
    "ptb-60m": ("ptb", ["--config", str(RECIPES / "ptb-lstm.toml")]),
    "ptb-default": ("ptb", PTB),
}


def files(name: str, folder: Path) -> list[str]:
    """Training and validation files as words of the command."""
    if name == "ptb":
        train, valid, test = (str(DATA / "ptb" / f"ptb.{part}.txt") for part in ("train", "valid", "test"))
        return [train, "--valid", valid, "--test", test]
    text = (DATA / "shakespeare" / "input.txt").read_text(encoding="utf-8")
    cut = len(text) * 9 // 10
    for part, piece in (("train", text[:cut]), ("valid", text[cut:])):
        (folder / f"{part}.txt").write_text(piece, encoding="utf-8")
    return [
        str(folder / "train.txt"),
        "--valid",
        str(folder / "valid.txt"),
        "--test",
        str(folder / "valid.txt"),
    ]


def row(name: str, out: Path) -> str:
    """One run, as a row."""
    data, options = RUNS[name]
    began = time.perf_counter()
    words = [*COMMAND, "fit", *files(data, out), *options, "-o", str(out / name), "--json"]
    told = json.loads(subprocess.run(words, check=True, stdout=subprocess.PIPE, text=True).stdout)
    taken = time.perf_counter() - began
    nats = told["valid"]["bits_per_symbol"] * math.log(2.0)
    figures = f"{told['valid']['perplexity']:.2f} | {told['test']['perplexity']:.2f} | {nats:.4f}"
    return f"| {name} | {taken:.0f} s | {figures} | {told['parameters']:,} |"


def mixed(name: str, out: Path) -> str:
    """The LSTM of a recipe and the 5-gram."""
    words = files("ptb", out)
    counted = [*COMMAND, "fit", *words, "--order", "5", "--codec", "words", "--closed"]
    subprocess.run([*counted, "-o", str(out / "five"), "-q"], check=True, stdout=subprocess.DEVNULL)
    mix = [
        *COMMAND,
        "mix",
        str(out / name),
        str(out / "five"),
        "--valid",
        words[2],
        "-o",
        str(out / "both"),
    ]
    subprocess.run([*mix, "-q"], check=True, stdout=subprocess.DEVNULL)
    judge = [*COMMAND, "score", str(out / "both"), "--file", words[4], "--json"]
    told = json.loads(subprocess.run(judge, check=True, stdout=subprocess.PIPE, text=True).stdout)
    return f"| {name} mixed with the 5-gram | | | {told['perplexity']:.2f} | | |"


def main() -> None:
    """Run what is named, or everything."""
    if sys.argv[1:] == ["--list"]:
        print("\n".join(RUNS))
        return
    with tempfile.TemporaryDirectory() as folder:
        print("| run | time | valid perplexity | test perplexity | valid nats | parameters |")
        print("|---|---|---|---|---|---|")
        for name in sys.argv[1:] or RUNS:
            print(row(name, Path(folder)), flush=True)
            if name in ("ptb-25m", "ptb-60m"):
                print(mixed(name, Path(folder)), flush=True)


if __name__ == "__main__":
    main()
