"""Texts word by word, so that models with different vocabularies can be compared."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from chainrule.codecs.base import Codec
from chainrule.errors import ConfigError
from chainrule.symbols import BOS
from chainrule.use.text import typed_texts
from chainrule.views.text import SHARED

if TYPE_CHECKING:
    from chainrule.bundle import Bundle

APART = "The codec {codec} does not read this text word by word. "


def words_of(text: str) -> list[str]:
    """The words of a text, each with the white space before it; put together they are the text."""
    return re.findall(r"\s*\S+(?:\s+$)?", text)


def sizes(codec: Codec, words: Sequence[str]) -> np.ndarray:
    """How many symbols (W,) each of these words has."""
    encoded = codec.encode(typed_texts(codec, list(words))).ids
    return np.diff(np.flatnonzero(encoded == BOS), append=len(encoded)) - 2


def by_word(bundle: Bundle, words: Sequence[str], bits: np.ndarray) -> np.ndarray:
    """Bits of symbols (T,), the end of the text included, as bits of its words and its end (W + 1,)."""
    each = np.append(sizes(bundle.codec, words), 1)
    if each.sum() != len(bits):
        raise ConfigError(APART.format(codec=bundle.codec.name) + SHARED)
    owner = np.repeat(np.arange(len(each)), each)
    found: np.ndarray = np.bincount(owner, bits, len(each))
    return found
