"""Heads: layers on hidden vectors, any head on any body. A language model has its own, a softmax over symbols."""
