"""Tracks: what a text is like at every character, for units of a network to be compared with."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence

import numpy as np

OPEN, CLOSE = "([{", ")]}"
SENTENCE = ".!?"


def inside_quotes(text: str) -> np.ndarray:
    """Between two double quotes of one paragraph."""
    found, inside = np.zeros(len(text), bool), False
    for at, letter in enumerate(text):
        if letter == '"':
            inside = not inside
        elif letter == "\n" and text[at : at + 2] == "\n\n":
            inside = False
        found[at] = inside
    return found


def depth(text: str) -> np.ndarray:
    """How many brackets are open; a blank line closes all."""
    found, level = np.zeros(len(text)), 0
    for at, letter in enumerate(text):
        level = max(0, level + (letter in OPEN) - (letter in CLOSE))
        if text[at : at + 2] == "\n\n":
            level = 0
        found[at] = level
    return found


def inside_brackets(text: str) -> np.ndarray:
    """Any bracket is open."""
    return depth(text) > 0


def comment(text: str) -> np.ndarray:
    """From a # to the end of the line."""
    found, inside = np.zeros(len(text), bool), False
    for at, letter in enumerate(text):
        inside = letter != "\n" and (inside or letter == "#")
        found[at] = inside
    return found


def position_in_line(text: str) -> np.ndarray:
    """Characters since the last end of a line."""
    return _since(text, lambda letter: letter == "\n")


def position_in_word(text: str) -> np.ndarray:
    """Characters since the last one that is no letter."""
    return _since(text, lambda letter: not letter.isalpha())


def since_sentence(text: str) -> np.ndarray:
    """Characters since the last end of a sentence."""
    return _since(text, lambda letter: letter in SENTENCE)


def in_number(text: str) -> np.ndarray:
    """Inside a number."""
    return np.array([letter.isdigit() for letter in text], bool)


def in_capitals(text: str) -> np.ndarray:
    """In a word whose letters so far are capitals, two of them or more."""
    found, run = np.zeros(len(text), bool), 0
    for at, letter in enumerate(text):
        run = run + 1 if letter.isupper() and run >= 0 else 0 if not letter.isalpha() else -1
        found[at] = run >= 2
    return found


def first_line_word(text: str) -> np.ndarray:
    """In the first word of a line."""
    found, inside = np.zeros(len(text), bool), True
    for at, letter in enumerate(text):
        inside = letter == "\n" or (inside and not letter.isspace())
        found[at] = inside and letter != "\n"
    return found


def in_condition(text: str) -> np.ndarray:
    """In the condition of an if, elif or while: from that word to the colon or the end of the line."""
    found = np.zeros(len(text), bool)
    for one in re.finditer(r"\b(?:if|elif|while)\b[^:\n]*", text):
        found[one.start() : one.end()] = True
    return found


TRACKS: Mapping[str, Callable[[str], np.ndarray]] = {
    "inside quotes": inside_quotes,
    "inside brackets": inside_brackets,
    "nesting depth": depth,
    "in a comment": comment,
    "in a condition": in_condition,
    "in a number": in_number,
    "in capitals": in_capitals,
    "in the first word of a line": first_line_word,
    "position in line": position_in_line,
    "position in word": position_in_word,
    "since the end of a sentence": since_sentence,
}


def tracks(symbols: Sequence[str]) -> dict[str, np.ndarray]:
    """Every track (T,) of a text, at the last character of each of its symbols."""
    text = "".join(symbols)
    ends = np.cumsum([len(one) for one in symbols]) - 1
    return {name: track(text)[np.maximum(0, ends)] for name, track in TRACKS.items()}


def _since(text: str, ends: Callable[[str], bool]) -> np.ndarray:
    found, count = np.zeros(len(text)), 0
    for at, letter in enumerate(text):
        count = 0 if ends(letter) else count + 1
        found[at] = count
    return found
