"""The best next symbols of many rows at once, without putting a whole vocabulary in order.

Letters: N rows, V symbols, C candidates of each row.
"""

from __future__ import annotations

import torch
from torch import Tensor

from chainrule.decode.filters import best, check_finite

BLOCK = 64  # symbols of which the greatest is looked at first
CHUNK = 1 << 20  # logits worked on at once, so that they stay in the cache


def candidates(logits: Tensor, count: int, whole: Tensor) -> tuple[Tensor, Tensor]:
    """Log-probability (N, C) in float64 and id (N, C) of the `count` best symbols after logits (N, V), ids in order.

    Of equally good ones those with the lowest ids. Probabilities are those of the `whole` logits, of which some may be
    forbidden.
    """
    parts = zip(*(torch.split(one, max(1, CHUNK // one.shape[1])) for one in (logits, whole)), strict=True)
    found = [_candidates(part, min(count, part.shape[1]), all) for part, all in parts]
    values, ids = zip(*found, strict=True)
    return torch.cat(values), torch.cat(ids)


def _candidates(logits: Tensor, count: int, whole: Tensor) -> tuple[Tensor, Tensor]:
    values, ids = _top(logits, count + 1)  # best first
    if values.shape[1] > count:
        tied = (values[:, count - 1] == values[:, count]) & (values[:, count] > -torch.inf)
        ids = ids[:, :count].contiguous()
        if bool(tied.any()):
            ids[tied] = _lowest(logits[tied], count)
    ids = ids.sort(1).values  # (N, C)
    logs, chosen = whole.log_softmax(1).gather(1, ids), logits.gather(1, ids)
    impossible = chosen == -torch.inf
    check_finite(logs.masked_fill(impossible, 0.0).amax(1))
    return logs.double().masked_fill_(impossible, -torch.inf), ids


def _top(logits: Tensor, count: int) -> tuple[Tensor, Tensor]:
    """The best `count` of logits (N, V), best first: they are in the blocks that have the greatest best ones."""
    size = logits.shape[1]
    if size < 2 * count * BLOCK:
        found = logits.topk(min(count, size))
        return found.values, found.indices
    whole = size - size % BLOCK
    blocks = torch.unflatten(logits[:, :whole], 1, (-1, BLOCK))  # (N, V / 64, 64)
    chosen = blocks.amax(2).topk(count).indices  # (N, C)
    inside = blocks.gather(1, chosen[:, :, None].expand(-1, -1, BLOCK)).flatten(1)  # (N, 64 C)
    ids = (chosen[:, :, None] * BLOCK + torch.arange(BLOCK, device=logits.device)).flatten(1)
    rest = torch.arange(whole, size, device=logits.device).expand(len(logits), -1)
    values, places = torch.cat([inside, logits[:, whole:]], 1).topk(count)
    return values, torch.cat([ids, rest], 1).gather(1, places)


def _lowest(logits: Tensor, count: int) -> Tensor:
    """Ids (N, C) of the best of logits (N, V) where more are equally good than there is room for."""
    return best(logits, count).nonzero()[:, 1].view(len(logits), count)
