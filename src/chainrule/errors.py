"""All errors, as one tree.

ChainruleError
├── ConfigError      an option or a setting is unknown, of the wrong type or out of range
├── DataError        a data file cannot be read, is empty, or has another format
├── CodecError       symbols cannot be turned into ids, or ids into symbols
├── ModelError       a model was asked for something it cannot do
├── EstimatorError   an estimator of scikit-learn was given something it cannot use; a ValueError, too
├── Stopped          training was stopped; it can be resumed
└── BundleError      a saved model is damaged, foreign, or would be overwritten

Every message says what was expected, what came, and what to do about it.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Mapping


class ChainruleError(Exception):
    """The root: catch this to catch everything chainrule raises on purpose."""


class ConfigError(ChainruleError):
    """An option or a setting is unknown, of the wrong type or out of range."""


class DataError(ChainruleError):
    """A data file cannot be read, is empty, or has another format."""


class CodecError(ChainruleError):
    """Symbols cannot be turned into ids, or ids into symbols."""


class ModelError(ChainruleError):
    """A model was asked for something it cannot do."""


class BundleError(ChainruleError):
    """A saved model is damaged, foreign, or would be overwritten."""


class EstimatorError(ChainruleError, ValueError):
    """An estimator of scikit-learn was given something it cannot use."""


class Stopped(ChainruleError):
    """Training was stopped, and its checkpoint is on disk to resume from."""


MOST = 3  # names that are suggested
FEW = 12  # names that are listed where none is near


def suggest(word: str, known: Iterable[str], aliases: Mapping[str, str] | None = None) -> str:
    """A sentence that helps with a misspelt name: the nearest ones, or all of them if there are few.

    `aliases` are other words for known names: a word near one of them gets the known name.
    """
    names, aliases = sorted(known), aliases or {}
    found = dict.fromkeys(aliases.get(one, one) for one in near(word, [*names, *aliases]))
    if found:
        *others, last = map(repr, found)
        return f"Did you mean {', '.join(others)} or {last}?" if others else f"Did you mean {last}?"
    return f"Known: {', '.join(names)}." if 0 < len(names) <= FEW else ""


def near(word: str, names: Iterable[str], least: float = 0.66) -> list[str]:
    """Names that may be meant, the likeliest first: misspelt, cut short, or with a part in common.

    `least` is how much they must be alike, from 0 to 1.
    """
    scored = [(_likeness(_plain(word), _plain(name)), name) for name in names]
    best = max((score for score, _ in scored), default=0.0)
    close = sorted((-score, name) for score, name in scored if score >= max(least, best - 0.1))
    return [name for _, name in close[:MOST]]


def _plain(name: str) -> str:
    """Without case, and without dashes: those all flags have in common make none of them alike."""
    return name.lower().replace("_", "-").strip("-")


def _likeness(word: str, name: str) -> float:
    """From 0 to 1; a whole part of a name counts as much as a slip of the finger."""
    ratio = difflib.SequenceMatcher(None, word, name).ratio()
    parts, others = (set(re.split("[-.]", one)) for one in (word, name))
    if {one for one in parts & others if len(one) > 2} or (len(word) > 2 and name.startswith(word)):
        return max(ratio, 0.75)
    return ratio
