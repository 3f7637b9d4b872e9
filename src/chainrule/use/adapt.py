"""`adapted`: a model that makes use of what it has just read, by dynamic evaluation, by a neural cache, or by both."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from chainrule.config import Config, option
from chainrule.errors import ConfigError
from chainrule.models.base import LanguageModel
from chainrule.use.score import opened

if TYPE_CHECKING:
    from chainrule.bundle import Bundle
    from chainrule.data.sources import Given


@dataclass(frozen=True, kw_only=True)
class AdaptConfig(Config):
    """What a model does with what it has just read; what is not given is chosen on held-out text, if there is any."""

    dynamic: bool = option(False, "dynamic evaluation: the model keeps learning from the text it has scored")
    dynamic_lr: float | None = option(
        None, "learning rate of dynamic evaluation; chosen on --valid, else 0.0015", low=0.0, high=10.0
    )
    dynamic_decay: float | None = option(
        None,
        "share of the way back to the trained weights at each of its steps; chosen on --valid, else 0.003",
        low=0.0,
        high=1.0,
    )
    dynamic_window: int | None = option(
        None,
        "how many symbols are scored before they are learnt from; 64 if not given",
        low=1,
        high=1_000_000,
    )
    neural_cache: bool = option(
        False, "neural cache: symbols that followed similar hidden states become more probable"
    )
    cache_size: int | None = option(
        None,
        "how many recent hidden vectors the neural cache keeps; 500 if not given",
        low=1,
        high=10_000_000,
    )
    cache_theta: float | None = option(
        None,
        "flatness theta of the neural cache: 0 weighs all hidden states alike; chosen on --valid, else 0.3",
        low=0.0,
        high=1000.0,
    )
    cache_weight: float | None = option(
        None, "lambda, the weight of the neural cache; chosen on --valid, else 0.1", low=0.0, high=1.0
    )

    def settings(self, prefix: str) -> dict[str, Any]:
        """The settings given whose names begin with a prefix, without it."""
        found = {
            name.removeprefix(prefix): value
            for name, value in self.values().items()
            if name.startswith(prefix)
        }
        return {name: value for name, value in found.items() if value is not None}


def adapted(bundle: Bundle, config: AdaptConfig, valid: Given | None = None) -> Bundle:
    """The same model, adapting itself while it scores; `valid` is held-out text, read as the model's own data were."""
    if not (config.dynamic or config.neural_cache):
        raise ConfigError("Say how the model should adapt itself: --dynamic, --neural-cache, or both.")
    ids = None if valid is None else _encoded(bundle, valid)
    model = adapted_model(bundle.model, config, ids)
    return replace(
        bundle, body=model, card={**bundle.card, "notes": [*bundle.card.get("notes", []), told(model)]}
    )


def adapted_model(model: LanguageModel, config: AdaptConfig, valid: np.ndarray | None) -> LanguageModel:
    """Dynamic evaluation inside, the neural cache around it: vectors are kept as they were when they were read."""
    if config.dynamic:
        model = _around("dynamic", model, config.settings("dynamic_"), valid)
    if config.neural_cache:
        model = _around("neural-cache", model, config.settings("cache_"), valid)
    return model


def _around(
    name: str, model: LanguageModel, settings: dict[str, Any], valid: np.ndarray | None
) -> LanguageModel:
    from chainrule.models.registry import family

    kind: Any = family(name)
    made: LanguageModel = (
        kind.of(model, **settings) if valid is None else kind.fitted(model, valid, **settings)
    )
    return made


def told(model: LanguageModel) -> str:
    """How a model adapts itself, for people."""
    from chainrule.models.wrapper import Wrapper

    if not isinstance(model, Wrapper):
        return model.family
    names = [
        name for name in model.config.values() if name not in ("vocab_size", "suppressed", "part", "stateful")
    ]
    settings = ", ".join(f"{name} {getattr(model.config, name):.4g}" for name in names)
    return f"{told(model.model)}, {model.family} ({settings})"


def _encoded(bundle: Bundle, valid: Given) -> np.ndarray:
    from chainrule.data.corpus import encode

    source = opened(bundle.codec, bundle.card.get("reading", {}), valid, {})
    return np.asarray(encode(bundle.codec, source).ids)
