"""Every body that learns by gradient answers questions by the laws, and deliberate bugs are caught."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import Tensor

from chainrule.bundle import Bundle
from chainrule.data.passages import Passage
from chainrule.heads.span import SpanHead
from chainrule.tasks import span
from laws.askers import ASKER_LAWS, ASKERS, Asker, AskerLaw


@pytest.mark.parametrize("law", ASKER_LAWS, ids=lambda law: law.__name__)
@pytest.mark.parametrize("asker", ASKERS, ids=lambda asker: asker.name)
def test_the_law_of_askers_is_kept(law: AskerLaw, asker: Asker) -> None:
    law(asker)


class Unasked(SpanHead):
    """Does not look at the question."""

    def forward(self, hidden: Tensor, real: Tensor, same: Tensor | None = None) -> Tensor:
        return super().forward(hidden * real[..., None], real, None)


class Mixing(SpanHead):
    """Takes the mean over the batch away."""

    def forward(self, hidden: Tensor, real: Tensor, same: Tensor | None = None) -> Tensor:
        found = super().forward(hidden, real, same)
        return found - 5 * found.mean((0, 1), keepdim=True) * torch.arange(found.shape[1])[None, :, None]


class Unsure(SpanHead):
    """Is surer than any number."""

    def forward(self, hidden: Tensor, real: Tensor, same: Tensor | None = None) -> Tensor:
        return super().forward(hidden, real, same) * torch.nan


class Forgetful(SpanHead):
    """Saves other weights than it has."""

    def state_dict(self, *args: Any, **more: Any) -> Any:
        return {name: value * 0.5 for name, value in super().state_dict(*args, **more).items()}


def headed(kind: type[SpanHead]) -> Callable[[Bundle], Bundle]:
    def change(bundle: Bundle) -> Bundle:
        assert bundle.head is not None
        weights = bundle.head.state_dict()
        head = kind(bundle.head.config)
        head.load_state_dict(weights)
        return replace(bundle, head=head.eval())

    return change


HEADS = {
    "not finite": (Unsure, "01"),
    "rows mix": (Mixing, "03"),
    "saved otherwise": (Forgetful, "04"),
    "the question is not read": (Unasked, "05"),
}
BY_NUMBER = {law.__name__[4:6]: law for law in ASKER_LAWS}


@pytest.mark.parametrize("name", HEADS)
@pytest.mark.filterwarnings("ignore:invalid value")
def test_the_bug_is_caught_by_the_law(name: str) -> None:
    kind, number = HEADS[name]
    with pytest.raises((AssertionError, IndexError)):
        BY_NUMBER[number](Asker("cnn", headed(kind)))


def test_an_answer_that_is_no_part_of_its_passage_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    joined = lambda self, first, last: " ".join(self.text.split())[self.starts[first] : self.ends[last]]  # noqa: E731
    monkeypatch.setattr(Passage, "between", joined)
    with pytest.raises(AssertionError):
        BY_NUMBER["02"](Asker("cnn"))


def test_a_window_that_is_left_out_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = span._scored
    monkeypatch.setattr(span, "_scored", lambda windows, longest: whole(windows[:1], longest))
    with pytest.raises(AssertionError):
        BY_NUMBER["06"](Asker("bert"))


def test_every_law_of_askers_catches_some_bug() -> None:
    assert {number for _, number in HEADS.values()} | {"02", "06"} == set(BY_NUMBER)
