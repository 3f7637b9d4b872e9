"""Lists as people type and read them: items with commas between them, quoted as in CSV."""

from __future__ import annotations

import re
from collections.abc import Iterator

from chainrule.codecs.base import UNIT, Codec

# One item, as in CSV: in quotes with quotes inside doubled, or bare. A quote that nobody closes is a letter
# like any other (the csv module would take the rest of the line for the item).
ITEM = re.compile(r'\s*(?:"((?:[^"]|"")*)"\s*|([^,]*))(,|\Z)')
PLAIN = re.compile(r'[^\s",](?:[^,]*[^\s,])?')  # what needs no quotes


class CommaSeparated(Codec):
    """A codec of lists, such as events and numbers: people type `log in, look, "a, b"`."""

    separator = ", "

    def from_typed(self, text: str) -> str:
        return text if UNIT in text else UNIT.join(items(text))

    def to_shown(self, text: str) -> str:
        return self.separator.join(quoted(item) for item in text.split(UNIT)) if text else text


def items(text: str) -> Iterator[str]:
    """The items of a list as it was typed."""
    for found in ITEM.finditer(text):
        inside, bare, comma = found.groups()
        yield bare.strip() if inside is None else inside.replace('""', '"')
        if not comma:
            return


def quoted(item: str) -> str:
    """An item of a list, in quotes where it needs them."""
    return item if PLAIN.fullmatch(item) else '"' + item.replace('"', '""') + '"'
