"""What heads look at as a habit, over many texts: the symbol before, the same symbol, the first one, …"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

Mask = Callable[[np.ndarray], np.ndarray]  # of ids (T,): which key (T, T) a query looks at by this habit


def _shifted(by: int) -> Mask:
    return lambda ids: np.eye(len(ids), k=by, dtype=bool)


def _same(ids: np.ndarray) -> np.ndarray:
    """Another place with the same symbol."""
    found: np.ndarray = (ids[:, None] == ids[None]) & ~np.eye(len(ids), dtype=bool)
    return found


def _after_same(ids: np.ndarray) -> np.ndarray:
    """What followed the same symbol when it stood there before: how induction heads copy."""
    followed: np.ndarray = np.pad(_same(ids), ((0, 0), (1, 0)))[:, :-1] & np.tri(len(ids), k=0, dtype=bool)
    return followed


def _first(ids: np.ndarray) -> np.ndarray:
    found = np.zeros((len(ids), len(ids)), bool)
    found[1:, 0] = True
    return found


HABITS: Mapping[str, Mask] = {
    "itself": _shifted(0),
    "the symbol before": _shifted(-1),
    "the symbol after": _shifted(1),
    "the first symbol": _first,
    "the same symbol": _same,
    "what followed the same symbol": _after_same,
}


class Habits:
    """How much of its attention each head gives to each habit, added up over texts."""

    def __init__(self) -> None:
        self.given: dict[str, np.ndarray] = {}  # (layers, H) by habit
        self.asked: dict[str, int] = dict.fromkeys(HABITS, 0)

    def add(self, weights: np.ndarray, ids: np.ndarray) -> None:
        """Weights (layers, H, T, T) over a text with these ids (T,); queries without such a key do not count."""
        for name, mask in HABITS.items():
            keys = mask(ids) & (weights.max((0, 1)) > 0)  # what lies ahead cannot be looked at
            rows = keys.any(1)
            found = (weights * keys).sum(-1)[..., rows].sum(-1)
            self.given[name] = self.given.get(name, 0.0) + found
            self.asked[name] += int(rows.sum())

    def shares(self) -> tuple[list[str], np.ndarray]:
        """Names, and (layers, H, habits): the mean share of attention, 0 where nothing could be looked at."""
        names: Sequence[str] = list(self.given)
        return list(names), np.stack([self.given[one] / max(1, self.asked[one]) for one in names], -1)
