"""Tiny data to try things with, one kind each, made by a few lines of code: the same on every machine.

Each has something to find: weather has seasons, visitors have habits, genes have a period and a signal before them,
temperatures have days, and a hand that stirs has a direction. `text` is the documentation that ships inside every
Python, so it is that of your version.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from random import Random

from chainrule.errors import ConfigError, suggest

SEED = 1
DAYS, HOURS = 7305, 4800  # of weather, twenty years; of temperature, two hundred days
USERS, GENES = 300, 600
SESSIONS, LONGEST = 400, 32  # of sensors, and moments of a session

EXAMPLES: Mapping[str, str] = {
    "weather": "one state a day for twenty years: sun, cloud, rain or snow (CSV: date, state)",
    "visits": "pages that visitors of a shop looked at (CSV: user, time, page)",
    "dna": "stretches of DNA, one a line, with a signal, a start and a period of three (letters)",
    "numbers": "temperature of every hour for two hundred days (CSV: time, value)",
    "sensors": "a sensor on a hand that stirs, 20 times a second (CSV: session, time, x, y, z, motion, turns)",
    "text": "paragraphs of Python's own documentation, one a line (text)",
}
# How the commands that read data are told what is in the file.
OPTIONS: Mapping[str, tuple[str, ...]] = {
    "weather": ("--column", "state"),
    "visits": ("--column", "page", "--group", "user", "--sort", "time"),
    "dna": (),
    "numbers": ("--column", "value"),
    "sensors": ("--column", "x,y,z", "--group", "session", "--sort", "time"),
    "text": (),
}
# What is to be predicted, where it is not what comes next.
LABELS: Mapping[str, str] = {"sensors": "motion"}


def example(name: str) -> tuple[str, str]:
    """The file name and the content of an example."""
    if name not in EXAMPLES:
        raise ConfigError(f"There is no example {name!r}. {suggest(name, EXAMPLES)}")
    file, lines = _MAKERS[name]
    return file, "".join(f"{line}\n" for line in lines(Random(SEED)))


def _weather(random: Random) -> Iterator[str]:
    """Tomorrow depends on today and on the time of the year."""
    yield "date,state"
    state = "cloud"
    for day in range(DAYS):
        date = datetime(2000, 1, 1) + timedelta(day)
        yield f"{date:%Y-%m-%d},{state}"
        state = _drawn(random, _tomorrow(state, math.cos(2 * math.pi * (day - 15) / 365.25)))


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


def _visits(random: Random) -> Iterator[str]:
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
            page = _drawn(random, habit[page])


SIGNAL, START, STOPS = "TATAAT", "ATG", ("TAA", "TAG", "TGA")
# By place in a codon how often A, C, G and T stand there.
CODON = ((3, 2, 4, 1), (3, 2, 1, 3), (1, 4, 3, 2))


def _dna(random: Random) -> Iterator[str]:
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
        found = "".join(_drawn(random, dict(zip("ACGT", shares, strict=True))) for shares in CODON)
        if found not in STOPS:
            return found


def _numbers(random: Random) -> Iterator[str]:
    """The sun of the day, warm and cold weeks, and a little noise."""
    yield "time,value"
    drift = 0.0
    for hour in range(HOURS):
        time = datetime(2024, 4, 1) + timedelta(hours=hour)
        day = -5 * math.cos(2 * math.pi * (hour - 3) / 24)
        drift = 0.98 * drift + _noise(random, 0.5)
        yield f"{time:%Y-%m-%dT%H:%M},{14 + day + drift + _noise(random, 0.4):.1f}"


def _sensors(random: Random) -> Iterator[str]:
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
            cells = [f"{one + _noise(random, 0.2):.2f}" for one in (x, y, z)]
            cells[2] = "" if random.random() < 0.02 else cells[2]
            yield f"{session:03},{at / 20:.2f},{','.join(cells)},{motion},{turns:.2f}"


def _noise(random: Random, deviation: float) -> float:
    """About normal: a sum of twelve even numbers has the deviation 1."""
    return deviation * (sum(random.random() for _ in range(12)) - 6)


def _text(random: Random) -> Iterator[str]:
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


def _drawn(random: Random, weights: Mapping[str, float]) -> str:
    """A name, as often as its weight says."""
    left = random.random() * sum(weights.values())
    names: Sequence[str] = list(weights)
    for name in names:
        left -= weights[name]
        if left < 0:
            return name
    return names[-1]


_MAKERS: Mapping[str, tuple[str, Callable[[Random], Iterator[str]]]] = {
    "weather": ("weather.csv", _weather),
    "visits": ("visits.csv", _visits),
    "dna": ("dna.txt", _dna),
    "numbers": ("numbers.csv", _numbers),
    "sensors": ("sensors.csv", _sensors),
    "text": ("text.txt", _text),
}
