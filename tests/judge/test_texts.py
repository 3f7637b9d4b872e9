"""Figures of written texts, beside the libraries that define them."""

from __future__ import annotations

import jiwer
import numpy as np
import pytest
import sacrebleu
from hypothesis import given
from hypothesis import strategies as st
from rouge_score.rouge_scorer import RougeScorer

from chainrule.errors import DataError
from chainrule.judge.judged import resamples
from chainrule.judge.texts import rewritten

SAID = ["the cat sat on the mat .", "a Dog runs", "nothing at all", "x"]
WANTED = ["the cat is on the mat .", "a dog runs fast", "something else", "y z"]
WORDS = st.lists(st.sampled_from("a b c dog the , . Cat".split()), min_size=1, max_size=9).map(" ".join)


def test_bleu_chrf_and_ter_are_those_of_sacrebleu() -> None:
    found = rewritten(SAID, WANTED)
    assert found.figures()["bleu"] == pytest.approx(sacrebleu.corpus_bleu(SAID, [WANTED]).score)
    assert found.figures()["chrf"] == pytest.approx(sacrebleu.corpus_chrf(SAID, [WANTED]).score)
    assert found.figures()["ter"] == pytest.approx(sacrebleu.corpus_ter(SAID, [WANTED]).score)
    lower = sacrebleu.corpus_bleu(SAID, [WANTED], lowercase=True).score
    assert found.figures()["bleu_lowercase"] == pytest.approx(lower) != found.figures()["bleu"]
    assert "tok:13a" in found.details()["signature"] and "case:mixed" in found.details()["signature"]


@given(st.lists(st.tuples(WORDS, WORDS), min_size=1, max_size=5))
def test_error_rates_are_those_of_jiwer(pairs: list[tuple[str, str]]) -> None:
    said, wanted = map(list, zip(*pairs, strict=True))
    figures = rewritten(said, wanted).figures()
    assert figures["wer"] == pytest.approx(jiwer.wer(wanted, said))
    assert figures["cer"] == pytest.approx(jiwer.cer(wanted, said))


@given(st.lists(st.tuples(WORDS, WORDS), min_size=1, max_size=4), st.sampled_from([" ", "\n"]))
def test_rouge_is_that_of_rouge_score(pairs: list[tuple[str, str]], between: str) -> None:
    pairs = [(f"{one}{between}{two}", f"{two}{between}{one} the") for one, two in pairs]
    scorer = RougeScorer(["rouge1", "rouge2", "rougeL", "rougeLsum"])
    each = [scorer.score(wanted, said) for said, wanted in pairs]
    said, wanted = map(list, zip(*pairs, strict=True))
    figures = rewritten(said, wanted).figures()
    for name in ("rouge1", "rouge2", "rougeL", "rougeLsum"):
        assert figures[name] == pytest.approx(np.mean([one[name].fmeasure for one in each]))


def test_resampled_texts_have_the_figures_of_the_drawn_ones() -> None:
    rows = np.array([0, 0, 3, 1])
    drawn = rewritten(SAID, WANTED).resampled(rows).figures()
    alone = rewritten([SAID[row] for row in rows], [WANTED[row] for row in rows]).figures()
    assert drawn == pytest.approx({name: alone[name] for name in drawn})
    intervals = resamples(rewritten(SAID, WANTED), 1.0)
    assert intervals["bleu"].std() > 0


def test_texts_that_do_not_belong_together_are_refused() -> None:
    with pytest.raises(DataError, match="3 hypotheses and 4 references"):
        rewritten(SAID[:3], WANTED)
    with pytest.raises(DataError, match="nothing to judge"):
        rewritten([], [])
