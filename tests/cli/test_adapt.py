"""Dynamic evaluation and the neural cache on the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from .conftest import Chainrule


def test_a_model_adapts_itself_while_it_scores_and_in_a_mix(
    chainrule: Chainrule, book: Path, tmp_path: Path
) -> None:
    words = ["--codec", "words", "--valid", book, "--test", book]
    chainrule(
        "fit", book, *words, "--model", "lstm", "--width", "8", "--epochs", "2", "-o", tmp_path / "lstm"
    )
    chainrule("fit", book, *words, "--order", "2", "-o", tmp_path / "two")

    def scored(*more: object) -> float:
        done = chainrule("score", tmp_path / "lstm", "--file", book, "--json", *more)
        assert done.code == 0, done.err
        return float(json.loads(done.out)["log2prob"])

    plain = scored()
    assert scored("--dynamic", "--dynamic-lr", "0") == pytest.approx(plain, rel=1e-6)
    assert scored("--neural-cache", "--cache-size", "50", "--valid", book) != plain
    mixed = chainrule(
        "mix", tmp_path / "lstm", tmp_path / "two", "--valid", book, "--neural-cache", "-o", tmp_path / "both"
    )
    assert mixed.code == 0 and "neural-cache" in mixed.err
    assert "neural-cache" in chainrule("show", tmp_path / "both").out


def test_settings_of_adapting_without_adapting_are_refused(
    chainrule: Chainrule, book: Path, tmp_path: Path
) -> None:
    chainrule("fit", book, "--order", "2", "-o", tmp_path / "lm")
    done = chainrule("score", tmp_path / "lm", "--file", book, "--cache-size", "50")
    assert done.code == 2 and "--neural-cache" in done.err
