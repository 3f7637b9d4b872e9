"""The same for all tests: property tests draw the same examples every time (`make explore` draws new ones), and signals
do what they do in a terminal, even if the tests were started by nohup or in the background.
"""

import signal
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import settings

from chromium import chromium

settings.register_profile("same", derandomize=True, deadline=None)  # busy machines are slow
settings.register_profile("explore", max_examples=1000, deadline=None)
settings.load_profile("same")

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
if signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:
    signal.signal(signal.SIGHUP, signal.SIG_DFL)


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """One browser for each file of tests."""
    with chromium() as started:
        yield started
