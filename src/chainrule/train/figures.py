"""What a run notes down at every validation beside its losses, and the models that it keeps on the way."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from chainrule.errors import ModelError
from chainrule.store import tensors

if TYPE_CHECKING:
    from torch import nn

KEPT = "kept"  # the folder of models, in that of the run; each is called by its step


@dataclass
class StepFigures:
    """Gradients since the last validation; plain values, for they are in the checkpoint."""

    steps: int = 0
    norm: float = 0.0  # sum of the norms of gradients, before clipping
    clipped: int = 0

    def add(self, norm: float, most: float) -> None:
        """One more step; a gradient longer than `most` was clipped, if that is more than 0."""
        self.steps += 1
        self.norm += norm
        self.clipped += 0.0 < most < norm

    def taken(self, rate: float, network: nn.Module) -> dict[str, float]:
        """The line of a validation: learning rate, mean norm, share of steps that were clipped, what layers weigh."""
        many = max(1, self.steps)
        line = {"lr": rate, "gradient norm": self.norm / many, "clipped": self.clipped / many}
        self.steps, self.norm, self.clipped = 0, 0.0, 0
        return line | shares(network)


def check_finite(nats: float, norm: float, step: int, rate: float, folder: Path | None) -> None:
    """Refuse to continue from a loss or a gradient that is no number."""
    if math.isfinite(nats) and math.isfinite(norm):
        return
    kept = f" The last checkpoint is intact in {folder}." if folder else ""
    raise ModelError(
        f"The loss became {nats} (gradient norm {norm}) at step {step}: training diverged. Try a lower --lr than "
        f"{rate:g}, or a smaller --clip-norm.{kept}"
    )


def shares(network: nn.Module) -> dict[str, float]:
    """How much a task uses of each layer of ELMo, where it does: softmax(s)_j."""
    from chainrule.nn.elmo import LayerMix

    found = [part for part in network.modules() if isinstance(part, LayerMix)]
    weights = [one.weights.detach().softmax(0).tolist() for one in found]
    return {f"layer {layer}": share for each in weights for layer, share in enumerate(each)}


def keep(folder: Path, step: int, arrays: Mapping[str, np.ndarray], most: int) -> None:
    """Write a model of the run; when there are more than `most`, every second one goes, the last stays."""
    (folder / KEPT).mkdir(parents=True, exist_ok=True)
    tensors.write(folder / KEPT / f"{step:09d}.safetensors", arrays, {})
    found = kept(folder)
    if len(found) > most:
        for path in list(found.values())[-2::-2]:
            path.unlink()


def kept(folder: Path) -> dict[int, Path]:
    """The models that a run has kept, by their steps."""
    found = sorted((folder / KEPT).glob("*.safetensors"))
    return {int(path.stem): path for path in found if path.stem.isdigit()}
