"""Exact match and F1 as published for SQuAD: hand-computed cases, and an oracle written from the definition."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from chainrule.judge.spans import Spans, best_threshold, compared, exact_match, f1, normalised

ASCII_MARKS = "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~"


def oracle_words(text: str) -> list[str]:
    """By the definition: lower case; no ASCII punctuation; the words a, an, the are none; white space separates."""
    plain = "".join(letter for letter in text.lower() if letter not in ASCII_MARKS)
    kept, word = [], ""
    for letter in [*plain, " "]:
        if letter.isalnum() or letter == "_":
            word += letter
        else:
            kept += [" " if word in ("a", "an", "the") else word, letter]
            word = ""
    return "".join(kept).split()


def oracle_f1(predicted: str, answer: str) -> Fraction:
    """2 P R / (P + R) over the words of both, each counted as often as it occurs."""
    found, wanted = oracle_words(predicted), oracle_words(answer)
    if not found or not wanted:
        return Fraction(found == wanted)
    left, shared = list(wanted), 0
    for word in found:
        if word in left:
            left.remove(word)
            shared += 1
    if not shared:
        return Fraction(0)
    precision, recall = Fraction(shared, len(found)), Fraction(shared, len(wanted))
    return 2 * precision * recall / (precision + recall)


PIECES = st.sampled_from(
    ["a", "an", "the", "The", "rain", "U.S.", "1990's", " ", "  ", "\n", "-", "…", "é", "a.", "_"]
)
TEXTS = st.lists(PIECES, max_size=8).map("".join)


@given(TEXTS, TEXTS)
def test_figures_equal_an_oracle_written_from_the_definition(predicted: str, answer: str) -> None:
    assert normalised(predicted).split() == oracle_words(predicted)
    assert exact_match(predicted, answer) == (oracle_words(predicted) == oracle_words(answer))
    assert f1(predicted, answer) == pytest.approx(float(oracle_f1(predicted, answer)), abs=1e-12)


@pytest.mark.parametrize(
    ("predicted", "answers", "exact", "overlap"),
    [
        ("The Denver Broncos!", ["Denver Broncos"], 1.0, 1.0),  # article, case and mark
        ("Broncos", ["Denver Broncos"], 0.0, 2 / 3),  # precision 1, recall 1/2
        ("the the the cat cat", ["cat"], 0.0, 2 / 3),  # two cats found, one wanted
        ("U.S.", ["us"], 1.0, 1.0),  # full stops are taken away, not replaced
        ("well-known", ["well known"], 0.0, 0.0),  # so a hyphen joins
        ("1,000", ["1000", "one thousand"], 1.0, 1.0),  # the nearest of several
        ("in 1990", ["1990s", "in the 1990", "1990"], 1.0, 1.0),
        ("banana", ["ananab"], 0.0, 0.0),  # an article inside a word stays
        ("", [], 1.0, 1.0),  # no answer, and none was given
        ("x", [], 0.0, 0.0),
        ("", ["x"], 0.0, 0.0),
        ("the", ["x"], 0.0, 0.0),  # nothing is left of it
        ("", ["the", "x"], 0.0, 0.0),  # an answer of which nothing is left does not count
        ("a", ["the"], 1.0, 1.0),  # nothing is left of either
        ("x", ["the"], 0.0, 0.0),
    ],
)
def test_cases_computed_by_hand(predicted: str, answers: list[str], exact: float, overlap: float) -> None:
    assert compared(predicted, answers) == pytest.approx((exact, overlap))


def test_questions_with_and_without_an_answer_are_told_apart() -> None:
    judged = Spans.of(["Paris", "", "the cat", "", "x"], [["Paris"], ["Rome"], ["cat sat"], [], []])
    assert judged.figures() == pytest.approx(
        {
            "exact_match": 2 / 5,
            "f1": (1 + 0 + 2 / 3 + 1 + 0) / 5,
            "has_answer_exact_match": 1 / 3,
            "has_answer_f1": (1 + 2 / 3) / 3,
            "no_answer_exact_match": 1 / 2,
            "no_answer_f1": 1 / 2,
        }
    )
    assert judged.details() == {"has_answer": 3, "no_answer": 2}
    again = judged.resampled(np.array([0, 0, 1]))
    assert "no_answer_f1" not in again.figures() and again.figures()["f1"] == pytest.approx(2 / 3)


@given(
    st.lists(
        st.tuples(st.integers(-3, 3), st.sampled_from([0.0, 0.5, 1.0]), st.booleans()),
        min_size=1,
        max_size=12,
    )
)
def test_no_threshold_is_better_than_the_best_one(rows: list[tuple[int, float, bool]]) -> None:
    margins = np.array([float(margin) for margin, _, _ in rows])
    refused = np.array([float(empty) for _, _, empty in rows])
    answered = np.where(refused > 0, 0.0, [worth for _, worth, _ in rows])

    def worth(threshold: float) -> float:
        return float(np.where(margins > threshold, refused, answered).sum())

    best = best_threshold(margins, answered, refused)
    assert worth(best) == max(worth(one / 2) for one in range(-10, 11))
