"""Laws of bodies that answer questions about passages, with the head of the task `span` on top."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

import chainrule as cr
from asked import OTHER, asked, columns
from chainrule.bundle import Bundle
from chainrule.models.base import SourceConfig
from chainrule.models.registry import families, family
from chainrule.tasks.span import Found

SMALL = {"epochs": 12, "width": 16, "lr": 0.01, "batch_size": 16, "head_units": 32, "head_dropout": 0.0}
RECURRENT = SMALL | {"embedding": 16, "dropout": 0.0}
TOWER = SMALL | {"heads": 2, "layers": 1, "context": 32, "dropout": 0.0}
SETTINGS: dict[str, dict[str, Any]] = {
    "cnn": RECURRENT | {"filters": 8},
    **dict.fromkeys(("rnn", "gru", "lstm", "window"), RECURRENT),
    **dict.fromkeys(("gpt", "bert"), TOWER),
    "elmo": SMALL | {"layers": 1},
}
del SETTINGS["cnn"]["width"]
Asked = Sequence[tuple[str, str]]  # question and passage


@dataclass(frozen=True)
class Asker:
    """A family that answers questions, trained on a few; a deliberate bug is one with a part replaced."""

    name: str
    change: Callable[[Bundle], Bundle] = lambda bundle: bundle  # what a deliberate bug does to it

    def fitted(self) -> Bundle:
        """Trained to find where somebody lives, or that this is not said."""
        if self.name not in TRAINED:
            data, valid = columns(asked(240, 0, 2, 0.25, 4)), columns(asked(60, 1, 2, 0.25, 4))
            settings = SETTINGS[self.name]
            TRAINED[self.name] = cr.fit(data, valid=valid, model=self.name, task="span", **settings)
        return self.change(TRAINED[self.name])


TRAINED: dict[str, Bundle] = {}


def found(bundle: Bundle, pairs: Asked) -> list[Found]:
    """All choices for each question."""
    given = {"question": [one for one, _ in pairs], "passage": [one for _, one in pairs]}
    answers = [one.answer for one in bundle.predict_each(given)]
    assert all(isinstance(one, Found) for one in answers)
    return answers  # type: ignore[return-value]


def some(count: int, seed: int, people: int = 2) -> list[tuple[str, str]]:
    return [(row["question"], row["passage"]) for row in asked(count, seed, people)]


def same(one: Sequence[Found], other: Sequence[Found], claim: str) -> None:
    for left, right in zip(one, other, strict=True):
        assert left.answer == right.answer and abs(left.probability - right.probability) < 1e-4, claim


def law_01_probabilities_sum_to_one(asker: Asker) -> None:
    """Of the spans that are kept and of no answer, best first, whatever is read."""
    odd = [("?", "."), ("zebra", "x"), ("Where?", "Bob " * 200), ("who " * 90, "Anna lives in Rome.")]
    for one in found(asker.fitted(), [*some(5, 2), *odd]):
        chances = [choice.probability for choice in one.choices]
        assert np.isfinite(chances).all() and chances == sorted(chances, reverse=True)
        assert abs(sum(chances) - 1) < 1e-6


def law_02_every_answer_is_a_part_of_its_passage(asker: Asker) -> None:
    odd = [("Where?", "  Bob\tlives\nin  «Zürich» , 李!  "), ("Who?", "a" * 300)]
    for (_, passage), one in zip(pairs := [*some(5, 3), *odd], found(asker.fitted(), pairs), strict=True):
        for choice in one.choices:
            start = choice.start
            assert not choice.text if start is None else passage[start:].startswith(choice.text)


def law_03_rows_are_independent_and_padding_changes_nothing(asker: Asker) -> None:
    bundle, pairs = asker.fitted(), some(8, 4)
    together = found(bundle, pairs)
    same(found(bundle, pairs[::-1])[::-1], together, "the order of questions changes nothing")
    same([one for pair in pairs for one in found(bundle, [pair])], together, "a question alone")
    same(found(bundle, [*pairs, ("Where?", "Bob lives. " * 60)])[:-1], together, "a long neighbour")


def law_04_saved_and_loaded_gives_the_same_numbers(asker: Asker) -> None:
    bundle, pairs = asker.fitted(), some(5, 5)
    with TemporaryDirectory() as folder:
        bundle.save(Path(folder) / "model")
        again = cr.load(Path(folder) / "model", verify=True)
        assert found(again, pairs) == found(bundle, pairs)


def law_05_the_question_decides(asker: Asker) -> None:
    """Two people live in two places: with another's question or passage, half of the answers are right at most."""
    bundle, rows = asker.fitted(), asked(60, 6, 2)
    right = [row["answer"] for row in rows]

    def share(questions: Sequence[str], passages: Sequence[str]) -> float:
        answers = found(bundle, list(zip(questions, passages, strict=True)))
        return float(np.mean([one.answer == wanted for one, wanted in zip(answers, right, strict=True)]))

    questions, passages = [row["question"] for row in rows], [row["passage"] for row in rows]
    assert share(questions, passages) >= 0.85, f"{share(questions, passages):.2f} are right"
    assert share(questions[1:] + questions[:1], passages) <= 0.65, "with the question of another"
    assert share(questions, passages[1:] + passages[:1]) <= 0.3, "with the passage of another"


def law_06_long_passages_are_read_to_their_end(asker: Asker) -> None:
    """More than a context holds comes before what is asked for, or after it; whether it is sure does not matter."""
    bundle, more = asker.fitted(), f"{OTHER}  " * 20
    rows = asked(12, 7, 2)
    for place in (more + "{}", "{}  " + more):
        answers = found(bundle, [(row["question"], place.format(row["passage"])) for row in rows])
        spans = [next(choice.text for choice in one.choices if choice.text) for one in answers]
        right = sum(one == row["answer"] for one, row in zip(spans, rows, strict=True))
        assert right >= 0.7 * len(rows), f"{place[:2]!r}: {right} of {len(rows)} were right"


AskerLaw = Callable[[Asker], None]
ASKER_LAWS: list[AskerLaw] = [
    law_01_probabilities_sum_to_one,
    law_02_every_answer_is_a_part_of_its_passage,
    law_03_rows_are_independent_and_padding_changes_nothing,
    law_04_saved_and_loaded_gives_the_same_numbers,
    law_05_the_question_decides,
    law_06_long_passages_are_read_to_their_end,
]
ASKERS = [
    Asker(name)
    for name in families()
    if family(name).learner == "gradient" and not issubclass(family(name).Config, SourceConfig)
]
