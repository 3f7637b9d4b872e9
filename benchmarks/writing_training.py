"""Speed of training a Transformer beside a plain PyTorch loop with `nn.Transformer`. Prints a Markdown table.

    python benchmarks/writing_training.py        # Multi30k, from $CHAINRULE_DATA

The baseline is what a competent user writes: nn.Transformer with sinusoidal positions, one table of embeddings for both
sides and the softmax, batches of sentences of similar length, cross_entropy with label smoothing, AdamW, clipping, in
float32 or under autocast to bfloat16. Both train the same sizes on the same batches. Every turn is a process
of its own; medians are given.
"""

from __future__ import annotations

import math
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import torch
from torch import Tensor, nn

from chainrule.data.batches import Batch, Batches
from chainrule.data.dataset import Prepared, prepare
from chainrule.data.encoder_inputs import EncoderInputs
from chainrule.data.paired import PairedBatches
from chainrule.data.rows import TARGET
from chainrule.models.transformer import EncoderDecoderConfig, Transformer
from chainrule.runtime import blocks_kept
from chainrule.symbols import PAD
from chainrule.tasks.translate import Translate
from chainrule.train.config import TrainConfig
from chainrule.train.network import Network
from chainrule.train.trainer import Trainer

DATA = Path(os.environ.get("CHAINRULE_DATA", "../shared/data"))
LAYERS, WIDTH, HEADS, FFN, DROPOUT, VOCAB, TOKENS = 4, 128, 4, 512, 0.2, 5000, 2048
WARMING, STEPS, TURNS = 4, 16, 3
NAMES = {
    "plain": "nn.Transformer, float32",
    "plain bf16": "nn.Transformer, autocast to bfloat16",
    "adamw": "ours, AdamW",
    "muon": "ours, as fitted (Muon)",
}


class Plain(nn.Module):
    """nn.Transformer with embeddings, positions and a softmax around it."""

    def __init__(self, words: int) -> None:
        super().__init__()
        self.embedding = nn.Embedding(words, WIDTH, padding_idx=PAD)
        self.body = nn.Transformer(
            WIDTH, HEADS, LAYERS, LAYERS, FFN, DROPOUT, batch_first=True, norm_first=True
        )
        self.dropout = nn.Dropout(DROPOUT)
        places = torch.arange(512)[:, None] * torch.exp(torch.arange(0, WIDTH, 2) * -math.log(1e4) / WIDTH)
        self.register_buffer("places", torch.stack([places.sin(), places.cos()], 2).flatten(1))  # (512, D)

    def forward(self, source: Tensor, tokens: Tensor) -> Tensor:
        mask = nn.Transformer.generate_square_subsequent_mask(tokens.shape[1]) < 0
        hidden = self.body(
            self.embedded(source),
            self.embedded(tokens),
            tgt_mask=mask,
            src_key_padding_mask=source == PAD,
            tgt_key_padding_mask=tokens == PAD,
            memory_key_padding_mask=source == PAD,
            tgt_is_causal=True,
        )
        return hidden @ self.embedding.weight.t()  # (B, T, V)

    def embedded(self, ids: Tensor) -> Tensor:
        return self.dropout(self.embedding(ids) * math.sqrt(WIDTH) + self.places[: ids.shape[1]])


def plain(words: int, bf16: bool) -> Callable[[Batch], None]:
    """A step of the plain loop."""
    torch.manual_seed(1)
    model = Plain(words)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, betas=(0.9, 0.98))
    asked = nn.CrossEntropyLoss(ignore_index=PAD, label_smoothing=0.1)

    def step(batch: Batch) -> None:
        source, tokens, targets = map(torch.from_numpy, (batch.source, batch.tokens, batch.targets))
        with torch.autocast("cpu", torch.bfloat16, enabled=bf16):
            logits = model(source, tokens)
        loss = asked(logits.float().flatten(0, 1), targets.flatten())
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()

    return step


def ours(prepared: Prepared, batches: Batches, optimizer: str) -> Callable[[Batch], None]:
    """A step of ours."""
    sizes = {"layers": LAYERS, "width": WIDTH, "heads": HEADS, "ffn_width": FFN, "dropout": DROPOUT}
    config = EncoderDecoderConfig(vocab_size=prepared.codec.size, source_size=0, bf16=True, **sizes)
    network = Network(Translate(), Transformer.seeded(config, 1))
    trainer = Trainer(network, batches, None, TrainConfig(epochs=10, optimizer=optimizer))
    trainer._begin()
    network.train()
    return lambda batch: trainer._step([batch])


def turn(name: str) -> float:
    """Target symbols a second of one contestant."""
    home = DATA / "multi30k"
    if not home.is_dir():
        sys.exit(f"There is no {home}. Set CHAINRULE_DATA to the folder that holds multi30k/train.en.")
    data = {"source": str(home / "train.en"), "target": str(home / "train.de")}
    prepared = prepare(data, codec="subwords", options={"vocab": VOCAB}, roles=Translate().roles())
    part = prepared.train
    batches = PairedBatches(EncoderInputs.of(part, TARGET), part[TARGET], TOKENS, 1)
    some = [batches.batch(0, number) for number in range(WARMING + STEPS)]
    words = prepared.codec.size
    step = plain(words, "bf16" in name) if name.startswith("plain") else ours(prepared, batches, name)
    for batch in some[:WARMING]:
        step(batch)
    began = time.perf_counter()
    for batch in some[WARMING:]:
        step(batch)
    return sum(batch.count for batch in some[WARMING:]) / (time.perf_counter() - began)


def main() -> None:
    """All in turns."""
    rates: dict[str, list[float]] = {name: [] for name in NAMES}
    for _ in range(TURNS):
        for name in NAMES:
            found = subprocess.run([sys.executable, __file__, name], check=True, stdout=subprocess.PIPE)
            rates[name].append(float(found.stdout))
    best = max(statistics.median(rates[name]) for name in NAMES if name.startswith("plain"))
    print(
        f"| {LAYERS} + {LAYERS} layers, {WIDTH} wide, {TOKENS:,} symbols a batch | target symbols a second | ratio |"
    )
    print("|---|---|---|")
    for name, told in NAMES.items():
        rate = statistics.median(rates[name])
        print(f"| {told} | {rate:,.0f} | {rate / best:.2f}x |")


if __name__ == "__main__":
    with blocks_kept():  # for all: one call that every user can make
        print(turn(sys.argv[1])) if sys.argv[1:] else main()
