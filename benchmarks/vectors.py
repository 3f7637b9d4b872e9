"""Word vectors beside gensim's compiled code, in turn, with as many threads each.

    python benchmarks/vectors.py DATA/ptb                  # one thread
    python benchmarks/vectors.py DATA/ptb --threads 2
    python benchmarks/vectors.py DATA/ptb --clock cpu      # seconds of work, beside other programs

The ratio is the median over the rounds of ours to the faster of gensim's two ways in the same round. Quality is
measured on text that neither has read: neighbour AUC (chance 0.5) as `fit --test` prints it, and Spearman
correlation of cosines with the PMI of pairs that occur together there.
"""

from __future__ import annotations

import argparse
import os
import statistics
import tempfile
import time
from collections import Counter
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
from gensim.models import Word2Vec
from scipy.stats import spearmanr

from chainrule.models.vectors import Sentences, VectorsConfig, WordVectors
from chainrule.symbols import BOS, EOS, FIRST

WIDTH, WINDOW, NEGATIVE, SUBSAMPLE, LEAST, EPOCHS = 100, 5, 5, 1e-3, 5, 5
CLOCKS = {"wall": time.perf_counter, "cpu": time.process_time}


def sentences(path: Path) -> list[list[str]]:
    lines = path.read_text(encoding="utf-8").splitlines()
    return [words for line in lines if (words := [word for word in line.split() if word != "<unk>"])]


def ids_of(lines: list[list[str]], numbers: dict[str, int]) -> np.ndarray:
    rows = ([BOS, *(numbers[word] for word in line if word in numbers), EOS] for line in lines)
    return np.array([id for row in rows for id in row], np.int32)


def ours(
    ids: np.ndarray, size: int, method: str, seed: int, given: argparse.Namespace
) -> tuple[float, np.ndarray]:
    config = VectorsConfig(
        vocab_size=size,
        method=method,
        width=WIDTH,
        window=WINDOW,
        negative=NEGATIVE,
        epochs=EPOCHS,
        seed=seed,
    )
    began = CLOCKS[given.clock]()
    model = WordVectors.learn(config, Sentences(ids))
    return CLOCKS[given.clock]() - began, model.table[FIRST:]


def theirs(
    text: Path | list[list[str]], names: list[str], method: str, seed: int, given: argparse.Namespace
) -> tuple[float, np.ndarray]:
    rate = 0.025 if method == "skip-gram" else 0.05
    model = Word2Vec(
        vector_size=WIDTH, window=WINDOW, negative=NEGATIVE, sample=SUBSAMPLE, min_count=LEAST,
        sg=int(method == "skip-gram"), alpha=rate, workers=given.threads, seed=seed,
    )  # fmt: skip
    key = {"corpus_file": str(text)} if isinstance(text, Path) else {"corpus_iterable": text}
    model.build_vocab(**key)
    began = CLOCKS[given.clock]()
    model.train(**key, total_examples=model.corpus_count, total_words=model.corpus_total_words, epochs=EPOCHS)
    took = CLOCKS[given.clock]() - began
    return took, np.stack([model.wv[name] for name in names])


def quality(table: np.ndarray, held: np.ndarray) -> tuple[float, float]:
    """Neighbour AUC, and Spearman correlation of cosines with PMI."""
    units = table / np.maximum(np.linalg.norm(table, axis=1, keepdims=True), 1e-12)
    words = held - FIRST
    pairs = [
        (a, b)
        for apart in (1, 2)
        for a, b in zip(words[:-apart].tolist(), words[apart:].tolist(), strict=True)
        if a >= 0 and b >= 0 and a != b
    ]
    left, right = np.array(pairs).T
    other = np.random.default_rng(0).permutation(right)
    near, far = (np.einsum("nd,nd->n", units[left], units[one]) for one in (right, other))
    counts, singles = Counter(pairs), Counter(words[words >= 0].tolist())
    common = [(pair, count) for pair, count in counts.items() if count >= 5]
    pmi = [np.log(count / singles[a] / singles[b]) for (a, b), count in common]
    cosines = [float(units[a] @ units[b]) for (a, b), _ in common]
    return float((near > far).mean()), float(spearmanr(pmi, cosines).statistic)


def main(given: argparse.Namespace) -> None:
    os.environ["CHAINRULE_THREADS"] = str(given.threads)
    folder = Path(given.data)
    lines, held = (sentences(folder / f"ptb.{part}.txt") for part in ("train", "test"))
    counts = Counter(word for line in lines for word in line)
    names = sorted((word for word in counts if counts[word] >= LEAST), key=lambda word: (-counts[word], word))
    numbers = {word: FIRST + at for at, word in enumerate(names)}
    ids, new, total = ids_of(lines, numbers), ids_of(held, numbers), EPOCHS * sum(map(len, lines))
    for method in ("skip-gram", "cbow"):  # compiles
        ours(ids[:1000], FIRST + len(names), method, 1, given)
    with tempfile.TemporaryDirectory() as place:
        file = Path(place) / "text.txt"
        file.write_text("\n".join(" ".join(line) for line in lines), encoding="utf-8")
        for method in ("skip-gram", "cbow"):
            compare(method, ids, new, names, lines, file, total, given)


def compare(
    method: str,
    ids: np.ndarray,
    new: np.ndarray,
    names: list[str],
    lines: list[list[str]],
    file: Path,
    total: int,
    given: argparse.Namespace,
) -> None:
    speeds: dict[str, list[float]] = {}
    marks: dict[str, list[tuple[float, float]]] = {}
    for seed in range(1, given.rounds + 1):
        runs = {
            "chainrule": lambda: ours(ids, FIRST + len(names), method, seed, given),  # noqa: B023
            "gensim, file": lambda: theirs(file, names, method, seed, given),  # noqa: B023
            "gensim, lists": lambda: theirs(lines, names, method, seed, given),  # noqa: B023
        }
        for name, run in runs.items():
            took, table = run()
            speeds.setdefault(name, []).append(total / took)
            marks.setdefault(name, []).append(quality(table, new))
    for name, found in speeds.items():
        auc, rho = (statistics.mean(one) for one in zip(*marks[name], strict=True))
        print(
            f"{method:10} {name:14} {statistics.median(found):>10,.0f} words/s   AUC {auc:.4f}   rho {rho:.4f}"
        )
    rounds = zip(*speeds.values(), strict=True)
    ratio = statistics.median(own / max(others) for own, *others in rounds)
    print(f"{method:10} {ratio:.2f} times the faster of the two", flush=True)


def asked() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("data", help="a folder with ptb.train.txt and ptb.test.txt")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--clock", choices=tuple(CLOCKS), default="wall")
    return parser.parse_args()


if __name__ == "__main__":
    main(asked())
