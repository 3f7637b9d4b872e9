"""What figures are called."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

JOINT = ("perplexity", "perplexity_known", "bits_per_symbol", "bits_per_byte", "log2prob")


class Reader(Protocol):
    """A model, or figures of one: it says how the symbols were read."""

    @property
    def reads(self) -> str:
        """`left`: each with those before it in sight; `both`: with all others."""


def own_names(values: Mapping[str, Any], reader: Reader) -> dict[str, Any]:
    """Figures by name. Those of a model that reads both ways are pseudo-figures, and are called so.

    Each symbol was predicted with all others in sight (pseudo-likelihood), so they are no probabilities of texts and
    compare with nothing that a model reading from left to right says.
    """
    if reader.reads == "left":
        return dict(values)
    return {f"pseudo_{name}" if name in JOINT else name: value for name, value in values.items()}
