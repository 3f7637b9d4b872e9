"""Files of GLUE and SNLI as published, with their traps: from tiny files of every task to published figures."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import chainrule as cr
from chainrule.cli import main
from chainrule.errors import ChainruleError
from chainrule.judge.glue import PUBLISHED, glue_score, task_score
from chainrule.train.guess import guessed_task
from paired import paired

HEADS = {
    "SST-2": "sentence\tlabel",
    "MRPC": "\ufeffQuality\t#1 ID\t#2 ID\t#1 String\t#2 String",
    "QQP": "id\tqid1\tqid2\tquestion1\tquestion2\tis_duplicate",
    "STS-B": "index\tgenre\tfilename\tyear\told_index\tsource1\tsource2\tsentence1\tsentence2\tscore",
    "MNLI": "index\tpromptID\tpairID\tgenre\tsentence1_binary_parse\tsentence2_binary_parse\tsentence1_parse\t"
    "sentence2_parse\tsentence1\tsentence2\tlabel1\tgold_label",
    "QNLI": "index\tquestion\tsentence\tlabel",
    "RTE": "index\tsentence1\tsentence2\tlabel",
    "SNLI": "gold_label\tsentence1_binary_parse\tsentence2_binary_parse\tsentence1_parse\tsentence2_parse\t"
    "sentence1\tsentence2\tcaptionID\tpairID\tlabel1",
}
NAMES = {"same": "entailment", "other": "not_entailment"}
Row = tuple[str, str, bool]


def line(task: str, at: int, row: Row) -> str:
    """An example as its task writes it; quotes that nobody closes are in every third one."""
    mark = '"' if at % 3 == 0 else ""
    first, second, same = f"{mark}{row[0]}", row[1], row[2]
    number, name = str(int(same)), NAMES["same" if same else "other"]
    cells = {
        "CoLA": ["gj04", number, "" if same else "*", f"{first} {second}"],
        "SST-2": [f"{first} {second}", number],
        "MRPC": [number, str(at), str(at), first, second],
        "QQP": [str(at), "1", "2", first, second, number],
        "STS-B": [str(at), "g", "f", "2012", "0", "s", "s", first, second, f"{at % 11 / 10 + 3 * same:.3f}"],
        "MNLI": [str(at), *"1234567", first, second, name, "entailment" if same else "neutral"],
        "QNLI": [str(at), first, second, name],
        "RTE": [str(at), first, second, name],
        "SNLI": ["entailment" if same else "neutral", *"1234", first, second, "c", f"p{at}", name],
    }
    return "\t".join(cells[task])


def test_labels_of_sts_b_are_numbers_however_few_there_are(tmp_path: Path) -> None:
    rows = [line("STS-B", 11 * at, (f"a {at}", "b", at % 2 == 0)) for at in range(40)]  # 0 and 3 alone
    (tmp_path / "train.tsv").write_text("\n".join([HEADS["STS-B"], *rows]) + "\n")
    assert guessed_task({"format": "glue"}, str(tmp_path / "train.tsv")) == "regress"
    (tmp_path / "other.tsv").write_text(HEADS["SST-2"] + "\na film\t1\n" * 9)
    assert guessed_task({"format": "glue"}, tmp_path / "other.tsv") == "classify"


def some(count: int, seed: int, single: bool) -> list[Row]:
    """Pairs that share a word or not; a single text says by a word of its own which it is."""
    data = paired(count, seed)
    rows = zip(data["text"], data["pair"], data["label"], strict=True)
    if single:
        return [(one, "yes" if label == "same" else "no", label == "same") for one, _, label in rows]
    return [(one, two, label == "same") for one, two, label in rows]


def written(path: Path, task: str, count: int, seed: int, *more: str) -> Path:
    """A tiny file in the format of a task, with more lines at its end."""
    rows = some(count, seed, task in ("CoLA", "SST-2"))
    lines = [line(task, at, row) for at, row in enumerate(rows)]
    head = [HEADS[task]] if task in HEADS else []
    path.write_text("\n".join([*head, *lines, *more]) + "\n", encoding="utf-8")
    return path


def run(words: list[Any], capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    assert main([*map(str, words), "--json"]) == 0
    found: dict[str, Any] = json.loads(capsys.readouterr().out.splitlines()[-1])
    return found


@pytest.mark.parametrize("task", ["CoLA", *HEADS])
def test_every_task_goes_from_its_published_files_to_its_published_figures(
    task: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    train, dev = (tmp_path / f"{name}.tsv" for name in ("train", "dev"))
    written(train, task, 240, 0)
    written(dev, task, 60, 1)
    out = tmp_path / "m"
    fitted = run(["fit", train, "--valid", dev, "--format", "glue", "-o", out, "-q"], capsys)
    assert fitted["task"] == ("regress" if task == "STS-B" else "classify")
    found = run(["evaluate", out, dev], capsys)
    assert found["examples"] == 60, "a quote that nobody closes swallows no lines"
    own = {"SNLI": ("accuracy",), "MNLI": ("accuracy",)}.get(task) or PUBLISHED[task]
    assert all(found[name] > 0.7 for name in own), {name: found[name] for name in own}
    if task not in ("STS-B", "MNLI", "SNLI"):
        assert found["labels"] == (
            ["0", "1"] if task in ("CoLA", "SST-2", "MRPC", "QQP") else [*NAMES.values()]
        )


def test_broken_lines_are_counted_and_reported(tmp_path: Path) -> None:
    for task, broken in (("QQP", "7\t1\t2\thow is"), ("MRPC", "1\t2\t3\ta\tb\tc"), ("CoLA", "gj04\t1\t*")):
        path = written(tmp_path / f"{task}.tsv", task, 60, 0, broken, "", broken)
        model = cr.fit(path, format="glue")
        notes = " ".join(model.card["notes"])
        assert "2 broken lines" in " ".join(model.evaluate(path).notes)
        first = 62 if task in HEADS else 61
        assert f"2 broken lines were left out (the first: {path}, line {first} has" in notes
        assert f"format: {task} (" in notes


@pytest.mark.parametrize("kind", ["txt", "jsonl"])
def test_examples_of_snli_without_a_gold_label_are_left_out_and_counted(kind: str, tmp_path: Path) -> None:
    rows = some(60, 0, False)
    gold = ["-" if at % 10 == 0 else "entailment" if row[2] else "neutral" for at, row in enumerate(rows)]
    path = tmp_path / f"snli_1.0_train.{kind}"
    if kind == "txt":
        lines = [f"{own}\t1\t2\t3\t4\t{a}\t{b}\tc\tp\tx" for own, (a, b, _) in zip(gold, rows, strict=True)]
        path.write_text("\n".join([HEADS["SNLI"], *lines]) + "\n")
    else:
        found = [
            {"gold_label": own, "sentence1": a, "sentence2": b, "pairID": "p"}
            for own, (a, b, _) in zip(gold, rows, strict=True)
        ]
        path.write_text("".join(json.dumps(one) + "\n" for one in found))
    model = cr.fit(path, format="glue", valid=path, refit=False)
    assert any("6 examples without a gold label (-) were left out" in note for note in model.card["notes"])
    assert model.card["data"]["sequences"] == 54
    assert model.codecs["label"].size - 5 == 2, "- is no label"


def test_test_files_without_labels_are_predicted_with_their_ids(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out, test = tmp_path / "m", tmp_path / "test.tsv"
    run(["fit", written(tmp_path / "train.tsv", "RTE", 120, 0), "--format", "glue", "-o", out, "-q"], capsys)
    test.write_text('index\tsentence1\tsentence2\n7\tthe "sun\tsun\n9\tsun\ta fog\n')
    assert main(["predict", str(out), "--file", str(test), "--id", "id", "--json"]) == 0
    lines = [json.loads(one) for one in capsys.readouterr().out.splitlines()]
    assert [(one["id"], one["label"]) for one in lines] == [("7", "entailment"), ("9", "not_entailment")]


def test_a_quote_swallows_lines_where_the_format_is_not_said(tmp_path: Path) -> None:
    """The trap itself: read as a table with quotes, the same file is another one, or none."""
    path = written(tmp_path / "train.tsv", "RTE", 30, 0)
    try:
        found = cr.fit(path, column="sentence1", pair="sentence2", label="label", refit=False)
    except ChainruleError:
        return
    assert found.card["data"]["sequences"] < 20


def test_what_is_no_file_of_glue_is_refused_with_what_is_expected(tmp_path: Path) -> None:
    path = tmp_path / "x.tsv"
    path.write_text("a\tb\n1\t2\n")
    with pytest.raises(ChainruleError, match=r"no file of GLUE.*Expected is"):
        cr.fit(path, format="glue")
    written(tmp_path / "train.tsv", "RTE", 30, 0)
    with pytest.raises(ChainruleError, match="Name the file"):
        cr.fit(tmp_path, format="glue")
    path.write_text(HEADS["RTE"] + "\nbroken\n")
    with pytest.raises(ChainruleError, match="no example that is whole"):
        cr.fit(path, format="glue")


def test_the_recipe_reads_files_of_glue(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    recipe = Path(__file__).parents[1] / "recipes" / "glue.toml"
    train = written(tmp_path / "train.tsv", "MRPC", 60, 0)
    words = ["fit", train, "--config", recipe, "--epochs", "0.2", "-o", tmp_path / "m", "-q"]
    assert run(words, capsys)["task"] == "classify"


def test_the_average_is_the_mean_over_tasks_of_the_mean_of_their_figures() -> None:
    figures = {
        "CoLA": {"matthews": 0.4, "accuracy": 0.9},
        "MRPC": {"f1": 0.8, "accuracy": 0.7},
        "MNLI": {"matched_accuracy": 0.6, "mismatched_accuracy": 0.5},
    }
    assert task_score("MRPC", figures["MRPC"]) == pytest.approx(75)
    assert glue_score(figures) == pytest.approx(np.mean([40, 75, 55]))
    with pytest.raises(ChainruleError, match="mismatched_accuracy is missing"):
        glue_score({"MNLI": {"matched_accuracy": 0.6}})
    with pytest.raises(ChainruleError, match="no task of GLUE"):
        task_score("SQuAD", {})
