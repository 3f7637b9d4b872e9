"""Beam search: the best continuations of many prompts side by side, as operations on tensors.

Letters: B prompts, K places of a beam, N hypotheses that grow, in all beams together, C candidates of each, T symbols,
S source positions.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import torch
from torch import Tensor

from chainrule.decode.banks import Banks
from chainrule.decode.candidates import candidates
from chainrule.decode.config import FREE, Constraints, GenerationConfig
from chainrule.decode.coverage import Coverage
from chainrule.decode.cursor import Prompts, advance, begin
from chainrule.decode.hypotheses import BeamTree, Dropped, Hypothesis, SearchResult, TreeStep
from chainrule.decode.limits import FEW, Limits
from chainrule.models.base import LanguageModel


def search(
    model: LanguageModel,
    prompts: Prompts,
    config: GenerationConfig,
    constraints: Constraints | Sequence[Constraints] = FREE,
    source: object = None,
    branches: int = 0,
) -> list[SearchResult]:
    """Beam search from every prompt, all of them side by side; constraints are those of all, or one for each.

    Finished hypotheses hold a place of the beam against growing ones, and are never lost. Equally good ones are
    ranked by the rank of what they continue, then by id. Probabilities are the model's own, whatever is forbidden.
    With `branches` the tree also holds so many continuations of each hypothesis that were not kept.
    """
    each = [constraints] * len(prompts) if isinstance(constraints, Constraints) else constraints
    limits = Limits.of(each, prompts, model.device)
    with Coverage.heard_by(model, prompts, config.coverage_penalty, source) as coverage:
        beams = _Beams.of(config, limits, Banks.of(each), coverage, branches)
        cursor = begin(model, prompts, source) if len(prompts) and config.length else None
        while cursor is not None:
            rows, ids = beams.grow(cursor.logits)  # (N,) each: which row of the cursor continues, and by what
            cursor = advance(model, cursor, rows, ids[:, None]) if len(ids) else None
            coverage.look(beams.live)
    return beams.found()


@dataclass(frozen=True)
class _Offers:
    """Ways to continue: C for each place of each beam."""

    totals: Tensor  # (B, K, C) log-probabilities, -inf: it is impossible, or nobody is there
    ids: Tensor  # (B, K, C)


@dataclass(frozen=True)
class _Grown:
    """The best ways to continue, best first, as many as a beam is wide."""

    places: Tensor  # (B, K) which of the K C ways of a beam
    totals: Tensor  # (B, K) log-probabilities, -inf: nobody
    parents: Tensor  # (B, K) the place that each continues
    ids: Tensor  # (B, K)
    over: Tensor  # (B, K) whether it ends there
    values: Tensor  # (B, K) what it is ranked by against those that have ended


@dataclass
class _Beams:
    """The searches from all prompts: who stands at each place, and what came to an end."""

    config: GenerationConfig
    limits: Limits
    banks: Banks | None
    coverage: Coverage
    branches: int
    texts: Tensor  # (B, K, T) what was said, behind the end of the prompt
    totals: Tensor  # (B, K)
    live: Tensor  # (B, K) who grows
    nodes: Tensor  # (B, K) their index in the tree, -1 for the prompt
    count: Tensor  # (B,) nodes of each tree
    best: Tensor  # (B, F) values of the best that came to an end; -inf: there are fewer
    length: int = 0
    steps: list[TreeStep] = field(default_factory=list)
    ended: dict[int, list[Hypothesis]] = field(default_factory=dict)

    @classmethod
    def of(
        cls, config: GenerationConfig, limits: Limits, banks: Banks | None, coverage: Coverage, branches: int
    ) -> _Beams:
        """The prompts alone."""
        totals = torch.zeros(len(limits.each), 1, dtype=torch.float64, device=limits.stop.device)
        nodes = torch.full_like(totals, -1, dtype=torch.long)
        live, count, best = totals == 0.0, nodes[:, 0] + 1, totals[:, :0]
        texts = limits.before[:, None]
        return cls(config, limits, banks, coverage, branches, texts, totals, live, nodes, count, best)

    @property
    def width(self) -> int:
        """How many hypotheses a beam holds."""
        return self.config.beam or 1

    def grow(self, logits: Tensor) -> tuple[Tensor, Tensor]:
        """A step: for everybody that grows on, which row of logits (N, V) it continues, and by which id."""
        offers = self._offers(logits)
        grown = self._grown(offers)
        self._end(self.live & ~(grown.totals[:, :1] > -torch.inf))  # a dead end leaves what was said
        ahead = (self.best[:, None] >= grown.values[:, :, None]).sum(2)  # (B, K)
        ahead += torch.arange(ahead.shape[1], device=ahead.device)
        kept = (grown.totals > -torch.inf) & (ahead < self.width)
        rows = (self.live.flatten().cumsum(0).view(self.live.shape) - 1).gather(1, grown.parents)  # (B, K)
        self._record(grown, kept, offers)
        self._move(grown, kept)
        self._finish(kept & grown.over, grown.values)
        full = self.limits.full(self.length, self.config.length)[:, None]  # (B, 1)
        self._end(kept & ~grown.over & full)
        self.live = kept & ~grown.over & ~full
        return rows[self.live], grown.ids[self.live]

    def _offers(self, logits: Tensor) -> _Offers:
        """Of everybody that grows the best symbols that may come next, those of equal probability by their id."""
        prompts, texts = self.live.nonzero()[:, 0], self.texts[self.live]  # (N,), (N, T)
        banned = self.limits.banned(prompts, texts, self.length)  # (N, M)
        masked = self.limits.masked(logits, banned, prompts, self.length)
        few = banned.shape[1] if banned.shape[1] <= FEW else 0
        values, ids = candidates(masked, max(self.width, self.branches) + few, logits)  # (N, C)
        if self.banks:
            values, ids = self.banks.extended(values, ids, logits, prompts, texts[:, self.limits.tail :])
        if banned.shape[1]:
            values = values.masked_fill((ids[:, :, None] == banned[:, None]).any(2), -torch.inf)
        shape = (*self.live.shape, values.shape[1])
        totals, known = self.totals.new_full(shape, -torch.inf), ids.new_zeros(shape)
        totals[self.live] = self.totals[self.live][:, None] + values
        known[self.live] = ids
        return _Offers(totals, known)

    def _grown(self, offers: _Offers) -> _Grown:
        """The best of them: of equal ones what continues the better hypothesis, then the lower id."""
        totals, places = offers.totals.flatten(1).sort(dim=1, descending=True, stable=True)
        if self.banks:
            texts = self.texts[:, :, self.limits.tail :]
            totals, places = self.banks.chosen(
                totals, places, offers.ids, texts, self.limits.stop, self.width
            )
        totals, places = totals[:, : self.width], places[:, : self.width]  # (B, K)
        parents, ids = places // offers.ids.shape[2], offers.ids.flatten(1).gather(1, places)
        over = self._over(totals, parents, ids)
        values = totals / float((self.length + 1) ** self.config.length_penalty)
        values = torch.where(over, values + self.coverage.penalties(parents), values)
        return _Grown(places, totals, parents, ids, over, values)

    def _over(self, totals: Tensor, parents: Tensor, ids: Tensor) -> Tensor:
        """Which of these ways to continue (B, K) come to an end of their own."""
        possible = totals > -torch.inf
        over = possible & (ids[:, :, None] == self.limits.stop[:, None]).any(2)
        asked = [row for row, one in enumerate(self.limits.each) if one.ends is not None]
        for row, place in possible[asked].nonzero().tolist() if asked else ():
            prompt = asked[row]
            said = self.texts[prompt, parents[prompt, place], self.limits.tail :].tolist()
            over[prompt, place] |= self.limits.each[prompt].over(prompt, [*said, int(ids[prompt, place])])
        return over

    def _record(self, grown: _Grown, kept: Tensor, offers: _Offers) -> None:
        """The step in the tree, and the number of each node there."""
        dropped = _dropped(grown, kept, offers, self.branches) if self.branches else None
        self.steps.append(TreeStep(grown.ids, grown.parents, grown.totals, grown.over, kept, dropped))
        self.nodes = torch.where(kept, self.count[:, None] + kept.cumsum(1) - 1, -1)
        self.count = self.count + kept.sum(1)

    def _move(self, grown: _Grown, kept: Tensor) -> None:
        """Everybody at the place that was found for it."""
        said = self.texts.gather(1, grown.parents[:, :, None].expand(-1, -1, self.texts.shape[2]))
        self.texts = torch.cat([said, grown.ids[:, :, None]], 2)
        self.totals, self.length = grown.totals, self.length + 1
        self.coverage.move(grown.parents)

    def _finish(self, over: Tensor, values: Tensor) -> None:
        """Those of the places (B, K) that came to an end of their own take places from the others."""
        if bool(over.any()):
            best = torch.cat([self.best, values.masked_fill(~over, -torch.inf)], 1)
            self.best = best.topk(min(self.width, best.shape[1])).values
            self._end(over, finished=True)

    def _end(self, places: Tensor, finished: bool = False) -> None:
        """What stands at these places (B, K) is a hypothesis."""
        if not bool(places.any()):
            return
        values = self.totals / float(max(1, self.length) ** self.config.length_penalty)
        values = values + self.coverage.penalties()
        for prompt, place in places.nonzero().tolist():
            ids, node = self.texts[prompt, place, self.limits.tail :].tolist(), int(self.nodes[prompt, place])
            lacking = self.banks.lacking(prompt, ids) if self.banks else 0
            total, value = float(self.totals[prompt, place]), float(values[prompt, place])
            index = None if node < 0 else node
            found = Hypothesis(tuple(ids), total, finished, value, index, lacking)
            self.ended.setdefault(prompt, []).append(found)

    def found(self) -> list[SearchResult]:
        """What the searches came back with."""
        if not self.config.length:
            self._end(self.live)
        results = []
        for row in range(len(self.limits.each)):
            ranked = sorted(self.ended[row], key=lambda one: (one.lacking, not one.finished, one.node or 0))
            ranked.sort(key=lambda one: (one.lacking, -one.value))
            results.append(SearchResult(tuple(ranked[: self.width]), BeamTree(self.steps, row)))
        return results


def _dropped(grown: _Grown, kept: Tensor, offers: _Offers, most: int) -> Dropped:
    """The best `most` of the ways to continue each hypothesis that were not kept."""
    flat = offers.totals.flatten(1)
    flat = flat.scatter(1, grown.places, torch.where(kept, -torch.inf, flat.gather(1, grown.places)))
    beaten = torch.zeros_like(flat, dtype=torch.bool).scatter(1, grown.places, True)
    totals, order = flat.view_as(offers.totals).sort(dim=2, descending=True, stable=True)
    taken = (one.gather(2, order)[:, :, :most] for one in (offers.ids, beaten.view_as(totals)))
    ids, by_finished = taken
    return Dropped(ids, totals[:, :, :most], by_finished)
