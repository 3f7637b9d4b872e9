"""The output layer against torch's own cross-entropy, values and gradients."""

from __future__ import annotations

import itertools
import math

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from chainrule.nn import softmax
from chainrule.nn.softmax import SoftmaxOutput
from chainrule.symbols import BOS, MASK, PAD

SUPPRESSED = (PAD, BOS, MASK)
V, D, N = 23, 5, 17
TOLERANCE = {torch.float32: 1e-5, torch.float64: 1e-12}


def layer(dtype: torch.dtype = torch.float64) -> SoftmaxOutput:
    torch.manual_seed(0)
    made = SoftmaxOutput(D, V, SUPPRESSED).to(dtype)
    torch.nn.init.normal_(made.weight)
    torch.nn.init.normal_(made.bias)
    return made


def rows(dtype: torch.dtype = torch.float64) -> tuple[Tensor, Tensor]:
    """Hidden vectors (N, D), and targets (N,) some of which are PAD."""
    generator = torch.Generator().manual_seed(1)
    targets = torch.randint(5, V, (N,), generator=generator)
    targets[[3, 11]] = PAD
    return torch.randn(N, D, generator=generator, dtype=dtype).requires_grad_(), targets


def gradients(loss: Tensor, *of: Tensor) -> list[Tensor]:
    return list(torch.autograd.grad(loss, of))


def reference(output: SoftmaxOutput, hidden: Tensor, targets: Tensor, smoothing: float) -> Tensor:
    """Torch's loss over the symbols that can be predicted, renumbered without the others."""
    predicted = ~output.suppressed
    number = predicted.cumsum(0) - 1
    logits = F.linear(hidden, output.weight, output.bias)[:, predicted]
    wanted = torch.where(targets == PAD, -100, number[targets])
    return F.cross_entropy(logits, wanted, reduction="sum", label_smoothing=smoothing)


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("chunk", [1, 1 << 20])
def test_the_fused_loss_equals_torch(
    chunk: int, dtype: torch.dtype, smoothing: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(softmax, "CHUNK", chunk)
    monkeypatch.setattr(softmax, "FEWEST", 4)
    output, (hidden, targets) = layer(dtype), rows(dtype)
    parts = (hidden, output.weight, output.bias)
    found, expected = output.loss(hidden, targets, smoothing), reference(output, hidden, targets, smoothing)
    close = {"rtol": TOLERANCE[dtype], "atol": TOLERANCE[dtype] * 10}
    torch.testing.assert_close(found, expected, **close)
    for one, other in zip(gradients(found / 7, *parts), gradients(expected / 7, *parts), strict=True):
        torch.testing.assert_close(one, other, **close)


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
def test_bf16_products_teach_nearly_the_same(smoothing: float, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(softmax, "CHUNK", 1)
    monkeypatch.setattr(softmax, "FEWEST", 4)
    output, (hidden, targets) = layer(torch.float32), rows(torch.float32)
    parts = (hidden, output.weight, output.bias)
    found, expected = (output.loss(hidden, targets, smoothing, bf16) for bf16 in (True, False))
    torch.testing.assert_close(found, expected, rtol=0.01, atol=0.0)
    for one, other in zip(gradients(found, *parts), gradients(expected, *parts), strict=True):
        assert one.dtype == other.dtype
        assert F.cosine_similarity(one.flatten(), other.flatten(), dim=0) > 0.9995


def test_without_gradients_the_loss_is_the_same() -> None:
    output, (hidden, targets) = layer(), rows()
    with torch.no_grad():
        found = output.loss(hidden, targets)
    assert not found.requires_grad
    torch.testing.assert_close(found, output.loss(hidden, targets).detach())


def test_the_loss_of_nothing_but_padding_is_zero_and_teaches_nothing() -> None:
    output, (hidden, targets) = layer(), rows()
    loss = output.loss(hidden, torch.full_like(targets, PAD))
    assert loss == 0.0
    assert all((one == 0.0).all() for one in gradients(loss, hidden, output.weight, output.bias))


def test_a_hopeless_target_has_a_finite_loss() -> None:
    output = layer(torch.float32)
    with torch.no_grad():
        output.bias[7] = -500.0
    hidden = torch.zeros(1, D, requires_grad=True)
    loss = output.loss(hidden, torch.tensor([7]))
    assert 490.0 < float(loss.detach()) < 520.0
    assert output.score(hidden, torch.tensor([7])).isfinite().all()


def test_a_second_way_back_is_refused_rather_than_wrong() -> None:
    output, (hidden, targets) = layer(), rows()
    loss = output.loss(hidden, targets)
    loss.backward(retain_graph=True)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        loss.backward()


def test_scores_add_up_to_the_loss() -> None:
    output, (hidden, targets) = layer(), rows()
    scores = output.score(hidden, targets)
    assert (scores[targets == PAD] == 0.0).all()
    torch.testing.assert_close(-scores.sum(), output.loss(hidden, targets).detach())


def test_what_is_suppressed_has_no_logit() -> None:
    output, (hidden, _) = layer(), rows()
    logits = output.logits(hidden)
    assert (logits[:, list(SUPPRESSED)] == -math.inf).all()
    assert logits[:, ~output.suppressed].isfinite().all()


def test_the_weight_may_be_an_embedding() -> None:
    table = torch.nn.Embedding(V, D)
    assert SoftmaxOutput(D, V, SUPPRESSED, table.weight).weight is table.weight


@pytest.mark.parametrize("samples", [1, 6, 15])
def test_about_so_many_symbols_are_drawn(samples: int) -> None:
    chances = layer().chances(samples)
    assert float(chances.sum()) == pytest.approx(samples, rel=1e-6)
    assert (chances[list(SUPPRESSED)] == 0.0).all()
    assert (chances[2:].diff()[[0, 3, 4, 5]] <= 0.0).all()


def test_symbols_are_drawn_as_proposed() -> None:
    output = layer()
    counts = torch.zeros(V)
    counts[20] = 1e6
    output.propose(counts)
    chances = output.chances(2)
    assert chances[20] > 0.99
    assert (chances[5:20] < 0.1).all()


def test_drawing_every_symbol_is_the_exact_loss() -> None:
    output, (hidden, targets) = layer(), rows()
    parts = (hidden, output.weight, output.bias)
    found, expected = output.sampled_loss(hidden, targets, V), output.loss(hidden, targets)
    torch.testing.assert_close(found, expected)
    for one, other in zip(gradients(found, *parts), gradients(expected, *parts), strict=True):
        torch.testing.assert_close(one, other)


def test_bf16_products_hardly_change_the_sampled_loss() -> None:
    output, (hidden, targets) = layer().float(), rows()
    found = [output.sampled_loss(hidden.float(), targets, V, bf16) for bf16 in (True, False)]
    torch.testing.assert_close(found[0], found[1], rtol=0.01, atol=0.0)
    assert found[0] != found[1]


def test_the_sampled_loss_is_smallest_where_the_exact_one_is(monkeypatch: pytest.MonkeyPatch) -> None:
    """All symbols are equally likely, draws are not: at the truth the gradient vanishes, all draws considered."""
    output = SoftmaxOutput(1, 10, SUPPRESSED).double()
    torch.nn.init.zeros_(output.weight)
    targets, chance = torch.nonzero(~output.suppressed).squeeze(1), output.chances(3)
    hidden, total = torch.zeros(len(targets), 1).double(), torch.zeros(10).double()
    for kept in itertools.product([True, False], repeat=len(targets)):
        uniform = torch.ones(10)
        uniform[targets[list(kept)]] = 0.0  # drawn, whatever the chance
        monkeypatch.setattr(torch, "rand", lambda *_, uniform=uniform, **__: uniform)
        [change] = gradients(output.sampled_loss(hidden, targets, 3), output.bias)
        likely = torch.where(torch.tensor(kept), chance[targets], 1.0 - chance[targets]).prod()
        total += likely * change
    torch.testing.assert_close(total, torch.zeros_like(total))


def test_the_same_seed_gives_the_same_sampled_loss() -> None:
    output, (hidden, targets) = layer(), rows()
    found = [
        output.sampled_loss(hidden, targets, 4, False, torch.Generator().manual_seed(s)) for s in (1, 1, 2)
    ]
    assert found[0] == found[1] != found[2]
