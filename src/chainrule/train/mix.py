"""Linear interpolation of several models: weights are estimated on data that none of them was trained on."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from chainrule.bundle import Bundle
from chainrule.data.corpus import encode
from chainrule.data.sources import Given, Source
from chainrule.errors import ModelError
from chainrule.judge.score import Score, measure
from chainrule.models.base import LanguageModel
from chainrule.models.mix import Mix, best_weights, mixed
from chainrule.symbols import BOS
from chainrule.use.adapt import AdaptConfig, adapted_model, told
from chainrule.use.score import opened

NO_CHANGE = AdaptConfig()


def mix(
    bundles: Sequence[Bundle],
    valid: Given,
    adapt: AdaptConfig = NO_CHANGE,
    names: Sequence[str] = (),
    **reading: Any,
) -> Bundle:
    """An ensemble of language models, or of models that answer.

    `valid` are data to estimate the weights on, `names` what notes call the models. They are read as those of the first
    model were, unless `reading` says otherwise (`column="text"`). With `adapt`, models that learn by gradient adapt
    themselves to what they score, by settings estimated on `valid`, too.
    """
    if len(bundles) < 2:
        raise ModelError(f"A mix needs two models or more, not {len(bundles)}.")
    if any(bundle.head is not None for bundle in bundles):
        return _answers(bundles, valid, adapt, names, reading)
    codec = bundles[0].codec
    for other in bundles[1:]:
        if other.codec.fingerprint() != codec.fingerprint():
            raise ModelError(
                "Models can be mixed only if their codecs are equal, and these are not: train both on the same data "
                "with the same --codec and its options."
            )
    usual = bundles[0].card.get("reading", {})
    source = opened(codec, usual, valid, reading)
    part = encode(codec, source)
    models = [_adapted(bundle.model, adapt, np.asarray(part.ids)) for bundle in bundles]
    logs = [model.score_ids(part.ids) for model in models]
    model = Mix.of(models, best_weights([one[part.ids != BOS] for one in logs]))
    score = measure(part.ids, mixed(logs, model.config.weights)) + Score(
        bytes=part.bytes, unknown=part.unknown
    )
    names = list(names) or [f"model {number}" for number in range(1, len(bundles) + 1)]
    parts = zip(names, models, model.config.weights, strict=True)
    weighed = ", ".join(f"{name} {weight:.3f} ({told(one)})" for name, one, weight in parts)
    notes = [f"weights: {weighed}", *_warnings(dict(zip(names, bundles, strict=True)), source)]
    facts = {"parts": names, "notes": notes, "figures": {"valid": score.figures()}, "reading": usual}
    return Bundle.of(codec, model, facts)


def _answers(
    bundles: Sequence[Bundle],
    valid: Given,
    adapt: AdaptConfig,
    names: Sequence[str],
    reading: Mapping[str, Any],
) -> Bundle:
    """The mean of what models answer that have a head."""
    from chainrule.train.ensemble import ensemble

    if adapt != NO_CHANGE:
        raise ModelError(
            "--neural-cache and --dynamic are for language models, and these models answer. Leave them out."
        )
    return ensemble(bundles, valid, names, **reading)


def _adapted(model: LanguageModel, config: AdaptConfig, ids: np.ndarray) -> LanguageModel:
    return adapted_model(model, config, ids) if model.learner == "gradient" else model


def _warnings(bundles: Mapping[str, Bundle], valid: Source) -> Iterator[str]:
    """A model has too much weight where it was trained on the very data that weights are estimated on."""
    for name, bundle in bundles.items():
        if bundle.card.get("data", {}).get("train") == valid.fingerprint:
            yield (
                f"warning: {name} was trained on {valid.name}, so its weight is too large. Estimate "
                "weights on data that no model has seen."
            )
