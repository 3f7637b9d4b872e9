"""What can go wrong, as one tree.

ChainruleError
├── ConfigError      an option or a setting is unknown, of the wrong type or out of range
├── DataError        a data file cannot be read, is empty, is not what it was said to be
├── CodecError       symbols cannot be turned into ids, or ids into symbols
├── ModelError       a model was asked for something it cannot do
├── Stopped          a training was asked to stop; it can go on
└── BundleError      a saved model is damaged, foreign, or would be overwritten

Every message says what was expected, what came, and what to do about it.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class ChainruleError(Exception):
    """The root: catch this to catch everything chainrule raises on purpose."""


class ConfigError(ChainruleError):
    """An option or a setting is unknown, of the wrong type or out of range."""


class DataError(ChainruleError):
    """A data file cannot be read, is empty, or is not what it was said to be."""


class CodecError(ChainruleError):
    """Symbols cannot be turned into ids, or ids into symbols."""


class ModelError(ChainruleError):
    """A model was asked for something it cannot do."""


class BundleError(ChainruleError):
    """A saved model is damaged, foreign, or would be overwritten."""


class Stopped(ChainruleError):
    """A training was asked to stop, and everything is on disk to go on from."""


def suggest(word: str, known: Iterable[str]) -> str:
    """A sentence that helps with a misspelt name: the nearest one, or all of them."""
    names = sorted(known)
    near = difflib.get_close_matches(word, names, n=1, cutoff=0.6)
    return f"Did you mean {near[0]!r}?" if near else f"Known: {', '.join(names)}."
