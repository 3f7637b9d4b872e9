"""Two models on the same data: differences of figures and whether they are significant."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import chainrule as cr
from chainrule.cli import main
from chainrule.errors import ChainruleError

Data = dict[str, list[str]]


def noisy(count: int, seed: int, wrong: float = 0.2) -> Data:
    """One of two words tells the label, but for some."""
    random = np.random.default_rng(seed)
    labels = ["a" if random.random() < 0.6 else "b" for _ in range(count)]
    words = [one if random.random() > wrong else "b" if one == "a" else "a" for one in labels]
    return {"text": [f"word{one} so {random.integers(50)}" for one in words], "label": labels}


def test_a_better_model_is_significantly_better_and_a_model_is_no_better_than_itself() -> None:
    bag, usual = (cr.fit(noisy(200, 0), model=name) for name in ("bag", "majority"))
    found = bag.evaluate_against(usual, noisy(300, 1))
    one = found.differences["accuracy"]
    own = [model.evaluate(noisy(300, 1)).figures["accuracy"] for model in (bag, usual)]
    assert one.value == pytest.approx(own[0] - own[1]) and one.low <= one.value <= one.high
    assert found.significant("accuracy") and one.low > 0
    back = usual.evaluate_against(bag, noisy(300, 1)).differences["accuracy"]
    assert (back.value, back.low, back.high) == pytest.approx((-one.value, -one.high, -one.low))
    same = bag.evaluate_against(bag, noisy(300, 1))
    assert not any(same.significant(name) for name in same.differences)
    assert all((one.low, one.high) == (0, 0) for one in same.differences.values())


def test_pairing_is_sharper_than_two_intervals_side_by_side() -> None:
    """What is hard for both cancels out: a bug that draws other examples for each model would be caught."""
    first, second = (cr.fit(noisy(200, 0), model="bag", regularization=c) for c in (0.5, 0.45))
    found = first.evaluate_against(second, noisy(300, 1))
    one = found.differences["accuracy"]
    low, high = found.first.intervals["accuracy"]
    assert one.high - one.low < 0.7 * (high - low)


def test_two_models_are_compared_on_the_command_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "test.jsonl"
    rows = zip(*noisy(120, 1).values(), strict=True)
    path.write_text("".join(json.dumps({"text": text, "label": label}) + "\n" for text, label in rows))
    for name in ("bag", "majority"):
        cr.fit(noisy(200, 0), model=name).save(tmp_path / name)
    words = ["evaluate", str(tmp_path / "bag"), str(path), "--against", str(tmp_path / "majority")]
    assert main(words) == 0
    assert "significant" in (shown := capsys.readouterr().out) and "accuracy" in shown
    assert main([*words, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["differences"]["accuracy"]["significant"] is True and found["examples"] == 120
    assert len(found["models"]) == 2


def test_models_of_different_tasks_are_refused() -> None:
    labels = cr.fit(noisy(60, 0), model="bag")
    numbers = cr.fit({"text": noisy(60, 0)["text"], "label": list(range(60))}, model="bag", task="regress")
    with pytest.raises(ChainruleError, match="two of the same"):
        labels.evaluate_against(numbers, noisy(60, 1))
