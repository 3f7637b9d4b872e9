"""Texts as vectors: what a model makes of them before it speaks."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from chainrule.codecs.base import Codec, Texts
from chainrule.errors import ConfigError, ModelError
from chainrule.models.base import BATCH, Model, in_batches
from chainrule.symbols import PAD

POOLINGS = ("mean", "first", "last")


def embed_texts(
    codec: Codec, model: Model, texts: Sequence[str], pooling: str, normalise: bool
) -> np.ndarray:
    """One vector a text (texts, D): the mean over its symbols, or that of the first or the last of them.

    BOS and EOS count as symbols; of a text longer than the model can hold, the beginning is read.
    """
    if pooling not in POOLINGS:
        raise ConfigError(f"Vectors are pooled by {', '.join(POOLINGS)}, not by {pooling!r}.")
    vectors = [_pooled(one, pooling) for one in embed_symbols(codec, model, texts)]
    found = np.stack(vectors) if vectors else np.empty((0, 0), np.float32)
    if normalise:
        found /= np.maximum(np.linalg.norm(found, axis=1, keepdims=True), 1e-12)
    return found


def embed_symbols(codec: Codec, model: Model, texts: Sequence[str]) -> list[np.ndarray]:
    """For each text the vectors (T, D) of its symbols, BOS and EOS included, in the order of the texts."""
    rows = [codec.encode(Texts.of([text])).ids[: model.context] for text in texts]
    order = np.argsort([len(row) for row in rows], kind="stable")
    found: dict[int, np.ndarray] = {}
    for part in in_batches(order, BATCH):
        found |= zip(part.tolist(), _read(model, [rows[at] for at in part]), strict=True)
    return [found[at] for at in range(len(rows))]


def _read(model: Model, rows: Sequence[np.ndarray]) -> Iterable[np.ndarray]:
    import torch

    from chainrule.models.neural import Neural

    if not isinstance(model, Neural):
        raise ModelError(
            f"A {model.family} has no vectors. Fit a model that learns by gradient, such as bert."
        )
    width = max(len(row) for row in rows)
    tokens = np.stack([np.pad(row, (0, width - len(row)), constant_values=PAD) for row in rows])  # (B, T)
    with model.answering():
        read = torch.from_numpy(tokens).long().to(model.device)
        hidden, _ = model.read(read, model.start(len(rows)))  # (B, T, D)
    return [one[: len(row)] for one, row in zip(hidden.float().cpu().numpy(), rows, strict=True)]


def _pooled(vectors: np.ndarray, pooling: str) -> np.ndarray:
    if pooling == "mean":
        return vectors.mean(0)  # type: ignore[no-any-return]
    return vectors[0] if pooling == "first" else vectors[-1]  # type: ignore[no-any-return]
