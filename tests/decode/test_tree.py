"""The whole search tree: who continued whom, by what log-probability, and why it was dropped."""

from __future__ import annotations

import math

import numpy as np
import pytest

from chainrule.decode.beam import search
from chainrule.decode.config import Constraints, GenerationConfig
from chainrule.decode.hypotheses import BEATEN, WORSE
from chainrule.models.base import ModelConfig
from chainrule.symbols import BOS, EOS, UNK
from tiny import Table
from tiny.table import RAIN, SNOW, SUN

HAIL = 8
FIRST = {SUN: -1.82, RAIN: -2.11, SNOW: -6.93, HAIL: -5.8}  # the lecture's log-probabilities of one symbol
SECOND = {  # and of two
    SUN: {SUN: -8.66, RAIN: -2.87, SNOW: -6.28},
    RAIN: {SUN: -7.31, RAIN: -3.04, SNOW: -5.12},
}


def lecture() -> Table:
    """A table in which two symbols have these log-probabilities; what is left goes to <unk>, which is never written."""
    chances = np.zeros((9, 9))
    for id, total in FIRST.items():
        chances[BOS, id] = math.exp(total)
    for before, after in SECOND.items():
        for id, total in after.items():
            chances[before, id] = math.exp(total - FIRST[before])
    chances[:, UNK] = 1.0 - chances.sum(1)
    return Table(ModelConfig(vocab_size=9), chances)


def test_the_tree_of_the_lecture() -> None:
    config, never = GenerationConfig(beam=2, length=2), Constraints(never=(UNK,))
    [found] = search(lecture(), [[BOS]], config, never, branches=4)
    kept, dropped = found.tree.nodes, found.tree.dropped
    assert [(node.id, round(node.log_probability, 2)) for node in kept] == [
        (SUN, -1.82),
        (RAIN, -2.11),
        (RAIN, -2.87),
        (RAIN, -3.04),
    ]
    assert [node.parent for node in kept] == [None, None, 0, 1]
    told = {(node.parent, node.id): round(node.log_probability, 2) for node in dropped}
    assert told == {
        (None, SNOW): -6.93,
        (None, HAIL): -5.8,
        (0, SUN): -8.66,
        (0, SNOW): -6.28,
        (1, SUN): -7.31,
        (1, SNOW): -5.12,
    }
    assert {node.dropped for node in dropped} == {WORSE}
    assert [one.ids for one in found.hypotheses] == [(SUN, RAIN), (RAIN, RAIN)]


def test_what_finished_hypotheses_push_out_is_told() -> None:
    chances = np.zeros((8, 8))
    chances[BOS, [SUN, EOS]] = 0.85, 0.15
    chances[SUN, [RAIN, EOS]] = 0.6, 0.4
    chances[RAIN, [UNK, EOS, SUN, RAIN, SNOW]] = 0.2
    [found] = search(
        Table(ModelConfig(vocab_size=8), chances), [[BOS]], GenerationConfig(beam=2, length=5), branches=2
    )
    last = [node for node in found.tree.dropped if node.length == 3]
    assert len(last) == 2 and {node.dropped for node in last} == {BEATEN}
    assert {found.tree.path(node.parent) for node in last} == {(SUN, RAIN)}


def test_every_candidate_is_kept_or_dropped_once_and_none_without_being_asked() -> None:
    model, config = Table.random(np.random.default_rng(2)), GenerationConfig(beam=3, length=4)
    [found] = search(model, [[BOS]], config, branches=8)
    ways = [(node.parent, node.id) for node in (*found.tree.nodes, *found.tree.dropped)]
    assert len(ways) == len(set(ways))
    for node in found.tree.dropped:
        before = 0.0 if node.parent is None else found.tree.nodes[node.parent].log_probability
        last = BOS if node.parent is None else found.tree.nodes[node.parent].id
        assert node.log_probability == pytest.approx(before + math.log(model.chances[last, node.id]))
    grown = {node.parent for node in found.tree.nodes}
    for number in grown:
        last = BOS if number is None else found.tree.nodes[number].id
        assert sum(parent == number for parent, _ in ways) == int((model.chances[last] > 0).sum())
    assert search(model, [[BOS]], config)[0].tree.dropped == ()
