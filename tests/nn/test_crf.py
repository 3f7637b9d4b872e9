"""A chain of tags against all chains there are."""

from __future__ import annotations

from itertools import pairwise, product

import numpy as np
import pytest
import torch

from chainrule.nn.crf import best, log_likelihood, log_partition, shares


def chain(seed: int, words: int, count: int) -> tuple[np.ndarray, ...]:
    rng = np.random.default_rng(seed)
    return tuple(rng.normal(0, 2, shape) for shape in ((words, count), (count, count), (count,), (count,)))


def every(
    logits: np.ndarray, between: np.ndarray, opens: np.ndarray, closes: np.ndarray
) -> dict[tuple[int, ...], float]:
    """The score of every chain."""
    words, count = logits.shape
    return {
        tags: float(
            opens[tags[0]]
            + closes[tags[-1]]
            + sum(logits[at, tag] for at, tag in enumerate(tags))
            + sum(between[one, next] for one, next in pairwise(tags))
        )
        for tags in product(range(count), repeat=words)
    }


@pytest.mark.parametrize(("seed", "words", "count"), [(0, 1, 3), (1, 4, 3), (2, 5, 2), (3, 3, 5)])
def test_partition_viterbi_and_marginals_equal_brute_force(seed: int, words: int, count: int) -> None:
    logits, *steps = chain(seed, words, count)
    scores = every(logits, *steps)
    total = np.logaddexp.reduce(list(scores.values()))
    given = [torch.from_numpy(one) for one in steps]
    real = torch.ones(1, words, dtype=torch.bool)
    assert float(log_partition(torch.from_numpy(logits)[None], real, *given)) == pytest.approx(
        total, abs=1e-9
    )
    right = max(scores, key=lambda tags: scores[tags])
    found = log_likelihood(torch.from_numpy(logits)[None], torch.tensor([right]), real, *given)
    assert float(found) == pytest.approx(scores[right] - total, abs=1e-6)
    starts = np.array([0, words])
    assert best(logits, starts, *steps).tolist() == list(right)
    wanted = np.zeros((words, count))
    for tags, score in scores.items():
        wanted[np.arange(words), tags] += np.exp(score - total)
    np.testing.assert_allclose(shares(logits, starts, *steps), wanted, atol=1e-9)


def test_rows_of_a_batch_and_sentences_side_by_side_do_not_mix() -> None:
    one, *steps = chain(4, 3, 4)
    two = chain(5, 2, 4)[0]
    both, starts = np.concatenate([one, two]), np.array([0, 3, 3, 5])
    alone = [shares(part, np.array([0, len(part)]), *steps) for part in (one, two)]
    np.testing.assert_allclose(shares(both, starts, *steps), np.concatenate(alone))
    single = [best(part, np.array([0, len(part)]), *steps) for part in (one, two)]
    assert best(both, starts, *steps).tolist() == np.concatenate(single).tolist()
    padded = np.stack([one, np.concatenate([two, 99 * np.ones((1, 4))])])
    real = torch.tensor([[True] * 3, [True, True, False]])
    given = [torch.from_numpy(part) for part in steps]
    found = log_partition(torch.from_numpy(padded), real, *given)
    wanted = [np.logaddexp.reduce(list(every(part, *steps).values())) for part in (one, two)]
    assert found.tolist() == pytest.approx(wanted)


def test_an_unknown_tag_may_be_any() -> None:
    logits, *steps = chain(6, 3, 3)
    given = [torch.from_numpy(one) for one in steps]
    real = torch.ones(1, 3, dtype=torch.bool)
    found = log_likelihood(torch.from_numpy(logits)[None], torch.tensor([[1, -4, 2]]), real, *given)
    parts = [
        log_likelihood(torch.from_numpy(logits)[None], torch.tensor([[1, tag, 2]]), real, *given)
        for tag in range(3)
    ]
    assert float(found) == pytest.approx(float(torch.stack(parts).logsumexp(0)), abs=1e-6)
