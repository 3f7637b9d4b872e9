"""`check`: what data are like, from a name to the facts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from chainrule.codecs.base import Codec
from chainrule.codecs.choose import Choice
from chainrule.codecs.registry import codec as codec_named
from chainrule.config import refuse_unknown, share
from chainrule.data.check import Check
from chainrule.data.check import check as look
from chainrule.data.dataset import open_data, suggest_codec
from chainrule.data.sources import Given, ReadConfig, read
from chainrule.models.base import Forecast
from chainrule.models.registry import families, family


@dataclass(frozen=True)
class Checked:
    """The facts, and through which codec the data were seen."""

    codec: Codec
    why: str  # how the codec was chosen
    notes: tuple[str, ...]  # what was chosen or left out while reading
    facts: Check
    forecast: Mapping[str, Forecast]  # what fitting would cost, by family and size


def check(
    data: Given,
    *,
    valid: Given | None = None,
    test: Given | None = None,
    codec: str | None = None,
    **options: Any,
) -> Checked:
    """Look through data before training: sizes, unknown symbols, copies, leaks, and what fitting would need.

    `options` are settings of the codec (`vocab="10k"`) and of reading (`column="text"`), as for `fit`.
    """
    config = ReadConfig.from_values(share(options, ReadConfig))
    source = read(data, config)
    choice = Choice(codec, "as asked") if codec else suggest_codec(source, config)
    kind = codec_named(choice.name)
    refuse_unknown(options, ReadConfig, kind.Config)
    parts = open_data(source, valid, test, config, choice.name)
    settings = {**choice.settings, **share(options, kind.Config)}
    learnt = kind.learn(parts.train, kind.Config.from_values(settings))
    facts = look(parts, learnt)
    return Checked(learnt, choice.reason, source.notes, facts, _forecast(facts, learnt.size))


def _forecast(facts: Check, alphabet: int) -> dict[str, Forecast]:
    """Every family's own opinion."""
    symbols = facts.parts["train"].symbols
    return {
        what: cost
        for name in families()
        for what, cost in family(name).forecasts(facts.sample, alphabet, symbols).items()
    }
