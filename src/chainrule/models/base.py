"""The protocol of models: `read`, the one call every model answers.

Letters in shape comments, everywhere: B rows, T symbols newly read, S source positions, V vocabulary,
D width, L remembered symbols, H heads, K beam.

A `Body` here is no `torch.nn.Module` yet (`models.neural.Neural` is): counting models are arrays and
numbers, and importing torch takes two seconds that `chainrule score` on an n-gram need not spend.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self, final

import numpy as np

from chainrule.config import Config, option
from chainrule.errors import ModelError
from chainrule.models.state import State
from chainrule.progress import Progress, no_progress
from chainrule.runtime import step_begins
from chainrule.symbols import BOS, IDS, MASK, PAD

if TYPE_CHECKING:
    from torch import Tensor

CHUNK = 1 << 22  # most logits held at once while scoring (B * T * V), 16 MiB of float32
SPELLINGS = "spellings"  # how the array is called that says how words are spelled
BATCH = 64  # rows scored side by side unless told otherwise


@dataclass(frozen=True, kw_only=True)
class ModelConfig(Config):
    """What every family is told: its vocabulary, and which ids of it are never predicted."""

    vocab_size: int = option(0, "how many ids there are", low=0, high=IDS, hidden=True)
    suppressed: tuple[int, ...] = option(
        (PAD, BOS, MASK), "ids that are read, never predicted", low=0, high=IDS, hidden=True
    )

    @property
    def word_letters(self) -> int:
        """How many letters of a word are read; 0: words are known by their ids alone."""
        return 0


@dataclass(frozen=True, kw_only=True)
class SourceConfig(ModelConfig):
    """What an encoder-decoder is told: the vocabulary of its source, too."""

    source_size: int = option(
        0, "how many ids there are in the source; 0: those of the target", low=0, high=IDS, hidden=True
    )


@dataclass(frozen=True, kw_only=True)
class AnySourceConfig(SourceConfig):
    """What an encoder-decoder is told that writes from anything: what each of its sources is made of."""

    source_kinds: tuple[str, ...] = option(
        (), "what sources are: symbols, frames or images; none said: one source of symbols", hidden=True
    )
    source_sizes: tuple[int, ...] = option(
        (),
        "of each its ids, or numbers of a frame; 0: ids of the target, -k: of source k",
        low=-64,
        high=1_000_000_000,
        hidden=True,
    )
    source_strides: tuple[int, ...] = option(
        (), "of each how many frames a convolution reads as one", low=1, high=64, hidden=True
    )
    source_window: int = option(
        512,
        "columns of the last source that are read at once; a longer one is read in overlapping windows",
        low=8,
        high=1_000_000,
    )


@dataclass(frozen=True, kw_only=True)
class FrameConfig(ModelConfig):
    """What a family is told that can read frames, vectors of real numbers, in the place of symbols."""

    features: int = option(0, "numbers of a frame; 0: symbols are read", low=0, high=1 << 20, hidden=True)

    @property
    def letters_read(self) -> int:
        """How many letters of a word are read, where words are."""
        return 0

    @property
    def word_letters(self) -> int:
        """A frame is spelled by its numbers, a word by its letters."""
        return self.features or self.letters_read


@dataclass(frozen=True)
class CostForecast:
    """What training would cost."""

    memory: int  # bytes
    seconds: float
    options: Mapping[str, Any] = field(default_factory=dict)  # what a user would ask for to get it


class Body(ABC):
    """Reads symbols and remembers something: hidden vectors for a head, a probe or an output layer.

    A method here is either abstract or final: nobody overrides what another class has written.
    """

    family: ClassVar[str] = ""
    Config: ClassVar[type[ModelConfig]] = ModelConfig
    learner: ClassVar[Literal["count", "gradient"] | None] = None  # None: it is made of trained models
    task: ClassVar[str] = "next"  # what it is trained for if not given
    codec: ClassVar[str | None] = (
        None  # what it reads text with, if no codec is asked for; None: what suits the text
    )
    codec_settings: ClassVar[Mapping[str, Any]] = {}  # of its codec, where a user gives none
    reads: Literal["left", "both"] = "left"  # hidden[:, t] has seen symbols up to t, or all of them
    pooling: ClassVar[str] = "mean"  # how its hidden vectors become one, for heads that want one
    pairs: ClassVar[Literal["apart", "together"] | None] = (
        "apart"  # two texts: one by one, as one, not at all
    )
    alignment: ClassVar[str | None] = None  # the tap of its attention to a source, see `use.align`
    context: int | None = None  # most symbols it can hold; None: no limit
    markov_order: int | None = None  # of how many of the last symbols alone the future depends; None: of all
    stateful: bool = False  # the state is carried from one sequence to the next, as in running text
    width: int = 0  # D, the numbers of a hidden vector; 0: what it reads out is no vector
    config: ModelConfig

    @abstractmethod
    def start(self, batch: int, source: Any = None) -> State:
        """The memory of having read nothing; a source is encoded here, once, into the state's field `source`."""

    @abstractmethod
    def read(self, tokens: Tensor, state: State) -> tuple[Tensor, State]:
        """Read `tokens` (B, T): hidden vectors (B, T, D), and the new memory.

        Rows of unequal length are padded on the right with PAD, and PAD leaves a row's memory as it was.
        """

    @final
    def rewound(self, state: State, before: State, tokens: Tensor) -> State:
        """The memory after only `tokens` (B, T), the beginning of what was read from `before` to `state`.

        `state` is given up: it must not be used any more.
        """
        cropped = state.cropped(before, tokens)
        return self.read(tokens, before)[1] if cropped is None else cropped

    @property
    @abstractmethod
    def device(self) -> Any:
        """Where the tensors given to `read` must live."""

    @abstractmethod
    def inference(self, symbols: int = 0) -> AbstractContextManager[None]:
        """Inference mode: no gradients are kept and nothing is dropped out.

        A step that reads so many `symbols` at once gets as many threads as such steps are fastest with.
        """

    @abstractmethod
    def compressed(self) -> Self:
        """A copy for inference, its weights quantised to eight bits (int8)."""

    @classmethod
    @abstractmethod
    def tiny(cls, seed: int = 0) -> Self:
        """The smallest useful instance, for laws and bug reports: about 9 ids, room for 12 symbols."""

    @classmethod
    @abstractmethod
    def cost_forecasts(
        cls, sample: np.ndarray, vocab_size: int, symbols: int, seconds: float | None = None
    ) -> Mapping[str, CostForecast]:
        """What training on `symbols` symbols like those of `sample` would cost, for the sizes users may choose.

        `seconds` is a budget, for families that fit themselves to one.
        """

    @abstractmethod
    def arrays(self) -> Mapping[str, np.ndarray]:
        """Everything learnt, by name: what a bundle saves."""

    @classmethod
    @abstractmethod
    def from_arrays(cls, config: Any, arrays: Mapping[str, np.ndarray]) -> Self:
        """The same model again from its config and what `arrays` gave; large arrays arrive memory-mapped."""

    @final
    @property
    def parameters_count(self) -> int:
        """How many numbers it has learnt."""
        return learnt(self.arrays())


class LanguageModel(Body):
    """A body with a softmax over symbols: it predicts the next one or, reading both ways, that at each place."""

    @abstractmethod
    def logits(self, hidden: Tensor) -> Tensor:
        """(B, T, D) -> (B, T, V), -inf for symbols that are never predicted."""

    @abstractmethod
    def score(self, tokens: Tensor, targets: Tensor, state: State) -> tuple[Tensor, State]:
        """Natural log-probability of each target (B, T), 0 where it is PAD, never holding B*T*V at once."""

    @abstractmethod
    def score_ids(self, ids: np.ndarray, batch: int = BATCH) -> np.ndarray:
        """Natural log-probability of every symbol of whole sequences `BOS x_1 … x_T EOS`, flat; 0 at BOS.

        A model that reads both ways is asked for each symbol in turn with that symbol masked.
        """


class ArrayBody(Body):
    """A body that is no module: arrays on the CPU, from which torch is used as little as possible."""

    @final
    @property
    def device(self) -> Any:
        return "cpu"

    @final
    @contextmanager
    def inference(self, symbols: int = 0) -> Iterator[None]:
        import torch

        step_begins()
        with torch.no_grad(), _threads(self, symbols):
            yield

    @final
    def compressed(self) -> Self:
        raise ModelError(f"Eight bits are for models that learn by gradient, not for a {self.family}.")


class ArrayModel(ArrayBody, LanguageModel):
    """A language model that is no module."""


def _threads(model: ArrayBody, symbols: int) -> AbstractContextManager[None]:
    """Only models with vectors inside gain by several."""
    if not symbols or model.learner == "count":
        return nullcontext()
    from chainrule.nn.threads import fastest

    return fastest(model, symbols)


class CountingModel(ArrayModel):
    """A language model made by counting: one pass over the data."""

    learner: ClassVar[Literal["count", "gradient"] | None] = "count"
    notes: tuple[str, ...] = ()  # what there is to say about how it was made

    @classmethod
    @abstractmethod
    def learn(
        cls, config: Any, ids: np.ndarray, progress: Progress = no_progress, valid: np.ndarray | None = None
    ) -> Self:
        """Count flat sequences `BOS … EOS`; what is left open is chosen on the ids `valid`."""


def learnt(arrays: Mapping[str, np.ndarray]) -> int:
    """How many numbers of these were learnt: spellings of words are not."""
    return sum(array.size for name, array in arrays.items() if not name.endswith(SPELLINGS))


def log_total(logits: Tensor) -> Tensor:
    """What to subtract from logits (…, V) to make them log-probabilities (…).

    It is 0 where no symbol is possible at all, so that -inf stays -inf and never becomes NaN.
    """
    import torch

    total = logits.logsumexp(-1)
    return total.masked_fill(total == -torch.inf, 0.0)
