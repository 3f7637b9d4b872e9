"""One prompt continued in one call: what tests of decoding ask for most."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from typing import Any

from chainrule.decode import beam as beams
from chainrule.decode.config import Constraints, GenerationConfig
from chainrule.decode.hypotheses import Hypothesis, SearchResult
from chainrule.decode.sample import joined, sample
from chainrule.models.base import LanguageModel
from chainrule.symbols import EOS, UNK
from tiny import Table


def drawn(
    model: LanguageModel, prompt: Sequence[int], length: int, seed: int = 0, **options: Any
) -> list[int]:
    """One row of `sample`; `options` are settings, constraints or the source."""
    settings, constraints, source = _sorted(options)
    config = GenerationConfig(length=length, seed=seed, **settings)
    return (joined(sample(model, [prompt], config, constraints, source)) or [[]])[0]


def greedy(model: LanguageModel, prompt: Sequence[int], length: int, **options: Any) -> list[int]:
    """The best symbol each time."""
    return drawn(model, prompt, length, temperature=0.0, **options)


def searched(
    model: LanguageModel,
    prompt: Sequence[int],
    width: int,
    length: int,
    search: Callable[..., list[SearchResult]] | None = None,
    **options: Any,
) -> SearchResult:
    """One prompt of `search`, or of another one."""
    settings, constraints, source = _sorted(options)
    config = GenerationConfig(length=length, beam=width, **settings)
    [found] = (search or beams.search)(model, [prompt], config, constraints, source)
    return found


def beam(*args: Any, **options: Any) -> list[Hypothesis]:
    """Its hypotheses."""
    return list(searched(*args, **options).hypotheses)


def _sorted(options: dict[str, Any]) -> tuple[dict[str, Any], Constraints, Any]:
    about_ids = {
        name: options.pop(name)
        for name in ("stop", "never", "first", "ends", "bad", "forced", "opens", "closes")
        if name in options
    }
    source = options.pop("source", None)
    return options, Constraints(**about_ids), source


def total(model: Table, prompt: list[int], ids: tuple[int, ...]) -> float:
    """Log-probability by hand."""
    path = [prompt[-1], *ids]
    chances = [model.chances[last, id] for last, id in itertools.pairwise(path)]
    return sum(math.log(chance) if chance else -math.inf for chance in chances)


def everything(model: Table, prompt: list[int], length: int) -> dict[tuple[int, ...], float]:
    """Every possible continuation with its log-probability."""
    going = (UNK, 5, 6, 7)
    ways = [(*way, EOS) for size in range(length) for way in itertools.product(going, repeat=size)]
    ways += itertools.product(going, repeat=length)
    chances = {way: total(model, prompt, way) for way in ways}
    return {way: chance for way, chance in chances.items() if chance > -math.inf}
