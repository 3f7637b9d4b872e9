"""Events: the values of a table's column, one after another."""

from __future__ import annotations

from chainrule.codecs.base import UNIT
from chainrule.codecs.registry import register
from chainrule.codecs.scan import separating
from chainrule.codecs.typed import CommaSeparated
from chainrule.codecs.vocabulary import VocabularyConfig
from chainrule.codecs.words import Listed


@register("events")
class Events(CommaSeparated, Listed):
    """Symbols separated by UNIT, so that one may contain spaces; an empty one says nothing and is skipped."""

    Config = VocabularyConfig
    separators = separating(UNIT)
    glue = UNIT
    joins_rows = True
    spells = False
