"""A GPT beside plain PyTorch and transformers: training steps, decoding with a cache. Prints a Markdown table.

    python benchmarks/attention.py

Training: the CPU configuration of nanoGPT (4 layers, 4 heads, width 128, 64 symbols, 12 rows, 65 symbols in all) beside
a plain implementation of it, eager and compiled; compile time is counted over 2,000 steps. Decoding: `generate` of
transformers on the same weights. All in turns within one run; medians.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from stepping import stepping
from timing import in_turns, seconds
from torch import Tensor, nn

from chainrule.data.batches import Batch, Streams
from chainrule.decode.config import Constraints, GenerationConfig
from chainrule.decode.sample import joined, sample
from chainrule.interop.huggingface.gpt2 import Gpt2Format
from chainrule.models.base import LanguageModel
from chainrule.models.gpt import Gpt, GptConfig
from chainrule.runtime import blocks_kept
from chainrule.symbols import BOS
from chainrule.tasks.next import Next

LAYERS, HEADS, WIDTH, SPAN, ROWS, ALPHABET = 4, 4, 128, 64, 12, 65
STEPS, TURNS, WHOLE = 20, 9, 2000
ENDLESS = Constraints(stop=())


class PlainBlock(nn.Module):
    """A pre-norm block with torch's attention kernel."""

    def __init__(self) -> None:
        super().__init__()
        self.norm_1, self.norm_2 = nn.LayerNorm(WIDTH, bias=False), nn.LayerNorm(WIDTH, bias=False)
        self.attention, self.projection = (
            nn.Linear(WIDTH, 3 * WIDTH, bias=False),
            nn.Linear(WIDTH, WIDTH, bias=False),
        )
        self.wide, self.narrow = (
            nn.Linear(WIDTH, 4 * WIDTH, bias=False),
            nn.Linear(4 * WIDTH, WIDTH, bias=False),
        )

    def forward(self, x: Tensor) -> Tensor:
        rows, length, width = x.shape
        q, k, v = self.attention(self.norm_1(x)).split(width, 2)
        q, k, v = (one.view(rows, length, HEADS, width // HEADS).transpose(1, 2) for one in (q, k, v))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.projection(y.transpose(1, 2).reshape(rows, length, width))
        return x + self.narrow(F.gelu(self.wide(self.norm_2(x))))


class Plain(nn.Module):
    """The decoder of many tutorials."""

    def __init__(self) -> None:
        super().__init__()
        self.tokens, self.places = nn.Embedding(ALPHABET, WIDTH), nn.Embedding(SPAN, WIDTH)
        self.blocks = nn.ModuleList(PlainBlock() for _ in range(LAYERS))
        self.norm = nn.LayerNorm(WIDTH, bias=False)
        self.output = nn.Linear(WIDTH, ALPHABET, bias=False)
        self.output.weight = self.tokens.weight

    def forward(self, ids: Tensor, targets: Tensor) -> Tensor:
        x = self.tokens(ids) + self.places(torch.arange(ids.shape[1]))
        for block in self.blocks:
            x = block(x)
        logits = self.output(self.norm(x))
        return F.cross_entropy(logits.flatten(0, 1), targets.flatten())


class PlainLoop:
    """Its training loop."""

    def __init__(self, compiled: bool) -> None:
        torch.manual_seed(1)
        self.model = Plain()
        self.forward = torch.compile(self.model) if compiled else self.model
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=1e-3, betas=(0.9, 0.99), fused=True)

    def step(self, batch: Batch) -> None:
        ids, targets = (torch.from_numpy(one) % ALPHABET for one in (batch.tokens, batch.targets))
        loss = self.forward(ids, targets)
        self.optimizer.zero_grad(set_to_none=True)
        loss.backward()
        nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        self.optimizer.step()


def ours(batches: Streams, **options: Any) -> Callable[[Batch], None]:
    """One step of our trainer at the same configuration."""
    config = GptConfig(
        vocab_size=ALPHABET + 5,
        layers=LAYERS,
        heads=HEADS,
        width=WIDTH,
        context=SPAN,
        positions="learned",
        **options,
    )
    trainer = stepping(Gpt.seeded(config, 1), batches)
    return lambda batch: trainer._step([batch])


def training() -> None:
    """Steps a second, compile time included over 2,000 steps."""
    ids = np.random.default_rng(0).integers(5, ALPHABET + 5, 200_000).astype(np.int32)
    batches = Streams(ids, ROWS, SPAN, restarts=True)
    some = [batches.batch(0, number) for number in range(STEPS)]
    steps = {
        "plain, eager": PlainLoop(False).step,
        "plain, compiled": PlainLoop(True).step,
        "ours": ours(batches, bf16=False),
        "ours, bfloat16": ours(batches, bf16=True),
    }
    first = {name: seconds(partial(step, some[0])) for name, step in steps.items()}
    works = {name: partial(lambda step: [step(one) for one in some], step) for name, step in steps.items()}
    taken = in_turns(works, TURNS)
    rates = {name: WHOLE / (first[name] + WHOLE * taken[name] / STEPS) for name in steps}
    best = max(rates["plain, eager"], rates["plain, compiled"])
    print(
        "| training, nanoGPT's CPU configuration | first step | steps a second over 2,000 | to the best plain |"
    )
    print("|---|---|---|---|")
    for name, rate in rates.items():
        print(f"| {name} | {first[name]:.2f} s | {rate:.1f} | {rate / best:.2f}x |")


def theirs(model: Gpt) -> Any:
    """The same model, with the same weights, in transformers."""
    from transformers import GPT2Config, GPT2LMHeadModel

    form, order = Gpt2Format(), np.arange(model.config.vocab_size)
    values = form.described(model.config, Next()) | {"vocab_size": len(order)}
    other = GPT2LMHeadModel(GPT2Config(**values, bos_token_id=None, eos_token_id=None)).eval()
    arrays = model.arrays()
    for part in form.parts(model.config):
        for name, array in part.to_theirs(arrays[part.ours], order).items():
            other.get_parameter(name).data.copy_(torch.from_numpy(array.copy()))
    other.generation_config.pad_token_id = 0
    other.generation_config.suppress_tokens = list(model.config.suppressed)
    return other


def decoding(
    layers: int, width: int, heads: int, vocab_size: int, rows: int, length: int, **options: Any
) -> None:
    """Symbols a second from one symbol on, greedy for one row; both must write the same."""
    config = GptConfig(
        vocab_size=vocab_size,
        layers=layers,
        width=width,
        heads=heads,
        context=1024,
        positions="learned",
        activation="gelu-tanh",
        **options,
    )
    model = Gpt.seeded(config, 1)
    other = theirs(model)
    start = torch.full((rows, 1), BOS)

    def draw(model: LanguageModel) -> None:
        heat = 0.0 if rows == 1 else 1.0
        config = GenerationConfig(length=length, temperature=heat, count=rows)
        list(sample(model, [[BOS]], config, ENDLESS))

    def generate() -> None:
        with torch.no_grad():
            other.generate(start, max_new_tokens=length, do_sample=rows > 1, min_new_tokens=length)

    if rows == 1:
        ids = other.generate(start, max_new_tokens=20, do_sample=False)[0, 1:].tolist()
        if [ids] != joined(sample(model, [[BOS]], GenerationConfig(length=20, temperature=0.0), ENDLESS)):
            sys.exit("The two do not write the same.")
    works = {"ours": partial(draw, model), "int8": partial(draw, model.compressed()), "theirs": generate}
    taken = in_turns(works, 5)
    per = {name: 1000 * one / length for name, one in taken.items()}
    name = f"{layers} x {width}, {vocab_size:,} symbols, {rows} rows"
    ratios = {one: taken["theirs"] / taken[one] for one in ("ours", "int8")}
    figures = [f"{per[one]:.2f} ms | {ratios[one]:.2f}x" for one in ratios]
    print(f"| {name} | {per['theirs']:.2f} ms | {' | '.join(figures)} |")


def main() -> None:
    """Train and decode."""
    if "--decoding" not in sys.argv:
        training()
    print("\n| decoding, a step | transformers | ours | ratio | int8 | ratio |\n|---|---|---|---|---|---|")
    decoding(6, 384, 6, 8_000, 1, 200)
    decoding(6, 384, 6, 8_000, 16, 100)
    decoding(12, 768, 12, 50_257, 1, 60)


if __name__ == "__main__":
    with blocks_kept():
        main()
