"""Training as users start, stop and resume it: by command."""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from chainrule.bundle import load
from chainrule.cli import main

OPTIONS = ["--codec", "words", "--model", "lstm", "--width", "8", "--epochs", "400", "--patience", "0"]


@pytest.fixture
def text(tmp_path: Path) -> Path:
    rng = np.random.default_rng(0)
    path = tmp_path / "text.txt"
    path.write_text("\n".join(" ".join(rng.choice(["sun", "rain", "fog"], 5)) for _ in range(80)))
    return path


def command(text: Path, *more: str) -> list[str]:
    return [sys.executable, "-m", "chainrule.cli", "fit", str(text), *OPTIONS, *more]


def metrics(run: Path) -> list[dict[str, float]]:
    path = run / "metrics.jsonl"
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM])
def test_a_training_stopped_by_a_signal_resumes_to_the_same_model(text: Path, how: signal.Signals) -> None:
    out, whole = text.parent / "lm", text.parent / "whole"
    process = subprocess.Popen(
        command(text, "-o", str(out)), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    while not metrics(text.parent / "lm.run"):  # wait for the first validation
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(0.02)
    process.send_signal(how)
    _, told = process.communicate(timeout=60)
    assert process.returncode == 130 and "--resume" in told
    assert not out.exists()
    assert main([*command(text, "-o", str(out), "-q")[3:]]) == 1  # a stopped run is not started over silently
    assert main([*command(text, "-o", str(out), "--resume", "-q")[3:]]) == 0
    assert main([*command(text, "-o", str(whole), "-q")[3:]]) == 0
    for name, array in load(whole).model.arrays().items():
        np.testing.assert_array_equal(load(out).model.arrays()[name], array, err_msg=name)
    assert metrics(text.parent / "lm.run") == metrics(text.parent / "whole.run")


def test_a_budget_is_kept_and_the_plan_is_told(text: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["fit", str(text), "--codec", "words", "--model", "gru", "--width", "8", "--budget", "3s"]
    assert main([*words, "-o", str(text.parent / "lm"), "--json"]) == 0
    out, err = capsys.readouterr()
    assert json.loads(out)["family"] == "gru"
    assert "in the budget" in err
    assert load(text.parent / "lm").card["training"]["seconds"] < 6


def test_a_run_is_not_overwritten_without_force(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = tmp_path / "text.txt"
    text.write_text("\n".join("ab" * (2 + row % 5) for row in range(60)))
    words = ["fit", str(text), "--model", "gru", "--codec", "characters", "--tokens", "300", "--width", "8"]
    assert main([*words, "-o", str(tmp_path / "lm")]) == 0
    shutil.rmtree(tmp_path / "lm")
    before = (tmp_path / "lm.run" / "metrics.jsonl").read_text()
    assert main([*words, "-o", str(tmp_path / "lm")]) == 1
    assert "--force" in capsys.readouterr().err
    assert (tmp_path / "lm.run" / "metrics.jsonl").read_text() == before
    assert main([*words, "-o", str(tmp_path / "lm"), "--force"]) == 0


def test_a_run_is_not_resumed_with_other_data_of_the_same_alphabet(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, letters in {"one": "ab", "two": "ba"}.items():
        lines = "\n".join(letters * (2 + row % 5) for row in range(60))
        (tmp_path / name).write_text(lines)
    more = ["--model", "gru", "--codec", "characters", "--width", "8", "-o", str(tmp_path / "lm")]
    run = tmp_path / "lm.run"
    assert main(["fit", str(tmp_path / "one"), *more, "--tokens", "300"]) == 0
    shutil.rmtree(tmp_path / "lm")
    assert (run / "settings.json").exists()
    assert main(["fit", str(tmp_path / "two"), *more, "--resume"]) != 0
    assert "other data" in capsys.readouterr().err
