"""`check`: sizes, unknown symbols, copies and leaks of data, before training."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from chainrule.codecs.base import Codec
from chainrule.data.check import Check, examine
from chainrule.data.columns import Data
from chainrule.data.dataset import learn_codecs, open_data
from chainrule.data.roles import Role
from chainrule.models.base import CostForecast, FrameConfig
from chainrule.models.registry import families, family


@dataclass(frozen=True)
class Checked:
    """The facts, and through which codec the data were seen."""

    codec: Codec
    why: str  # how the codec was chosen
    notes: tuple[str, ...]  # what was chosen or left out while reading
    facts: Check
    forecast: Mapping[str, CostForecast]  # what fitting would cost, by family and size

    def to_dict(self) -> dict[str, Any]:
        """For scripts."""
        facts = {name: value for name, value in asdict(self.facts).items() if name != "sample"}
        codec = {"codec": self.codec.name, "why": self.why, "vocab_size": self.codec.size}
        return codec | facts | {"forecast": {name: asdict(cost) for name, cost in self.forecast.items()}}


def check(
    data: Data,
    *,
    valid: Data | None = None,
    test: Data | None = None,
    roles: Sequence[Role] = (),
    codec: str | None = None,
    **options: Any,
) -> Checked:
    """Look through data before training: sizes, unknown symbols, copies, leaks, and what fitting would need.

    `options` are settings of the codec (`vocab="10k"`) and of reading (`column="text"`), as for `fit`.
    """
    parts = open_data(data, valid, test, roles=roles, codec=codec, options=options)
    codecs = learn_codecs(parts)
    facts, main = examine(parts, codecs), codecs[parts.main]
    return Checked(main, parts.why[parts.main], parts.notes, facts, _forecast(facts, main))


def _forecast(facts: Check, codec: Codec) -> dict[str, CostForecast]:
    """The cost of training each family, as it estimates it."""
    symbols = facts.parts["train"].symbols
    return {
        what: cost
        for name in families()
        if not codec.features or issubclass(family(name).Config, FrameConfig)
        for what, cost in family(name).cost_forecasts(facts.sample, codec.size, symbols).items()
    }
