"""Symbols drawn from a model for people: seeded, narrowed, and, with a drafter, faster."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from chainrule.models.base import Model


def drawn(
    model: Model,
    known: Sequence[int],
    length: int,
    seed: int | None,
    narrowing: Mapping[str, Any],
    never: Sequence[int],
    drafter: Model | None = None,
) -> Iterator[int]:
    """At most `length` symbols after the `known` ones; the same seed draws the same ones."""
    from torch import Generator

    from chainrule.decode.draft import drafted
    from chainrule.decode.filters import Filters
    from chainrule.decode.sample import sample

    generator = Generator()
    generator.manual_seed(int(seed)) if seed is not None else generator.seed()
    how: dict[str, Any] = {"generator": generator, "filters": Filters(**narrowing), "never": never}
    if drafter is not None:
        return drafted(model, drafter, known, length, **how)
    return sample(model, known, length, **how)
