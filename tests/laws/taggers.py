"""Laws of bodies that tag words, with the head of the task `tag` on top."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

import chainrule as cr
from chainrule.bundle import Bundle
from chainrule.chunks import legal
from tagged import columns, tagged

SMALL = {"epochs": 15, "width": 16, "lr": 0.02, "batch_size": 16, "head_dropout": 0.0}
RECURRENT = SMALL | {"embedding": 16, "dropout": 0.0, "letters": "none"}
TOWER = SMALL | {"heads": 2, "layers": 1, "context": 12, "dropout": 0.0}
WINDOWS = {"epochs": 20, "embedding": 16, "filters": 8, "lr": 0.03, "letters": "none"}
SETTINGS: dict[str, dict[str, Any]] = {
    "most-frequent-tag": {},
    "cnn": WINDOWS | {"head_layers": 1, "head_units": 8},
    "lstm": RECURRENT | {"crf": True},
    "bert": TOWER,
}


@dataclass(frozen=True)
class Tagger:
    """A family that tags, trained on a few sentences; a deliberate bug is one with a part replaced."""

    name: str
    change: Callable[[Bundle], Bundle] = lambda bundle: bundle

    def fitted(self) -> Bundle:
        """Trained to find names of one or two words."""
        if self.name not in TRAINED:
            data, valid = columns(tagged(120, 0)), columns(tagged(30, 1))
            TRAINED[self.name] = cr.fit(data, valid=valid, model=self.name, task="tag", **SETTINGS[self.name])
        return self.change(TRAINED[self.name])


TRAINED: dict[str, Bundle] = {}


def texts(count: int, seed: int) -> list[str]:
    return [" ".join(words) for words, _ in tagged(count, seed)]


def found(bundle: Bundle, some: Sequence[str]) -> list[dict[str, Any]]:
    """What is said of every sentence."""
    return [one.answer.to_dict() for one in bundle.predict(some, top=99) if one.answer is not None]


def same(one: Sequence[dict[str, Any]], other: Sequence[dict[str, Any]], claim: str) -> None:
    for left, right in zip(one, other, strict=True):
        assert left["tags"] == right["tags"], claim
        assert np.allclose(left["probabilities"], right["probabilities"], atol=1e-4), claim


def law_01_every_word_has_one_tag_and_probabilities_sum_to_one(tagger: Tagger) -> None:
    odd = ["zebra", ".", "Anna " * 60, "zwölf\u00a0Uhr 李"]
    for text, one in zip(some := [*texts(5, 2), *odd], found(tagger.fitted(), some), strict=True):
        assert one["tokens"] == [word for word in text.split(" ") if word]
        assert len(one["tags"]) == len(one["probabilities"]) == len(one["tokens"])
        assert np.allclose([sum(choices.values()) for choices in one["choices"]], 1.0)


def law_02_tags_follow_each_other_as_they_may(tagger: Tagger) -> None:
    bundle, rng = tagger.fitted(), np.random.default_rng(3)
    names = bundle.codecs["label"].tokens(range(5, bundle.codecs["label"].size))
    follows, first, _ = legal(names)  # type: ignore[misc]
    for one in found(bundle, [" ".join(rng.choice(["Smith", "City", "Rome", "to"], 9)) for _ in range(30)]):
        ids = [names.index(tag) for tag in one["tags"]]
        assert first[ids[0]] and follows[ids[:-1], ids[1:]].all(), one["tags"]


def law_03_rows_are_independent_and_padding_changes_nothing(tagger: Tagger) -> None:
    bundle, some = tagger.fitted(), texts(8, 4)
    together = found(bundle, some)
    same(found(bundle, some[::-1])[::-1], together, "the order of sentences changes nothing")
    same([one for text in some for one in found(bundle, [text])], together, "a sentence alone")
    same(found(bundle, [*some, "Rome to " * 50])[:-1], together, "a long neighbour")


def law_04_saved_and_loaded_gives_the_same_numbers(tagger: Tagger) -> None:
    bundle, some = tagger.fitted(), texts(5, 5)
    with TemporaryDirectory() as folder:
        bundle.save(Path(folder) / "model")
        assert found(cr.load(Path(folder) / "model", verify=True), some) == found(bundle, some)


def law_05_tags_are_learnt_to_the_end_of_a_sentence(tagger: Tagger) -> None:
    """Also of one that is longer than a context."""
    rows = tagged(20, 6)
    long = ([word for row in rows for word in row[0]], [tag for row in rows for tag in row[1]])
    for words, tags in (*rows, long):
        [one] = found(tagger.fitted(), [" ".join(words)])
        assert np.mean([left == right for left, right in zip(one["tags"], tags, strict=True)]) >= 0.75, words


TaggerLaw = Callable[[Tagger], None]
TAGGER_LAWS: list[TaggerLaw] = [
    law_01_every_word_has_one_tag_and_probabilities_sum_to_one,
    law_02_tags_follow_each_other_as_they_may,
    law_03_rows_are_independent_and_padding_changes_nothing,
    law_04_saved_and_loaded_gives_the_same_numbers,
    law_05_tags_are_learnt_to_the_end_of_a_sentence,
]
TAGGERS = [Tagger(name) for name in SETTINGS]
