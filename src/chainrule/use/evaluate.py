"""`evaluate`: how good a model is on data with right answers, each figure with a bootstrap interval."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from chainrule.data.dataset import encoded_part, read_columns
from chainrule.data.roles import Role
from chainrule.errors import ConfigError
from chainrule.judge.bootstrap import ends
from chainrule.judge.judged import Judged, resamples
from chainrule.use.columns import columns_of
from chainrule.use.predict import predictor
from chainrule.use.questions import usual_reading
from chainrule.use.spelled import knowing, read_roles

if TYPE_CHECKING:
    from chainrule.bundle import Bundle
    from chainrule.data.columns import Data
    from chainrule.draw.picture import Picture

SECONDS = 10.0  # for the bootstrap


@dataclass(frozen=True)
class Evaluation:
    """Figures of a model, those that are sure enough with an interval."""

    task: str
    judged: Judged = field(repr=False)
    seconds: float = field(compare=False)
    notes: tuple[str, ...] = ()  # what must be said beside the figures

    @cached_property
    def figures(self) -> dict[str, float]:
        """Those of the task, by name."""
        return self.judged.figures()

    @cached_property
    def intervals(self) -> dict[str, tuple[float, float]]:
        """95 % of such test sets have their figures between these values."""
        drawn = resamples(self.judged, SECONDS)
        return {name: ends(one) for name, one in drawn.items() if len(one) and name in self.figures}

    def plot(self) -> Picture:
        """Confusion matrix and reliability of a classifier: `found.plot().save("answers.svg")`."""
        from chainrule.draw.answers import picture
        from chainrule.draw.picture import Picture

        drawn = picture(self.judged.details())
        if not drawn:
            raise ConfigError(f"There is no picture of the task {self.task!r}: figures alone are told.")
        return Picture("Confusion and calibration", drawn)

    def _repr_html_(self) -> str:
        from chainrule.draw.answers import picture
        from chainrule.use.pictures import evaluation_table

        return f"{evaluation_table(self)}{picture(self.judged.details())}"

    def to_dict(self) -> dict[str, Any]:
        """For scripts."""
        return {
            "task": self.task,
            "examples": self.judged.examples,
            **self.figures,
            "intervals": {name: list(ends) for name, ends in self.intervals.items()},
            **self.judged.details(),
            "notes": list(self.notes),
            "seconds": self.seconds,
        }


def evaluate(bundle: Bundle, source: Data, /, label: str | None = None, **reading: Any) -> Evaluation:
    """Judge on data read as the model's own were; `label` is the column of answers, `reading` what else differs.

    A model that translates is judged by what it writes: `source` and `target` may name columns, and settings of
    `translate` are allowed.
    """
    if bundle.task.source is not None:
        from chainrule.use.evaluate_texts import evaluate_translations

        return evaluate_translations(bundle, source, **reading)
    began = time.perf_counter()
    task, head = predictor(bundle)
    columns = columns_of(bundle, source, reading)
    given = {task.answers_role: label} if label else {}
    roles = [Role(role.name, columns.get(role.name), empty=role.empty) for role in task.roles()]
    options = {**usual_reading(bundle), **reading, **given}
    data = read_columns(source, bundle.codecs, roles=roles, options=options)
    blocks = data.whole()
    read = read_roles(bundle)
    bundle = knowing(bundle, lambda: (texts for role in read for texts in blocks[role]()))
    part = encoded_part(bundle.codecs, blocks)
    found = task.judged(bundle.body, head, part, bundle.codecs)
    return Evaluation(task.name, found, time.perf_counter() - began, (*found.notes, *data.remarks))
