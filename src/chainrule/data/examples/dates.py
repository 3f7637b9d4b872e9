"""Dates as people write them, each with the one ISO date it means."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import date, timedelta
from random import Random

from chainrule.data.examples.chance import between, one_of

ROWS = 10_000
FIRST, LAST = date(1970, 1, 1), date(2049, 12, 31)  # two digits of a year are enough: '69 is none of these
MONTHS = "January February March April May June July August September October November December".split()
DAYS = "Monday Tuesday Wednesday Thursday Friday Saturday Sunday".split()
ROMAN = "I II III IV V VI VII VIII IX X XI XII".split()
ONES = "first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth thirteenth".split()
ONES += "fourteenth fifteenth sixteenth seventeenth eighteenth nineteenth".split()


def lines(random: Random) -> Iterator[str]:
    """A header, then date by date in one of the formats."""
    yield "human\tiso"
    seen = set[str]()
    while len(seen) < ROWS:
        day = FIRST + timedelta(between(random, 0, (LAST - FIRST).days))
        human = _cased(random, one_of(random, FORMATS)(day))
        if human not in seen:
            seen.add(human)
            yield f"{human}\t{day.isoformat()}"


def _cased(random: Random, text: str) -> str:
    """Most as they are written, some in small and some in large letters."""
    drawn = random.random()
    return text.lower() if drawn < 0.15 else text.upper() if drawn < 0.22 else text


def _month(day: date) -> str:
    return MONTHS[day.month - 1]


def _short(day: date) -> str:
    """Three letters; of September four."""
    return "Sept" if day.month == 9 else _month(day)[:3]


def _weekday(day: date) -> str:
    return DAYS[day.weekday()]


def _ordinal(day: date) -> str:
    """1st, 2nd, 3rd, 4th, …"""
    last = 0 if 10 < day.day < 20 else day.day % 10
    return f"{day.day}{'st' if last == 1 else 'nd' if last == 2 else 'rd' if last == 3 else 'th'}"


def _in_words(day: date) -> str:
    """first, second, …, thirty-first."""
    if day.day < 20:
        return ONES[day.day - 1]
    tens, ones = divmod(day.day, 10)
    return (
        f"{('twenty', 'thirty')[tens - 2]}-{ONES[ones - 1]}" if ones else ("twentieth", "thirtieth")[tens - 2]
    )


# The month stands first after a slash, the day before a full stop: each text means one date.
FORMATS: tuple[Callable[[date], str], ...] = (
    lambda d: f"{d.day} {_month(d)} {d.year}",
    lambda d: f"{_month(d)} {d.day}, {d.year}",
    lambda d: f"{_short(d)} {d.day}, {d.year}",
    lambda d: f"{d.day} {_short(d)}. {d.year}",
    lambda d: f"{_ordinal(d)} {_month(d)} {d.year}",
    lambda d: f"the {_ordinal(d)} of {_month(d)}, {d.year}",
    lambda d: f"{_month(d)} the {_ordinal(d)}, {d.year}",
    lambda d: f"the {_in_words(d)} of {_month(d)} {d.year}",
    lambda d: f"{_month(d)} {_in_words(d)}, {d.year}",
    lambda d: f"{_weekday(d)}, {d.day} {_month(d)} {d.year}",
    lambda d: f"{_weekday(d)}, {_month(d)} {d.day}, {d.year}",
    lambda d: f"{_weekday(d)[:3]} {d.day} {_short(d)} {d.year}",
    lambda d: f"{_weekday(d)[:3]}, {_short(d)} {d.day} '{d.year % 100:02}",
    lambda d: f"{d.day} {_short(d)} '{d.year % 100:02}",
    lambda d: f"{d.day:02}-{_short(d)}-{d.year}",
    lambda d: f"{d.day}.{d.month}.{d.year}",
    lambda d: f"{d.day:02}.{d.month:02}.{d.year % 100:02}",
    lambda d: f"{d.day}. {ROMAN[d.month - 1]}. {d.year}",
    lambda d: f"{d.month}/{d.day}/{d.year}",
    lambda d: f"{d.month:02}/{d.day:02}/{d.year % 100:02}",
    lambda d: f"{d.year}/{d.month:02}/{d.day:02}",
    lambda d: f"{d.year}{d.month:02}{d.day:02}",
    lambda d: f"{d.year} {_month(d)} {d.day}",
    lambda d: f"{d.year}, {_short(d)} {_ordinal(d)}",
)
