"""Regret of `compare`: what its choice costs against the best single choice given the whole budget.

    python benchmarks/regret.py DATA [--budgets 5m,20m] [--texts shakespeare,ptb,small] [--models lstm,gru,gpt]

DATA holds `shakespeare/input.txt`, `ptb/ptb.train.txt`, `ptb/ptb.valid.txt` and `ptb/ptb.test.txt`. Every candidate
is trained with the whole budget, alone and mixed with the best n-gram of the comparison, and judged on the same test
part. The best of them is the best single choice, chosen after the fact: a hard standard. Prints a Markdown table;
regret is how many more bits the model needs that `compare` hands over. Takes hours at the default budgets. With --out
the comparisons and their reports are kept.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import chainrule as cr
from chainrule.bundle import Bundle
from chainrule.choose.compare import Comparison
from chainrule.choose.plan import chosen_on, judged_on, opened, rate
from chainrule.data.dataset import Prepared
from chainrule.judge.score import score_ids
from chainrule.models.mix import Mix, best_weights
from chainrule.symbols import BOS
from chainrule.train.budget import Timing
from chainrule.train.fit import ask, learn

LINES = 2_000  # of the small text


@dataclass(frozen=True)
class Text:
    """Data and how they are read."""

    data: str
    valid: str | None = None
    test: str | None = None
    lines: int | None = None
    options: Mapping[str, Any] = field(default_factory=dict)


TEXTS = {
    "shakespeare": Text("shakespeare/input.txt", options={"codec": "characters", "stream": True}),
    "ptb": Text(
        "ptb/ptb.train.txt",
        "ptb/ptb.valid.txt",
        "ptb/ptb.test.txt",
        options={"codec": "words", "closed": True},
    ),
    "small": Text("ptb/ptb.train.txt", lines=LINES, options={"codec": "words"}),
}


def compared(text: Text, root: Path, budget: str, out: Path) -> Comparison:
    """The comparison as a user would run it."""
    data, held = root / text.data, [one and root / one for one in (text.valid, text.test)]
    if text.lines:
        lines = data.read_text(encoding="utf-8").splitlines(keepends=True)[: text.lines]
        data = out.parent / "small.txt"
        data.write_text("".join(lines), encoding="utf-8")
    return cr.compare(data, out=out, budget=budget, valid=held[0], test=held[1], **text.options)


def alone(family: str, prepared: Prepared, budget: str) -> Bundle:
    """One family with the whole budget."""
    task = ask(family, None, {})
    found = learn(family, task, prepared, {"budget": budget, "seed": 1}, timing=Timing())
    return Bundle(prepared.codecs, found.body, task, found.head, dict(found.facts))


def mixed(first: Bundle, second: Bundle, prepared: Prepared) -> Bundle:
    """Both together, by weights of the validation part."""
    valid = chosen_on(prepared)
    logs = [one.model.score_ids(valid.ids)[valid.ids != BOS] for one in (first, second)]
    return Bundle.of(first.codec, Mix.of([first.model, second.model], best_weights(logs)))


def bits(bundle: Bundle, prepared: Prepared) -> float:
    """Of the test part, in the unit of the comparison."""
    return score_ids(bundle.model, judged_on(prepared).ids).bits_per_symbol * rate(prepared)


def row(name: str, root: Path, budget: str, models: list[str], folder: Path) -> str:
    """One line of the table."""
    out = folder / f"{name}-{budget}"
    began = time.monotonic()
    found = compared(TEXTS[name], root, budget, out)
    seconds = time.monotonic() - began
    prepared = next(iter(opened(out)[1].values()))
    rows = found.results["models"]
    counted = next(one["name"] for one in rows if not one["failed"] and one["family"] == "ngram")
    singles: dict[str, float] = {}
    for model in models:
        trained = alone(model, prepared, budget)
        singles[model] = bits(trained, prepared)
        singles[f"{model} + {counted}"] = bits(mixed(trained, found.model(counted), prepared), prepared)
    chosen, best = found.recommended, min(singles, key=lambda one: singles[one])
    handed = bits(found.model(chosen), prepared)
    regret = 100 * (handed / singles[best] - 1)
    told = ", ".join(f"{one} {value:.4f}" for one, value in singles.items())
    return (
        f"| {name} | {budget} | {seconds:.0f} s | {chosen} {handed:.4f} | {best} {singles[best]:.4f} "
        f"| {regret:+.1f} % | {told} |"
    )


def main() -> None:
    """All texts at all budgets."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--budgets", default="5m,20m")
    parser.add_argument("--texts", default=",".join(TEXTS))
    parser.add_argument("--models", default="lstm,gru,gpt")
    parser.add_argument("--out", type=Path, help="folder that keeps the comparisons")
    asked = parser.parse_args()
    print(
        "| text | budget | took | handed over | best single choice | regret | all |\n|---|---|---|---|---|---|---|"
    )
    with tempfile.TemporaryDirectory() as folder:
        for budget in asked.budgets.split(","):
            for name in asked.texts.split(","):
                kept = asked.out or Path(folder)
                print(row(name, asked.data, budget, asked.models.split(","), kept), flush=True)


if __name__ == "__main__":
    main()
