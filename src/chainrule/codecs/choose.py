"""Which codec suits the data, if none is given.

Looked at is the beginning of the data; the first rule that holds decides:
1. bytes objects that are no UTF-8 (a file of them is refused:   -> bytes
   it may be text in another encoding, so `--codec bytes` must be asked for)
2. nine in ten are numbers, more than 32 different ones          -> numbers
3. symbols separated by UNIT, or a table's column of short       -> events
   values (up to two words) that repeats
4. hardly any white space (DNA, names, Chinese)                  -> characters
5. over half of 20,000 or more words differ from all the others  -> subwords
6. punctuation is attached to over 2 % of the words              -> words, with split = "simple"
7. anything else                                                 -> words
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from chainrule.codecs.base import UNIT, Texts
from chainrule.codecs.numbers import is_missing, is_number
from chainrule.errors import DataError

LOOKED = 1 << 20  # bytes
FEW = 32  # so many different numbers may be names of states
MOST = 0.9  # of the values: what else there is, is a mistake that learning will name
LONG = 20.0  # bytes of a word, on average, above which white space does not separate words
MANY = 20_000  # words from which on a large vocabulary is a fact and no accident
NOTICED = 0.02  # of the words
NAME = 2  # words of an event's name, on average
UNLIKELY = 200  # values from which on events that hardly repeat are no events
# A full stop counts after five letters or at the end of a line only: tokenised text too has "corp." and "u.s.".
# An apostrophe in front does not count: it has "'s".
ATTACHED = re.compile(r'\w[,!?;:](?!\S)|\w{5}\.(?!\S)|\w\.$|(?<!\S)["(\[{“„«‘¿¡]\S*\w', re.MULTILINE)


@dataclass(frozen=True)
class Choice:
    """A codec, why it was chosen, and the settings that go with it."""

    name: str
    reason: str  # a sentence to print
    settings: Mapping[str, Any] = field(default_factory=dict)  # a user's own come before these
    prose: bool = False  # the data are text in words


def choose(sample: Texts, table: bool = False) -> Choice:
    """The codec that suits the data; `table`: they are rows of a table."""
    text = _beginning(sample)
    try:
        text.decode("utf-8")
    except UnicodeDecodeError as error:
        if error.start < len(text) - 4:
            return Choice("bytes", "the data are not UTF-8 text, and bytes read anything")
    words = text.replace(UNIT.encode(), b" ").split()
    rows = text.split(b"\n") if table else []
    numbers = _numbers(rows) or _numbers(words)
    if numbers:
        return numbers
    if UNIT.encode() in text:
        _check_events(re.split(rb"[\n\x1f]", text))
        return Choice("events", "the data are events, one after another")
    if len(rows) >= 4 * len(set(rows)) and len(rows) >= 8 and _short(set(rows)):
        return Choice("events", f"the column repeats {len(set(rows)):,} values over {len(rows):,} rows")
    return _text(text, words)


def _short(values: Collection[bytes]) -> bool:
    """Whether values are names of events: few words each; a sentence that comes again is still a text."""
    return sum(len(value.split()) for value in values) <= NAME * len(values)


def _check_events(events: Sequence[bytes]) -> None:
    """Refuse texts that were meant to be read one by one: most of them differ, so a model would know none."""
    different = len(set(events))
    if len(events) >= UNLIKELY and 2 * different > len(events):
        raise DataError(
            f"{different:,} of the first {len(events):,} values differ: these are texts rather than events. "
            "--group and --sort make sequences of events: leave them out, or, if you mean it, add --codec events."
        )


def _numbers(values: Sequence[bytes]) -> Choice | None:
    """Numbers, if nearly all values are, and they are too many for names of states."""
    values = [value for value in values if not is_missing(value)]
    different = {value for value in set(values) if is_number(value)}
    found = sum(value in different for value in values)
    if len(different) <= FEW or found < MOST * len(values):
        return None
    others = f" and {len(values) - found:,} that are none" if found < len(values) else ""
    return Choice(
        "numbers", f"the data are numbers, {len(different):,} different ones at the beginning{others}"
    )


def _text(text: bytes, words: list[bytes]) -> Choice:
    lines, different = text.count(b"\n") + 1, len(set(words))
    length = sum(map(len, words)) / max(1, len(words))
    if len(words) < 1.2 * lines or length > LONG:
        different = len(set(text.decode("utf-8", "ignore")))
        return Choice("characters", f"there is hardly any white space; {different:,} characters differ")
    share = f"{different:,} different ones among {len(words):,}"
    if len(words) >= MANY and 2 * different > len(words):
        return Choice("subwords", f"the words are too varied to list: {share}", prose=True)
    if _attached(text):
        reason = f"the data are words with punctuation attached, which is split off (split = simple): {share}"
        return Choice("words", reason, {"split": "simple"}, prose=True)
    return Choice("words", f"the data are words separated by spaces, {share}", prose=True)


def _attached(text: bytes) -> bool:
    """Whether punctuation is attached to a noticeable share of the words: nobody has split them."""
    plain = text.decode("utf-8", "ignore")
    words = sum(len(word) > 1 for word in plain.split())
    return sum(1 for _ in ATTACHED.finditer(plain)) > NOTICED * words


def _beginning(sample: Texts) -> bytes:
    """The first bytes, one sequence a line."""
    parts, size = [], 0
    for place in range(len(sample)):
        parts.append(sample.data[sample.starts[place] : sample.ends[place]][: LOOKED - size].tobytes())
        size += len(parts[-1])
        if size >= LOOKED:
            break
    return b"\n".join(part.replace(b"\n", b" ") for part in parts)
