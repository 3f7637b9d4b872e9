"""Series of events and measurements, and text: each line is made by rules that a model can find."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta
from random import Random

from chainrule.data.examples.chance import between, drawn, noise, one_of

DAYS, HOURS = 7305, 4800  # of weather, twenty years; of temperature, two hundred days
USERS, GENES = 300, 600
RECALLS, FARTHEST = 6_000, 30  # lines to recall a letter in, and digits before it is asked for
SESSIONS, LONGEST = 400, 32  # of sensors, and moments of a session


def weather(random: Random) -> Iterator[str]:
    """Tomorrow depends on today and on the time of the year."""
    yield "date,state"
    state = "cloud"
    for day in range(DAYS):
        date = datetime(2000, 1, 1) + timedelta(day)
        yield f"{date:%Y-%m-%d},{state}"
        state = drawn(random, _tomorrow(state, math.cos(2 * math.pi * (day - 15) / 365.25)))


def _tomorrow(state: str, winter: float) -> dict[str, float]:
    """How likely each state follows; `winter` is 1 in the middle of January and -1 in the middle of July."""
    cold = max(0.0, winter)
    likely = {
        "sun": {"sun": 6.0 - 2 * winter, "cloud": 2.0, "rain": 0.5 + 0.4 * cold, "snow": 0.2 * cold},
        "cloud": {"sun": 2.0 - winter, "cloud": 3.0, "rain": 2.5, "snow": 1.5 * cold},
        "rain": {"sun": 1.0, "cloud": 3.0 + winter, "rain": 4.0, "snow": 1.2 * cold},
        "snow": {"sun": 1.0, "cloud": 2.0, "rain": 1.5 - cold, "snow": 5.0 * cold},
    }
    return likely[state]


# Where visitors go from each page: those who look around, and those who know what they want.
BROWSING: Mapping[str, Mapping[str, float]] = {
    "home": {"list": 5, "search": 2, "help": 1},
    "list": {"item": 6, "list": 2, "home": 1, "leave": 1},
    "item": {"list": 5, "item": 2, "cart": 0.5, "home": 1, "leave": 2},
    "search": {"item": 4, "search": 2, "leave": 1},
    "help": {"home": 3, "leave": 2},
    "cart": {"list": 3, "leave": 3, "pay": 1},
    "pay": {"leave": 1},
}
BUYING: Mapping[str, Mapping[str, float]] = {
    "home": {"search": 6, "list": 1},
    "list": {"item": 3, "search": 1},
    "item": {"cart": 4, "search": 1},
    "search": {"item": 5, "search": 1},
    "help": {"cart": 1},
    "cart": {"pay": 5, "search": 2, "help": 0.5},
    "pay": {"home": 1, "leave": 3},
}


def visits(random: Random) -> Iterator[str]:
    """Rows in the order of time, as a server writes them: visitors are mixed up until they are grouped."""
    yield "user,time,page"
    rows = [row for user in range(USERS) for row in _visit(random, f"u{user:03}")]
    for time, user, page in sorted(rows):
        yield f"{user},{time:%Y-%m-%dT%H:%M:%S},{page}"


def _visit(random: Random, user: str) -> Iterator[tuple[datetime, str, str]]:
    """What one visitor does, on two to five days, always with the same habit."""
    habit = BUYING if random.random() < 0.4 else BROWSING
    time = datetime(2024, 3, 1)
    for _ in range(2 + int(random.random() * 4)):
        time, page = time + timedelta(seconds=int(random.random() * 60 * 60 * 24 * 7)), "home"
        while page != "leave":
            yield time, user, page
            time += timedelta(seconds=5 + int(random.random() * 115))
            page = drawn(random, habit[page])


SIGNAL, START, STOPS = "TATAAT", "ATG", ("TAA", "TAG", "TGA")
# By place in a codon how often A, C, G and T stand there.
CODON = ((3, 2, 4, 1), (3, 2, 1, 3), (1, 4, 3, 2))


def dna(random: Random) -> Iterator[str]:
    """Random letters, a signal, a few letters more, then codons from the start to the stop."""
    for _ in range(GENES):
        before = _letters(random, 20 + int(random.random() * 30))
        between = _letters(random, 5 + int(random.random() * 4))
        codons = "".join(_codon(random) for _ in range(20 + int(random.random() * 20)))
        stop = STOPS[int(random.random() * len(STOPS))]
        yield before + SIGNAL + between + START + codons + stop


def _letters(random: Random, count: int) -> str:
    return "".join("ACGT"[int(random.random() * 4)] for _ in range(count))


def _codon(random: Random) -> str:
    """Three letters that do not mean stop."""
    while True:
        found = "".join(drawn(random, dict(zip("ACGT", shares, strict=True))) for shares in CODON)
        if found not in STOPS:
            return found


def numbers(random: Random) -> Iterator[str]:
    """The sun of the day, warm and cold weeks, and a little noise."""
    yield "time,value"
    drift = 0.0
    for hour in range(HOURS):
        time = datetime(2024, 4, 1) + timedelta(hours=hour)
        day = -5 * math.cos(2 * math.pi * (hour - 3) / 24)
        drift = 0.98 * drift + noise(random, 0.5)
        yield f"{time:%Y-%m-%dT%H:%M},{14 + day + drift + noise(random, 0.4):.1f}"


def sensors(random: Random) -> Iterator[str]:
    """Circles to the left or right, faster and faster or slower and slower: every single moment looks the same."""
    yield "session,time,x,y,z,motion,turns"
    for session in range(SESSIONS):
        way, faster = 1 - 2 * (session % 2), session // 2 % 2 == 1
        motion = f"{'left' if way > 0 else 'right'}-{'faster' if faster else 'slower'}"
        count = LONGEST - int(random.random() * 12)
        turns, phase = 1.5 + random.random(), random.random()
        for at in range(count):
            part = at / count if faster else 1 - at / count
            angle = 2 * math.pi * (phase + (way if faster else -way) * turns * (part + part**2) / 2)
            x, y, z = math.cos(angle), math.sin(angle), 9.8
            cells = [f"{one + noise(random, 0.2):.2f}" for one in (x, y, z)]
            cells[2] = "" if random.random() < 0.02 else cells[2]
            yield f"{session:03},{at / 20:.2f},{','.join(cells)},{motion},{turns:.2f}"


def recall(random: Random) -> Iterator[str]:
    """What stands after the question mark is the letter that the line began with."""
    for _ in range(RECALLS):
        letter = one_of(random, "abcdefgh")
        digits = (one_of(random, "0123456789") for _ in range(between(random, 0, FARTHEST)))
        yield " ".join([letter, *digits, "?", letter])


def text(random: Random) -> Iterator[str]:
    """Paragraphs of whole sentences, without markup and code."""
    from pydoc_data.topics import topics

    blocks = (block for text in topics.values() for block in text.split("\n\n"))
    prose = (one for one in map(_paragraph, blocks) if _SENTENCES.match(one) and len(one.split()) >= _WORDS)
    yield from dict.fromkeys(prose)


_SENTENCES = re.compile(
    r"[A-Z][^\[\]{}=<>\\|#]*\.$"
)  # from a capital to a full stop, and no sign of code between
_MARKUP = re.compile(r'[*"`]|([=\-~^])\1{3,}')
_PARTED = re.compile(r"(?<=\w)- (?=\w)")  # a word that was parted at the end of a line
_WORDS = 8  # a paragraph has at least so many


def _paragraph(block: str) -> str:
    """A block on one line, without marks."""
    return _PARTED.sub("-", _MARKUP.sub("", " ".join(block.split())))
