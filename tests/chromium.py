"""Debian's Chromium, driven by playwright, for all tests that look at a page.

Playwright keeps an event loop running in the thread that started it, and no second one can be started beside it.
So a browser lives as long as one file of tests: whoever kept it longer would break those that come after.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

PROGRAM = shutil.which("chromium") or "/usr/bin/chromium"


@contextmanager
def chromium() -> Iterator[Any]:
    playwright = pytest.importorskip(
        "playwright.sync_api", reason="playwright is not installed: pip install playwright"
    )
    if not Path(PROGRAM).exists():
        pytest.skip("no browser found: apt-get install chromium")
    with playwright.sync_playwright() as started:
        browser = started.chromium.launch(executable_path=PROGRAM, args=["--no-sandbox"])
        yield browser
        browser.close()
