"""Exact match and F1 of answers, as the official evaluation of SQuAD 2 counts them (and of SQuAD 1, which agrees)."""

from __future__ import annotations

import re
import string
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np

from chainrule.judge.judged import Cell, Judged, Share, Table

ARTICLES = re.compile(r"\b(a|an|the)\b")
MARKS = str.maketrans("", "", string.punctuation)


def normalised(text: str) -> str:
    """Lower case without punctuation and English articles, one space between words."""
    return " ".join(ARTICLES.sub(" ", text.lower().translate(MARKS)).split())


def exact_match(predicted: str, answer: str) -> float:
    """1 where both are the same once normalised."""
    return float(normalised(predicted) == normalised(answer))


def f1(predicted: str, answer: str) -> float:
    """Of the words of both, how many they share; if either has none, whether both have none."""
    found, wanted = normalised(predicted).split(), normalised(answer).split()
    if not found or not wanted:
        return float(found == wanted)
    shared = sum((Counter(found) & Counter(wanted)).values())
    return 2 * shared / (len(found) + len(wanted))


def compared(predicted: str, answers: Sequence[str]) -> tuple[float, float]:
    """Exact match and F1 with the nearest of several answers; without any, the empty one is right."""
    wanted = [one for one in answers if normalised(one)] or [""]
    return max(exact_match(predicted, one) for one in wanted), max(f1(predicted, one) for one in wanted)


def best_threshold(margins: np.ndarray, answered: np.ndarray, refused: np.ndarray) -> float:
    """Above which margin (N,) no answer should be given, for the most in all.

    `answered` (N,) is what each example is worth with its answer, `refused` (N,) without.
    """
    order = np.argsort(margins, kind="stable")
    ranked = margins[order]
    worth = refused.sum() + np.concatenate([[0.0], np.cumsum((answered - refused)[order])])  # of the first k
    between = np.concatenate([[ranked[0] - 1], (ranked[:-1] + ranked[1:]) / 2, [ranked[-1] + 1]])
    apart = np.concatenate([[True], ranked[:-1] < ranked[1:], [True]])  # equal margins have equal fates
    return float(between[np.where(apart, worth, -np.inf).argmax()])


@dataclass(frozen=True)
class Spans(Judged):
    """Answers and what was right."""

    sure: ClassVar[tuple[str, ...]] = (
        "exact_match",
        "f1",
        "has_answer_exact_match",
        "has_answer_f1",
        "no_answer_exact_match",
        "no_answer_f1",
    )

    scores: np.ndarray  # (N, 2) exact match and F1
    answerable: np.ndarray  # (N,) whether there is an answer
    remarks: tuple[str, ...] = ()

    @classmethod
    def of(cls, predicted: Sequence[str], answers: Sequence[Sequence[str]], *remarks: str) -> Self:
        """From texts; an empty one means that there is no answer."""
        pairs = zip(predicted, answers, strict=True)
        scores = np.array([compared(one, right) for one, right in pairs], np.float64).reshape(-1, 2)
        return cls(scores, np.array([bool(right) for right in answers], np.bool_), remarks)

    @property
    def examples(self) -> int:
        return len(self.scores)

    def resampled(self, rows: np.ndarray) -> Self:
        return replace(self, scores=self.scores[rows], answerable=self.answerable[rows])

    @cached_property
    def _groups(self) -> dict[str, np.ndarray]:
        """The scores by kind of question; kinds that do not occur are left out."""
        found = {"has_answer_": self.scores[self.answerable], "no_answer_": self.scores[~self.answerable]}
        return {name: one for name, one in found.items() if len(one)}

    def figures(self) -> dict[str, float]:
        if not self.examples:
            return {"exact_match": float("nan"), "f1": float("nan")}
        groups = {"": self.scores, **self._groups}
        means = {name: one.mean(0) for name, one in groups.items()}
        return {
            f"{name}{figure}": float(mean[place])
            for name, mean in means.items()
            for place, figure in enumerate(("exact_match", "f1"))
        }

    def details(self) -> dict[str, Any]:
        return {
            "has_answer": int(self.answerable.sum()),
            "no_answer": int((~self.answerable).sum()),
        }

    def tables(self) -> list[Table]:
        names = {"has_answer_": "with an answer", "no_answer_": "without one"}
        rows: list[list[Cell]] = [
            [names[name], *map(Share, one.mean(0).tolist()), len(one)] for name, one in self._groups.items()
        ]
        return [Table(["questions", "exact match", "F1", "examples"], rows)]

    @property
    def notes(self) -> tuple[str, ...]:
        return self.remarks
