"""The family `vectors`: one vector for every word, whatever stands around it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from chainrule.config import LARGEST_SEED, option
from chainrule.errors import ConfigError, ModelError
from chainrule.models.base import CostForecast, ModelConfig
from chainrule.models.readers import ArrayLearner
from chainrule.models.registry import register
from chainrule.models.state import State, Unremembered
from chainrule.models.vectors.ngrams import buckets_of, own_rows, rows_of
from chainrule.progress import Progress, no_progress
from chainrule.symbols import BOS, EOS, FIRST

if TYPE_CHECKING:
    from torch import Tensor

METHODS = ("skip-gram", "cbow", "glove")
EPOCHS = {"skip-gram": 5, "cbow": 5, "glove": 25}
RATES = {"skip-gram": 0.025, "cbow": 0.05, "glove": 0.05}


@dataclass(frozen=True, kw_only=True)
class VectorsConfig(ModelConfig):
    """Settings of word vectors."""

    method: str = option(
        "skip-gram",
        "skip-gram: a word predicts those around it; cbow: they predict it; glove: co-occurrence counts",
        choices=METHODS,
    )
    width: int = option(100, "numbers of a vector", low=1, high=65_536)
    window: int = option(5, "most words between a word and its context on either side", low=1, high=1000)
    negative: int = option(
        5, "negative sampling: drawn words for every right one (skip-gram, cbow)", low=1, high=1000
    )
    epochs: int | None = option(
        None, "how often to go through the data; not given: 5, with glove 25", low=1, high=1_000_000
    )
    lr: float | None = option(
        None, "initial learning rate; not given: 0.025, with cbow and glove 0.05", low=1e-9, high=1000
    )
    subsample: float = option(
        1e-3, "subsampling: words more frequent than this share are read less often; 0: all", low=0, high=1
    )
    subwords: bool = option(
        False, "fastText: a word is the mean of its character n-grams, so unseen words have vectors"
    )
    ngrams: tuple[int, ...] = option((3, 6), "character n-grams from and to this length", low=1, high=100)
    buckets: int = option(200_000, "rows that character n-grams share", low=1, high=100_000_000)
    x_max: float = option(
        10.0, "glove: pairs seen this often have full weight; 100 for billions of words", low=1e-3, high=1e9
    )
    seed: int = option(1, "seed of initial vectors and of what is drawn", low=0, high=LARGEST_SEED)

    def __post_init__(self) -> None:
        super().__post_init__()
        if len(self.ngrams) != 2 or self.ngrams[0] > self.ngrams[1]:
            told = ",".join(map(str, self.ngrams))
            raise ConfigError(f"--ngrams {told}: give the shortest and the longest length, as in 3,6.")
        if self.subwords and self.method == "glove":
            raise ConfigError("--subwords goes with --method skip-gram or cbow: GloVe counts whole words.")

    @property
    def passes(self) -> int:
        return EPOCHS[self.method] if self.epochs is None else self.epochs

    @property
    def rate(self) -> float:
        return RATES[self.method] if self.lr is None else self.lr


@dataclass(frozen=True)
class Sentences:
    """What vectors are learnt from."""

    ids: np.ndarray  # (positions,) flat sequences `BOS … EOS`
    words: Sequence[str] = ()  # (V - FIRST,) how each is spelt, for sub-words


@register("vectors")
class WordVectors(ArrayLearner):
    """A table: reading is looking up."""

    Config: ClassVar[type[ModelConfig]] = VectorsConfig
    config: VectorsConfig
    task: ClassVar[str] = "vectors"
    codec: ClassVar[str | None] = "words"
    codec_settings: ClassVar[Mapping[str, Any]] = {"min_count": 5}

    def __init__(
        self, config: VectorsConfig, arrays: Mapping[str, np.ndarray], notes: tuple[str, ...] = ()
    ) -> None:
        self.config, self.notes = config, notes
        self.table = arrays["vectors"]  # (V, D), zeros for special ids
        self.buckets = arrays.get("buckets")  # (buckets, D), the n-grams' part of words
        odd = next((name for name, one in arrays.items() if one.dtype != np.float32), None)
        if odd is not None:
            raise ModelError(
                f"The array {odd!r} is of {arrays[odd].dtype} and not of float32: it is damaged."
            )
        if self.table.shape != (config.vocab_size, config.width):
            raise ModelError(
                f"The array 'vectors' has the shape {self.table.shape}, and the config says "
                f"{(config.vocab_size, config.width)}: one of them is damaged."
            )
        self.width = config.width

    @classmethod
    def learn(
        cls, config: Any, given: Sentences, progress: Progress = no_progress, valid: Sentences | None = None
    ) -> Self:
        from chainrule.models.vectors import glove
        from chainrule.models.vectors.learn import Rows, Words, stream_of, train

        stream, size = stream_of(given.ids), config.vocab_size - FIRST
        if not (stream >= 0).any():
            raise ConfigError("No word is frequent enough to have a vector. Lower --min-count.")
        if config.method == "glove":
            return cls(config, _with_specials(glove.train(config, stream, size, progress)))
        counts = Words(np.bincount(stream[stream >= 0], minlength=size))
        if config.subwords:
            rows = Rows(*rows_of(given.words, config.ngrams, config.buckets), size + config.buckets)
        else:
            rows = Rows(*own_rows(size), size)
        vectors, table = train(config, stream, counts, rows, progress)
        buckets = {"buckets": table[size:].copy()} if config.subwords else {}
        return cls(config, {**_with_specials(vectors), **buckets})

    @classmethod
    def tiny(cls, seed: int = 0) -> Self:
        rng = np.random.default_rng(seed)
        ids = np.array([[BOS, *rng.integers(FIRST, 9, 6), EOS] for _ in range(20)], np.int32)
        return cls.learn(VectorsConfig(vocab_size=9, width=4, epochs=2), Sentences(ids.ravel()))

    def start(self, batch: int, source: Any = None) -> Unremembered:
        import torch

        if source is not None:
            raise ModelError("Word vectors read no source. Leave it out.")
        return Unremembered(torch.empty(batch, 0))

    def read(self, tokens: Tensor, state: State) -> tuple[Tensor, State]:
        """The vectors (B, T, D); zeros for special ids."""
        import torch

        return torch.from_numpy(self.table[tokens.numpy()]), state

    def spelt(self, word: str) -> np.ndarray | None:
        """The vector (D,) of a word that is not in the vocabulary, from its n-grams; None: nothing is known of it."""
        if self.buckets is None:
            return None
        found = buckets_of(word, self.config.ngrams, self.config.buckets)
        return self.buckets[found].mean(0) if found else None

    @classmethod
    def cost_forecasts(
        cls, sample: np.ndarray, vocab_size: int, symbols: int, seconds: float | None = None
    ) -> Mapping[str, CostForecast]:
        """Of 100 numbers a word and five epochs."""
        return {cls.family: CostForecast(200_000_000 + 800 * vocab_size + 8 * symbols, 2.0 + 1e-5 * symbols)}

    def arrays(self) -> Mapping[str, np.ndarray]:
        own = {} if self.buckets is None else {"buckets": self.buckets}
        return {"vectors": self.table, **own}

    @classmethod
    def from_arrays(cls, config: Any, arrays: Mapping[str, np.ndarray]) -> Self:
        return cls(config, arrays)


def _with_specials(vectors: np.ndarray) -> dict[str, np.ndarray]:
    """With rows of zeros for PAD, BOS, EOS, UNK and MASK."""
    nothing = np.zeros((FIRST, vectors.shape[1]), np.float32)
    return {"vectors": np.concatenate([nothing, vectors])}
