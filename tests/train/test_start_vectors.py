"""Any body with a table of symbols can start from word vectors, words unseen in training included."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import chainrule as cr
from chainrule.errors import ChainruleError

WORDS = {
    "good": (1, 0, 0.1, 0),
    "splendid": (1, 0.05, 0.1, 0),  # beside good, and in no text that is learnt from
    "bad": (-1, 0, 0.1, 0),
    "dreadful": (-1, 0.05, 0.1, 0),
    "film": (0, 1, 0, 0.3),
    "plot": (0, -1, 0.2, 0.5),
}
TEXTS = ["good film", "film good", "good plot", "bad film", "film bad", "bad plot"] * 8
TABLE = {"text": TEXTS, "label": (["up"] * 3 + ["down"] * 3) * 8}
SETTINGS: dict[str, dict[str, Any]] = {
    "cnn": {"filters": 8, "widths": (1, 2), "lr": 0.02},
    "lstm": {"width": 8, "lr": 0.02, "dropout": 0.1},
    "rnn": {"width": 8, "lr": 0.02, "dropout": 0.1},
    "gpt": {"layers": 1, "heads": 1, "lr": 0.02, "dropout": 0.0},
    "bert": {"layers": 1, "heads": 1, "lr": 0.02, "dropout": 0.0, "optimizer": "adamw", "epochs": 40},
}


@pytest.fixture
def file(tmp_path: Path) -> Path:
    lines = [f"{word} {' '.join(map(str, vector))}\n" for word, vector in WORDS.items()]
    path = tmp_path / "vectors.txt"
    path.write_text(f"{len(WORDS)} 4\n" + "".join(lines))
    return path


@pytest.mark.parametrize("model", SETTINGS)
def test_a_word_that_was_never_labelled_is_understood_by_its_neighbour(model: str, file: Path) -> None:
    options = {"epochs": 15, "codec": "words", "head_dropout": 0.0, "batch_size": 8, **SETTINGS[model]}
    found = cr.fit(
        TABLE, valid=TABLE, model=model, task="classify", vectors=str(file), transfer="frozen", **options
    )
    labels = [one.label for one in found.predict(["splendid film", "dreadful film"])]
    assert labels == ["up", "down"]
    assert found.unknown("splendid plot") == ()
    table = found.body.arrays()["embedding.weight"]
    rows = {found.codec.symbol(number): table[number] for number in range(5, found.codec.size)}
    for one, vector in WORDS.items():
        cosine = rows[one] @ np.array(vector) / np.linalg.norm(rows[one]) / np.linalg.norm(vector)
        assert cosine == pytest.approx(1.0, abs=1e-5), "frozen vectors stay where they were"
    assert any("frozen" in note and "6 of 11 symbols" in note for note in found.card["notes"])


def test_tuned_vectors_move_and_vectors_of_a_model_are_taken_too(file: Path, tmp_path: Path) -> None:
    cr.fit(TEXTS, model="vectors", width=4, epochs=1, min_count=1, codec="words").save(tmp_path / "V")
    options = {"epochs": 2, "codec": "words", **SETTINGS["cnn"]}
    for vectors in (file, tmp_path / "V"):
        model = cr.fit(TABLE, valid=TABLE, model="cnn", vectors=str(vectors), refit=True, **options)
        table = model.body.arrays()["embedding.weight"]
        assert table.shape[1] == 4
        model.save(tmp_path / "model", force=True)
        assert cr.load(tmp_path / "model").predict("good film")[0].label in ("up", "down")
    start = cr.fit(TABLE, valid=TABLE, model="cnn", vectors=str(file), transfer="frozen", **options)
    tuned = cr.fit(TABLE, valid=TABLE, model="cnn", vectors=str(file), **options)
    at = next(one for one in range(5, tuned.codec.size) if tuned.codec.symbol(one) == "good")
    assert not np.allclose(
        start.body.arrays()["embedding.weight"][at], tuned.body.arrays()["embedding.weight"][at], atol=1e-6
    )


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"model": "bag"}, "table of word vectors"),
        ({"model": "elmo"}, "table of word vectors"),
        ({"model": "class-lstm"}, "table of word vectors"),
        ({"model": "cnn", "embedding": 7}, "have 4 numbers"),
        ({"model": "cnn", "transfer": "fresh"}, "would not use"),
        ({"model": "cnn", "codec": "bytes"}, "--codec words"),
        ({"model": "cnn", "vectors": "nowhere"}, "no saved model nowhere"),
    ],
)
def test_what_cannot_be_started_from_vectors_is_said(options: dict[str, Any], told: str, file: Path) -> None:
    with pytest.raises(ChainruleError, match=told):
        cr.fit(TABLE, valid=TABLE, task="classify", **{"vectors": str(file), "codec": "words", **options})


def test_a_language_model_is_no_table_of_vectors(tmp_path: Path, file: Path) -> None:
    cr.fit(TEXTS, order=2, codec="words").save(tmp_path / "lm")
    with pytest.raises(ChainruleError, match="use --from"):
        cr.fit(TABLE, model="cnn", vectors=str(tmp_path / "lm"))
    lm = cr.fit(TEXTS, model="lstm", codec="words", width=4, epochs=1)
    with pytest.raises(ChainruleError, match="--vectors"):
        cr.fit(TABLE, init_from=lm, vectors=str(file))
