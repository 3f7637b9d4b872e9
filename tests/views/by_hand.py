"""An LSTM and a plain recurrence, their equations written out once more, step by step."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch

import chainrule as cr


def lstm_steps(lm: cr.Bundle, tokens: torch.Tensor) -> Iterator[dict[str, torch.Tensor]]:
    """Gates, memory and output (1, D) of an LSTM of one layer at every token (1, T)."""
    body: Any = lm.body
    cell = body.layers.layers[0].cell
    hidden, memory = torch.zeros(1, cell.width), torch.zeros(1, cell.width)
    for vector in body.vectors(tokens)[0].detach():
        mixed = vector @ cell.input_weight.T + hidden @ cell.hidden_weight.T + cell.bias
        parts = dict(zip(cell.gates, mixed.chunk(4, -1), strict=True))
        gates = {name: part.tanh() if name == "candidate" else part.sigmoid() for name, part in parts.items()}
        memory = gates["forget"] * memory + gates["input"] * gates["candidate"]
        memory = memory if memory.requires_grad else memory.requires_grad_()
        hidden = gates["output"] * memory.tanh()
        yield {**gates, "cell": memory, "hidden": hidden}


def rnn_bits(lm: cr.Bundle, ids: list[int], unit: int | None = None, value: float = 0.0) -> list[float]:
    """Bits of every symbol but the first, by a plain recurrence of one layer; one unit may be held at a value."""
    body: Any = lm.body
    cell, found = body.layers.layers[0].cell, []
    tokens, hidden = torch.tensor([ids]), torch.zeros(1, cell.width)
    with torch.no_grad():
        for at, vector in enumerate(body.vectors(tokens[:, :-1])[0]):
            hidden = torch.tanh(vector @ cell.input_weight.T + hidden @ cell.hidden_weight.T + cell.bias)
            if unit is not None:
                hidden[:, unit] = value
            logs = lm.model.logits(hidden[:, None])[0, 0].log_softmax(-1)  # type: ignore[attr-defined]
            found.append(float(-logs[ids[at + 1]] / torch.tensor(2.0).log()))
    return found
