"""Chunks and their F1 against seqeval."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from seqeval.metrics import accuracy_score, classification_report
from seqeval.metrics.sequence_labeling import get_entities

from chainrule.chunks import chunks, is_iob1, legal, place, scheme, to_bio
from chainrule.judge.judged import resamples
from chainrule.judge.tags import Answers, Tagged

TAGS = ["O", *(f"{letter}-{kind}" for letter in "BIES" for kind in ("PER", "LOC"))]
sentence = st.lists(st.sampled_from(TAGS), min_size=1, max_size=9)
pairs = st.lists(
    st.lists(st.tuples(st.sampled_from(TAGS), st.sampled_from(TAGS)), min_size=1, max_size=9),
    min_size=1,
    max_size=6,
)


def judged(right: list[list[str]], called: list[list[str]], tags: list[str] = TAGS) -> Tagged:
    starts = np.cumsum([0, *map(len, right)])
    wanted, found = (
        np.array([tags.index(tag) if tag in tags else -1 for one in some for tag in one])
        for some in (right, called)
    )
    known = np.arange(len(wanted)) % 3 > 0
    return Tagged.of(Answers(found, wanted, starts, known, np.full(len(wanted), 0.5), tags))


@settings(max_examples=200, deadline=None)
@given(sentence)
def test_chunks_are_those_of_seqeval_whatever_the_tags(tags: list[str]) -> None:
    assert list(chunks(map(place, tags))) == get_entities(tags)


@settings(max_examples=60, deadline=None)
@given(pairs)
def test_figures_equal_seqeval_to_the_digit(rows: list[list[tuple[str, str]]]) -> None:
    right, called = ([[pair[side] for pair in row] for row in rows] for side in (0, 1))
    found = judged(right, called)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        report = (
            classification_report(right, called, output_dict=True, zero_division=0)
            if any(tag != "O" for row in right for tag in row)
            else None
        )
    figures = found.figures()
    assert figures["accuracy"] == accuracy_score(right, called)
    if report:
        for name in ("precision", "recall", "f1"):
            theirs = "f1-score" if name == "f1" else name
            assert figures[name] == pytest.approx(report["micro avg"][theirs], abs=1e-12)
            for one in found.per_type:
                if one["type"] in report:
                    assert one[name] == pytest.approx(report[one["type"]][theirs], abs=1e-12)


def test_plain_tags_are_counted_word_by_word_and_unseen_ones_are_wrong() -> None:
    found = judged([["N", "V"], ["N", "X"]], [["N", "N"], ["N", "V"]], ["N", "V"])
    assert found.scheme is None and found.figures()["accuracy"] == found.figures()["f1"] == 0.5
    assert found.unseen == 1 and "not seen in training" in found.notes[0]
    assert {one["type"]: one["support"] for one in found.per_type} == {"N": 2, "V": 1, "(unseen)": 1}
    drawn = resamples(found, 1.0)
    assert 0 <= np.nanmin(drawn["f1"]) <= np.nanmax(drawn["f1"]) <= 1


def test_schemes_are_known_by_their_tags() -> None:
    assert (
        scheme(["O", "B-X", "I-X"]) == "BIO" and scheme(TAGS) == scheme(["B-X", "L-X", "U-X", "O"]) == "BIOES"
    )
    assert (
        scheme(["NOUN", "VERB"]) is scheme(["O"]) is scheme([]) is None and scheme(["B", "I", "O"]) == "BIO"
    )
    assert legal(["NOUN"]) is None
    follows, first, last = legal(["O", "B-X", "I-X", "I-Y"])  # type: ignore[misc]
    assert follows.tolist() == [[1, 1, 0, 0], [1, 1, 1, 0], [1, 1, 1, 0], [1, 1, 0, 1]]
    assert first.tolist() == [1, 1, 0, 0] and last.all()
    follows, _, last = legal(["O", "B-X", "E-X", "S-X"])  # type: ignore[misc]
    assert follows[1].tolist() == [0, 0, 1, 0] and last.tolist() == [1, 0, 1, 1]


def test_iob1_is_known_and_becomes_bio() -> None:
    assert is_iob1([["I-PER", "I-PER", "O", "I-LOC", "B-LOC"]])
    assert not is_iob1([["B-PER", "I-PER", "O"]]) and not is_iob1([["O"]])
    assert (
        to_bio(["I-PER", "I-PER", "O", "I-LOC", "B-LOC", "I-PER"])
        == "B-PER I-PER O B-LOC B-LOC B-PER".split()
    )
