"""Prefix cache: what a model remembered after beginnings that prompts may share, within so many bytes."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence

import numpy as np

from chainrule.models.state import State


class PrefixCache:
    """States (of one row) by the symbols they have read; those not used for longest leave first."""

    def __init__(self, most: int) -> None:
        self.most = most
        self.bytes = 0
        self.hits = 0  # symbols that did not have to be read
        self.kept: OrderedDict[bytes, tuple[State, int]] = OrderedDict()

    def find(self, ids: Sequence[int], lengths: Sequence[int]) -> tuple[int, State | None]:
        """The longest beginning that is kept, of those of these lengths, and its state."""
        for length in sorted(lengths, reverse=True):
            name = _name(ids[:length])
            if name in self.kept:
                self.kept.move_to_end(name)
                self.hits += length
                return length, self.kept[name][0]
        return 0, None

    def keep(self, ids: Sequence[int], state: State) -> None:
        """Remember a copy; one larger than a quarter of all there is room for is not kept."""
        name, size = _name(ids), sum(one.numel() * one.element_size() for one in state.tensors())
        if name in self.kept or 4 * size > self.most:
            return
        self.kept[name] = (state.map(lambda one: one.clone()), size)
        self.bytes += size
        while self.bytes > self.most:
            _, (_, gone) = self.kept.popitem(last=False)
            self.bytes -= gone


def _name(ids: Sequence[int]) -> bytes:
    return np.asarray(ids, np.int32).tobytes()
