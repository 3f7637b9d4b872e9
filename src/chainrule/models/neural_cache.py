"""The family `neural-cache`: symbols that followed similar hidden states become likelier (Grave et al. 2017).

A model's hidden vectors are kept, each with the symbol that came after it. The cache predicts a symbol by how much
the vectors before its recent occurrences resemble the vector now, and is mixed with the model:

    p_cache(w | h_t) ∝ sum of exp(theta h_t · h_i) over i < t with x_{i+1} = w
    p(w) = (1 - lambda) p_model(w) + lambda p_cache(w)

While there are few pairs, n, the cache has only n / (n + prior) of its weight; a prior of 0 is the paper's. The newest
pair is (h_{t-1}, x_t): neither the symbol being predicted nor anything behind it is in the cache.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
import torch
from torch import Tensor

from chainrule.config import option
from chainrule.errors import ModelError
from chainrule.models.base import BATCH, LanguageModel, ModelConfig, log_total
from chainrule.models.mix import best_weights
from chainrule.models.readings import Reading, VectorModel
from chainrule.models.registry import register
from chainrule.models.rnn import Rnn
from chainrule.models.state import State
from chainrule.models.windows import score_in_windows, sequences, tensor
from chainrule.models.wrapper import Wrapper, WrapperConfig
from chainrule.symbols import BOS, PAD

BLOCK = 256  # symbols that look back together: one product of matrices
SAMPLE = 2048  # symbols from which the size of h · h' is learnt
FLATNESS = tuple(2.0 ** (power / 2) for power in range(-6, 9))  # thetas tried, in spreads of h · h'


@dataclass(frozen=True, kw_only=True)
class NeuralCacheConfig(WrapperConfig):
    """How far back it looks, how flat its softmax is, and its weight in the mixture."""

    size: int = option(500, "how many recent hidden vectors are kept", low=1, high=10_000_000)
    theta: float = option(
        0.3,
        "flatness theta: 0 weighs all hidden vectors alike, more prefers similar ones",
        low=0.0,
        high=1000.0,
    )
    weight: float = option(0.1, "lambda, the weight of the cache beside its model", low=0.0, high=1.0)
    prior: float = option(
        100.0,
        "pairs at which the cache has half of its weight: with n of them it has n / (n + prior)",
        low=0.0,
        high=1e9,
    )
    stateful: bool = option(
        True, "keep the cache from one sequence to the next, as in running text line by line"
    )


@dataclass(frozen=True)
class NeuralCacheState(State):
    """What the model remembers, and the pairs in the cache, the newest right; PAD where there is none."""

    model: State
    keys: Tensor  # (B, L, D)
    symbols: Tensor  # (B, L) what came after each key
    last: Tensor  # (B, D) the newest hidden vector: what comes after it is not known yet
    begun: Tensor  # (B,) whether there is one


@register("neural-cache")
class NeuralCache(Wrapper):
    """A model that learns by gradient, mixed with a cache over its hidden vectors."""

    Config: ClassVar[type[ModelConfig]] = NeuralCacheConfig
    config: NeuralCacheConfig
    model: VectorModel

    def __init__(self, config: NeuralCacheConfig, model: LanguageModel) -> None:
        if not isinstance(model, VectorModel) or model.reads != "left":
            raise ModelError(
                f"A neural cache needs a model with hidden vectors that reads left to right, not a {model.family}. "
                "Take one that learns by gradient: lstm, gru, gpt …"
            )
        super().__init__(config, model)

    @classmethod
    def fitted(cls, model: LanguageModel, ids: np.ndarray, **settings: Any) -> Self:
        """With the theta and the lambda, where not given, under which these held-out ids are most probable."""
        found = cls.of(model, **settings)
        theta, weight = settings.get("theta"), settings.get("weight")
        if theta is not None and weight is not None:
            return found
        thetas = _thetas(found.model, ids) if theta is None else [theta]
        logs, caches = found.cached(ids, thetas)
        possible = (ids != BOS) & (logs > -np.inf)
        logs, caches = logs[possible], caches[:, possible]
        weights = [best_weights([logs, cache])[1] if weight is None else weight for cache in caches]
        totals = [_mixed(logs, *pair).sum(dtype=np.float64) for pair in zip(caches, weights, strict=True)]
        best = int(np.argmax(totals))
        return cls.of(model, **{**settings, "theta": thetas[best], "weight": weights[best]})

    @classmethod
    def tiny(cls, seed: int = 0) -> Self:
        return cls.of(Rnn.tiny(seed), size=5, theta=2.0, weight=0.4, prior=1.0, stateful=False)

    def compressed(self) -> Self:
        return type(self)(self.config, self.model.compressed())

    def start(self, batch: int, source: Any = None) -> NeuralCacheState:
        where = self.device
        keys = torch.zeros(batch, 0, self.model.width, device=where)
        symbols = torch.zeros(batch, 0, dtype=torch.long, device=where)
        begun = torch.zeros(batch, dtype=torch.bool, device=where)
        last = torch.zeros(batch, self.model.width, device=where)
        return NeuralCacheState(self.model.start(batch, source), keys, symbols, last, begun)

    def read(self, tokens: Tensor, state: State) -> tuple[Tensor, NeuralCacheState]:
        """The hidden output is the prediction itself, as in a mix: log-probabilities (B, T, V)."""
        hidden, pairs, after = self._looked_up(tokens, state)
        logits = self.model.logits(hidden).float()  # (B, T, V)
        plain = (logits - log_total(logits).unsqueeze(-1)).exp()
        cache = torch.zeros_like(plain)
        symbols = pairs.symbols[:, None].expand(pairs.weights.shape)  # (B, T, M)
        cache.scatter_add_(2, symbols, pairs.weights)
        weight = self.config.weight * pairs.weights.sum(2, keepdim=True)
        return torch.log((1 - weight) * plain + self.config.weight * cache), after

    def logits(self, hidden: Tensor) -> Tensor:
        return hidden

    def score(self, tokens: Tensor, targets: Tensor, state: State) -> tuple[Tensor, NeuralCacheState]:
        hidden, pairs, after = self._looked_up(tokens, state)
        plain = self.model.score_hidden(hidden, targets).exp()  # (B, T)
        same = pairs.symbols[:, None] == targets[..., None]  # (B, T, M)
        cache = (pairs.weights * same).sum(2)
        weight = self.config.weight * pairs.weights.sum(2)
        found = torch.log((1 - weight) * plain + self.config.weight * cache)
        return torch.where(targets == PAD, 0.0, found), after

    def _looked_up(self, tokens: Tensor, state: State) -> tuple[Tensor, _Pairs, NeuralCacheState]:
        """Read, then look back: hidden (B, T, D), the pairs with what each is worth, and the new memory."""
        assert isinstance(state, NeuralCacheState)
        hidden, memory = self.model.read(tokens, state.model)  # (B, T, D)
        vectors = torch.cat([state.last[:, None], hidden], 1)  # (B, 1 + T, D)
        keys = torch.cat([state.keys, vectors[:, :-1]], 1)  # (B, M, D)
        real = tokens != PAD
        known = self._predictable(tokens)  # PAD is not
        if tokens.shape[1]:
            known[:, 0] &= state.begun
        symbols = torch.cat([state.symbols, torch.where(known, tokens, PAD)], 1)  # (B, M)
        scores = self.config.theta * (hidden @ keys.transpose(1, 2))  # (B, T, M)
        weights = _softmax(scores, self._visible(symbols, tokens.shape[1]), self.config.prior)
        last = vectors[torch.arange(len(tokens)), real.sum(1)]  # (B, D), rows are padded on the right
        kept, held = _newest(keys, symbols, self.config.size)
        after = NeuralCacheState(memory, kept, held, last, state.begun | real.any(1))
        return hidden, _Pairs(symbols, weights), after

    def _predictable(self, symbols: Tensor) -> Tensor:
        """Which symbols are ever predicted: the cache keeps no others."""
        suppressed = torch.tensor(self.config.suppressed, dtype=torch.long, device=symbols.device)
        return ~torch.isin(symbols, suppressed)

    def _visible(self, symbols: Tensor, columns: int) -> Tensor:
        """Which of the pairs (B, M), the last `columns` being new, each new symbol looks back at (B, T, M).

        The pair of column t is complete once symbol t is read, and it is what comes after it that is predicted.
        """
        known = symbols != PAD
        rank = known.cumsum(1)  # (B, M)
        old = symbols.shape[1] - columns
        newest = rank[:, old:, None]  # (B, T, 1) how many pairs there are at each new symbol
        place = torch.arange(symbols.shape[1], device=symbols.device)
        before = place <= place[old:, None]  # (T, M)
        return known[:, None] & before & (rank[:, None] > newest - self.config.size)

    def score_ids(self, ids: np.ndarray, batch: int = BATCH) -> np.ndarray:
        """A stateful cache reaches back beyond the context of its model; else both start empty in every window."""
        if self.context is not None and not self.config.stateful:
            return score_in_windows(self, ids, batch)
        logs, [cache] = self.cached(ids, [self.config.theta], batch)
        return np.where(ids == BOS, np.float32(0.0), _mixed(logs, cache, self.config.weight))

    def cached(
        self, ids: np.ndarray, thetas: Sequence[float], batch: int = BATCH
    ) -> tuple[np.ndarray, np.ndarray]:
        """Log-probabilities of flat ids under the model (N,), and under the cache for each theta (thetas, N).

        Where the cache has too few pairs for its full weight, the model fills up the rest. Symbols are looked up in
        blocks, by products of matrices.
        """
        symbols = tensor(self, np.asarray(ids))  # (N,)
        logs, caches = np.zeros(len(ids), np.float32), np.zeros((len(thetas), len(ids)), np.float32)
        starts = np.zeros(1, np.int64) if self.config.stateful else sequences(ids)[0]
        keys: CacheKeys | None = None
        for reading in self.model.readings(ids, batch):
            kept = reading[self._predictable(symbols[reading.places]).cpu().numpy()]
            keys = (
                CacheKeys(kept.places, kept.hidden)
                if keys is None
                else keys.with_more(kept, self.config.size)
            )
            logs[reading.places] = reading.logs.cpu().numpy()
            for block in (reading[at : at + BLOCK] for at in range(0, len(reading.places), BLOCK)):
                bounds = keys.visible(block.places, starts, self.config.size)
                caches[:, block.places] = (
                    keys.look_up(block, symbols, bounds, thetas, self.config.prior).cpu().numpy()
                )
        return logs, caches


@dataclass(frozen=True)
class _Pairs:
    """Pairs in the cache and those just read, and what each is worth to every new symbol."""

    symbols: Tensor  # (B, M) PAD where there is none
    weights: Tensor  # (B, T, M) their sum is the share of its weight that the cache has: 0 where it is empty


@dataclass(frozen=True)
class CacheKeys:
    """The keys of a cache over flat ids, in order: the hidden vector before each symbol, and where the symbol lies."""

    places: np.ndarray  # (M,)
    keys: Tensor  # (M, D)

    def with_more(self, reading: Reading, size: int) -> CacheKeys:
        """The newest `size` of these, and those of a reading."""
        places = np.concatenate([self.places[-size:], reading.places])
        return CacheKeys(places, torch.cat([self.keys[-size:], reading.hidden]))

    def visible(self, places: np.ndarray, starts: np.ndarray, size: int) -> tuple[np.ndarray, np.ndarray]:
        """Where the pairs begin and end that a symbol (n,) is predicted from: before it, after the start before it."""
        high = np.searchsorted(self.places, places)  # its own pair is the first that is not seen
        start = starts[np.searchsorted(starts, places, "right") - 1]
        return np.maximum(high - size, np.searchsorted(self.places, start)), high

    def look_up(
        self,
        block: Reading,
        symbols: Tensor,
        bounds: tuple[np.ndarray, np.ndarray],
        thetas: Sequence[float],
        prior: float,
    ) -> Tensor:
        """Log-probability (thetas, n) of a block's symbols under the cache, the rest filled up by the model."""
        begin, end = (torch.as_tensor(one[:, None], device=symbols.device) for one in bounds)  # (n, 1)
        first, last = int(begin.min()), int(end.max())
        dots = block.hidden @ self.keys[first:last].T  # (n, M)
        column = torch.arange(first, last, device=dots.device)
        seen = (column >= begin) & (column < end)  # (n, M)
        same = symbols[self.places[first:last]] == symbols[block.places][:, None]  # (n, M)
        found = torch.stack([(_softmax(dots * theta, seen, prior) * same).sum(1) for theta in thetas])
        rest = 1 - _share(end - begin, prior).squeeze(1)  # (n,)
        return torch.logaddexp(found.log(), rest.log() + block.logs)


def _softmax(scores: Tensor, seen: Tensor, prior: float) -> Tensor:
    """Softmax over the pairs that are seen, times the share of its weight the cache has; 0 where nothing is seen."""
    found = torch.softmax(scores.masked_fill(~seen, -torch.inf), -1).nan_to_num_(0.0)
    return found.mul_(_share(seen.sum(-1, keepdim=True), prior))


def _share(pairs: Tensor, prior: float) -> Tensor:
    """The share of its weight that a cache of so many pairs has: n / (n + prior)."""
    return pairs / (pairs + prior).clamp(min=1e-6)


def _newest(keys: Tensor, symbols: Tensor, size: int) -> tuple[Tensor, Tensor]:
    """The newest `size` pairs of each row, their gaps closed: (B, L, D), (B, L)."""
    known = symbols != PAD
    most = min(size, int(known.sum(1).max())) if known.numel() else 0
    first = symbols.shape[1] - most
    if bool(known.all()):
        return keys[:, first:], symbols[:, first:]
    order = known.long().argsort(stable=True)[:, first:]  # (B, L)
    return keys.gather(1, order[..., None].expand(-1, -1, keys.shape[2])), symbols.gather(1, order)


def _thetas(model: VectorModel, ids: np.ndarray) -> list[float]:
    """What to try: exponents whose spread is from an eighth to sixteen, however large hidden vectors are."""
    hidden = next(iter(model.readings(ids[: 2 * SAMPLE]))).hidden[:SAMPLE]
    spread = float((hidden @ hidden.T).std()) or 1.0
    return [flatness / spread for flatness in FLATNESS]


def _mixed(logs: np.ndarray, cache: np.ndarray, weight: float) -> np.ndarray:
    """log((1 - weight) p + weight p_cache); exactly `logs` where the weight is 0."""
    with np.errstate(divide="ignore"):
        sums: np.ndarray = np.logaddexp(logs + np.log1p(-weight), cache + np.log(weight)).astype(np.float32)
    return sums
