"""Where a training starts: with the weights of a trained model, and how fast they may move."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from chainrule.models.base import ModelConfig


@dataclass(frozen=True)
class Start:
    """The body of a trained model; whatever it is trained for next, training begins with it."""

    model: ModelConfig
    weights: Mapping[str, np.ndarray]
    scales: Mapping[str, float] = field(default_factory=dict)  # of the learning rate, as in `network.Rates`
