"""ELMo trained on unlabelled text, then a tagger with a tenth of the labels. Prints a Markdown table.

    python benchmarks/elmo.py DATA/ud-ewt --budget 14m -o FOLDER
    python benchmarks/elmo.py DATA/ud-ewt --ways frozen,lstm -o FOLDER

DATA/ud-ewt holds train.conllu, dev.conllu and test.conllu. The language models are trained on the words (FORM) of all
training sentences and kept in FOLDER/lm; one that is there is taken. Then taggers learn from drawn sentences with their
UPOS: `lstm` without ELMo, about as large; the body of ELMo under a bidirectional LSTM with new weights (`fresh`), as it
was trained (`frozen`), or trained further (`tuned`). Without -o the language models are not kept.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

import chainrule as cr

LM = {"model": "elmo", "codec": "words", "min_count": 2, "column": "FORM", "width": 192, "dropout": 0.3}
HEAD = {"head_layers": 1, "head_units": 128, "head_dropout": 0.4, "lr": 0.004}
PLAIN = {"layers": 2, "width": 192, "dropout": 0.4, "embedding_dropout": 0.2}
WAYS: dict[str, dict[str, Any]] = {
    "lstm": {"model": "lstm", "epochs": 15, **PLAIN},
    "fresh": {"epochs": 20, "dropout": 0.3, **HEAD},
    "frozen": {"epochs": 12, **HEAD},
    "tuned": {"epochs": 12, **HEAD},
}


def language_model(data: Path, folder: Path, budget: str) -> cr.Bundle:
    """Trained on the words of all sentences, without labels; that of an earlier run, if there is one."""
    if not (folder / "lm").exists():
        parts = {name: data / f"{name}.conllu" for name in ("train", "dev", "test")}
        lm = cr.fit(parts["train"], valid=parts["dev"], test=parts["test"], budget=budget, **LM)
        lm.save(folder / "lm")
    return cr.load(folder / "lm")


def drawn(data: Path, share: float, seed: int, folder: Path) -> Path:
    """Some of the training sentences, as a file."""
    sentences = (data / "train.conllu").read_text(encoding="utf-8").strip().split("\n\n")
    chosen = np.random.default_rng(seed).permutation(len(sentences))[: round(share * len(sentences))]
    path = folder / f"train-{seed}.conllu"
    path.write_text("".join(sentences[at] + "\n\n" for at in sorted(chosen.tolist())), encoding="utf-8")
    return path


def tagger(lm: cr.Bundle, train: Path, data: Path, way: str, seed: int) -> cr.Bundle:
    """One training, judged on dev and test."""
    parts = {"valid": data / "dev.conllu", "test": data / "test.conllu", "column": "FORM", "label": "UPOS"}
    settings = WAYS[way] | ({} if way == "lstm" else {"init_from": lm, "transfer": way})
    return cr.fit(train, task="tag", batch_size=16, seed=seed, refit=False, **parts, **settings)


def table(lm: cr.Bundle, given: argparse.Namespace, folder: Path) -> None:
    """Every way on every draw."""
    print(
        "| tagger | test accuracy, each draw | mean | dev | seconds | parameters |\n|---|---|---|---|---|---|"
    )
    for way in given.ways.split(","):
        began = time.perf_counter()
        models = [
            tagger(lm, drawn(given.data, given.share, seed, folder), given.data, way, seed)
            for seed in range(given.seeds)
        ]
        test, dev = (
            [100 * model.card["figures"][part]["accuracy"] for model in models] for part in ("test", "valid")
        )
        each, taken = ", ".join(f"{one:.2f}" for one in test), (time.perf_counter() - began) / given.seeds
        means = f"{statistics.mean(test):.2f} | {statistics.mean(dev):.2f}"
        print(f"| {way} | {each} | {means} | {taken:.0f} | {models[-1].parameters:,} |", flush=True)


def main() -> None:
    """Train the language models if there are none, then the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("data", type=Path)
    parser.add_argument("--budget", default="14m", help="for the language models")
    parser.add_argument("--share", type=float, default=0.1, help="of the labelled sentences")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--ways", default=",".join(WAYS))
    parser.add_argument("-o", dest="folder", type=Path)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        lm = language_model(given.data, given.folder or Path(folder), given.budget)
        told = lm.card["figures"]["test"]
        both = ", ".join(f"{one} {told[f'{one}_perplexity']:.1f}" for one in ("forward", "backward"))
        print(f"test perplexity: {both}\n")
        table(lm, given, Path(folder))


if __name__ == "__main__":
    main()
