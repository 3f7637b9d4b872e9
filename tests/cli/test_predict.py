"""`fit --label`, `predict` and `evaluate` as scripts use them."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest

import chainrule as cr
from cli.conftest import Chainrule

GOOD, BAD = ["good film", "fine plot it is", "so good"], ["bad film", "poor plot it is", "so bad"]
ROWS = [(text, label) for text, label in [*((t, "yes, sir") for t in GOOD), *((t, "no\nway") for t in BAD)]]


def table(path: Path, rows: list[tuple[str, str]], header: tuple[str, str] = ("text", "stars")) -> Path:
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([header, *rows])
    return path


def test_a_column_of_labels_is_classified_as_scripts_expect(chainrule: Chainrule, tmp_path: Path) -> None:
    rows = [(f"{text} {number}", label) for text, label in ROWS for number in range(20)]
    data = table(tmp_path / "rows.csv", rows)
    done = chainrule("fit", data, "--column", "text", "--label", "stars", "-o", tmp_path / "stars", "--json")
    assert "task: classify" in done.err
    assert json.loads(done.out)["test"]["accuracy"] == 1.0
    one = json.loads(chainrule("predict", tmp_path / "stars", "a good film", "--json").out)
    assert one["label"] == "yes, sir" and sum(one["probabilities"].values()) == pytest.approx(1)
    blank = table(tmp_path / "blank.csv", [("so bad", "?"), ("", "?"), ("so good", "?")])
    found = chainrule("predict", tmp_path / "stars", "--file", blank, "--column", "text", "--json").out
    rows = [json.loads(line) for line in found.splitlines()]
    assert [(row["row"], row["label"]) for row in rows] == [(1, "no\nway"), (2, None), (3, "yes, sir")]
    lines = chainrule("predict", tmp_path / "stars", "--file", blank, "--column", "text").out.splitlines()
    assert [line.split("\t")[1] for line in lines] == ["no\\nway", "", "yes, sir"]
    people = chainrule("evaluate", tmp_path / "stars", data).out
    assert "no\\nway" in people and "way\n" not in people.replace("\\nway", "") and " -0 " not in people
    judged = json.loads(chainrule("evaluate", tmp_path / "stars", data, "--json").out)
    assert judged["accuracy"] == 1.0 and judged["examples"] == len(ROWS) * 20
    assert {"macro_f1", "log_loss", "confusion", "per_class", "intervals"} <= set(judged)


def test_a_label_never_seen_counts_as_wrong_and_is_said(chainrule: Chainrule, tmp_path: Path) -> None:
    model = cr.fit({"text": GOOD * 9 + BAD * 9, "label": ["a"] * 27 + ["b"] * 27}, model="bag")
    model.save(tmp_path / "ab")
    other = table(tmp_path / "other.csv", [("so good", "a"), ("so bad", "zzz")], ("text", "label"))
    done = chainrule("evaluate", tmp_path / "ab", other)
    assert "1 example has a label that was not seen in training" in done.out
    assert model.evaluate(other).figures["accuracy"] == 0.5


def test_a_dash_is_standard_input_line_by_line(
    chainrule: Chainrule, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cr.fit({"text": GOOD * 9 + BAD * 9, "label": ["a"] * 27 + ["b"] * 27}, model="bag").save(tmp_path / "ab")
    found = []
    for more in ([], ["-"]):
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"so good\n\nso bad\n")))
        found.append(chainrule("predict", tmp_path / "ab", *more).out)
    assert found[0] == found[1] and [line.split("\t")[1] for line in found[1].splitlines()] == ["a", "", "b"]


def test_every_figure_has_an_interval_and_a_single_label_is_said(
    chainrule: Chainrule, tmp_path: Path
) -> None:
    data = table(tmp_path / "rows.csv", [(f"{text} {at}", label) for text, label in ROWS for at in range(9)])
    chainrule("fit", data, "--label", "stars", "-o", tmp_path / "stars")
    told = json.loads(chainrule("evaluate", tmp_path / "stars", data, "--json").out)
    figures = {"accuracy", "macro_f1", "log_loss", "calibration_error", "matthews", "f1"}
    assert set(told["intervals"]) == figures
    picture = tmp_path / "answers.svg"
    chainrule("evaluate", tmp_path / "stars", data, "-o", picture)
    assert picture.read_text().startswith("<svg") and "Reliability" in picture.read_text()
    assert "exists already" in chainrule("evaluate", tmp_path / "stars", data, "-o", picture).err
    shown = cr.load(tmp_path / "stars").evaluate(data)._repr_html_()
    assert "macro f1" in shown and "Confusion" in shown
    one = table(tmp_path / "one.csv", [(text, "yes") for text, _ in ROWS * 9])
    assert "only one label, 'yes'" in chainrule("fit", one, "--label", "stars", "-o", tmp_path / "one").err
