"""Recurrent decoders that attend to a source before each step (Bahdanau et al. 2015) or after it (Luong et al. 2015).

Letters: B rows, T symbols, S source positions, E numbers of an embedding, D of a hidden vector, M of a source vector, R
of what is read out, G gates.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from chainrule.nn import tap
from chainrule.nn.alignment import Alignment, AlignmentHistory, AttendedSource
from chainrule.nn.cells import CellState, See, after, unseen
from chainrule.nn.product import Linear, product
from chainrule.nn.recurrent import OneWay, Stack, StepTaps
from chainrule.nn.stepwise import StepMatrix, stepwise

Memories = tuple[CellState, ...]  # of every layer, (B, D) each


@dataclass(frozen=True)
class Written:
    """What such a decoder remembers, beside its source."""

    memories: Memories
    fed: Tensor | None = None  # (B, R) what was read out last, where that is an input of the next step
    history: AlignmentHistory | None = None


@dataclass(frozen=True)
class Look:
    """A look at the source by one query."""

    weights: Tensor  # (B, 1, S)
    context: Tensor  # (B, M)
    history: AlignmentHistory | None


class AttentiveDecoder(nn.Module):
    """Layers of cells, a look at the source, and what is read out: tanh(W [c; h]).

    `before`: the query is what the highest layer remembers, and the context c is an input of the lowest one. Else the
    query is the new hidden vector h. `feeding`: what was read out is an input of the next step (input feeding).
    """

    def __init__(
        self, layers: Stack, attention: Alignment, readout: Linear, *, before: bool, feeding: bool
    ) -> None:
        super().__init__()
        self.layers, self.attention, self.readout = layers, attention, readout
        self.before, self.feeding, self.bf16 = before, feeding, readout.bf16

    def attend(self, vectors: Tensor, summary: Tensor, real: Tensor) -> AttendedSource:
        """What is kept of source vectors (B, S, M), no padding where they are `real` (B, S)."""
        return self.attention.start(vectors, real)

    def start(self, memories: Memories, source: AttendedSource | None) -> Written:
        """Having read nothing but a source."""
        assert source is not None
        fed = source.vectors.new_zeros(len(source.real), self.readout.out_features) if self.feeding else None
        return Written(memories, fed, AlignmentHistory.beginning(source) if self.attention.biased else None)

    def forward(
        self, vectors: Tensor, state: Written, source: AttendedSource | None, lengths: Tensor | None
    ) -> tuple[Tensor, Written]:
        """Embeddings (B, T, E), of which each row has `lengths` (B,): what is read out (B, T, R)."""
        assert source is not None
        run = self._step_by_step if self.before or self.feeding else self._at_once
        hidden, weights, memories = run(vectors, state, source, lengths)
        tap.hear(self.attention, "weights", weights)
        fed = None if state.fed is None else after(hidden.transpose(0, 1), state.fed, lengths)
        history = state.history and state.history.after(weights, lengths)
        return hidden, Written(memories, fed, history)

    def _at_once(
        self, vectors: Tensor, state: Written, source: AttendedSource, lengths: Tensor | None
    ) -> tuple[Tensor, Tensor, Memories]:
        """All steps of the recurrence, then all looks."""
        top, memories = self.layers(vectors, state.memories, lengths)  # (B, T, D)
        weights, _ = self.attention(top, source, state.history)  # (B, T, S)
        return self._read_out(weights @ source.vectors, top), weights, memories

    def _step_by_step(
        self, vectors: Tensor, state: Written, source: AttendedSource, lengths: Tensor | None
    ) -> tuple[Tensor, Tensor, Memories]:
        """What does not depend on the step before is computed for all steps at once."""
        layers, reader = _Layers(self.layers, vectors), _Reader(self, source)
        looks, read, fed, memories, history = [], [], state.fed, state.memories, state.history
        for given in layers.given:  # (B, G D)
            look = reader.look(memories[-1][0], history) if self.before else None
            known = [] if look is None else [look.context]
            memories = layers.step(given, known if fed is None else [*known, fed], memories)
            look = look or reader.look(memories[-1][0], history)
            if self.feeding:
                fed = reader.read_out(look.context, memories[-1][0])
                read.append(fed)
            looks.append(look)
            history = look.history
        top, ended = layers.ended(state.memories, lengths)  # (B, T, D)
        contexts = torch.stack([look.context for look in looks], 1)  # (B, T, M)
        hidden = torch.stack(read, 1) if self.feeding else self._read_out(contexts, top)  # (B, T, R)
        return hidden, torch.cat([look.weights for look in looks], 1), ended

    def _read_out(self, context: Tensor, hidden: Tensor) -> Tensor:
        """Both joined."""
        return self.readout(torch.cat([context, hidden], -1)).tanh()  # type: ignore[no-any-return]


class _Reader:
    """What the steps of a decoder do beside its layers: looking at the source, reading out."""

    def __init__(self, decoder: AttentiveDecoder, source: AttendedSource) -> None:
        self.attention, self.source, bf16 = decoder.attention, source, decoder.bf16 and decoder.training
        self.query = None if self.attention.query is None else stepwise(self.attention.query, bf16)
        self.readout = stepwise(decoder.readout, bf16)

    def look(self, query: Tensor, history: AlignmentHistory | None) -> Look:
        """Of a query (B, Q)."""
        asked = query if self.query is None else self.query(query)  # (B, K)
        weights, history = self.attention.weigh(asked[:, None], self.source, history)  # (B, 1, S)
        return Look(weights, (weights @ self.source.vectors)[:, 0], history)

    def read_out(self, context: Tensor, hidden: Tensor) -> Tensor:
        """Both joined (B, R)."""
        return self.readout(torch.cat([context, hidden], 1)).tanh()


class SummaryDecoder(nn.Module):
    """Layers of cells without attention; with `readout`, a summary of the source is read at each step, and by it."""

    def __init__(self, layers: Stack, readout: Linear | None) -> None:
        super().__init__()
        self.layers, self.readout = layers, readout

    def attend(self, vectors: Tensor, summary: Tensor, real: Tensor) -> AttendedSource | None:
        """What is kept of a source: its summary (B, M), in the place of all vectors."""
        if self.readout is None:
            return None
        return AttendedSource(summary[:, None], summary[:, None], real.any(1, keepdim=True))

    def start(self, memories: Memories, source: AttendedSource | None) -> Written:
        """Having read nothing but a source."""
        return Written(memories)

    def forward(
        self, vectors: Tensor, state: Written, source: AttendedSource | None, lengths: Tensor | None
    ) -> tuple[Tensor, Written]:
        """Embeddings (B, T, E), of which each row has `lengths` (B,): hidden vectors (B, T, D), or what is read out."""
        if source is None or self.readout is None:
            hidden, memories = self.layers(vectors, state.memories, lengths)
            return hidden, Written(memories)
        summary = source.vectors.expand(-1, vectors.shape[1], -1)  # (B, T, M)
        hidden, memories = self.layers(torch.cat([vectors, summary], 2), state.memories, lengths)
        return self.readout(torch.cat([summary, hidden], 2)).tanh(), Written(memories)


class _Layers:
    """A stack of layers that goes step by step; the lowest one is given more than embeddings (B, T, E)."""

    def __init__(self, stack: Stack, vectors: Tensor) -> None:
        self.stack, self.layers = stack, [one for one in stack.layers if isinstance(one, OneWay)]
        self.passed: list[Memories] = []
        self.taps = [StepTaps(one) for one in self.layers]
        cell, bf16 = self.layers[0].cell, self.layers[0].bf16 and stack.training
        size = vectors.shape[2]
        own, more = cell.input_weight[:, :size], cell.input_weight[:, size:]  # (G D, E), (G D, …)
        self.given = product(vectors, own, cell.bias, bf16).unbind(1)  # (B, G D) each
        self.more = StepMatrix(more, bf16)
        self.hidden = [StepMatrix(one.cell.hidden_weight, bf16) for one in self.layers]
        self.above = [StepMatrix(one.cell.input_weight, bf16) for one in self.layers[1:]]

    def step(self, given: Tensor, more: Sequence[Tensor], memories: Memories) -> Memories:
        """The embedding's share of the gates (B, G D), and what else the lowest layer reads (B, …)."""
        given = given + self.more.times(torch.cat(list(more), 1))
        moved: list[CellState] = []
        for place, (layer, memory) in enumerate(zip(self.layers, memories, strict=True)):
            if place:
                below = self.stack.between(moved[-1][0][:, None])[:, 0]
                given = self.above[place - 1].times(below) + layer.cell.bias
            moved.append(layer.cell.step(given, memory, self.hidden[place], self._see(place)))
        self.passed.append(tuple(moved))
        return self.passed[-1]

    def _see(self, place: int) -> See:
        layer = self.layers[place]
        return self.taps[place] if tap.is_tapped(layer, "hidden", *layer.inner) else unseen

    def ended(self, first: Memories, lengths: Tensor | None) -> tuple[Tensor, Memories]:
        """Hidden vectors (B, T, D) of the highest layer, and what each remembers after `lengths` (B,) steps."""
        found, top = [], first[-1][0]
        for place, before in enumerate(first):
            values = [torch.stack(one) for one in zip(*(one[place] for one in self.passed), strict=True)]
            found.append(tuple(after(new, old, lengths) for new, old in zip(values, before, strict=True)))
            top = values[0].transpose(0, 1)  # (B, T, D)
            tap.hear(self.layers[place], "hidden", top)
            for name, one in self.taps[place].items():
                tap.hear(self.layers[place], name, torch.stack(one, 1))  # (B, T, D)
        return top, tuple(found)
