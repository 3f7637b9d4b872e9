"""Symbols as they are shown, and models as they are called, in every view."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from chainrule.errors import ConfigError, ModelError

if TYPE_CHECKING:
    from chainrule.bundle import Bundle

SHARED = (
    "These models have different vocabularies, so their symbols cannot stand side by side. Fit one of them with "
    "--codec-from the other."
)
SOURCE = (
    "A {family} writes from a source, so a text alone says nothing of it. Look at both: --view attention "
    "--target TEXT, or --view beam"
)


def check_alone(bundles: Sequence[Bundle]) -> None:
    """Refuse models that write from a source, where there is a text alone."""
    for bundle in bundles:
        if bundle.task.source is not None:
            raise ModelError(SOURCE.format(family=bundle.body.family))


def named(bundles: Sequence[Bundle]) -> list[str]:
    """What models are called: their family and what tells them apart."""
    names = [f"{bundle.body.family}, {bundle.parameters:,} weights" for bundle in bundles]
    return [name if names.count(name) == 1 else f"{name} ({at})" for at, name in enumerate(names, 1)]


def shared(bundles: Sequence[Bundle]) -> bool:
    """Whether models know the same symbols."""
    return len({bundle.codec.fingerprint() for bundle in bundles}) == 1


def check_shared(bundles: Sequence[Bundle]) -> None:
    """Refuse models that do not know the same symbols."""
    if not shared(bundles):
        raise ConfigError(SHARED)


def symbols(bundle: Bundle, ids: Iterable[int] | np.ndarray) -> list[str]:
    """Ids as people read them."""
    return [visible(token) for token in bundle.codec.tokens(np.asarray(list(ids), np.int32))]


def visible(token: str) -> str:
    """A symbol as it can be shown in a cell: blanks and control characters have signs."""
    return token if token.isprintable() and token.strip() else repr(token)[1:-1].replace(" ", "␣")


def written(text: str) -> str:
    """A text, if there is one to look at."""
    if not text.strip():
        raise ConfigError("There is no text to look at. Give one: chainrule look MODEL TEXT --view …")
    return text


def file_text(path: str) -> str:
    """The text of a file."""
    try:
        return Path(path).read_text(encoding="utf-8")
    except (OSError, ValueError) as error:  # a name may be none, and what is in a file no text
        raise ConfigError(f"{path!r} cannot be read as UTF-8 text ({error}). Give another file.") from error


def lines_of(path: str, most: int) -> list[str]:
    """The first lines of a file that are not blank."""
    found = [line for line in file_text(path).splitlines() if line.strip()][:most]
    if not found:
        raise ConfigError(f"{path} has no text in it. Give another file.")
    return found
