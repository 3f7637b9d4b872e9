"""What a search box shows: the likeliest next symbols and the likeliest continuations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from chainrule.decode.beam import search
from chainrule.decode.config import FREE, Constraints, GenerationConfig
from chainrule.decode.cursor import Prompts
from chainrule.decode.hypotheses import Hypothesis, SearchResult
from chainrule.errors import ConfigError
from chainrule.models.base import LanguageModel

WIDTH = 8  # a beam at least this wide, however few continuations are asked for
MOST = 100  # of each kind that is offered: the beam is twice as wide, and every row of it remembers


@dataclass(frozen=True)
class Offer:
    """What is offered after one prompt, each list best first, impossible ones left out."""

    next: list[tuple[int, float]]  # symbols and their natural log-probability
    continuations: list[Hypothesis]  # merely to stop is none


def offers(
    model: LanguageModel,
    prompts: Prompts,
    k: int,
    length: int,
    constraints: Sequence[Constraints] | Constraints = FREE,
) -> list[Offer]:
    """For every prompt the `k` likeliest next symbols, and the `k` likeliest continuations found of 1 to `length`.

    The first step of a beam search is the next symbols: each prompt is read once.
    """
    if not isinstance(k, int) or not 0 <= k <= MOST:
        raise ConfigError(
            f"Completions are offered, {MOST} of each at most, not {k!r}. For more next symbols, in Python: next(k=…)."
        )
    config = GenerationConfig(beam=max(2 * k, WIDTH), length=max(1, length))
    each = [constraints] * len(prompts) if isinstance(constraints, Constraints) else constraints
    found = search(model, prompts, config, each)
    return [_offer(one, own, k, length) for one, own in zip(found, each, strict=True)]


def _offer(found: SearchResult, constraints: Constraints, k: int, length: int) -> Offer:
    nodes = [found.tree.nodes[index] for index in found.tree.children(None)[:k]]
    ways = [one for one in found.hypotheses if any(id not in constraints.stop for id in one.ids)]
    return Offer([(node.id, node.log_probability) for node in nodes], ways[: k if length else 0])
