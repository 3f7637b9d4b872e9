"""Which codec suits the data, when nobody said.

Looked at is the beginning of the data; the first rule that holds decides:
1. bytes that are no UTF-8                                       -> bytes
2. only numbers, more than 32 different ones                     -> numbers
3. symbols separated by UNIT, or a table's column that repeats   -> events
4. hardly any white space (DNA, names, Chinese)                  -> characters
5. over half of 20,000 or more words differ from all the others  -> subwords
6. anything else                                                 -> words
"""

from __future__ import annotations

from chainrule.codecs.base import UNIT, Texts
from chainrule.codecs.numbers import all_numbers

LOOKED = 1 << 20  # bytes
FEW = 32  # so many different numbers may be names of states
LONG = 20.0  # bytes of a word, on average, above which white space does not separate words
MANY = 20_000  # words from which on a large vocabulary is a fact and no accident


def choose(sample: Texts, table: bool = False) -> tuple[str, str]:
    """The codec that suits the data, and the reason to print; `table`: they are rows of a table."""
    text = _beginning(sample)
    try:
        text.decode("utf-8")
    except UnicodeDecodeError as error:
        if error.start < len(text) - 4:
            return "bytes", "the data are not UTF-8 text, and bytes read anything"
    words = text.replace(UNIT.encode(), b" ").split()
    different = len(set(words))
    if words and different > FEW and all_numbers(words):
        return "numbers", f"the data are numbers, {different:,} different ones at the beginning"
    if UNIT.encode() in text:
        return "events", "the data are events, one after another"
    rows = text.split(b"\n") if table else []
    if len(rows) >= 4 * len(set(rows)) and len(rows) >= 8:
        return "events", f"the column repeats {len(set(rows)):,} values over {len(rows):,} rows"
    return _text(text, words, different)


def _text(text: bytes, words: list[bytes], different: int) -> tuple[str, str]:
    lines = text.count(b"\n") + 1
    length = sum(map(len, words)) / max(1, len(words))
    if len(words) < 1.2 * lines or length > LONG:
        alphabet = len(set(text.decode("utf-8", "ignore")))
        return "characters", f"there is hardly any white space; {alphabet:,} characters differ"
    if len(words) >= MANY and 2 * different > len(words):
        return (
            "subwords",
            f"the words are too varied to list: {different:,} different ones among {len(words):,}",
        )
    return (
        "words",
        f"the data are words separated by spaces, {different:,} different ones among {len(words):,}",
    )


def _beginning(sample: Texts) -> bytes:
    """The first bytes, one sequence a line."""
    parts, size = [], 0
    for place in range(len(sample)):
        parts.append(sample.data[sample.starts[place] : sample.ends[place]][: LOOKED - size].tobytes())
        size += len(parts[-1])
        if size >= LOOKED:
            break
    return b"\n".join(part.replace(b"\n", b" ") for part in parts)
