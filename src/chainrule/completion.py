"""What a search box offers: ways to finish the word being typed, next symbols, and longer continuations."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from chainrule.codecs.base import Codec, Texts
from chainrule.codecs.joiner import JOINER
from chainrule.codecs.words import Words
from chainrule.continuation import joined, shown
from chainrule.models.base import Model
from chainrule.symbols import EOS, FIRST, UNK

Way = tuple[Sequence[int], float]  # ids, and their natural log-probability


@dataclass(frozen=True)
class Completion:
    """One way to go on."""

    text: str  # what follows the prompt
    symbols: tuple[str, ...]  # the same, symbol by symbol
    probability: float
    ends: bool = False  # the sequence ends here
    shown: str = ""  # the symbols without marks that only machines need


@dataclass(frozen=True)
class Completions:
    """What a search box would offer, each list best first."""

    next: tuple[Completion, ...]  # one symbol each; none while a word is half typed
    continuations: tuple[Completion, ...]  # several symbols each
    words: tuple[Completion, ...] = ()  # known words that begin with the last one, given those before it


@dataclass(frozen=True)
class Half:
    """The last word of a prompt, perhaps not typed to its end."""

    stem: str
    before: list[int]  # what was typed before it
    longer: list[int]  # known words that begin with it and are longer
    known: bool  # it is a word as it stands


def completions(
    codec: Codec, model: Model, prompt: str, known: list[int], k: int, length: int, never: Sequence[int]
) -> Completions:
    """The `k` best of each kind."""
    from chainrule.decode.complete import continuations, next_symbols

    half = last_word(codec, prompt, known)
    words: list[Way] = []
    if half and half.longer:
        words = [((id,), log) for id, log in next_symbols(model, half.before, k, among=half.longer)]
    finished = _finished(codec, half, words)
    if half and words and not half.known:
        longer = continuations(model, half.before, k, length, never=never, first=half.longer)
        rest = _finished(codec, half, [(one.ids, one.log_probability) for one in longer])
        return Completions((), rest, finished)
    symbols = [((id,), log) for id, log in next_symbols(model, known, k, never=never)]
    rows = [(one.ids, one.log_probability) for one in continuations(model, known, k, length, never=never)]
    return Completions(_added(codec, prompt, known, symbols), _added(codec, prompt, known, rows), finished)


def last_word(codec: Codec, prompt: str, known: list[int]) -> Half | None:
    """The word a prompt ends in, for codecs whose symbols are words; None after white space or punctuation."""
    if not isinstance(codec, Words) or prompt[-1:].isspace() or len(known) < 2:
        return None
    [text] = codec.separated(Texts.of([prompt]), codec.config)
    stem = text.split()[-1]
    mark = JOINER.encode()
    if mark in stem:
        return None
    symbols = enumerate(codec.vocabulary.symbols, FIRST)
    longer = [id for id, word in symbols if word.startswith(stem) and word != stem and mark not in word]
    return Half(stem.decode("utf-8", "backslashreplace"), known[:-1], longer, known[-1] != UNK)


def _finished(codec: Codec, half: Half | None, found: Iterable[Way]) -> tuple[Completion, ...]:
    """Ways that begin with a longer word: their text begins where the stem ends."""
    if half is None:
        return ()
    size = len(codec.decode([*half.before, UNK])) - len("<unk>") + len(half.stem)
    return tuple(
        _completion(codec, codec.decode([*half.before, *ids])[size:], ids, log) for ids, log in found
    )


def _added(codec: Codec, prompt: str, known: list[int], found: Iterable[Way]) -> tuple[Completion, ...]:
    """Ways that follow the whole prompt."""
    size = len(shown(codec, codec.decode(known)))
    made = []
    for ids, log in found:
        text = shown(codec, codec.decode([*known, *ids]))[size:]
        made.append(_completion(codec, "".join(joined(codec, prompt, known, [text])), ids, log))
    return tuple(made)


def _completion(codec: Codec, text: str, ids: Sequence[int], log: float) -> Completion:
    said = [one for one in ids if one != EOS]
    bare = "".join(codec.shown(one) for one in said)
    return Completion(text, tuple(codec.pieces(said)), math.exp(log), EOS in ids, bare)
