"""Sentences and their translations into an invented language, with the word that each word translates.

Order differs (adjectives behind their noun, verbs at the end), articles have no translation, some words have two, and
two words share one: what an alignment has to find.
"""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

from chainrule.data.examples.chance import one_of

PAIRS, PARTS = 4000, {"valid": 300, "test": 300}
NOUNS = (
    "dog,cat,man,woman,child,bird,horse,teacher,farmer,friend,tree,house,river,garden,table,book,letter,song,road,"
    "railway,teapot,windmill,bicycle,umbrella"
).split(",")
ADJECTIVES = "red,green,old,young,small,big,tired,happy,quiet,left-handed".split(",")
VERBS = "sees,likes,finds,draws,paints,visits,forgets,follows,takes care of,looks for".split(",")
PLACES = "near,behind,under,beside,opposite".split(",")
TWO = {
    "railway",
    "teapot",
    "windmill",
    "left-handed",
    "opposite",
    "forgets",
    "paints",
}  # words with two translations
SYLLABLES = "ba,ke,mi,lo,ru,sa,te,vi,no,zu,pa,li,do,ga,fe".split(",")
Words = list[tuple[str, list[int]]]  # translations, and which words of the sentence each of them translates


def lines(random: Random) -> Iterator[str]:
    """A header, then source, target, links `i-j` from 0 on, and the part of each pair."""
    lexicon = _lexicon(random)
    yield "source\ttarget\talignment\tpart"
    parts = [name for name, count in PARTS.items() for _ in range(count)]
    for row in range(PAIRS):
        words, translated = _sentence(random, lexicon)
        target = " ".join(word for word, _ in translated)
        links = sorted((i, j) for j, (_, sources) in enumerate(translated) for i in sources)
        told = " ".join(f"{i}-{j}" for i, j in links)
        yield f"{' '.join(words)}\t{target}\t{told}\t{parts[row] if row < len(parts) else 'train'}"


def _lexicon(random: Random) -> dict[str, list[str]]:
    """Invented words, two for some, none twice."""
    taken: set[str] = set()

    def word() -> str:
        while True:
            found = (
                one_of(random, SYLLABLES) + one_of(random, SYLLABLES) + one_of(random, ("", "n", "s", "r"))
            )
            if found not in taken:
                taken.add(found)
                return found

    every = [*NOUNS, *ADJECTIVES, *VERBS, *PLACES, "and"]
    return {one: [word() for _ in range(2 if one in TWO else 1)] for one in every}


def _sentence(random: Random, lexicon: dict[str, list[str]]) -> tuple[list[str], Words]:
    """Subject, verb, object and perhaps a place; in the translation place, subject, object, verb."""
    words: list[str] = []
    subject = _thing(random, lexicon, words)
    verb = one_of(random, VERBS)
    first = len(words)
    words += verb.split()
    acted = _translated(lexicon, verb, list(range(first, len(words))))
    thing, place = _thing(random, lexicon, words), Words()
    if random.random() < 0.5:
        words.append(one_of(random, PLACES))
        told = _translated(lexicon, words[-1], [len(words) - 1])
        place = [*_thing(random, lexicon, words), *told]
    return words, [*place, *subject, *thing, *acted]


def _thing(random: Random, lexicon: dict[str, list[str]], words: list[str]) -> Words:
    """An article, perhaps adjectives, a noun; the translation has no article, and the noun first."""
    words.append(one_of(random, ("the", "a")))
    described: Words = []
    for _ in range(int(random.random() * 2.5)):
        words.append(one_of(random, ADJECTIVES))
        described += _translated(lexicon, words[-1], [len(words) - 1])
    words.append(one_of(random, NOUNS))
    return [*_translated(lexicon, words[-1], [len(words) - 1]), *described]


def _translated(lexicon: dict[str, list[str]], word: str, places: list[int]) -> Words:
    return [(one, places) for one in lexicon[word]]
