"""Recipes read the files they were written for, as these were published."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from chainrule.cli import main

RECIPES = Path(__file__).parents[1] / "recipes"
EMPTY = "\t_" * 6
CONLLU = f"""# text = I don't go
1\tI\tI\tPRON{EMPTY}
2-3\tdon't\t_\t_{EMPTY}
2\tdo\tdo\tAUX{EMPTY}
3\tn't\tnot\tPART{EMPTY}
4\tgo\tgo\tVERB{EMPTY}
4.1\tgone\tgo\tVERB{EMPTY}

"""
CONLL = """-DOCSTART- -X- -X- O

EU NNP B-NP B-ORG
rejects VBZ B-VP O
Peter NNP B-NP B-PER
Blackburn NNP I-NP I-PER

"""
ROLES = """Ann - (A0*) *
saw see (V*) *
Bob - (A1* (A0*)
who - * (R-A0*)
left leave *) (V*)

"""
TREES = "(3 (2 a) (4 (3 good) (2 film)))\n(1 (2 a) (0 (1 bad) (2 film)))\n"


@pytest.mark.parametrize(
    ("recipe", "text", "told"),
    [
        ("upos", CONLLU, "4 tags: AUX, PART, PRON, VERB"),
        ("ner", CONLL, "8 lines -DOCSTART- were skipped"),
        ("srl", ROLES, "B-R-A0, B-V, I-A1"),
        ("sst", TREES, "2 labels: '1', '3'"),
    ],
)
def test_a_recipe_fits_and_evaluates_tiny_files_of_its_format(
    recipe: str, text: str, told: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data, out = tmp_path / ("data.conllu" if recipe == "upos" else "data.txt"), str(tmp_path / "m")
    data.write_text(text * 8, encoding="utf-8")
    short = ["--width", "8", "--epochs", "1", "--layers", "1"]
    config = ["--config", str(RECIPES / f"{recipe}.toml")]
    assert main(["fit", str(data), "--valid", str(data), *config, *short, "-o", out]) == 0
    assert told in capsys.readouterr().err
    assert main(["evaluate", out, str(data), "--json"]) == 0
    assert 0 <= json.loads(capsys.readouterr().out)["accuracy"] <= 1
