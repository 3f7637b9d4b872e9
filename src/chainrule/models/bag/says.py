"""What the n-grams of a text say for every answer: each by its weight, in a norm of one with those of its kind."""

from __future__ import annotations

import numpy as np

from chainrule.runtime import compiled

TINY = 1e-12


@compiled
def says(
    index: np.ndarray,
    places: np.ndarray,
    sequences: np.ndarray,
    of_letters: np.ndarray,
    ratios: np.ndarray,
    weights: np.ndarray,
    told: np.ndarray,
) -> None:
    """Add to `told` (positions, answers), at their places, what known n-grams (n,) say; `sequences` ascend."""
    first = 0
    while first < len(index):
        end = first
        while end < len(index) and sequences[end] == sequences[first]:
            end += 1
        squares = np.zeros((2, ratios.shape[1]))
        for at in range(first, end):
            own = squares[1 if of_letters[index[at]] else 0]
            for answer in range(ratios.shape[1]):
                own[answer] += float(ratios[index[at], answer]) ** 2
        norms = np.sqrt(np.maximum(squares, TINY))
        for at in range(first, end):
            norm, row = norms[1 if of_letters[index[at]] else 0], told[places[at]]
            for answer in range(ratios.shape[1]):
                row[answer] += ratios[index[at], answer] / norm[answer] * weights[index[at], answer]
        first = end
