"""Every body that reads two texts keeps the laws, and deliberate bugs are caught."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from torch import Tensor

from chainrule.bundle import Bundle
from chainrule.data import pairs
from chainrule.heads.paired import Paired
from laws.pairs import COMPARER_LAWS, COMPARERS, Comparer, ComparerLaw


@pytest.mark.parametrize("law", COMPARER_LAWS, ids=lambda law: law.__name__)
@pytest.mark.parametrize("comparer", COMPARERS, ids=lambda comparer: comparer.name)
def test_the_law_of_pairs_is_kept(law: ComparerLaw, comparer: Comparer) -> None:
    law(comparer)


class FirstOnly(Paired):
    """Reads the first text twice."""

    def forward(self, hidden: Tensor, real: Tensor, same: Tensor | None = None) -> Tensor:
        half = len(hidden) // 2
        return super().forward(hidden[:half].repeat(2, 1, 1), real[:half].repeat(2, 1), None)


class SecondOnly(Paired):
    """Reads the second text twice."""

    def forward(self, hidden: Tensor, real: Tensor, same: Tensor | None = None) -> Tensor:
        half = len(hidden) // 2
        return super().forward(hidden[half:].repeat(2, 1, 1), real[half:].repeat(2, 1), None)


class Unmasked(Paired):
    """Looks at padding, too."""

    def forward(self, hidden: Tensor, real: Tensor, same: Tensor | None = None) -> Tensor:
        return super().forward(hidden, real | True, same)


class Forgetful(Paired):
    """Saves other weights than it has."""

    def state_dict(self, *args: Any, **more: Any) -> Any:
        return {name: value * 0.5 for name, value in super().state_dict(*args, **more).items()}


def headed(kind: type[Paired]) -> Callable[[Bundle], Bundle]:
    def change(bundle: Bundle) -> Bundle:
        assert bundle.head is not None
        head = kind(bundle.head.config)
        head.load_state_dict(bundle.head.state_dict())
        return replace(bundle, head=head.eval())

    return change


HEADS = {
    "the second text is not read": (FirstOnly, "01"),
    "the first text is not read": (SecondOnly, "01"),
    "padding counts": (Unmasked, "02"),
    "saved otherwise": (Forgetful, "03"),
}
BY_NUMBER = {law.__name__[4:6]: law for law in COMPARER_LAWS}


@pytest.mark.parametrize("name", HEADS)
def test_the_bug_is_caught_by_the_law(name: str) -> None:
    kind, number = HEADS[name]
    with pytest.raises(AssertionError):
        BY_NUMBER[number](Comparer("gpt", headed(kind)))


@pytest.mark.parametrize("name", ["gpt", "bert"])
def test_a_window_that_is_left_out_is_caught(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def beginnings(first: np.ndarray, second: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return np.cumsum(first) - first, np.cumsum(second) - second

    monkeypatch.setattr(pairs, "crossed", beginnings)
    with pytest.raises(AssertionError):
        BY_NUMBER["04"](Comparer(name))


def test_a_bag_and_bert_that_read_one_text_are_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pairs, "one_after_another", lambda first, second: first)
    for name in ("bag", "bert"):
        with pytest.raises(AssertionError):
            BY_NUMBER["01"](Comparer(name))


def test_every_law_of_pairs_catches_some_bug() -> None:
    assert {number for _, number in HEADS.values()} | {"04"} == set(BY_NUMBER)
