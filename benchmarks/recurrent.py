"""Recurrent models beside a plain PyTorch loop: training, scoring and sampling speed. Prints a Markdown table.

    python benchmarks/recurrent.py        # Penn Treebank, from $CHAINRULE_DATA

The baseline is what a competent user writes: nn.Embedding, nn.LSTM, nn.Linear, cross_entropy, Adam, clipping,
state carried.
Both train the same configuration on the same batches, in turns within one run; medians are given.
"""

from __future__ import annotations

import os
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path

import torch
from torch import Tensor, nn

from chainrule.data.batches import Batch, Streams
from chainrule.data.dataset import Prepared, prepare
from chainrule.models.lstm import Lstm, LstmConfig
from chainrule.runtime import reuse_memory
from chainrule.symbols import BOS, PAD
from chainrule.train.config import TrainConfig
from chainrule.train.trainer import Trainer

DATA = Path(os.environ.get("CHAINRULE_DATA", "../shared/data"))
ROWS, SPAN, WIDTH, LAYERS = 20, 35, 200, 2
STEPS, TURNS = 20, 7


class Plain(nn.Module):
    """The word-level language model of many tutorials."""

    def __init__(self, alphabet: int) -> None:
        super().__init__()
        self.embedding = nn.Embedding(alphabet, WIDTH)
        self.lstm = nn.LSTM(WIDTH, WIDTH, LAYERS, batch_first=True)
        self.output = nn.Linear(WIDTH, alphabet)
        self.output.weight = self.embedding.weight

    def forward(
        self, tokens: Tensor, state: tuple[Tensor, Tensor] | None
    ) -> tuple[Tensor, tuple[Tensor, Tensor]]:
        hidden, state = self.lstm(self.embedding(tokens), state)
        return self.output(hidden), state


class PlainLoop:
    """Its training loop."""

    def __init__(self, alphabet: int) -> None:
        torch.manual_seed(1)
        self.model = Plain(alphabet)
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=2e-3)
        self.state: tuple[Tensor, Tensor] | None = None

    def step(self, batch: Batch) -> None:
        tokens, targets = torch.from_numpy(batch.tokens), torch.from_numpy(batch.targets)
        state = None if self.state is None else tuple(part.detach() for part in self.state)
        logits, self.state = self.model(tokens, state)  # type: ignore[arg-type]
        loss = nn.functional.cross_entropy(logits.flatten(0, 1), targets.flatten(), ignore_index=PAD)
        self.optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        self.optimizer.step()

    @torch.no_grad()
    def sample(self, length: int) -> None:
        self.model.eval()
        token, state = torch.tensor([[BOS]]), None
        for _ in range(length):
            logits, state = self.model(token, state)
            token = torch.multinomial(logits[:, -1].softmax(-1), 1)
        self.model.train()


def ours(prepared: Prepared, batches: Streams, **options: object) -> Trainer:
    """Our trainer at the same configuration."""
    config = LstmConfig(
        alphabet=prepared.codec.size,
        silent=prepared.codec.silent,
        width=WIDTH,
        layers=LAYERS,
        carry=True,
        **options,
    )  # type: ignore[arg-type]
    trainer = Trainer(Lstm.seeded(config, 1), batches, None, TrainConfig(epochs=10))
    trainer._plan_when_ready()
    trainer.model.train()
    return trainer


def seconds(work: Callable[[], object]) -> float:
    """How long one call takes."""
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def main() -> None:
    """Train, score and sample."""
    ptb = DATA / "ptb"
    if not ptb.is_dir():
        sys.exit(f"There is no {ptb}. Set CHAINRULE_DATA to the folder that holds ptb/ptb.train.txt.")
    reuse_memory()  # for both: one call that every user can make
    prepared = prepare(ptb / "ptb.train.txt", ptb / "ptb.valid.txt", codec="words", settings={"closed": True})
    batches = Streams(prepared.train.ids, ROWS, SPAN)
    plain = PlainLoop(prepared.codec.size)
    runs = {"exact": ours(prepared, batches), "1,024 sampled": ours(prepared, batches, samples=1024)}
    some = [batches.batch(0, number) for number in range(STEPS)]
    works: dict[str, Callable[[], object]] = {"plain": lambda: [plain.step(batch) for batch in some]}
    works |= {name: (lambda run=run: [run._step(batch) for batch in some]) for name, run in runs.items()}
    for work in works.values():
        work()
    taken = {name: [] for name in works}
    for _ in range(TURNS):
        for name, work in works.items():
            taken[name].append(seconds(work))
    symbols = sum(batch.symbols for batch in some)
    rates = {name: symbols / statistics.median(times) for name, times in taken.items()}
    print(
        f"| LSTM {LAYERS} x {WIDTH}, {ROWS} rows, {SPAN} steps, {prepared.codec.size} words | per second | ratio |"
    )
    print("|---|---|---|")
    for name, rate in rates.items():
        print(f"| training, {name} | {rate:,.0f} | {rate / rates['plain']:.2f}x |")
    assert prepared.valid is not None
    model, ids = runs["exact"].model.eval(), prepared.valid.ids
    scoring = statistics.median(
        prepared.valid.symbols / seconds(lambda: model.score_ids(ids)) for _ in range(3)
    )
    print(f"| scoring a file | {scoring:,.0f} | {scoring / rates['exact']:.2f}x of training |")
    sampling(model, plain)


def sampling(model: Lstm, plain: PlainLoop, length: int = 200) -> None:
    """One stream, symbol by symbol."""
    from chainrule.decode.sample import sample

    def draw() -> None:
        list(sample(model, [BOS], length, generator=torch.Generator().manual_seed(1), stop=()))

    draw()
    taken = [(seconds(draw), seconds(lambda: plain.sample(length))) for _ in range(5)]
    mine, other = (length / statistics.median(times) for times in zip(*taken, strict=True))
    print(f"| sampling one stream | {mine:,.0f}, plain {other:,.0f} | {mine / other:.2f}x |")


if __name__ == "__main__":
    main()
