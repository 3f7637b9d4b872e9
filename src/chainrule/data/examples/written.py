"""Texts written from labels, from documents, and from questions about long documents."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

from chainrule.data.examples.chance import Row, between, one_of

STYLES, SUMMARIES, DOCUMENTS, LONG_ONES = 3000, 2500, 4000, 20
LONG = 5000  # words of a long document
AUTHORS = {
    "anna": "oh , how the {noun} {verb} , so {manner} !",
    "boris": "it is said that the {noun} {verb} {manner} .",
    "clara": "why ? because the {noun} {verb} {manner} , my dear .",
    "daniel": "{manner} , ever {manner} , {verb} the {noun} .",
    "emil": "we report : the {noun} {verb} {manner} . no more is known .",
}
TOPICS = {
    "sea": ("ship sailor wave gull anchor", "rolls drifts sinks turns waits", "slowly saltily far darkly"),
    "kitchen": (
        "cook kettle oven spoon baker",
        "boils sings burns stirs cools",
        "warmly sweetly hotly early",
    ),
    "city": (
        "tram banker tower taxi crowd",
        "hums hurries shouts stops shines",
        "loudly nightly fast greyly",
    ),
    "forest": (
        "fox oak owl hunter brook",
        "whispers hides grows listens runs",
        "softly deeply wildly mossily",
    ),
    "war": (
        "soldier drum general cannon horse",
        "marches fires falls retreats thunders",
        "bravely sadly soon last",
    ),
}


def styles(random: Random, rows: int = STYLES) -> Iterator[Row]:
    """What an author writes about a topic; each author has a topic that is heard of in testing only."""
    yield Row("author\ttopic\ttext\tpart")
    for _ in range(rows):
        at, topic_at = between(random, 0, len(AUTHORS) - 1), between(random, 0, len(TOPICS) - 1)
        author, topic = list(AUTHORS)[at], list(TOPICS)[topic_at]
        yield Row(
            f"{author}\t{topic}\t{_styled(random, author, topic)}\t{'test' if at == topic_at else 'train'}"
        )


def _styled(random: Random, author: str, topic: str) -> str:
    words = (one_of(random, words.split()) for words in TOPICS[topic])
    return AUTHORS[author].format(**dict(zip(("noun", "verb", "manner"), words, strict=True)))


def recognised(text: str) -> tuple[str | None, str | None]:
    """The author and the topic of a text, where every word of it is in style."""
    for author in AUTHORS:
        for topic, words in TOPICS.items():
            if _fits(text.split(), AUTHORS[author].split(), [one.split() for one in words]):
                return author, topic
    return None, None


def _fits(said: list[str], form: list[str], words: list[list[str]]) -> bool:
    allowed = dict(zip(("{noun}", "{verb}", "{manner}"), words, strict=True))
    return len(said) == len(form) and all(
        one in allowed.get(other, [other]) for one, other in zip(said, form, strict=True)
    )


TOWNS = "leeds york bath derby truro ely ripon wells salford hull".split()
EVENTS = {
    "a fire destroyed the {thing} of {town} in the night": "fire in {town} : {thing} lost",
    "in {town} people voted for a new {thing}": "{town} votes for {thing}",
    "the {thing} of {town} was opened again by the mayor": "{town} opens {thing}",
    "thieves have taken gold from the {thing} in {town}": "gold stolen from {thing} in {town}",
    "nobody was hurt when the {thing} of {town} fell down": "{thing} falls in {town}",
}
THINGS = "bridge theatre school market station library harbour museum".split()
FILLERS = (
    "the weather was mild for this time of the year",
    "our reader from {town} sends kind regards",
    "as always there was a long queue at the bakery",
    "the editor of this paper is on holiday",
    "the {thing} in {town} looked as it always does",
    "some say that things were better in the past",
    "nothing else of interest happened that day",
)


def summaries(random: Random, rows: int = SUMMARIES) -> Iterator[Row]:
    """A chronicle of a dozen sentences, two or three of which are news, and these in short."""
    yield Row("document\tsummary\tpart")
    for _ in range(rows):
        count = between(random, 2, 3)
        news, test = [], False
        for _ in range(count):
            form, town, thing = one_of(random, list(EVENTS)), one_of(random, TOWNS), one_of(random, THINGS)
            test |= (TOWNS.index(town) + THINGS.index(thing)) % 8 == 0
            news.append((form.format(town=town, thing=thing), EVENTS[form].format(town=town, thing=thing)))
        told = [False] * between(random, 5, 9) + [True] * count
        told = sorted(told, key=lambda _: random.random())
        waiting = iter(news)
        sentences = [next(waiting)[0] if one else _filler(random) for one in told]
        part = "test" if test else "train"
        yield Row(f"{' . '.join(sentences)} .\t{' . '.join(short for _, short in news)} .\t{part}")


def _filler(random: Random) -> str:
    return one_of(random, FILLERS).format(town=one_of(random, TOWNS), thing=one_of(random, THINGS))


NAMES = "ada ben cleo dora egon fritz gina hugo ida jack karl lena mona nils otto paul".split()
OWNED = "hat key boat coat door lamp".split()
COLOURS = "red green blue white black brown pink grey".split()


def documents(random: Random, rows: int = DOCUMENTS, long_ones: int = LONG_ONES) -> Iterator[Row]:
    """Who owns what, among other sentences. Part long: 5,000 words, and the last ones decide."""
    yield Row("question\tdocument\tanswer\tpart")
    for number in range(rows + long_ones):
        long = number >= rows
        name, thing, colour = one_of(random, NAMES), one_of(random, OWNED), one_of(random, COLOURS)
        decisive = f"the {thing} of {name} is {colour} ."
        size = LONG if long else between(random, 8, 16) * between(random, 1, 10)
        others, words = [], len(decisive.split())
        while words < size:
            others.append(_other(random, name, thing))
            words += len(others[-1].split())
        others.insert(len(others) if long else between(random, 0, len(others)), decisive)
        test = (NAMES.index(name) + OWNED.index(thing)) % 8 == 0
        part = "long" if long else "test" if test else "train"
        yield Row(f"what colour is the {thing} of {name} ?\t{' '.join(others)}\t{colour}\t{part}")


def _other(random: Random, name: str, thing: str) -> str:
    """About other things, or those of others."""
    if random.random() < 0.4:
        return f"{one_of(random, NAMES)} went to {one_of(random, TOWNS)} ."
    while True:
        who, what = one_of(random, NAMES), one_of(random, OWNED)
        if (who, what) != (name, thing):
            return f"the {what} of {who} is {one_of(random, COLOURS)} ."
