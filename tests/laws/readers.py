"""Laws of bodies that predict labels, with the head of their task on top."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

import chainrule as cr
from chainrule.bundle import Bundle
from chainrule.models.base import LanguageModel
from chainrule.models.registry import families, family
from chainrule.tasks.classify import Classify, probabilities
from chainrule.use.predict import part_of, predictor
from chainrule.use.text import typed_texts

WORDS = ["good", "fine", "bad", "poor", "the", "film", "a", "plot", "so", "it"]
SMALL = {"epochs": 25, "width": 16, "lr": 0.01, "batch_size": 16, "head_dropout": 0.1}
RECURRENT = SMALL | {"embedding": 16, "dropout": 0.1}
TOWER = SMALL | {"heads": 2, "layers": 1, "context": 512}
SETTINGS: dict[str, dict[str, Any]] = {
    "cnn": {"epochs": 30, "embedding": 16, "filters": 8, "lr": 0.01},
    **dict.fromkeys(("rnn", "gru", "lstm", "window"), RECURRENT),
    **dict.fromkeys(("gpt", "bert"), TOWER),
    "elmo": SMALL | {"layers": 1, "epochs": 8},
    "class-lstm": {"epochs": 60, "width": 8, "embedding": 8, "lr": 0.02, "dropout": 0.2},
}


@dataclass(frozen=True)
class Reader:
    """A family that predicts labels, trained on a few texts; a deliberate bug is one with a part replaced."""

    name: str
    change: Callable[[Bundle], Bundle] = lambda bundle: bundle  # what a deliberate bug does to it

    def fitted(self) -> Bundle:
        """Trained to tell two kinds of texts apart by one word."""
        if self.name not in TRAINED:
            texts, labels = examples(120)
            data = {"text": texts, "label": labels}
            settings = SETTINGS.get(self.name, {})
            TRAINED[self.name] = cr.fit(data, valid=data, model=self.name, task="classify", **settings)
        return self.change(TRAINED[self.name])


TRAINED: dict[str, Bundle] = {}


def examples(count: int, seed: int = 0) -> tuple[list[str], list[str]]:
    """Texts of unequal length; `up` where there is a good word, `down` where there is a bad one."""
    rng = np.random.default_rng(seed)
    texts, labels = [], []
    for at in range(count):
        words = rng.choice(WORDS[4:], rng.integers(1, 9)).tolist()
        words.insert(int(rng.integers(0, len(words) + 1)), WORDS[2 * (at % 2) + int(rng.integers(0, 2))])
        texts.append(" ".join(words))
        labels.append("down" if at % 2 else "up")
    return texts, labels


def chances(bundle: Bundle, texts: Sequence[str]) -> np.ndarray:
    """Probabilities (texts, labels)."""
    task, head = predictor(bundle)
    assert isinstance(task, Classify)
    part = part_of(bundle, typed_texts(bundle.codec, texts))
    return probabilities(task.read_part(bundle.body, head, part), head.config.temperature)


def same(found: np.ndarray, expected: np.ndarray, claim: str) -> None:
    assert np.allclose(found, expected, atol=1e-5), f"{claim}: differ by {np.abs(found - expected).max()}"


def law_01_probabilities_sum_to_one(reader: Reader) -> None:
    """Whatever is read: known words, unknown ones, hardly anything."""
    found = chances(reader.fitted(), [*examples(5, 1)[0], "zebra", ".", "good " * 300])
    assert np.isfinite(found).all() and (found >= 0).all()
    same(found.sum(1), np.ones(len(found)), "probabilities sum to one")


def law_02_rows_are_independent(reader: Reader) -> None:
    """A text has the same label beside other texts, in another order, and alone."""
    bundle, texts = reader.fitted(), examples(20, 2)[0]
    found = chances(bundle, texts)
    same(chances(bundle, texts[::-1])[::-1], found, "the order of texts changes nothing")
    same(np.concatenate([chances(bundle, [text]) for text in texts]), found, "a text alone")


def law_03_padding_changes_nothing(reader: Reader) -> None:
    """A very long neighbour means much padding for the others."""
    bundle, texts = reader.fitted(), examples(6, 3)[0]
    same(chances(bundle, [*texts, "film " * 200])[:-1], chances(bundle, texts), "padding")


def law_04_saved_and_loaded_gives_the_same_numbers(reader: Reader) -> None:
    bundle, texts = reader.fitted(), examples(9, 4)[0]
    with TemporaryDirectory() as folder:
        bundle.save(Path(folder) / "model")
        again = cr.load(Path(folder) / "model", verify=True)
        assert np.array_equal(chances(again, texts), chances(bundle, texts))


def law_05_what_tells_labels_apart_is_learnt(reader: Reader) -> None:
    """New texts with the same words; always one label is right half of the time."""
    bundle = reader.fitted()
    texts, labels = examples(60, 5)
    right = np.mean([one.label == label for one, label in zip(bundle.predict(texts), labels, strict=True)])
    assert right == 0.5 if reader.name == "majority" else right >= 0.95, f"{right:.2f} are right"


def law_06_the_whole_text_is_read(reader: Reader) -> None:
    """What decides may stand at either end of a long text."""
    if reader.name == "majority":
        return
    bundle, rest = reader.fitted(), "film it the so a plot " * 6
    for place in ("{} " + rest, rest + "{}"):
        up, down = chances(bundle, [place.format("good fine good"), place.format("bad poor bad")])[:, 1]
        up, down = np.clip([up, down], 1e-300, 1 - 1e-15)
        odds = np.log(up / (1 - up)) - np.log(down / (1 - down))
        assert odds > 0.5, f"{place[:3]!r}: {up} for good words, {down} for bad ones"


@contextmanager
def caught() -> Iterator[None]:
    """The block must break a law."""
    try:
        yield
    except AssertionError:
        return
    raise AssertionError("no law noticed")


ReaderLaw = Callable[[Reader], None]
READER_LAWS: list[ReaderLaw] = [
    law_01_probabilities_sum_to_one,
    law_02_rows_are_independent,
    law_03_padding_changes_nothing,
    law_04_saved_and_loaded_gives_the_same_numbers,
    law_05_what_tells_labels_apart_is_learnt,
    law_06_the_whole_text_is_read,
]
READERS = [
    Reader(name)
    for name in (*families(), "class-lstm")
    if (not issubclass(family(name), LanguageModel) or family(name).learner == "gradient")
    and family(name).task not in ("vectors", "tag", "translate")
    and family(name).learner
]
