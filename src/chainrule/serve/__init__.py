"""A model behind an address: an engine that answers many at once, and an HTTP front that OpenAI's clients know."""
