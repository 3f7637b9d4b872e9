"""Property tests draw the same examples every time; `make explore` draws new ones."""

from hypothesis import settings

settings.register_profile("same", derandomize=True)
settings.register_profile("explore", max_examples=1000, deadline=None)
settings.load_profile("same")
