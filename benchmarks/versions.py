"""Two versions of chainrule side by side: counting, training, scoring, decoding. Prints a Markdown table.

    python benchmarks/versions.py OLD NEW          # two checkouts; Penn Treebank from $CHAINRULE_DATA

Each measurement is a process of its own; old and new take turns, and medians are given. Only calls that both
versions have are used; a setting that was renamed is tried under both names. Sizes are given, never chosen, and the
models of both versions must have equally many weights: otherwise nothing is compared.
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
LSTM |= dict(embedding=200, tied="yes")
GPT = dict(model="gpt", codec="characters", stream=True, layers=6, width=384, heads=6, context=256)
GPT |= dict(embedding=384, tied="yes")
STEPS = dict(batch_size=20, seq_len=35)

def weights(bundle):
    return sum(one.numel() for one in bundle.model.parameters())

def timed(work):
    began = time.perf_counter()
    work()
    return time.perf_counter() - began

if what == "counting":
    count = lambda: cr.fit(train, valid=valid, model="ngram", order=5, codec="words", closed=True)
    size, seconds = 0, (count(), timed(count))[1]
elif what == "training":
    learnt = fit(**LSTM, **STEPS, bf16=True, sampled_softmax=0, tokens=210_000)
    size, seconds = weights(learnt), learnt.card["training"]["seconds"]
elif what == "scoring":
    model = fit(**LSTM, **STEPS, tokens=700)
    model.score_file(valid)
    size, seconds = weights(model), timed(lambda: model.score_file(valid))
else:
    model = fit(**GPT, batch_size=2, seq_len=64, tokens=256)
    write = lambda: model.generate("the", length=250, temperature=0.0)
    write()
    size, seconds = weights(model), min(timed(write) for _ in range(3))
print(size, seconds)
"""


def measured(tree: Path, what: str, train: Path, valid: Path) -> tuple[int, float]:
    """How many weights a version's model has, and the seconds that it takes."""
    words = [sys.executable, "-c", WORK, what, str(train), str(valid), json.dumps(NAMES)]
    environment = os.environ | {"PYTHONPATH": str(tree.resolve() / "src")}
    done = subprocess.run(words, env=environment, capture_output=True, text=True, cwd=valid.parent)
    if done.returncode:
        sys.exit(done.stderr)
    size, seconds = done.stdout.split()[-2:]
    return int(size), float(seconds)


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
            sizes = set()
            for _ in range(TURNS):
                for tree, times in taken.items():
                    size, seconds = measured(tree, what, train, valid)
                    sizes.add(size)
                    times.append(seconds)
            if len(sizes) > 1:
                sys.exit(f"{what}: the models differ, weights: {sorted(sizes)}.")
            before, after = (statistics.median(times) for times in taken.values())
            print(f"| {what} | {before:.3f} s | {after:.3f} s | {after / before:.2f} |", flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
