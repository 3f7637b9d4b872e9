"""A model divided among processes learns what a whole one learns; this file is also what those processes run."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from chainrule.data.batches import Batch, Batches, next_batches
from chainrule.data.corpus import Corpus
from chainrule.data.masked import Masking, masked_batches
from chainrule.errors import ConfigError, ModelError, Stopped
from chainrule.models.bert import Bert, BertConfig
from chainrule.models.gpt import Gpt, GptConfig
from chainrule.models.lstm import Lstm, LstmConfig
from chainrule.symbols import BOS, EOS, FIRST
from chainrule.tasks.masked import Masked
from chainrule.train.carried import interleaved
from chainrule.train.config import TrainConfig
from chainrule.train.distributed import ALONE, ProcessGroup, process_group
from chainrule.train.fit import fit
from chainrule.train.trainer import Trainer
from trained import trainer as made

ALPHABET, SIZES = FIRST + 4, {"layers": 2, "width": 8, "heads": 2, "context": 24}
CASES: dict[str, dict[str, Any]] = {
    "gpt": {"clip_norm": 0.2},
    "gpt averaged": {"average": True, "accumulate": 2, "clip_norm": 0.0},
    "bert": {},
}


def corpus(rows: int, seed: int) -> Corpus:
    rng = np.random.default_rng(seed)
    sizes = [*rng.integers(2, 8, rows - 1), 20]  # the last one is so long that it is a batch of its own
    found = [
        [BOS, *(FIRST + (np.arange(size) + start) % 4).tolist(), EOS] for start, size in enumerate(sizes)
    ]
    return Corpus(np.concatenate(found).astype(np.int32), rows, 1)


def holed(data: Corpus) -> Batches:
    return masked_batches(data, 24, 20, Masking(0.3, ALPHABET), True, 1)


def trainer(
    case: str, folder: Path, kind: type[Trainer] = Trainer, group: ProcessGroup = ALONE, **more: Any
) -> Trainer:
    torch.set_num_threads(1)
    config = TrainConfig(**{"epochs": 3, "lr": 0.02, "patience": 0, **CASES[case], **more})
    data, valid = corpus(20, 0), corpus(8, 1)
    if case == "bert":
        body = Bert.seeded(BertConfig(vocab_size=ALPHABET, **SIZES), 1)
        task = Masked(next_sentence=True)
        how: Any = {"task": task, "valid_batches": holed(valid), "kind": kind, "group": group}
        return made(body, holed(data), valid, config, folder, **how)
    model = Gpt.seeded(GptConfig(vocab_size=ALPHABET, **SIZES), 1)
    batches = next_batches(data, 4, 6, False, 1, 24)
    return made(model, batches, valid, config, folder, kind=kind, group=group)


def curve(folder: Path) -> list[dict[str, float]]:
    return [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]


def learnt(folder: Path) -> dict[str, np.ndarray]:
    return dict(np.load(folder / "learnt.npz"))


# What each process does.


def work(folder: Path) -> None:
    """Train every case, once more with a stop in between, and once into NaN."""
    from chainrule.train.shard import Sharded

    warnings.simplefilter("error")
    with process_group() as group:
        for case in CASES:
            keep(trainer(case, folder / case, Sharded, group), folder / case)
        for _ in range(9):
            part = trainer("gpt averaged", folder / "stopped", Sharded, group)
            went_on = part.restore()
            stop = part.at.step + 4
            part.stopping = lambda part=part, stop=stop: part.at.step == stop  # type: ignore[misc]
            try:
                keep(part, folder / "stopped")
                break
            except Stopped:
                assert went_on or stop == 4
                group.all_reduce([0.0])  # the chief has written its checkpoint when all are here
        broken = trainer("gpt", folder / "broken", Sharded, group)
        held = sum(one.numel() for one in broken.optimizer.first.values())
        if group.rank == 1:  # one bad part is enough
            next(iter(broken._weights().values()))[:] = torch.nan
        try:
            broken.run()
        except ModelError as error:
            facts = {"held": held, "error": str(error)}
            (folder / f"facts{group.rank}.json").write_text(json.dumps(facts))


def keep(run: Trainer, folder: Path) -> None:
    run.run()
    if run.group.is_main:
        np.savez(folder / "learnt.npz", **run.body.arrays())


@pytest.fixture(scope="module")
def divided(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("divided")
    words = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2"]
    here = os.pathsep.join([str(Path(__file__).parents[1]), os.environ.get("PYTHONPATH", "")])
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": here}
    subprocess.run([*words, __file__, str(folder)], check=True, env=environment, timeout=120)
    return folder


@pytest.mark.parametrize("case", CASES)
def test_a_divided_model_learns_what_a_whole_one_learns(divided: Path, tmp_path: Path, case: str) -> None:
    run = trainer(case, tmp_path)
    assert min(len(run.batches.batch(0, number).tokens) for number in range(len(run.batches))) == 1
    keep(run, tmp_path)
    whole, parts = curve(tmp_path), curve(divided / case)
    assert len(whole) == len(parts) > 2
    for mine, other in zip(whole, parts, strict=True):
        assert other == pytest.approx(mine, rel=1e-4)
    own, found = learnt(tmp_path), learnt(divided / case)
    assert own.keys() == found.keys()
    for name, array in own.items():
        np.testing.assert_allclose(found[name], array, atol=1e-3, err_msg=name)


def test_a_divided_training_stopped_and_resumed_equals_an_uninterrupted_one_to_the_bit(divided: Path) -> None:
    assert curve(divided / "stopped") == curve(divided / "gpt averaged")
    whole, found = learnt(divided / "gpt averaged"), learnt(divided / "stopped")
    for name, array in whole.items():
        np.testing.assert_array_equal(found[name], array, err_msg=name)


def test_a_checkpoint_of_a_divided_training_is_that_of_a_whole_one(divided: Path, tmp_path: Path) -> None:
    stopped = divided / "stopped" / "checkpoint.safetensors"
    (tmp_path / stopped.name).write_bytes(stopped.read_bytes())
    run = trainer("gpt averaged", tmp_path)
    assert run.restore()
    run.run()
    whole = learnt(divided / "gpt averaged")
    for name, array in run.body.arrays().items():
        np.testing.assert_allclose(whole[name], array, atol=1e-3, err_msg=name)


def test_the_memory_of_the_optimiser_is_divided_and_nan_is_noticed_by_all(divided: Path) -> None:
    facts = [json.loads((divided / f"facts{rank}.json").read_text()) for rank in range(2)]
    model = Gpt.seeded(GptConfig(vocab_size=ALPHABET, **SIZES), 1)
    total = sum(one.numel() for one in model.parameters())
    assert sum(one["held"] for one in facts) == total
    assert max(one["held"] for one in facts) < 0.6 * total
    assert all("lower --lr" in one["error"] for one in facts)


def test_without_other_processes_nothing_is_divided(tmp_path: Path) -> None:
    text = tmp_path / "text.txt"
    text.write_text("sun and rain\n" * 40)
    with pytest.raises(ConfigError, match="torchrun"):
        fit(text, model="gpt", codec="words", width=8, heads=2, epochs=1, shard=True, run=tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_a_family_without_blocks_is_not_divided() -> None:
    from chainrule.train.shard import check

    with pytest.raises(ConfigError, match="'lstm' has none"):
        check(Lstm, LstmConfig(vocab_size=ALPHABET, width=8), 2)
    check(Gpt, GptConfig(vocab_size=ALPHABET, **SIZES), 2)


def test_a_process_without_a_row_remembers_no_row(tmp_path: Path) -> None:
    model = Lstm.seeded(LstmConfig(vocab_size=ALPHABET, width=8), 1)
    row = np.array([[BOS, FIRST]])
    states = []
    for rank in range(2):
        batches = holed(corpus(8, 1))
        run = made(model, batches, None, TrainConfig(), group=ProcessGroup(rank, 2))
        run._learn_from(Batch(np.repeat(row, 4, 0), np.repeat(row, 4, 0)), 4)
        run._learn_from(Batch(row, row), 1)
        states.append(run.state.tensors())
    assert all(len(interleaved(pair)) == 1 for pair in zip(*states, strict=True))


if __name__ == "__main__":
    work(Path(sys.argv[1]))
