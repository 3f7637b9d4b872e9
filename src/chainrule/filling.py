"""Holes in a text, filled by a model that reads both ways."""

from __future__ import annotations

from dataclasses import dataclass

from chainrule.codecs.base import Codec, Texts
from chainrule.errors import ConfigError, ModelError
from chainrule.models.base import Model
from chainrule.symbols import BOS, EOS, FIRST, MASK

HOLE = "[MASK]"
LETTERS = ("bytes", "characters")  # codecs in which a space beside a hole is a symbol of its own


@dataclass(frozen=True)
class Guess:
    """One symbol that may stand in a hole."""

    symbol: str
    probability: float
    text: str  # the whole text with this symbol in its hole, and the best guesses in the others


def fill(codec: Codec, model: Model, text: str, k: int) -> tuple[tuple[Guess, ...], ...]:
    """For every `[MASK]` of the text the `k` best guesses, each hole by itself, best first."""
    import torch

    if model.reads != "both":
        raise ModelError(
            f"A {model.family} reads from left to right and fills no holes. Fit a bert, or use complete."
        )
    ids = with_holes(codec, text)
    if model.context is not None and len(ids) > model.context:
        raise ModelError(f"The text has {len(ids)} symbols, and the model holds {model.context}. Shorten it.")
    tokens = torch.tensor([ids], device=model.device)  # (1, T)
    with model.answering():
        hidden, _ = model.read(tokens, model.start(1))  # (1, T, D)
        chances = model.logits(hidden)[0, tokens[0] == MASK].double().softmax(-1)  # (holes, V)
    chances[:, :FIRST] = 0.0  # a hole is filled with something to read
    best = chances.topk(min(k, chances.shape[1] - FIRST), -1)
    favourites = best.indices[:, 0].tolist()
    rows = zip(best.indices.tolist(), best.values.tolist(), strict=True)
    return tuple(
        tuple(
            Guess(
                codec.shown(id),
                chance,
                _filled(codec, ids, [*favourites[:hole], id, *favourites[hole + 1 :]]),
            )
            for id, chance in zip(found, chances, strict=True)
        )
        for hole, (found, chances) in enumerate(rows)
    )


def with_holes(codec: Codec, text: str) -> list[int]:
    """BOS, the symbols of a text with MASK where it says `[MASK]`, EOS."""
    parts = text.split(HOLE)
    if len(parts) == 1:
        raise ConfigError(f"There is nothing to fill: write {HOLE} where a symbol is missing.")
    ids: list[int] = [BOS]
    for place, part in enumerate(parts):
        tight = part if codec.name in LETTERS or place == len(parts) - 1 else part.rstrip(" ")
        ids += codec.encode(Texts.of([tight])).ids.tolist()[1:-1] if tight.strip() or tight else []
        ids += [MASK] if place < len(parts) - 1 else [EOS]
    return ids


def _filled(codec: Codec, ids: list[int], guesses: list[int]) -> str:
    symbols = iter(guesses)
    return codec.decode([next(symbols) if id == MASK else id for id in ids])
