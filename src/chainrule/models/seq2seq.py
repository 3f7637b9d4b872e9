"""The family `seq2seq`: an encoder reads the source, a recurrent decoder writes, with attention or without.

Without it, the last state of the encoder starts the decoder (Sutskever et al. 2014), and may be read at every step as
well (Cho et al. 2014). With it, every symbol looks at the source: before its step (Bahdanau et al. 2015) or after it
(Luong et al. 2015).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar, Self

import torch
from torch import Tensor, nn

from chainrule.config import option
from chainrule.errors import ConfigError
from chainrule.models.base import AnySourceConfig, ModelConfig
from chainrule.models.decoder import init_weights
from chainrule.models.neural import NeuralConfig, NeuralLanguageModel
from chainrule.models.registry import register
from chainrule.models.sizing import sequence_to_sequence
from chainrule.models.state import State
from chainrule.models.transformer import Encoder, EncoderDecoderConfig
from chainrule.nn import alignment, tap
from chainrule.nn.alignment import Alignment, AlignmentHistory, AttendedSource
from chainrule.nn.attentive import AttentiveDecoder, Memories, SummaryDecoder, Written
from chainrule.nn.cells import Cell, GruAfterCell, LstmCell, RnnCell
from chainrule.nn.dropout import Dropout
from chainrule.nn.product import Linear
from chainrule.nn.recurrent import Direction, Stack, layer, lengths_of
from chainrule.nn.sources import Columns, SourceEncoder

CELLS: dict[str, Callable[[int, int], Cell]] = {"rnn": RnnCell, "gru": GruAfterCell, "lstm": LstmCell}
LATE = (
    "dot",
    "general",
)  # forms of attention whose context is computed after the step, unless told otherwise


@dataclass(frozen=True, kw_only=True)
class Seq2SeqConfig(NeuralConfig, AnySourceConfig):
    """Settings of recurrent encoder-decoders: cells, layers, attention and what it looks at."""

    cell: str = option("lstm", "cell of encoder and decoder", choices=tuple(CELLS))
    layers: int = option(1, "layers of the decoder", low=1, high=64, chosen=True)
    encoder: str = option("recurrent", "the encoder", choices=("recurrent", "transformer"))
    encoder_layers: int | None = option(
        None, "layers of the encoder; as many as --layers if not given", low=1, high=64
    )
    encoder_width: int | None = option(
        None,
        "units of a recurrent encoder, of both directions together; --width if not given",
        low=1,
        high=65_536,
    )
    bidirectional: bool = option(True, "a recurrent encoder reads both ways")
    heads: int = option(4, "attention heads of a Transformer encoder", low=1, high=4096)
    attention: str = option(
        "general",
        "attention: the score of a query q and a source vector F_j; dot: q F_j, general: q W F_j, lecture: the same "
        "before the step, additive: v tanh(W q + U F_j); none: the decoder knows nothing but the last state",
        choices=("none", *alignment.KINDS),
    )
    attention_width: int | None = option(
        None, "units of additive attention; --width if not given", low=1, high=65_536
    )
    context_from: str | None = option(
        None,
        "the state that the context is computed from; previous: before the step, which reads it (Bahdanau), current: "
        "after the step, joined to it (Luong); not given: current for dot and general, else previous",
        choices=("previous", "current"),
    )
    input_feeding: bool = option(False, "what was last read out is an input of the next step (Luong)")
    source_vectors: str = option(
        "states",
        "what is attended to: states of the encoder, or embeddings",
        choices=("states", "embeddings"),
    )
    diagonal_bias: bool = option(False, "attention: learn to stay near the diagonal")
    jump_bias: bool = option(False, f"attention: learn which jumps of up to {alignment.REACH} are likely")
    fertility_bias: bool = option(False, "attention: learn how often a position is looked at (coverage)")
    summary: str = option(
        "start",
        "with --attention none: the last state of the encoder starts the decoder, or is read at every step as well",
        choices=("start", "every-step"),
    )

    def check(self) -> None:
        """Whether settings fit together; asked when a model is made, for some may be left to be chosen."""
        for part, size, count in (
            ("a Transformer encoder", self.vector, 2 * self.heads if self.encoder == "transformer" else 1),
            ("an encoder that reads both ways", self.units, 2 if self.bidirectional else 1),
        ):
            if size % count:
                raise ConfigError(f"The width of {part}, {size}, must be a multiple of {count}: change it.")
        if self.attention == "none" and self._needs_attention:
            raise ConfigError(
                f"--{self._needs_attention[0]} is about attention: leave it out, or add --attention general."
            )
        if self.attention != "none" and self.summary != "start":
            raise ConfigError("--summary every-step goes with --attention none.")
        if self.attention == "dot" and self.width != self.attended:
            raise ConfigError(
                f"--attention dot multiplies states of {self.width} numbers with source vectors of {self.attended}. "
                "Take --attention general, or make them equally wide."
            )

    @property
    def _needs_attention(self) -> list[str]:
        """Settings given that mean nothing without attention."""
        names = ("input_feeding", "diagonal_bias", "jump_bias", "fertility_bias", "context_from")
        return [name.replace("_", "-") for name in names if getattr(self, name)]

    @property
    def units(self) -> int:
        """Of the encoder, of both directions together."""
        return self.encoder_width or self.width

    @property
    def summarised(self) -> int:
        """Numbers of a state of the encoder."""
        return self.vector if self.encoder == "transformer" else self.units

    @property
    def attended(self) -> int:
        """Numbers of a vector that is attended to."""
        return self.vector if self.source_vectors == "embeddings" else self.summarised

    @property
    def before(self) -> bool:
        """Whether the context is computed before the step."""
        return (self.context_from or ("current" if self.attention in LATE else "previous")) == "previous"

    @property
    def plain(self) -> bool:
        """Whether the hidden vector is the decoder's alone."""
        return self.attention == "none" and self.summary == "start"


@dataclass(frozen=True)
class Seq2SeqState(State):
    """For every layer of the decoder its hidden vector, and an LSTM's cell; what attention needs; the source."""

    memories: Memories  # (B, D) each
    fed: Tensor | None  # (B, R)
    history: AlignmentHistory | None
    source: AttendedSource | None


@register("seq2seq")
class Seq2Seq(NeuralLanguageModel):
    """p(x_t | x_<t, source) by a recurrent network."""

    Config: ClassVar[type[ModelConfig]] = Seq2SeqConfig
    task: ClassVar[str] = "translate"
    codec: ClassVar[str | None] = "subwords"
    alignment: ClassVar[str | None] = "decoder.attention.weights"
    config: Seq2SeqConfig
    sizes = reader_sizes = staticmethod(sequence_to_sequence)

    def __init__(self, config: Seq2SeqConfig) -> None:
        config.check()
        super().__init__(config, config.width if config.plain else config.vector)
        if not config.shared:  # what a table of both ends begins with would hardly move a cell
            nn.init.normal_(self.embedding.weight)
        told = (config.source_kinds, config.source_sizes, config.source_strides)
        told = told if config.source_kinds else (("symbols",), (config.source_size,), (1,))
        self.sources = SourceEncoder.of(*told, config.vector, self.embedding)
        self.encoder = (
            TransformerEncoder(config) if config.encoder == "transformer" else RecurrentEncoder(config)
        )
        self.bridge = Bridge(config)
        self.decoder = _decoder(config)

    @classmethod
    def tiny(cls, seed: int = 0) -> Self:
        return cls.seeded(Seq2SeqConfig(vocab_size=9, source_size=9, layers=2, width=8), seed)

    def start(self, batch: int, source: Any = None) -> Seq2SeqState:
        """A source is what a batch holds of it, see `nn.sources`; without one, there is nothing to attend to."""
        columns = self._nothing(batch) if source is None else self.sources(source)
        vectors = tap.tell(self, "source", self.dropout(columns.vectors))  # (B, S, E)
        encoded = self.encoder(replace(columns, vectors=vectors))
        attended = vectors if self.config.source_vectors == "embeddings" else self.dropout(encoded.vectors)
        found = self.decoder.attend(attended, encoded.summary, columns.real)
        return _state(self.decoder.start(self.bridge(encoded), found), found)

    def _nothing(self, batch: int) -> Columns:
        """A source of padding."""
        vectors = self.embedding.weight.new_zeros(batch, 1, self.config.vector)
        return Columns(vectors, vectors[..., 0] > 0, torch.zeros(1, dtype=torch.long, device=self.device))

    def read(self, tokens: Tensor, state: State) -> tuple[Tensor, Seq2SeqState]:
        assert isinstance(state, Seq2SeqState)
        if not tokens.shape[1]:
            return self.embedding.weight.new_empty(*tokens.shape, self.width), state
        embeddings = tap.tell(self, "embeddings", self.vectors(tokens))  # (B, T, E)
        written = Written(state.memories, state.fed, state.history)
        hidden, written = self.decoder(embeddings, written, state.source, lengths_of(tokens))  # (B, T, R)
        return self.dropout(hidden), _state(written, state.source)


def _state(written: Written, source: AttendedSource | None) -> Seq2SeqState:
    return Seq2SeqState(written.memories, written.fed, written.history, source)


def _decoder(config: Seq2SeqConfig) -> AttentiveDecoder | SummaryDecoder:
    """As the settings say."""
    inputs, bf16 = config.vector, bool(config.bf16)
    if config.attention == "none":
        every = config.summary == "every-step"
        readout = Linear(config.summarised + config.width, config.vector, bf16=bf16) if every else None
        return SummaryDecoder(_stack(config, inputs + every * config.summarised), readout)
    attention = Alignment(
        config.attention,
        config.width,
        config.attended,
        config.attention_width or config.width,
        diagonal=config.diagonal_bias,
        jumps=config.jump_bias,
        fertility=config.fertility_bias,
        bf16=bf16,
    )
    inputs += config.before * config.attended + config.input_feeding * config.vector
    readout = Linear(config.attended + config.width, config.vector, bf16=bf16)
    stack, feeding = _stack(config, inputs), config.input_feeding
    return AttentiveDecoder(stack, attention, readout, before=config.before, feeding=feeding)


def _stack(config: Seq2SeqConfig, inputs: int) -> Stack:
    """The decoder's layers."""
    sizes = [inputs, *[config.width] * (config.layers - 1)]
    cells = [partial(CELLS[config.cell], size, config.width) for size in sizes]
    return Stack([layer(cell, bf16=bool(config.bf16)) for cell in cells], Dropout(config.dropout))


@dataclass(frozen=True)
class Encoded:
    """What an encoder makes of a source; vectors of padding mean nothing."""

    vectors: Tensor  # (B, S, M)
    summary: Tensor  # (B, M) the last state, or the mean of all vectors
    memories: Memories = ()  # of every layer, both directions joined


class RecurrentEncoder(nn.Module):
    """Recurrent layers over a source, reading both ways unless told otherwise."""

    def __init__(self, config: Seq2SeqConfig) -> None:
        super().__init__()
        ways = 2 if config.bidirectional else 1
        sizes = [config.vector, *[config.units] * ((config.encoder_layers or config.layers) - 1)]
        direction: Direction = "both" if config.bidirectional else "forward"
        cells = [partial(CELLS[config.cell], size, config.units // ways) for size in sizes]
        layers = [layer(cell, direction, bf16=bool(config.bf16)) for cell in cells]
        self.ways, self.layers = ways, Stack(layers, Dropout(config.dropout))

    def forward(self, columns: Columns) -> Encoded:
        """Columns (B, S, E) are read one after another, padding between several sources left out."""
        if not columns.before:
            return self._read(columns.vectors, columns.real)
        order = (~columns.real).byte().argsort(dim=1, stable=True)  # (B, S) padding last
        found = self._read(_taken(columns.vectors, order), columns.real)
        return replace(found, vectors=_taken(found.vectors, order.argsort(1)))

    def _read(self, vectors: Tensor, real: Tensor) -> Encoded:
        """Vectors (B, S, E), as many of each row as are `real` (B, S)."""
        lengths = None if bool(real.all()) else real.sum(1)
        states, ended = self.layers(vectors, self.layers.start(len(real)), lengths)  # (B, S, M)
        memories = tuple(self._joined(memory) for memory in ended)
        return Encoded(states, memories[-1][0], memories)

    def _joined(self, memory: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        """The memory of a layer, that of both directions side by side."""
        kinds = len(memory) // self.ways
        return tuple(torch.cat(memory[kind::kinds], 1) for kind in range(kinds))


def _taken(vectors: Tensor, order: Tensor) -> Tensor:
    """Columns of vectors (B, S, D) in an order (B, S)."""
    return vectors.gather(1, order[..., None].expand_as(vectors))


class TransformerEncoder(nn.Module):
    """Attention layers over a source."""

    def __init__(self, config: Seq2SeqConfig) -> None:
        super().__init__()
        names = ("vocab_size", "heads", "dropout", "bf16", "source_window")
        given = {name: getattr(config, name) for name in names}
        layers = config.encoder_layers or config.layers
        self.layers = Encoder(
            EncoderDecoderConfig(width=config.vector, layers=layers, positions="rotary", **given)
        )
        self.apply(init_weights)

    def forward(self, columns: Columns) -> Encoded:
        """Columns (B, S, E), each told of all others, or of those in its window."""
        real = columns.real
        found = self.layers(columns).masked_fill(~real[:, :, None], 0.0)  # (B, S, M)
        return Encoded(found, found.sum(1) / real.sum(1, keepdim=True).clamp(min=1))


class Bridge(nn.Module):
    """The first memory of the decoder: the encoder's last one where sizes are equal, else a layer over its summary."""

    def __init__(self, config: Seq2SeqConfig) -> None:
        super().__init__()
        alike = (config.encoder_layers or config.layers) == config.layers and config.units == config.width
        self.shape = config.layers, (2 if config.cell == "lstm" else 1), config.width
        copies = alike and config.encoder == "recurrent"
        self.made = None if copies else Linear(config.summarised, math.prod(self.shape))

    def forward(self, encoded: Encoded) -> Memories:
        if self.made is None:
            return encoded.memories
        layers = self.made(encoded.summary).view(-1, *self.shape).unbind(1)  # (B, 2 or 1, D) each
        return tuple((one[:, 0].tanh(), *one[:, 1:].unbind(1)) for one in layers)
