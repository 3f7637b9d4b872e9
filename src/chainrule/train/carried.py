"""State carried from batch to batch, its rows divided among processes."""

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor


def interleaved(shares: Sequence[Tensor]) -> Tensor:
    """Rows dealt out like cards, together again: row r of all is row r // n of share r % n."""
    found = shares[0].new_empty(sum(len(one) for one in shares), *shares[0].shape[1:])
    for place, one in enumerate(shares):
        found[place :: len(shares)] = one
    return found
