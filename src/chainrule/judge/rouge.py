"""ROUGE as rouge-score computes it: overlaps of n-grams and longest common subsequences, F1 of each text.

ROUGE-L is that of whole texts, ROUGE-Lsum that of texts whose lines are sentences (summary level). Of several
references the one nearest to a text counts, for each figure by itself.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence

SPLIT = re.compile(r"[^a-z0-9]+")


def rouge(said: str, wanted: Sequence[str]) -> dict[str, float]:
    """Of one text beside its references."""
    return {name: max(figure(said, one) for one in wanted) for name, figure in FIGURES.items()}


def _tokens(text: str) -> list[str]:
    return [word for word in SPLIT.split(text.lower()) if word]


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


FIGURES: Mapping[str, Callable[[str, str], float]] = {
    "rouge1": lambda said, wanted: _overlap(1, _tokens(said), _tokens(wanted)),
    "rouge2": lambda said, wanted: _overlap(2, _tokens(said), _tokens(wanted)),
    "rougeL": lambda said, wanted: _longest(_tokens(said), _tokens(wanted)),
    "rougeLsum": lambda said, wanted: _summary(_sentences(said), _sentences(wanted)),
}
