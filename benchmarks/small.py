"""What eight bits and drafts change for a trained GPT: quality and time. Prints a Markdown table.

    python benchmarks/small.py GPT [DRAFTER] TEXT

GPT and DRAFTER are saved models over the same codec, TEXT is what the GPT is judged on.
"""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path

from timing import in_turns

from chainrule.bundle import Bundle, load
from chainrule.decode.config import Constraints, GenerationConfig
from chainrule.decode.draft import DraftStats, drafted
from chainrule.decode.sample import joined, sample
from chainrule.models.base import LanguageModel
from chainrule.runtime import blocks_kept
from chainrule.symbols import BOS

LENGTH, TURNS = 300, 5
ENDLESS = Constraints(stop=())


def quality(model: Bundle, small: Bundle, text: Path) -> None:
    """Perplexity and time of scoring, exact and in eight bits."""
    works = {"exact": partial(model.score_file, text), "int8": partial(small.score_file, text)}
    perplexity = {name: work().perplexity for name, work in works.items()}
    taken = in_turns(works, 3)
    print("| scoring | perplexity | time |\n|---|---|---|")
    for name in works:
        print(f"| {name} | {perplexity[name]:.3f} | {taken[name]:.2f} s |")


def writing(model: LanguageModel, small: LanguageModel, drafter: LanguageModel | None) -> None:
    """Symbols of one stream that never ends, greedy and drawn; and how often the model had to read."""
    for heat in (0.0, 1.0):
        config, stats = GenerationConfig(length=LENGTH, seed=1, temperature=heat), DraftStats()
        works = {"exact": partial(write, model, config), "int8": partial(write, small, config)}
        if drafter is not None:
            works["drafted"] = partial(write, model, config, drafter, stats)
            if heat == 0.0 and works["drafted"]() != works["exact"]():
                sys.exit("A draft changed what is written.")
        taken = in_turns(works, TURNS)
        print(f"\n| writing {LENGTH} symbols, temperature {heat:g} | time | ratio |\n|---|---|---|")
        for name, one in taken.items():
            print(f"| {name} | {one:.3f} s | {taken['exact'] / one:.2f}x |")
        if stats.rounds:
            share = stats.kept / max(1, stats.drafted)
            print(
                f"\nkept {100 * share:.0f} % of what was drafted, {1 + stats.kept / stats.rounds:.2f} symbols a read"
            )


def write(
    model: LanguageModel,
    config: GenerationConfig,
    drafter: LanguageModel | None = None,
    stats: DraftStats | None = None,
) -> list[int]:
    """So many symbols, whatever they are."""
    if drafter is None:
        return joined(sample(model, [[BOS]], config, ENDLESS))[0]
    return joined(drafted(model, drafter, [[BOS]], config, ENDLESS, stats=stats))[0]


def main() -> None:
    """Judge, then write."""
    *folders, text = sys.argv[1:]
    model, *drafters = (load(folder) for folder in folders)
    small = model.compressed()
    quality(model, small, Path(text))
    writing(model.model, small.model, drafters[0].model if drafters else None)


if __name__ == "__main__":
    with blocks_kept():
        main()
