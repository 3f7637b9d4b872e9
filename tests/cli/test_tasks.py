"""A task of one's own on the command line: fitted, shown, judged by its own figures."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import tiny.label  # noqa: F401  registers the task

from .conftest import Chainrule


@pytest.fixture
def reviews(tmp_path: Path) -> Path:
    lines = [
        f"{mood} {number % 5},{stars}" for number in range(60) for mood, stars in (("good", 5), ("bad", 1))
    ]
    (tmp_path / "reviews.csv").write_text("\n".join(["text,stars", *lines]))
    return tmp_path / "reviews.csv"


def test_a_task_with_other_figures_is_fitted_and_shown(chainrule: Chainrule, reviews: Path) -> None:
    out = reviews.parent / "stars"
    words = ["fit", reviews, "--model", "lstm", "--task", "label", "--column", "text", "--label", "stars"]
    small = ["--codec", "words", "--width", "8", "--epochs", "20", "--lr", "0.02"]
    done = chainrule(*words, *small, "-o", out)
    assert done.code == 0, done.err
    assert "accuracy" in done.out and "log loss" in done.out and "perplexity" not in done.out
    told = json.loads(chainrule("show", out, "--json").out)
    assert told["task"]["name"] == "label" and told["card"]["figures"]["test"]["accuracy"] == 1.0
    shown = chainrule("show", out)
    assert shown.code == 0 and "codec of label" in shown.out and "head" in shown.out
