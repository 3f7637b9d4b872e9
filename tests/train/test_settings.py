"""Sizes that nobody gave: chosen from data and time, said, kept with the run."""

from __future__ import annotations

import json
import re
import struct
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import chainrule as cr
from chainrule.bundle import load
from chainrule.cli import main
from chainrule.config import Setting, settings
from chainrule.judge.score import subsample
from chainrule.models.lstm import Lstm, LstmConfig
from chainrule.models.registry import BUILT_IN, family
from chainrule.models.sizing import Workload, dropout
from chainrule.progress import Meter, no_progress
from chainrule.symbols import BOS, EOS
from chainrule.tasks.base import Task
from chainrule.tasks.next import Next
from chainrule.train.config import TrainConfig
from chainrule.train.gradient import _Watcher
from chainrule.train.unfinished import reason
from tiny.label import Label

SPEED = 1e11


def chosen(model: str = "lstm", **given: Any) -> dict[str, Any]:
    facts = {"vocab_size": 70, "symbols": 10**6, "seconds": 60.0, "asked": 0.0, "speed": SPEED}
    workload = Workload(**{**facts, **{name: given.pop(name) for name in list(given) if name in facts}})
    kind: Any = family(model)
    return kind.suggest(kind.Config(vocab_size=workload.vocab_size, **given), workload, given)  # type: ignore[no-any-return]


@pytest.mark.parametrize("model", ["window", "rnn", "lstm", "gru"])
def test_more_time_and_more_data_make_a_larger_model(model: str) -> None:
    by_time = [chosen(model, seconds=seconds)["width"] for seconds in (1, 30, 300, 3000)]
    by_data = [chosen(model, seconds=3000.0, symbols=symbols)["width"] for symbols in (10**3, 10**5, 10**7)]
    for widths in (by_time, by_data):
        assert widths == sorted(widths) and len(set(widths)) > 2


def test_large_alphabets_are_sampled_and_share_their_table() -> None:
    large, small = chosen(vocab_size=10_000), chosen(vocab_size=70)
    assert large["sampled_softmax"] and large["tied"] == "yes"
    assert "sampled_softmax" not in small and small["tied"] == "no" and small["embedding"] <= 64


def test_what_is_read_often_is_dropped_more() -> None:
    shares = [dropout(epochs) for epochs in (0.1, 3, 10, 30, 1e9)]
    assert shares == sorted(shares) and shares[:2] == [0.0, 0.0] and shares[-1] == 0.5


def test_what_is_given_is_not_chosen() -> None:
    found = chosen(width=100, dropout=0.1)
    assert "width" not in found and "dropout" not in found and "embedding" in found


def test_a_window_with_direct_connections_keeps_two_tables() -> None:
    assert "tied" not in chosen("window", vocab_size=10_000, direct=True)


@pytest.mark.parametrize(
    "given", [{"width": 100}, {"width": 6}, {"heads": 5}, {"heads": 12}, {"width": 90, "heads": 9}]
)
def test_heads_divide_the_width_whichever_is_given(given: dict[str, int]) -> None:
    found = {**chosen("gpt", **given), **given}
    assert found["width"] % (2 * found["heads"]) == 0


def test_weights_are_counted_without_making_them() -> None:
    config = LstmConfig(vocab_size=50, width=16, embedding=8, tied="yes")
    made = Lstm(config)
    assert sum(Lstm.weights(config)) == sum(one.numel() for one in made.parameters())
    assert Lstm.weights(config)[1] == 50 * 8


LEARNING = [name for name in BUILT_IN if family(name).learner]


def printed(model: str) -> dict[str, Setting]:
    """Every setting of a family and of its training, with the default that help prints."""
    configs = [family(model).Config, *([TrainConfig] if family(model).learner == "gradient" else [])]
    return {one.name: one for config in configs for one in settings(config)}


@pytest.mark.parametrize("model", [name for name in LEARNING if family(name).learner == "gradient"])
def test_what_a_family_may_choose_is_printed_as_chosen_and_nothing_else_is(model: str) -> None:
    found = {name for size in (70, 10_000) for name in chosen(model, vocab_size=size)}
    marked = {name for name, one in printed(model).items() if one.chosen}
    unread = (
        {"seq_len"} if family(model).task == "classify" else {"bidirectional"}
    )  # whole texts; not with a softmax
    assert found <= marked and marked - found <= {"bf16", "tokens", "optimizer", "average", *unread}


@pytest.mark.parametrize("model", LEARNING)
def test_a_setting_that_is_not_printed_as_chosen_has_its_printed_default(model: str, text: Path) -> None:
    given = {"epochs": 1.0} if family(model).learner == "gradient" else {}
    texts = text.read_text().splitlines()
    labelled = {"text": texts, "label": [str(len(one) % 2) for one in texts]}
    paired = {"source": np.array(texts, object), "target": np.array(texts, object)}
    data: Any = {"classify": labelled, "translate": paired}.get(family(model).task, text)
    bundle = cr.fit(data, model=model, codec="words", progress=no_progress, **given)
    used = {**bundle.config["model"], **bundle.card.get("settings", {})}
    differ = {name for name, one in printed(model).items() if used[name] != one.default} - given.keys()
    assert [name for name in differ if not printed(model)[name].chosen] == []


@pytest.mark.parametrize(
    ("model", "flags"), [("lstm", ["--width", "--tied"]), ("gpt", ["--optimizer", "--context"])]
)
def test_help_says_which_defaults_are_chosen(
    model: str, flags: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    main(["fit", "--model", model, "--help"])
    entries = re.split(r"\n  (?=--)", capsys.readouterr().out)
    for flag in flags:
        [entry] = [one for one in entries if one.startswith(f"{flag} ")]
        assert "[default: chosen]" in " ".join(entry.split())


def test_every_family_that_learns_by_gradient_can_be_sized() -> None:
    learning = [name for name in BUILT_IN if family(name).learner == "gradient"]
    assert {"window", "rnn", "lstm", "gru"} <= set(learning)
    assert all(chosen(name)["lr"] > 0 for name in learning)
    assert all(chosen(name)["width"] > 0 for name in learning if family(name).task != "classify")


@pytest.fixture
def text(tmp_path: Path) -> Path:
    rng = np.random.default_rng(0)
    path = tmp_path / "text.txt"
    path.write_text("\n".join(" ".join(rng.choice(["sun", "rain", "fog"], 5)) for _ in range(80)))
    return path


def fit(text: Path, *more: str) -> int:
    return main(
        ["fit", str(text), "--codec", "words", "--model", "lstm", "-o", str(text.parent / "lm"), *more]
    )


def test_what_was_chosen_is_said_and_kept(text: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert fit(text, "--epochs", "1") == 0
    assert "chosen for the data and the time: width 32" in capsys.readouterr().err
    kept = json.loads((text.parent / "lm.run" / "settings.json").read_text())
    assert kept["model"]["width"] == 32 and kept["train"]["epochs"] == 1.0
    assert load(text.parent / "lm").model.config.width == 32  # type: ignore[attr-defined]


def test_a_resumed_run_has_the_settings_it_began_with(
    text: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from chainrule.errors import Stopped
    from chainrule.train.trainer import Trainer

    def stop(self: Trainer) -> None:
        if self.at.step == 5:
            self._save()
            raise Stopped("stopped")

    with monkeypatch.context() as patched:
        patched.setattr(Trainer, "_look_up", stop)
        assert fit(text, "--epochs", "20", "--width", "12") == 130
    assert fit(text, "--resume", "--width", "24") == 2
    assert "--width 12" in capsys.readouterr().err
    assert fit(text, "--resume") == 0
    assert load(text.parent / "lm").model.config.width == 12  # type: ignore[attr-defined]


@pytest.mark.parametrize(("task", "unit"), [(Next(), "nats per symbol"), (Label(), "nats per target")])
def test_the_progress_of_a_training_names_its_unit_once(task: Task, unit: str) -> None:
    meter = Meter("training")
    watcher = _Watcher(meter, task.loss_unit)
    watcher({"symbols": 64, "loss": 1.4744})
    assert meter.words == f"loss 1.474 {unit}"
    watcher({"valid": 1.599})
    assert meter.words == f"loss 1.474, valid 1.599 {unit}"


def test_the_trainer_says_when_its_budget_ends_and_what_was_done_before(
    text: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[Mapping[str, Any]] = []
    monkeypatch.setattr(
        _Watcher, "__call__", lambda self, values: told.append(values) if "plan" in values else None
    )
    assert fit(text, "--budget", "2s", "--width", "8") == 0
    assert told[0]["plan"] is None and len(told) > 1
    assert all(one["budget"] == 2.0 and 0.0 < one["left"] < 2.0 and not one["skipped"] for one in told)


def test_an_unfinished_model_is_told_with_its_unit() -> None:
    told = reason({"steps": 10, "planned": 10, "best": 3.1}, 3.0)
    assert told and "(3.100 against 3.000 nats per symbol)" in told


def test_too_large_a_model_is_refused_with_advice(text: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert fit(text, "--width", "60000", "--layers", "64", "--epochs", "1") == 1
    assert "smaller --width" in capsys.readouterr().err


def test_sampling_and_smoothing_are_not_mixed_silently(
    text: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert fit(text, "--sampled-softmax", "3", "--label-smoothing", "0.1", "--epochs", "1") == 1
    assert "do not go together" in capsys.readouterr().err


def test_a_run_can_be_looked_at_with_tensorboard(text: Path) -> None:
    from tensorboardX.proto.event_pb2 import Event

    assert fit(text, "--tensorboard", "--epochs", "20", "--width", "8") == 0
    [file] = (text.parent / "lm.run").glob("events.out.*")
    data, tags = file.read_bytes(), {}
    while data:  # length, its checksum, the event, its checksum
        [size] = struct.unpack("<Q", data[:8])
        event = Event.FromString(data[12 : 12 + size])
        tags |= {value.tag: value.simple_value for value in event.summary.value}
        data = data[16 + size :]
    lines = (text.parent / "lm.run" / "metrics.jsonl").read_text().splitlines()
    assert tags["nats/valid"] == pytest.approx(json.loads(lines[-1])["valid"])
    assert {"nats/train", "nats/step"} <= set(tags)


def test_tensorboard_without_its_package_says_what_to_install(
    text: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "tensorboardX", None)
    assert fit(text, "--tensorboard", "--epochs", "1", "--width", "8") == 2
    assert "chainrule[tensorboard]" in capsys.readouterr().err


def test_a_subsample_of_the_validation_part_comes_from_all_over_it() -> None:
    lines = np.concatenate([[BOS, *range(10 * line, 10 * line + 8), EOS] for line in range(1, 1001)])
    found = subsample(lines, 2000)
    assert 1500 < len(found) <= 2200 and found[0] == BOS and found[-1] == EOS
    assert (found == BOS).sum() == (found == EOS).sum() == len(found) / 10
    assert found.max() > 9000 and len(np.unique(found)) > 1000
    stream = np.concatenate([[BOS], np.arange(5, 50_000), [EOS]])
    piece = subsample(stream, 4096)
    assert piece[0] == BOS and 4000 < len(piece) <= 4097 and piece.max() == 49_999
    assert subsample(stream, 10**6) is stream
