"""Forecasting frames: the next vector of real numbers, as a normal distribution for each of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from chainrule.codecs.base import Codec
from chainrule.data.batches import Batch, Batches, TensorBatch, next_batches
from chainrule.data.corpus import Part
from chainrule.data.roles import Role
from chainrule.data.rows import TEXT
from chainrule.errors import ConfigError, ModelError
from chainrule.judge.frames import NextFrames
from chainrule.judge.judged import Judged, Table
from chainrule.models.base import Body
from chainrule.models.state import State
from chainrule.models.windows import TokenWindow, read_windows
from chainrule.symbols import BOS, EOS, FIRST, PAD
from chainrule.tasks.base import BatchSize, mean_loss, register
from chainrule.tasks.supervised import Answer, Supervised

if TYPE_CHECKING:
    from torch import Tensor

    from chainrule.heads.gaussian import Gaussian


@dataclass(frozen=True)
class NextFrame(Answer):
    """What follows a sequence: a mean and a deviation for every number."""

    frame: Sequence[float]
    deviation: Sequence[float]

    def to_dict(self) -> dict[str, Any]:
        return {"frame": list(self.frame), "deviation": list(self.deviation)}

    def line(self) -> str:
        return "\t".join(
            f"{mean:.6g} ± {wide:.3g}" for mean, wide in zip(self.frame, self.deviation, strict=True)
        )

    def table(self) -> Table:
        rows = zip(self.frame, self.deviation, strict=True)
        return Table(
            ["column", "next", "deviation"], [[at, mean, wide] for at, (mean, wide) in enumerate(rows, 1)]
        )


class FrameBatches:
    """Batches of which frames alone are asked for: how long a sequence is, is not modelled."""

    def __init__(self, batches: Batches) -> None:
        self.batches = batches

    def __len__(self) -> int:
        return len(self.batches)

    def batch(self, epoch: int, number: int) -> Batch:
        found = self.batches.batch(epoch, number)
        return replace(found, targets=np.where(found.targets >= FIRST, found.targets, PAD))


def numbers_of(codecs: Mapping[str, Codec]) -> int:
    """One for each number of a frame."""
    return codecs[TEXT].features


@register("next-frame")
@dataclass(frozen=True, kw_only=True)
class NextFrameTask(Supervised):
    """p(x_t | x_<t) of vectors of real numbers, judged by nats per frame and by errors."""

    answers_numbers: ClassVar[bool] = True
    shown: ClassVar[tuple[str, ...]] = ("nats_per_frame", "rmse", "mae", "naive_rmse")
    suits: ClassVar[Mapping[str, Any]] = {"bidirectional": False, "dropout": 0.1}
    blank: ClassVar[Mapping[str, Any]] = {"frame": None, "deviation": None}
    figure: ClassVar[str] = "nats_per_frame"
    default_model: ClassVar[str | None] = "lstm"

    answers_count = staticmethod(numbers_of)

    def roles(self) -> Sequence[Role]:
        return (Role(TEXT),)

    def head(self, body: Body, codecs: Mapping[str, Codec], seed: int) -> Gaussian:
        from chainrule.heads.base import HeadConfig
        from chainrule.heads.gaussian import Gaussian

        if not codecs[TEXT].features:
            raise ConfigError(
                "The task 'next-frame' forecasts vectors of real numbers, and these data are symbols. Name the "
                "columns of numbers (--column x,y,z), take --codec frames, or leave out --task."
            )
        if body.reads != "left":
            raise ConfigError(
                f"A {body.family} that reads both ways sees what it is to forecast: take --model lstm, gru, rnn, "
                "window or gpt, without --bidirectional."
            )
        return Gaussian.seeded(HeadConfig(width=body.width, answers=codecs[TEXT].features), seed)

    def batches(self, body: Body, part: Part, codecs: Mapping[str, Codec], size: BatchSize) -> Batches:
        return FrameBatches(
            next_batches(part[TEXT], size.rows, size.length, body.stateful, size.seed, body.context)
        )

    def loss(self, body: Body, head: Any, batch: TensorBatch, state: State) -> tuple[Tensor, State]:
        from chainrule.heads.gaussian import nats

        told, state = self.forecast(body, head, batch.tokens, state)  # (B, T, 2 F)
        wanted = batch.targets != PAD
        return nats(told[wanted], self.frames(body, batch.targets[wanted])).sum(), state

    def forecast(self, body: Body, head: Any, tokens: Tensor, state: State) -> tuple[Tensor, State]:
        """Means and logarithms of deviations (B, T, 2 F) of what follows each of the tokens (B, T)."""
        hidden, state = body.read(tokens, state)  # (B, T, D)
        return head(hidden, tokens != PAD, self.frames(body, tokens)), state

    def frames(self, body: Any, ids: Tensor) -> Tensor:
        """The standardised numbers (…, F) of frames (…); 0 for special symbols."""
        if body.frames is None:
            raise ModelError(f"This {body.family} reads symbols, not frames. Fit another one on frames.")
        found: Tensor = body.frames.spelled(ids)
        return found

    def validate(self, body: Body, head: Any, part: Part, batches: Batches, most: int) -> float:
        return mean_loss(self, body, head, batches, most)

    def told(self, body: Body, head: Any, ids: np.ndarray) -> np.ndarray:
        """(positions, 2 F) what is expected at every place of flat ids, from what stands before it."""

        def step(window: TokenWindow, tokens: Tensor, state: State) -> tuple[Tensor, State]:
            head.eval()
            return self.forecast(body, head, tokens, state)

        found = np.zeros((len(ids), 2 * head.config.answers), np.float32)
        for window, some in read_windows(body, ids, step):
            found[window.places[window.wanted]] = some.float().cpu().numpy()[window.wanted]
        if not np.isfinite(found).all():
            raise ModelError(
                "Forecasts of this model are no numbers. Copy or save it again, or fit another one."
            )
        return found

    def judged(self, body: Body, head: Any, part: Part, codecs: Mapping[str, Codec]) -> Judged:
        import torch

        from chainrule.heads.gaussian import nats

        ids, codec = np.asarray(part[TEXT].ids), codecs[TEXT]
        told, asked = self.told(body, head, ids), ids >= FIRST
        with body.inference():
            frames = self.frames(body, torch.as_tensor(ids, dtype=torch.long)).cpu()  # (positions, F)
            costs = np.where(asked[:, None], nats(torch.from_numpy(told), frames).numpy(), 0.0)
        right, known = frames.nan_to_num().numpy(), ~frames.isnan().numpy() & asked[:, None]
        before = known & np.roll(known, 1, 0)  # the first frame of a sequence comes after BOS
        errors = np.where(before, right - told[:, : right.shape[1]].astype(np.float64), 0.0)
        steps = np.where(before, right - np.roll(right, 1, 0).astype(np.float64), 0.0)
        counted = {
            "nats": costs.sum(1),
            "frames": asked & known.any(1),
            "squares": errors**2,
            "errors": np.abs(errors),
            "naive": steps**2,
            "counts": before,
        }
        starts = np.flatnonzero(ids == BOS)
        sums = {name: np.add.reduceat(one.astype(np.float64), starts, 0) for name, one in counted.items()}
        return NextFrames(**sums, scale=codec.scale)  # type: ignore[arg-type]

    def calibrated(self, body: Body, head: Any, part: Part | None, codecs: Mapping[str, Codec]) -> Gaussian:
        return head  # type: ignore[no-any-return]

    def answers(
        self, body: Body, head: Any, part: Part, codecs: Mapping[str, Codec], top: int | None = None
    ) -> Sequence[NextFrame]:
        ids, codec = np.asarray(part[TEXT].ids), codecs[TEXT]
        mean, wide = np.split(self.told(body, head, ids)[ids == EOS], 2, 1)  # (N, F) each
        wide = np.exp(wide) * codec.scale
        return [NextFrame(*one) for one in zip(codec.values(mean).tolist(), wide.tolist(), strict=True)]

    def examples(self, part: Part, codecs: Mapping[str, Codec]) -> Any:
        raise ModelError("Frames are forecast by networks. Take --model lstm, gru, rnn, window or gpt.")
