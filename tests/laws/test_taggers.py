"""Taggers keep their laws, and deliberate bugs are caught."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from torch import Tensor

from chainrule.bundle import Bundle
from chainrule.heads.tag import TagHead
from laws.readers import caught
from laws.taggers import (
    TAGGER_LAWS,
    TAGGERS,
    Tagger,
    TaggerLaw,
    law_02_tags_follow_each_other_as_they_may,
    law_03_rows_are_independent_and_padding_changes_nothing,
    law_05_tags_are_learnt_to_the_end_of_a_sentence,
)


@pytest.mark.parametrize("law", TAGGER_LAWS, ids=lambda law: law.__name__)
@pytest.mark.parametrize("tagger", TAGGERS, ids=lambda tagger: tagger.name)
def test_the_law_of_taggers_is_kept(law: TaggerLaw, tagger: Tagger) -> None:
    law(tagger)


class Lawless(TagHead):
    """Takes every word's own best tag."""

    def decoded(self, logits: np.ndarray, starts: np.ndarray) -> np.ndarray:
        return (logits + np.arange(logits.shape[1]) % 2 * 9).argmax(1)


class Mixing(TagHead):
    """Looks at the other sentences of a batch."""

    def forward(self, hidden: Tensor, real: Tensor) -> Tensor:
        found = super().forward(hidden, real)
        return found - 3 * found.amax((0, 1), keepdim=True)


class Late(TagHead):
    """Gives every word the tag of the one before."""

    def decoded(self, logits: np.ndarray, starts: np.ndarray) -> np.ndarray:
        return np.roll(super().decoded(logits, starts), 1)


@pytest.mark.parametrize(
    ("kind", "law"),
    [
        (Lawless, law_02_tags_follow_each_other_as_they_may),
        (Mixing, law_03_rows_are_independent_and_padding_changes_nothing),
        (Late, law_05_tags_are_learnt_to_the_end_of_a_sentence),
    ],
)
def test_a_deliberate_bug_is_caught(kind: type[TagHead], law: TaggerLaw) -> None:
    def broken(bundle: Bundle) -> Bundle:
        assert bundle.head is not None
        return replace(bundle, head=kind.from_arrays(bundle.head.config, bundle.head.arrays()))

    with caught():
        law(Tagger("lstm", broken))
