"""What figures are called."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from chainrule.models.base import Model

JOINT = ("perplexity", "perplexity_known", "bits_per_symbol", "bits_per_byte", "log2prob")


def own_names(values: Mapping[str, Any], model: Model) -> dict[str, Any]:
    """Figures by name. Those of a model that reads both ways are pseudo-figures, and are called so.

    Each symbol was guessed with all others in sight, so they are no probabilities of texts and compare with nothing
    that a model reading from left to right says.
    """
    if model.reads == "left":
        return dict(values)
    return {f"pseudo_{name}" if name in JOINT else name: value for name, value in values.items()}
