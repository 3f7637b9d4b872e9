"""Laws of sources: whatever a text is written from, each row reads its own, all of it, and nothing else."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from chainrule.models.transformer import EncoderDecoderConfig, Transformer
from chainrule.nn.sources import Given
from chainrule.symbols import BOS, EOS, FIRST, PAD, PADDING

WINDOW, ROWS = 8, 5
SIZES = {"labels": 9, "symbols": 9, "frames": 3, "strided": 3, "images": 24}
KINDS = {
    "labels": "symbols",
    "symbols": "symbols",
    "frames": "frames",
    "strided": "frames",
    "images": "images",
}


@dataclass(frozen=True)
class Sourced:
    """A tiny Transformer that writes from sources of some kinds, its weights drawn; a deliberate bug changes it."""

    kinds: tuple[str, ...]
    change: Callable[[Transformer], Transformer] = lambda model: model

    @property
    def name(self) -> str:
        return "+".join(self.kinds)

    def made(self) -> Transformer:
        config = EncoderDecoderConfig(
            vocab_size=9,
            layers=1,
            width=8,
            heads=2,
            context=12,
            source_window=WINDOW,
            source_kinds=tuple(KINDS[one] for one in self.kinds),
            source_sizes=tuple(SIZES[one] for one in self.kinds),
            source_strides=tuple(4 if one == "strided" else 1 for one in self.kinds),
        )
        model = Transformer.seeded(config, 1)
        with torch.no_grad():  # weights at the beginning are too small to tell one source from another
            for value in model.parameters():
                value += 0.3 * torch.randn(
                    value.shape, generator=torch.Generator().manual_seed(value.numel())
                )
        return self.change(model)

    def source(self, rows: Sequence[int], spare: int = 0, last: int = 0) -> Given:
        """Of some rows, of unequal lengths, with so much padding more than is needed; `last` changes their ends."""
        found = tuple(_batch([one_source(kind, row, last) for row in rows], spare) for kind in self.kinds)
        return found if len(found) > 1 else found[0]


def one_source(kind: str, row: int, last: int) -> Tensor:
    """What row `row` is written from: the longest are several windows long."""
    size = {"labels": 1, "images": 8}.get(kind, 2 + 7 * row)
    random = torch.Generator().manual_seed(100 * row + len(kind))
    if kind in ("labels", "symbols"):
        found = FIRST + torch.randint(0, 3, (size,), generator=random)
        found[-1] = FIRST + (row + last) % 4
        return found
    if kind == "images":
        found = torch.randint(0, 256, (size, SIZES[kind]), generator=random, dtype=torch.uint8)
        return found if not last else found.flip(0)
    frames = torch.randn(size, SIZES[kind], generator=random)
    frames[0, 1] = torch.nan  # missing
    frames[-1] += 3 * last
    return frames


def _batch(sources: Sequence[Tensor], spare: int) -> Tensor:
    """Side by side, padding to the right."""
    first = sources[0]
    if first.dtype == torch.uint8:
        return torch.stack(list(sources))
    longest = max(map(len, sources)) + spare
    fill = PAD if first.dtype == torch.long else PADDING
    found = torch.full((len(sources), longest, *first.shape[1:]), fill, dtype=first.dtype)
    for row, source in zip(found, sources, strict=True):
        row[: len(source)] = source
    return found


def scores(model: Transformer, source: Given, rows: Sequence[int]) -> Tensor:
    """Log-probabilities (B, T) of what each row says."""
    said = torch.tensor([[FIRST + (row + place) % 4 for place in range(3)] for row in rows])
    tokens = torch.cat([torch.full((len(rows), 1), BOS), said], 1)
    targets = torch.cat([said, torch.full((len(rows), 1), EOS)], 1)
    with model.inference():
        return model.score(tokens, targets, model.start(len(rows), source))[0]


def same(found: Tensor, expected: Tensor, claim: str) -> None:
    assert torch.allclose(found, expected, atol=1e-5), f"{claim}: differ by {(found - expected).abs().max()}"


def law_01_rows_are_independent(case: Sourced) -> None:
    """Sources of unequal length side by side say what each says alone."""
    model, rows = case.made(), range(ROWS)
    together = scores(model, case.source(rows), rows)
    alone = torch.cat([scores(model, case.source([row]), [row]) for row in rows])
    same(together, alone, "a row alone")
    order = [3, 0, 4, 1, 2]
    same(scores(model, case.source(order), order), together[order], "another order")


def law_02_padding_of_a_source_changes_nothing(case: Sourced) -> None:
    model, rows = case.made(), range(ROWS)
    plain = scores(model, case.source(rows), rows)
    for spare in (1, 2 * WINDOW + 3):
        same(scores(model, case.source(rows, spare), rows), plain, f"{spare} columns of padding")


def law_03_a_source_is_read_to_its_end(case: Sourced) -> None:
    """Another end makes a difference, also where it is many windows away from the beginning."""
    model, rows = case.made(), range(ROWS)
    apart = (scores(model, case.source(rows), rows) - scores(model, case.source(rows, 0, 1), rows)).abs()
    assert bool((apart.max(1).values > 1e-4).all()), (
        f"{apart.max(1).values.tolist()} whatever stands at the end"
    )


def law_04_every_source_is_read(case: Sourced) -> None:
    """Of several sources, each one makes a difference."""
    model, rows = case.made(), range(ROWS)
    plain, other = case.source(rows), case.source(rows, 0, 1)
    for place in range(len(case.kinds) if isinstance(plain, tuple) and isinstance(other, tuple) else 0):
        mixed = tuple(
            two if at == place else one for at, (one, two) in enumerate(zip(plain, other, strict=True))
        )
        apart = (scores(model, mixed, rows) - scores(model, plain, rows)).abs().max()
        assert apart > 1e-4, f"source {place + 1} changes nothing"


SourceLaw = Callable[[Sourced], None]
SOURCE_LAWS: list[SourceLaw] = [
    law_01_rows_are_independent,
    law_02_padding_of_a_source_changes_nothing,
    law_03_a_source_is_read_to_its_end,
    law_04_every_source_is_read,
]
SOURCED = [
    *(Sourced((kind,)) for kind in SIZES),
    Sourced(("labels", "symbols")),
    Sourced(("images", "symbols")),
    Sourced(("symbols", "frames", "labels")),
]
