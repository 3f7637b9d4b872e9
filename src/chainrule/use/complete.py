"""`complete`: what a search box offers: ways to finish the word being typed, next symbols, continuations."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from chainrule.codecs.base import Codec, HalfTyped
from chainrule.symbols import EOS, UNK
from chainrule.use.conditional import UNWRITTEN, refuse_without_source
from chainrule.use.text import check_writes, endless, joined, prompt_ids, shown

if TYPE_CHECKING:
    from chainrule.bundle import Bundle
    from chainrule.decode.complete import Offer

Way = tuple[Sequence[int], float]  # ids, and their natural log-probability


@dataclass(frozen=True)
class Completion:
    """One continuation."""

    text: str  # what follows the prompt
    symbols: tuple[str, ...]  # the same, symbol by symbol
    probability: float
    ends: bool = False  # the sequence ends here
    shown: str = ""  # the symbols without marks that only machines need

    def to_dict(self) -> dict[str, Any]:
        """For scripts."""
        return {"text": self.text, "probability": self.probability, "ends": self.ends}


@dataclass(frozen=True)
class Completions:
    """What a search box would offer after a prompt, each list best first."""

    prompt: str
    next: tuple[Completion, ...]  # one symbol each; none while a word is half typed
    continuations: tuple[Completion, ...]  # several symbols each
    words: tuple[Completion, ...] = ()  # known words that begin with the last one, given those before it
    half: str = ""  # the last word, where it is none yet

    def to_dict(self) -> dict[str, Any]:
        """For scripts."""
        return {
            "prompt": self.prompt,
            "words": [_with_symbol(one) for one in self.words],
            "next": [_with_symbol(one) for one in self.next],
            "continuations": [one.to_dict() for one in self.continuations],
        }


def _with_symbol(one: Completion) -> dict[str, Any]:
    return {"symbol": "".join(one.symbols)} | one.to_dict()


def complete(
    bundle: Bundle, prompts: Sequence[str], k: int = 5, length: int = 10, *, unknown: bool = False
) -> tuple[Completions, ...]:
    """For every prompt the `k` likeliest next symbols, and the `k` likeliest continuations of at most `length` symbols.

    For words, also those that begin with the last word of the prompt: it may be half typed.
    """
    from chainrule.decode.complete import offers
    from chainrule.decode.config import Constraints

    check_writes(bundle.codec)
    refuse_without_source(bundle, UNWRITTEN)
    known = [prompt_ids(bundle.codec, prompt) for prompt in prompts]
    half = [bundle.codec.half_typed(prompt) for prompt in prompts]
    never: tuple[int, ...] = (EOS,) if endless(bundle.card) else ()
    never += () if unknown else bundle.codec.unwritten
    typed = [place for place, one in enumerate(half) if one and one.longer]
    longer = [Constraints(never=never, first=tuple(half[place].longer)) for place in typed]  # type: ignore[union-attr]
    asked = [*known, *(known[place][:-1] for place in typed)]
    found = offers(bundle.model, asked, k, length, [*[Constraints(never=never)] * len(known), *longer])
    words = dict(zip(typed, found[len(known) :], strict=True))
    return tuple(
        _completions(bundle.codec, prompt, known[place], half[place], found[place], words.get(place))
        for place, prompt in enumerate(prompts)
    )


def _completions(
    codec: Codec, prompt: str, known: list[int], half: HalfTyped | None, after: Offer, instead: Offer | None
) -> Completions:
    """What comes after a prompt, and what may stand instead of its last word."""
    before = known[:-1]
    words = _finished(codec, before, half, [((id,), log) for id, log in instead.next]) if instead else ()
    if half and instead and words and known[-1] == UNK:
        rest = _finished(codec, before, half, _ways(instead))
        return Completions(prompt, (), rest, words, half.stem)
    symbols = [((id,), log) for id, log in after.next]
    one, several = (_added(codec, prompt, known, ways) for ways in (symbols, _ways(after)))
    return Completions(prompt, one, several, words)


def _ways(offer: Offer) -> list[Way]:
    return [(one.ids, one.log_probability) for one in offer.continuations]


def _finished(
    codec: Codec, before: list[int], half: HalfTyped | None, found: Iterable[Way]
) -> tuple[Completion, ...]:
    """Ways that begin with a longer word after what was typed `before` it: their text begins where the stem ends."""
    if half is None:
        return ()
    size = len(codec.decode([*before, UNK])) - len("<unk>") + len(half.stem)
    return tuple(_completion(codec, codec.decode([*before, *ids])[size:], ids, log) for ids, log in found)


def _added(codec: Codec, prompt: str, known: list[int], found: Iterable[Way]) -> tuple[Completion, ...]:
    """Ways that follow the whole prompt."""
    size = len(shown(codec, known))
    made = []
    for ids, log in found:
        text = shown(codec, [*known, *ids])[size:]
        made.append(_completion(codec, "".join(joined(codec, prompt, known, [text])), ids, log))
    return tuple(made)


def _completion(codec: Codec, text: str, ids: Sequence[int], log: float) -> Completion:
    said = [one for one in ids if one != EOS]
    bare = "".join(codec.shown(one) for one in said)
    return Completion(text, tuple(codec.tokens(said)), math.exp(log), EOS in ids, bare)
