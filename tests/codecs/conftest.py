from __future__ import annotations

from hypothesis import settings

# The first example of a property may wait for a kernel to be compiled.
settings.register_profile("compiling", deadline=None)
settings.load_profile("compiling")
