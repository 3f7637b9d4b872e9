"""ELMo trained on unlabelled text, then part-of-speech tags with a tenth of the labels. Prints a Markdown table.

    python benchmarks/elmo.py DATA/ud-ewt --budget 6m --seeds 3 -o FOLDER

DATA/ud-ewt holds train.conllu, dev.conllu and test.conllu. The language models are trained on the words (FORM) of all
training sentences and kept in FOLDER/lm; one that is there is taken. Then the same tagger (character CNN, two layers of
bidirectional LSTM, a mix of layers, a linear layer for each word) is trained on drawn sentences with their UPOS, three
times for each draw: `fresh` with new weights, as many and all of them trained, `frozen` and `tuned` on ELMo. Each way
has the learning rate that is best for it on dev.conllu, of those in --lr.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import torch.nn.functional as F
from torch import Tensor

import chainrule as cr
from chainrule.codecs.base import Codec
from chainrule.data.batches import Batch, Batches, TensorBatch
from chainrule.data.corpus import Part
from chainrule.data.labelled import LabelledBatches, padded
from chainrule.data.roles import Role
from chainrule.heads.base import Head, HeadConfig
from chainrule.judge.judged import Judged, Table
from chainrule.models.base import Body
from chainrule.models.readers import Examples
from chainrule.models.state import State
from chainrule.nn.product import Linear
from chainrule.symbols import FIRST, PAD
from chainrule.tasks.base import BatchSize, mean_loss, register
from chainrule.tasks.supervised import Answer, Supervised

ROWS = 64  # judged side by side
WAYS = ("fresh", "frozen", "tuned")


class EachWord(Head):
    """W h_t + b for every symbol."""

    def __init__(self, config: Any) -> None:
        super().__init__(config)
        self.output = Linear(config.width, config.answers)

    def forward(self, hidden: Tensor, real: Tensor) -> Tensor:
        found: Tensor = self.output(F.dropout(hidden, 0.3, self.training))
        return found


class Tagged:
    """Sentences and their tags, word by word; PAD where nothing is asked."""

    def __init__(self, part: Part, rows: int, seed: int = 0) -> None:
        self.part, self.sentences = (
            part,
            LabelledBatches(part["text"], np.arange(part.examples), rows, None, seed),
        )

    def __len__(self) -> int:
        return len(self.sentences)

    def batch(self, epoch: int, number: int) -> Batch:
        plain = self.sentences.batch(epoch, number)
        tags, rows = self.part["label"], plain.targets
        ids = padded(tags.ids, tags.starts[rows], tags.lengths[rows] + 2)
        return Batch(plain.tokens, np.where(ids >= FIRST, ids, PAD))


@dataclass(frozen=True)
class Accuracy(Judged):
    """How many tags were right."""

    right: int
    words: int

    @property
    def examples(self) -> int:
        return self.words

    def figures(self) -> dict[str, float]:
        return {"accuracy": self.right / self.words, "words": self.words}

    def resampled(self, rows: np.ndarray) -> Accuracy:
        raise NotImplementedError("Draw sentences with another seed.")

    def details(self) -> dict[str, Any]:
        return {}

    def tables(self) -> list[Table]:
        return []


@register("upos")
@dataclass(frozen=True, kw_only=True)
class Upos(Supervised):
    """A tag for every word, judged by accuracy."""

    labels: ClassVar[str | None] = "label"
    figure: ClassVar[str] = "accuracy"
    maximise: ClassVar[bool] = True

    def roles(self) -> Sequence[Role]:
        return Role("text"), Role("label", codec="words")

    def head(self, body: Body, codecs: Mapping[str, Codec], seed: int) -> Head:
        answers = codecs["label"].size - FIRST
        return EachWord.seeded(HeadConfig(width=body.width, answers=answers), seed)

    def batches(self, body: Body, part: Part, codecs: Mapping[str, Codec], size: BatchSize) -> Batches:
        return Tagged(part, size.rows, size.seed)

    def loss(self, body: Body, head: Head | None, batch: TensorBatch, state: State) -> tuple[Tensor, State]:
        assert head is not None
        hidden, state = body.read(batch.tokens, state)
        asked = batch.targets != PAD
        logits = head(hidden, asked)[asked]
        return F.cross_entropy(logits, batch.targets[asked] - FIRST, reduction="sum"), state

    def validate(self, body: Body, head: Head | None, part: Part, batches: Batches, most: int) -> float:
        return mean_loss(self, body, head, batches, most)

    def examples(self, part: Part, codecs: Mapping[str, Codec]) -> Examples:
        raise NotImplementedError("Only for bodies that learn by gradient.")

    def answers(
        self, body: Body, head: Head, part: Part, codecs: Mapping[str, Codec], top: int | None = None
    ) -> Sequence[Answer]:
        raise NotImplementedError("It is judged only.")

    def calibrated(self, body: Body, head: Head, part: Part | None, codecs: Mapping[str, Codec]) -> Head:
        return head

    def judged(self, body: Body, head: Head, part: Part, codecs: Mapping[str, Codec]) -> Judged:
        right, words, batches = 0, 0, Tagged(part, ROWS)
        head.eval()
        for number in range(len(batches)):
            batch = batches.batch(0, number).tensors(body.device)
            with body.inference(batch.tokens.numel()):
                logits = head(body.read(batch.tokens, body.start(len(batch.tokens)))[0], batch.tokens != PAD)
            asked = batch.targets != PAD
            right += int(((logits.argmax(-1) + FIRST == batch.targets) & asked).sum())
            words += int((batch.tokens >= FIRST).sum())  # a tag never seen in training counts as wrong
        return Accuracy(right, words)


def language_model(data: Path, folder: Path, budget: str) -> cr.Bundle:
    """Trained on the words of all sentences, without labels; that of an earlier run, if there is one."""
    if not (folder / "lm").exists():
        parts = {name: data / f"{name}.conllu" for name in ("train", "dev", "test")}
        settings = {"model": "elmo", "codec": "words", "min_count": 2, "column": "FORM", "budget": budget}
        lm = cr.fit(parts["train"], valid=parts["dev"], test=parts["test"], **settings)
        lm.save(folder / "lm")
    return cr.load(folder / "lm")


def drawn(data: Path, share: float, seed: int, folder: Path) -> Path:
    """Some of the training sentences, as a file."""
    sentences = (data / "train.conllu").read_text(encoding="utf-8").strip().split("\n\n")
    chosen = np.random.default_rng(seed).permutation(len(sentences))[: round(share * len(sentences))]
    path = folder / f"train-{seed}.conllu"
    path.write_text("".join(sentences[at] + "\n\n" for at in sorted(chosen.tolist())), encoding="utf-8")
    return path


def tagger(
    lm: cr.Bundle, train: Path, data: Path, way: str, args: argparse.Namespace, seed: int
) -> cr.Bundle:
    """The best on the dev part, over the learning rates that are tried."""
    found = [trained(lm, train, data, way, args.epochs, float(lr), seed) for lr in args.lr.split(",")]
    return max(found, key=lambda one: one.card["figures"]["valid"]["accuracy"])


def trained(lm: cr.Bundle, train: Path, data: Path, way: str, epochs: int, lr: float, seed: int) -> cr.Bundle:
    parts = {"valid": data / "dev.conllu", "test": data / "test.conllu"}
    settings = {"epochs": epochs, "lr": lr, "batch_size": 16, "seed": seed, "patience": 3}
    columns = {"column": "FORM", "label": "UPOS"}
    return cr.fit(train, task="upos", init_from=lm, transfer=way, refit=False, **parts, **columns, **settings)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("data", type=Path)
    parser.add_argument("--budget", default="6m", help="for the language models")
    parser.add_argument("--share", type=float, default=0.1, help="of the labelled sentences")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--epochs", type=int, default=12)
    parser.add_argument("--lr", default="0.003,0.01", help="learning rates to choose from")
    parser.add_argument("--ways", default=",".join(WAYS))
    parser.add_argument("-o", dest="folder", type=Path, required=True)
    args = parser.parse_args()
    lm = language_model(args.data, args.folder, args.budget)
    told = lm.card["figures"]["test"]
    print(
        f"test perplexity: forward {told['forward_perplexity']:.1f}, backward {told['backward_perplexity']:.1f}"
    )
    print("\n| body | UPOS test accuracy, each draw | mean | dev | seconds | parameters |")
    print("|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        for way in args.ways.split(","):
            found, judged, began = [], [], time.perf_counter()
            for seed in range(args.seeds):
                model = tagger(
                    lm, drawn(args.data, args.share, seed, Path(folder)), args.data, way, args, seed
                )
                found.append(100 * model.card["figures"]["test"]["accuracy"])
                judged.append(100 * model.card["figures"]["valid"]["accuracy"])
            each, taken = ", ".join(f"{one:.2f}" for one in found), (time.perf_counter() - began) / args.seeds
            means = f"{statistics.mean(found):.2f} | {statistics.mean(judged):.2f}"
            print(f"| {way} | {each} | {means} | {taken:.0f} | {model.parameters:,} |", flush=True)


if __name__ == "__main__":
    main()
