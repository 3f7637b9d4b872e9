"""Two models on the same data: the difference of their figures, drawn example by example (paired bootstrap)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from chainrule.errors import ConfigError
from chainrule.judge.bootstrap import Difference, drawn_difference
from chainrule.judge.judged import resamples
from chainrule.use.evaluate import SECONDS, Evaluation, evaluate
from chainrule.use.predict import predictor

if TYPE_CHECKING:
    from chainrule.bundle import Bundle
    from chainrule.data.columns import Data


@dataclass(frozen=True)
class PairedEvaluation:
    """Figures of two models on the same examples; a difference is that of the first less that of the second."""

    first: Evaluation = field(repr=False)
    second: Evaluation = field(repr=False)
    differences: Mapping[str, Difference]  # by figure

    def significant(self, name: str) -> bool:
        """Whether other examples would hardly have turned a difference round: 0 lies outside of its 95 %."""
        return self.differences[name].real

    def to_dict(self) -> dict[str, Any]:
        """For scripts."""
        told = {
            name: {
                "first": self.first.figures[name],
                "second": self.second.figures[name],
                "difference": one.value,
                "interval": [one.low, one.high],
                "significant": one.real,
                **({"p_values": dict(one.p_values)} if one.p_values else {}),
            }
            for name, one in self.differences.items()
        }
        return {"task": self.first.task, "examples": self.first.judged.examples, "differences": told}


def evaluate_against(
    bundle: Bundle, other: Bundle, source: Data, /, label: str | None = None, **reading: Any
) -> PairedEvaluation:
    """Judge two models of the same task on the same data, each reading it as its own was read."""
    if bundle.task.source is not None or other.task.source is not None:
        from chainrule.use.evaluate_texts import evaluate_translations_against

        return evaluate_translations_against(bundle, other, source, **reading)
    kinds = [predictor(one)[0].name for one in (bundle, other)]
    if kinds[0] != kinds[1]:
        raise ConfigError(
            f"One model's task is {kinds[0]!r}, the other's {kinds[1]!r}: compare two of the same."
        )
    first, second = (evaluate(one, source, label, **reading) for one in (bundle, other))
    if first.judged.examples != second.judged.examples:
        raise ConfigError(
            f"The models read {first.judged.examples:,} and {second.judged.examples:,} examples of these data, so they "
            "cannot be compared one by one. Leave out rows with blank cells."
        )
    return PairedEvaluation(first, second, _differences(first, second))


def _differences(first: Evaluation, second: Evaluation) -> dict[str, Difference]:
    """Of the figures that are sure, from the same draws for both."""
    names = [name for name in first.judged.sure if name in first.figures and name in second.figures]
    draws, others = (resamples(one.judged, SECONDS, names) for one in (first, second))
    return {
        name: drawn_difference(first.figures[name], draws[name], second.figures[name], others[name])
        for name in names
    }
