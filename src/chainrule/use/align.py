"""Alignment by attention: at which places of its source a model looks, symbol by symbol."""

from chainrule.decode.alignment import alignments

__all__ = ["alignments"]
