"""Questions about passages with several candidates: who lives where. Neither side alone says the answer."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

NAMES = ["Anna", "Bob", "Carl", "Dora", "Emil", "Fay", "Gus", "Hana"]
CITIES = ["Paris", "Rome", "Oslo", "Lima", "New York", "Bonn", "Cairo", "San Juan"]


OTHER = "It is so."


def asked(
    count: int, seed: int = 0, people: int = 3, impossible: float = 0.0, others: int = 0
) -> list[dict[str, Any]]:
    """Questions with passage, answer and its place; some of them ask for a person the passage does not know.

    Up to so many `others` among the sentences say nothing.
    """
    random = np.random.default_rng(seed)
    found = []
    for number in range(count):
        names = random.permutation(NAMES)[: people + 1]
        cities = random.permutation(CITIES)[:people]
        parts = [f"{name} lives in {city}." for name, city in zip(names[:people], cities, strict=True)]
        told = list(parts)
        for _ in range(random.integers(others + 1) if others else 0):
            told.insert(int(random.integers(len(told) + 1)), OTHER)
        passage, nobody = "  ".join(told), random.random() < impossible
        who = people if nobody else int(random.integers(people))
        answer = "" if nobody else str(cities[who])
        start = -1 if nobody else passage.index(parts[who]) + parts[who].index(answer)
        question = f"Where does {names[who]} live?"
        found.append(
            {"id": f"q{number}", "question": question, "passage": passage, "answer": answer, "start": start}
        )
    return found


def squad(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """As SQuAD has them: version 2 where there are questions without an answer."""
    two = any(not row["answer"] for row in rows)
    paragraphs = []
    for row in rows:
        answers = [{"text": row["answer"], "answer_start": row["start"]}] if row["answer"] else []
        one = {"id": row["id"], "question": row["question"], "answers": answers}
        one |= {"is_impossible": not answers} if two else {}
        paragraphs.append({"context": row["passage"], "qas": [one]})
    return {
        "version": "v2.0" if two else "1.1",
        "data": [{"title": "people", "paragraphs": paragraphs}],
    }


def columns(rows: list[dict[str, Any]]) -> dict[str, list[str]]:
    """As a dict of columns."""
    return {name: [row[name] for row in rows] for name in ("question", "passage", "answer")}


def written(path: Path, rows: list[dict[str, Any]]) -> Path:
    """A file in the format of SQuAD."""
    path.write_text(json.dumps(squad(rows)), encoding="utf-8")
    return path
