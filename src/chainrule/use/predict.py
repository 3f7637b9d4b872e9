"""`predict`: the label of each text, with the probability of every label."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np

from chainrule.codecs.base import Texts
from chainrule.data.corpus import Corpus
from chainrule.data.labelled import LabelledBatches
from chainrule.data.rows import LABEL
from chainrule.errors import ConfigError, ModelError
from chainrule.symbols import FIRST, PAD
from chainrule.tasks.classify import ROWS, Classify, probabilities
from chainrule.use.score import opened
from chainrule.use.text import encodable, typed_texts

if TYPE_CHECKING:
    from chainrule.bundle import Bundle
    from chainrule.data.numbered import Numbered
    from chainrule.data.sources import Given


@dataclass(frozen=True)
class Prediction:
    """The label of one text; a blank one has none."""

    label: str | None
    probabilities: Mapping[str, float]  # of the most probable labels, best first
    text: str = field(default="", repr=False)
    row: int = 1  # its number among those given, from 1
    id: str | None = None  # what the user calls it

    @property
    def blank(self) -> bool:
        """Whether there was nothing to read."""
        return self.label is None

    @property
    def probability(self) -> float:
        """That of the label."""
        return next(iter(self.probabilities.values()), float("nan"))

    def to_dict(self) -> dict[str, Any]:
        """For scripts."""
        named = {"row": self.row} | ({} if self.id is None else {"id": self.id})
        said = {"blank": True} if self.blank else {}
        return named | said | {"label": self.label, "probabilities": dict(self.probabilities)}


def labels_of(bundle: Bundle) -> list[str]:
    """All labels, in the order of probabilities."""
    classifier(bundle)
    codec = bundle.codecs[LABEL]
    return codec.tokens(range(FIRST, codec.size))


def label_probabilities(bundle: Bundle, texts: Texts) -> np.ndarray:
    """(texts, labels), each row sums to one."""
    task, head = classifier(bundle)
    encoded = bundle.codec.encode(texts)
    corpus = Corpus(encoded.ids, len(texts), texts.bytes)
    if not len(texts):
        return np.empty((0, head.config.answers))
    rows = LabelledBatches(corpus, np.full(len(texts), PAD), ROWS, bundle.body.context)
    return probabilities(task.read(bundle.body, head, rows), head.config.temperature)


def classifier(bundle: Bundle) -> tuple[Classify, Any]:
    """Task and head of a model that predicts labels; others are refused."""
    if not isinstance(bundle.task, Classify) or bundle.head is None:
        raise ModelError(
            f"This model's task is {bundle.task.name!r}: it predicts no labels. Fit one that does: "
            "chainrule fit DATA.csv --column text --label label -o OUT"
        )
    return bundle.task, bundle.head


def predict(bundle: Bundle, texts: Iterable[str], top: int | None = None) -> list[Prediction]:
    """One prediction for each text, in order."""
    from chainrule.data.numbered import parts

    given = typed_texts(bundle.codec, texts)
    return [one for rows in parts(given, None, 1) for one in _predicted(bundle, rows, top)]


def predict_each(
    bundle: Bundle, source: Given, *, id: str | None = None, top: int | None = None, **reading: Any
) -> Iterator[Prediction]:
    """One prediction for each row of data of any size, in order, as they are read; blank rows have one, too."""
    from chainrule.data.numbered import numbered

    for rows in numbered(opened(bundle.codec, bundle.card.get("reading", {}), source, reading), id):
        yield from _predicted(bundle, rows, top)


def predict_lines(bundle: Bundle, stream: BinaryIO, top: int | None = None) -> Iterator[Prediction]:
    """One prediction for each line of a stream as soon as it comes."""
    from chainrule.data.arriving import arriving
    from chainrule.data.numbered import parts

    first = 1
    for lines in arriving(stream):
        for rows in parts(encodable(lines), None, first):
            yield from _predicted(bundle, rows, top)
        first += len(lines)


def _predicted(bundle: Bundle, rows: Numbered, top: int | None) -> Iterator[Prediction]:
    if top is not None and top < 1:
        raise ConfigError(f"--top must be at least 1, not {top}.")
    labels, found = labels_of(bundle), iter(label_probabilities(bundle, rows.filled))
    names = rows.ids or (None,) * len(rows.texts)
    each = zip(rows.texts, rows.blank.tolist(), names, strict=True)
    for row, (text, blank, name) in enumerate(each, rows.first):
        if blank:
            yield Prediction(None, {}, "", row, name)
            continue
        chances = next(found)
        best = np.argsort(-chances, kind="stable")[:top].tolist()
        shown = bundle.codec.to_shown(text.decode("utf-8", "backslashreplace"))
        yield Prediction(
            labels[best[0]], {labels[one]: float(chances[one]) for one in best}, shown, row, name
        )
