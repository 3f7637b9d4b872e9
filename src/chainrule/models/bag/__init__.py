"""The family `bag`: a bag of word and character n-grams under a linear classifier, trained in seconds."""

from chainrule.models.bag.model import Bag, BagConfig

__all__ = ["Bag", "BagConfig"]
