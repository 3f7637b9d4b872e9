"""Every variant on the road to the LSTM and to the Transformer keeps its law, and every law catches a bug."""

from __future__ import annotations

import pytest

from laws.roads import ROADS, Law, Make

KEPT = [(road.law, name, make) for road in ROADS for name, make in road.keeps.items()]
BROKEN = [(road.law, name, make) for road in ROADS for name, make in road.bugs.items()]


@pytest.mark.parametrize(
    ("law", "name", "make"), KEPT, ids=[f"{law.__name__}-{name}" for law, name, _ in KEPT]
)
def test_the_law_is_kept(law: Law, name: str, make: Make) -> None:
    law(make)


@pytest.mark.parametrize(
    ("law", "name", "make"), BROKEN, ids=[f"{law.__name__}-{name}" for law, name, _ in BROKEN]
)
def test_the_bug_is_caught(law: Law, name: str, make: Make) -> None:
    with pytest.raises(AssertionError):
        law(make)
