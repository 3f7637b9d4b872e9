"""Every family that reads frames keeps their laws, and each deliberate bug is caught by the law it breaks."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from chainrule.nn.frames import FrameProjection
from laws.framed import EXPECTED, FRAMED, FRAMED_LAWS, Framed, FramedLaw


class Shifted(FrameProjection):
    """Reads the frame of the next row of the table."""

    def spelled(self, ids: Tensor) -> Tensor:
        last = len(self.spellings) + len(self.more) - 1
        return super().spelled(torch.where(ids < len(self.spellings), ids, (ids + 1).clamp(max=last)))


class Batched(FrameProjection):
    """Takes the mean of the batch away, as batch normalisation would."""

    def forward(self, tokens: Tensor) -> Tensor:
        found = super().forward(tokens)
        return found - found.mean((0, 1))


class Short(FrameProjection):
    """Leaves the last number out."""

    def spelled(self, ids: Tensor) -> Tensor:
        found = super().spelled(ids)
        return torch.cat([found[..., :-1], torch.zeros_like(found[..., -1:])], -1)


class Careless(FrameProjection):
    """Takes a missing number for the mean."""

    def spelled(self, ids: Tensor) -> Tensor:
        return super().spelled(ids).nan_to_num()


class Ahead(FrameProjection):
    """Reads the frame of the next moment, too."""

    def forward(self, tokens: Tensor) -> Tensor:
        found = super().forward(tokens)
        return found + found.roll(-1, 1)


class Keeping(FrameProjection):
    """Saves the frames it was told, as if they were its own."""

    def _save_to_state_dict(self, destination: dict[str, Tensor], prefix: str, keep_vars: bool) -> None:  # type: ignore[override]
        super()._save_to_state_dict(destination, prefix, keep_vars)
        destination[prefix + "more"] = self.more


BUGS = [Shifted, Batched, Short, Careless, Ahead, Keeping]


def test_all_networks_read_frames() -> None:
    assert {one.name for one in FRAMED} == EXPECTED


@pytest.mark.parametrize("framed", FRAMED, ids=lambda framed: framed.name)
@pytest.mark.parametrize("law", FRAMED_LAWS, ids=lambda law: law.__name__[:6])
def test_the_law_of_frames_is_kept(law: FramedLaw, framed: Framed) -> None:
    law(framed)


@pytest.mark.parametrize(("law", "bug"), [*zip(FRAMED_LAWS, BUGS, strict=True)], ids=lambda one: one.__name__)
def test_a_deliberate_bug_is_caught(law: FramedLaw, bug: type[FrameProjection]) -> None:
    with pytest.raises(AssertionError):
        law(Framed("lstm", bug))
