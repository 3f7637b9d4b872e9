"""The quick product is the product."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest
import torch
import torch.nn.functional as F

from chainrule.nn.product import Linear, linear


@pytest.mark.parametrize("shape", [(1, 7), (32, 7), (333, 7), (2, 3, 7), (0, 7), (1, 0, 7)])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
@pytest.mark.parametrize("bias", [True, False])
def test_few_rows_and_many_give_what_torch_gives(
    shape: tuple[int, ...], dtype: torch.dtype, bias: bool
) -> None:
    generator = torch.Generator().manual_seed(1)
    vectors, weight, shift = (
        torch.randn(*size, generator=generator).to(dtype) for size in (shape, (11, 7), (11,))
    )
    with torch.no_grad():
        found = linear(vectors, weight, shift if bias else None)
    torch.testing.assert_close(found, F.linear(vectors, weight, shift if bias else None))


def test_what_is_never_predicted_stays_so() -> None:
    shift = torch.tensor([0.0, -torch.inf, 1.0])
    with torch.no_grad():
        assert linear(torch.ones(1, 4), torch.ones(3, 4), shift).tolist() == [[4.0, -torch.inf, 5.0]]


def test_gradients_flow_where_they_are_wanted() -> None:
    weight = torch.ones(3, 4, requires_grad=True)
    linear(torch.ones(1, 4), weight).sum().backward()
    assert weight.grad is not None and weight.grad.eq(1.0).all()


@pytest.mark.parametrize("rows", [1, 3, 5, 6])
@pytest.mark.parametrize("size", [(700, 257), (5001, 450)])
def test_large_matrices_give_what_torch_gives(rows: int, size: tuple[int, int]) -> None:
    generator = torch.Generator().manual_seed(1)
    vectors, weight = torch.randn(rows, size[1], generator=generator), torch.randn(*size, generator=generator)
    bias = torch.randn(size[0], generator=generator)
    bias[7] = -torch.inf
    layer = Linear(size[1], size[0])
    with torch.no_grad():
        layer.weight.copy_(weight)
        layer.bias.copy_(bias)
        for given in (vectors, vectors[:, None], vectors.t().contiguous().t()):
            torch.testing.assert_close(layer(given), F.linear(given, weight, bias), atol=1e-4, rtol=1e-4)
        turned = weight.t().contiguous().t()  # the same numbers in another order
        torch.testing.assert_close(
            linear(vectors, turned, bias), F.linear(vectors, weight, bias), atol=1e-4, rtol=1e-4
        )


def _answer(_: int) -> float:
    with torch.no_grad():
        return float(linear(torch.ones(1, 400), torch.ones(500, 400))[0, 0])


def test_many_threads_can_multiply_side_by_side() -> None:
    with ThreadPoolExecutor(4) as threads:
        assert set(threads.map(_answer, range(64))) == {400.0}


@pytest.mark.parametrize("bias", [True, False])
def test_a_coarse_layer_learns_almost_the_same_and_answers_exactly(bias: bool) -> None:
    torch.manual_seed(1)
    bf16 = Linear(24, 40, bias, bf16=True)
    vectors, gradient = torch.randn(3, 5, 24, requires_grad=True), torch.randn(3, 5, 40)
    exact = F.linear(vectors, bf16.weight, bf16.bias)
    wanted = torch.autograd.grad(exact, [vectors, *bf16.parameters()], gradient)
    found = bf16(vectors)
    given = torch.autograd.grad(found, [vectors, *bf16.parameters()], gradient)
    for one, other in zip((found, *given), (exact, *wanted), strict=True):
        assert one.dtype is torch.float32 and (one - other).norm() <= 0.01 * other.norm()
    assert not torch.equal(found, exact)
    torch.testing.assert_close(bf16.eval()(vectors), exact)
