"""Threads of training: timed on its own steps, which are left as they were."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from chainrule.data.batches import next_batches
from chainrule.data.corpus import Corpus
from chainrule.models.gru import Gru, GruConfig
from chainrule.symbols import BOS, EOS, FIRST
from chainrule.tasks.next import Next
from chainrule.train.network import Network
from chainrule.train.threads import StepThreads


def settled() -> StepThreads:
    ids = np.tile(np.array([BOS, FIRST, FIRST + 1, EOS], np.int32), 16)
    batches = next_batches(Corpus(ids, 16, 1), 4, 8, True, 1)
    return StepThreads.settled(
        Network(Next(), Gru.seeded(GruConfig(vocab_size=FIRST + 2, width=8, dropout=0.5), 1)), batches
    )


def test_trying_changes_neither_weights_nor_random_numbers() -> None:
    torch.set_num_threads(1)
    found = settled()
    assert found.network is not None
    before = {name: value.clone() for name, value in found.network.state_dict().items()}
    torch.manual_seed(1)
    found._seconds(2)
    drawn = torch.rand(3)
    torch.manual_seed(1)
    assert torch.equal(drawn, torch.rand(3)) and torch.get_num_threads() == 1
    assert all(torch.equal(before[name], value) for name, value in found.network.state_dict().items())
    assert all(one.grad is None or not one.grad.any() for one in found.network.parameters())


def test_a_core_that_becomes_busy_is_given_up_and_taken_again(monkeypatch: pytest.MonkeyPatch) -> None:
    torch.set_num_threads(1)
    found = settled()
    choice = found.choice
    size = found._symbols
    choice.most, choice.pace, choice.using = 2, {1: 0.010 / size, 2: 0.006 / size}, 2
    busy = True
    monkeypatch.setattr(
        found, "_seconds", lambda number: 0.1 if busy and number == 2 else 0.006 * (3 - number)
    )
    steps = 0
    while found.wanted(choice.using) == 2:
        found.after_batch(0.1, found._symbols)
        steps += 1
    assert steps < 8
    busy = False
    while found.wanted(choice.using) == 1:
        found.after_batch(0.012, found._symbols)
        steps += 1
    assert steps < 1000


def test_where_threads_wait_for_each_other_no_whole_step_is_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    tried = list[int]()
    monkeypatch.setattr("chainrule.train.threads.most_threads", lambda: 2)
    monkeypatch.setattr("chainrule.train.threads.waiting", lambda number: 1.0 if number == 2 else 0.01)
    monkeypatch.setattr(StepThreads, "_seconds", lambda self, number: tried.append(number) or 0.01)
    found = settled()
    assert tried == [1, 1, 1] and found.choice.using == 1 and found.choice.price == pytest.approx(1.0)
