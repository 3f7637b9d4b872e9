"""Counting models: everything that was seen, and how to guess about what was not.

`sort` puts equal n-grams side by side, `trie` counts them (`parts` within a memory limit), `estimate` turns counts
into probabilities, `prune` forgets rare ones, `query` walks the result, `family` is the model users meet.
"""

from chainrule.models.ngram.family import Ngram, NgramConfig

__all__ = ["Ngram", "NgramConfig"]
