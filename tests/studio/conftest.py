"""One studio for all tests, and one browser."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

pytest.importorskip(
    "fastapi", reason="the studio's packages are not installed: pip install 'chainrule[studio]'"
)

from studio.running import Running, furnished
from views.opened import chromium


@pytest.fixture(scope="package")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    found = Running(furnished(tmp_path_factory.mktemp("studio") / "folder"))
    yield found
    found.close()


@pytest.fixture(scope="package")
def browser() -> Iterator[Any]:
    with chromium() as found:
        yield found
