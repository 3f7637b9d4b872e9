"""Taps of the families: what each tells, that hearing changes nothing, and that replacing changes what it should."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from chainrule.errors import ModelError
from chainrule.models.gpt import Gpt, GptConfig
from chainrule.models.lstm import Lstm, LstmConfig
from chainrule.models.mix import Mix, posterior
from chainrule.models.ngram import Ngram
from chainrule.models.registry import family
from chainrule.nn import attention, position
from chainrule.nn.attention import AttentionMask
from chainrule.nn.cells import Cell
from chainrule.nn.recurrent import OneWay
from chainrule.nn.tap import listening, replacing
from chainrule.symbols import BOS, EOS, PAD
from chainrule.tasks.next import Next
from losses import loss as loss_of

ROWS = torch.tensor([[BOS, 5, 6, 7, 8, 5], [BOS, 8, 8, 6, PAD, PAD]])
TARGETS = torch.tensor([[5, 6, 7, 8, 5, EOS], [8, 8, 6, EOS, PAD, PAD]])
IDS = np.array([BOS, 5, 6, 7, EOS, BOS, 8, 8, EOS, BOS, 6, 5, 5, 7, 8, EOS], np.int32)
GATES = {
    "rnn": (),
    "lstm": ("cell", "gates.input", "gates.forget", "gates.candidate", "gates.output"),
    "gru": ("gates.reset", "gates.update", "gates.candidate"),
}
TRANSFORMERS = {
    f"blocks.{at}.{what}" for at in (0, 1) for what in ("attention.weights", "activations", "output")
}
TOLD = {
    "window": {"layers.0.hidden", "layers.1.hidden"},
    "gpt": TRANSFORMERS,
    "bert": TRANSFORMERS,
    **{kind: {f"layers.{at}.{what}" for at in (0, 1) for what in ("hidden", *GATES[kind])} for kind in GATES},
}


def loud(model: Any) -> Any:
    """Larger weights than at the beginning of a training, so that differences are seen."""
    torch.manual_seed(4)
    for value in model.parameters():
        torch.nn.init.normal_(value, std=0.6)
    return model


def tiny(name: str) -> Any:
    return loud(family(name).tiny())


def gpt(**options: Any) -> Gpt:
    config = GptConfig(**{"vocab_size": 9, "layers": 2, "width": 8, "heads": 2, "context": 12, **options})
    return loud(Gpt.seeded(config, 0))


def predictions(model: Any, rows: Tensor = ROWS) -> Tensor:
    hidden, _ = model.read(rows, model.start(len(rows)))
    return model.logits(hidden)


def zero(value: Tensor) -> Tensor:
    return torch.zeros_like(value)


@pytest.mark.parametrize("name", TOLD)
def test_every_family_tells_embeddings_layers_and_logits_and_computes_the_same(name: str) -> None:
    model = tiny(name)
    quiet = predictions(model)
    with listening(model) as heard:
        told = predictions(model)
    torch.testing.assert_close(told[ROWS != PAD], quiet[ROWS != PAD], rtol=1e-5, atol=1e-5)
    assert set(heard) == {"embeddings", "output.logits", *TOLD[name]}
    assert heard["output.logits"][0] is told
    for values in heard.values():
        assert len(values) == 1 and values[0].shape[0] == 2


@pytest.mark.parametrize("name", TOLD)
def test_who_hears_no_more_than_fast_paths_have_changes_no_bit(name: str) -> None:
    model = tiny(name)
    with model.inference():
        quiet = predictions(model)
        with listening(
            model, "embeddings", "*.hidden", "*.activations", "blocks.?.output", "*.logits"
        ) as heard:
            assert torch.equal(predictions(model), quiet)
    assert heard


@pytest.mark.parametrize("name", ["rnn", "lstm", "gru"])
def test_only_layers_whose_steps_are_tapped_go_step_by_step(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    model, slow = tiny(name), []
    loop = OneWay._loop
    monkeypatch.setattr(OneWay, "_loop", lambda self, *rest: slow.append(self) or loop(self, *rest))
    lower, upper = model.layers.layers

    def looped(context: Any) -> list[OneWay]:
        slow.clear()
        with context:
            predictions(model)
        return list(slow)

    assert looped(listening(model, "layers.*.hidden", "embeddings", "output")) == []
    assert looped(replacing(model, "layers.1.hidden", zero)) == [upper]
    if GATES[name]:
        assert looped(listening(model, "layers.0.gates")) == [lower]
        assert looped(listening(model)) == [lower, upper]


def test_only_blocks_whose_weights_are_tapped_compute_them(monkeypatch: pytest.MonkeyPatch) -> None:
    model, computed = tiny("gpt"), []
    weights = attention.attention_weights
    monkeypatch.setattr(attention, "attention_weights", lambda *rest: computed.append(1) or weights(*rest))
    for patterns, times in ((["blocks.1.attention"], 1), (["blocks.*.output", "output"], 0), ([], 2)):
        computed.clear()
        with listening(model, *patterns):
            predictions(model)
        assert len(computed) == times


@pytest.mark.parametrize("positions", ["rotary", "learned"])
def test_attention_weights_are_those_computed_by_hand_and_sum_to_one(positions: str) -> None:
    model = gpt(positions=positions)
    with listening(model, "embeddings", "blocks.*.attention") as heard:
        model.read(ROWS[:1], model.start(1))
    block = model.blocks.all[0]
    q, k, _ = block.attention.qkv(block.attention_norm(heard["embeddings"][0][0])).view(6, 3, 2, 4).unbind(1)
    if positions == "rotary":
        turn = position.rotation(torch.arange(6)[None], 4)
        q, k = (position.rotated(one.transpose(0, 1)[None], turn)[0].transpose(0, 1) for one in (q, k))
    [found] = heard["blocks.0.attention.weights"]
    for head in (0, 1):
        for query in range(6):
            fits = torch.stack([q[query, head] @ k[key, head] / 2.0 for key in range(query + 1)])
            torch.testing.assert_close(found[0, head, query, : query + 1], fits.softmax(0))
            assert (found[0, head, query, query + 1 :] == 0.0).all()
    for weights in heard.values():
        if weights[0].dim() == 4:
            torch.testing.assert_close(weights[0].sum(-1), torch.ones(1, 2, 6))


def test_weights_heard_while_decoding_are_the_last_rows_of_those_heard_at_once() -> None:
    model = gpt()
    with model.inference(), listening(model, "blocks.1.attention") as whole:
        model.read(ROWS[:1], model.start(1))
    state = model.start(1)
    with model.inference(), listening(model, "blocks.1.attention") as steps:
        for column in ROWS[:1].unbind(1):
            _, state = model.read(column[:, None], state)
    for at, step in enumerate(steps["blocks.1.attention.weights"]):
        expected = whole["blocks.1.attention.weights"][0][:, :, at : at + 1, : at + 1]
        torch.testing.assert_close(step, expected, rtol=1e-5, atol=1e-5)


def test_a_replaced_block_is_what_the_next_one_reads() -> None:
    model = gpt(positions="learned")
    given = torch.randn(2, 6, 8, generator=torch.Generator().manual_seed(1))
    with (
        replacing(model, "blocks.0.output", lambda value: value + given),
        listening(model, "blocks") as heard,
    ):
        found = predictions(model)
    plain, _ = model.blocks.all[0](
        model.positions(model.vectors(ROWS), torch.arange(6)[None]), None, AttentionMask(causal=True)
    )
    above, _ = model.blocks.all[1](plain + given, None, AttentionMask(causal=True))
    torch.testing.assert_close(heard["blocks.0.output"][0], plain + given)
    torch.testing.assert_close(found, model.logits(model.norm(above)))


def test_a_head_without_weights_is_a_head_left_out() -> None:
    model = gpt()

    def without_first(weights: Tensor) -> Tensor:
        return weights * torch.tensor([0.0, 1.0])[:, None, None]

    with replacing(model, "blocks.*.attention.weights", without_first):
        found = predictions(model)
    with torch.no_grad():
        for block in model.blocks.all:
            block.attention.out.weight[:, :4] = 0.0  # what the first head says is not asked for
    torch.testing.assert_close(found, predictions(model), rtol=1e-5, atol=1e-5)


def test_a_neuron_of_an_mlp_can_be_left_out() -> None:
    model = gpt()
    kept = torch.ones(32)
    kept[3] = 0.0
    with replacing(model, "blocks.1.activations", lambda value: value * kept):
        found = predictions(model)
    with torch.no_grad():
        model.blocks.all[1].down.weight[:, 3] = 0.0
    torch.testing.assert_close(found, predictions(model))


def by_hand(
    model: Any, at: int, name: str, function: Callable[[Tensor], Tensor], rows: Tensor
) -> tuple[Tensor, Tensor]:
    """Hidden vectors (B, T, D) of all layers and the memory of the last, step by step with a function inside."""
    vectors = model.vectors(rows)
    for number, layer in enumerate(model.layers.layers):
        cell: Cell = layer.cell

        def see(what: str, value: Tensor, inside: bool = number == at) -> Tensor:
            return function(value) if inside and what == name else value

        memory, steps = layer.start(len(rows)), []
        for inputs in vectors.unbind(1):
            memory = cell.step(cell.project(inputs), memory, cell.hidden_weight, see)
            steps.append(memory[0])
        vectors = torch.stack(steps, 1)
    return vectors, memory[-1]


@pytest.mark.parametrize("name", ["rnn", "lstm", "gru"])
@pytest.mark.parametrize("at", [0, 1])
def test_a_replaced_step_is_what_the_next_step_and_the_next_layer_compute_with(name: str, at: int) -> None:
    model, rows = tiny(name), ROWS[:1]
    kept = torch.tensor([1.0, 0.0] * 4)
    quiet, _ = model.read(rows, model.start(1))
    for what in ("hidden", *GATES[name]):
        with replacing(model, f"layers.{at}.{what}", lambda value: value * kept), listening(model) as heard:
            found, state = model.read(rows, model.start(1))
        expected, memory = by_hand(model, at, what, lambda value: value * kept, rows)
        torch.testing.assert_close(found, expected)
        torch.testing.assert_close(state.memories[1][-1], memory)
        assert (heard[f"layers.{at}.{what}"][0][..., 1::2] == 0.0).all()
        assert not torch.allclose(found, quiet, atol=1e-3)


def test_a_forget_gate_held_shut_leaves_only_what_enters() -> None:
    model = tiny("lstm")
    with replacing(model, "layers.0.gates.forget", zero), listening(model, "layers.0") as heard:
        predictions(model)
    i, g, cell = (heard[f"layers.0.{name}"][0] for name in ("gates.input", "gates.candidate", "cell"))
    torch.testing.assert_close(cell, i * g)


@pytest.mark.parametrize("name", ["rnn", "lstm", "gru", "window", "gpt"])
def test_reading_in_chunks_with_replaced_layers_equals_reading_at_once(name: str) -> None:
    model, kept = tiny(name), torch.tensor([1.0, 0.0] * 4)
    pattern = "blocks.0.output" if name == "gpt" else "layers.0.hidden"
    with model.inference(), replacing(model, pattern, lambda value: value * kept):
        whole = predictions(model, ROWS[:1])
        first, state = model.read(ROWS[:1, :2], model.start(1))
        second, _ = model.read(ROWS[:1, 2:], state)
    torch.testing.assert_close(model.logits(torch.cat([first, second], 1)), whole, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("name", TOLD)
def test_gradients_flow_through_what_is_heard_and_what_is_replaced(name: str) -> None:
    model = tiny(name)
    with listening(model) as heard:
        loss, _ = loss_of(model, ROWS, TARGETS, model.start(2))
    [embeddings] = heard["embeddings"]
    [expected] = torch.autograd.grad(loss, [embeddings])
    leaf = embeddings.detach().clone().requires_grad_()
    with replacing(model, "embeddings", lambda _: leaf):
        loss, _ = loss_of(model, ROWS, TARGETS, model.start(2))
    loss.backward()
    assert leaf.grad is not None and float(leaf.grad.abs().sum()) > 0.0
    torch.testing.assert_close(leaf.grad, expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("openly", [True, False])
def test_the_gradient_of_a_recurrent_layer_heard_is_that_of_the_layer_above(openly: bool) -> None:
    model = tiny("lstm")
    with listening(model, *([] if openly else ["*.hidden"])) as heard:
        loss, _ = loss_of(model, ROWS, TARGETS, model.start(2))
    [found] = torch.autograd.grad(loss, heard["layers.0.hidden"])
    lower = heard["layers.0.hidden"][0].detach().requires_grad_()
    upper, _ = model.layers.layers[1](lower, model.layers.layers[1].start(2), torch.tensor([6, 4]))
    loss = model.output.loss(upper.flatten(0, 1), TARGETS.flatten())
    [expected] = torch.autograd.grad(loss, [lower])
    torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
def test_who_listens_to_logits_changes_neither_scores_nor_losses(smoothing: float) -> None:
    model = Lstm.seeded(LstmConfig(vocab_size=9, width=8), 1)
    losses, gradients, scores = [], [], []
    for patterns in ("nothing", "output.logits"):
        with listening(model, patterns) as heard:
            loss, _ = loss_of(model, ROWS, TARGETS, model.start(2), Next(label_smoothing=smoothing))
            scores.append(model.score_ids(IDS))
        losses.append(loss)
        gradients.append(torch.autograd.grad(loss, list(model.parameters())))
    torch.testing.assert_close(*losses, rtol=1e-5, atol=1e-5)
    for one, other in zip(*gradients, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(*scores, rtol=1e-5, atol=1e-5)
    assert heard["output.logits"][0].shape == (10, 9)  # targets that are no PAD


def test_replaced_logits_are_what_is_scored_learnt_and_predicted() -> None:
    model = Lstm.seeded(LstmConfig(vocab_size=9, width=8), 1)

    def even(logits: Tensor) -> Tensor:
        return torch.where(logits == -torch.inf, logits, 0.0)

    with replacing(model, "output.logits", even):
        scores = model.score_ids(IDS)
        loss, _ = loss_of(model, ROWS, TARGETS, model.start(2))
        logs = F.log_softmax(predictions(model).detach(), -1)
    chance = np.log(9 - len(model.config.suppressed))
    np.testing.assert_allclose(scores[IDS != BOS], -chance, rtol=1e-6)
    torch.testing.assert_close(loss.detach(), torch.tensor(10 * chance, dtype=torch.float32))
    assert float(logs[0, 0, EOS]) == pytest.approx(-chance)


def test_a_mix_tells_the_posterior_of_its_models_and_each_model_what_it_tells() -> None:
    parts = [Ngram.tiny(0), Ngram.tiny(1)]
    both = Mix.of(parts, (0.25, 0.75))
    with listening(both) as heard:
        logs = both.score_ids(IDS)
    np.testing.assert_array_equal(logs, both.score_ids(IDS))
    [weights] = heard["posterior"]
    assert weights.shape == (len(IDS), 2)
    np.testing.assert_allclose(weights.sum(1), 1.0, rtol=1e-12)
    one, other = (np.exp(part.score_ids(IDS).astype(np.float64)) for part in parts)
    np.testing.assert_allclose(weights[:, 0], 0.25 * one / (0.25 * one + 0.75 * other), rtol=1e-6)
    assert set(heard) == {"weights", "posterior", "0.order", "1.order"}
    for number, part in enumerate(parts):
        with listening(part) as alone:
            part.score_ids(IDS)
        np.testing.assert_array_equal(heard[f"{number}.order"][0], alone["order"][0])


def test_a_mix_with_replaced_weights_is_a_mix_with_those_weights() -> None:
    parts = [Ngram.tiny(0), Ngram.tiny(1)]
    both, other = Mix.of(parts, (0.25, 0.75)), Mix.of(parts, (0.9, 0.1))
    targets = torch.where(TARGETS == PAD, EOS, TARGETS)
    with replacing(both, "weights", lambda weights: np.array([0.9, 0.1])), listening(both) as heard:
        scores, read = both.score_ids(IDS), predictions(both)
        asked, _ = both.score(ROWS, targets, both.start(2))
    np.testing.assert_array_equal(scores, other.score_ids(IDS))
    torch.testing.assert_close(read, predictions(other))
    torch.testing.assert_close(asked, other.score(ROWS, targets, other.start(2))[0])
    assert [one.tolist() for one in heard["weights"]] == [[0.9, 0.1]] * 3


def test_an_n_gram_tells_the_same_orders_reading_as_scoring() -> None:
    model = Ngram.tiny()
    with listening(model, "order") as heard:
        model.score_ids(IDS[:5])
        model.read(torch.from_numpy(IDS[None, :5].astype(np.int64)), model.start(1))
        _, state = model.read(ROWS[:, :3], model.start(2))
        model.read(ROWS[:, 3:], state)
    alone, read, first, second = heard["order"]
    assert read[0].tolist() == alone.tolist()
    assert (np.concatenate([first, second], 1) > 0).tolist() == (ROWS > BOS).tolist()


@pytest.mark.parametrize(("model", "name"), [(Ngram.tiny(), "order"), (Mix.tiny(), "posterior")])
def test_what_nothing_is_computed_from_cannot_be_replaced(model: Any, name: str) -> None:
    with replacing(model, name, lambda value: value), pytest.raises(ModelError, match=f"'{name}'.*heard"):
        model.score_ids(IDS)


def test_where_no_model_finds_a_symbol_possible_none_is_preferred() -> None:
    never, sure = np.array([-np.inf, -np.inf]), np.array([-np.inf, 0.0])
    np.testing.assert_array_equal(posterior([never, sure], (0.25, 0.75)), [[0.25, 0.75], [0.0, 1.0]])


def test_a_mix_names_the_layers_of_its_models() -> None:
    layered = Lstm.seeded(LstmConfig(vocab_size=Ngram.tiny().config.vocab_size, width=8), 1)
    both = Mix.of([Ngram.tiny(), layered], (0.5, 0.5))
    with listening(both, "weights", "*.order", "*.hidden") as heard:
        both.score_ids(IDS)
    assert set(heard) == {"weights", "0.order", "1.layers.0.hidden"}
    with replacing(both, "1.layers.0.hidden", zero):
        changed = both.score_ids(IDS)
    with replacing(layered, "layers.0.hidden", zero):
        expected = Mix.of([Ngram.tiny(), layered], (0.5, 0.5)).score_ids(IDS)
    np.testing.assert_array_equal(changed, expected)
    assert not np.allclose(changed, both.score_ids(IDS))
