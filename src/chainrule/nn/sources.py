"""Sources of any kind as vectors, columns of one memory: symbols, frames of real numbers, images, and several at once.

What a batch holds of a source is ids (B, S), PAD to the right of those of a row; frames (B, S, F), PADDING to the right
of them; or images (B, H, 3 W) of bytes, a frame for every row of pixels. Several sources are a tuple of such.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from chainrule.nn.product import Linear
from chainrule.symbols import PAD, PADDING

START = 0.02  # deviation of learnt vectors at the beginning
CHANNELS = 32  # of the first convolution over an image; twice as many of the second
PATCH = 4  # pixels along the side of a patch

Given = Tensor | tuple[Tensor, ...]


@dataclass(frozen=True)
class Columns:
    """The columns of a memory before anything has looked at them together."""

    vectors: Tensor  # (B, S, D)
    real: Tensor  # (B, S) False where a column is padding
    places: Tensor  # (S,) where each stands in its own source
    before: int = 0  # how many of them belong to all sources but the last


class SymbolSource(nn.Module):
    """Embeddings of ids, from a table of their own or one that others have, too."""

    def __init__(self, table: nn.Embedding) -> None:
        super().__init__()
        self.table = table

    def forward(self, ids: Tensor) -> tuple[Tensor, Tensor]:
        return self.table(ids), ids != PAD


class FrameSource(nn.Module):
    """W [x; missing(x)] of frames x; with a stride, convolutions make one column of so many frames."""

    def __init__(self, features: int, stride: int, width: int) -> None:
        super().__init__()
        inner = [2 * features, *[width] * round(math.log2(stride))]
        self.halving = nn.ModuleList(nn.Conv1d(*sizes, 3, 2, 1) for sizes in pairwise(inner))
        self.projection = Linear(inner[-1], width)
        self.norm = nn.LayerNorm(width)

    def forward(self, frames: Tensor) -> tuple[Tensor, Tensor]:
        real = frames[..., 0] != PADDING  # (B, S)
        frames = frames.masked_fill(~real[..., None], 0.0)
        found = torch.cat([frames.nan_to_num(), frames.isnan().to(frames.dtype)], -1)  # (B, S, 2 F)
        for layer in self.halving:
            found, real = F.gelu(layer(found.mT)).mT, real[:, ::2]  # (B, S / 2, D)
            found = found.masked_fill(~real[..., None], 0.0)  # the next one must not see what is no frame
        return as_embeddings(self.norm(self.projection(found))), real


class ImageSource(nn.Module):
    """Patches of images: two convolutions halve each side, and every place of what comes out is a column."""

    def __init__(self, features: int, width: int) -> None:
        super().__init__()
        side = features // 3 // PATCH
        self.first = nn.Conv2d(3, CHANNELS, 3, 2, 1)
        self.second = nn.Conv2d(CHANNELS, 2 * CHANNELS, 3, 2, 1)
        self.projection = Linear(2 * CHANNELS, width)
        self.norm = nn.LayerNorm(width)
        self.rows = nn.Parameter(torch.empty(side, width).normal_(std=START))
        self.columns = nn.Parameter(torch.empty(side, width).normal_(std=START))

    def forward(self, pixels: Tensor) -> tuple[Tensor, Tensor]:
        batch, height, width = pixels.shape[0], pixels.shape[1], pixels.shape[2] // 3
        colours = pixels.view(batch, height, width, 3).permute(0, 3, 1, 2).float() / 127.5 - 1.0
        found = F.gelu(self.second(F.gelu(self.first(colours))))  # (B, C, H / 4, W / 4)
        patches = self.projection(found.permute(0, 2, 3, 1))  # (B, H / 4, W / 4, D)
        placed = (patches + self.rows[:, None] + self.columns[None]).flatten(1, 2)  # (B, S, D)
        vectors = as_embeddings(self.norm(placed))
        return vectors, torch.ones(vectors.shape[:2], dtype=torch.bool, device=pixels.device)


def as_embeddings(vectors: Tensor) -> Tensor:
    """Normed vectors (…, D) with length 1, which is what sinusoidal positions expect of embeddings."""
    return vectors / math.sqrt(vectors.shape[-1])


class SourceEncoder(nn.Module):
    """What a batch holds of sources as columns of one memory; of several, each has a learnt vector added to its own."""

    def __init__(self, parts: Sequence[nn.Module], width: int) -> None:
        super().__init__()
        self.parts = nn.ModuleList(parts)
        self.kinds = nn.Parameter(torch.empty(len(parts), width).normal_(std=START)) if parts[1:] else None

    @classmethod
    def of(
        cls,
        kinds: Sequence[str],
        sizes: Sequence[int],
        strides: Sequence[int],
        width: int,
        target: nn.Embedding,
    ) -> SourceEncoder:
        """Of each source its kind and its ids or numbers; 0: the table of the target, -k: that of source k."""
        parts: list[nn.Module] = []
        for kind, size, stride in zip(kinds, sizes, strides, strict=True):
            if kind == "symbols":
                parts.append(_symbols(size, width, target, parts))
            else:
                parts.append(
                    ImageSource(size, width) if kind == "images" else FrameSource(size, stride, width)
                )
        return cls(parts, width)

    def forward(self, given: Given) -> Columns:
        each = given if isinstance(given, tuple) else (given,)
        found = [part(one) for part, one in zip(self.parts, each, strict=True)]
        if self.kinds is not None:
            found = [(one + kind, real) for (one, real), kind in zip(found, self.kinds, strict=True)]
        vectors, real = (torch.cat(some, 1) for some in zip(*found, strict=True))
        sizes = [one.shape[1] for one, _ in found]
        places = torch.cat([torch.arange(size, device=vectors.device) for size in sizes])
        return Columns(vectors, real, places, sum(sizes[:-1]))


def _symbols(size: int, width: int, target: nn.Embedding, parts: Sequence[nn.Module]) -> SymbolSource:
    other = parts[-size - 1] if size < 0 else None
    if isinstance(other, SymbolSource):
        return SymbolSource(other.table)
    return SymbolSource(nn.Embedding(size, width) if size else target)


@dataclass(frozen=True)
class Windows:
    """Overlapping windows over the last source, side by side; before each one stand all columns of the other sources.

    Which windows a row has depends on its own length only, so no row depends on those beside it.
    """

    columns: Columns  # (W, …) what is read of every window
    window: Tensor  # (B, S) in which one a column stands nearest to the middle
    inside: Tensor  # (B, S) and where in it

    @classmethod
    def over(cls, whole: Columns, size: int) -> Windows | None:
        """Windows of so many columns of the last source; None: it has no more than that."""
        total, before, device = whole.real.shape[1], whole.before, whole.real.device
        if total - before <= size:
            return None
        overlap = size // 4
        step = size - overlap
        lengths = whole.real[:, before:].sum(1)  # (B,)
        counts = 1 + ((lengths - size).clamp(min=0) + step - 1) // step  # (B,)
        rows = torch.repeat_interleave(torch.arange(len(counts), device=device), counts)  # (W,)
        first = counts.cumsum(0) - counts  # (B,)
        starts = step * (torch.arange(len(rows), device=device) - first[rows])  # (W,)
        shared = torch.arange(before, device=device)
        there = torch.arange(size, device=device)
        taken = torch.cat([shared.expand(len(rows), -1), before + there + starts[:, None]], 1)  # (W, …)
        inside = taken.clamp(max=total - 1)
        real = whole.real[rows[:, None], inside] & (taken < total)
        places = torch.cat([whole.places[:before], there])
        columns = Columns(whole.vectors[rows[:, None], inside], real, places, before)
        at = torch.arange(total - before, device=device)  # (S,) of the last source
        nearest = ((at - overlap // 2).clamp(min=0) // step).minimum(counts[:, None] - 1)  # (B, S)
        window = torch.cat([first[:, None].expand(-1, before), first[:, None] + nearest], 1)
        own = before + (at - step * nearest).clamp(max=size - 1)
        return cls(columns, window, torch.cat([shared.expand(len(counts), -1), own], 1))

    def joined(self, read: Tensor) -> Tensor:
        """One memory (B, S, D) again of what was read of the windows (W, size, D)."""
        return read[self.window, self.inside]
