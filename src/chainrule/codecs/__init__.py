"""Anything <-> ids: one file per codec, known by name."""

from chainrule.codecs.registry import codec, codecs

__all__ = ["codec", "codecs"]
