"""Words and phrases that a text must or must not have, as ids."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from chainrule.codecs.base import Codec
from chainrule.decode.config import Constraints, GenerationConfig, Phrase
from chainrule.errors import ConfigError
from chainrule.symbols import FIRST, UNK
from chainrule.use.text import prompt_ids

UNSAID = "{words!r} has symbols that this model does not know, so it can never write it. Leave it out of --force-words."


def phrase_constraints(codec: Codec, config: GenerationConfig, prefix: Sequence[int] = ()) -> dict[str, Any]:
    """What `Constraints` say of --force-words and --bad-words; words that a prefix has need not come again."""
    if not config.force_words and not config.bad_words:
        return {}
    from chainrule.decode.banks import said

    forced = [(words, spellings(codec, words)) for words in config.force_words]
    for words, ways in forced:
        if not any(UNK not in way for way in ways):
            raise ConfigError(UNSAID.format(words=words))
    bad = tuple(way for words in config.bad_words for way in spellings(codec, words))
    opens, closes = _letters(codec)
    free = Constraints(opens=opens, closes=closes)
    known = [tuple(way for way in ways if UNK not in way) for _, ways in forced]
    lacking = (ways for ways in known if all(said(way, prefix, free.within) < len(way) for way in ways))
    return {"bad": bad, "forced": tuple(lacking), "opens": opens, "closes": closes}


def spellings(codec: Codec, words: str) -> tuple[Phrase, ...]:
    """The ids of words at the beginning of a text, and behind other words."""
    if not words.strip():
        raise ConfigError("A word or phrase is wanted, and there is nothing in it. Leave it out.")
    first = tuple(prompt_ids(codec, words)[1:])
    found = [first]
    if codec.begins() is not None:  # a space may be a part of the next symbol
        before, whole = prompt_ids(codec, "a"), prompt_ids(codec, f"a {words}")
        if whole[: len(before)] == before:
            found.append(tuple(whole[len(before) :]))
    return tuple(dict.fromkeys(found))


@lru_cache(4)
def _letters(codec: Codec) -> tuple[np.ndarray | None, np.ndarray | None]:
    """Which symbols (V,) begin, and which end with a letter or digit; None where every symbol is a word of its own."""
    if codec.glue:
        return None, None
    tokens = codec.tokens(range(FIRST, codec.size))
    none = [False] * FIRST
    opens = np.array([*none, *(token[:1].isalnum() for token in tokens)])
    return opens, np.array([*none, *(token[-1:].isalnum() for token in tokens)])
