"""Each deliberate bug of a reader is caught by a law, and each law of readers catches a bug."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from chainrule.bundle import Bundle
from chainrule.errors import ModelError
from chainrule.heads.direct import Direct
from chainrule.models.bag import Bag
from laws.readers import READER_LAWS, Reader


class Unsummed(Direct):
    """Forgets which positions are real: padding and neighbours count."""

    def forward(self, hidden: Tensor, real: Tensor) -> Tensor:
        return hidden.mean(1)


class Shared(Direct):
    """Takes the mean over the batch away, as batch normalisation would."""

    def forward(self, hidden: Tensor, real: Tensor) -> Tensor:
        found = super().forward(hidden, real)
        return found - found.mean(0)


class Blind(Direct):
    """Reads the beginning only."""

    def forward(self, hidden: Tensor, real: Tensor) -> Tensor:
        return hidden[:, :12].sum(1)


class Infinite(Direct):
    """Is surer than any number."""

    def forward(self, hidden: Tensor, real: Tensor) -> Tensor:
        return super().forward(hidden, real) * torch.inf


class Forgetful(Bag):
    """Keeps its weights in half precision, rounded once more whenever it is saved."""

    def arrays(self) -> Any:
        kept = {"weights": self.weights * np.float32(0.9)}
        return {**super().arrays(), **kept}


def headed(kind: type[Direct]) -> Any:
    def change(bundle: Bundle) -> Bundle:
        assert bundle.head is not None
        return replace(bundle, head=kind(bundle.head.config))

    return change


def forgetful(bundle: Bundle) -> Bundle:
    body: Any = bundle.body
    return replace(bundle, body=Forgetful(body.config, body.arrays()))


def turned(bundle: Bundle) -> Bundle:
    body: Any = bundle.body
    arrays = {**body.arrays(), "weights": -body.weights}
    return replace(bundle, body=Bag(body.config, arrays))


def unpaired(bundle: Bundle) -> Bundle:
    """The language model of one label stands for the other."""
    body: Any = bundle.body
    return replace(bundle, body=type(body)(body.config, body.models[::-1], body.priors))


BUGS = {
    "padding counts": (headed(Unsummed), "03"),
    "rows mix": (headed(Shared), "02"),
    "the end is not read": (headed(Blind), "06"),
    "not finite": (headed(Infinite), "01"),
    "saved otherwise": (forgetful, "04"),
    "learnt the opposite": (turned, "05"),
}
BY_NUMBER = {law.__name__[4:6]: law for law in READER_LAWS}


@pytest.mark.parametrize("name", BUGS)
def test_the_bug_is_caught_by_the_law(name: str) -> None:
    change, number = BUGS[name]
    with pytest.raises((AssertionError, ModelError)), np.errstate(all="ignore"):
        BY_NUMBER[number](Reader("bag", change))


def test_every_law_of_readers_catches_some_bug() -> None:
    assert {number for _, number in BUGS.values()} == set(BY_NUMBER)


def test_language_models_of_the_wrong_labels_are_caught() -> None:
    with pytest.raises(AssertionError):
        BY_NUMBER["05"](Reader("class-ngram", unpaired))
