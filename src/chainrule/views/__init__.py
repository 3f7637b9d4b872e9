"""Looking inside: what a model computes about a text as one plain value, drawn wherever people look."""
