"""`embed`: embeddings of texts and of their symbols, the hidden vectors of a model."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from chainrule.errors import ConfigError, ModelError
from chainrule.models.base import BATCH, Body
from chainrule.models.windows import in_batches, sequences
from chainrule.symbols import PAD
from chainrule.use.spelled import knowing
from chainrule.use.text import typed_texts

if TYPE_CHECKING:
    from chainrule.bundle import Bundle

AGAIN = "Copy or save the model again, or fit another one."
POOLINGS = ("mean", "first", "last")


@dataclass(frozen=True, eq=False)
class Embedding:
    """The vector of one text."""

    text: str
    vector: np.ndarray  # (D,)

    def to_dict(self) -> dict[str, Any]:
        """For scripts."""
        return {"text": self.text, "vector": self.vector.tolist()}


@dataclass(frozen=True, eq=False)
class SymbolEmbeddings:
    """The vectors of the symbols of one text, BOS and EOS included."""

    text: str
    symbols: tuple[str, ...]
    vectors: np.ndarray  # (T, D)

    def to_dict(self) -> dict[str, Any]:
        """For scripts."""
        return {"text": self.text, "symbols": list(self.symbols), "vectors": self.vectors.tolist()}


def embed(
    bundle: Bundle, texts: str | Iterable[str], *, pooling: str = "mean", normalise: bool = False
) -> list[Embedding]:
    """One vector a text: the mean over its symbols, or that of the first or the last of them.

    BOS and EOS count as symbols; of a text longer than the model can hold, the beginning is read.
    """
    if pooling not in POOLINGS:
        raise ConfigError(f"Vectors are pooled by {', '.join(POOLINGS)}, not by {pooling!r}.")
    given, rows, bundle = _encoded(bundle, texts)
    found = {at: _pooled(one, pooling) for at, one in _read(bundle.body, rows)}
    return [Embedding(text, _unit(found[at]) if normalise else found[at]) for at, text in enumerate(given)]


def stacked(found: Sequence[Embedding]) -> np.ndarray:
    """The vectors of several texts as one array (texts, D)."""
    return np.stack([one.vector for one in found]) if found else np.empty((0, 0), np.float32)


def embed_symbols(bundle: Bundle, texts: str | Iterable[str]) -> list[SymbolEmbeddings]:
    """For each text its symbols, BOS and EOS included, and their vectors."""
    given, rows, bundle = _encoded(bundle, texts)
    found = dict(_read(bundle.body, rows))
    symbols = (tuple(bundle.codec.tokens(row)) for row in rows)
    named = enumerate(zip(given, symbols, strict=True))
    return [SymbolEmbeddings(text, own, found[at]) for at, (text, own) in named]


def _encoded(bundle: Bundle, texts: str | Iterable[str]) -> tuple[list[str], list[np.ndarray], Bundle]:
    """The texts, of which one alone may come, the ids of each as far as the model can hold them, and who reads them."""
    given = [texts] if isinstance(texts, str) else list(texts)
    typed = typed_texts(bundle.codec, given)
    bundle = knowing(bundle, lambda: [typed])
    ids = bundle.codec.encode(typed).ids
    starts, lengths = sequences(ids)
    ends = starts + np.minimum(lengths, bundle.body.context or lengths)
    return given, [ids[start:end] for start, end in zip(starts, ends, strict=True)], bundle


def _read(body: Body, rows: Sequence[np.ndarray]) -> Iterator[tuple[int, np.ndarray]]:
    """The number of each row of ids and its vectors (T, D); rows of similar length are read side by side."""
    if not body.width:
        raise ModelError(
            f"A {body.family} has no vectors. Fit a model that learns by gradient, such as bert."
        )
    order = np.argsort([len(row) for row in rows], kind="stable")
    for part in in_batches(order, BATCH):
        for at, vectors in zip(part.tolist(), _hidden(body, [rows[at] for at in part]), strict=True):
            if not np.isfinite(vectors[: len(rows[at])]).all():
                raise ModelError(f"Vectors of this {body.family} are not finite. {AGAIN}")
            yield at, vectors[: len(rows[at])]


def _hidden(body: Body, rows: Sequence[np.ndarray]) -> np.ndarray:
    """What the model makes of these rows (B, T, D), padded."""
    import torch

    width = max(len(row) for row in rows)
    padded = np.stack([np.pad(row, (0, width - len(row)), constant_values=PAD) for row in rows])  # (B, T)
    with body.inference(padded.size):
        tokens = torch.from_numpy(padded).long().to(body.device)
        hidden, _ = body.read(tokens, body.start(len(rows)))
    return hidden.float().cpu().numpy()


def _pooled(vectors: np.ndarray, pooling: str) -> np.ndarray:
    rows = vectors if pooling == "mean" else vectors[:1] if pooling == "first" else vectors[-1:]
    return rows.mean(0)  # type: ignore[no-any-return]


def _unit(vector: np.ndarray) -> np.ndarray:
    """The same direction, of length 1; nothing stays nothing."""
    return vector / max(float(np.linalg.norm(vector)), 1e-12)
