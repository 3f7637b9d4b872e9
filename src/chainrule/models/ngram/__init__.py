"""N-gram models: counts of what was seen, and smoothing for what was not.

`sort` puts equal n-grams side by side, `trie` counts them (`parts` within a memory limit), `estimate` turns counts
into probabilities, `prune` drops rare ones, `query` walks the result, `family` is the model users meet.
"""

from chainrule.models.ngram.family import Ngram, NgramConfig

__all__ = ["Ngram", "NgramConfig"]
