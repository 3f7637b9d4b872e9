"""Products with large matrices while answering, when no gradient is wanted."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor


def linear(vectors: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """As F.linear. oneDNN takes half the time of the library torch would choose for few rows, and never more."""
    if torch.is_grad_enabled() or not vectors.numel() or not torch._C._has_mkldnn:
        return F.linear(vectors, weight, bias)
    if {vectors.dtype, weight.dtype} != {torch.float32} or vectors.device.type != "cpu":
        return F.linear(vectors, weight, bias)
    found: Tensor = torch.ops.mkldnn._linear_pointwise(vectors, weight, bias, "none", [], "")
    return found
