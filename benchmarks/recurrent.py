"""Recurrent models beside a plain PyTorch loop: speed of training, scoring and sampling. Prints a Markdown table.

    python benchmarks/recurrent.py        # Penn Treebank, from $CHAINRULE_DATA

The baseline is what a competent user writes: nn.Embedding, nn.LSTM, nn.Linear over exactly 10,000 words,
cross_entropy, Adam, clipping, state carried, and the one call that keeps large allocations cheap. Both train the
same configuration on the same batches, in turns within one run; medians are given. Memory is the peak of a process
of its own.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

import torch
from stepping import stepping
from timing import in_turns
from torch import Tensor, nn

from chainrule.data.batches import Batch, Streams
from chainrule.data.dataset import Prepared, prepare
from chainrule.decode.config import Constraints, GenerationConfig
from chainrule.decode.sample import sample
from chainrule.models.lstm import Lstm, LstmConfig
from chainrule.runtime import blocks_kept
from chainrule.symbols import BOS, FIRST
from chainrule.train.trainer import Trainer

DATA = Path(os.environ.get("CHAINRULE_DATA", "../shared/data"))
ROWS, SPAN, WIDTH, LAYERS = 20, 35, 200, 2
STEPS, TURNS = 20, 9
OURS: dict[str, dict[str, object]] = {
    "exact": {},
    "bfloat16": {"bf16": True},
    "1,024 sampled": {"sampled_softmax": 1024},
    "1,024 sampled, bfloat16": {"sampled_softmax": 1024, "bf16": True},
}


class Plain(nn.Module):
    """The word-level language model of many tutorials."""

    def __init__(self, words: int) -> None:
        super().__init__()
        self.embedding = nn.Embedding(words, WIDTH)
        self.lstm = nn.LSTM(WIDTH, WIDTH, LAYERS, batch_first=True)
        self.output = nn.Linear(WIDTH, words)
        self.output.weight = self.embedding.weight

    def forward(
        self, tokens: Tensor, state: tuple[Tensor, Tensor] | None
    ) -> tuple[Tensor, tuple[Tensor, Tensor]]:
        hidden, state = self.lstm(self.embedding(tokens), state)
        return self.output(hidden), state


class PlainLoop:
    """Its training loop; our special symbols are not among its words."""

    def __init__(self, vocab_size: int) -> None:
        torch.manual_seed(1)
        self.model = Plain(vocab_size - FIRST + 1)
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=2e-3)
        self.state: tuple[Tensor, Tensor] | None = None

    def step(self, batch: Batch) -> None:
        tokens, targets = (
            torch.from_numpy(ids).sub(FIRST - 1).clamp_(min=0) for ids in (batch.tokens, batch.targets)
        )
        state = None if self.state is None else tuple(part.detach() for part in self.state)
        logits, self.state = self.model(tokens, state)
        loss = nn.functional.cross_entropy(logits.flatten(0, 1), targets.flatten())
        self.optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        self.optimizer.step()

    @torch.no_grad()
    def sample(self, length: int) -> None:
        self.model.eval()
        token, state = torch.tensor([[0]]), None
        for _ in range(length):
            logits, state = self.model(token, state)
            token = torch.multinomial(logits[:, -1].softmax(-1), 1)
        self.model.train()


def ours(prepared: Prepared, batches: Streams, options: dict[str, object]) -> Trainer:
    """Our trainer at the same configuration."""
    config = LstmConfig(
        vocab_size=prepared.codec.size,
        suppressed=prepared.codec.suppressed,
        width=WIDTH,
        layers=LAYERS,
        stateful=True,
        **options,
    )
    return stepping(Lstm.seeded(config, 1), batches)


def data() -> tuple[Prepared, Streams]:
    """Penn Treebank and its batches."""
    ptb = DATA / "ptb"
    if not ptb.is_dir():
        sys.exit(f"There is no {ptb}. Set CHAINRULE_DATA to the folder that holds ptb/ptb.train.txt.")
    prepared = prepare(ptb / "ptb.train.txt", ptb / "ptb.valid.txt", codec="words", options={"closed": True})
    return prepared, Streams(prepared.train.main.ids, ROWS, SPAN)


def training(name: str, prepared: Prepared, batches: Streams) -> Callable[[Batch], None]:
    """One step of one of the contestants."""
    if name == "plain":
        return PlainLoop(prepared.codec.size).step
    trainer = ours(prepared, batches, OURS[name])
    return lambda batch: trainer._step([batch])


def peak(name: str) -> float:
    """Megabytes that a process needs at most for some steps, without what it needs before the first."""
    words = [sys.executable, __file__, "--peak", name]
    return float(subprocess.run(words, check=True, capture_output=True, text=True).stdout)


def tell_peak(name: str) -> None:
    """What `peak` asks for."""
    prepared, batches = data()
    before = _memory("VmRSS")
    Path("/proc/self/clear_refs").write_text("5")  # the peak is reset
    step = training(name, prepared, batches)
    for number in range(STEPS):
        step(batches.batch(0, number))
    print(_memory("VmHWM") - before)


def _memory(name: str) -> float:
    """Megabytes, as Linux counts them."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith(name))


def main() -> None:
    """Train, score and sample."""
    prepared, batches = data()
    some = [batches.batch(0, number) for number in range(STEPS)]
    names = ["plain", *OURS]
    steps = {name: training(name, prepared, batches) for name in names}
    works = {name: partial(lambda step: [step(one) for one in some], step) for name, step in steps.items()}
    symbols = sum(batch.count for batch in some)
    rates = {name: symbols / median for name, median in in_turns(works, TURNS).items()}
    print(f"| LSTM {LAYERS} x {WIDTH}, {ROWS} rows, {SPAN} steps | words a second | ratio | peak memory |")
    print("|---|---|---|---|")
    for name, rate in rates.items():
        print(f"| training, {name} | {rate:,.0f} | {rate / rates['plain']:.2f}x | {peak(name):,.0f} MB |")
    assert prepared.valid is not None
    model, ids = ours(prepared, batches, {}).body.eval(), prepared.valid.main.ids
    scored = prepared.valid.main.symbols / in_turns({"": lambda: model.score_ids(ids)}, 5)[""]
    print(f"| scoring a file | {scored:,.0f} | {scored / rates['exact']:.2f}x of exact training | |")
    sampling(model, PlainLoop(prepared.codec.size))


def sampling(model: Lstm, plain: PlainLoop, length: int = 200) -> None:
    """One stream, symbol by symbol."""

    def draw() -> None:
        list(sample(model, [[BOS]], GenerationConfig(length=length, seed=1), Constraints(stop=())))

    taken = in_turns({"ours": draw, "plain": lambda: plain.sample(length)}, 7)
    mine, other = length / taken["ours"], length / taken["plain"]
    print(f"| sampling one stream, plain | {other:,.0f} | 1.00x | |")
    print(f"| sampling one stream | {mine:,.0f} | {mine / other:.2f}x | |")


if __name__ == "__main__":
    with blocks_kept():  # for both: one call that every user can make
        tell_peak(sys.argv[2]) if sys.argv[1:2] == ["--peak"] else main()
