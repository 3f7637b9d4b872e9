"""Predictions for examples with several columns: a question and a passage, two texts, words, frames of numbers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from chainrule.codecs.base import Texts
from chainrule.codecs.frames import parsed
from chainrule.data.corpus import Corpus, Part
from chainrule.data.dataset import read_rows
from chainrule.data.given import Table
from chainrule.data.roles import Role
from chainrule.data.rows import PAIR, TEXT, Rows, main_of, trimmed
from chainrule.data.squad import ID, PASSAGE, QUESTION, is_questions
from chainrule.errors import ConfigError
from chainrule.use.columns import columns_of
from chainrule.use.predict import Prediction, check_top, predictor
from chainrule.use.spelled import knowing, read_roles
from chainrule.use.text import typed_texts

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
    return next(predict_rows(bundle, given, top=top, columns={}))


def predict_pairs(
    bundle: Bundle, texts: Sequence[str], others: Sequence[str], top: int | None = None
) -> list[Prediction]:
    """One prediction for each text and the one beside it."""
    task, _ = predictor(bundle)
    if PAIR not in task.inputs():
        raise ConfigError(
            f"This model reads {' and '.join(task.inputs())}, not two texts. Fit one that does: --pair COLUMN."
        )
    if len(texts) != len(others):
        raise ConfigError(
            f"Every text needs another one beside it: there are {len(texts):,} and {len(others):,}."
        )
    given = [_column(typed_texts(bundle.codec, one)) for one in (texts, others)]
    columns = dict(zip((TEXT, PAIR), given, strict=True))
    return list(predict_rows(bundle, columns, top=top, columns={})) if len(texts) else []


def _column(texts: Texts) -> np.ndarray:
    """As an array of objects: of a list, items might name files."""
    found = np.empty(len(texts), object)
    found[:] = [one.decode() for one in texts]
    return found


def predict_rows(
    bundle: Bundle,
    source: Data,
    *,
    id: str | None = None,
    top: int | None = None,
    columns: dict[str, str] | None = None,
    **reading: Any,
) -> Iterator[Prediction]:
    """One prediction for each row of data of any size, in order, as they are read; blank ones have one, too."""
    task, _ = predictor(bundle)
    check_top(top)
    named = columns_of(bundle, source, reading) if columns is None else columns
    roles = [Role(name, named.get(name), bundle.codecs[name].name, empty=True) for name in task.inputs()]
    if id is not None or is_questions(task.inputs()) or bundle.codec.features:
        roles.append(Role(ID, id, "bytes", empty=True))
    first = 1
    for rows in read_rows(source, roles, {**usual_reading(bundle), **reading}):
        yield from _answered(bundle, rows, first, top)
        first += len(rows)


def predict_texts(bundle: Bundle, texts: Sequence[str], top: int | None = None) -> Iterator[Prediction]:
    """One prediction for each text, where all other columns are made of it."""
    task, _ = predictor(bundle)
    main, codec = main_of(task.inputs()), bundle.codec
    if codec.features:
        frames = [parsed(codec.from_typed(one).encode(), codec.features) for one in texts]
        return predict_rows(bundle, frames, top=top, columns={})
    given = Table("the given texts", {main: list(texts)}, (main,))
    return predict_rows(bundle, given, top=top, columns={}, format=None)


def usual_reading(bundle: Bundle) -> dict[str, Any]:
    """How a model's own data were read, as far as others are likely to be alike."""
    names = (*READING, *MOMENTS) if bundle.codec.features else READING
    found = {name: bundle.card.get("reading", {}).get(name) for name in names}
    return {name: value for name, value in found.items() if value is not None}


def _answered(bundle: Bundle, rows: Rows, first: int, top: int | None) -> Iterator[Prediction]:
    task, head = predictor(bundle)
    inner = [trimmed(rows.columns[name]) for name in task.inputs()]
    blank = np.logical_or.reduce([one.starts == one.ends for one in inner])
    filled = rows.only(~blank)
    bundle = knowing(bundle, lambda: [filled.columns[name] for name in read_roles(bundle)])
    part = Part({name: _corpus(bundle, name, filled) for name in task.inputs()})
    found = iter(task.answers(bundle.body, head, part, bundle.codecs, top) if len(filled) else ())
    names = rows.columns.get(ID) or [b""] * len(rows)
    for row, (name, nothing) in enumerate(zip(names, np.asarray(blank).tolist(), strict=True), first):
        called = name.decode("utf-8", "backslashreplace") or None
        yield Prediction(None if nothing else next(found), "", row, called, task.blank)


def _corpus(bundle: Bundle, role: str, rows: Rows) -> Corpus:
    texts = rows.columns[role]
    return Corpus(bundle.codecs[role].encode(texts).ids, len(texts), texts.bytes)
