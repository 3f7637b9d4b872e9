"""Predictions for examples with several columns: a question and a passage, the numbers of frames."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from chainrule.data.corpus import Corpus, Part
from chainrule.data.dataset import read_rows
from chainrule.data.roles import Role
from chainrule.data.rows import Rows, trimmed
from chainrule.data.squad import ID, PASSAGE, QUESTION
from chainrule.errors import ConfigError
from chainrule.use.predict import Prediction, predictor
from chainrule.use.spelled import knowing

if TYPE_CHECKING:
    from chainrule.bundle import Bundle
    from chainrule.data.columns import Data

READING = ("encoding", "format")  # as when the model was fitted, where nothing else is said
MOMENTS = ("column", "group", "sort", "decimal", "thousands")  # the same for sequences made of several rows


def answer(bundle: Bundle, question: str, passage: str, top: int | None = None) -> Prediction:
    """The answer to one question."""
    given = {QUESTION: [question], PASSAGE: [passage]}
    if not question.strip() or not passage.strip():
        raise ConfigError("A question and a passage are wanted, and one of them is empty.")
    return next(predict_examples(bundle, given, top=top, columns={}))


def predict_examples(
    bundle: Bundle,
    source: Data,
    *,
    id: str | None = None,
    top: int | None = None,
    columns: dict[str, str] | None = None,
    **reading: Any,
) -> Iterator[Prediction]:
    """One prediction for each example of data of any size, in order, as they are read; blank ones have one, too."""
    task, _ = predictor(bundle)
    named = bundle.card.get("columns", {}) if columns is None else columns
    roles = [Role(name, named.get(name), bundle.codecs[name].name, empty=True) for name in task.inputs()]
    first = 1
    for rows in read_rows(
        source, [*roles, Role(ID, id, "bytes", empty=True)], {**usual_reading(bundle), **reading}
    ):
        yield from _answered(bundle, rows, first, top)
        first += len(rows)


def usual_reading(bundle: Bundle) -> dict[str, Any]:
    """How a model's own data were read, as far as others are likely to be alike."""
    names = (*READING, *MOMENTS) if bundle.codec.features else READING
    found = {name: bundle.card.get("reading", {}).get(name) for name in names}
    return {name: value for name, value in found.items() if value is not None}


def _answered(bundle: Bundle, rows: Rows, first: int, top: int | None) -> Iterator[Prediction]:
    task, head = predictor(bundle)
    main = task.inputs()[0]
    inner = trimmed(rows.columns[main])
    blank = inner.starts == inner.ends
    filled = rows.only(~blank)
    bundle = knowing(bundle, lambda: [filled.columns[main]])
    part = Part({name: _corpus(bundle, name, filled) for name in task.inputs()})
    found = iter(task.answers(bundle.body, head, part, bundle.codecs, top) if len(filled) else ())
    each = zip(rows.columns[ID], np.asarray(blank).tolist(), strict=True)
    for row, (name, nothing) in enumerate(each, first):
        called = name.decode("utf-8", "backslashreplace") or None
        yield Prediction(None if nothing else next(found), "", row, called, task.blank)


def _corpus(bundle: Bundle, role: str, rows: Rows) -> Corpus:
    texts = rows.columns[role]
    return Corpus(bundle.codecs[role].encode(texts).ids, len(texts), texts.bytes)
