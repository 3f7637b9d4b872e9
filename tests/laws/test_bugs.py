"""Each deliberate bug is caught by a law, and each law catches a bug."""

from __future__ import annotations

from typing import Any

import pytest

from laws.bugs import BUGS, CORRECT, Bug
from laws.case import Case
from laws.laws import LAWS, Law

PARTS = ("make", "search", "sample", "draft", "score", "learn", "source")

BY_NUMBER = {law.__name__[4:6]: law for law in LAWS}
PAIRS = [(bug, BY_NUMBER[number]) for bug in BUGS for number in bug.caught_by]


@pytest.mark.parametrize(("bug", "law"), PAIRS, ids=[f"{bug.case.name}-{law.__name__}" for bug, law in PAIRS])
def test_the_bug_is_caught_by_the_law(bug: Bug, law: Law) -> None:
    with pytest.raises(AssertionError):
        law(bug.case)


def test_every_law_catches_some_bug() -> None:
    assert {number for bug in BUGS for number in bug.caught_by} == set(BY_NUMBER)


def parts(case: Case) -> dict[str, Any]:
    return {name: getattr(case, name) for name in PARTS}


def test_every_bug_is_a_correct_case_with_one_part_replaced() -> None:
    for bug in BUGS:
        changed = [
            [name for name in PARTS if parts(bug.case)[name] != parts(case)[name]]
            for case in CORRECT.values()
        ]
        assert min(map(len, changed)) == 1, bug.case.name
