"""Unfinished models: one that has hardly learnt yet is reported as such, for its figures do not judge its family."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from chainrule.symbols import BOS

UNFINISHED = "unfinished"  # its place on a card
FEW = 0.1  # of the steps that were planned


def unfinished(card: Mapping[str, Any]) -> str | None:
    """Why the model of this card has not learnt; None where it has."""
    found: str | None = card.get(UNFINISHED)
    return found


def reason(
    training: Mapping[str, Any],
    unigram: float,
    simplest: str = "a unigram",
    unit: str = "nats per symbol",
) -> str | None:
    """A sentence from the facts of a training, and the nats the `simplest` model has on the validation part."""
    steps, planned, best = training["steps"], training["planned"], training["best"]
    if steps < FEW * planned:
        return f"{steps:,} of {planned:,} planned steps were made; give it more time"
    if not best < unigram:
        told = f"{best:.3f} against {unigram:.3f} {unit}"
        return f"no better than {simplest} ({told}); give it more time"
    return None


def unigram_nats(train: np.ndarray, valid: np.ndarray) -> float:
    """Cross-entropy of the `valid` ids under the counts of the `train` ids, each of them one more than it is."""
    size = 1 + max(int(ids.max(initial=0)) for ids in (train, valid))
    seen, asked = (np.bincount(ids[ids != BOS], minlength=size) for ids in (train, valid))
    logs = np.log((seen + 1.0) / (seen.sum() + size))
    return float(-(asked @ logs) / max(1, asked.sum()))
