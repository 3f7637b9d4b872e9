"""`show`: layers, shapes and parameters of saved models."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

import chainrule as cr
from chainrule.errors import ChainruleError
from cli.conftest import Chainrule

RECIPES = Path(__file__).parents[2] / "recipes"


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two labels, and more than 5,000 different words in the training part."""
    path = tmp_path_factory.mktemp("data") / "many.csv"
    words = [f"w{at} w{at + 1} w{at + 2} w{at + 3}" for at in range(0, 8_000, 4)]
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows(
            [("text", "label"), *((some, "ab"[at % 2]) for at, some in enumerate(words))]
        )
    return path


@pytest.mark.parametrize(
    ("recipe", "parameters", "parts"),
    [
        ("lecture-lstm", 82_129, [80_000, 2_112, 17]),
        ("lecture-bilstm", 84_257, [80_000, 2_112, 2_112, 33]),
        ("lecture-cnn", 92_449, [80_000, 10_368, 2_064, 17]),
    ],
)
def test_the_classifiers_of_the_lecture_have_as_many_parameters_as_there(
    recipe: str, parameters: int, parts: list[int], many: Path, chainrule: Chainrule, tmp_path: Path
) -> None:
    config = RECIPES / f"{recipe}.toml"
    asked = ("--column", "text", "--label", "label", "--config", config, "--epochs", "0.05", "-q")
    assert chainrule("fit", many, *asked, "-o", tmp_path / "m").code == 0
    found = chainrule("show", tmp_path / "m", "--json").json
    assert found["parameters"] == parameters and found["vocab_size"] == 5_000
    assert [layer["parameters"] for layer in found["layers"]] == parts
    assert found["layers"][0]["output"] == ["B", "T", 16] and found["layers"][-1]["output"] == ["B", 1]
    lines = chainrule("show", tmp_path / "m").out.splitlines()
    assert lines[-1].split() == ["total", f"{parameters:,}"]
    [one] = cr.load(tmp_path / "m").predict("w1 w2")
    assert set(one.probabilities) == {"a", "b"} and sum(one.probabilities.values()) == pytest.approx(1)


def test_one_sigmoid_is_for_two_labels() -> None:
    data = {"text": [f"text {at}" for at in range(60)], "label": ["a", "b", "c"] * 20}
    with pytest.raises(ChainruleError, match="--sigmoid is for two labels, and there are 3"):
        cr.fit(data, model="cnn", sigmoid=True, epochs=1)


def test_layers_of_a_language_model_add_up(tmp_path: Path, chainrule: Chainrule) -> None:
    lm = cr.fit(["she was late", "he was not"] * 20, model="gpt", codec="words", layers=1, width=8, epochs=1)
    lm.save(tmp_path / "lm")
    found = chainrule("show", tmp_path / "lm", "--json").json
    assert sum(layer["parameters"] for layer in found["layers"]) == found["parameters"]
    assert ["B", "T", 24] in [layer["output"] for layer in found["layers"]]  # queries, keys and values
    cr.fit(["she was late"] * 9, order=2).save(tmp_path / "counted")
    assert chainrule("show", tmp_path / "counted", "--json").json["layers"] == []
    assert "array " in chainrule("show", tmp_path / "counted").out
