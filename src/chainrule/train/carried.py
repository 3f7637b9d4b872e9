"""Memory carried from batch to batch: its tensors, one after another, and back."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import fields, is_dataclass, replace
from typing import Any

from torch import Tensor

from chainrule.models.base import State


def detached(state: State) -> State:
    """The same memory, cut off from the gradient."""
    found: State = filled(state, (tensor.detach() for tensor in tensors(state)))
    return found


def tensors(value: Any) -> Iterator[Tensor]:
    """All tensors of a state, in order."""
    if isinstance(value, Tensor):
        yield value
    elif isinstance(value, tuple | list):
        for item in value:
            yield from tensors(item)
    elif is_dataclass(value):
        for one in fields(value):
            yield from tensors(getattr(value, one.name))


def filled(value: Any, values: Iterator[Tensor]) -> Any:
    """A state like `value` with these tensors in it."""
    if isinstance(value, Tensor):
        return next(values)
    if isinstance(value, tuple | list):
        return type(value)(filled(item, values) for item in value)
    if is_dataclass(value) and not isinstance(value, type):
        return replace(value, **{one.name: filled(getattr(value, one.name), values) for one in fields(value)})
    return value


def interleaved(shares: Sequence[Tensor]) -> Tensor:
    """Rows dealt out like cards, together again: row r of all is row r // n of share r % n."""
    found = shares[0].new_empty(sum(len(one) for one in shares), *shares[0].shape[1:])
    for place, one in enumerate(shares):
        found[place :: len(shares)] = one
    return found
