"""Figures of written texts beside references: BLEU, chrF and TER by sacrebleu, ROUGE, word and character error rate.

Every figure is made of sums over texts, so that the bootstrap draws texts and adds up what is known of each.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np

from chainrule.errors import ConfigError, DataError
from chainrule.judge.judged import Judged, Table

WORDS = re.compile(r"[^a-z0-9]+")
EXTRA = "{name} is wanted for this figure: pip install 'chainrule[metrics]'"


@dataclass(frozen=True)
class Metric:
    """A figure of texts, from the sums over what is known of each."""

    known: np.ndarray  # (texts, numbers)
    figure: Callable[[np.ndarray], float]  # of sums (numbers,)
    signature: str = ""  # how it was computed, for those who compare with others

    @property
    def value(self) -> float:
        """Of all texts."""
        return self.figure(self.known.sum(0))


@dataclass(frozen=True)
class Rewritten(Judged):
    """Written texts beside their references."""

    sure: ClassVar[tuple[str, ...]] = ("bleu", "chrf", "rouge1", "rouge2", "rougeL", "wer")

    metrics: Mapping[str, Metric]
    others: Mapping[str, float]  # figures that are no sums over texts
    examples_count: int

    @property
    def examples(self) -> int:
        return self.examples_count

    def figures(self) -> dict[str, float]:
        return {name: one.value for name, one in self.metrics.items()} | dict(self.others)

    def resampled(self, rows: np.ndarray) -> Self:
        drawn = {
            name: replace(one, known=one.known[rows])
            for name, one in self.metrics.items()
            if name in self.sure
        }
        return replace(self, metrics=drawn)

    @property
    def signatures(self) -> dict[str, str]:
        """Of the figures that others compute in several ways."""
        return {name: one.signature for name, one in self.metrics.items() if one.signature}

    def details(self) -> dict[str, Any]:
        return {"signature": self.signatures.get("bleu", ""), "signatures": self.signatures}

    def tables(self) -> list[Table]:
        return [Table(["figure", "signature"], [[name, one] for name, one in self.signatures.items()])]


def rewritten(
    hypotheses: Sequence[str], references: Sequence[str], others: Mapping[str, float] | None = None
) -> Rewritten:
    """All figures of texts beside one reference each."""
    if len(hypotheses) != len(references):
        raise DataError(
            f"There are {len(hypotheses):,} hypotheses and {len(references):,} references: give one line for each."
        )
    if not references:
        raise DataError("There is nothing to judge: the references are empty.")
    found = {name: sacrebleu_metric(name, hypotheses, references) for name in ("bleu", "chrf", "ter")}
    found |= {"bleu_lowercase": sacrebleu_metric("bleu", hypotheses, references, lowercase=True)}
    found |= rouge_metrics(hypotheses, references)
    found |= {
        "wer": error_rate(hypotheses, references, str.split),
        "cer": error_rate(hypotheses, references, list),
    }
    return Rewritten(found, others or {}, len(references))


def sacrebleu_metric(
    name: str, hypotheses: Sequence[str], references: Sequence[str], **options: Any
) -> Metric:
    """BLEU, chrF or TER as sacrebleu computes it, with its signature."""
    try:
        from sacrebleu import metrics
    except ImportError as error:
        raise ConfigError(EXTRA.format(name="sacrebleu")) from error
    metric: Any = getattr(metrics, name.upper())(**options)
    known = metric._extract_corpus_statistics(
        list(hypotheses), [list(references)]
    )  # as its own bootstrap does
    metric.num_refs = 1

    def figure(sums: np.ndarray) -> float:
        return float(metric._compute_score_from_stats(sums.tolist()).score)

    return Metric(np.array(known, np.float64), figure, str(metric.get_signature()))


def rouge_metrics(hypotheses: Sequence[str], references: Sequence[str]) -> dict[str, Metric]:
    """ROUGE-1, -2, -L of whole texts and -Lsum of texts by lines: mean F1, as rouge-score computes them."""
    pairs = list(zip(hypotheses, references, strict=True))
    values = {
        "rouge1": [_overlap(1, *map(_tokens, pair)) for pair in pairs],
        "rouge2": [_overlap(2, *map(_tokens, pair)) for pair in pairs],
        "rougeL": [_longest(*map(_tokens, pair)) for pair in pairs],
        "rougeLsum": [_summary(*map(_sentences, pair)) for pair in pairs],
    }
    return {name: Metric(np.array([[one, 1.0] for one in each]), _mean) for name, each in values.items()}


def _mean(sums: np.ndarray) -> float:
    return float(sums[0] / sums[1]) if sums[1] else math.nan


def _tokens(text: str) -> list[str]:
    return [word for word in WORDS.split(text.lower()) if word]


def _sentences(text: str) -> list[list[str]]:
    return [_tokens(line) for line in text.split("\n") if line]


def _f1(right: float, said: int, wanted: int) -> float:
    """The harmonic mean of the shares of what was said and of what was wanted; 0 of nothing."""
    if not right:
        return 0.0
    precision, recall = right / said, right / wanted
    return 2 * precision * recall / (precision + recall)


def _overlap(order: int, said: list[str], wanted: list[str]) -> float:
    """F1 of n-grams."""
    first, second = (
        Counter(tuple(words[at : at + order]) for at in range(len(words) - order + 1))
        for words in (said, wanted)
    )
    return _f1((first & second).total(), max(1, first.total()), max(1, second.total()))


def _longest(said: list[str], wanted: list[str]) -> float:
    """F1 of the longest common subsequence."""
    return _f1(len(_common(wanted, said)), len(said), len(wanted))


def _summary(said: list[list[str]], wanted: list[list[str]]) -> float:
    """F1 of the union of longest common subsequences: of each wanted sentence with all that were said."""
    left, right = (
        Counter(word for one in said for word in one),
        Counter(word for one in wanted for word in one),
    )
    sizes, hits = (left.total(), right.total()), 0
    for sentence in wanted:
        places = {place for other in said for place in _common(sentence, other)}
        for place in sorted(places):
            word = sentence[place]
            if left[word] > 0 and right[word] > 0:
                hits, left[word], right[word] = hits + 1, left[word] - 1, right[word] - 1
    return _f1(hits, *sizes)


def _common(wanted: Sequence[str], said: Sequence[str]) -> list[int]:
    """The places in `wanted` of a longest common subsequence."""
    table = [[0] * (len(said) + 1) for _ in range(len(wanted) + 1)]
    for row, word in enumerate(wanted, 1):
        for column, other in enumerate(said, 1):
            same = table[row - 1][column - 1] + 1
            table[row][column] = (
                same if word == other else max(table[row - 1][column], table[row][column - 1])
            )
    row, column, places = len(wanted), len(said), list[int]()
    while row and column:
        if wanted[row - 1] == said[column - 1]:
            row, column = row - 1, column - 1
            places.append(row)
        elif table[row - 1][column] >= table[row][column - 1]:
            row -= 1
        else:
            column -= 1
    return places[::-1]


def error_rate(
    hypotheses: Sequence[str], references: Sequence[str], split: Callable[[str], list[str]]
) -> Metric:
    """Word or character error rate: insertions, deletions and substitutions for each one of the references."""
    try:
        from rapidfuzz.distance.Levenshtein import distance
    except ImportError as error:
        raise ConfigError(EXTRA.format(name="rapidfuzz")) from error
    pairs = [(split(said), split(wanted)) for said, wanted in zip(hypotheses, references, strict=True)]
    return Metric(np.array([[distance(*pair), len(pair[1])] for pair in pairs], np.float64), _mean)
