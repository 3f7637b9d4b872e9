"""The card of a model: where it comes from, how it was made, and how good it is."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from chainrule.data.dataset import Prepared
from chainrule.models.base import Body
from chainrule.tasks.base import Task

if TYPE_CHECKING:
    from chainrule.heads.base import Head


@dataclass(frozen=True)
class Outcome:
    """What learning gave."""

    body: Body
    head: Head | None
    notes: tuple[str, ...]  # for people
    facts: Mapping[str, Any]  # for the card


def judging_threads(facts: Mapping[str, Any]) -> AbstractContextManager[None]:
    """Judging has as many as training found best: beside other programs, two can be many times slower than one."""
    if "training" not in facts:
        return nullcontext()
    from chainrule.nn.threads import in_threads

    return in_threads(facts["training"]["threads"])


def card_of(task: Task, found: Outcome, prepared: Prepared) -> dict[str, Any]:
    """Where the model comes from and how good it is."""
    parts = {"valid": prepared.valid, "test": prepared.test}
    with judging_threads(found.facts):
        judged = {
            name: task.judge(found.body, found.head, part, prepared.codecs)
            for name, part in parts.items()
            if part is not None
        }
    remarks = [f"{name}: {note}" for name, figures in judged.items() for note in figures.notes]
    main = prepared.train.main
    return {
        "data": {
            "name": prepared.data.source.name,
            "fingerprint": prepared.data.fingerprint,
            "train": prepared.data.source.fingerprint,
            "sequences": main.sequences,
            "symbols": main.symbols,
            "bytes": main.bytes,
        },
        "reading": prepared.data.source.config.values(),
        "columns": {name: role.column for name, role in prepared.data.roles.items() if role.column},
        "notes": [*prepared.notes, *found.notes, *remarks],
        "figures": {name: dict(figures.values) for name, figures in judged.items()},
    } | dict(found.facts)
