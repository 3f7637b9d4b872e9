"""An ensemble of models that answer (labels, tags): the mean of their probabilities, calibrated on held-out data."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from chainrule.bundle import Bundle
from chainrule.data.columns import Data
from chainrule.errors import ModelError
from chainrule.models.base import Body
from chainrule.use.evaluate import labelled_part
from chainrule.use.predict import predictor

if TYPE_CHECKING:
    from chainrule.heads.base import Head

TASKS = {"classify": "ensemble", "tag": "ensemble-tags"}  # and their heads
KEPT = ("reading", "columns")  # of a card: how data are read


def ensemble(bundles: Sequence[Bundle], valid: Data, names: Sequence[str], **reading: Any) -> Bundle:
    """All count the same; `valid` are data to calibrate and to judge on, read as those of the first model were."""
    from chainrule.models.ensemble import Ensemble

    first = bundles[0]
    for name, other in zip(names, bundles, strict=True):
        _check(first, name, other)
    body = Ensemble.of([one.body for one in bundles])  # type: ignore[misc]
    notes = [f"ensemble, the mean of the probabilities of {', '.join(names)}"]
    facts = {name: first.card[name] for name in KEPT if name in first.card}
    facts |= {"parts": list(names), "notes": notes}
    found = Bundle(first.codecs, body, first.task, _head(bundles), facts)
    told, part, remarks = labelled_part(found, valid, **reading)
    task, head = predictor(found)
    head = task.calibrated(told.body, head, part, told.codecs)
    figures = task.judge(told.body, head, part, told.codecs)
    facts |= {"figures": {"valid": figures.values}, "notes": [*notes, *figures.notes, *remarks]}
    return replace(found, head=head, card=facts)


def _check(first: Bundle, name: str, other: Bundle) -> None:
    """What cannot be mixed is refused."""
    task, body = other.task, other.body
    if task.name not in TASKS or task.name != first.task.name or getattr(task, "pair", None):
        raise ModelError(
            "Models that predict the next symbol can be mixed, and those of one task, classify or tag, for one text "
            f"each; the task of {name} is {task.name!r}."
        )
    if body.learner != "gradient" or not _is_plain(body):
        raise ModelError(f"Models that learn by gradient can be mixed, and {name} is a {body.family}.")
    if getattr(other.head and other.head.config, "crf", False):
        raise ModelError(f"{name} has a CRF, whose chains cannot be averaged word by word: leave it out.")
    for role, codec in first.codecs.items():
        if other.codecs[role].fingerprint() != codec.fingerprint():
            raise ModelError(
                f"Models can be mixed only if their codecs are equal, and that of {name} for {role!r} is another one: "
                "train all on the same data with the same --codec and its options."
            )


def _is_plain(body: Body) -> bool:
    """Whether it is one network."""
    return hasattr(body, "respelled")


def _head(bundles: Sequence[Bundle]) -> Head:
    """The heads of all, and, of tags, which may follow which."""
    from chainrule.heads.base import head
    from chainrule.heads.ensemble import settings

    heads = [predictor(one)[1] for one in bundles]
    found: Any = head(TASKS[bundles[0].task.name])(settings(heads))
    for own, one in zip(found.members.heads, heads, strict=True):
        own.load_state_dict(one.state_dict())
    if hasattr(found, "illegal"):
        found.illegal.copy_(heads[0].illegal)
    return found.eval()  # type: ignore[no-any-return]
