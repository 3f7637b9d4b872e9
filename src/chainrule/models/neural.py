"""Neural models: bodies that are `torch.nn.Module`s and learn by gradient."""

from __future__ import annotations

import time
from abc import abstractmethod
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext
from copy import deepcopy
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, ClassVar, Literal, Self, final

import numpy as np
import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from chainrule.config import option, share
from chainrule.errors import ModelError
from chainrule.models.base import BATCH, Body, CostForecast, FrameConfig, ModelConfig
from chainrule.models.readings import Reading, VectorModel, readings
from chainrule.models.sizing import EPOCHS, MOST, Workload, reader, recurrent, softmax_weights
from chainrule.models.state import State
from chainrule.models.windows import score_hidden_by_logits, score_in_windows
from chainrule.nn.attention import Block
from chainrule.nn.dropout import Dropout
from chainrule.nn.frames import FrameProjection, vectors_of
from chainrule.nn.int8 import compress
from chainrule.nn.product import Linear, bf16_pays
from chainrule.nn.softmax import START, SoftmaxOutput
from chainrule.nn.spelled import Spelled
from chainrule.nn.threads import fastest
from chainrule.runtime import step_begins
from chainrule.symbols import FIRST, PAD

TABLES = ("embedding.weight", "output.weight", "output.bias")  # a row for every symbol
TIED = ("auto", "yes", "no")
PROCESS, STARTING = 700_000_000, 4.0  # bytes and seconds that torch takes beside what is learnt


@cache
def _rate() -> float:
    """FLOPS of a matrix product on this machine."""
    left, right = torch.ones(512, 512), torch.ones(512, 512)
    taken = []
    for _ in range(5):
        began = time.perf_counter()
        torch.mm(left, right)
        taken.append(time.perf_counter() - began)
    return 2 * 512**3 / min(taken)


def training_speed(bf16: bool) -> float:
    """FLOPS at which a model of middling size trains."""
    return (1.2 if bf16 else 0.75) * _rate()


class Neural(nn.Module, Body):
    """A body that learns by gradient; its arrays are the tensors of its state dict."""

    learner: ClassVar[Literal["count", "gradient"] | None] = "gradient"

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.config = config

    @final
    def compressed(self) -> Self:
        model = deepcopy(self)
        compress(model)
        for part in model.modules():
            if isinstance(part, SoftmaxOutput):
                part.compress()
        return model

    @final
    def respelled(self, spellings: np.ndarray, more: np.ndarray | None = None) -> Self:
        """The same weights, its symbols spelled so (V, C), and `more` (X, C) beyond the vocabulary, read alone.

        An id from V on is known by its letters, or by its numbers, only, and is not saved.
        """
        weights = {id(one): one for one in (*self.parameters(), *self.buffers())}
        model = deepcopy(self, weights)
        for part in model.modules():
            if isinstance(part, Spelled):
                part.spell(spellings, spellings[:0] if more is None else more)
        return model

    @final
    @property
    def device(self) -> torch.device:
        return next(self.parameters()).device

    @final
    @contextmanager
    def inference(self, symbols: int = 0) -> Iterator[None]:
        step_begins()
        learning = [module for module in self.modules() if module.training] if self.training else []
        try:
            for module in learning:
                module.training = False
            with torch.no_grad(), fastest(self, symbols) if symbols else nullcontext():
                yield
        finally:
            for module in learning:
                module.training = True

    @final
    @classmethod
    def seeded(cls, config: ModelConfig, seed: int) -> Self:
        """A fresh model whose weights depend on `seed` alone; the global randomness is left as it was."""
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            return cls(config).eval()

    @classmethod
    @abstractmethod
    def suggest(cls, config: Any, workload: Workload, given: Mapping[str, Any]) -> dict[str, Any]:
        """Settings, of the model and of its training, that suit a workload, beside those `given`."""

    @final
    def matrices(self) -> Iterator[Tensor]:
        """Weights that turn vectors into vectors inside a network, for optimisers that know what matrices are."""
        return (one.weight for block in self.modules() if isinstance(block, Block) for one in block.linears)

    @final
    def arrays(self) -> Mapping[str, np.ndarray]:
        """A tensor that two layers share is kept once, under its first name."""
        values, first = self.state_dict(), self._first_names()
        return {name: values[name].detach().cpu().numpy() for name in values if first[name] == name}

    @final
    @classmethod
    def from_arrays(cls, config: Any, arrays: Mapping[str, np.ndarray]) -> Self:
        cls._check_shapes(config, arrays)
        model = cls(config)
        values = {name: torch.from_numpy(np.array(value)) for name, value in arrays.items()}
        shared = {name: values[first] for name, first in model._first_names().items() if first in values}
        model.load_state_dict(values | shared)
        return model.eval()

    @classmethod
    def _check_shapes(cls, config: Any, arrays: Mapping[str, np.ndarray]) -> None:
        """Refuse arrays of other sizes than the config says, before memory is taken for these."""
        with _Uninitialised(), torch.device("meta"):
            wanted = {name: tuple(value.shape) for name, value in cls(config).state_dict().items()}
        for name, array in arrays.items():
            if wanted.get(name, array.shape) != array.shape:
                raise ModelError(
                    f"The array {name!r} has the shape {array.shape}, and the config says {wanted[name]}: one of "
                    "them is damaged."
                )

    def _first_names(self) -> dict[str, str]:
        """For every name of a tensor, the first name of the same tensor."""
        first: dict[int, str] = {}
        return {
            name: first.setdefault(id(value), name) for name, value in self.state_dict(keep_vars=True).items()
        }


class _Uninitialised(TorchFunctionMode):
    """Tensors without memory are not filled with anything: torch imports its compilers to do so, for a second."""

    def __torch_function__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        given = dict(kwargs or {})
        filled = args[0] if args else given.get("tensor")
        fills = func.__name__.endswith("_") and not func.__name__.startswith("_")
        if fills and isinstance(filled, Tensor) and filled.is_meta:
            return filled
        return func(*args, **given)


@dataclass(frozen=True, kw_only=True)
class NeuralConfig(FrameConfig):
    """Settings of all neural language models: embeddings, layers and a softmax."""

    softmax: bool = option(True, "it predicts symbols; else a head stands on it", hidden=True)
    layers: int = option(1, "number of layers", low=1, high=64)
    width: int = option(256, "hidden size: units of a layer", low=1, high=65_536, chosen=True)
    embedding: int | None = option(None, "embedding size, --width at most", low=1, high=65_536, chosen=True)
    tied: str = option(
        "auto",
        "weight tying: one table of embeddings for input and output; auto: if sizes match",
        choices=TIED,
        chosen=True,
    )
    dropout: float = option(0.0, "dropout between layers while training", low=0.0, high=0.99, chosen=True)
    embedding_dropout: float = option(
        0.0, "embedding dropout: share of symbols dropped while training", low=0.0, high=0.99
    )
    sampled_softmax: int = option(
        0,
        "sampled softmax: train against so many drawn symbols instead of all; 0: all of them",
        low=0,
        high=100_000_000,
        chosen=True,
    )
    bf16: bool | None = option(
        None,
        "train with matrix products in bfloat16; chosen: where the machine has instructions for them",
        chosen=True,
    )

    @property
    def vector(self) -> int:
        """The embedding size."""
        return self.embedding or self.width

    @property
    def shared(self) -> bool:
        """Whether input and output embeddings are tied."""
        return self.tied == "yes" or (self.tied == "auto" and self.vector == self.width)


@dataclass(frozen=True, kw_only=True)
class StatefulConfig(NeuralConfig):
    """Settings of models whose state reaches back without limit."""

    stateful: bool = option(
        False, "carry the state from one sequence to the next, as in running text line by line"
    )


class NeuralLanguageModel(Neural, VectorModel):
    """Embeddings of symbols at one end and a softmax over them at the other; `read` is the family's.

    With tied embeddings one table serves both ends. What `read` gives is brought to the width of the softmax by
    `projection`, if it must be.
    """

    config: NeuralConfig
    sizes = staticmethod(recurrent)  # chooses settings that are not given
    reader_sizes = staticmethod(reader)  # the same for a body under a head

    def __init__(
        self,
        config: NeuralConfig,
        width: int,
        *,
        projection: nn.Module | None = None,
        dropout: str = "plain",
        bias: bool = True,
    ) -> None:
        """`width` is that of the hidden vectors."""
        super().__init__(config)
        self.width = width
        self.embedding = nn.Embedding(config.vocab_size, config.vector)
        nn.init.uniform_(self.embedding.weight, -START, START)
        count, features = config.vocab_size, config.features
        self.frames = FrameProjection(count, features, config.vector) if features else None
        self.dropout = Dropout(config.dropout, dropout)
        if config.softmax:
            self._make_softmax(projection, bias)

    def _make_softmax(self, projection: nn.Module | None, bias: bool) -> None:
        """The output layer; a body for a head has none."""
        config, width = self.config, self.width
        wide = config.vector if config.shared else width
        self.projection = projection or (Linear(width, wide, bias=False) if wide != width else nn.Identity())
        table = self.embedding.weight if config.shared else None
        self.output = SoftmaxOutput(wide, config.vocab_size, config.suppressed, table, bias)

    @final
    @classmethod
    def cost_forecasts(
        cls, sample: np.ndarray, vocab_size: int, symbols: int, seconds: float | None = None
    ) -> Mapping[str, CostForecast]:
        """What is chosen when nothing is asked for: six operations a weight and symbol."""
        config, asked = cls.Config(vocab_size=vocab_size), min(EPOCHS * symbols, MOST)
        workload = Workload(vocab_size, symbols, seconds, asked, training_speed(bf16_pays()))
        chosen = share(cls.suggest(config, workload, {}), cls.Config)
        inner, tables = cls.weights(replace(config, **chosen))
        needed = inner + softmax_weights(workload, chosen)
        reading = workload.reading(needed)
        taken = seconds or STARTING + 6.0 * reading * needed / workload.speed
        name = f"{cls.family}, {reading / max(1, symbols):.3g} epochs"
        return {name: CostForecast(PROCESS + 20 * (inner + tables) + 4 * symbols, taken)}

    @final
    @classmethod
    def weights(cls, config: Any) -> tuple[int, int]:
        """How many there would be between the two tables, and in them."""
        made: Any = cls  # a family takes its config alone
        with _Uninitialised(), torch.device("meta"):  # sizes only, no memory
            model = made(config)
        total = sum(one.numel() for one in model.parameters())
        ends = {model.embedding.weight, *([model.output.weight] if config.softmax else [])}
        tables = sum(one.numel() for one in ends)
        return total - tables, tables

    @final
    @classmethod
    def suggest(cls, config: Any, workload: Workload, given: Mapping[str, Any]) -> dict[str, Any]:
        if not replace(config, embedding=config.width).shared:  # whatever the widths, there are two tables
            given = {**given, "tied": "no"}
        if not config.softmax:  # no softmax to read, no tables to tie
            workload, given = replace(workload, vocab_size=1), {**given, "tied": "no"}
        sizes = cls.sizes if config.softmax else cls.reader_sizes
        return sizes(workload, given, lambda settings: cls.weights(replace(config, **settings))[0])

    @final
    def grown(self, vocab_size: int, suppressed: tuple[int, ...]) -> Self:
        """The same model with more symbols; those there are keep their ids and vectors.

        A new row of a table is the mean of the others. So a new symbol has about the logit of an average one, and takes
        at most its share of the probability from the old ones (Hewitt 2021).
        """
        config = replace(self.config, vocab_size=vocab_size, suppressed=suppressed)
        more = vocab_size - self.config.vocab_size
        tables = {name: grown_table(self.arrays()[name], more) for name in TABLES if name in self.arrays()}
        return self.from_arrays(config, {**self.arrays(), **tables})

    @final
    def set_unigram_counts(self, ids: np.ndarray) -> None:
        """Sampled softmax draws symbols by how often they occur in these ids."""
        if self.config.softmax and self.config.sampled_softmax:
            self.output.propose(torch.from_numpy(np.bincount(ids, minlength=self.config.vocab_size)))

    @final
    def vectors(self, tokens: Tensor) -> Tensor:
        """Embeddings (B, T, E) of symbols (B, T), with dropout while training."""
        share = self.config.embedding_dropout
        found = vectors_of(tokens, self.embedding.weight, self.frames, share, self.training)
        return self.dropout(found)  # type: ignore[no-any-return]

    @final
    def logits(self, hidden: Tensor) -> Tensor:
        return self.output.logits(self.projection(hidden))

    @final
    def cross_entropy(self, hidden: Tensor, targets: Tensor, smoothing: float = 0.0) -> Tensor:
        """Cross-entropy: the sum of nats over targets (B, T) that are not PAD, after hidden (B, T, D)."""
        rows, wanted = asked(hidden, targets)  # (N, D), (N,)
        bf16 = self.training and bool(self.config.bf16)
        if not (self.training and self.config.sampled_softmax):
            return self.output.loss(self.projection(rows), wanted, smoothing, bf16)
        if smoothing:
            raise ModelError(
                "--sampled-softmax and --label-smoothing do not go together. Give up one of the two."
            )
        return self.output.sampled_loss(self.projection(rows), wanted, self.config.sampled_softmax, bf16)

    @final
    def score(self, tokens: Tensor, targets: Tensor, state: State) -> tuple[Tensor, State]:
        hidden, state = self.read(tokens, state)  # (B, T, D)
        return self.score_hidden(hidden, targets), state

    @final
    def score_hidden(self, hidden: Tensor, targets: Tensor) -> Tensor:
        if torch.is_grad_enabled():
            return score_hidden_by_logits(self, hidden, targets)
        rows, wanted = asked(hidden, targets)
        found = self.output.score(self.projection(rows), wanted).float()  # (N,)
        if found.numel() == targets.numel():
            return found.view(targets.shape)
        return found.new_zeros(targets.shape).index_put((targets != PAD,), found)

    @final
    def score_ids(self, ids: np.ndarray, batch: int = BATCH) -> np.ndarray:
        return score_in_windows(self, ids, batch)

    @final
    def readings(self, ids: np.ndarray, batch: int = BATCH) -> Iterator[Reading]:
        return readings(self, np.asarray(ids), batch)


def grown_table(table: np.ndarray, more: int) -> np.ndarray:
    """A table (V, …) with `more` rows, the mean of those of ordinary symbols."""
    mean = table[FIRST:].mean(0, keepdims=True)  # (1, …)
    return np.concatenate([table, np.repeat(mean, more, 0)])


def asked(hidden: Tensor, targets: Tensor) -> tuple[Tensor, Tensor]:
    """Rows (N, D) of hidden vectors and their targets (N,), where a target (B, T) is not PAD."""
    real = targets != PAD
    if bool(real.all()):
        return hidden.flatten(0, 1), targets.flatten()
    return hidden[real], targets[real]
