"""How many threads torch uses: chosen by what is fastest at the moment, and no more than CHAINRULE_THREADS.

Threads of one step wait for each other hundreds of times. On free cores two are up to twice as fast as one. When
another program keeps a core busy, every wait lasts until that program is interrupted, and two can be thirty times as
slow. So both are tried while a model answers, and again from time to time, as other programs come and go.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import torch

from chainrule.runtime import threads

FIRST, LARGE_FIRST = (
    0.03,
    1.0,
)  # seconds before the other number is tried at all: of small steps, of large ones
LARGE = 512  # symbols read in one step from which products are large: such steps begin with all threads
SHORT = 0.003  # seconds of a step of a small model, for which one thread is as fast as two even on free cores
PATIENCE = 20.0  # a number is tried again after so many times the seconds that its last try took
GAIN = 0.9  # several threads must take at most so much of the time of one
NEWEST = 0.3  # weight of the last step in the mean
OUTLIER = 2.0  # a step that takes so many times as long as usual counts as that: one alone decides nothing
HOPELESS = 4.0  # a first try so many times slower is not repeated

_fixed = 0  # how many stretches with a given number we are in

if threads(otherwise=torch.get_num_threads()) < torch.get_num_threads():  # CHAINRULE_THREADS
    torch.set_num_threads(threads())


def most_threads() -> int:
    """As many as torch was told, and CHAINRULE_THREADS at most."""
    return max(1, min(torch.get_num_threads(), threads(otherwise=torch.get_num_threads())))


@contextmanager
def in_threads(number: int) -> Iterator[None]:
    """A stretch in which torch uses so many threads, whatever is fastest."""
    global _fixed
    _fixed += 1
    try:
        with _using(number):
            yield
    finally:
        _fixed -= 1


@contextmanager
def fastest(model: Any, symbols: int) -> Iterator[None]:
    """A step in which a model reads so many symbols, by as many threads as such steps were fastest with."""
    if _fixed:
        yield
        return
    most = most_threads()
    known = model.__dict__.setdefault("_threads", {})  # not a field: a model is what it was
    choice = known.setdefault((most, symbols.bit_length()), Choice.beginning(most, symbols))
    number = choice.number()
    with _using(number):
        began = time.perf_counter()
        yield
        choice.took(number, time.perf_counter() - began, symbols)


@contextmanager
def _using(number: int) -> Iterator[None]:
    before = torch.get_num_threads()
    if before != number:
        torch.set_num_threads(number)
    try:
        yield
    finally:
        if torch.get_num_threads() != before:
            torch.set_num_threads(before)


@dataclass
class Choice:
    """One thread or `most`, for steps of a size: what they took of late, and when the other is tried again."""

    most: int
    patience: float = PATIENCE
    pace: dict[int, float] = field(default_factory=dict)  # seconds a symbol, by number of threads
    using: int = 1
    spent: float = 0.0  # seconds since the other was tried
    price: float = FIRST / PATIENCE  # seconds that its last try took
    tries: int = 0  # how often in a row it has been tried

    @classmethod
    def beginning(cls, most: int, symbols: int) -> Choice:
        """For steps of a size, before anything is known: threads of large products seldom wait for each other."""
        if symbols < LARGE:
            return cls(most)
        return cls(most, using=most, price=LARGE_FIRST / PATIENCE)

    @property
    def other(self) -> int:
        """The one not used."""
        return self.most if self.using == 1 else 1

    def number(self) -> int:
        """For the next step."""
        due = self.most > 1 and self.spent >= self.patience * self.price
        return self.other if self.tries or due else self.using

    def took(self, number: int, seconds: float, symbols: int = 1) -> None:
        """Learn from a step."""
        pace = seconds / max(1, symbols)
        if number == self.using:
            known = self.pace.get(number, pace)
            self.pace[number] = (1 - NEWEST) * known + NEWEST * min(pace, OUTLIER * known)
            self.spent += seconds if seconds > SHORT or number > 1 else 0.0
        else:
            self._tried(number, seconds, pace)
        if len(self.pace) == 2 and not self.tries:
            self.use_faster()

    def _tried(self, number: int, seconds: float, pace: float) -> None:
        """The first step of a try wakes threads up, so there is a second one, which counts."""
        self.price = seconds + (self.price if self.tries else 0.0)
        hopeless = pace > HOPELESS * self.pace[self.using]
        self.pace[number] = min(pace, self.pace[number]) if self.tries else pace
        self.tries = 0 if self.tries or hopeless else 1
        self.spent = 0.0

    def use_faster(self) -> None:
        """Use what is faster; one thread, unless several are clearly so."""
        better = self.most if self.pace[self.most] < GAIN * self.pace[1] else 1
        if better != self.using:
            self.using, self.spent = better, 0.0
