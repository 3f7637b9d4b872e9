"""Figures of tagging: accuracy of words, known and unknown, and F1 of chunks as conlleval and seqeval count it.

All is counted sentence by sentence, so that drawing sentences again is a matter of adding up.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, ClassVar, Self

import numpy as np

from chainrule.chunks import chunks, place, scheme
from chainrule.judge.judged import Cell, Judged, Share, Table

UNSEEN = (
    "(unseen)"  # the type of what was never seen in training: each such word is a chunk that was not found
)
RIGHT, CALLED, WANTED = range(3)  # of a type of chunks or a tag: found as it is, predicted, there
LEAST = 1e-15


@dataclass(frozen=True)
class Answers:
    """Tags of words beside the right ones, sentence by sentence."""

    predicted: np.ndarray  # (words,) from 0 on
    right: np.ndarray  # (words,) the same; -1: a tag that was never seen in training
    starts: np.ndarray  # (sentences + 1,) the word each begins with
    known: np.ndarray  # (words,) whether the word is in the vocabulary
    chances: np.ndarray  # (words,) the probability of the right tag; 0 where it was never seen
    tags: Sequence[str]  # names


@dataclass(frozen=True)
class Tagged(Judged):
    """What was counted in every sentence."""

    sure: ClassVar[tuple[str, ...]] = (
        "f1",
        "accuracy",
        "precision",
        "recall",
        "macro_f1",
        "log_loss",
        "known_accuracy",
        "unknown_accuracy",
    )

    words: np.ndarray  # (N, 2, 2) of known and of unknown words: right ones, all of them
    nats: np.ndarray  # (N,) -log p of the right tags
    found: np.ndarray  # (N, types, 3) of every type of chunks: RIGHT, CALLED, WANTED
    types: Sequence[str]
    scheme: str | None  # BIO or BIOES; None: every word is a chunk, its tag the type
    unseen: int = 0  # words whose tag was never seen in training
    remarks: tuple[str, ...] = ()

    @classmethod
    def of(cls, answers: Answers, *remarks: str) -> Self:
        """Count."""
        sentence = np.repeat(np.arange(len(answers.starts) - 1), np.diff(answers.starts))
        words = np.zeros((len(answers.starts) - 1, 2, 2), np.int64)
        same = answers.predicted == answers.right
        np.add.at(words, (sentence, (~answers.known).astype(int)), np.stack([same, np.ones_like(same)], 1))
        nats = np.bincount(sentence, -np.log(np.maximum(answers.chances, LEAST)), len(words))
        kind = scheme(answers.tags)
        types, found = _chunks(answers, len(words)) if kind else _words(answers, sentence, len(words))
        return cls(words, nats, found, types, kind, int((answers.right < 0).sum()), remarks)

    @property
    def examples(self) -> int:
        return len(self.words)

    def resampled(self, rows: np.ndarray) -> Self:
        return replace(self, words=self.words[rows], nats=self.nats[rows], found=self.found[rows])

    def figures(self) -> dict[str, float]:
        counted = self.words.sum(0)  # (2, 2)
        right, every = counted.sum(0).tolist()
        total = _rates(self.found.sum((0, 1)))
        figures = {
            "f1": total["f1"],
            "precision": total["precision"],
            "recall": total["recall"],
            "accuracy": right / every if every else float("nan"),
            "macro_f1": self.macro_f1,
            "log_loss": float(self.nats.sum() / every) if every else float("nan"),
        }
        if counted[:, 1].all():  # of one kind alone, it is the accuracy
            known, unknown = (one[0] / max(1, one[1]) for one in counted.tolist())
            figures |= {"known_accuracy": known, "unknown_accuracy": unknown}
        return figures

    @property
    def macro_f1(self) -> float:
        """The mean F1 of the types that occur or were predicted."""
        counted = self.found.sum(0)
        present = counted[counted[:, CALLED] + counted[:, WANTED] > 0]
        return float(np.mean([_rates(one)["f1"] for one in present])) if len(present) else 0.0

    @property
    def per_type(self) -> list[dict[str, Any]]:
        """Precision, recall, F1 and number of every type of chunks, or of every tag."""
        rows = zip(self.types, self.found.sum(0), strict=True)
        return [{"type": name, **_rates(one), "support": int(one[WANTED])} for name, one in rows]

    def details(self) -> dict[str, Any]:
        counted = self.words.sum(0)
        return {
            "sentences": self.examples,
            "words": int(counted[:, 1].sum()),
            "unknown_words": int(counted[1, 1]),
            "unseen_tags": self.unseen,
            "scheme": self.scheme,
            "per_type": self.per_type,
        }

    def tables(self) -> list[Table]:
        rows: list[list[Cell]] = [
            [one["type"], *(Share(one[name]) for name in ("precision", "recall", "f1")), one["support"]]
            for one in self.per_type
        ]
        what = "type" if self.scheme else "tag"
        return [Table([what, "precision", "recall", "f1", "chunks" if self.scheme else "words"], rows)]

    @property
    def notes(self) -> tuple[str, ...]:
        told = f"{self.unseen:,} words have a tag that was not seen in training: they count as wrong"
        return (*((told,) if self.unseen else ()), *self.remarks)


def _rates(counted: np.ndarray) -> dict[str, float]:
    right, called, wanted = counted.tolist()
    precision, recall = right / called if called else 0.0, right / wanted if wanted else 0.0
    f1 = 2 * precision * recall / (precision + recall) if right else 0.0
    return {"precision": precision, "recall": recall, "f1": f1}


def _words(answers: Answers, sentence: np.ndarray, count: int) -> tuple[list[str], np.ndarray]:
    """Every word is a chunk of its own, whose type is its tag."""
    found = np.zeros((count, len(answers.tags) + 1, 3), np.int64)  # the last of an unseen tag
    right = np.where(answers.predicted == answers.right, answers.right, -1)
    for kind, tags in ((RIGHT, right), (CALLED, answers.predicted), (WANTED, answers.right)):
        np.add.at(found[:, :, kind], (sentence, tags), 1)
    found[:, -1, RIGHT] = 0
    unseen = found[:, -1].any()
    return [*answers.tags, *((UNSEEN,) if unseen else ())], found if unseen else found[:, :-1]


def _chunks(answers: Answers, count: int) -> tuple[list[str], np.ndarray]:
    places = [place(tag) for tag in answers.tags]
    types = sorted({kind for _, kind in places if kind}) + [UNSEEN] * bool((answers.right < 0).any())
    number = {kind: at for at, kind in enumerate(types)}
    found = np.zeros((count, len(types), 3), np.int64)
    called, wanted = (_places(tags, places) for tags in (answers.predicted, answers.right))
    bounds = answers.starts.tolist()
    for sentence, (begin, end) in enumerate(pairwise(bounds)):
        one, other = set(chunks(called[begin:end])), set(chunks(wanted[begin:end]))
        for kind, some in ((RIGHT, one & other), (CALLED, one), (WANTED, other)):
            for chunk in some:
                found[sentence, number[chunk[0]], kind] += 1
    return types, found


def _places(tags: np.ndarray, places: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
    every = [*places, ("S", UNSEEN)]  # -1 is the last one
    return [every[tag] for tag in tags.tolist()]
