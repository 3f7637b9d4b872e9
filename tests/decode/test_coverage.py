"""The coverage penalty of Wu et al. 2016: s(Y, X) = log P(Y|X) / |Y|^a + b sum_i log(min(sum_j p_ij, 1))."""

from __future__ import annotations

import itertools

import pytest
import torch

from chainrule.decode.alignment import alignments
from chainrule.decode.beam import search
from chainrule.decode.config import GenerationConfig
from chainrule.models.seq2seq import Seq2Seq
from chainrule.models.transformer import Transformer
from chainrule.symbols import BOS, EOS, FIRST, PAD, UNK

SOURCES = torch.tensor([[5, 6, 7, EOS], [8, EOS, PAD, PAD]])


@pytest.mark.parametrize("family", [Transformer, Seq2Seq])
def test_a_wide_beam_ranks_what_has_ended_as_brute_force_does(family: type[Transformer]) -> None:
    model, penalty, weight, length = family.tiny(3), 0.7, 0.5, 3
    symbols = [UNK, *range(FIRST, model.config.vocab_size)]
    ways = [(*way, EOS) for size in range(length) for way in itertools.product(symbols, repeat=size)]
    config = GenerationConfig(
        beam=len(symbols) ** 3 + 50, length=length, length_penalty=penalty, coverage_penalty=weight
    )
    found = search(model, [[BOS]] * 2, config, source=SOURCES)
    for row, result in enumerate(found):
        source = SOURCES[row : row + 1]
        values = {}
        for way in ways:
            tokens, targets = torch.tensor([[BOS, *way[:-1]]]), torch.tensor([way])
            with model.inference():
                log = float(model.score(tokens, targets, model.start(1, source))[0].sum())
                covered = alignments(model, tokens, model.start(1, source))[0].sum(0)[source[0] != PAD]
            values[way] = log / len(way) ** penalty + weight * float(covered.clamp(max=1.0).log().sum())
        ended = {one.ids: one.value for one in result.hypotheses if one.finished}
        assert set(ended) == set(values)
        assert [ended[way] for way in ways] == pytest.approx([values[way] for way in ways], abs=1e-4)
        assert list(ended.values()) == sorted(ended.values(), reverse=True)
