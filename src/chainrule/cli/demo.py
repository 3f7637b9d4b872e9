"""`demo`: what there is to see without any data of your own."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Any

import typer

from chainrule.cli.output import Json, Output, Quiet, Verbose, number, seconds

if TYPE_CHECKING:
    from chainrule.data.dataset import Prepared

# codec, its settings, how many symbols a line may have, what is said above its table
ALPHABETS: tuple[tuple[str, dict[str, Any], int, str], ...] = (
    ("characters", {}, 72, "letter by letter"),
    ("words", {"split": "simple"}, 14, "word by word"),
)
PROMPT, HEAT = "If the", 0.7
SENTENCE = re.compile(r"[A-Z][^\[\]{}=<>\\|#]*\.$")  # and none of the signs of code
WORDS = 8  # a paragraph has at least so many
BAR = 24  # characters of the longest bar


def demo(
    orders: Annotated[int, typer.Option("--orders", min=1, max=9, help="Up to which order.")] = 5,
    seed: Annotated[int, typer.Option(help="The same seed gives the same lines.")] = 2,
    json: Json = False,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Watch n-grams of orders 1 to 5 improve.

    They are trained on Python's own documentation, letter by letter and word by word.
    """
    texts = sample()
    output = Output(json, quiet, verbose)
    found: list[dict[str, Any]] = []
    size = sum(len(text.encode()) + 1 for text in texts)
    if not json:
        print(f"The sample: {len(texts):,} paragraphs of Python's documentation, {size:,} bytes.")
        print("Each model is trained on 90 % and judged on 5 % that it never saw.")
    _compile(texts, orders)
    for codec, settings, length, title in ALPHABETS:
        rows = []
        for row in _models(texts, codec, settings, orders, length, seed):
            rows.append(row)
            if not json:
                print(_heading(title) if len(rows) == 1 else "", end="")
                print(_line(row, rows[0]))
        if not json:
            print(_unknown(rows[0]) + "\n".join(f"  {row['order']}  {row['line']}" for row in rows))
        found += rows
    output.result({"bytes": size, "models": found}, "\nOn your own file: chainrule fit book.txt -o my-lm")


def sample() -> list[str]:
    """The documentation that ships inside every Python: its paragraphs of whole sentences, without markup."""
    from pydoc_data.topics import topics

    paragraphs = [_plain(block) for text in topics.values() for block in text.split("\n\n")]
    prose = (text for text in paragraphs if SENTENCE.match(text) and len(text.split()) >= WORDS)
    return list(dict.fromkeys(prose))


def _plain(block: str) -> str:
    """A paragraph on one line, without the marks of a markup language."""
    text = re.sub(r'[*"`]|([=\-~^])\1{3,}', "", " ".join(block.split()))
    return re.sub(r"(?<=\w)- (?=\w)", "-", text)  # a word that was parted at the end of a line


def _compile(texts: list[str], orders: int) -> None:
    """Let every kernel be compiled on a few lines, so that the time it takes is not taken for something else."""
    import chainrule.decode.sample  # noqa: F401  # torch is to be imported, not compiled
    from chainrule.progress import hush, progress

    with progress("compiling (once)"), hush():
        for codec, settings, length, _ in ALPHABETS:
            for _ in _models(texts[:40], codec, settings, min(orders, 2), length, 0):
                pass


def _models(
    texts: list[str], codec: str, settings: dict[str, Any], orders: int, length: int, seed: int
) -> Iterator[dict[str, Any]]:
    """Train, judge and sample one model after another."""
    from chainrule.data.dataset import prepare

    data = prepare(texts, codec=codec, settings=settings)
    for order in range(1, orders + 1):
        yield {"codec": codec, "order": order} | _model(data, order, length, seed)


def _model(data: Prepared, order: int, length: int, seed: int) -> dict[str, Any]:
    from chainrule.bundle import Bundle
    from chainrule.judge.score import score_ids
    from chainrule.models.ngram import Ngram, NgramConfig

    began = time.perf_counter()
    config = NgramConfig(alphabet=data.codec.size, silent=data.codec.silent, order=order)
    bundle = Bundle(data.codec, Ngram.learn(config, data.train.ids))
    took = time.perf_counter() - began
    test = data.test or data.train
    score = score_ids(bundle.model, test.ids, test.bytes, test.unknown)
    return {
        "bits_per_byte": score.bits_per_byte,
        "perplexity": score.perplexity,
        "symbols": score.symbols,
        "unknown": score.unknown,
        "seconds": took,
        "line": bundle.generate(PROMPT, length, seed=seed, temperature=HEAT),
    }


def _unknown(row: dict[str, Any]) -> str:
    share = row["unknown"] / row["symbols"]
    note = f"  ({share:.1%} of the symbols are unknown to it, and their spelling costs it nothing)\n"
    return (note if share > 0.01 else "") + "\n"


def _heading(title: str) -> str:
    return f"\n{title}\n  order  bits per byte{'':{BAR - 9}}  perplexity     time\n"


def _line(row: dict[str, Any], first: dict[str, Any]) -> str:
    bar = "█" * round(BAR * min(1.0, row["bits_per_byte"] / first["bits_per_byte"]))
    figures = f"{row['bits_per_byte']:4.2f} {bar:{BAR}}"
    return f"  {row['order']:5}  {figures}  {number(row['perplexity']):>8}  {seconds(row['seconds']):>7}"
