"""The family `ngram`: n-gram counts in a trie, smoothed."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from chainrule.config import option
from chainrule.errors import ConfigError, ModelError
from chainrule.models.base import CostForecast, CountingModel, ModelConfig
from chainrule.models.ngram import query
from chainrule.models.ngram.cost import cost_forecasts
from chainrule.models.ngram.estimate import SMOOTHINGS, estimate
from chainrule.models.ngram.order import best_order
from chainrule.models.ngram.packing import check_shapes, floats, packed
from chainrule.models.ngram.parts import count_in_parts
from chainrule.models.ngram.path import Asked, paths
from chainrule.models.ngram.prune import kept_nodes, pruned
from chainrule.models.ngram.space import Space, space_for
from chainrule.models.ngram.trie import Trie, count_ngrams
from chainrule.models.registry import register
from chainrule.models.state import State
from chainrule.models.windows import score_by_logits
from chainrule.nn import tap
from chainrule.progress import Progress, no_progress
from chainrule.runtime import in_threads, threads
from chainrule.symbols import BOS, EOS, FIRST

if TYPE_CHECKING:
    from torch import Tensor

PIECE = 1 << 14  # ids scored by one thread at a time


@dataclass(frozen=True, kw_only=True)
class NgramConfig(ModelConfig):
    """Settings of the n-gram: order, smoothing and pruning."""

    order: int = option(
        0, "order n of the n-grams, 1 to 9; 0: the best on the validation part", low=0, high=9, chosen=True
    )
    smoothing: str = option("kneser-ney", "smoothing: how unseen n-grams get probability", choices=SMOOTHINGS)
    k: float = option(1.0, "what add-k smoothing adds to every count", low=1e-9, high=1e9)
    prune: tuple[int, ...] = option(
        (),
        "drop n-grams seen at most this often, by order, the last for all longer: 0,0,1",
        low=0,
        high=1_000_000_000,
    )
    imported: bool = option(False, "the probabilities were given, not estimated here", hidden=True)
    memory: int | None = option(
        None, "sort in parts on disk within this much memory, such as 2G", low=1_000_000, high=10**15
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.prune and (self.prune[0] != 0 or list(self.prune) != sorted(self.prune)):
            raise ConfigError(
                f"--prune {','.join(map(str, self.prune))}: thresholds begin with 0 and never fall, as in 0,0,1,2 "
                "(to drop rare single symbols, use --min-count)."
            )


@dataclass(frozen=True)
class NgramState(State):
    """The longest ending of the history that was ever seen, as a node, and how long the history is."""

    nodes: Tensor  # (B,) int64
    seen: Tensor  # (B,) int64, at most order - 1


@register("ngram")
class Ngram(CountingModel):
    """Counts in a trie; reading is a walk through it."""

    Config: ClassVar[type[ModelConfig]] = NgramConfig
    config: NgramConfig

    def __init__(
        self, config: NgramConfig, arrays: Mapping[str, np.ndarray], notes: tuple[str, ...] = ()
    ) -> None:
        self.config = config
        self.markov_order = config.order - 1
        self.notes = notes
        check_shapes(config.order, config.vocab_size, arrays)
        self.levels = np.ascontiguousarray(arrays["levels"])
        self.word, self.contexts, self.leaves = arrays["word"], arrays["contexts"], arrays["leaves"]
        self.suppressed = np.zeros(config.vocab_size, np.bool_)
        self.suppressed[list(config.suppressed)] = True
        self.even = -math.log((~self.suppressed).sum()) if config.smoothing == "add-k" else 0.0

    @classmethod
    def learn(
        cls,
        config: NgramConfig,
        ids: np.ndarray,
        progress: Progress = no_progress,
        valid: np.ndarray | None = None,
    ) -> Self:
        """Count and estimate; `ids` are whole sequences one after another, each `BOS … EOS`.

        Without an order, the one that is best on the ids `valid` is taken.
        """
        if config.order == 0:
            order, note = best_order(config, ids, valid, cls.learn)
            chosen = cls.learn(replace(config, order=order), ids, progress)
            return cls(chosen.config, chosen.arrays(), (note, *chosen.notes))
        _check_ids(ids, config.vocab_size)
        predictable = np.ones(config.vocab_size, np.bool_)
        predictable[list(config.suppressed)] = False
        with space_for(config.memory, progress) as space:
            trie = cls._count(config, ids, space)
            kept = kept_nodes(trie, config.prune) if any(config.prune) else None
            found = estimate(trie, predictable, config.smoothing, config.k, kept, space)
            if kept is not None:
                trie, found = pruned(trie, found, kept)
            return cls(config, packed(trie, found.logs, found.backoff, space), found.notes)

    @staticmethod
    def _count(config: NgramConfig, ids: np.ndarray, space: Space) -> Trie:
        if config.memory is None:
            return count_ngrams(ids, config.vocab_size, config.order, space)
        return count_in_parts(ids, config.vocab_size, config.order, config.memory, space)

    @classmethod
    def tiny(cls, seed: int = 0) -> Self:
        """A trigram of a few random sequences, for the laws."""
        rng = np.random.default_rng(seed)
        rows = [[BOS, *rng.integers(FIRST, FIRST + 6, size), EOS] for size in rng.integers(1, 9, 24)]
        config = NgramConfig(vocab_size=FIRST + 6, order=3)
        return cls.learn(config, np.concatenate(rows).astype(np.int32))

    def start(self, batch: int, source: Any = None) -> NgramState:
        import torch

        if source is not None:
            raise ModelError("An n-gram reads no source. Fit an encoder-decoder to write from one.")
        nothing = torch.zeros(batch, dtype=torch.int64)
        return NgramState(nothing, nothing)

    def read(self, tokens: Tensor, state: State) -> tuple[Tensor, NgramState]:
        """Tells `order` (B, T), as `score_ids` does."""
        import torch

        assert isinstance(state, NgramState)
        nodes, seen = state.nodes.numpy().copy(), state.seen.numpy().copy()  # (B,), (B,)
        hidden = np.empty((*tokens.shape, 2), np.int64)
        symbols = np.ascontiguousarray(tokens.numpy().clip(0, self.config.vocab_size - 1), np.int32)
        tables = (self.word, self.contexts, self._weights, self.leaves, self.levels)
        heard = tap.is_tapped(self, "order")
        orders = np.zeros(tokens.shape if heard else (0, 0), np.int8)  # (B, T)
        query.advance(*tables, symbols, nodes, seen, hidden, orders)
        if heard:
            tap.announce(self, "order", orders)
        return torch.from_numpy(hidden), NgramState(
            torch.from_numpy(nodes), torch.from_numpy(seen)
        )  # (B, T, 2)

    def logits(self, hidden: Tensor) -> Tensor:
        import torch

        contexts = np.ascontiguousarray(hidden.numpy().reshape(-1, 2))  # (B T, 2)
        out = np.empty((len(contexts), self.config.vocab_size), np.float32)
        query.distributions(*self._tables, contexts, out)
        return torch.from_numpy(out).reshape(*hidden.shape[:-1], -1)  # (B, T, V)

    def score(self, tokens: Tensor, targets: Tensor, state: State) -> tuple[Tensor, State]:
        return score_by_logits(self, tokens, targets, state)

    def score_ids(self, ids: np.ndarray, batch: int = 0) -> np.ndarray:
        """Look up the one number per symbol; sequences are shared out among threads, and torch is not needed.

        Tells `order`: the length of the n-gram that gave each probability, 0 at BOS.
        """
        heard = tap.is_tapped(self, "order")
        values, orders = self._walk(ids, with_orders=heard)
        if heard:
            tap.announce(self, "order", orders)
        return values

    @classmethod
    def cost_forecasts(
        cls, sample: np.ndarray, vocab_size: int, symbols: int, seconds: float | None = None
    ) -> Mapping[str, CostForecast]:
        return cost_forecasts(sample, vocab_size, symbols)

    def _walk(self, ids: np.ndarray, with_orders: bool) -> tuple[np.ndarray, np.ndarray]:
        _check_ids(ids, self.config.vocab_size)
        values, orders = np.empty(len(ids), np.float32), np.zeros(len(ids) if with_orders else 0, np.int8)

        def work(part: slice) -> None:
            if self.even:
                query.score_even(*self._tables, ids[part], values[part], orders[part])
            else:
                query.score(*self._tables[:6], ids[part], values[part], orders[part])

        in_threads(work, _pieces(ids))
        return values, orders

    def paths(self, ids: np.ndarray) -> list[list[Asked]]:
        """How it came to the probability of every symbol but the first: the contexts asked, the longest first.

        With add-k there are none: nothing is ever asked of a shorter context.
        """
        return [] if self.even else paths(self, ids)

    @property
    def _tables(self) -> tuple[Any, ...]:
        numbers = (self.word, self.contexts, self._weights, self.leaves, floats(self.leaves))
        return (*numbers, self.levels, self.even, self.suppressed)

    @property
    def _weights(self) -> np.ndarray:
        return floats(self.contexts)

    @property
    def child(self) -> np.ndarray:
        """(contexts + 1,) the first child of each context."""
        return self.contexts[:, query.CHILD]

    @property
    def backoff(self) -> np.ndarray:
        """(contexts,) the log-weight of falling back from each context."""
        return self._weights[:-1, query.BACKOFF]

    def logs_of(self, nodes: np.ndarray) -> np.ndarray:
        """The log-probability of the last symbol of each n-gram (n,) after its others."""
        many = len(self.contexts) - 1
        logs: np.ndarray = self._weights[np.minimum(nodes, many), query.LOG]
        leaf = nodes >= many
        logs[leaf] = floats(self.leaves)[nodes[leaf] - many, query.LEAF_LOG]
        return logs

    def arrays(self) -> Mapping[str, np.ndarray]:
        return {name: getattr(self, name) for name in ("levels", "word", "contexts", "leaves")}

    @classmethod
    def from_arrays(cls, config: Any, arrays: Mapping[str, np.ndarray]) -> Self:
        return cls(config, arrays)

    @property
    def sizes(self) -> list[int]:
        """How many n-grams of each order it knows; PAD and MASK are none."""
        single, *longer = np.diff(self.levels)[1:].tolist()
        return [single - 2, *longer]


def _check_ids(ids: np.ndarray, vocab_size: int) -> None:
    """Kernels look ids up without asking: nothing outside the vocabulary may reach them."""
    if len(ids) and not 0 <= ids.min() <= ids.max() < vocab_size:
        raise ModelError(f"Ids must be from 0 to {vocab_size - 1}. Encode with the model's own codec.")


def _pieces(ids: np.ndarray) -> list[slice]:
    """Cut ids into whole sequences, about PIECE at a time, for threads."""
    if len(ids) <= PIECE or threads() == 1:
        return [slice(0, len(ids))]
    cuts = {0, len(ids)}
    for at in range(PIECE, len(ids), PIECE):
        begins = np.flatnonzero(ids[at : at + PIECE] == BOS)
        if len(begins):
            cuts.add(at + int(begins[0]))
    places = sorted(cuts)
    return [slice(low, high) for low, high in pairwise(places)]
