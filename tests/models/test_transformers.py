"""gpt and bert: what they can hold, what they see, and what they are asked."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from chainrule.errors import ConfigError
from chainrule.models.bert import Bert, BertConfig
from chainrule.models.gpt import Gpt, GptConfig
from chainrule.nn.tap import listening
from chainrule.symbols import BOS, EOS, MASK, PAD
from chainrule.tasks.masked import FOLLOWS, Masked
from laws.case import Case, teach
from laws.laws import LAWS, Law
from losses import loss

ROW = torch.tensor([[BOS, 5, 6, 7, 8, 5]])


def gpt(**options: Any) -> Gpt:
    model = Gpt.seeded(
        GptConfig(**{"vocab_size": 9, "layers": 2, "width": 8, "heads": 2, "context": 12, **options}), 3
    )
    return loud(model)


def bert(**options: Any) -> Bert:
    made = BertConfig(**{"vocab_size": 9, "layers": 2, "width": 8, "heads": 2, "context": 12, **options})
    return loud(Bert.seeded(made, 3))


def loud(model: Any) -> Any:
    """Larger weights than at the beginning of a training, so that differences are seen."""
    torch.manual_seed(4)
    for value in model.parameters():
        if value.dim() > 1:
            torch.nn.init.normal_(value, std=0.6)
    return model


@pytest.mark.parametrize("positions", ["rotary", "learned", "sinusoidal"])
@pytest.mark.parametrize("norm", ["pre", "post"])
def test_rows_of_unequal_length_continue_as_if_alone(positions: str, norm: str) -> None:
    model = gpt(positions=positions, norm=norm)
    with model.inference():
        rows = torch.tensor([[BOS, 5, 6, 7], [BOS, 8, PAD, PAD]])
        _, state = model.read(rows, model.start(2))
        found, _ = model.read(torch.tensor([[8], [6]]), state)
        for row, ids in enumerate([[BOS, 5, 6, 7, 8], [BOS, 8, 6]]):
            alone, _ = model.read(torch.tensor([ids]), model.start(1))
            torch.testing.assert_close(found[row, 0], alone[0, -1], rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("positions", ["rotary", "learned", "sinusoidal"])
def test_places_matter(positions: str) -> None:
    model = gpt(positions=positions)
    with model.inference():
        one, _ = model.read(torch.tensor([[BOS, 5, 6, 7]]), model.start(1))
        other, _ = model.read(torch.tensor([[BOS, 6, 5, 7]]), model.start(1))
    assert not torch.allclose(one[0, -1], other[0, -1], atol=1e-3)


ROAD: dict[str, dict[str, Any]] = {
    "plain": {"attention": "plain"},
    "bilinear": {"attention": "bilinear", "positions": "learned"},
    "low-rank": {"attention": "low-rank", "head_width": 3, "positions": "sinusoidal", "norm": "post"},
    "low-rank-rotary": {"attention": "low-rank", "head_width": 2},
}


QUICK = [law for law in LAWS if law.__name__[4:6] in {"01", "03", "04", "06", "07", "12", "14"}]


@pytest.mark.parametrize("law", QUICK, ids=lambda law: law.__name__)
@pytest.mark.parametrize("variant", ROAD)
def test_every_step_of_the_road_keeps_the_laws(variant: str, law: Law) -> None:
    config = GptConfig(vocab_size=9, layers=2, width=8, heads=2, context=12, **ROAD[variant])
    law(Case(variant, lambda: Gpt.seeded(config, 0), teach))


@pytest.mark.parametrize("variant", ROAD)
def test_steps_of_the_road_are_what_their_formulas_say(variant: str) -> None:
    """softmax(X M X' / sqrt(d)) X of the first layer, written out in NumPy, masked."""
    model = gpt(
        **ROAD[variant], **({"positions": "learned"} if "rotary" in variant or variant == "plain" else {})
    )
    layer = model.blocks.all[0].attention
    with model.inference(), listening(model) as heard:
        model.read(ROW, model.start(1))
    x = heard["embeddings"][0][0]
    x = (model.blocks.all[0].attention_norm(x) if model.config.norm == "pre" else x).detach().double().numpy()
    matrices = [one.weight.detach().double().numpy() for one in layer.linears]
    between = {0: lambda: np.eye(8), 1: lambda: matrices[0].T, 2: lambda: matrices[0].T @ matrices[1]}[
        len(matrices)
    ]()
    size = {0: 8, 1: 8, 2: len(matrices[-1]) if matrices else 0}[len(matrices)]
    logits = np.where(np.tri(6), x @ between @ x.T / np.sqrt(size), -np.inf)
    weights = np.exp(logits - logits.max(1, keepdims=True))
    wanted = weights / weights.sum(1, keepdims=True)
    np.testing.assert_allclose(heard["blocks.0.attention.weights"][0][0, 0].numpy(), wanted, atol=1e-5)


def test_a_head_width_is_for_low_rank_only() -> None:
    with pytest.raises(ConfigError, match="low-rank"):
        Gpt(GptConfig(vocab_size=9, width=8, heads=2, head_width=4))


def test_attention_can_be_looked_at_in_every_layer() -> None:
    for model in (gpt(), bert()):
        with model.inference(), listening(model) as heard:
            model.read(ROW, model.start(1))
        assert [heard[f"blocks.{layer}.attention.weights"][0].shape for layer in (0, 1)] == [(1, 2, 6, 6)] * 2


def test_a_longer_text_than_it_holds_is_scored_in_stretches() -> None:
    model = gpt(context=6)
    ids = np.array([BOS, *([5, 6, 7, 8] * 10), EOS], np.int32)
    logs = model.score_ids(ids)
    assert np.isfinite(logs).all() and (logs[1:] < 0).all()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"width": 9, "heads": 2}, "divide"),
        ({"width": 6, "heads": 2}, "even"),
        ({"embedding": 4}, "--embedding"),
    ],
)
def test_sizes_that_do_not_fit_are_refused(options: dict[str, Any], words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        Gpt(GptConfig(vocab_size=9, **options))


def test_both_sides_of_a_mask_matter() -> None:
    model = bert()
    with model.inference():
        guesses = [
            model.logits(model.read(torch.tensor([[BOS, before, MASK, after, EOS]]), model.start(1))[0])[0, 2]
            for before, after in ((5, 6), (7, 6), (5, 7))
        ]
    assert not torch.allclose(guesses[0], guesses[1], atol=1e-3)
    assert not torch.allclose(guesses[0], guesses[2], atol=1e-3)


def test_the_second_sentence_is_told_apart_from_the_first() -> None:
    model = bert()
    with model.inference():
        before = model.read(torch.tensor([[BOS, 5, EOS, 6, EOS]]), model.start(1))[0]
        torch.nn.init.zeros_(model.segments.weight)
        after = model.read(torch.tensor([[BOS, 5, EOS, 6, EOS]]), model.start(1))[0]
    assert not torch.allclose(before, after, atol=1e-3)


def test_pairs_are_learnt_beside_the_masks() -> None:
    model, task = bert().train(), Masked(next_sentence=True)
    tokens = torch.tensor([[BOS, MASK, EOS, 6, EOS], [BOS, 7, EOS, MASK, EOS]])
    masks = torch.tensor([[PAD, 5, PAD, PAD, PAD], [PAD, PAD, PAD, 8, PAD]])
    asked = {FOLLOWS: torch.tensor([0, 1])}
    plain, paired = (loss(model, tokens, masks, model.start(2), task, **more)[0] for more in ({}, asked))
    told = model.next_sentence(model.pooled(model.read(tokens, model.start(2))[0]))
    expected = torch.nn.functional.cross_entropy(told, torch.tensor([0, 1]), reduction="sum")
    torch.testing.assert_close(paired - plain, expected, rtol=1e-4, atol=1e-4)


def test_the_loss_of_masks_is_what_scoring_them_says() -> None:
    model = bert()
    tokens = torch.tensor([[BOS, MASK, 6, EOS, PAD], [BOS, 7, 8, MASK, EOS]])
    targets = torch.tensor([[PAD, 5, PAD, PAD, PAD], [PAD, PAD, PAD, 8, PAD]])
    nats, _ = loss(model, tokens, targets, model.start(2), Masked())
    with model.inference():
        logs, _ = model.score(tokens, targets, model.start(2))
    torch.testing.assert_close(nats, -logs.sum(), rtol=1e-5, atol=1e-5)
