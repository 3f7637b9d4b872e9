"""Making one model of several: weights are found on text that none of them was trained on."""

from __future__ import annotations

from collections.abc import Sequence

from chainrule.bundle import Bundle
from chainrule.data.corpus import encode
from chainrule.data.sources import Given, ReadConfig, read
from chainrule.errors import ModelError
from chainrule.judge.score import score_ids
from chainrule.models.mix import Mix, best_weights
from chainrule.symbols import BOS
from chainrule.train.fit import figures


def mix(bundles: Sequence[Bundle], valid: Given) -> Bundle:
    """A model that weighs these; `valid` is text to find the weights on, read as it was for the first model."""
    if len(bundles) < 2:
        raise ModelError(f"A mix needs two models or more, not {len(bundles)}.")
    codec = bundles[0].codec
    for other in bundles[1:]:
        if other.codec.fingerprint() != codec.fingerprint():
            raise ModelError(
                "Models can be mixed only if their codecs are equal, and these are not: train both on the same data "
                "with the same --codec and its options."
            )
    config = ReadConfig.from_values(bundles[0].card.get("reading", {}))
    part = encode(codec, read(valid, config))
    spoken = part.ids != BOS
    logs = [bundle.model.score_ids(part.ids)[spoken] for bundle in bundles]
    model = Mix.of([bundle.model for bundle in bundles], best_weights(logs))
    told = ", ".join(
        f"{bundle.model.family} {w:.3f}" for bundle, w in zip(bundles, model.config.weights, strict=True)
    )
    score = score_ids(model, part.ids, part.bytes, part.unknown)
    facts = {"notes": [f"weights: {told}"], "figures": {"valid": figures(score)}}
    return Bundle(codec, model, {**facts, "reading": bundles[0].card.get("reading", {})})
