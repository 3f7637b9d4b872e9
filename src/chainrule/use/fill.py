"""`fill`: predict the masked symbols of a text, by a model that reads both ways."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from chainrule.codecs.base import Codec
from chainrule.errors import ConfigError, ModelError
from chainrule.models.base import LanguageModel
from chainrule.symbols import BOS, EOS, FIRST, MASK
from chainrule.use.spelled import knowing
from chainrule.use.text import encodable, shown, text_of

if TYPE_CHECKING:
    from torch import Tensor

    from chainrule.bundle import Bundle

MASKED = "[MASK]"


@dataclass(frozen=True)
class Guess:
    """One symbol that may stand at a mask."""

    symbol: str
    probability: float
    text: str  # the whole text with this symbol at its mask, and the best guesses at the others

    def to_dict(self) -> dict[str, Any]:
        """For scripts."""
        return {"symbol": self.symbol, "probability": self.probability, "text": self.text}


@dataclass(frozen=True)
class Filled:
    """The guesses for every mask of a text, best first."""

    masks: tuple[tuple[Guess, ...], ...]

    def to_dict(self) -> dict[str, Any]:
        """For scripts."""
        return {"masks": [[guess.to_dict() for guess in guesses] for guesses in self.masks]}


def fill(bundle: Bundle, text: str, k: int = 5) -> Filled:
    """For every `[MASK]` of the text the `k` best guesses, each mask by itself, best first."""
    given = text_of(text)
    bundle = knowing(bundle, lambda: [encodable([given.replace(MASKED, " ")])])
    codec, model = bundle.codec, bundle.model
    if model.reads != "both":
        raise ModelError(
            f"A {model.family} reads from left to right and fills no masks. Fit a bert, or use complete."
        )
    ids = with_masks(codec, given)
    if model.context is not None and len(ids) > model.context:
        raise ModelError(f"The text has {len(ids)} symbols, and the model holds {model.context}. Shorten it.")
    chances = _chances(model, bundle.codec, ids)  # (masks, V)
    best = chances.topk(min(k, chances.shape[1] - len({*range(FIRST), *codec.unwritten})), -1)
    favourites = best.indices[:, 0].tolist()
    rows = enumerate(zip(best.indices.tolist(), best.values.tolist(), strict=True))
    return Filled(
        tuple(
            tuple(
                Guess(codec.shown(id), chance, _filled(codec, ids, favourites, at, id))
                for id, chance in zip(*found, strict=True)
            )
            for at, found in rows
        )
    )


def _chances(model: LanguageModel, codec: Codec, ids: Sequence[int]) -> Tensor:
    """The probability of every symbol at every mask (masks, V)."""
    import torch

    tokens = torch.tensor([ids], device=model.device)  # (1, T)
    with model.inference(len(ids)):
        hidden, _ = model.read(tokens, model.start(1))  # (1, T, D)
        chances = model.logits(hidden)[0, tokens[0] == MASK].double().softmax(-1)  # (masks, V)
    chances[:, [*range(FIRST), *codec.unwritten]] = 0.0  # a mask is filled with something to read
    return chances


def with_masks(codec: Codec, text: str) -> list[int]:
    """BOS, the symbols of a text with MASK where it says `[MASK]`, EOS."""
    *parts, last = codec.from_typed(text).split(MASKED)
    if not parts:
        raise ConfigError(f"There is nothing to fill: write {MASKED} where a symbol is missing.")
    ids = [BOS]
    for part in parts:
        ids += [*_inner(codec, part.rstrip(" ") if codec.spaced else part), MASK]
    return [*ids, *_inner(codec, last), EOS]


def _inner(codec: Codec, part: str) -> list[int]:
    """The symbols of a part of a text, without BOS and EOS."""
    ids: list[int] = codec.encode(encodable([part])).ids.tolist()
    return ids[1:-1]


def _filled(codec: Codec, ids: Sequence[int], favourites: Sequence[int], at: int, guess: int) -> str:
    """The text with `guess` at this mask and the favourites at the others."""
    symbols = iter([*favourites[:at], guess, *favourites[at + 1 :]])
    return shown(codec, [next(symbols) if id == MASK else id for id in ids])
