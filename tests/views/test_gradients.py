"""Views that follow gradients, each against a computation of its own."""

from __future__ import annotations

import math
import re
from pathlib import Path

import numpy as np
import pytest
import torch

import chainrule as cr
from chainrule.models.registry import family
from views.by_hand import lstm_steps
from views.seen import gpt, small

TEXT = "what is the weather today"


def unrolled_rnn(lm: cr.Bundle) -> list[float]:
    """Norms of dL_T/dh_t of a plain network of one layer, from the last step back, by the product of Jacobians."""
    body, tokens = lm.body, torch.tensor([[*lm.prompt_ids(TEXT), 2]])
    cell = body.layers.layers[0].cell  # type: ignore[attr-defined]
    with torch.no_grad():
        hidden, states = torch.zeros(1, cell.width), []
        for vector in body.vectors(tokens[:, :-1])[0]:  # type: ignore[attr-defined]
            hidden = torch.tanh(vector @ cell.input_weight.T + hidden @ cell.hidden_weight.T + cell.bias)
            states.append(hidden)
    last = states[-1].clone().requires_grad_()
    loss = torch.nn.functional.cross_entropy(lm.model.logits(last[:, None])[:, 0], tokens[:, -1])
    [gradient] = torch.autograd.grad(loss, [last])
    norms = [float(gradient.norm())]
    for state in reversed(states[1:]):
        gradient = (gradient * (1 - state**2)) @ cell.hidden_weight.detach()
        norms.append(float(gradient.norm()))
    return norms


def test_the_gradient_through_time_is_the_product_of_jacobians() -> None:
    lm = small("rnn", layers=1, width=8)
    [model] = cr.look(lm, TEXT, view="gradient", untrained=False)["models"]
    np.testing.assert_allclose(model["norms"]["hidden 1"], np.log10(unrolled_rnn(lm)), rtol=1e-4)


def test_a_contraction_vanishes_and_a_large_matrix_of_relus_explodes() -> None:
    def slope(scale: float, activation: str) -> float:
        lm = small("rnn", layers=1, width=8, activation=activation)
        weight = lm.body.layers.layers[0].cell.hidden_weight  # type: ignore[attr-defined]
        with torch.no_grad():
            weight.copy_(scale * torch.eye(8))
        [model] = cr.look(lm, TEXT, view="gradient", untrained=False)["models"]
        assert model["radius"]["layer 1"] == pytest.approx(scale)
        return float(model["norms"]["hidden 1"][-1] - model["norms"]["hidden 1"][0])

    assert slope(0.2, "tanh") < -2
    assert slope(0.2, "sigmoid") < slope(0.2, "tanh")
    assert slope(4.0, "relu") > 2


def test_an_untrained_twin_stands_beside_and_lstms_have_cells() -> None:
    view = cr.look(small("lstm", layers=2, width=8, seed=3), TEXT, view="gradient")
    assert [model["name"].endswith("before training") for model in view["models"]] == [False, True]
    assert list(view["models"][0]["norms"]) == ["hidden 1", "cell 1", "hidden 2", "cell 2"]


def test_a_step_moves_the_loss_no_further_than_its_bound() -> None:
    for lr in (0.01, 0.5):
        [model] = cr.look(small("gru", layers=1, width=8), TEXT, view="gradient", untrained=False, lr=lr)[
            "models"
        ]
        step = model["step"]
        assert 0 < step["moved"] <= step["bound"] * 1.001
        assert step["after"] < step["before"]


def test_every_kind_of_cell_stands_in_one_picture() -> None:
    view = cr.look(small("lstm", layers=1, width=8), TEXT, view="gradient", untrained=False, families=True)
    names = [model["name"] for model in view["models"]]
    assert [name.split(", before")[0] for name in names[1:]] == [
        "rnn, tanh",
        "rnn, relu",
        "rnn, relu from the identity",
        "gru",
        "lstm",
    ]
    identity = view["models"][3]
    assert identity["radius"]["layer 1"] == pytest.approx(1.0)
    derived = view["models"][1]["derivative"][0]
    assert len(derived) == len(identity["norms"]["hidden 1"]) and (derived <= 1).all()


def test_a_kind_of_cell_that_is_shown_already_is_not_shown_twice() -> None:
    view = cr.look(small("lstm", layers=1, width=8), TEXT, view="gradient", families=True)
    names = [model["name"] for model in view["models"]]
    assert "lstm, before training" not in names


def test_what_is_told_of_a_gradient_follows_from_its_numbers() -> None:
    view = cr.look(small("rnn", layers=1, width=8), TEXT, view="gradient", untrained=False)
    [model] = view["models"]
    norms, told = model["norms"]["hidden 1"], model["told"]
    factor = 10 ** ((norms[-1] - norms[0]) / (len(norms) - 1))
    assert f"x {factor:.2f} for each step back" in told["the gradient"]
    assert f"layer 1: {model['radius']['layer 1']:.2f}" in told.values()
    assert f"layer 1 {model['derivative'][0].mean():.2f}" in told["mean derivative of the activation"]
    assert all(f"{name}: {one}" in str(view) for name, one in told.items())


def lstm_by_hand(lm: cr.Bundle) -> tuple[list[float], list[float]]:
    """Norms of dL_T/dh_t and dL_T/dc_t of an LSTM of one layer."""
    tokens = torch.tensor([[*lm.prompt_ids(TEXT), 2]])
    steps = list(lstm_steps(lm, tokens[:, :-1]))
    loss = torch.nn.functional.cross_entropy(
        lm.model.logits(steps[-1]["hidden"][:, None])[:, 0], tokens[:, -1]
    )
    hidden, memory = (
        torch.autograd.grad(loss, [step[name] for step in steps], retain_graph=True)
        for name in ("hidden", "cell")
    )
    return [float(one.norm()) for one in reversed(hidden)], [float(one.norm()) for one in reversed(memory)]


def test_the_gradient_through_an_lstm_is_that_of_its_equations() -> None:
    lm = small("lstm", layers=1, width=8, seed=4)
    [model] = cr.look(lm, TEXT, view="gradient", untrained=False)["models"]
    hidden, memory = lstm_by_hand(lm)
    np.testing.assert_allclose(model["norms"]["hidden 1"], np.log10(hidden), rtol=1e-3)
    np.testing.assert_allclose(model["norms"]["cell 1"], np.log10(memory), rtol=1e-3)


def test_clipping_is_told_by_its_threshold_and_what_it_leaves() -> None:
    lm = small("gru", layers=1, width=8)
    [free] = cr.look(lm, TEXT, view="gradient", untrained=False)["models"]
    norm = free["step"]["norm"]
    view = cr.look(lm, TEXT, view="gradient", untrained=False, clip_norm=norm / 4)
    [held] = view["models"]
    assert (free["step"]["share"], held["step"]["share"]) == (1.0, pytest.approx(0.25))
    assert "shortens a step to 25.0%" in str(view)


def test_before_training_a_curve_is_dashed_in_the_same_colour(tmp_path: Path) -> None:
    view = cr.look(small("rnn", layers=1, width=8), TEXT, view="gradient")
    view.save(tmp_path / "a.svg")
    view.save(tmp_path / "a.png")
    strokes = re.findall(
        r'stroke="(#\w+)" stroke-width="2"( stroke-dasharray)?', (tmp_path / "a.svg").read_text()
    )
    assert [bool(dashed) for _, dashed in strokes] == [False, True] * 2  # of gradients, and of derivatives
    assert strokes[0][0] == strokes[1][0]


def test_a_family_without_recurrence_says_which_have_one() -> None:
    with pytest.raises(cr.ChainruleError, match="lstm"):
        cr.look(gpt(), TEXT, view="gradient")


@pytest.mark.parametrize("lm", [gpt(), small("lstm", layers=1, width=8)], ids=["gpt", "lstm"])
def test_integrated_gradients_add_up_to_the_difference_of_outputs(lm: cr.Bundle) -> None:
    [model] = cr.look(lm, TEXT, view="saliency", points=200, target="time", contrast="fine")["models"]
    assert model["attributions"].sum() == pytest.approx(model["output"] - model["baseline"], abs=2e-3)
    chances = lm.next(TEXT).probabilities
    known = {token: at for at, token in enumerate(lm.codec.tokens(range(lm.codec.size)))}
    assert model["output"] == pytest.approx(
        math.log(chances[known["time"]] / chances[known["fine"]]), abs=1e-4
    )


def test_gradient_times_input_is_exact_where_the_model_is_linear() -> None:
    lm = small("rnn", layers=1, width=8, activation="relu")
    cell = lm.body.layers.layers[0].cell  # type: ignore[attr-defined]
    with torch.no_grad():  # far above zero a ReLU is linear, and logits are compared
        cell.bias.fill_(100.0)
        cell.hidden_weight.zero_()
    [model] = cr.look(lm, TEXT, view="saliency", method="gradient-x-input", target="time", contrast="fine")[
        "models"
    ]
    assert model["attributions"].sum() == pytest.approx(model["output"] - model["baseline"], abs=1e-3)
    np.testing.assert_allclose(model["attributions"][:-1], 0.0, atol=1e-6)  # nothing is remembered


def test_leaving_a_symbol_out_costs_what_an_unknown_one_in_its_place_does() -> None:
    lm = gpt()
    [model] = cr.look(lm, TEXT, view="saliency", method="leave-one-out", target="time")["models"]
    known = {token: at for at, token in enumerate(lm.codec.tokens(range(lm.codec.size)))}
    before, after = (
        math.log(lm.next(text).probabilities[known["time"]])
        for text in (TEXT, TEXT.replace("weather", "zebra"))
    )
    assert model["attributions"][4] == pytest.approx(before - after, abs=1e-4)


def test_of_a_model_that_reads_both_ways_the_symbol_at_the_mask_is_explained() -> None:
    bert = small("bert", layers=1, width=8, heads=2, context=32)
    view = cr.look(bert, "what is the [MASK] today", view="saliency", points=200)
    [model], best = view["models"], bert.fill("what is the [MASK] today", 1).masks[0][0]
    assert model["target"] == best.symbol
    assert model["output"] == pytest.approx(math.log(best.probability), abs=1e-4)
    assert model["attributions"].sum() == pytest.approx(model["output"] - model["baseline"], abs=2e-3)
    for text in ("what is the time", "[MASK] is [MASK]"):
        with pytest.raises(cr.ChainruleError, match=r"\[MASK\]"):
            cr.look(bert, text, view="saliency")
    with pytest.raises(cr.ChainruleError, match="reads 32 at most"):
        cr.look(bert, "[MASK]" + " time" * 40, view="saliency")


def test_a_wrong_target_is_answered_with_the_nearest() -> None:
    with pytest.raises(cr.ChainruleError, match="weather"):
        cr.look(gpt(), TEXT, view="saliency", target="weathr")


def test_the_last_layer_predicts_what_the_model_does() -> None:
    lm = gpt()
    [model] = cr.look(lm, TEXT, view="layers", best=3)["models"]
    wanted = [symbol.probability for symbol in lm.next(TEXT, 3)]
    np.testing.assert_allclose(model["probabilities"][-1, -2], wanted, rtol=1e-4)  # before </s>
    scored = [-symbol.bits for symbol in lm.score(TEXT).tokens]
    np.testing.assert_allclose(np.log2(model["actual"][-1, :-1]), scored, rtol=1e-3)


def test_an_earlier_layer_is_read_as_if_the_later_ones_added_nothing() -> None:
    lm = gpt()
    [model] = cr.look(lm, TEXT, view="layers")["models"]
    upper = lm.body.blocks.all[1]  # type: ignore[attr-defined]
    with torch.no_grad():
        for linear in upper.last_linears:
            linear.weight.zero_()
            linear.bias.zero_()
    [without] = cr.look(lm, TEXT, view="layers")["models"]
    np.testing.assert_allclose(model["probabilities"][0], without["probabilities"][1], rtol=1e-4)


def test_layers_of_a_model_that_reads_both_ways_are_asked_for_what_stands_there() -> None:
    both = small("bert", layers=2, width=8, heads=2, context=32)
    [model] = cr.look(both, "what is", view="layers")["models"]
    assert model["ahead"] == 0 and model["actual"].shape == (2, len(model["symbols"]))


def test_models_with_several_answers_are_not_explained() -> None:
    rows = {"text": ["she was late"] * 20, "label": ["A B C"] * 20}
    tagger = cr.fit(rows, task="tag", model="gru", width=4, embedding=4, tokens=50)
    with pytest.raises(cr.ChainruleError, match="tag has others"):
        cr.look(tagger, "she was late", view="saliency")


def test_where_symbols_have_no_vectors_of_their_own_one_may_be_left_out() -> None:
    several = small("window", width=8)
    with pytest.raises(cr.ChainruleError, match="leave-one-out"):
        cr.look(several, "what is", view="saliency")
    [model] = cr.look(several, "what is", view="saliency", method="leave-one-out")["models"]
    assert len(model["attributions"]) == len(model["symbols"])


def test_a_bag_of_words_has_no_vectors_but_words_can_be_left_out() -> None:
    rows = {"text": [f"a {word} film {at}" for at in range(30) for word in ("good", "bad")]}
    rows["label"] = [text.split()[1] for text in rows["text"]]
    bag = cr.fit(rows, task="classify", model="bag", codec="words")
    with pytest.raises(cr.ChainruleError, match="leave-one-out"):
        cr.look(bag, "a good film", view="saliency")
    view = cr.look(bag, "a good film", view="saliency", method="leave-one-out")
    [model] = view["models"]
    assert model["symbols"][int(model["attributions"].argmax())] == "good"
    assert cr.View.from_json(view.to_json())["models"][0]["target"] == "good"


def test_an_encoder_decoder_has_no_gradient_through_one_memory() -> None:
    from chainrule.tasks.translate import Translate

    body = family("seq2seq").tiny()  # type: ignore[attr-defined]
    codecs = dict.fromkeys(("source", "target"), small("gru", width=8).codec)
    with pytest.raises(cr.ChainruleError, match="no recurrent memory"):
        cr.look(cr.Bundle(codecs, body, Translate()), "what", view="gradient", untrained=False)


@pytest.mark.parametrize(
    "line", ['{"loss": 1.0}', '{"step": "x"}', '{"step": 1' + "0" * 400 + "}", "[" * 5000 + "}"]
)
def test_a_damaged_run_is_no_curve(line: str, tmp_path: Path) -> None:
    (tmp_path / "metrics.jsonl").write_text(f'{{"step": 1, "loss": 2.0}}\n{line}\n')
    with pytest.raises(cr.ChainruleError, match="no folder of a run"):
        cr.look(small("gru", width=8), view="training", run=str(tmp_path))


def test_vectors_that_are_not_finite_are_refused() -> None:
    lm = small("gru", width=8)
    next(lm.model.parameters()).data.fill_(math.nan)  # type: ignore[attr-defined]
    with pytest.raises(cr.ChainruleError, match="not finite"):
        lm.embed("what is")
