"""Classification: labels of all kinds, what is said, what is refused, and its figures."""

from __future__ import annotations

import csv
import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import chainrule as cr
from chainrule.codecs.base import Texts
from chainrule.codecs.labels import Labels, LabelsConfig
from chainrule.errors import ChainruleError, ConfigError
from chainrule.judge.classes import Classified, best_temperature
from chainrule.models.bag.features import features, of_letters
from chainrule.models.bag.svm import Rows, scaled
from chainrule.models.readers import Spelling
from chainrule.tasks.classify import Classify, balanced, probabilities
from chainrule.use.predict import part_of
from chainrule.use.text import typed_texts

CNN: dict[str, Any] = {"epochs": 0.2, "embedding": 8, "filters": 4}
GOOD, BAD = ["good film", "fine plot it is", "so good"], ["bad film", "poor plot it is", "so bad"]


@given(st.lists(st.text(min_size=1).map(str.strip).filter(bool), min_size=1, max_size=20))
def test_every_label_is_one_symbol_and_comes_back(labels: list[str]) -> None:
    try:
        texts = Texts.of(labels)
    except UnicodeEncodeError:
        return
    codec = Labels.learn(lambda: [texts], LabelsConfig())
    ids = codec.encode(texts).ids.reshape(-1, 3)
    stripped = [label.encode().strip().decode() for label in labels]
    assert [codec.token(int(one)) for one in ids[:, 1]] == stripped
    assert codec.count == len(set(stripped))


def test_labels_are_in_order_numbers_by_value() -> None:
    codec = Labels.learn(lambda: [Texts.of(["10", "9", "b", "a", "9"])], LabelsConfig())
    assert codec.labels == ("9", "10", "a", "b")
    assert codec.encode(Texts.of(["c"])).unknown == 1


def test_one_class_only_is_predicted_always() -> None:
    for family in ("majority", "bag", "class-ngram", "cnn"):
        settings = CNN if family == "cnn" else {}
        model = cr.fit({"text": GOOD * 20, "label": ["a"] * 60}, model=family, **settings)
        assert model.predict("bad")[0].label == "a" and model.predict("bad")[0].probability == pytest.approx(
            1
        )


def test_many_classes_are_told_apart() -> None:
    texts = [f"word{at} again" for at in range(300)]
    data = {"text": texts * 2, "label": [str(at) for at in range(300)] * 2}
    model = cr.fit(data, valid=data, model="class-ngram", order=1)
    assert np.mean([one.label == str(at) for at, one in enumerate(model.predict(texts))]) > 0.95


def test_a_bag_tells_each_of_many_labels_from_some_of_the_other_texts(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    looked: list[int] = []
    whole = Rows.of_texts
    monkeypatch.setattr("chainrule.models.bag.model.VISITS", 1 << 20)
    monkeypatch.setattr(Rows, "of_texts", lambda self, some: looked.append(len(some)) or whole(self, some))
    texts = [f"word{at} again" for at in range(120)]
    data = {"text": texts * 2, "label": [str(at) for at in range(120)] * 2}
    model = cr.fit(data, valid=data, model="bag")
    assert np.mean([one.label == str(at) for at, one in enumerate(model.predict(texts))]) > 0.95
    assert 2 < max(looked) < 100, "own texts, and some others"


@pytest.mark.parametrize(
    ("family", "settings"), [("majority", {}), ("cnn", CNN | {"epochs": 0.05, "batch_size": 250})]
)
def test_ten_thousand_labels_are_no_trouble(family: str, settings: dict[str, Any]) -> None:
    labels = [f"label {at}" for at in range(10_000)]
    data = {"text": [f"w{at % 100} v{at // 100}" for at in range(10_000)], "label": labels}
    model = cr.fit(data, valid={name: some[:50] for name, some in data.items()}, model=family, **settings)
    found = model.predict(data["text"][:3])
    assert len(found[0].probabilities) == 10_000 and sum(found[0].probabilities.values()) == pytest.approx(1)
    assert model.predict(data["text"][:1], top=3)[0].probabilities.keys() <= found[0].probabilities.keys()


@pytest.mark.parametrize("family", ["majority", "bag", "class-ngram", "cnn"])
def test_labels_with_commas_and_line_ends_come_back_whole(family: str, tmp_path: Path) -> None:
    labels = ["Smith, J.\nand others", 'a "quoted", one']
    data = {"text": (GOOD + BAD) * 12, "label": [labels[0]] * 36 + [labels[1]] * 36}
    path = tmp_path / "table.csv"
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([["text", "label"], *zip(*data.values(), strict=True)])
    model = cr.fit(path, valid=path, label="label", model=family, **(CNN if family == "cnn" else {}))
    assert set(model.predict("so")[0].probabilities) == set(labels)
    assert set(model.evaluate(path).to_dict()["labels"]) == set(labels)


def test_a_language_model_predicts_no_labels() -> None:
    lm = cr.fit(GOOD * 9, model="ngram", order=2, codec="words")
    with pytest.raises(ChainruleError, match="predicts no labels"):
        lm.predict("good")
    with pytest.raises(ChainruleError, match="predicts no symbols"):
        cr.fit(GOOD * 9, model="cnn", task="next")


def test_a_refitted_model_keeps_the_temperature_of_its_twin() -> None:
    data = {"text": GOOD * 20 + BAD * 20, "label": ["a"] * 60 + ["b"] * 60}
    judged, refitted = (cr.fit(data, model="bag", refit=again) for again in (False, True))
    assert judged.head is not None and refitted.head is not None
    assert judged.head.config.temperature == refitted.head.config.temperature != 1.0
    assert "what was calibrated (temperature, thresholds) are those of its twin" in refitted.card["notes"][-1]


def test_figures_are_those_of_the_textbook() -> None:
    chances = np.array([[0.7, 0.2, 0.1], [0.1, 0.8, 0.1], [0.3, 0.4, 0.3], [0.2, 0.2, 0.6]])
    found = Classified(chances, np.array([0, 1, 0, 2]), ["a", "b", "c"])
    assert found.accuracy == 0.75
    assert found.log_loss == pytest.approx(-np.log([0.7, 0.8, 0.3, 0.6]).mean())
    assert found.confusion.tolist() == [[1, 1, 0], [0, 1, 0], [0, 0, 1]]
    assert found.macro_f1 == pytest.approx((2 / 3 + 2 / 3 + 1) / 3)
    assert found.matthews == pytest.approx(0.7, abs=0.01)  # (3*4 - 5) / sqrt((16-6) (16-6))
    assert found.calibration_error == pytest.approx((0.3 + 0.2 + 0.4 + 0.4) / 4)


def test_what_is_said_of_an_unseen_label_counts_against_the_labels_it_was_taken_for() -> None:
    from sklearn.metrics import f1_score, matthews_corrcoef, precision_score

    predicted, right = np.array([0, 1, 1, 0, 1, 0]), np.array([0, 1, -1, 0, -1, 1])
    found = Classified(np.eye(2)[predicted], right, ["a", "b"])
    assert found.macro_f1 == pytest.approx(f1_score(right, predicted, average="macro"))
    assert found.matthews == pytest.approx(matthews_corrcoef(right, predicted))
    precisions = precision_score(right, predicted, labels=[0, 1], average=None)
    assert [one["precision"] for one in found.per_class] == pytest.approx(precisions)
    assert found.tables()[1].rows[-1] == ["(not in training)", 0, 2]
    assert found.notes[0].startswith("2 examples have a label that was not seen")


def test_figures_of_ten_thousand_labels_need_no_table_of_all_pairs() -> None:
    labels = [str(at) for at in range(10_000)]
    chances = np.random.default_rng(0).random((50, 10_000), np.float32)
    found = Classified(chances, np.arange(50) - 1, labels)
    tracemalloc.start()
    figures, told = found.figures(), found.details()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert told["confusion"] == [] and figures["macro_f1"] < 0.1 and peak < 50_000_000


@pytest.mark.parametrize("true", [0.2, 1.0, 5.0])
def test_the_temperature_is_found_again(true: float) -> None:
    rng = np.random.default_rng(0)
    logits = rng.normal(0, 3, (4000, 3))
    chances = probabilities(logits, 1.0)
    answers = (chances.cumsum(1) > rng.random((4000, 1))).argmax(1)
    assert best_temperature(logits * true, answers) == pytest.approx(true, rel=0.15)


@pytest.mark.parametrize("way", ["frozen", "tuned", "fresh"])
def test_a_model_of_plain_text_becomes_a_body(way: str) -> None:
    lm = cr.fit(GOOD * 20 + BAD * 20, model="lstm", codec="words", width=8, embedding=8, epochs=1)
    data = {"text": GOOD * 20 + BAD * 20, "label": ["a"] * 60 + ["b"] * 60}
    model = cr.fit(data, valid=data, init_from=lm, transfer=way, epochs=2)
    before, after = lm.body.arrays(), model.body.arrays()
    kept = [np.array_equal(after[name], before[name]) for name in after]
    assert all(kept) if way == "frozen" else not any(kept)
    assert not [name for name in after if name.startswith("output")]
    assert model.codec.fingerprint() == lm.codec.fingerprint()
    assert model.card["transfer"]["way"] == way
    with pytest.raises(ChainruleError, match="predicts no symbols"):
        model.generate("so")


def test_an_ngram_has_no_vectors_for_a_head() -> None:
    lm = cr.fit(GOOD * 9, model="ngram", order=2, codec="words")
    with pytest.raises(ChainruleError, match="no hidden vectors"):
        cr.fit({"text": GOOD * 9, "label": ["a"] * 27}, init_from=lm)
    with pytest.raises(ChainruleError, match="--transfer"):
        cr.fit({"text": GOOD * 9, "label": ["a"] * 27}, model="cnn", transfer="frozen")


def test_few_examples_that_are_all_right_do_not_make_a_model_sure() -> None:
    logits = np.array([[2.0, 0.0], [0.0, 2.0], [3.0, 0.0]])
    found = probabilities(logits, best_temperature(logits, np.array([0, 1, 0])))
    assert found.max(1).min() > 0.7 and found.max() < 0.95


def test_evidence_of_a_bag_sums_to_its_score() -> None:
    import torch

    model = cr.fit({"text": GOOD * 9 + BAD * 9, "label": ["a"] * 27 + ["b"] * 27}, model="bag")
    body: Any = model.body
    ids = torch.from_numpy(model.codec.encode(Texts.of(["so good"])).ids).long()[None]
    hidden, _ = body.read(ids, body.start(1))
    assert model.head is not None
    scores = model.head(hidden, ids != 0)[0]
    assert scores[0] > scores[1]
    assert hidden[0].sum(0).tolist() == pytest.approx(scores.tolist())


def test_texts_longer_than_the_context_are_told() -> None:
    data = {"text": [f"{text} so it is" for text in GOOD + BAD] * 9, "label": (["a"] * 3 + ["b"] * 3) * 9}
    model = cr.fit(
        data, valid=data, model="gpt", task="classify", epochs=1, width=8, heads=2, layers=1, context=5
    )
    assert any("longer than --context 5" in note for note in model.card["notes"])


def test_a_long_text_is_read_in_windows_to_its_end_and_that_is_said() -> None:
    filler = [f"w{at % 7}" for at in range(22)]
    texts = [" ".join([*filler[at % 7 :], word]) for at in range(60) for word in ("good", "bad")]
    data = {"text": texts, "label": ["yes", "no"] * 60}
    model = cr.fit(
        data,
        valid=data,
        model="gpt",
        codec="words",
        layers=1,
        width=16,
        context=12,
        lr=0.01,
        epochs=40,
        patience=0,
        pooling="max",
        head_dropout=0.0,
    )
    notes = " ".join(model.card["notes"])
    assert "texts are longer than --context 12: they are read in overlapping windows" in notes
    assert model.card["figures"]["valid"]["accuracy"] > 0.9  # the word that counts is the last one
    assert [one.label for one in model.predict(texts[:2])] == ["yes", "no"]


def test_the_logits_of_a_long_text_are_the_mean_over_its_windows() -> None:
    data = {"text": ["a b c", "d e f"] * 30 + ["a e", "d b"], "label": ["x", "y"] * 31}
    model = cr.fit(data, valid=data, model="gpt", codec="words", layers=1, width=8, context=6, epochs=1)
    text = "a b c d e f a b c"  # 9 symbols in windows of 4: a b c d, d e f a, f a b c
    parts = ["a b c d", "c d e f", "f a b c"]
    task, head = model.task, model.head
    assert isinstance(task, Classify) and head is not None
    whole, *each = (
        task.read_part(model.body, head, part_of(model, typed_texts(model.codec, [one])))[0]
        for one in (text, *parts)
    )
    np.testing.assert_allclose(whole, np.mean(each, 0), atol=1e-6)


def rare(count: int, seed: int) -> dict[str, list[str]]:
    """One text of twenty is `rare`; a word that is rather more usual there is all there is to tell them by."""
    rng = np.random.default_rng(seed)
    labels = ["rare" if at % 20 == 0 else "usual" for at in range(count)]
    hints = [rng.random() < (0.8 if label == "rare" else 0.2) for label in labels]
    words = [[str(one) for one in rng.choice(["film", "plot", "it"], 3)] + ["odd"] * hint for hint in hints]
    return {"text": [" ".join(one) for one in words], "label": labels}


@pytest.mark.parametrize(
    ("family", "settings"),
    [("bag", {}), ("cnn", {"epochs": 6, "embedding": 8, "filters": 4, "lr": 0.01, "batch_size": 32})],
)
def test_balanced_class_weights_find_rare_labels(family: str, settings: dict[str, Any]) -> None:
    data, fresh = rare(800, 0), rare(800, 1)
    found = {
        way: cr.fit(data, valid=data, model=family, class_weights=way, **settings).evaluate(fresh).judged
        for way in ("none", "balanced")
    }
    f1 = {way: one.figures()["macro_f1"] for way, one in found.items()}
    assert f1["balanced"] > f1["none"] + 0.05, f1


def test_balanced_weights_are_those_of_scikit_learn() -> None:
    assert balanced(np.array([0, 0, 0, 1, -1]), 2).tolist() == [4 / (2 * 3), 4 / (2 * 1)]


def test_of_two_labels_the_last_one_has_an_f1_of_its_own() -> None:
    chances = np.array([[0.9, 0.1], [0.2, 0.8], [0.4, 0.6], [0.7, 0.3]])
    found = Classified(chances, np.array([0, 1, 0, 1]), ["0", "1"])
    assert found.figures()["f1"] == pytest.approx(0.5) and found.details()["positive"] == "1"
    assert "f1" not in Classified(np.ones((1, 3)) / 3, np.array([0]), ["a", "b", "c"]).figures()


def test_letters_of_a_bag_reach_across_words_and_spaces_in_a_row_are_one() -> None:
    codec = cr.fit({"text": GOOD * 9 + BAD * 9, "label": ["a"] * 27 + ["b"] * 27}, model="bag").codec
    kinds = codec.letter_kinds()
    assert kinds is not None

    def letters(text: str) -> set[int]:
        ids = codec.encode(Texts.of([text])).ids
        found = features(ids, np.array([0]), Spelling(*kinds), 1, (3, 3)).hashes
        return set(found[of_letters(found)].tolist())

    assert letters("so good") == letters("so   good") > letters("good")
    assert letters("so good") - letters("so") - letters("good"), "o, space and g are an n-gram, too"


def test_words_of_a_bag_are_not_drowned_by_letters() -> None:
    """The words of a text weigh as much as its letters, of which there are many more."""
    blocks = np.array([0, 0, 1, 1, 1, 1])
    found = scaled(blocks, np.ones(6))
    assert np.bincount(blocks, found**2) == pytest.approx([1.0, 1.0])


@pytest.mark.parametrize("letters", [{"subwords": 512}, {"letters": "cnn", "word_dropout": 20.0}])
def test_a_cnn_that_reads_letters_knows_unseen_words(tmp_path: Path, letters: dict[str, Any]) -> None:
    endings = {
        "good": ["walking", "singing", "reading", "writing"],
        "bad": ["walked", "sailed", "cooked", "jumped"],
    }
    texts = [
        (f"a {word} film {at}", label) for at in range(12) for label, own in endings.items() for word in own
    ]
    data = {"text": [text for text, _ in texts], "label": [label for _, label in texts]}
    settings = {"epochs": 8, "embedding": 16, "filters": 8, "lr": 0.01, "batch_size": 16, **letters}
    model = cr.fit(data, valid=data, model="cnn", task="classify", **settings)
    unseen = ["a talking film", "a looked film"]
    assert [one.label for one in model.predict(unseen)] == ["good", "bad"]
    model.save(tmp_path / "model")
    again = cr.load(tmp_path / "model").predict(unseen)
    assert [one.probabilities for one in again] == [one.probabilities for one in model.predict(unseen)]


def test_word_dropout_of_a_cnn_drops_the_words_that_are_rare_in_its_training_data() -> None:
    data = {"text": ["a film", "a flop"] * 10 + ["a gem"], "label": ["good", "bad"] * 10 + ["good"]}
    settings = {
        "epochs": 1,
        "embedding": 8,
        "filters": 4,
        "letters": "cnn",
        "word_dropout": 1.0,
        "refit": False,
    }
    model = cr.fit(data, valid=data, model="cnn", task="classify", **settings)
    ids = model.codec.encode(Texts.of(["a film gem"])).ids[1:-1]
    assert [round(float(one), 3) for one in model.body.rare.chances[ids]] == [0.045, 0.091, 0.5]  # type: ignore


def test_a_cnn_reads_letters_in_one_way() -> None:
    data = {"text": ["a film", "a flop"], "label": ["good", "bad"]}
    with pytest.raises(ConfigError, match="--letters or by --subwords"):
        cr.fit(data, model="cnn", task="classify", epochs=1, letters="cnn", subwords=512)


def test_concat_pooling_is_last_max_and_mean_side_by_side() -> None:
    import torch

    from chainrule.heads.pooled import Pooled, PooledConfig

    hidden = torch.tensor([[[1.0, -2.0], [3.0, 0.0], [9.0, 9.0]]])  # the last one is padding
    real = torch.tensor([[True, True, False]])
    head = Pooled.seeded(PooledConfig(pooling="concat", width=2, answers=3), 0).eval()
    assert head.output.weight.shape == (3, 6)
    pooled = torch.tensor([[3.0, 0.0, 3.0, 0.0, 2.0, -1.0]])
    torch.testing.assert_close(head(hidden, real), head.output(pooled))


def test_concat_pooling_is_learnt_saved_and_loaded_also_of_pairs(tmp_path: Path) -> None:
    data = {"text": ["a b", "c"] * 6, "pair": ["a", "b c"] * 6, "label": ["up", "down"] * 6}
    settings = {"model": "cnn", "filters": 3, "embedding": 4, "epochs": 1, "pooling": "concat"}
    for number, join in enumerate(("features", "attention")):
        model = cr.fit(data, valid=data, task="classify", join=join, **settings)
        model.save(tmp_path / str(number))
        assert cr.load(tmp_path / str(number)).evaluate(data).figures == model.evaluate(data).figures
