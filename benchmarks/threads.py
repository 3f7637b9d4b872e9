"""How many threads does a model answer with? One, two, and as chosen, beside a load. Prints a Markdown table.

    python benchmarks/threads.py [--times 5] [none "one core" both]

Every way runs in turns within one process. The load is switched on before and off after each row. Models have random
weights; "chosen" starts each time knowing nothing, as a new process does. Medians; the last column is what the choice
costs against the better of the two.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import partial

import numpy as np
import torch
from budget import LOADS, spinning
from timing import in_turns

from chainrule.decode.config import Constraints, GenerationConfig
from chainrule.decode.sample import joined, sample
from chainrule.models.base import LanguageModel
from chainrule.models.gpt import Gpt, GptConfig
from chainrule.models.lstm import Lstm, LstmConfig
from chainrule.nn.threads import in_threads
from chainrule.symbols import BOS, EOS, FIRST

ENDLESS = Constraints(stop=())
WAYS = ("one", "two", "chosen")


def gpt(layers: int, width: int, vocab: int) -> Gpt:
    """With random weights."""
    sizes = GptConfig(vocab_size=vocab, layers=layers, width=width, heads=4, context=256)
    return Gpt.seeded(sizes, 1)


def decode(model: LanguageModel, rows: int, length: int) -> None:
    """Continue so many prompts."""
    joined(sample(model, [[BOS]] * rows, GenerationConfig(length=length, temperature=0.0, count=1), ENDLESS))


def score(model: LanguageModel, symbols: int) -> None:
    """Score lines of 30 symbols."""
    rng = np.random.default_rng(0)
    lines = rng.integers(FIRST, model.config.vocab_size, (symbols // 30, 30))
    ends = np.full((len(lines), 1), 1)
    model.score_ids(np.concatenate([BOS * ends, lines, EOS * ends], 1).ravel())


def works() -> dict[str, tuple[LanguageModel, Callable[[], None]]]:
    """What is timed."""
    small, middle = gpt(4, 128, 100), gpt(12, 384, 8_000)
    lstm = Lstm.seeded(LstmConfig(vocab_size=10_000, layers=1, width=512), 1)
    return {
        "GPT 4 x 128, 100 symbols": (small, partial(decode, small, 1, 100)),
        "GPT 12 x 384, 100 symbols": (middle, partial(decode, middle, 1, 100)),
        "GPT 12 x 384, 16 x 50 symbols": (middle, partial(decode, middle, 16, 50)),
        "LSTM 512, 10,000 words: score 30,000": (lstm, partial(score, lstm, 30_000)),
    }


def run(model: LanguageModel, work: Callable[[], None], way: str) -> None:
    """One way."""
    model.__dict__.pop("_threads", None)
    threads: AbstractContextManager[None] = (
        in_threads(WAYS.index(way) + 1) if way != "chosen" else nullcontext()
    )
    with threads:
        work()


@contextmanager
def beside(load: str) -> Iterator[None]:
    """A stretch beside a load."""
    spinners = spinning(LOADS[load])
    try:
        yield
    finally:
        for spinner in spinners:
            spinner.kill()
            spinner.wait()


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("loads", nargs="*", default=["none", "one core", "both"])
    parser.add_argument("--times", type=int, default=5)
    asked = parser.parse_args()
    torch.set_num_threads(2)
    print("| load | work | one thread | two | as chosen | chosen / better |\n|---|---|---|---|---|---|")
    for load in asked.loads:
        for name, (model, work) in works().items():
            with beside(load):
                taken = in_turns({way: partial(run, model, work, way) for way in WAYS}, asked.times)
            ratio = taken["chosen"] / min(taken["one"], taken["two"])
            cells = " | ".join(f"{taken[way]:.3f} s" for way in WAYS)
            print(f"| {load} | {name} | {cells} | {ratio:.2f}x |", flush=True)


if __name__ == "__main__":
    main()
