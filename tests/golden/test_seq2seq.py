"""Recurrent encoder-decoders equal torch's layers, and attention equals its formulas, on the same weights."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor, nn

from chainrule.models.seq2seq import Seq2Seq, Seq2SeqConfig
from chainrule.nn.alignment import REACH
from chainrule.nn.cells import Cell, GruAfterCell
from chainrule.nn.recurrent import BothWays
from chainrule.symbols import BOS, EOS
from chainrule.use.align import alignments

SOURCE, TOKENS = [5, 7, 6, 8, EOS], [BOS, 6, 6, 8, 5, 7]
LAYERS = {"rnn": nn.RNN, "gru": nn.GRU, "lstm": nn.LSTM}


def made(**settings: Any) -> Seq2Seq:
    """Weights larger than at the beginning of a training, in double precision."""
    given = {"vocab_size": 9, "source_size": 9, "layers": 1, "width": 6, "embedding": 4, **settings}
    model = Seq2Seq.seeded(Seq2SeqConfig(**given), 0).double()
    torch.manual_seed(1)
    for value in model.parameters():
        nn.init.normal_(value, std=0.7)
    return model


def theirs(kind: str, cells: list[Cell], both: bool = False) -> nn.RNNBase:
    """Torch's layer with the weights of ours, right to left second."""
    inputs, width = cells[0].input_weight.shape[1], cells[0].width
    layer = LAYERS[kind](inputs, width, batch_first=True, bidirectional=both).double()
    for cell, ending in zip(cells, ("l0", "l0_reverse"), strict=False):
        with torch.no_grad():
            getattr(layer, f"weight_ih_{ending}").copy_(cell.input_weight)
            getattr(layer, f"weight_hh_{ending}").copy_(cell.hidden_weight)
            getattr(layer, f"bias_ih_{ending}").copy_(cell.bias)
            bias = getattr(layer, f"bias_hh_{ending}").zero_()
            if isinstance(cell, GruAfterCell):
                bias[2 * width :] = cell.hidden_bias
    return layer


def encoded(model: Seq2Seq) -> tuple[Tensor, Tensor, tuple[Tensor, ...]]:
    """Embeddings (S, E) and states (S, M) of the source by torch's layer, and the last state of both directions."""
    [layer] = model.encoder.layers.layers
    cells = [layer.rightward.cell, layer.leftward.cell] if isinstance(layer, BothWays) else [layer.cell]
    embeddings = model.sources.parts[0].table(torch.tensor([SOURCE]))
    states, ended = theirs(model.config.cell, cells, len(cells) == 2)(embeddings)
    last = ended if isinstance(ended, tuple) else (ended,)
    return embeddings[0], states[0], tuple(one.transpose(0, 1).reshape(1, -1) for one in last)


def logits(model: Seq2Seq) -> Tensor:
    hidden, _ = model.read(torch.tensor([TOKENS]), model.start(1, torch.tensor([SOURCE])))
    return model.output.logits(model.projection(hidden))[0]


def expected_logits(model: Seq2Seq, hidden: Tensor) -> Tensor:
    """Of hidden vectors (T, D), -inf where nothing is predicted."""
    found = model.projection(hidden) @ model.output.weight.t() + model.output.bias
    return found.index_fill(1, torch.tensor(model.config.suppressed), -torch.inf)


@pytest.mark.parametrize("both", [False, True])
@pytest.mark.parametrize("cell", LAYERS)
def test_without_attention_it_is_two_layers_of_torch(cell: str, both: bool) -> None:
    model = made(cell=cell, attention="none", bidirectional=both)
    _, _, last = encoded(model)
    begin = last[0][None] if len(last) == 1 else (last[0][None], last[1][None])
    layer = theirs(cell, [model.decoder.layers.layers[0].cell])
    hidden, _ = layer(model.embedding(torch.tensor([TOKENS])), begin)
    torch.testing.assert_close(logits(model), expected_logits(model, hidden[0]))


def test_a_summary_may_be_read_at_every_step() -> None:
    model = made(cell="gru", attention="none", summary="every-step")
    _, _, [summary] = encoded(model)
    layer = theirs("gru", [model.decoder.layers.layers[0].cell])
    many = summary.expand(len(TOKENS), -1)  # (T, M)
    vectors = torch.cat([model.embedding(torch.tensor(TOKENS)), many], 1)
    hidden, _ = layer(vectors[None], summary[None])
    read = torch.tanh(torch.cat([many, hidden[0]], 1) @ readout(model)[0] + readout(model)[1])
    torch.testing.assert_close(logits(model), expected_logits(model, read))


def readout(model: Seq2Seq) -> tuple[Tensor, Tensor]:
    return model.decoder.readout.weight.t(), model.decoder.readout.bias


def score(model: Seq2Seq, query: Tensor, vector: Tensor) -> Tensor:
    """Of one query and one source vector, as the papers have it."""
    attention, kind = model.decoder.attention, model.config.attention
    if kind == "dot":
        return query @ vector
    if kind == "additive":
        inner = attention.query.weight @ query + attention.key.weight @ vector + attention.key.bias
        return attention.energy @ torch.tanh(inner)
    if kind == "general":
        return query @ (attention.key.weight @ vector)
    wanted = attention.key.weight.t() @ query  # r = V s
    return vector @ wanted  # u = F' r


def biased(model: Seq2Seq, scores: Tensor, source: Tensor, past: list[Tensor]) -> Tensor:
    """Scores (S,) and what speaks for or against each position, after the weights of the symbols before."""
    attention, count = model.decoder.attention, len(past)
    found = list(scores)
    for place in range(len(found)):
        if attention.diagonal is not None:
            steep, slope = attention.diagonal
            found[place] = found[place] - nn.functional.softplus(steep) * (place - slope * count).abs()
        for jump in range(-REACH, REACH + 1) if attention.jumps is not None and past else ():
            if 0 <= place + jump < len(found):
                found[place] = found[place] + attention.jumps[jump + REACH] * past[-1][place + jump]
        if attention.fertility is not None:
            fertility = 2 * torch.sigmoid(attention.fertility(source[place]))[0]
            covered = sum((one[place] for one in past), torch.zeros(()))
            found[place] = found[place] - nn.functional.softplus(attention.coverage[0]) * covered / fertility
    return torch.stack(found)


def written_out(model: Seq2Seq) -> tuple[Tensor, Tensor]:
    """Logits (T, V) and weights (T, S) of one pair, symbol by symbol and position by position."""
    config = model.config
    embeddings, states, memory = encoded(model)
    source = embeddings if config.source_vectors == "embeddings" else states  # (S, M)
    layer = theirs(config.cell, [model.decoder.layers.layers[0].cell])
    fed, past, hidden = torch.zeros(1, config.vector).double(), [], []
    for token in TOKENS:
        inputs = [model.embedding(torch.tensor([token]))]
        for moment in ("previous", "current"):
            if moment == ("previous" if config.before else "current"):
                scores = torch.stack([score(model, memory[0][0], one) for one in source])
                past.append(biased(model, scores, source, past).softmax(0))
                context = (past[-1][:, None] * source).sum(0, keepdim=True)  # (1, M)
            if moment == "previous":
                inputs += [context] if config.before else []
                inputs += [fed] if config.input_feeding else []
                begin = tuple(one[None] for one in memory)
                _, ended = layer(torch.cat(inputs, 1)[None], begin if len(begin) == 2 else begin[0])
                memory = tuple(one[0] for one in (ended if isinstance(ended, tuple) else (ended,)))
        fed = torch.tanh(torch.cat([context, memory[0]], 1) @ readout(model)[0] + readout(model)[1])
        hidden.append(fed)
    return expected_logits(model, torch.cat(hidden)), torch.stack(past)


FORMS: dict[str, dict[str, Any]] = {
    "dot": {"attention": "dot"},
    "general": {"attention": "general"},
    "general before the step": {"attention": "general", "context_from": "previous", "cell": "rnn"},
    "input feeding": {"attention": "general", "input_feeding": True},
    "additive": {"attention": "additive", "attention_width": 5, "cell": "gru"},
    "additive after the step": {"attention": "additive", "context_from": "current"},
    "lecture": {"attention": "lecture", "cell": "rnn"},
    "lecture over embeddings": {"attention": "lecture", "source_vectors": "embeddings"},
    "diagonal": {"attention": "general", "diagonal_bias": True},
    "jumps": {"attention": "general", "jump_bias": True},
    "fertility": {"attention": "general", "fertility_bias": True},
    "everything": {
        "attention": "additive",
        "input_feeding": True,
        "diagonal_bias": True,
        "jump_bias": True,
        "fertility_bias": True,
        "bidirectional": False,
    },
}


@pytest.mark.parametrize("form", FORMS)
def test_attention_equals_its_formulas(form: str) -> None:
    model = made(**FORMS[form])
    with torch.no_grad():
        expected, weights = written_out(model)
        torch.testing.assert_close(logits(model), expected)
        start = model.start(1, torch.tensor([SOURCE]))
        torch.testing.assert_close(alignments(model, torch.tensor([TOKENS]), start)[0], weights)


@pytest.mark.parametrize("form", ["general", "additive", "input feeding", "everything"])
def test_gradients_are_those_of_the_formulas(form: str) -> None:
    model = made(**FORMS[form])
    real = torch.isfinite(logits(model))
    ours, reference = logits(model), written_out(model)[0]
    names, values = zip(*model.named_parameters(), strict=True)
    weigh = torch.randn(ours.shape, generator=torch.Generator().manual_seed(2)).double()
    found = torch.autograd.grad((ours * weigh)[real].sum(), values, allow_unused=True)
    assert all(one is not None for one in found), names
    named = dict(zip(names, found, strict=True))
    # The reference has copies of the cells' weights; those outside the cells are shared.
    outside = [name for name in names if "cell" not in name]
    expected = torch.autograd.grad(
        (reference * weigh)[real].sum(),
        [dict(zip(names, values, strict=True))[name] for name in outside],
        allow_unused=True,
    )
    for name, wanted in zip(outside, expected, strict=True):
        if wanted is not None:
            torch.testing.assert_close(named[name], wanted, msg=lambda text, name=name: f"{name}: {text}")
