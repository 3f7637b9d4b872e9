"""`predict`: the answer of a model to each example, as its task gives it: a label, a number, tags, a text."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np

from chainrule.codecs.base import Texts
from chainrule.data.corpus import Corpus, Part
from chainrule.data.rows import TEXT
from chainrule.errors import ConfigError, ModelError
from chainrule.tasks.supervised import Answer, Supervised
from chainrule.use.score import opened
from chainrule.use.spelled import knowing
from chainrule.use.text import encodable, texts_of, typed_texts

if TYPE_CHECKING:
    from chainrule.bundle import Bundle
    from chainrule.data.numbered import Numbered
    from chainrule.data.sources import Given
    from chainrule.heads.base import Head

OF_CODECS = (
    "raw",
    "joined",
    "gaps",
    "whole",
)  # of reading: as the codec needs it, where columns had different ones


@dataclass(frozen=True)
class Prediction:
    """The answer to one example; a blank one has none."""

    answer: Answer | None
    text: str = field(default="", repr=False)
    row: int = 1  # its number among those given, from 1
    id: str | None = None  # what the user calls it
    empty: Mapping[str, Any] = field(default_factory=dict, repr=False)  # what scripts are told of a blank one

    @property
    def blank(self) -> bool:
        """Whether there was nothing to read."""
        return self.answer is None

    @property
    def label(self) -> str | None:
        """The label, where labels are asked for."""
        return getattr(self.answer, "label", None)

    @property
    def labels(self) -> Sequence[str] | None:
        """All labels that are given, best first, where there may be several."""
        return getattr(self.answer, "labels", None)

    @property
    def probabilities(self) -> Mapping[str, float]:
        """Of the most probable labels, best first, where labels are asked for."""
        return getattr(self.answer, "probabilities", {})

    @property
    def probability(self) -> float:
        """That of the label, or of the answer to a question."""
        own: float = getattr(self.answer, "probability", float("nan"))
        return next(iter(self.probabilities.values()), own)

    @property
    def span(self) -> str | None:
        """The part of a passage, where answers to questions are asked for; empty: there is no answer."""
        return getattr(self.answer, "answer", None)

    @property
    def value(self) -> float | None:
        """The number, where numbers are asked for."""
        return getattr(self.answer, "value", None)

    @property
    def tags(self) -> Sequence[str] | None:
        """One for each symbol, where tags are asked for."""
        return getattr(self.answer, "tags", None)

    def to_dict(self) -> dict[str, Any]:
        """For scripts."""
        named = {"row": self.row} | ({} if self.id is None else {"id": self.id})
        if self.answer is None:
            return named | {"blank": True} | dict(self.empty)
        return named | self.answer.to_dict()


def predictor(bundle: Bundle) -> tuple[Supervised, Head]:
    """Task and head of a model that answers; others are refused."""
    if not isinstance(bundle.task, Supervised) or bundle.head is None:
        raise ModelError(
            f"This model's task is {bundle.task.name!r}: it predicts no labels. Fit one that does: "
            "chainrule fit DATA.csv --column text --label label -o OUT"
        )
    return bundle.task, bundle.head


def part_of(bundle: Bundle, texts: Texts) -> Part:
    """Examples to be answered, as ids."""
    encoded = bundle.codec.encode(texts)
    return Part({bundle.task.body_role(bundle.codecs): Corpus(encoded.ids, len(texts), texts.bytes)})


def answers(bundle: Bundle, texts: Texts, top: int | None = None) -> Sequence[Answer]:
    """One for each text."""
    task, head = predictor(bundle)
    if not len(texts):
        return []
    bundle = knowing(bundle, lambda: [texts])
    return task.answers(bundle.body, head, part_of(bundle, texts), bundle.codecs, top)


def check_single(bundle: Bundle) -> None:
    """Refuse single texts where an example has several columns."""
    task, _ = predictor(bundle)
    if len(task.inputs()) > 1 + len(task.made):
        flags = " ".join("TEXT" if name == TEXT else f"--{name} …" for name in task.inputs())
        raise ConfigError(
            f"The model reads {' and '.join(task.inputs())}: give {flags}, or a table with these columns with --file."
        )


def predict(
    bundle: Bundle,
    texts: Iterable[str] | Iterable[tuple[str, str]],
    pair: Iterable[str] | None = None,
    top: int | None = None,
) -> list[Prediction]:
    """One prediction for each text or, of a model that reads two, for each and the one beside it in `pair`.

    Such texts may also come as tuples.
    """
    from chainrule.data.numbered import parts

    given: list[Any] = list(texts)
    if pair is None and given and all(isinstance(one, tuple) and len(one) == 2 for one in given):
        given, pair = [one for one, _ in given], [other for _, other in given]
    if pair is not None:
        from chainrule.use.questions import predict_pairs

        return predict_pairs(bundle, given, list(pair), top)
    check_single(bundle)
    if bundle.codec.features and not _are_typed(given):
        return list(predict_each(bundle, given, top=top))
    if predictor(bundle)[0].made:
        from chainrule.use.questions import predict_texts

        return list(predict_texts(bundle, texts_of(given), top))
    typed = typed_texts(bundle.codec, given)
    return [one for rows in parts(typed, None, 1) for one in _predicted(bundle, rows, top)]


def _are_typed(texts: Iterable[Any]) -> bool:
    """Whether sequences are given as text, not as arrays of numbers."""
    return isinstance(texts, list | tuple) and all(isinstance(one, str) for one in texts)


def predict_each(
    bundle: Bundle, source: Given, *, id: str | None = None, top: int | None = None, **reading: Any
) -> Iterator[Prediction]:
    """One prediction for each row of data of any size, in order, as they are read; blank rows have one, too."""
    from chainrule.data.numbered import numbered

    if len(predictor(bundle)[0].inputs()) > 1 or bundle.codec.features:
        from chainrule.use.questions import predict_rows

        yield from predict_rows(bundle, source, id=id, top=top, **reading)
        return

    usual = {name: value for name, value in bundle.card.get("reading", {}).items() if name not in OF_CODECS}
    for rows in numbered(opened(bundle.codec, usual, source, reading), id):
        yield from _predicted(bundle, rows, top)


def predict_lines(bundle: Bundle, stream: BinaryIO, top: int | None = None) -> Iterator[Prediction]:
    """One prediction for each line of a stream as soon as it comes."""
    from chainrule.data.arriving import arriving
    from chainrule.data.numbered import parts

    check_single(bundle)
    made, first = predictor(bundle)[0].made, 1
    for lines in arriving(stream):
        if made:
            from chainrule.use.questions import predict_texts

            found = predict_texts(bundle, lines, top)
            yield from (replace(one, row=first + at) for at, one in enumerate(found))
            first += len(lines)
            continue
        for rows in parts(encodable(lines), None, first):
            yield from _predicted(bundle, rows, top)
        first += len(lines)


def check_top(top: int | None) -> None:
    """Refuse to give less than one choice."""
    if top is not None and top < 1:
        raise ConfigError(f"--top must be at least 1, not {top}.")


def _predicted(bundle: Bundle, rows: Numbered, top: int | None) -> Iterator[Prediction]:
    check_top(top)
    found = iter(answers(bundle, rows.filled, top))
    names = rows.ids or (None,) * len(rows.texts)
    each = zip(rows.texts, np.asarray(rows.blank).tolist(), names, strict=True)
    for row, (text, blank, name) in enumerate(each, rows.first):
        if blank:
            yield Prediction(None, "", row, name, predictor(bundle)[0].blank)
            continue
        shown = bundle.codec.to_shown(text.decode("utf-8", "backslashreplace"))
        yield Prediction(next(found), shown, row, name)
