"""Cloze questions about real text: python benchmarks/spans.py TRAIN.txt TEST.txt [--questions 25000] [--epochs 4]

Six lines of text make a passage. A question is one of them with one to three words left out, of which five words are
kept on either side; the answer are the words left out. A passage alone does not say which words are meant.
"""

from __future__ import annotations

import argparse
import json
import random
import tempfile
import time
from pathlib import Path

import chainrule as cr

LINES, EACH, AROUND = 6, 5, 5  # of a passage; questions about it; words on either side
SETTINGS = {"model": "lstm", "codec": "words", "embedding": 100, "width": 128, "layers": 1, "dropout": 0.2}
TRAINING = {"head_units": 128, "head_dropout": 0.2, "lr": 0.002, "batch_size": 32, "bidirectional": True}


def questions(text: Path, count: int, seed: int = 0) -> dict[str, object]:
    """As SQuAD has them."""
    chosen = random.Random(seed)
    lines = [line.strip() for line in text.read_text(encoding="utf-8").splitlines() if len(line.split()) > 8]
    paragraphs, made = [], 0
    for at in range(0, len(lines) - LINES, LINES):
        some = lines[at : at + LINES]
        asked = [question(some, chosen, made + one) for one in range(EACH)]
        paragraphs.append({"context": " ".join(some), "qas": asked})
        made += EACH
        if made >= count:
            break
    return {"version": "1.1", "data": [{"title": text.name, "paragraphs": paragraphs}]}


def question(lines: list[str], chosen: random.Random, number: int) -> dict[str, object]:
    """One line with a few words left out."""
    line = chosen.randrange(len(lines))
    words, size = lines[line].split(), chosen.randint(1, 3)
    first = chosen.randrange(len(words) - size)
    left, right = words[max(0, first - AROUND) : first], words[first + size : first + size + AROUND]
    answer = " ".join(words[first : first + size])
    start = len(" ".join([*lines[:line], *words[:first], ""]))
    answers = [{"text": answer, "answer_start": start}]
    return {"id": f"q{number}", "question": " ".join([*left, "what", *right, "?"]), "answers": answers}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("train", type=Path)
    parser.add_argument("test", type=Path)
    parser.add_argument("--questions", type=int, default=25_000)
    parser.add_argument("--epochs", type=float, default=4.0)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        files = {"train": asked.questions, "test": 1000}
        for name, count in files.items():
            made = questions(getattr(asked, name), count)
            (Path(folder) / f"{name}.json").write_text(json.dumps(made), encoding="utf-8")
        began = time.perf_counter()
        settings = {**SETTINGS, **TRAINING, "epochs": asked.epochs}
        model = cr.fit(f"{folder}/train.json", task="span", **settings)
        took = time.perf_counter() - began
        found = model.evaluate(f"{folder}/test.json")
    print(json.dumps({"seconds": round(took, 1), **found.to_dict()}, indent=2))


if __name__ == "__main__":
    main()
