"""One studio for all tests."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

pytest.importorskip(
    "fastapi", reason="the studio's packages are not installed: pip install 'chainrule[studio]'"
)

from studio.running import Running, furnished


@pytest.fixture(scope="package")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    found = Running(furnished(tmp_path_factory.mktemp("studio") / "folder"))
    yield found
    found.close()
