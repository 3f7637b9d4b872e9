"""An ensemble of models that answer: the mean of what they think, weighted on data that none of them was trained on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from chainrule.bundle import Bundle
from chainrule.codecs.base import Codec, CodecConfig
from chainrule.codecs.bytes import Bytes
from chainrule.data.corpus import Part
from chainrule.data.dataset import encoded_part, read_columns
from chainrule.data.given import from_python
from chainrule.data.roles import Role
from chainrule.data.sources import Given
from chainrule.errors import ModelError
from chainrule.models.ensemble import Ensemble, Member
from chainrule.tasks.base import Task
from chainrule.tasks.ensemble import Averaged
from chainrule.use.columns import columns_of
from chainrule.use.predict import predictor
from chainrule.use.questions import usual_reading

SLIGHT = 0.02  # a model with less weight only takes time, and is left out


def ensemble(bundles: Sequence[Bundle], valid: Given, names: Sequence[str] = (), **reading: Any) -> Bundle:
    """An ensemble of these; on `valid`, examples with right answers, weights and temperature are fitted.

    They are read as those of the first model were, unless `reading` says otherwise.
    """
    check_alike(bundles)
    names, codecs = list(names) or _numbered(bundles), codecs_of(bundles)
    first, task = bundles[0], bundles[0].task
    columns = columns_of(first, valid, reading)
    roles = [Role(role.name, columns.get(role.name), empty=role.empty) for role in task.roles()]
    data = read_columns(from_python(valid), codecs, roles=roles, options={**usual_reading(first), **reading})
    found = weighed(bundles, encoded_part(codecs, data.whole()), codecs, names)
    trained = [one.card.get("data", {}).get("train") for one in bundles]
    seen = [name for name, one in zip(names, trained, strict=True) if one == data.fingerprint]
    warned = [
        f"warning: {name} was trained on {data.name}, so its weight is too large. Estimate weights on data that no "
        "model has seen."
        for name in seen
    ]
    kept = {name: first.card[name] for name in ("reading", "columns") if name in first.card}
    return replace(found, card={**kept, **found.card, "notes": [*found.card["notes"], *warned]})


def weighed(
    bundles: Sequence[Bundle], part: Part, codecs: Mapping[str, Codec], names: Sequence[str] = ()
) -> Bundle:
    """The ensemble with the weights and the temperature that are best on a part, read by `codecs_of` these models."""
    task, names = task_of(bundles[0]), list(names) or _numbered(bundles)
    whole = held(bundles, codecs, np.full(len(bundles), 1 / len(bundles)))
    assert isinstance(whole.body, Ensemble) and whole.head is not None
    opinions = list(task.opinions(whole.body, whole.head, part, whole.codecs))
    weights = np.array(task.trust(opinions, part, whole.codecs))
    weights[weights < SLIGHT] = 0.0
    kept = np.flatnonzero(weights).tolist()
    told = ", ".join(
        f"{name} {weight:.3f}" for name, weight in zip(names, weights / weights.sum(), strict=True)
    )
    found = held([bundles[at] for at in kept], codecs, weights[kept] / weights.sum())
    head = task.calibrated(found.body, found.head, part, found.codecs)  # type: ignore[arg-type]
    note = "weights and temperature are fitted on the same validation data"
    return replace(
        found, head=head, card={"parts": [names[at] for at in kept], "notes": [f"weights: {told}", note]}
    )


def check_alike(bundles: Sequence[Bundle]) -> None:
    """Refuse models that answer different questions, or with other labels."""
    if len(bundles) < 2:
        raise ModelError(f"An ensemble needs two models or more, not {len(bundles)}.")
    first = bundles[0]
    role = task_of(first).answers_role
    for other in bundles[1:]:
        if task_of(other).name != first.task.name or other.task.inputs() != first.task.inputs():  # type: ignore[attr-defined]
            raise ModelError(
                f"Models for the tasks {first.task.name!r} and {other.task.name!r} cannot be averaged: take models "
                "for one task that read the same columns."
            )
        if other.codecs[role].fingerprint() != first.codecs[role].fingerprint():
            raise ModelError(
                "These models answer with different labels, or with numbers on different scales: train them on the "
                "same data, with the same --valid and --test."
            )


def _numbered(bundles: Sequence[Bundle]) -> list[str]:
    return [f"model {number}" for number in range(1, len(bundles) + 1)]


def task_of(bundle: Bundle) -> Averaged:
    """Its task, if its answers can be averaged."""
    task, _ = predictor(bundle)
    if not isinstance(task, Averaged) or isinstance(bundle.body, Ensemble):
        what = "an ensemble already" if isinstance(bundle.body, Ensemble) else f"for the task {task.name!r}"
        raise ModelError(f"One of the models is {what}, and cannot be part of an ensemble. Leave it out.")
    return task


def codecs_of(bundles: Sequence[Bundle]) -> dict[str, Codec]:
    """By role: the one codec that all read text with, else bytes, from which each reads it again."""
    first = bundles[0]
    marks = {one.codec.fingerprint() for one in bundles}
    if len(marks) == 1 and not any(one.body.config.word_letters for one in bundles):
        return dict(first.codecs)
    odd = next((one.codec.name for one in bundles if not one.codec.spells), None)
    if odd is not None:
        raise ModelError(f"A model that reads {odd} can be averaged with others of the very same codec only.")
    main = first.task.body_role(first.codecs)
    alike = [role.name for role in first.task.roles() if main in (role.name, role.like)]
    return {**first.codecs, **dict.fromkeys(alike, Bytes(CodecConfig()))}


def held(bundles: Sequence[Bundle], codecs: Mapping[str, Codec], weights: np.ndarray) -> Bundle:
    """These models as one, each with its own codec of text beside those of all."""
    task: Task = bundles[0].task
    main = task.body_role(codecs)
    own, members = dict[str, Codec](), []
    for one in bundles:
        same = one.codec.fingerprint() == codecs[main].fingerprint()
        known = [role for role, codec in own.items() if codec.fingerprint() == one.codec.fingerprint()]
        role = main if same else next(iter(known), f"{main}.{len(own)}")
        own |= {} if same else {role: one.codec}
        members.append(Member(one.body, one.task.values(), role))
    body = Ensemble.of(members, weights.tolist(), codecs[main].size)
    parts = [{"name": one.head.name, "config": one.head.config.values()} for one in bundles if one.head]
    head = task_of(bundles[0]).ensemble_head(parts, codecs)
    for place, one in zip(head.parts, bundles, strict=True):  # type: ignore[arg-type]
        place.load_state_dict(one.head.state_dict())  # type: ignore[union-attr]
    return Bundle({**codecs, **own}, body, task, head.eval())
