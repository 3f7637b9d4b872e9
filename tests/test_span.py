"""Answers as parts of passages: from files in the format of SQuAD to predictions and figures."""

from __future__ import annotations

import json
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import chainrule as cr
from asked import asked, columns, squad, written
from chainrule.bundle import Bundle
from chainrule.cli import main
from chainrule.errors import ChainruleError, Stopped
from chainrule.heads.span import NEVER
from chainrule.judge.spans import Spans
from chainrule.tasks.span import Scored, Span, _scored, _sums

SMALL: dict[str, Any] = {
    "task": "span",
    "model": "lstm",
    "width": 16,
    "embedding": 16,
    "dropout": 0.0,
    "head_units": 32,
    "head_dropout": 0.0,
    "lr": 0.01,
    "batch_size": 16,
    "epochs": 10,
}
FLAGS = [word for name, one in SMALL.items() for word in (f"--{name.replace('_', '-')}", str(one))]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Files of both versions, and a model of version 2."""
    place = tmp_path_factory.mktemp("squad")
    written(place / "train1.json", asked(240, 0))
    written(place / "dev1.json", asked(60, 1))
    written(place / "train2.json", asked(300, 2, 3, 0.3))
    written(place / "dev2.json", asked(80, 3, 3, 0.3))
    written(place / "test2.json", asked(100, 4, 3, 0.3))
    words = ["fit", place / "train2.json", *FLAGS, "--valid", place / "dev2.json", "-o", place / "two", "-q"]
    assert main([str(word) for word in words]) == 0
    return place


@pytest.fixture(scope="module")
def two(folder: Path) -> Bundle:
    return cr.load(folder / "two")


def test_squad_1_from_fit_to_figures(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out, dev = str(folder / "one"), str(folder / "dev1.json")
    assert main(["fit", str(folder / "train1.json"), *FLAGS, "--valid", dev, "-o", out, "--json", "-q"]) == 0
    fitted = json.loads(capsys.readouterr().out)
    assert fitted["task"] == "span" and fitted["valid"]["exact_match"] >= 0.9
    assert main(["evaluate", out, dev, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["exact_match"] == fitted["valid"]["exact_match"] and found["no_answer"] == 0
    assert set(found["intervals"]) == {"exact_match", "f1", "has_answer_exact_match", "has_answer_f1"}
    assert main(["predict", out, "--file", dev, "--json"]) == 0
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [line["id"] for line in lines] == [f"q{number}" for number in range(60)]
    assert all(line["answer"] and 0 < line["probability"] <= 1 for line in lines), "there is always an answer"
    right = [line["answer"] == row["answer"] for line, row in zip(lines, asked(60, 1), strict=True)]
    assert np.mean(right) == found["exact_match"]


def test_the_recipe_for_squad_runs(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    recipe = Path(__file__).parents[1] / "recipes" / "squad.toml"
    words = ["fit", folder / "train2.json", "--config", recipe, "--epochs", "0.2", "-o", tmp_path / "m"]
    assert main([*map(str, words), "--json", "-q"]) == 0
    assert json.loads(capsys.readouterr().out)["task"] == "span"


def test_squad_2_figures_are_those_of_its_answers(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out, test = str(folder / "two"), str(folder / "test2.json")
    assert main(["evaluate", out, test, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["f1"] >= 0.8 and found["has_answer_f1"] >= 0.8 and found["no_answer_exact_match"] >= 0.6
    assert found["has_answer"] + found["no_answer"] == found["examples"] == 100
    low, high = found["intervals"]["no_answer_exact_match"]
    assert low <= found["no_answer_exact_match"] <= high
    assert main(["predict", out, "--file", test, "--json"]) == 0
    answers = [json.loads(line)["answer"] for line in capsys.readouterr().out.splitlines()]
    right = [[row["answer"]] if row["answer"] else [] for row in asked(100, 4, 3, 0.3)]
    again = Spans.of(answers, right).figures()
    assert {name: found[name] for name in again} == pytest.approx(again)


def test_one_question_is_answered_on_the_command_line(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["predict", str(folder / "two"), "--question", "Where does Bob live?"]
    passage = ["--passage", "Anna lives in Rome.  Bob lives in New York.  Carl lives in Oslo."]
    assert main([*words, *passage, "--json", "--top", "3"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["answer"] == "New York" and found["start"] == passage[1].index("New York")
    assert len(found["choices"]) == 3 and found["choices"][0]["probability"] == found["probability"]
    assert main([*words, *passage]) == 0
    assert "New York" in capsys.readouterr().out
    for wrong in (words, [*words, *passage, "text"], ["predict", str(folder / "two"), "a text"]):
        assert main(wrong) != 0
        assert "--question" in capsys.readouterr().err


def test_each_side_alone_is_near_chance(folder: Path) -> None:
    """Trained with the question hidden, or with the passage of another, nothing but guessing is left."""
    rows, tested = asked(240, 0), asked(100, 5)
    both = cr.fit(columns(rows), valid=columns(asked(60, 1)), **SMALL)
    assert both.evaluate(columns(tested)).figures["exact_match"] >= 0.9
    blind = [{**row, "question": "Where does somebody live?"} for row in rows]
    model = cr.fit(columns(blind), valid=columns(blind[:60]), **{**SMALL, "epochs": 4})
    hidden = [{**row, "question": "Where does somebody live?"} for row in tested]
    assert model.evaluate(columns(hidden)).figures["exact_match"] <= 0.5, "a third by guessing"
    moved = {
        **columns(tested),
        "passage": [row["passage"] for row in tested[1:] + tested[:1]],
    }
    assert both.evaluate(moved).figures["exact_match"] <= 0.3


def test_no_answer_is_given_above_the_threshold_only(two: Bundle) -> None:
    assert two.head is not None and abs(two.head.config.threshold) < NEVER
    data = columns(asked(40, 6, 3, 0.5))
    eager = replace(two, head=two.head.calibrated(temperature=1.0, threshold=NEVER))
    never = replace(two, head=two.head.calibrated(temperature=1.0, threshold=-NEVER))
    assert all(one.span for one in eager.predict_each(data))
    assert not any(one.span for one in never.predict_each(data))


def test_the_threshold_is_the_best_for_the_validation_part(two: Bundle, folder: Path) -> None:
    assert two.head is not None
    best = two.evaluate(str(folder / "dev2.json")).figures["f1"]
    for shift in (-3.0, -0.5, 0.5, 3.0):
        config = two.head.config
        head = two.head.calibrated(temperature=config.temperature, threshold=config.threshold + shift)
        other = replace(two, head=head).evaluate(str(folder / "dev2.json")).figures["f1"]
        assert other <= best + 1e-12
    assert best == pytest.approx(two.card["figures"]["valid"]["f1"])


def test_a_refitted_model_has_the_threshold_of_its_twin() -> None:
    data = columns(asked(160, 7, 2, 0.4))
    settings = {**SMALL, "epochs": 3}
    model, twin = (cr.fit(data, refit=again, **settings) for again in (True, False))
    assert model.head is not None and twin.head is not None
    assert model.head.config == twin.head.config and model.head.config.threshold != 0
    assert model.card["figures"] == twin.card["figures"]


@contextmanager
def stopping(title: str, total: int | None, unit: str) -> Iterator[Any]:
    """Asks the training to stop after a few steps, as Ctrl-C does."""

    class Step:
        words, nats, steps = "", 0.0, 0
        total: int | None = None

        def __call__(self, amount: int) -> None:
            self.steps += 1
            if title == "training" and self.steps == 12:
                signal.raise_signal(signal.SIGINT)

    yield Step()


def test_a_stopped_training_resumes_to_the_same_weights(tmp_path: Path) -> None:
    data, valid = columns(asked(80, 8)), columns(asked(20, 9))
    settings = {**SMALL, "epochs": 4, "model": "bert", "heads": 2, "layers": 1, "context": 20}
    del settings["embedding"]
    whole = cr.fit(data, valid=valid, **settings)
    with pytest.raises(Stopped):
        cr.fit(data, valid=valid, run=tmp_path / "run", progress=stopping, **settings)
    again = cr.fit(data, valid=valid, run=tmp_path / "run", resume=True, **settings)
    ours, theirs = whole.arrays(), again.arrays()
    assert all(np.array_equal(ours[name], theirs[name]) for name in ours)


def test_a_language_model_is_a_body_for_questions(tmp_path: Path) -> None:
    lines = [row["passage"] for row in asked(100, 10)]
    lm = cr.fit(lines, model="lstm", codec="words", split="simple", width=16, embedding=16, epochs=1)
    settings = {name: one for name, one in SMALL.items() if name not in ("model", "width", "embedding")}
    data = columns(asked(60, 11))
    for way in ("frozen", "tuned"):
        model = cr.fit(data, valid=data, init_from=lm, transfer=way, **{**settings, "epochs": 1})
        assert model.answer("Where does Bob live?", "Bob lives in Rome.").span is not None


def test_blank_rows_have_a_line_and_ids_of_a_table_are_kept(two: Bundle, tmp_path: Path) -> None:
    path = tmp_path / "some.jsonl"
    rows = [
        {"name": "x", "question": "Where does Bob live?", "passage": "Bob lives in Rome."},
        {"name": "y", "question": "", "passage": "Bob lives in Rome."},
        {"name": "z", "question": "Where?", "passage": " "},
    ]
    path.write_text("\n".join(map(json.dumps, rows)))
    found = list(two.predict_each(str(path), id="name"))
    assert [one.id for one in found] == ["x", "y", "z"] and [one.blank for one in found] == [
        False,
        True,
        True,
    ]
    assert found[1].to_dict()["answer"] is None
    assert [one.row for one in two.predict_each(str(path))] == [1, 2, 3]


def test_questions_without_answers_can_be_predicted_but_not_evaluated(two: Bundle, tmp_path: Path) -> None:
    document = squad(asked(4, 13))
    for paragraph in document["data"][0]["paragraphs"]:
        del paragraph["qas"][0]["answers"]
    path = tmp_path / "hidden.json"
    path.write_text("\ufeff" + json.dumps(document))
    assert [one.id for one in two.predict_each(str(path))] == ["q0", "q1", "q2", "q3"]
    with pytest.raises(ChainruleError, match="no 'answers'"):
        two.evaluate(str(path))


def test_a_very_long_passage_is_read_in_windows_by_any_body(two: Bundle) -> None:
    passage = "Anna lives in Rome.  " * 300 + "Bob lives in Oslo."
    found = two.evaluate({"question": ["Where does Bob live?"], "passage": [passage], "answer": ["Oslo"]})
    assert "1 passages are longer than a window of 1,024 symbols" in found.judged.notes[0]
    choices = two.answer("Where does Bob live?", passage, 21).answer
    assert any(one.start == passage.index("Oslo") for one in choices.choices)


def test_counting_models_and_other_data_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ChainruleError, match="counting"):
        cr.fit(columns(asked(9)), task="span", model="ngram")
    text = tmp_path / "book.txt"
    text.write_text("some text\n")
    with pytest.raises(ChainruleError, match=r"SQuAD files \(.json\), or a table"):
        cr.fit(str(text), task="span")
    with pytest.raises(ChainruleError, match="column"):
        cr.fit({"question": ["x"], "text": ["y"]}, task="span")
    nowhere = {"question": ["who ?"] * 9, "passage": [f"x {n}" for n in range(9)], "answer": ["y"] * 9}
    with pytest.raises(ChainruleError, match="No answer stands in its passage"):
        cr.fit(nowhere, valid=nowhere, **SMALL)


def test_spans_are_ranked_over_windows_as_by_trying_all() -> None:
    random = np.random.default_rng(0)
    places = [(0, 6), (4, 9)]
    windows = [
        (place, *random.normal(size=(2, place[1] - place[0])), float(number))
        for number, place in enumerate(places)
    ]
    found = _scored(windows, 3)
    every: dict[tuple[int, int], float] = {}
    for (first, after), begin, end, _ in windows:
        for one in range(first, after):
            for other in range(one, min(after, one + 3)):
                score = float(begin[one - first] + end[other - first])
                every[one, other] = max(score, every.get((one, other), -np.inf))
    best = sorted(every, key=lambda span: -every[span])[: len(found.spans)]
    assert found.spans.tolist() == [list(span) for span in best] and found.nothing == 0.0
    assert _sums(np.zeros(2), np.arange(2.0), 5).tolist() == [[0.0, 1.0], [1.0, -np.inf]]
    chances = Scored(found.spans, found.scores, 3.0).chances(0.5, 1.0)
    assert chances.sum() == pytest.approx(1) and chances.argmax() in (0, len(chances) - 1)


def test_more_answers_in_a_file_are_compared_with_the_nearest(two: Bundle, tmp_path: Path) -> None:
    document = squad(asked(20, 12))
    for paragraph in document["data"][0]["paragraphs"]:
        (question,) = paragraph["qas"]
        question["answers"].insert(0, {"text": "elsewhere", "answer_start": 3})
    path = tmp_path / "several.json"
    path.write_text(json.dumps(document))
    plain = two.evaluate(str(written(tmp_path / "plain.json", asked(20, 12))))
    assert two.evaluate(str(path)).figures == plain.figures


def test_the_task_says_its_columns() -> None:
    assert [role.name for role in Span().roles()] == ["question", "passage", "answer"]
    assert Span().inputs() == ["question", "passage"]
