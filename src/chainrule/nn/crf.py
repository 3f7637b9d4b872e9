"""Chains of tags: p(tags | logits) is proportional to exp(sum of logits + sum of transitions), a linear-chain CRF.

`log_partition` is for gradients, a batch at a time; `best` (Viterbi) and `shares` (forward-backward) are for finished
models, over flat words. A chain without transitions gives every word its softmax.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from chainrule.runtime import compiled

NEVER = 1e9  # what a tag lacks that cannot be
LEAST = 1e-300  # instead of dividing by nothing


def log_partition(logits: Tensor, real: Tensor, between: Tensor, opens: Tensor, closes: Tensor) -> Tensor:
    """log of the sum (B,) over all chains of tags of exp(score), of the words (B, W) that are `real`.

    `logits` (B, W, K); `between` (K, K) from one tag to the next, `opens` and `closes` (K,) at either end.
    """
    total = opens + logits[:, 0]  # (B, K)
    for at in range(1, logits.shape[1]):
        moved = (total.unsqueeze(2) + between).logsumexp(1) + logits[:, at]  # (B, K)
        total = torch.where(real[:, at, None], moved, total)
    return (total + closes).logsumexp(1)


def log_likelihood(
    logits: Tensor, tags: Tensor, real: Tensor, between: Tensor, opens: Tensor, closes: Tensor
) -> Tensor:
    """log p (B,) of the tags (B, W); where one is below 0 it is not known, and any may stand there."""
    count = logits.shape[2]
    wanted = (tags.unsqueeze(2) == torch.arange(count, device=tags.device)) | (tags < 0).unsqueeze(2)
    only = logits.masked_fill(~wanted, -NEVER)
    both = log_partition(torch.cat([only, logits]), torch.cat([real, real]), between, opens, closes)  # (2 B,)
    right, every = both.chunk(2)
    return right - every


@compiled
def best(
    logits: np.ndarray, starts: np.ndarray, between: np.ndarray, opens: np.ndarray, closes: np.ndarray
) -> np.ndarray:
    """The most probable tags (words,) by Viterbi, of sentences that begin at `starts` (sentences + 1,)."""
    words, count = logits.shape
    found = np.zeros(words, np.int64)
    back = np.zeros((words, count), np.int32)
    total, moved = np.zeros(count), np.zeros(count)
    for sentence in range(len(starts) - 1):
        begin, end = starts[sentence], starts[sentence + 1]
        if begin == end:
            continue
        for tag in range(count):
            total[tag] = opens[tag] + logits[begin, tag]
        for word in range(begin + 1, end):
            for tag in range(count):
                top, where = total[0] + between[0, tag], 0
                for one in range(1, count):
                    value = total[one] + between[one, tag]
                    if value > top:
                        top, where = value, one
                moved[tag], back[word, tag] = top + logits[word, tag], where
            total[:] = moved
        found[end - 1] = np.argmax(total + closes)
        for word in range(end - 1, begin, -1):
            found[word - 1] = back[word, found[word]]
    return found


@compiled
def shares(
    logits: np.ndarray, starts: np.ndarray, between: np.ndarray, opens: np.ndarray, closes: np.ndarray
) -> np.ndarray:
    """The probability (words, K) of every tag at every word, whatever the others are: forward times backward.

    Every vector on the way is scaled to sum to one, so that nothing grows or vanishes.
    """
    words, count = logits.shape
    found, emitted = np.zeros((words, count)), np.zeros((words, count))
    step, first, last = np.exp(between), np.exp(opens), np.exp(closes)
    back, moved = np.zeros(count), np.zeros(count)
    for sentence in range(len(starts) - 1):
        begin, end = starts[sentence], starts[sentence + 1]
        for word in range(begin, end):
            emitted[word] = np.exp(logits[word] - logits[word].max())
            for tag in range(count):
                total = first[tag] if word == begin else 0.0
                for one in range(count if word > begin else 0):
                    total += found[word - 1, one] * step[one, tag]
                found[word, tag] = total * emitted[word, tag]
            found[word] /= max(found[word].sum(), LEAST)
        back[:] = last
        for word in range(end - 1, begin - 1, -1):
            found[word] *= back
            found[word] /= max(found[word].sum(), LEAST)
            for one in range(count):
                moved[one] = 0.0
                for tag in range(count):
                    moved[one] += step[one, tag] * emitted[word, tag] * back[tag]
            back[:] = moved / max(moved.sum(), LEAST)
    return found
