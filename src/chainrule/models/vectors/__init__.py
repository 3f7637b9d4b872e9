"""The family `vectors`: a vector for every word, learnt from the words around it."""

from chainrule.models.vectors.family import Sentences, VectorsConfig, WordVectors

__all__ = ["Sentences", "VectorsConfig", "WordVectors"]
