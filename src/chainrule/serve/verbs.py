"""Our own verbs: each answers with the dict that the result of the same name has in Python."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

from chainrule.errors import ModelError
from chainrule.serve.bodies import (
    CompleteBody,
    FillBody,
    PredictBody,
    RankBody,
    TextBody,
    TranslateBody,
)
from chainrule.serve.refusals import Refused

if TYPE_CHECKING:
    from chainrule.bundle import Bundle

TOGETHER = 8  # texts of one step
OPTIONS = {*TranslateBody.model_fields} - {*TextBody.model_fields}

Found = dict[str, Any]


def score(bundle: Bundle, body: TextBody) -> Found:
    """How probable a text is, or each of several."""
    texts = _texts(body)
    if body.texts is None:
        return bundle.score(texts[0]).to_dict()
    return _results(_numbered([one.to_dict() for part in _parts(texts) for one in _scored(bundle, part)]))


def _scored(bundle: Bundle, texts: Sequence[str]) -> Iterable[Any]:
    from chainrule.use.score import results_of
    from chainrule.use.text import typed_texts

    return results_of(bundle, typed_texts(bundle.codec, texts))


def predict(bundle: Bundle, body: PredictBody) -> Found:
    """The answer of a model to a text, to each of several, to a pair or to a question."""
    if body.question is not None or body.passage is not None:
        if body.question is None or body.passage is None:
            raise Refused(400, "Give question and passage together.", "question")
        return bundle.answer(body.question, body.passage, body.top).to_dict()
    texts = _texts(body)
    pair = [body.pair] if isinstance(body.pair, str) else body.pair
    if pair is not None and len(pair) != len(texts):
        raise Refused(400, f"There are {len(texts)} texts and {len(pair)} second ones: give as many.", "pair")
    found = []
    for first in range(0, len(texts), TOGETHER):
        others = None if pair is None else pair[first : first + TOGETHER]
        found += bundle.predict(texts[first : first + TOGETHER], body.top, others)
    told = [one.to_dict() for one in found]
    return told[0] if body.texts is None else _results(_numbered(told))


def tag(bundle: Bundle, body: PredictBody) -> Found:
    """The tag of every symbol."""
    if bundle.task.name != "tag":
        raise ModelError(
            f"This model's task is {bundle.task.name!r}: it tags nothing. Fit one that does: --task tag."
        )
    return predict(bundle, body)


def translate(bundle: Bundle, body: TranslateBody) -> Found:
    """What is written from a source, or from each of several."""
    given = body.model_dump(include=OPTIONS, exclude_none=True)
    texts = _texts(body)
    found = []
    for part in _parts(texts):
        found += bundle.translate(part, **given)
    told = [one.to_dict() for one in found]
    return told[0] if body.texts is None else _results(_numbered(told))


def fill(bundle: Bundle, body: FillBody) -> Found:
    """Guesses for every mask."""
    return bundle.fill(body.text, body.k).to_dict()


def complete(bundle: Bundle, body: CompleteBody) -> Found:
    """What a search box would offer."""
    return bundle.complete(body.prompt, body.k, body.length, unknown=body.unknown).to_dict()


def rank(bundle: Bundle, body: RankBody) -> Found:
    """Candidates, the most probable first."""
    return bundle.rank(body.candidates).to_dict()


VERBS: dict[str, tuple[type[Any], Callable[[Any, Any], Found]]] = {
    "score": (TextBody, score),
    "predict": (PredictBody, predict),
    "tag": (PredictBody, tag),
    "translate": (TranslateBody, translate),
    "fill": (FillBody, fill),
    "complete": (CompleteBody, complete),
    "rank": (RankBody, rank),
}


def _texts(body: TextBody) -> list[str]:
    """The one that was given, or the several."""
    if body.text is not None and body.texts is not None:
        raise Refused(400, "Give text or texts, not both.", "text")
    if body.texts is None and body.text is None:
        raise Refused(400, "Give a text, or several as texts.", "text")
    return [body.text] if body.text is not None else list(body.texts or ())


def _results(found: Iterable[Found]) -> Found:
    return {"results": list(found)}


def _numbered(found: Sequence[Found]) -> list[Found]:
    """Rows count on where texts came in several parts."""
    return [one | {"row": row} if "row" in one else one for row, one in enumerate(found, 1)]


def _parts(texts: Sequence[str]) -> Iterable[list[str]]:
    return (list(texts[first : first + TOGETHER]) for first in range(0, len(texts), TOGETHER))
