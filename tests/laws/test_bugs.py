"""Each deliberate bug is caught by a law, and each law catches a bug."""

from __future__ import annotations

import pytest

from laws.bugs import BUGS, CORRECT, Bug
from laws.laws import LAWS, Law

BY_NUMBER = {law.__name__[4:6]: law for law in LAWS}
PAIRS = [(bug, BY_NUMBER[number]) for bug in BUGS for number in bug.caught_by]


@pytest.mark.parametrize(("bug", "law"), PAIRS, ids=[f"{bug.case.name}-{law.__name__}" for bug, law in PAIRS])
def test_the_bug_is_caught_by_the_law(bug: Bug, law: Law) -> None:
    with pytest.raises(AssertionError):
        law(bug.case)


def test_every_law_catches_some_bug() -> None:
    assert {number for bug in BUGS for number in bug.caught_by} == set(BY_NUMBER)


def test_every_bug_is_a_correct_case_with_one_part_replaced() -> None:
    for bug in BUGS:
        parts = [(case.make, case.beam, case.score, case.learn, case.source) for case in CORRECT.values()]
        here = (bug.case.make, bug.case.beam, bug.case.score, bug.case.learn, bug.case.source)
        assert min(sum(a != b for a, b in zip(here, part, strict=True)) for part in parts) == 1, bug.case.name
