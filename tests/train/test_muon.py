"""Matrices that move by orthogonal steps."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from chainrule.data.batches import next_batches
from chainrule.data.corpus import Corpus
from chainrule.errors import ConfigError, Stopped
from chainrule.models.gpt import Gpt, GptConfig
from chainrule.models.lstm import Lstm
from chainrule.symbols import BOS, EOS, FIRST
from chainrule.train.config import TrainConfig
from chainrule.train.muon import MOMENTUM, SIZE, Muon, orthogonal
from chainrule.train.optimizer import AdamW
from chainrule.train.trainer import Trainer
from trained import trainer as made


@pytest.mark.parametrize("shape", [(3, 8, 40), (2, 40, 8), (1, 16, 16)])
def test_singular_values_come_near_one_and_directions_stay(shape: tuple[int, int, int]) -> None:
    matrices = torch.randn(shape, generator=torch.Generator().manual_seed(1))
    left, _, right = torch.linalg.svd(matrices, full_matrices=False)
    found = orthogonal(matrices)
    values = (left.mT @ found @ right.mT).diagonal(dim1=1, dim2=2)  # along the same directions
    assert values.min() > 0.3 and values.max() < 1.3
    assert (
        (found - left @ torch.diag_embed(values) @ right).norm(dim=(1, 2)) < 0.1 * found.norm(dim=(1, 2))
    ).all()


def test_only_matrices_of_blocks_move_otherwise_than_by_adamw() -> None:
    runs = {}
    for kind in ("adamw", "muon"):
        model = Gpt.tiny()
        optimizer = (
            Muon(model.parameters(), model.matrices(), 0.01)
            if kind == "muon"
            else AdamW(model.parameters(), 0.01)
        )
        for number, one in enumerate(model.parameters()):
            one.grad = torch.randn(one.shape, generator=torch.Generator().manual_seed(number))
        optimizer.step(0.1)
        runs[kind] = {name: value.clone() for name, value in model.named_parameters()}
    moved = {name for name, value in runs["muon"].items() if not torch.equal(value, runs["adamw"][name])}
    assert moved == {name for name, value in runs["muon"].items() if "blocks" in name and value.dim() == 2}


def test_a_step_is_as_long_as_it_should_be() -> None:
    weight = torch.zeros(32, 8, requires_grad=True)
    optimizer = Muon([weight], [weight], decay=0.0)
    weight.grad = torch.randn(32, 8, generator=torch.Generator().manual_seed(1))
    optimizer.step(0.1)
    expected = 0.1 * SIZE * 32**0.5 * 8**0.5  # eight directions of about length 1
    assert 0.6 * expected < float(weight.detach().norm()) < 1.2 * expected
    assert torch.allclose(optimizer.momentum[0][0], (1 - MOMENTUM) * weight.grad)
    optimizer.zero()
    assert weight.grad is None


def _trainer(folder: Path | None, **options: Any) -> Trainer:
    torch.set_num_threads(1)
    rng = np.random.default_rng(0)
    rows = [[BOS, *(FIRST + (np.arange(9) + start) % 4).tolist(), EOS] for start in rng.integers(0, 4, 40)]
    data = Corpus(np.concatenate(rows).astype(np.int32), 40, 1)
    model = Gpt.seeded(GptConfig(vocab_size=FIRST + 4, layers=1, width=16, heads=2, context=12), 1)
    config = TrainConfig(**{"epochs": 6, "lr": 0.01, "optimizer": "muon", **options})
    return made(model, next_batches(data, 4, 8, False, 1, 12), data, config, folder)


def test_it_learns_and_a_stopped_run_resumes_to_the_same_bits(tmp_path: Path) -> None:
    whole = _trainer(tmp_path / "whole")
    whole.run()
    assert whole.at.best < 0.6 < np.log(4)
    part = _trainer(tmp_path / "part")
    steps = iter([False] * 9 + [True])
    part.stopping = lambda: next(steps)
    with pytest.raises(Stopped):
        part.run()
    again = _trainer(tmp_path / "part")
    assert again.restore()
    again.run()
    for one, other in zip(whole.body.parameters(), again.body.parameters(), strict=True):
        assert torch.equal(one, other)


def test_where_there_are_no_such_matrices_it_is_refused() -> None:
    batches = _trainer(None).batches
    with pytest.raises(ConfigError, match="--optimizer adamw"):
        made(Lstm.tiny(), batches, None, TrainConfig(optimizer="muon"))
    with pytest.raises(ConfigError, match="--optimizer adamw"):
        _trainer(None, shard=True)
