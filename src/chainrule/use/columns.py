"""Which columns of new data a model reads: those it was fitted to, where nothing else is said."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from chainrule.data.given import is_frame
from chainrule.data.rows import main_of

if TYPE_CHECKING:
    from chainrule.bundle import Bundle
    from chainrule.data.columns import Data


def columns_of(bundle: Bundle, source: Data, reading: Mapping[str, Any]) -> dict[str, str]:
    """The column of each role, as the card says; of data in memory only those that are there.

    A `column` among the settings of `reading` is that of the main role.
    """
    main, card = main_of(role.name for role in bundle.task.roles()), bundle.card
    usual = {main: card.get("reading", {}).get("column"), **card.get("columns", {})}
    if reading.get("column"):
        usual |= {main: reading["column"]}
    there = _names(source)
    return {role: column for role, column in usual.items() if column and (there is None or column in there)}


def _names(source: Data) -> set[str] | None:
    """Of the columns of data in memory; None: they are elsewhere."""
    given: Any = source
    if isinstance(given, Mapping):
        return set(map(str, given))
    return set(map(str, given.columns)) if is_frame(given) else None
