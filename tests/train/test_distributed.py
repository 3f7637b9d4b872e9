"""Several processes learn as one, and a killed one is no loss."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
import torch

from chainrule.bundle import load
from chainrule.data.batches import Batch
from chainrule.train.carried import interleaved
from chainrule.train.distributed import ProcessGroup

COMMON = [
    "--codec",
    "words",
    "--model",
    "lstm",
    "--width",
    "8",
    "--embedding",
    "8",
    "--batch-size",
    "4",
    "--seq-len",
    "16",
]
COMMON += [
    "--dropout",
    "0",
    "--sampled-softmax",
    "0",
    "--lr",
    "0.01",
    "--no-bf16",
    "--patience",
    "0",
    "--stateful",
]


@pytest.fixture
def text(tmp_path: Path) -> Path:
    rng = np.random.default_rng(0)
    path = tmp_path / "text.txt"
    path.write_text("\n".join(" ".join(rng.choice(["sun", "rain", "fog"], 5)) for _ in range(80)))
    return path


def fit(text: Path, name: str, processes: int, *more: str) -> list[str]:
    alone = [sys.executable, "-m"]
    group = [sys.executable, "-m", "torch.distributed.run", "--standalone", f"--nproc-per-node={processes}"]
    group += ["--max-restarts=2", "-m"]
    words = ["chainrule.cli", "fit", str(text), *COMMON, "-o", str(text.parent / name), "-q", *more]
    return [*(alone if processes == 1 else group), *words]


def environment() -> dict[str, str]:
    return {**os.environ, "OMP_NUM_THREADS": "1"}


def curve(text: Path, name: str) -> list[dict[str, float]]:
    lines = (text.parent / f"{name}.run" / "metrics.jsonl").read_text().splitlines()
    return [json.loads(line) for line in lines]


def test_rows_dealt_out_come_together_again() -> None:
    rows = torch.arange(14).view(7, 2)
    batch = Batch(rows.numpy(), rows.numpy(), continues=True)
    shares = [torch.from_numpy(ProcessGroup(rank, 3).share(batch).tokens) for rank in range(3)]
    assert [len(one) for one in shares] == [3, 2, 2]
    torch.testing.assert_close(interleaved(shares), rows)


def test_weights_that_nobody_used_get_no_gradient(monkeypatch: pytest.MonkeyPatch) -> None:
    used, elsewhere, unused = (torch.ones(2, requires_grad=True) for _ in range(3))
    used.grad = torch.ones(2)

    def as_if_another(flat: torch.Tensor) -> None:  # it used the second one, too
        flat += torch.tensor([1.0, 1.0, 0.0, *[2.0] * 4, *[0.0] * 2])

    monkeypatch.setattr(torch.distributed, "all_reduce", as_if_another)
    ProcessGroup(0, 2).add_gradients([used, elsewhere, unused])
    assert used.grad is not None and used.grad.tolist() == [3.0, 3.0]
    assert elsewhere.grad is not None and elsewhere.grad.tolist() == [2.0, 2.0]
    assert unused.grad is None


def test_two_processes_have_the_losses_of_one(text: Path) -> None:
    for processes in (1, 2):
        words = fit(text, f"by{processes}", processes, "--epochs", "6")
        subprocess.run(words, check=True, env=environment(), timeout=120)
    one, two = curve(text, "by1"), curve(text, "by2")
    assert len(one) == len(two) > 5
    for mine, other in zip(one, two, strict=True):
        assert other["train"] == pytest.approx(mine["train"], rel=1e-4)
        assert other["valid"] == pytest.approx(mine["valid"], rel=1e-4)
    arrays = [load(text.parent / name).model.arrays() for name in ("by1", "by2")]
    for name, array in arrays[0].items():
        np.testing.assert_allclose(arrays[1][name], array, atol=1e-3, err_msg=name)


def test_a_killed_worker_is_started_again_and_the_training_resumes(text: Path) -> None:
    whole = fit(text, "whole", 2, "--epochs", "30")
    subprocess.run(whole, check=True, env=environment(), timeout=120)
    words = fit(text, "killed", 2, "--epochs", "30", "--checkpoint-every", "0.01s", "--resume")
    process = subprocess.Popen(words, env=environment(), stderr=subprocess.DEVNULL)
    while not (text.parent / "killed.run" / "checkpoint.safetensors").exists():
        assert process.poll() is None
        time.sleep(0.01)
    workers = subprocess.run(["pgrep", "-P", str(process.pid)], capture_output=True, text=True).stdout.split()
    os.kill(int(workers[-1]), signal.SIGKILL)
    assert process.wait(timeout=120) == 0
    assert curve(text, "killed") == curve(text, "whole")
