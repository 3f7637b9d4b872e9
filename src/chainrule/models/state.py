"""State: what a model remembers between two calls of `read`, a tree of tensors with the batch as dimension 0."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeVar

if TYPE_CHECKING:
    from torch import Tensor

SOURCE = (
    "source"  # the field in which the state of an encoder-decoder keeps what its encoder made of a source
)


@dataclass(frozen=True)
class State:
    """A frozen tree: fields are tensors, tuples, other states, None, or values with a `map` of their own."""

    stacked: ClassVar[bool] = True  # the rows of a tensor lie one below the other, whatever each has read

    def map(self, function: Callable[[Tensor], Tensor]) -> Self:
        """The same tree with `function` applied to every tensor in it, in the order of the fields."""
        return replace(self, **{one.name: _mapped(getattr(self, one.name), function) for one in fields(self)})

    def select(self, rows: Tensor) -> Self:
        """Fork, reorder or drop rows: `rows` (K,) names, for each new row, the old one it continues.

        A value inside may do so in a way of its own, by a method of this name, if it need not copy all of its tensors.
        """
        return replace(self, **{one.name: _selected(getattr(self, one.name), rows) for one in fields(self)})

    def detach(self) -> Self:
        """The same memory, cut off from the gradient."""
        return self.map(lambda tensor: tensor.detach())

    def tensors(self) -> list[Tensor]:
        """All tensors, in order."""
        return _tensors(self)

    def cropped(self, before: State, tokens: Tensor) -> State | None:
        """The memory after only `tokens` (B, T), the beginning of what was read since `before`; None: read them again.

        A memory that only grows can do so. This one is given up.
        """
        return None

    def beside(self, others: Sequence[State]) -> State:
        """One state of these rows and then those of others, for steps in which every row reads one symbol."""
        values = ([getattr(one, place.name) for one in (self, *others)] for place in fields(self))
        each = zip(fields(self), values, strict=True)
        return replace(self, **{place.name: _beside(own) for place, own in each})

    def packed(self, others: Sequence[State], lengths: Sequence[int]) -> State | None:
        """One state of this row and of others that read so many symbols each, of which every one is a row (N, 1).

        None: there is no such thing, and each must read its own.
        """
        return None

    def unpacked(self) -> list[State]:
        """The rows of a packed state, when they have read."""
        return [self]

    def resourced(self, fresh: State) -> Self:
        """The same memory with its field `source` as a `fresh` state holds it: the encoder learns from every window."""
        return replace(self, **{SOURCE: getattr(fresh, SOURCE)})

    def filled(self, tensors: Iterable[Tensor]) -> Self:
        """The same tree with these tensors in it, in order."""
        values = iter(tensors)
        return self.map(lambda _: next(values))


@dataclass(frozen=True)
class Memory(State):
    """A source as a matrix, one column per position: a label is one column, a sentence one per word."""

    vectors: Tensor  # (B, S, D)
    real: Tensor  # (B, S) False where a column is padding


AnyState = TypeVar("AnyState", bound=State)


def merged(parts: Sequence[tuple[Tensor, AnyState]]) -> AnyState:
    """One state of the rows of several: those of each part stand where its `rows` (K,) say, later parts on top.

    Where a part has fewer columns, zeros stand to the left of them. So a state whose columns grow must hold a mask
    that is False for padding, as `Memory.real` is.
    """
    places = [rows for rows, _ in parts]
    inside = zip(*(state.tensors() for _, state in parts), strict=True)
    return parts[0][1].filled(_merged(places, tensors) for tensors in inside)


def _merged(places: Sequence[Tensor], tensors: Sequence[Tensor]) -> Tensor:
    """Tensors (K, …) as one (B, …), their last columns, layers, … in line."""
    shape = [max(sizes) for sizes in zip(*(tensor.shape[1:] for tensor in tensors), strict=True)]
    found = tensors[0].new_zeros(1 + max(int(rows.max()) for rows in places), *shape)
    for rows, tensor in zip(places, tensors, strict=True):
        corner = found.index_fill_(0, rows, 0)  # nothing is left of what an earlier part had there
        for dimension, size in enumerate(tensor.shape[1:], 1):
            corner = corner.narrow(dimension, corner.shape[dimension] - size, size)
        corner.index_copy_(0, rows, tensor)
    return found


def _beside(values: Sequence[Any]) -> Any:
    """The same place of several states, the rows of each below those of the one before."""
    first = values[0]
    if first is None:
        return None
    if isinstance(first, tuple | list):
        return type(first)(_beside(own) for own in zip(*values, strict=True))
    if isinstance(first, State):
        return first.beside(values[1:])
    inside = iter(_stacked(own) for own in zip(*map(_tensors, values), strict=True))
    return _mapped(first, lambda _: next(inside))


def _tensors(value: Any) -> list[Tensor]:
    found: list[Tensor] = []
    _mapped(value, lambda tensor: found.append(tensor) or tensor)  # type: ignore[func-returns-value]
    return found


def _stacked(tensors: Sequence[Tensor]) -> Tensor:
    """Tensors (K, …) one below the other, their last columns in line."""
    import torch

    if len({one.shape[1:] for one in tensors}) == 1:
        return torch.cat(list(tensors))
    ends = torch.tensor([len(one) for one in tensors]).cumsum(0).tolist()
    places = [torch.arange(first, end) for first, end in zip([0, *ends], ends, strict=False)]
    return _merged(places, tensors)


def _mapped(value: Any, function: Callable[[Tensor], Tensor]) -> Any:
    if value is None:
        return None
    if isinstance(value, tuple | list):
        return type(value)(_mapped(item, function) for item in value)
    return value.map(function) if hasattr(value, "map") else function(value)


def _selected(value: Any, rows: Tensor) -> Any:
    if value is None:
        return None
    if isinstance(value, tuple | list):
        return type(value)(_selected(item, rows) for item in value)
    if hasattr(value, "map") and hasattr(value, "select"):
        return value.select(rows)
    return _mapped(value, lambda tensor: tensor.index_select(0, rows))


@dataclass(frozen=True)
class Unremembered(State):
    """Of models that read everything at once, and remember nothing; it knows how many rows there are."""

    rows: Tensor  # (B, 0)
