"""Multi-label classification: cells and lists of labels, thresholds, and figures as scikit-learn has them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import chainrule as cr
from chainrule.cli import main
from chainrule.codecs.base import UNIT, Texts
from chainrule.codecs.label_sets import LabelSets, LabelSetsConfig
from chainrule.errors import ChainruleError
from chainrule.heads.base import HeadConfig
from chainrule.heads.direct import Direct
from chainrule.judge.label_sets import (
    HALF,
    LabelSetsJudged,
    best_temperature,
    best_threshold,
    best_thresholds,
)
from chainrule.symbols import BOS, EOS, FIRST
from chainrule.tasks.multi_label import thresholds

TOPICS = {"sport": ["ball", "goal"], "food": ["bread", "soup"], "travel": ["train", "hotel"]}
SMALL: dict[str, Any] = {"lr": 0.02, "batch_size": 16, "head_dropout": 0.0, "dropout": 0.0, "codec": "words"}
SETTINGS: dict[str, dict[str, Any]] = {
    "bag": {},
    "cnn": SMALL | {"embedding": 16, "filters": 8, "epochs": 6},
    "gru": SMALL | {"embedding": 16, "width": 16, "epochs": 6},
    "bert": SMALL | {"width": 16, "heads": 2, "layers": 1, "context": 16, "epochs": 10, "lr": 0.01},
}


def topics(count: int, seed: int = 0) -> dict[str, list[Any]]:
    """Texts with words of no, one, two or three topics."""
    random = np.random.default_rng(seed)
    texts, labels = [], []
    for _ in range(count):
        own = [name for name in TOPICS if random.random() < 0.5]
        words = [str(random.choice(TOPICS[name])) for name in own] + ["the", "so"]
        texts.append(" ".join(random.permutation(words)))
        labels.append(own)
    return {"text": texts, "label": labels}


@pytest.mark.parametrize("family", SETTINGS)
def test_all_labels_of_a_text_are_found_and_none_where_there_is_none(family: str, tmp_path: Path) -> None:
    data, test = topics(240), topics(80, 1)
    model = cr.fit(data, valid=topics(80, 2), model=family, multi_label=True, **SETTINGS[family])
    found = model.evaluate(test).figures
    assert found["micro_f1"] >= 0.97 and found["subset_accuracy"] >= 0.9, found
    one, two = model.predict(["ball soup the so", "the so"])
    assert set(one.labels or ()) == {"sport", "food"} and two.labels == () and two.probabilities
    model.save(tmp_path / "m")
    assert cr.load(tmp_path / "m", verify=True).predict(test["text"]) == model.predict(test["text"])


def test_two_labels_of_a_bag_may_both_be_right() -> None:
    """Of several labels, one is not what the other is not."""
    data = topics(240)
    two = {**data, "label": [[one for one in own if one != "travel"] for own in data["label"]]}
    model = cr.fit(two, valid=two, model="bag", multi_label=True)
    both, neither = model.predict(["ball soup the so", "the so"])
    assert set(both.labels or ()) == {"sport", "food"} and neither.labels == ()


def test_a_network_that_shares_one_unit_among_all_labels_is_caught() -> None:
    """The deliberate bug: the softmax of exclusive labels, whose probabilities cannot all be high."""
    from chainrule.judge.classes import Classified

    model = cr.fit(topics(240), model="bag", multi_label=True)
    chances = np.array(list(model.predict(["ball soup train"])[0].probabilities.values()))
    assert chances.sum() > 1.5, "labels do not exclude each other"
    assert (
        Classified(chances[None] / chances.sum(), np.array([0]), ["a", "b", "c"]).probabilities.max() < HALF
    )


def test_labels_of_a_cell_are_separated_and_an_empty_one_has_none(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data, path, out = topics(160), tmp_path / "topics.tsv", str(tmp_path / "m")
    rows = zip(data["text"], data["label"], strict=True)
    path.write_text("text\ttopics\n" + "".join(f"{text}\t{'; '.join(own)}\n" for text, own in rows))
    words = ["fit", str(path), "--label", "topics", "--multi-label", "--separator", ";", "-o", out, "--json"]
    assert main([*words, "-q"]) == 0
    assert json.loads(capsys.readouterr().out)["task"] == "multi-label"
    assert main(["evaluate", out, str(path), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["examples"] == 160 and found["micro_f1"] > 0.97
    assert set(found["intervals"]) == {"micro_f1", "macro_f1", "subset_accuracy", "hamming_loss"}
    assert main(["predict", out, "ball soup", "--json"]) == 0
    assert sorted(json.loads(capsys.readouterr().out)["labels"]) == ["food", "sport"]
    assert main(["predict", out, "--file", str(path)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 160 and lines[0].startswith("1\t")


def test_lists_in_jsonl_are_labels_as_they_are(tmp_path: Path) -> None:
    rows = [
        {
            "text": f"{('ball', 'soup', 'hotel')[at % 3]} {'so ' * (at % 7)}it",
            "label": [["a, b", "c\nd"], ["c\nd"], []][at % 3],
        }
        for at in range(90)
    ]
    path = tmp_path / "rows.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    model = cr.fit(path, task="classify", multi_label=True, label="label")
    assert set(model.predict(["ball it"])[0].labels or ()) == {"a, b", "c\nd"}
    assert [one.labels for one in model.predict(["soup it", "hotel it"])] == [("c\nd",), ()]


def test_figures_are_those_of_scikit_learn() -> None:
    metrics = pytest.importorskip("sklearn.metrics")
    random = np.random.default_rng(0)
    given, right = random.random((50, 7)) < 0.4, random.random((50, 7)) < 0.3
    given[:, 5], right[:, 5], right[:, 6] = False, False, False
    found = LabelSetsJudged(given, right, np.zeros(50, int), [str(at) for at in range(7)]).figures()
    assert found == pytest.approx(
        {
            "micro_f1": metrics.f1_score(right, given, average="micro", zero_division=0),
            "macro_f1": metrics.f1_score(right, given, average="macro", zero_division=0),
            "subset_accuracy": metrics.accuracy_score(right, given),
            "hamming_loss": metrics.hamming_loss(right, given),
        },
        abs=1e-12,
    )


def test_labels_never_seen_in_training_count_as_missed_and_that_is_said() -> None:
    model = cr.fit(topics(120), model="bag", multi_label=True)
    found = model.evaluate({"text": ["ball", "soup"], "label": [["sport", "new"], ["food"]]})
    assert found.figures["subset_accuracy"] == 0.5 and found.figures["micro_f1"] == pytest.approx(4 / 5)
    assert "1 labels were not seen" in found.judged.notes[0]


@given(st.lists(st.tuples(st.integers(0, 20), st.booleans()), min_size=1, max_size=40))
def test_the_threshold_has_the_best_f1_of_all(rows: list[tuple[int, bool]]) -> None:
    chances, right = np.array([one / 20 for one, _ in rows]), np.array([own for _, own in rows])

    def f1(threshold: float) -> float:
        given = chances >= threshold
        return float(2 * (given & right).sum() / max(1, given.sum() + right.sum()))

    found = best_threshold(chances, right)
    assert f1(found) == pytest.approx(max(f1(one / 40) for one in range(42)) if right.any() else 0.0)


def test_a_label_with_few_examples_has_the_threshold_of_all() -> None:
    chances = np.linspace(0.01, 0.99, 200).reshape(100, 2)
    right = np.stack([chances[:, 0] > 0.3, np.arange(100) == 99], 1)
    own, other = best_thresholds(chances, right)
    assert own == pytest.approx(0.3, abs=0.02)
    assert other == best_threshold(chances.ravel(), right.ravel())


def test_thresholds_of_other_labels_are_refused() -> None:
    head = Direct(HeadConfig(width=3, answers=3, thresholds=(0.5, 0.5)))
    with pytest.raises(ChainruleError, match="2 thresholds came for 3 labels"):
        thresholds(head, 3)


@pytest.mark.parametrize("true", [0.3, 1.0, 4.0])
def test_the_temperature_of_sigmoids_is_found_again(true: float) -> None:
    random = np.random.default_rng(0)
    logits = random.normal(0, 3, (2000, 2))
    right = random.random((2000, 2)) < 1 / (1 + np.exp(-logits))
    assert best_temperature(logits * true, right) == pytest.approx(true, rel=0.15)


@given(st.lists(st.lists(st.text(alphabet="ab ;,", max_size=3), max_size=4), min_size=1, max_size=5))
def test_lists_of_labels_come_back_each_once(sets: list[list[str]]) -> None:
    cells = Texts.of(["".join(one + UNIT for one in own) for own in sets])
    codec = LabelSets.learn(lambda: [cells], LabelSetsConfig())
    ids = codec.encode(cells).ids
    parts = [one[1:-1].tolist() for one in np.split(ids, np.flatnonzero(ids == BOS)[1:])]
    assert (ids[[len(ids) - 1]] == EOS).all() and all(one >= FIRST for own in parts for one in own)
    wanted = [{label.strip() for label in own if label.strip()} for own in sets]
    assert [{codec.token(one) for one in own} for own in parts] == wanted


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({"model": "class-ngram"}, "--model"),
        ({"task": "regress"}, "leave out one"),
        ({"separator": " "}, "--separator is empty"),
    ],
)
def test_what_cannot_be_done_with_several_labels_is_refused(settings: dict[str, Any], told: str) -> None:
    with pytest.raises(ChainruleError, match=told):
        cr.fit(topics(20), multi_label=True, **settings)


def test_always_the_usual_labels_is_what_others_must_beat() -> None:
    model = cr.fit(topics(100), model="majority", multi_label=True)
    assert 0.3 < model.evaluate(topics(100, 1)).figures["micro_f1"] < 0.8


def test_refitting_keeps_the_thresholds_of_the_judged_twin() -> None:
    judged, refitted = (
        cr.fit(topics(160), model="bag", multi_label=True, refit=one) for one in (False, True)
    )
    assert judged.head is not None and refitted.head is not None
    assert judged.head.config.thresholds == refitted.head.config.thresholds != ()
