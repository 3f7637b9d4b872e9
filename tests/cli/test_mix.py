from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from chainrule.bundle import load

from .conftest import LINES, Chainrule


@pytest.fixture
def models(chainrule: Chainrule, book: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """Two models over the same codec."""
    monkeypatch.setenv("CHAINRULE_CACHE", str(tmp_path / "cache"))
    places = [tmp_path / "one", tmp_path / "two"]
    for order, place in enumerate(places, 1):
        words = ["fit", book, "--codec", "words", "--order", str(order), "-o", place, "-q"]
        assert chainrule(*words).code == 0
    return places


def test_mix_is_told_how_to_read_its_data(chainrule: Chainrule, models: list[Path], tmp_path: Path) -> None:
    text, table = tmp_path / "valid.txt", tmp_path / "valid.data"
    text.write_text("\n".join(LINES))
    table.write_text("\n".join(json.dumps({"id": "0", "said": line}) for line in LINES))
    plain = chainrule("mix", *models, "--valid", text, "-o", tmp_path / "plain", "--json")
    words = ["--valid", table, "--format", "jsonl", "--column", "said"]
    read = chainrule("mix", *words, *models, "-o", tmp_path / "read", "--json")
    assert read.code == 0, read.err
    assert read.json["valid"]["log2prob"] == plain.json["valid"]["log2prob"]
    weights = [load(tmp_path / name).model.config.weights for name in ("plain", "read")]  # type: ignore[attr-defined]
    assert weights[0] == weights[1]


def test_the_parts_of_a_mix_are_named_by_their_folders(
    chainrule: Chainrule, models: list[Path], tmp_path: Path
) -> None:
    (tmp_path / "valid.txt").write_text("\n".join(LINES))
    done = chainrule("mix", *models, "--valid", tmp_path / "valid.txt", "-o", tmp_path / "both")
    assert re.search(r"^weights: one 0\.\d{3} \(ngram\), two 0\.\d{3} \(ngram\)$", done.err, re.MULTILINE)
    shown = chainrule("show", tmp_path / "both").out
    assert re.search(r"^  one +ngram, weight 0\.\d{3}$", shown, re.MULTILINE)
    assert re.search(r"^  two +ngram, weight 0\.\d{3}$", shown, re.MULTILINE)
    assert "{" not in shown


def test_a_wrong_column_of_a_mix_is_an_error(
    chainrule: Chainrule, models: list[Path], tmp_path: Path
) -> None:
    (tmp_path / "valid.csv").write_text("said\nwhat is\n")
    done = chainrule(
        "mix", *models, "--valid", tmp_path / "valid.csv", "--column", "says", "-o", tmp_path / "x"
    )
    assert done.code == 1 and "says" in done.err


def test_weights_are_not_to_be_estimated_on_training_data(
    chainrule: Chainrule, models: list[Path], book: Path, tmp_path: Path
) -> None:
    done = chainrule("mix", *models, "--valid", book, "-o", tmp_path / "both")
    assert done.code == 0 and f"warning: one was trained on {book}" in done.err
    (tmp_path / "valid.txt").write_text("\n".join(LINES))
    assert (
        "warning"
        not in chainrule("mix", *models, "--valid", tmp_path / "valid.txt", "-o", tmp_path / "x").err
    )
