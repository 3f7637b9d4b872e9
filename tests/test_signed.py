"""Readers that somebody has changed and signed again: refused in plain words, never answered with what is no number."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import chainrule as cr
from chainrule.errors import ChainruleError
from chainrule.store import manifest, tensors
from chainrule.train.mix import mix

TEXTS = ["she was late", "he was not", "it was fine", "all of it"] * 6
ANSWERS: dict[str, list[Any]] = {
    "classify": ["yes", "no"] * 12,
    "regress": [n / 3 for n in range(24)],
    "tag": ["N V A"] * 24,
}
Arrays = dict[str, np.ndarray]


def changed_arrays(name: str, change: Callable[[np.ndarray], np.ndarray]) -> Callable[[Path], None]:
    def change_them(folder: Path) -> None:
        path = folder / "model.safetensors"
        arrays = {one: array.copy() for one, array in tensors.read(path).items()}
        tensors.write(path, arrays | {name: change(arrays[name])})

    return change_them


def changed_json(name: str, **values: Any) -> Callable[[Path], None]:
    def change(folder: Path) -> None:
        found = json.loads((folder / name).read_text())
        (folder / name).write_text(json.dumps(found | values))

    return change


def changed_character(new: bytes) -> Callable[[Path], None]:
    def change(folder: Path) -> None:
        path = folder / "codecs" / "text" / "vocabulary.txt"
        path.write_bytes(path.read_bytes().replace(b"\nh\n", b"\n" + new + b"\n", 1))

    return change


def without_label(folder: Path) -> None:
    found = json.loads((folder / "config.json").read_text())
    del found["codecs"]["label"]
    (folder / "config.json").write_text(json.dumps(found))


def not_a_number(array: np.ndarray) -> np.ndarray:
    return np.full_like(array, np.nan)


def twice(array: np.ndarray) -> np.ndarray:
    return np.concatenate([array, array])


SPREAD = "codecs/label/values.json"
OPTIONS: dict[str, dict[str, Any]] = {
    "bag": {"min_count": 1},
    "gru": {"tokens": 100, "width": 4, "crf": True},
}
CHANGES: dict[str, tuple[str, str, Callable[[Path], None]]] = {
    "a character of three letters": ("bag", "classify", changed_character(b"hhh")),
    "a character that is no UTF-8": ("bag", "classify", changed_character(b"\xff")),
    "tags that are no numbers": ("gru", "tag", changed_arrays("head/output.weight", not_a_number)),
    "steps between tags that are no numbers": ("gru", "tag", changed_arrays("head/steps", not_a_number)),
    "evidence that is no number": ("bag", "classify", changed_arrays("bias", not_a_number)),
    "a flat table of weights": ("bag", "classify", changed_arrays("weights", np.ravel)),
    "a flat table of ratios": ("bag", "regress", changed_arrays("ratios", np.ravel)),
    "kinds of too many symbols": ("bag", "classify", changed_arrays("kinds", twice)),
    "a mean that is no number": ("majority", "regress", changed_arrays("priors", not_a_number)),
    "two means": ("majority", "regress", changed_arrays("priors", twice)),
    "a table of priors": ("majority", "classify", changed_arrays("priors", lambda one: one[:, None])),
    "a deviation that is no number": ("majority", "regress", changed_json(SPREAD, scale="nan")),
    "a deviation of 0": ("majority", "regress", changed_json(SPREAD, scale=0)),
    "no codec for the numbers": ("majority", "regress", without_label),
}


@pytest.mark.parametrize("what", CHANGES)
def test_what_does_not_fit_together_is_refused(what: str, tmp_path: Path) -> None:
    model, about, change = CHANGES[what]
    data = {"text": TEXTS, "label": ANSWERS[about]}
    options = OPTIONS.get(model, {})
    cr.fit(data, model=model, task=about, **options).save(tmp_path / "m")
    assert cr.load(tmp_path / "m").predict("she was late")
    change(tmp_path / "m")
    manifest.write(tmp_path / "m")
    with pytest.raises(ChainruleError):
        bundle = cr.load(tmp_path / "m")
        bundle.predict("she was late")
        bundle.evaluate(data)


def test_word_vectors_of_another_precision_are_refused(tmp_path: Path) -> None:
    cr.fit(TEXTS, model="vectors", width=4, min_count=1).save(tmp_path / "m")
    changed_arrays("vectors", lambda one: one.astype(np.float16))(tmp_path / "m")
    manifest.write(tmp_path / "m")
    with pytest.raises(ChainruleError, match="float16"):
        cr.load(tmp_path / "m")


def signed(folder: Path, change: Callable[[Path], None]) -> cr.Bundle:
    change(folder)
    manifest.write(folder)
    return cr.load(folder)


@pytest.mark.parametrize("array", ["folded", "ratios"])
def test_half_precision_is_refused_whatever_it_counts(array: str, tmp_path: Path) -> None:
    cr.fit({"text": TEXTS, "label": ANSWERS["regress"]}, model="bag", task="regress").save(tmp_path / "m")
    with pytest.raises(ChainruleError, match=rf"{array}.*float16"):
        signed(tmp_path / "m", changed_arrays(array, lambda one: one.astype(np.float16)))


def test_two_labels_of_one_name_are_refused(tmp_path: Path) -> None:
    cr.fit({"text": TEXTS, "label": ANSWERS["classify"]}, model="majority", task="classify").save(
        tmp_path / "m"
    )
    listed = tmp_path / "m" / "codecs" / "label" / "vocabulary.txt"
    with pytest.raises(ChainruleError, match="twice"):
        signed(tmp_path / "m", lambda _: listed.write_text("no\nno\n"))


def test_forecasts_that_are_far_off_have_figures_that_are_numbers(tmp_path: Path) -> None:
    frames = {"text": [np.cumsum(np.ones((6, 2)) * n, 0) for n in range(1, 9)]}
    cr.fit(frames, model="gpt", task="next-frame", layers=1, width=8, heads=2, context=16, tokens=50).save(
        tmp_path / "m"
    )
    bundle = signed(tmp_path / "m", changed_arrays("norm.weight", lambda one: np.full_like(one, 1e30)))
    figures = bundle.evaluate(frames).figures
    assert np.isfinite([figures["rmse"], figures["mae"]]).all() and figures["rmse"] > 1e20
    assert not np.isnan(figures["nats_per_frame"])


@pytest.mark.parametrize(
    "wrong",
    [
        {"losses": [{"train": 2.0}]},
        {"losses": [{"step": "1", "train": 2.0}]},
        {"history": [{"step": 1, "train": 2.0}]},
        {"history": [{"step": 10**400, "train": 2.0, "valid": 1.0}]},
        {"losses": [{"step": 1, "train": 10**400}]},
        {"history": [{"step": 1, "train": 2.0, "valid": 1.0, "layer 0": [1.0]}]},
        {"history": {}},
        {"figures": {"test": 3}},
        {"data": "text.txt"},
        {"notes": None},
    ],
)
def test_a_card_that_says_something_else_is_refused(wrong: dict[str, Any], tmp_path: Path) -> None:
    cr.fit(TEXTS, model="gru", tokens=100, width=4).save(tmp_path / "m")
    assert cr.load(tmp_path / "m").history
    with pytest.raises(ChainruleError, match=r"card\.json is damaged"):
        signed(tmp_path / "m", changed_json("card.json", **wrong))


def test_an_ensemble_without_a_model_or_a_codec_is_refused(tmp_path: Path) -> None:
    data = {"text": TEXTS, "label": ANSWERS["regress"]}
    models = [cr.fit(data, model=name, task="regress") for name in ("majority", "bag")]
    mix(models, data).save(tmp_path / "m")
    config = json.loads((tmp_path / "m" / "config.json").read_text())
    alone = config["model"] | {"weights": [], "parts": []}
    other = config["model"] | {"parts": [one | {"reads": "text.9"} for one in config["model"]["parts"]]}
    for model, told in ((alone, r"0 models has \d heads"), (other, "no codec for 'text.9'")):
        with pytest.raises(ChainruleError, match=told):
            signed(tmp_path / "m", changed_json("config.json", model=model))


@pytest.mark.parametrize("array", ["keys", "probabilities", "lengths"])
def test_a_lexicon_of_other_kinds_of_numbers_is_refused(array: str, tmp_path: Path) -> None:
    cr.fit({"source": TEXTS, "target": TEXTS}, model="ibm1", codec="words", min_count=1).save(tmp_path / "m")
    kind = np.float32 if array == "keys" else np.int64
    with pytest.raises(ChainruleError, match="lexicon"):
        signed(tmp_path / "m", changed_arrays(array, lambda one: one.astype(kind)))
