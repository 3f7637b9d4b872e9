"""A GPT continues 64 prompts of unequal length, greedily, drawn and by beams: together and one by one.

    python benchmarks/batch.py [ROWS]           # prints a Markdown table

Greedy texts must be the same; where the best two symbols of a row differ by less than rounding, they may not be.
Weights are random and no text ends early: every symbol counts. All in turns within one run; medians.
"""

from __future__ import annotations

import sys
from functools import partial

import numpy as np
import torch
from timing import in_turns

from chainrule.decode.beam import search
from chainrule.decode.config import Constraints, GenerationConfig
from chainrule.decode.sample import joined, sample
from chainrule.models.gpt import Gpt, GptConfig
from chainrule.runtime import blocks_kept
from chainrule.symbols import BOS, FIRST

LAYERS, WIDTH, HEADS, CONTEXT, VOCAB = 12, 384, 6, 256, 8_000
ROWS, LENGTH, TURNS = 64, 64, 3
ENDLESS = Constraints(stop=())


def model() -> Gpt:
    """Random weights, large enough that symbols differ in probability."""
    made = Gpt.seeded(
        GptConfig(vocab_size=VOCAB, layers=LAYERS, width=WIDTH, heads=HEADS, context=CONTEXT), 1
    )
    with torch.no_grad():
        for value in made.parameters():
            value.mul_(3.0 if value.dim() > 1 else 1.0)
    return made


def prompts(rows: int) -> list[list[int]]:
    """Symbols by Zipf's law, from 1 to 64 of them."""
    rng = np.random.default_rng(0)
    lengths = rng.integers(1, 65, rows)
    return [[BOS, *(FIRST + rng.zipf(1.2, 9 * size) % (VOCAB - FIRST))[:size].tolist()] for size in lengths]


def together(gpt: Gpt, rows: list[list[int]], config: GenerationConfig) -> list[list[int]]:
    """All rows side by side; of a beam the best text."""
    if config.beam:
        return [list(found.hypotheses[0].ids) for found in search(gpt, rows, config, ENDLESS)]
    return joined(sample(gpt, rows, config, ENDLESS))


def apart(gpt: Gpt, rows: list[list[int]], config: GenerationConfig) -> list[list[int]]:
    """One row after another, each by the seed it has among the others."""
    return [text for row, prompt in enumerate(rows) for text in together(gpt, [prompt], config.from_row(row))]


def main() -> None:
    """Greedy, drawn, then by a beam."""
    gpt, rows = model(), prompts(int(sys.argv[1]) if len(sys.argv) > 1 else ROWS)
    greedy = GenerationConfig(length=LENGTH, temperature=0.0)
    drawn = GenerationConfig(length=LENGTH, seed=1, top_k=50)
    beam = GenerationConfig(length=LENGTH, beam=4)
    print(f"| {len(rows)} prompts, {LENGTH} symbols each | one by one | together | ratio | equal texts |")
    print("|---|---|---|---|---|")
    for name, config in {"greedy": greedy, "top-k 50": drawn, "beam of 4": beam}.items():
        works = {"apart": partial(apart, gpt, rows, config), "together": partial(together, gpt, rows, config)}
        equal = sum(one == two for one, two in zip(works["apart"](), works["together"](), strict=True))
        taken = in_turns(works, TURNS)
        rates = [f"{len(rows) * LENGTH / taken[way]:,.0f} symbols/s" for way in works]
        ratio = taken["apart"] / taken["together"]
        print(f"| {name} | {' | '.join(rates)} | {ratio:.1f}x | {equal} of {len(rows)} |")


if __name__ == "__main__":
    with blocks_kept():
        main()
