"""Figures of written texts, beside the libraries that define them."""

from __future__ import annotations

import jiwer
import numpy as np
import pytest
import sacrebleu
from hypothesis import given, settings
from hypothesis import strategies as st
from rouge_score.rouge_scorer import RougeScorer

from chainrule.errors import DataError
from chainrule.judge.judged import resamples
from chainrule.judge.texts import error_rate, rewritten, rouge_metrics

SAID = ["the cat sat on the mat .", "a Dog runs", "nothing at all", "x"]
WANTED = ["the cat is on the mat .", "a dog runs fast", "something else", "y z"]
WORDS = st.lists(st.sampled_from("a b c dog the , . Cat".split()), min_size=1, max_size=9).map(" ".join)


def test_bleu_chrf_and_ter_are_those_of_sacrebleu() -> None:
    found = rewritten(SAID, [WANTED])
    assert found.figures()["bleu"] == pytest.approx(sacrebleu.corpus_bleu(SAID, [WANTED]).score)
    assert found.figures()["chrf"] == pytest.approx(sacrebleu.corpus_chrf(SAID, [WANTED]).score)
    assert found.figures()["ter"] == pytest.approx(sacrebleu.corpus_ter(SAID, [WANTED]).score)
    lower = sacrebleu.corpus_bleu(SAID, [WANTED], lowercase=True).score
    assert found.figures()["bleu_lowercase"] == pytest.approx(lower) != found.figures()["bleu"]
    assert "tok:13a" in found.details()["signature"] and "case:mixed" in found.details()["signature"]


@settings(deadline=None)
@given(st.lists(st.tuples(WORDS, WORDS), min_size=1, max_size=5))
def test_error_rates_are_those_of_jiwer(pairs: list[tuple[str, str]]) -> None:
    said, wanted = map(list, zip(*pairs, strict=True))
    each = [[one] for one in wanted]
    assert error_rate(said, each, str.split).value == pytest.approx(jiwer.wer(wanted, said))
    assert error_rate(said, each, list).value == pytest.approx(jiwer.cer(wanted, said))


@settings(deadline=None)
@given(st.lists(st.tuples(WORDS, WORDS), min_size=1, max_size=4), st.sampled_from([" ", "\n"]))
def test_rouge_is_that_of_rouge_score(pairs: list[tuple[str, str]], between: str) -> None:
    pairs = [(f"{one}{between}{two}", f"{two}{between}{one} the") for one, two in pairs]
    scorer = RougeScorer(["rouge1", "rouge2", "rougeL", "rougeLsum"])
    each = [scorer.score(wanted, said) for said, wanted in pairs]
    said, wanted = map(list, zip(*pairs, strict=True))
    found = rouge_metrics(said, [[one] for one in wanted])
    for name in ("rouge1", "rouge2", "rougeL", "rougeLsum"):
        assert found[name].value == pytest.approx(np.mean([one[name].fmeasure for one in each]))


TOO = ["the cat sat down", "a dog runs", "nothing else", "x"]


def test_of_several_references_libraries_and_the_nearest_one_decide() -> None:
    found = rewritten(SAID, [WANTED, TOO])
    figures = found.figures()
    assert figures["bleu"] == pytest.approx(sacrebleu.corpus_bleu(SAID, [WANTED, TOO]).score)
    assert figures["chrf"] == pytest.approx(sacrebleu.corpus_chrf(SAID, [WANTED, TOO]).score)
    assert figures["ter"] == pytest.approx(sacrebleu.corpus_ter(SAID, [WANTED, TOO]).score)
    assert "nrefs:2" in found.signatures["bleu"] and "nrefs:2" in found.signatures["meteor"]
    scorer = RougeScorer(["rouge1", "rouge2", "rougeL", "rougeLsum"])
    each = [scorer.score_multi(list(wanted), said) for said, *wanted in zip(SAID, WANTED, TOO, strict=True)]
    for name in ("rouge1", "rouge2", "rougeL", "rougeLsum"):
        assert figures[name] == pytest.approx(np.mean([one[name].fmeasure for one in each]))
    # nearest: 1 of 7 words, 1 of 3 (`Dog`), 2 of 2, 0 of 1
    assert figures["wer"] == pytest.approx(4 / 13)


def test_meteor_of_texts_sums_up_first() -> None:
    # 2 of 2 words in 1 chunk and 1 of 2 in 1: P = R = 3/4, and 2 chunks of 3 matches
    found = rewritten(["A b", "c x"], [["a b", "c d"]])
    assert found.figures()["meteor"] == pytest.approx(0.75 * (1 - 0.5 * (2 / 3) ** 3))
    assert "alpha:0.9|beta:3|gamma:0.5|stages:exact,stem" in found.signatures["meteor"]


def test_rouge_of_sentences_and_of_summaries_differ() -> None:
    # one after the other the lines are in another order: L of the whole text sees half, Lsum all of it
    figures = rewritten(["a b\nc d"], [["c d\na b"]]).figures()
    assert figures["rougeL"] == pytest.approx(0.5) and figures["rougeLsum"] == pytest.approx(1.0)


def test_resampled_texts_have_the_figures_of_the_drawn_ones() -> None:
    rows = np.array([0, 0, 3, 1])
    drawn = rewritten(SAID, [WANTED]).resampled(rows).figures()
    alone = rewritten([SAID[row] for row in rows], [[WANTED[row] for row in rows]]).figures()
    assert drawn == pytest.approx({name: alone[name] for name in drawn})
    intervals = resamples(rewritten(SAID, [WANTED]), 1.0)
    assert intervals["bleu"].std() > 0


def test_texts_that_do_not_belong_together_are_refused() -> None:
    with pytest.raises(DataError, match="3 hypotheses and 4 references"):
        rewritten(SAID[:3], [WANTED])
    with pytest.raises(DataError, match="nothing to judge"):
        rewritten([], [[]])
