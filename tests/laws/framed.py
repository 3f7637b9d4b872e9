"""Laws of bodies that read frames, vectors of real numbers, in the place of symbols."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from chainrule.models.base import FrameConfig, SourceConfig
from chainrule.models.neural import Neural
from chainrule.models.registry import families, family
from chainrule.nn.frames import FrameProjection
from chainrule.symbols import BOS, EOS, FIRST, PAD

FEATURES, COUNT = 3, 8


@dataclass(frozen=True)
class Framed:
    """A family that reads frames, with fresh weights; a deliberate bug has another projection of them."""

    name: str
    projection: type[FrameProjection] = FrameProjection

    def body(self) -> Any:
        """The smallest one."""
        kind: Any = family(self.name)
        config = replace(kind.tiny().config, vocab_size=FIRST, features=FEATURES)
        config = replace(config, softmax=False) if hasattr(config, "softmax") else config
        body = kind.seeded(config, 3)
        body.frames.__class__ = self.projection
        return body


def table(seed: int = 0) -> np.ndarray:
    """(COUNT, FEATURES) frames."""
    return np.random.default_rng(seed).normal(size=(COUNT, FEATURES)).astype(np.float32)


def read(body: Neural, frames: np.ndarray, ids: Any) -> Tensor:
    """Hidden vectors (B, T, D) of frames by their numbers in a table, between BOS and EOS; -1 is padding."""
    told = body.respelled(np.zeros((FIRST, FEATURES), np.float32), frames)
    rows = [[BOS, *(FIRST + one for one in row), EOS] for row in ids]
    longest = max(map(len, rows))
    tokens = torch.tensor([row + [PAD] * (longest - len(row)) for row in rows])
    with body.inference():
        return told.read(tokens, told.start(len(rows)))[0]


def same(found: Tensor, expected: Tensor, claim: str) -> None:
    assert torch.allclose(found, expected, atol=1e-5), claim


def law_01_a_frame_is_its_numbers_wherever_they_stand_in_the_table(framed: Framed) -> None:
    body, frames = framed.body(), table()
    order = np.random.default_rng(1).permutation(COUNT)
    place = np.argsort(order)
    ids = [[0, 1, 2, 7], [5, 5, 3, 4]]
    moved = [[int(place[one]) for one in row] for row in ids]
    same(read(body, frames[order], moved), read(body, frames, ids), "the order of the table is seen")


def law_02_rows_are_independent_and_padding_changes_nothing(framed: Framed) -> None:
    body, frames = framed.body(), table()
    both = read(body, frames, [[0, 1], [2, 3, 4, 5]])
    same(both[:1, :4], read(body, frames, [[0, 1]]), "a neighbour is seen")


def law_03_every_number_counts(framed: Framed) -> None:
    body, frames = framed.body(), table()
    for column in range(FEATURES):
        other = frames.copy()
        other[2, column] += 1.0
        apart = (read(body, other, [[1, 2, 3]]) - read(body, frames, [[1, 2, 3]])).abs().amax()
        assert apart > 1e-5, f"number {column} is not read"


def law_04_a_missing_number_is_no_mean(framed: Framed) -> None:
    body, frames = framed.body(), table()
    mean, missing = frames.copy(), frames.copy()
    mean[2, 1], missing[2, 1] = 0.0, np.nan
    found = read(body, missing, [[1, 2, 3]])
    assert torch.isfinite(found).all(), "what is missing spreads"
    assert (found - read(body, mean, [[1, 2, 3]])).abs().amax() > 1e-5, "it is read as the mean"


def law_05_who_reads_to_the_left_has_not_seen_what_follows(framed: Framed) -> None:
    body, frames = framed.body(), table()
    if body.reads == "both":
        return
    now, other = read(body, frames, [[0, 1, 2, 3]]), read(body, frames, [[0, 1, 5, 6]])
    same(now[:, :3], other[:, :3], "what follows is seen")


def law_06_made_again_from_its_arrays_it_reads_the_same_and_keeps_no_frames(framed: Framed) -> None:
    body, frames = framed.body(), table()
    held = body.respelled(np.zeros((FIRST, FEATURES), np.float32), frames)
    assert all(array.shape[0] != COUNT or array.shape[1:] != (FEATURES,) for array in held.arrays().values())
    again = type(body).from_arrays(body.config, body.arrays())
    again.frames.__class__ = framed.projection
    same(read(again, frames, [[0, 4]]), read(body, frames, [[0, 4]]), "saved weights differ")


FramedLaw = Callable[[Framed], None]
FRAMED_LAWS: list[FramedLaw] = [
    law_01_a_frame_is_its_numbers_wherever_they_stand_in_the_table,
    law_02_rows_are_independent_and_padding_changes_nothing,
    law_03_every_number_counts,
    law_04_a_missing_number_is_no_mean,
    law_05_who_reads_to_the_left_has_not_seen_what_follows,
    law_06_made_again_from_its_arrays_it_reads_the_same_and_keeps_no_frames,
]
FRAMED = [
    Framed(name)
    for name in families()
    if issubclass(family(name).Config, FrameConfig) and not issubclass(family(name).Config, SourceConfig)
]
EXPECTED = {"rnn", "gru", "lstm", "window", "gpt", "bert", "cnn"}
