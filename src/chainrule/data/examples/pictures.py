"""Drawn shapes with captions, and questions about them: every colour, shape and place is seen, not all together."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from random import Random

from chainrule.data.examples.chance import Row, between, one_of
from chainrule.data.examples.drawing import SHAPES, Colour, Inside, drawn_pixels, png

SIDE = 32
CAPTIONS, QUESTIONS = 2400, 3000
COLOURS: dict[str, Colour] = {
    "red": (210, 40, 40),
    "green": (40, 160, 60),
    "blue": (50, 80, 210),
    "yellow": (230, 200, 40),
    "purple": (140, 50, 160),
    "white": (240, 240, 240),
}
PLACES = {
    "at the top": (0.5, 0.25),
    "at the bottom": (0.5, 0.75),
    "on the left": (0.25, 0.5),
    "on the right": (0.75, 0.5),
    "in the middle": (0.5, 0.5),
}


def held_out(*places: int) -> bool:
    """Whether a combination is kept for testing: a fifth of all, and every part of it is in others."""
    return sum(place * step for place, step in zip(places, (1, 2, 3), strict=False)) % 5 == 0


def captions(random: Random, rows: int = CAPTIONS) -> Iterator[Row]:
    """A shape of a colour at a place; the combinations to test with never come in training."""
    yield Row("image\tcaption\tpart")
    every = list(product(enumerate(COLOURS), enumerate(SHAPES), enumerate(PLACES)))
    for number in range(rows):
        (at, colour), (shape_at, shape), (place_at, place) = one_of(random, every)
        part = "test" if held_out(at, shape_at, place_at) else "train"
        name = f"captions/{number:04}.png"
        picture = png(drawn_pixels(SIDE, _ground(random), [_shape(random, colour, shape, place)]))
        yield Row(f"{name}\ta {colour} {shape} {place}\t{part}", {name: picture})


def _ground(random: Random) -> Colour:
    """Dark, and never quite the same."""
    return between(random, 10, 60), between(random, 10, 60), between(random, 10, 60)


def _shape(random: Random, colour: str, shape: str, place: str) -> tuple[Inside, Colour]:
    """Of some size, about where it should be, in about its colour."""
    x, y = (SIDE * one + 3 * (random.random() - 0.5) for one in PLACES[place])
    shade = [max(0, min(255, one + between(random, -20, 20))) for one in COLOURS[colour]]
    return SHAPES[shape](x, y, SIDE * (0.13 + 0.07 * random.random())), (shade[0], shade[1], shade[2])


def questions(random: Random, rows: int = QUESTIONS) -> Iterator[Row]:
    """Two shapes, and a question about one of them: its colour, its shape or its place."""
    yield Row("question\timage\tanswer\tpart")
    colours, shapes, places = list(COLOURS), list(SHAPES), [one for one in PLACES if "middle" not in one]
    for number in range(rows):
        both = [_two(random, list(range(len(one)))) for one in (colours, shapes, places)]
        seen = [(colours[a], shapes[b], places[c]) for a, b, c in zip(*both, strict=True)]
        part = "test" if held_out(*(one[0] for one in both)) else "train"
        name = f"questions/{number:04}.png"
        shown = [_shape(random, *one) for one in (seen if random.random() < 0.5 else seen[::-1])]
        question, answer = one_of(random, _asked(*seen[0]))
        picture = png(drawn_pixels(SIDE, _ground(random), shown))
        yield Row(f"{question}\t{name}\t{answer}\t{part}", {name: picture})


def _two(random: Random, items: list[int]) -> tuple[int, int]:
    """Two different ones."""
    first = one_of(random, items)
    return first, one_of(random, [one for one in items if one != first])


def _asked(colour: str, shape: str, place: str) -> list[tuple[str, str]]:
    """Questions about one of two shapes, with their answers."""
    return [
        (f"what colour is the {shape} ?", colour),
        (f"what shape is {colour} ?", shape),
        (f"where is the {shape} ?", place),
        (f"what is {place} ?", f"a {colour} {shape}"),
    ]
