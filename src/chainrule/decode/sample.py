"""Sampling: many prompts at once continued by symbols drawn from the model, as they come; greedy at temperature 0."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import torch
from torch import Generator, Tensor

from chainrule.decode.config import FREE, Constraints, GenerationConfig
from chainrule.decode.cursor import Prompts, advance, begin
from chainrule.decode.filters import check_finite, narrowed, without
from chainrule.models.base import LanguageModel
from chainrule.symbols import PAD

SPARE = 8  # rows leave when one in so many has ended: to move the others costs more than to carry a few along

Steps = Iterator[list[list[int]]]  # what each row adds, step by step; nothing once it has ended


class RowGenerators:
    """A random generator for every row: what a row draws does not depend on the other rows."""

    def __init__(self, config: GenerationConfig, rows: int) -> None:
        self.generators = [Generator() for _ in range(rows)]
        for row, generator in enumerate(self.generators):
            seed = config.from_row(row).seed
            generator.seed() if seed is None else generator.manual_seed(int(seed))

    def draw(self, row: int, count: int = 1) -> Tensor:
        """The next numbers (count,) in [0, 1) of a row."""
        return torch.rand(count, generator=self.generators[row], dtype=torch.float64)

    def each(self, rows: Sequence[int]) -> Tensor:
        """The next number of each of these rows."""
        return torch.cat([self.draw(row) for row in rows]) if len(rows) > 1 else self.draw(rows[0])


def sample(
    model: LanguageModel,
    prompts: Prompts,
    config: GenerationConfig,
    constraints: Constraints = FREE,
    source: object = None,
) -> Steps:
    """Continue every prompt `count` times: row `count * p + c` is text c of prompt p, drawn by seed + row.

    A symbol that ends a row is given and is its last.
    """
    first = begin(model, prompts, source)
    cursor = first.select(first.rows.repeat_interleave(config.count))
    texts: list[list[int]] = [[] for _ in cursor.held]
    generators = RowGenerators(config, len(texts))
    rows = list(range(len(texts)))  # which text each row of the cursor continues
    going = [True] * len(rows)
    for left in range(config.length - 1, -1, -1):
        said = [[*prompts[row // config.count], *texts[row]] for row in rows] if constraints.bad else []
        logits = _possible(cursor.logits.cpu(), constraints, rows, texts, said)
        ids = _chosen(logits, config, generators, rows)
        step: list[list[int]] = [[] for _ in texts]
        for place, (row, id) in enumerate(zip(rows, ids, strict=True)):
            if going[place] and id != PAD:
                step[row] = [id]
                texts[row].append(id)
            going[place] = bool(step[row]) and not constraints.end(row, texts[row])
        yield step
        if not left or not any(going):
            return
        kept = _staying(going)
        read = torch.tensor([ids[place] if going[place] else PAD for place in kept], device=model.device)
        cursor = advance(model, cursor, torch.tensor(kept, device=model.device), read[:, None])
        rows, going = [rows[place] for place in kept], [going[place] for place in kept]


def _possible(
    logits: Tensor,
    constraints: Constraints,
    rows: Sequence[int],
    texts: Sequence[Sequence[int]],
    said: Sequence[Sequence[int]],
) -> Tensor:
    """Logits (B, V) of what may come next in these rows, `said` being what counts for bad phrases."""
    allowed = without(logits, constraints.never)
    banned = [constraints.banned(one) for one in said] or [[] for _ in rows]
    for place, row in enumerate(rows):
        banned[place] += constraints.stop if constraints.early(row, len(texts[row])) else ()
    places = [place for place, ids in enumerate(banned) for _ in ids]
    if not places:
        return allowed
    ids = torch.tensor([id for one in banned for id in one])
    return allowed.index_put((torch.tensor(places), ids), torch.tensor(-torch.inf, dtype=allowed.dtype))


def joined(steps: Steps) -> list[list[int]]:
    """All that each row adds."""
    return [[id for part in parts for id in part] for parts in zip(*steps, strict=True)]


def _chosen(
    logits: Tensor, config: GenerationConfig, generators: RowGenerators, rows: Sequence[int]
) -> list[int]:
    """The next symbol after logits (B, V) of these rows; PAD where none is possible."""
    check_finite(logits.amax(-1))
    if config.temperature == 0:
        return surest(logits).tolist()
    return draw(narrowed(logits, config), generators.each(rows)).tolist()


def _staying(going: Sequence[bool]) -> list[int]:
    """The places of rows that stay: of those still going, or of all while few have ended."""
    if (len(going) - sum(going)) * SPARE < len(going):
        return list(range(len(going)))
    return [place for place, on in enumerate(going) if on]


def surest(logits: Tensor) -> Tensor:
    """The best symbol a row of logits (B, V), the lowest id of equally good ones; PAD where none is possible."""
    best, chosen = logits.max(-1)  # (B,) each
    return torch.where(best > -torch.inf, chosen, PAD)


def draw(logits: Tensor, uniform: Tensor) -> Tensor:
    """One symbol a row of logits (B, V) by numbers in [0, 1) (B,); PAD where no symbol is possible."""
    best = logits.amax(-1, keepdim=True)  # (B, 1)
    heaps = (logits.double() - best).exp_().cumsum(-1)  # (B, V)
    # The first symbol whose heap rises above the mark: one of probability 0 adds nothing and is never it.
    chosen = torch.searchsorted(heaps, uniform[:, None] * heaps[:, -1:], right=True)[:, 0]
    return torch.where(best[:, 0] > -torch.inf, chosen, PAD)
