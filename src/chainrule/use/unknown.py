"""`unknown`: which symbols of a text a vocabulary lacks."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from chainrule.codecs.base import Codec, Encoded, Texts
from chainrule.symbols import BOS, SPECIALS, UNK
from chainrule.use.text import typed_texts

if TYPE_CHECKING:
    from chainrule.bundle import Bundle


def unknown(bundle: Bundle, text: str) -> tuple[str, ...]:
    """The symbols that become UNK, each once, in order; a literal `<unk>` is none of them."""
    return unknown_to(bundle.codec, text)


def unknown_to(codec: Codec, text: str) -> tuple[str, ...]:
    """The same by the vocabulary of one column."""
    texts = typed_texts(codec, [text])
    encoded = codec.encode(texts)
    if not encoded.unknown:
        return ()
    names = codec.symbols_of(codec.from_typed(text))
    ids = encoded.ids[encoded.ids >= UNK].tolist()
    if len(names) != len(ids):  # pieces of words: name the words that hold an unknown one
        ids = [UNK if codec.encode(Texts.of([name])).unknown else -1 for name in names]
    found = (name for name, id in zip(names, ids, strict=True) if id == UNK and name != SPECIALS[UNK])
    return tuple(dict.fromkeys(found))


def unknown_each(codec: Codec, texts: Texts, encoded: Encoded) -> list[int]:
    """How many symbols of each of these whole sequences became UNK."""
    starts = np.flatnonzero(encoded.ids == BOS)
    marks = np.add.reduceat((encoded.ids == UNK).astype(np.int64), starts) if len(starts) else starts
    if encoded.unknown in (0, int(marks.sum())):
        return (marks if encoded.unknown else np.zeros_like(marks)).tolist()
    return [codec.encode(Texts.of([text])).unknown for text in texts]  # some were written `<unk>`
