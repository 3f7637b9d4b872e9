"""Every family, and the five tiny models, keep every law."""

from __future__ import annotations

from pathlib import Path

import pytest

from chainrule.models.registry import families
from laws.case import CASES, Case
from laws.laws import LAWS, Law, applies
from laws.readers import READER_LAWS, READERS, Reader, ReaderLaw
from laws.taggers import TAGGERS

PAIRS = [(law, case) for case in CASES for law in LAWS if applies(law, case)]


@pytest.mark.parametrize(("law", "case"), PAIRS, ids=[f"{case.name}-{law.__name__}" for law, case in PAIRS])
def test_the_law_is_kept(law: Law, case: Case) -> None:
    law(case)


@pytest.mark.parametrize("law", READER_LAWS, ids=lambda law: law.__name__)
@pytest.mark.parametrize("reader", READERS, ids=lambda reader: reader.name)
def test_the_law_of_readers_is_kept(law: ReaderLaw, reader: Reader) -> None:
    law(reader)


def test_there_are_as_many_laws_as_the_docs_say() -> None:
    page = Path(__file__).parents[2] / "docs" / "add-a-family.md"
    assert len(LAWS) == 15 and "`tests/laws/laws.py` has fifteen" in page.read_text(encoding="utf-8")


def test_every_registered_family_is_held_to_the_laws() -> None:
    elsewhere = {"vectors", "ensemble"}  # tests/models/test_vectors.py, tests/test_ensemble.py
    assert set(families()) <= {case.name for case in [*CASES, *READERS, *TAGGERS]} | elsewhere
