"""Measurements in words: a week of weather as a sentence, digits that are said as written ones."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence
from itertools import pairwise
from random import Random

from chainrule.data.examples.chance import Row, between, noise, one_of
from chainrule.data.examples.drawing import wav

WEEKS, SAID = 3000, 700
DAYS = "monday tuesday wednesday thursday friday saturday sunday".split()


def weeks(random: Random, rows: int = WEEKS) -> Iterator[Row]:
    """Temperature, rain and wind of seven days, and what a reporter makes of them (JSON lines)."""
    for _ in range(rows):
        level = one_of(random, (-3.0, 9.0, 22.0))
        wet = one_of(random, (0.2, 8.0))
        warmest, windiest = between(random, 0, 6), between(random, 0, 6)
        days = [[level + noise(random, 1.0), wet * random.random(), 4 + 4 * random.random()] for _ in DAYS]
        days[warmest][0] = max(day[0] for day in days) + 2 + random.random()
        days[windiest][2] = 12 + 8 * random.random()
        mean, rain = (sum(day[at] for day in days) / len(DAYS) for at in (0, 1))
        cold = "a cold" if mean < 3 else "a mild" if mean < 15 else "a hot"
        report = (
            f"{cold} and {'rainy' if rain > 1 else 'dry'} week , warmest on {DAYS[warmest]} , with a storm on "
            f"{DAYS[windiest]}"
        )
        part = "test" if (warmest + 2 * windiest) % 7 == 0 else "train"
        told = [[round(one, 1) for one in day] for day in days]
        yield Row(json.dumps({"week": told, "report": report, "part": part}))


RATE = 8000
# Formants: of each digit the two resonances (Hz) at its beginning and at its end, and how much of it hisses before.
SOUNDS: dict[str, tuple[tuple[int, int], tuple[int, int], float]] = {
    "zero": ((320, 2100), (480, 900), 0.3),
    "one": ((380, 800), (640, 1200), 0.0),
    "two": ((350, 1600), (320, 900), 0.1),
    "three": ((450, 1200), (300, 2300), 0.2),
    "four": ((520, 850), (500, 700), 0.3),
    "five": ((730, 1100), (380, 2000), 0.2),
    "six": ((400, 2000), (400, 1900), 0.4),
    "seven": ((560, 1800), (520, 1300), 0.35),
    "eight": ((500, 1850), (330, 2200), 0.0),
    "nine": ((700, 1150), (420, 1950), 0.0),
}


def digits(random: Random, rows: int = SAID) -> Iterator[Row]:
    """One to four digits of a synthetic voice, high or low, slow or fast; no two to test with follow each other."""
    yield Row("sound\twords\tpart")
    names = list(SOUNDS)
    for number in range(rows):
        said = [one_of(random, names) for _ in range(between(random, 1, 4))]
        follow = pairwise(said)
        test = any((3 * names.index(one) + names.index(other)) % 10 == 0 for one, other in follow)
        name = f"digits/{number:04}.wav"
        yield Row(f"{name}\t{' '.join(said)}\t{'test' if test else 'train'}", {name: _waveform(random, said)})


def _waveform(random: Random, said: Sequence[str]) -> bytes:
    pitch, pace = 90 + 130 * random.random(), 0.8 + 0.5 * random.random()
    samples = [0.0] * between(random, 100, 600)
    for name in said:
        samples += _voiced(random, name, pitch * (0.95 + 0.1 * random.random()), pace)
        samples += [0.0] * between(random, 200, 500)
    return wav([one + 0.02 * (random.random() - 0.5) for one in samples], RATE)


def _voiced(random: Random, name: str, pitch: float, pace: float) -> list[float]:
    """Hiss, then harmonics of the voice, the louder the nearer they lie to a formant, which moves as one speaks."""
    import numpy as np

    start, end, hiss = SOUNDS[name]
    count, harmonics = int(RATE * 0.24 * pace), np.arange(1, int(RATE / 2 / pitch))
    found = [0.3 * (random.random() - 0.5) for _ in range(int(hiss * count * 0.6))]
    at = np.arange(count)
    moved = np.floor(8 * at / count)[:, None] / 7  # the sound changes eight times
    formants = np.array(start) * (1 - moved) + np.array(end) * moved  # (N, 2)
    apart = (harmonics[:, None, None] * pitch - formants) / 90
    loud = (1 / (1 + apart**2)).sum(-1)  # (harmonics, N)
    swell = np.sin(math.pi * (at + 0.5) / count) ** 0.5
    voice = (loud * np.sin(2 * math.pi * pitch / RATE * harmonics[:, None] * at)).sum(0)
    return [*found, *(0.25 * swell * voice).tolist()]
