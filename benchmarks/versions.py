"""Two versions of chainrule side by side: counting, training, scoring, decoding. Prints a Markdown table.

    python benchmarks/versions.py OLD NEW          # two checkouts; Penn Treebank from $CHAINRULE_DATA

Each measurement is a process of its own; old and new take turns, and medians are given. Only calls that both
versions have are used; a setting that was renamed is tried under both names.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

DATA = Path(os.environ.get("CHAINRULE_DATA", "../shared/data")).resolve()
WHAT = os.environ.get("WHAT", "counting training scoring decoding").split()
TURNS = int(os.environ.get("TURNS", "7"))
NAMES = {
    "batch_size": "rows",
    "seq_len": "span",
    "bf16": "coarse",
    "sampled_softmax": "samples",
    "stateful": "carry",
}
WORK = """
import json, sys, time
import chainrule as cr
from chainrule.train.config import TrainConfig

what, train, valid, names = sys.argv[1], sys.argv[2], sys.argv[3], json.loads(sys.argv[4])
new = hasattr(TrainConfig, "batch_size")

def fit(**settings):
    told = settings if new else {names.get(name, name): value for name, value in settings.items()}
    return cr.fit(train, valid=valid, test=valid, **told)

LSTM = dict(model="lstm", codec="words", closed=True, width=200, layers=2, stateful=True, dropout=0.0)
GPT = dict(model="gpt", codec="characters", stream=True, layers=6, width=384, heads=6, context=256)
STEPS = dict(batch_size=20, seq_len=35)

def timed(work):
    began = time.perf_counter()
    work()
    return time.perf_counter() - began

if what == "counting":
    count = lambda: cr.fit(train, valid=valid, model="ngram", order=5, codec="words", closed=True)
    count()
    print(timed(count))
elif what == "training":
    learnt = fit(**LSTM, **STEPS, bf16=True, sampled_softmax=0, tokens=210_000)
    print(learnt.card["training"]["seconds"])
elif what == "scoring":
    model = fit(**LSTM, **STEPS, tokens=700)
    model.score_file(valid)
    print(timed(lambda: model.score_file(valid)))
else:
    model = fit(**GPT, batch_size=2, seq_len=64, tokens=256)
    write = lambda: model.generate("the", length=250, temperature=0.0)
    write()
    print(min(timed(write) for _ in range(3)))
"""


def measured(tree: Path, what: str, train: Path, valid: Path) -> float:
    """Seconds that one version takes."""
    words = [sys.executable, "-c", WORK, what, str(train), str(valid), json.dumps(NAMES)]
    environment = os.environ | {"PYTHONPATH": str(tree.resolve() / "src")}
    done = subprocess.run(words, env=environment, capture_output=True, text=True, cwd=valid.parent)
    if done.returncode:
        sys.exit(done.stderr)
    return float(done.stdout.split()[-1])


def main(old: Path, new: Path) -> None:
    """Everything, in turns."""
    if not (DATA / "ptb").is_dir():
        sys.exit(
            f"There is no {DATA / 'ptb'}. Set CHAINRULE_DATA to the folder that holds ptb/ptb.train.txt."
        )
    print("| what | old | new | new / old |\n|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        lines = (DATA / "ptb" / "ptb.valid.txt").read_text().splitlines(keepends=True)
        for what in WHAT:
            valid = Path(folder) / f"{what}.txt"
            valid.write_text("".join(lines[: 40 if what == "decoding" else 1500]))
            train = valid if what in ("scoring", "decoding") else DATA / "ptb" / "ptb.train.txt"
            taken: dict[Path, list[float]] = {old: [], new: []}
            for _ in range(TURNS):
                for tree, times in taken.items():
                    times.append(measured(tree, what, train, valid))
            before, after = (statistics.median(times) for times in taken.values())
            print(f"| {what} | {before:.3f} s | {after:.3f} s | {after / before:.2f} |", flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
