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
from chainrule.runtime import reuse_memory

LENGTH, TURNS = 300, 5


def quality(model: Bundle, small: Bundle, text: Path) -> None:
    """Perplexity and time of scoring, exact and in eight bits."""
    works = {"exact": partial(model.score_file, text), "int8": partial(small.score_file, text)}
    perplexity = {name: work().perplexity for name, work in works.items()}
    taken = in_turns(works, 3)
    print("| scoring | perplexity | time |\n|---|---|---|")
    for name in works:
        print(f"| {name} | {perplexity[name]:.3f} | {taken[name]:.2f} s |")


def writing(model: Bundle, small: Bundle, drafter: Bundle | None) -> None:
    """Symbols a second of one stream, greedy and drawn."""
    for heat in (0.0, 1.0):
        write = partial(model.generate, "", LENGTH, 1, temperature=heat)
        works = {"exact": write, "int8": partial(small.generate, "", LENGTH, 1, temperature=heat)}
        if drafter is not None:
            works["drafted"] = partial(write, draft=drafter)
        if heat == 0.0 and drafter is not None and works["drafted"]() != works["exact"]():
            sys.exit("A draft changed what is written.")
        taken = in_turns(works, TURNS)
        print(f"\n| writing, temperature {heat:g} | time | ratio |\n|---|---|---|")
        for name, one in taken.items():
            print(f"| {name} | {one:.3f} s | {taken['exact'] / one:.2f}x |")


def main() -> None:
    """Judge, then write."""
    reuse_memory()
    *folders, text = sys.argv[1:]
    model, *drafters = (load(folder) for folder in folders)
    small = model.compressed()
    quality(model, small, Path(text))
    writing(model, small, drafters[0] if drafters else None)


if __name__ == "__main__":
    main()
