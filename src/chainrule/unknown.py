"""Which symbols of a text an alphabet lacks."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from chainrule.codecs.base import UNIT, Codec, Encoded, Texts
from chainrule.codecs.joiner import JOINER
from chainrule.codecs.words import Listed
from chainrule.symbols import BOS, SPECIALS, UNK


def unknown_symbols(codec: Codec, texts: Texts) -> tuple[str, ...]:
    """The symbols that became UNK, each once, in order; a literal `<unk>` is none of them."""
    encoded = codec.encode(texts)
    if not encoded.unknown:
        return ()
    names = [name for text in texts for name in _symbols(codec, Texts.of([text]))]
    ids = encoded.ids[encoded.ids >= UNK].tolist()
    if len(names) != len(ids):  # pieces of words: name the words that hold an unknown one
        ids = [UNK if codec.encode(Texts.of([name])).unknown else -1 for name in names]
    found = (name for name, id in zip(names, ids, strict=True) if id == UNK and name != SPECIALS[UNK])
    return tuple(dict.fromkeys(found))


def _symbols(codec: Codec, texts: Texts) -> Iterable[str]:
    """What the symbols of one text look like before they are ids; of sub-words, the words."""
    if isinstance(codec, Listed):
        table = bytes(ord(UNIT) if codec.separators[byte] else byte for byte in range(256))
        [text] = codec.separated(texts, codec.config)
        words = text.translate(table).decode("utf-8", "backslashreplace").split(UNIT)
        return [word.strip(JOINER) or word for word in words if word]
    [text] = texts
    readable = text.decode("utf-8", "backslashreplace")
    return readable if codec.name == "characters" else readable.split()


def unknown_each(codec: Codec, texts: Texts, encoded: Encoded) -> list[int]:
    """How many symbols of each of these whole sequences became UNK."""
    starts = np.flatnonzero(encoded.ids == BOS)
    marks = np.add.reduceat((encoded.ids == UNK).astype(np.int64), starts) if len(starts) else starts
    if encoded.unknown in (0, int(marks.sum())):
        return (marks if encoded.unknown else np.zeros_like(marks)).tolist()
    return [codec.encode(Texts.of([text])).unknown for text in texts]  # some were written `<unk>`
