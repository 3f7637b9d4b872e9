"""Synonyms from a folder of WordNet: two words that share a meaning, a synset, are synonyms.

The folder holds the files of Princeton's database, `index.noun`, `index.verb`, `index.adj`, `index.adv` and, if they
are there, lists of exceptions such as `noun.exc` (wndb(5WN)). A line of an index names a word and the places in
`data.noun` where its synsets are described, so words that share a place share a synset.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from chainrule.errors import DataError

# How endings are exchanged to find the word that an index knows (morphy(7WN)).
ENDINGS: dict[str, tuple[tuple[str, str], ...]] = {
    "noun": (
        ("s", ""), ("ses", "s"), ("xes", "x"), ("zes", "z"), ("ches", "ch"), ("shes", "sh"), ("men", "man"),
        ("ies", "y"),
    ),
    "verb": (
        ("s", ""), ("ies", "y"), ("es", "e"), ("es", ""), ("ed", "e"), ("ed", ""), ("ing", "e"), ("ing", ""),
    ),
    "adj": (("er", ""), ("est", ""), ("er", "e"), ("est", "e")),
    "adv": (),
}  # fmt: skip
WANTED = "These are the files of WordNet's database, a folder that is often called `dict`."


@dataclass(frozen=True)
class WordNet:
    """The synsets of words, read from a folder."""

    folder: Path
    known: dict[str, frozenset[tuple[str, str]]] = field(default_factory=dict, repr=False, compare=False)

    @classmethod
    def opened(cls, folder: str | Path) -> WordNet:
        """The folder, if there is an index in it."""
        found = cls(Path(folder))
        if not any(found.path(kind).is_file() for kind in ENDINGS):
            raise DataError(
                f"There is no index.noun, index.verb, index.adj or index.adv in {folder}. {WANTED}"
            )
        return found

    def path(self, kind: str) -> Path:
        """The index of a part of speech."""
        return self.folder / f"index.{kind}"

    @cached_property
    def indexes(self) -> Mapping[str, Mapping[str, tuple[str, ...]]]:
        """By part of speech the places of the synsets of every word."""
        return {kind: dict(_index(self.path(kind))) for kind in ENDINGS if self.path(kind).is_file()}

    @cached_property
    def exceptions(self) -> Mapping[str, Mapping[str, list[str]]]:
        """By part of speech the base forms of irregular words."""
        return {kind: _exceptions(self.folder / f"{kind}.exc") for kind in ENDINGS}

    def synsets(self, word: str) -> frozenset[tuple[str, str]]:
        """All synsets of a word or of its base forms, as part of speech and place."""
        if word not in self.known:
            each = self.indexes.items()
            bases = ((kind, index, base) for kind, index in each for base in self._bases(word, kind))
            places = ((kind, place) for kind, index, base in bases for place in index.get(base, ()))
            self.known[word] = frozenset(places)
        return self.known[word]

    def _bases(self, word: str, kind: str) -> Iterator[str]:
        """The word itself, what the list of exceptions says, and what is left when endings are exchanged."""
        yield word
        yield from self.exceptions[kind].get(word, ())
        for ending, instead in ENDINGS[kind]:
            if word.endswith(ending):
                yield word.removesuffix(ending) + instead

    def synonyms(self, first: str, second: str) -> bool:
        """Whether two words share a synset."""
        return not self.synsets(first).isdisjoint(self.synsets(second))


def _index(path: Path) -> Iterator[tuple[str, tuple[str, ...]]]:
    """`lemma pos synset_cnt p_cnt [ptr_symbol…] sense_cnt tagsense_cnt synset_offset…`; the licence is indented."""
    for number, line in enumerate(_lines(path), 1):
        if line.startswith(" ") or not line.strip():
            continue
        words = line.split()
        try:
            count = int(words[2])
            places = words[-count:]
            if len(words) != 6 + int(words[3]) + count or not all(one.isdigit() for one in places):
                raise ValueError(line)
        except (ValueError, IndexError):
            told = f"a word and the places of its synsets were expected, not {line[:60]!r}"
            raise DataError(f"{path}, line {number}: {told}. {WANTED}") from None
        yield words[0], tuple(places)


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text(encoding="utf-8").split("\n")
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(f"{path} cannot be read ({error}). {WANTED}") from error


def _exceptions(path: Path) -> dict[str, list[str]]:
    """`mice mouse`: a word and its base forms."""
    if not path.is_file():
        return {}
    rows = (line.split() for line in _lines(path))
    return {words[0]: words[1:] for words in rows if words}
