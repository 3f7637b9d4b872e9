"""Word vectors beside gensim's compiled code, one thread each, in turn: `python benchmarks/vectors.py DATA/ptb`.

Quality is measured on text that neither has read: neighbour AUC (chance 0.5) as `fit --test` prints it, and Spearman
correlation of cosines with the PMI of pairs that occur together there.
"""

from __future__ import annotations

import os
import statistics
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("CHAINRULE_THREADS", "1")

import numpy as np
from gensim.models import Word2Vec
from scipy.stats import spearmanr

from chainrule.models.vectors import Sentences, VectorsConfig, WordVectors
from chainrule.symbols import BOS, EOS, FIRST

WIDTH, WINDOW, NEGATIVE, SUBSAMPLE, LEAST, EPOCHS, ROUNDS = 100, 5, 5, 1e-3, 5, 5, 3


def sentences(path: Path) -> list[list[str]]:
    lines = path.read_text(encoding="utf-8").splitlines()
    return [words for line in lines if (words := [word for word in line.split() if word != "<unk>"])]


def ids_of(lines: list[list[str]], numbers: dict[str, int]) -> np.ndarray:
    rows = ([BOS, *(numbers[word] for word in line if word in numbers), EOS] for line in lines)
    return np.array([id for row in rows for id in row], np.int32)


def ours(ids: np.ndarray, size: int, method: str, seed: int) -> tuple[float, np.ndarray]:
    config = VectorsConfig(
        vocab_size=size,
        method=method,
        width=WIDTH,
        window=WINDOW,
        negative=NEGATIVE,
        epochs=EPOCHS,
        seed=seed,
    )
    began = time.perf_counter()
    model = WordVectors.learn(config, Sentences(ids))
    return time.perf_counter() - began, model.table[FIRST:]


def theirs(
    given: Path | list[list[str]], names: list[str], method: str, seed: int
) -> tuple[float, np.ndarray]:
    rate = 0.025 if method == "skip-gram" else 0.05
    model = Word2Vec(
        vector_size=WIDTH, window=WINDOW, negative=NEGATIVE, sample=SUBSAMPLE, min_count=LEAST,
        sg=int(method == "skip-gram"), alpha=rate, workers=1, seed=seed,
    )  # fmt: skip
    key = {"corpus_file": str(given)} if isinstance(given, Path) else {"corpus_iterable": given}
    model.build_vocab(**key)
    began = time.perf_counter()
    model.train(**key, total_examples=model.corpus_count, total_words=model.corpus_total_words, epochs=EPOCHS)
    took = time.perf_counter() - began
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


def main(folder: Path) -> None:
    lines, held = (sentences(folder / f"ptb.{part}.txt") for part in ("train", "test"))
    counts = Counter(word for line in lines for word in line)
    names = sorted((word for word in counts if counts[word] >= LEAST), key=lambda word: (-counts[word], word))
    numbers = {word: FIRST + at for at, word in enumerate(names)}
    ids, new, total = ids_of(lines, numbers), ids_of(held, numbers), EPOCHS * sum(map(len, lines))
    ours(ids[:1000], FIRST + len(names), "skip-gram", 1), ours(ids[:1000], FIRST + len(names), "cbow", 1)
    with tempfile.TemporaryDirectory() as place:
        file = Path(place) / "text.txt"
        file.write_text("\n".join(" ".join(line) for line in lines), encoding="utf-8")
        for method in ("skip-gram", "cbow"):
            compare(method, ids, new, names, lines, file, total)


def compare(
    method: str,
    ids: np.ndarray,
    new: np.ndarray,
    names: list[str],
    lines: list[list[str]],
    file: Path,
    total: int,
) -> None:
    speeds: dict[str, list[float]] = {}
    marks: dict[str, list[tuple[float, float]]] = {}
    for seed in range(1, ROUNDS + 1):
        runs = {
            "chainrule": lambda: ours(ids, FIRST + len(names), method, seed),  # noqa: B023
            "gensim, file": lambda: theirs(file, names, method, seed),  # noqa: B023
            "gensim, lists": lambda: theirs(lines, names, method, seed),  # noqa: B023
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
    best = max(statistics.median(found) for name, found in speeds.items() if name != "chainrule")
    print(f"{method:10} {statistics.median(speeds['chainrule']) / best:.2f} times the faster of the two")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
