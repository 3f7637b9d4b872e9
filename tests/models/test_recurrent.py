"""The recurrent families: every setting keeps the laws, and training computes what it should."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from chainrule.config import settings
from chainrule.errors import ConfigError, ModelError
from chainrule.flags import read_flags
from chainrule.models.lstm import Lstm, LstmConfig
from chainrule.models.neural import NeuralLanguageModel
from chainrule.models.registry import family
from chainrule.nn.product import bf16_pays
from chainrule.nn.tap import listening
from chainrule.symbols import BOS, EOS, PAD
from chainrule.tasks.next import Next
from laws.case import Case, teach
from laws.laws import LAWS, Law
from losses import loss

VARIANTS: dict[str, tuple[str, dict[str, Any]]] = {
    "rnn-relu-identity": ("rnn", {"activation": "relu", "init": "identity"}),
    "rnn-sigmoid-norm": ("rnn", {"activation": "sigmoid", "layer_norm": True}),
    "lstm-coupled": ("lstm", {"gates": "coupled"}),
    "lstm-additive": ("lstm", {"gates": "additive"}),
    "lstm-no-output": ("lstm", {"gates": "no-output", "initial_state": "learned"}),
    "rnn-learned": ("rnn", {"initial_state": "learned"}),
    "gru-learned": ("gru", {"initial_state": "learned", "layers": 1}),
    "lstm-norm": ("lstm", {"layer_norm": True, "layers": 1}),
    "lstm-narrow-tied": ("lstm", {"embedding": 5, "tied": "yes"}),
    "lstm-narrow": ("lstm", {"embedding": 5}),
    "lstm-dropout": (
        "lstm",
        {"dropout": 0.5, "embedding_dropout": 0.5, "weight_drop": 0.5, "sampled_softmax": 2},
    ),
    "gru-after": ("gru", {"reset": "after"}),
    "gru-norm": ("gru", {"layer_norm": True, "init": "orthogonal"}),
}
QUICK = [law for law in LAWS if law.__name__[4:6] in {"01", "03", "05", "06", "07", "12", "13", "14"}]


def tiny(name: str, **settings: Any) -> NeuralLanguageModel:
    kind = family(name)
    config = replace(kind.Config(vocab_size=9), **{"layers": 2, "width": 8} | settings)
    made = kind.seeded(config, 0)  # type: ignore[attr-defined]
    assert isinstance(made, NeuralLanguageModel)
    return made


def batch() -> tuple[Tensor, Tensor]:
    """Tokens and targets (B, T), one row shorter than the other."""
    tokens = torch.tensor([[1, 5, 6, 7, 8], [1, 7, 7, PAD, PAD]])
    return tokens, torch.tensor([[5, 6, 7, 8, 2], [7, 7, 2, PAD, PAD]])


@pytest.mark.parametrize("law", QUICK, ids=lambda law: law.__name__)
@pytest.mark.parametrize("variant", VARIANTS)
def test_every_variant_keeps_the_laws(variant: str, law: Law) -> None:
    name, settings = VARIANTS[variant]
    law(Case(variant, partial(tiny, name, **settings), teach))


@pytest.mark.parametrize("variant", VARIANTS)
def test_the_loss_is_the_score_and_has_its_gradients(variant: str) -> None:
    name, settings = VARIANTS[variant]
    model, (tokens, targets) = tiny(name, **settings), batch()
    nats, state = loss(model, tokens, targets, model.start(2))
    scores, other = model.score(tokens, targets, model.start(2))
    torch.testing.assert_close(nats, -scores.sum())
    torch.testing.assert_close(state.memories, other.memories)  # type: ignore[attr-defined]
    weights = list(model.parameters())
    for one, expected in zip(
        torch.autograd.grad(nats, weights), torch.autograd.grad(-scores.sum(), weights), strict=True
    ):
        torch.testing.assert_close(one, expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("name", ["rnn", "lstm", "gru"])
def test_gradients_go_through_a_state_that_is_carried_on(name: str) -> None:
    """One chunk equals two chunks whose state was not detached: truncation is the caller's choice alone."""
    model, (tokens, targets) = tiny(name), batch()
    whole, _ = loss(model, tokens, targets, model.start(2))
    first, state = loss(model, tokens[:, :2], targets[:, :2], model.start(2))
    second, _ = loss(model, tokens[:, 2:], targets[:, 2:], state)
    weights = list(model.parameters())
    ours, theirs = torch.autograd.grad(first + second, weights), torch.autograd.grad(whole, weights)
    torch.testing.assert_close(ours, theirs, rtol=1e-4, atol=1e-5)


def test_widths_that_match_share_one_table_which_is_saved_once() -> None:
    tied, free = tiny("lstm"), tiny("lstm", tied="no")
    assert tied.output.weight is tied.embedding.weight
    assert free.output.weight is not free.embedding.weight
    assert "output.weight" not in tied.arrays()
    assert free.parameters_count == tied.parameters_count + 9 * 8
    again = type(tied).from_arrays(tied.config, tied.arrays())
    assert again.output.weight is again.embedding.weight


def test_sampling_symbols_is_for_training_only() -> None:
    model, (tokens, targets) = tiny("lstm", sampled_softmax=2), batch()
    exact, _ = loss(model, tokens, targets, model.start(2))
    assert loss(model, tokens, targets, model.start(2))[0] == exact
    model.train()
    torch.manual_seed(0)
    assert loss(model, tokens, targets, model.start(2))[0] != exact


@pytest.mark.parametrize("kind", ["plain", "locked"])
def test_dropout_depends_on_the_global_seed_alone(kind: str) -> None:
    settings = {
        "dropout": 0.3,
        "dropout_kind": kind,
        "embedding_dropout": 0.2,
        "weight_drop": 0.4,
        "sampled_softmax": 3,
    }
    model, (tokens, targets) = tiny("lstm", **settings).train(), batch()
    found = []
    for seed in (1, 1, 2):
        torch.manual_seed(seed)
        found.append(float(loss(model, tokens, targets, model.start(2))[0].detach()))
    assert found[0] == found[1] != found[2]


def test_bf16_training_is_nearly_exact_and_answers_are_exact() -> None:
    bf16, fine, (tokens, targets) = tiny("lstm", bf16=True), tiny("lstm"), batch()
    losses = [float(loss(one, tokens, targets, one.start(2))[0].detach()) for one in (bf16, fine)]
    assert losses[0] == losses[1]
    nats, _ = loss(bf16.train(), tokens, targets, bf16.start(2))
    assert (float(nats.detach()) != losses[1]) or not bf16_pays()
    assert float(nats.detach()) == pytest.approx(losses[1], rel=0.01)


def test_labels_are_smoothed_when_asked() -> None:
    model, (tokens, targets) = tiny("gru"), batch()
    sharp, smooth = (
        loss(model, tokens, targets, model.start(2), Next(label_smoothing=share))[0] for share in (0.0, 0.2)
    )
    assert sharp != smooth


def test_layers_can_be_listened_to_by_name() -> None:
    model, (tokens, _) = tiny("lstm"), batch()
    quiet, _ = model.read(tokens, model.start(2))
    with listening(model) as heard:
        loud, _ = model.read(tokens, model.start(2))
    torch.testing.assert_close(loud[tokens != PAD], quiet[tokens != PAD])
    gates = [f"gates.{name}" for name in ("input", "forget", "candidate", "output")]
    inside = {f"layers.{at}.{what}" for at in range(2) for what in ("hidden", "cell", *gates)}
    assert set(heard) == {"embeddings", *inside}
    assert heard["layers.0.gates.forget"][0].shape == (2, 5, 8)


def test_flags_make_settings() -> None:
    kind = family("lstm")
    words = "--layers 2 --gates coupled --layer-norm --tied no --embedding 16".split()
    config = kind.Config.from_values(read_flags(words, settings(kind.Config)).values)
    assert (config.layers, config.gates, config.layer_norm, config.tied) == (2, "coupled", True, "no")  # type: ignore[attr-defined]
    with pytest.raises(ConfigError, match="coupled"):
        read_flags(["--gates", "couplet"], settings(kind.Config))


@pytest.mark.parametrize("name", ["rnn", "lstm", "gru", "window"])
def test_a_source_is_refused(name: str) -> None:
    with pytest.raises(ModelError, match="reads no source"):
        family(name).tiny().start(1, source=object())


def test_carried_memory_scores_running_text_as_one_sequence() -> None:
    from chainrule.models.windows import LONG

    config = LstmConfig(vocab_size=9, width=8, stateful=True)
    model = Lstm.seeded(config, 0)
    rng = np.random.default_rng(0)
    rows = [[BOS, *rng.integers(5, 9, size), EOS] for size in rng.integers(0, 12, 1_200)]
    ids = np.concatenate(rows).astype(np.int32)
    assert len(ids) > LONG
    logs = model.score_ids(ids)
    with torch.no_grad():
        hidden, _ = model.read(torch.from_numpy(ids[:-1].astype(np.int64))[None], model.start(1))
        slow = model.logits(hidden)[0].log_softmax(-1)
    expected = slow[torch.arange(len(ids) - 1), torch.from_numpy(ids[1:].astype(np.int64))].numpy()
    expected = np.where(ids[1:] == BOS, 0.0, expected)
    np.testing.assert_allclose(logs[1:], expected, atol=1e-4)


@pytest.mark.parametrize("name", ["window", "rnn", "lstm", "gru"])
def test_costs_are_forecast_and_grow_with_the_data(name: str) -> None:
    kind = family(name)
    found = [kind.cost_forecasts(np.empty(0, np.int32), 10_000, symbols) for symbols in (10**4, 10**6, 10**8)]
    assert [list(one) for one in found] == [[f"{name}, {epochs} epochs"] for epochs in ("20", "10", "0.1")]
    few, some, many = (next(iter(one.values())) for one in found)
    assert few.seconds < some.seconds / 2 and some.seconds <= 1.01 * many.seconds
    assert few.memory < some.memory < many.memory


@pytest.mark.parametrize(("name", "since"), [("lstm", "initial_state"), ("gpt", "attention")])
def test_a_folder_from_before_a_setting_loads_as_it_was(name: str, since: str) -> None:
    kind = family(name)
    model = kind.tiny()
    values = {key: value for key, value in model.config.values().items() if key not in (since, "head_width")}
    again = kind.from_arrays(kind.Config.from_values(values), model.arrays())
    assert again.config == model.config
    assert {key: value.tolist() for key, value in again.arrays().items()} == {
        key: value.tolist() for key, value in model.arrays().items()
    }
