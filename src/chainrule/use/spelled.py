"""Words that a model has never seen, but can read by their letters: they have ids while some data are read."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from chainrule.codecs.base import Blocks

if TYPE_CHECKING:
    from chainrule.bundle import Bundle


def knowing(bundle: Bundle, blocks: Blocks) -> Bundle:
    """The same model with ids for all words of these data; one that reads no letters stays as it is."""
    letters = bundle.body.config.word_letters
    if not letters:
        return bundle
    from chainrule.models.neural import Neural

    assert isinstance(bundle.body, Neural)
    codec = bundle.codec.knowing(blocks)
    own, more = bundle.codec.spellings(letters), codec.spellings(letters, bundle.codec.size)
    codecs = {**bundle.codecs, **dict.fromkeys(read_roles(bundle), codec)}
    return replace(bundle, codecs=codecs, body=bundle.body.respelled(own, more))


def read_roles(bundle: Bundle) -> list[str]:
    """The roles that its body reads, all by the same codec."""
    role = bundle.task.body_role(bundle.codecs)
    return [one.name for one in bundle.task.roles() if role in (one.name, one.like)]
