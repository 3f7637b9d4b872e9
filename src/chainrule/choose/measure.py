"""What is measured of every model, in the same way."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from chainrule.bundle import Bundle
from chainrule.choose.plan import by_bytes, chosen_on, judged_on
from chainrule.choose.scored import Scorer
from chainrule.data.corpus import Corpus
from chainrule.data.dataset import Prepared
from chainrule.judge.bootstrap import blocks
from chainrule.judge.score import LOG2
from chainrule.symbols import BOS, EOS, FIRST, UNK

APART = 20  # sequences from which each one is a case of its own; fewer are cut into blocks
JUDGING = 0.15  # share of a model's time that is kept for judging it
SHOWN = 600  # symbols whose surprise is kept
SAMPLES, LENGTH = 3, 160  # symbols


@dataclass(frozen=True)
class Judged:
    """Bits of every case and what they are counted by; everything else as plain values."""

    bits: np.ndarray  # (S,)
    sizes: np.ndarray  # (S,) bytes, or symbols
    facts: Mapping[str, Any]


@dataclass(frozen=True)
class Choice:
    """What decides about a model."""

    figure: float  # as people are told
    loss: float  # the same, smaller is better
    cases: tuple[np.ndarray, ...] | None = (
        None  # bits and sizes (S,), where the figure is made of such; else what it is on test sets drawn (R,)
    )


def judged(bundle: Bundle, prepared: Prepared, seed: int, scorer: Scorer, spelling: bool = False) -> Judged:
    """How well and how fast a model predicts, and samples of it; with `spelling`, what its codec cannot write down
    is paid for by the byte.
    """
    test = judged_on(prepared)
    scored = scorer(test.ids)
    logs = scored.logs
    perplexity = _power(float(_bits(test, logs).sum()) / max(1, test.symbols))
    bits, sizes = _cases(prepared, test, logs, spelling)
    began = time.perf_counter()
    samples, written = samples_of(bundle, seed)
    facts = {
        "perplexity": perplexity,
        "score_per_second": test.symbols / max(scored.seconds, 1e-9),
        "write_per_second": written / max(time.perf_counter() - began, 1e-9),
        "samples": samples,
        "surprise": _surprise(bundle, test.ids, logs),
        "values": _values(bundle, prepared),
    }
    return Judged(bits, sizes, facts)


def choice(bundle: Bundle, prepared: Prepared, scorer: Scorer, spelling: bool = False) -> Choice:
    """What decides about a model: its task's own figure on the validation part.

    Bits are told in the unit of the report, so that codecs can be compared.
    """
    task, corpus = bundle.task, chosen_on(prepared)
    if task.figure == "bits_per_symbol":
        bits, sizes = _cases(prepared, corpus, scorer(corpus.ids).logs, spelling)
        value = float(bits.sum() / sizes.sum())
        return Choice(value, value, (bits, sizes))
    part = prepared.valid or prepared.test
    assert part is not None
    value = task.judge(bundle.body, bundle.head, part, bundle.codecs).values[task.figure]
    return Choice(value, -value if task.maximise else value)


def _bits(corpus: Corpus, logs: np.ndarray) -> np.ndarray:
    """Of every symbol (positions,)."""
    return np.where(corpus.ids == BOS, 0.0, -logs.astype(np.float64) / LOG2)


def _cases(
    prepared: Prepared, corpus: Corpus, logs: np.ndarray, spelling: bool
) -> tuple[np.ndarray, np.ndarray]:
    """Bits and sizes (S,) of a part, from the log-probabilities of its symbols (positions,)."""
    bits, sizes = _bits(corpus, logs), widths(prepared, corpus)
    return cases(corpus.ids, bits + spelled(corpus, sizes) if spelling else bits, sizes)


def widths(prepared: Prepared, test: Corpus) -> np.ndarray:
    """How many bytes of held-out text each symbol (positions,) stands for; 1 each if bits are told by the symbol.

    An unknown symbol stands for an equal share of what the known ones leave over.
    """
    codec = prepared.codec
    if not by_bytes(prepared):
        return np.where(test.ids == BOS, 0.0, 1.0)
    between = len(codec.glue)
    table = np.zeros(codec.size)
    for one in np.unique(test.ids[test.ids >= FIRST]).tolist():
        table[one] = len(codec.decode([one]).encode()) + between
    table[EOS] = 1 - between
    unknown = int((test.ids == UNK).sum())
    if unknown:
        table[UNK] = max(1.0, (test.bytes - table[test.ids].sum()) / unknown)
    found = table[test.ids]
    return found * (test.bytes / max(1.0, found.sum()))  # type: ignore[no-any-return]


def spelled(test: Corpus, sizes: np.ndarray) -> np.ndarray:
    """Bits (positions,) for writing unknown symbols down, eight a byte.

    A literal <unk> is known, so of the symbols that look unknown only their share is paid for.
    """
    unknown = test.ids == UNK
    return 8.0 * sizes * unknown * (test.unknown / max(1, int(unknown.sum())))  # type: ignore[no-any-return]


def cases(ids: np.ndarray, bits: np.ndarray, sizes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Bits and sizes (S,) of every sequence, or of every block of few long ones, from those of symbols (positions,)."""
    starts = np.flatnonzero(ids == BOS)
    if len(starts) >= APART:
        return np.add.reduceat(bits, starts), np.add.reduceat(sizes, starts)
    predicted = ids != BOS
    return blocks(bits[predicted], sizes[predicted])


def samples_of(bundle: Bundle, seed: int) -> tuple[list[str], int]:
    """Some things a model writes, and how many symbols they are."""
    texts = [bundle.generate("", LENGTH, seed + number) for number in range(SAMPLES)]
    return texts, sum(max(1, len(bundle.prompt_ids(text)) - 1) for text in texts)


def _surprise(bundle: Bundle, ids: np.ndarray, logs: np.ndarray) -> dict[str, Any]:
    """The bits of the first symbols, and what these look like."""
    some = ids[: SHOWN + 1] != BOS
    symbols = ids[: SHOWN + 1][some].tolist()
    return {
        "symbols": [bundle.codec.shown(one) for one in symbols],
        "bits": (-logs[: SHOWN + 1][some].astype(np.float64) / LOG2).tolist(),
    }


def _values(bundle: Bundle, prepared: Prepared) -> dict[str, Any] | None:
    """How near forecasts of numbers come; None for other data."""
    from chainrule.codecs.numbers import parse
    from chainrule.judge.forecast import forecast_score
    from chainrule.seasons import season

    bins, data = prepared.codec.bins, prepared.data
    if bins is None or data.test is None:
        return None
    learnt = [parse(texts) for texts in data.train[data.main]()]
    held = [parse(texts) for texts in data.test[data.main]()]
    every = season(np.concatenate([one for one, _ in learnt]), np.concatenate([two for _, two in learnt]))
    truth = np.concatenate([one for one, _ in held])
    lengths = np.concatenate([two for _, two in held])
    level, scale = bins.level.before(truth, lengths)
    has = bins.level.has(truth, lengths)
    if not has.any():
        return None
    ids = judged_on(prepared).ids
    found = forecast_score(bundle.model, ids, truth[has], bins, every, level[has], scale[has])
    return {
        "mae": found.mae,
        "coverage": found.coverage,
        "naive_mae": found.naive_mae,
        "seasonal_mae": found.seasonal_mae,
        "season": found.season,
    }


def _power(bits: float) -> float:
    return float(2.0**bits) if bits < 1000 else float("inf")


def journal(run: Path, seconds: float) -> list[list[float]]:
    """Nats per symbol on the validation part over time, as a training wrote them down."""
    path = run / "metrics.jsonl"
    if not path.exists():
        return []
    lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    last = max((line["step"] for line in lines), default=1)
    return [[seconds * line["step"] / last, line["valid"]] for line in lines]


def plain(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Settings worth showing: numbers, words, yes and no."""
    hidden = ("vocab_size", "suppressed", "parts")
    return {
        name: value for name, value in settings.items() if name not in hidden and not isinstance(value, dict)
    }


class Peak:
    """The most memory a process holds while it trains, one model after another."""

    def __init__(self) -> None:
        self.base = self.begun = _held("VmRSS")

    def reset(self) -> None:
        """Memory is measured from here on, where the system allows it; what judging has left over does not count."""
        try:
            Path("/proc/self/clear_refs").write_text("5")
        except OSError:
            return
        self.begun = _held("VmRSS")

    @property
    def bytes(self) -> int:
        """As if nothing had been trained before."""
        return self.base + max(0, _held("VmHWM") - self.begun)


def _held(name: str) -> int:
    """Bytes of memory that this process holds (VmRSS) or held at most (VmHWM)."""
    try:
        lines = Path("/proc/self/status").read_text().splitlines()
        return next(1024 * int(line.split()[1]) for line in lines if line.startswith(name))
    except (OSError, StopIteration):
        import resource

        return 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
