"""The loop: it learns, stops anywhere, and resumes as if nothing had happened."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from chainrule.data.batches import Buckets, Streams, next_batches
from chainrule.data.corpus import Corpus
from chainrule.errors import ConfigError, ModelError, Stopped
from chainrule.models.lstm import Lstm, LstmConfig
from chainrule.symbols import BOS, EOS, FIRST, PAD
from chainrule.tasks.next import Next
from chainrule.train.config import TrainConfig
from chainrule.train.losses import LossPoints
from chainrule.train.optimizer import AdamW
from chainrule.train.schedule import PROBE, duration
from chainrule.train.trainer import Trainer
from killed import killed_at_random
from trained import trainer as made

ALPHABET = FIRST + 4


def corpus(rows: int = 40, seed: int = 0) -> Corpus:
    rng = np.random.default_rng(seed)
    found = [
        [BOS, *(FIRST + (np.arange(size) + start) % 4).tolist(), EOS]
        for start, size in rng.integers(1, 9, (rows, 2))
    ]
    return Corpus(np.concatenate(found).astype(np.int32), rows, 1)


def trainer(
    folder: Path | None = None,
    stateful: bool = True,
    smoothing: float = 0.0,
    settings: dict[str, Any] | None = None,
    **options: Any,
) -> Trainer:
    torch.set_num_threads(1)
    data = corpus()
    config = TrainConfig(**{"epochs": 4, "lr": 0.02, **options})
    model_config = LstmConfig(vocab_size=ALPHABET, width=8, layers=2, dropout=0.2, **settings or {})
    model = Lstm.seeded(model_config, 1)
    batches = next_batches(data, 4, 8, stateful, 1)
    return made(model, batches, corpus(10, 1), config, folder, task=Next(label_smoothing=smoothing))


def weights(run: Trainer) -> np.ndarray:
    return np.concatenate([value.numpy().ravel() for value in run.body.state_dict().values()])


@pytest.mark.parametrize("stateful", [True, False])
def test_what_can_be_learnt_is_learnt(stateful: bool) -> None:
    torch.set_num_threads(1)
    model = Lstm.seeded(LstmConfig(vocab_size=ALPHABET, width=16, dropout=0.1), 1)
    config = TrainConfig(epochs=30, lr=0.02)
    run = made(model, next_batches(corpus(), 4, 8, stateful, 1), corpus(10, 1), config, None, task=Next())
    run.run()
    assert run.at.best < 0.85 < np.log(5)  # twelve runs of other seeds end between 0.65 and 0.75


@pytest.mark.parametrize("stateful", [True, False])
@pytest.mark.parametrize("average", [True, False])
def test_stopped_and_resumed_equals_uninterrupted_to_the_bit(
    tmp_path: Path, stateful: bool, average: bool
) -> None:
    settings = {"gates": "coupled", "initial_state": "learned"} if average else {}
    whole = trainer(tmp_path / "whole", stateful, settings=settings, average=average)
    whole.run()
    left = 0
    for _ in range(50):
        part = trainer(tmp_path / "part", stateful, settings=settings, average=average)
        part.restore()
        steps = iter([False] * 7 + [True])
        part.stopping = lambda steps=steps: next(steps)  # type: ignore[misc]
        try:
            part.run()
            break
        except Stopped:
            left += 1
    assert left > 2
    np.testing.assert_array_equal(weights(part), weights(whole))
    curves = [(tmp_path / name / "metrics.jsonl").read_text() for name in ("whole", "part")]
    assert curves[0] == curves[1]


def test_a_loss_that_is_no_number_is_explained_and_the_checkpoint_kept(tmp_path: Path) -> None:
    run = trainer(tmp_path)
    run.stopping = lambda: run.at.step == 3
    with pytest.raises(Stopped):
        run.run()
    before = (tmp_path / "checkpoint.safetensors").read_bytes()
    run = trainer(tmp_path)
    run.restore()
    with torch.no_grad():
        next(run.body.parameters())[:] = torch.nan
    with pytest.raises(ModelError, match="lower --lr"):
        run.run()
    assert (tmp_path / "checkpoint.safetensors").read_bytes() == before


def test_a_full_disk_leaves_the_last_checkpoint(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = trainer(tmp_path)
    run.stopping = lambda: run.at.step == 3
    with pytest.raises(Stopped):
        run.run()
    before = (tmp_path / "checkpoint.safetensors").read_bytes()

    def full(fd: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(Exception, match=r"(?i)space|full|disk"):
        run._save()
    assert (tmp_path / "checkpoint.safetensors").read_bytes() == before


def test_label_smoothing_reaches_the_loss_and_not_the_judgement() -> None:
    plain, smoothed = trainer(), trainer(smoothing=0.5)
    assert plain._loss_on_valid(PROBE) == smoothed._loss_on_valid(PROBE)
    for run in (plain, smoothed):
        run.run()
    assert smoothed.at.best > plain.at.best
    assert not np.array_equal(weights(plain), weights(smoothed))


def test_early_stopping_keeps_the_best_weights() -> None:
    run = trainer(epochs=40, patience=2, lr=0.3)
    run.run()
    assert run.at.step < 40 * len(run.batches) or run.at.since < 2
    assert run._loss_on_valid(PROBE) == pytest.approx(run.at.best, abs=1e-6)


def test_clipping_keeps_the_direction() -> None:
    grown = torch.nn.Parameter(torch.zeros(3, 3))
    grown.grad = torch.randn(3, 3) * 100
    direction = grown.grad / grown.grad.norm()
    torch.nn.utils.clip_grad_norm_([grown], 1.0)
    assert torch.allclose(grown.grad, direction, atol=1e-5)


def test_our_optimiser_takes_the_steps_of_torch() -> None:
    torch.manual_seed(0)
    ours, theirs = (torch.nn.Linear(5, 3) for _ in range(2))
    theirs.load_state_dict(ours.state_dict())
    mine = AdamW(ours.parameters(), 0.1)
    groups = [
        {"params": [theirs.weight], "weight_decay": 0.1},
        {"params": [theirs.bias], "weight_decay": 0.0},
    ]
    reference = torch.optim.AdamW(groups, lr=0.01, betas=(0.9, 0.99))
    for _ in range(5):
        x = torch.randn(4, 5)
        for model in (ours, theirs):
            model.zero_grad()
            model(x).square().sum().backward()
        mine.step(0.01)
        reference.step()
    assert torch.allclose(ours.weight, theirs.weight, atol=1e-6)
    assert torch.allclose(ours.bias, theirs.bias, atol=1e-6)


def test_streams_read_every_symbol_once_and_in_order() -> None:
    data = corpus()
    streams = Streams(data.ids, 3, 5)
    rows = [np.concatenate([streams.batch(0, i).tokens for i in range(len(streams))], 1)]
    assert rows[0].ravel().tolist() == data.ids[: 3 * streams.length].tolist()
    assert BOS not in streams.batch(0, 1).targets
    assert [streams.batch(0, i).continues for i in range(3)] == [False, True, True]


def test_in_a_single_stream_every_row_reads_bos_now_and_then_and_targets_stay() -> None:
    ids = np.array([BOS, *range(FIRST, FIRST + 60), EOS], np.int32)
    plain, single = (Streams(ids, 3, 5, single=one) for one in (False, True))
    pairs = [(plain.batch(0, at), single.batch(0, at)) for at in range(len(plain))]
    assert all(np.array_equal(one.targets, other.targets) for one, other in pairs)
    assert all(np.array_equal(one.tokens[:, 1:], other.tokens[:, 1:]) for one, other in pairs)
    opened = [np.flatnonzero(other.tokens[:, 0] == BOS).tolist() for _, other in pairs]
    assert opened == [[0, 1, 2], [1], [2], [0]][: len(pairs)]


def test_losses_are_means_over_equally_many_steps() -> None:
    found = LossPoints()
    for step in range(1, 1001):
        found.add(step, 2.0 * step, 2)
    assert 32 <= len(found.points) <= 64 and found.every == 16
    steps = [line["step"] for line in found.lines()]
    assert steps == [*range(16, 1001, 16), 1000] and sum(count for *_, count in found.points) == 2000
    assert found.lines()[1]["train"] == pytest.approx(np.mean(range(17, 33)))


def test_buckets_read_every_symbol_once() -> None:
    data = corpus()
    buckets = Buckets(data, 30, 100, seed=3)
    for epoch in range(2):
        found = [buckets.batch(epoch, number) for number in range(len(buckets))]
        targets = np.concatenate([one.targets[one.targets != PAD] for one in found])
        assert sorted(targets.tolist()) == sorted(data.ids[data.ids != BOS].tolist())
        assert all((one.tokens[:, 0] == BOS).all() for one in found)
    assert (buckets.batch(0, 0).tokens.shape != buckets.batch(1, 0).tokens.shape) or len(buckets) > 1


@given(
    sizes=st.lists(st.integers(0, 60), min_size=1, max_size=30),
    symbols=st.integers(1, 200),
    window=st.integers(1, 40),
)
def test_long_sequences_are_read_window_by_window(sizes: list[int], symbols: int, window: int) -> None:
    rows = [[BOS, *(FIRST + np.arange(size) + 100 * place).tolist(), EOS] for place, size in enumerate(sizes)]
    data = Corpus(np.concatenate(rows).astype(np.int32), len(rows), 1)
    buckets = Buckets(data, symbols, 10_000, window=window)
    going: list[list[int]] = []
    read: list[list[int]] = []
    for number in range(len(buckets)):
        one = buckets.batch(1, number)
        assert one.count and one.tokens.shape[1] <= 2 * window
        if not one.continues:
            read, going = read + going, [[] for _ in one.tokens]
        for row, tokens in zip(going, one.tokens, strict=True):
            row += tokens[tokens != PAD].tolist()
    assert sorted(read + going) == sorted(row[:-1] for row in rows)


@pytest.mark.parametrize(("text", "seconds"), [("90s", 90), ("10m", 600), ("1.5h", 5400), ("45", 45)])
def test_durations_are_read_as_people_write_them(text: str, seconds: float) -> None:
    assert duration(text) == seconds


@pytest.mark.parametrize("text", ["soon", "-5m", "0", "nan", "inf"])
def test_other_durations_are_refused(text: str) -> None:
    with pytest.raises(ConfigError):
        TrainConfig(budget=text)


LONG = {"epochs": 60, "checkpoint_every": "1e-9s", "patience": 0}  # a checkpoint after every step


def curve(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]


def resumed(folder: str) -> None:
    """Continue in a folder, in a process that may be killed."""
    run = trainer(Path(folder), **LONG)
    run.restore()
    os.write(1, b"go\n")
    run.run()


def test_killed_twenty_times_at_random_the_curve_is_the_same(tmp_path: Path) -> None:
    whole, began = trainer(tmp_path / "whole", **LONG), time.perf_counter()
    whole.run()
    seconds = time.perf_counter() - began
    assert killed_at_random(__file__, "resumed", [str(tmp_path / "killed")], 20, seconds) == 20
    assert curve(tmp_path / "killed") == curve(tmp_path / "whole")
