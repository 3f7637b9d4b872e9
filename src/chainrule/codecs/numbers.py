"""Numbers: quantised real values, each as the bin it falls into, with the way back to a value and its interval."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Self

import numpy as np

from chainrule.codecs.base import UNIT, Blocks, CodecConfig, Encoded, Texts, check_id
from chainrule.codecs.registry import register
from chainrule.codecs.typed import CommaSeparated
from chainrule.codecs.vocabulary import read_facts
from chainrule.config import option
from chainrule.errors import CodecError
from chainrule.symbols import BOS, EOS, FIRST, MASK, PAD, UNK

FILE = "bins.json"
LARGEST = 1e150  # squares of values must be finite
SAMPLE = 1 << 22  # most values kept for finding quantiles; beyond, every second one is dropped


@dataclass(frozen=True, kw_only=True)
class NumbersConfig(CodecConfig):
    """Settings of the numbers codec."""

    bins: int = option(64, "number of bins, at most", low=1, high=1_000_000)
    how: str = option(
        "quantile",
        "quantile: bins hold equally many values; uniform: bins are equally wide",
        choices=("quantile", "uniform"),
    )


@dataclass(frozen=True)
class Bins:
    """Where each bin begins, what value stands for it, and the scale of the data."""

    edges: tuple[float, ...]  # bins + 1, rising; bin i is [edges[i], edges[i + 1])
    values: tuple[float, ...]  # bins
    mean: float
    deviation: float


@register("numbers")
class Numbers(CommaSeparated):
    """Symbols separated by UNIT or white space; values beyond the seen range go to the outermost bins."""

    Config = NumbersConfig
    config: NumbersConfig
    joins_rows = True
    spells = False
    bins: Bins

    def __init__(self, config: NumbersConfig, bins: Bins) -> None:
        self.config = config
        self.bins = bins
        self._edges, self._values = np.array(bins.edges), np.array(bins.values)

    @property
    def size(self) -> int:
        return FIRST + len(self._values)

    @property
    def suppressed(self) -> tuple[int, ...]:
        return (PAD, BOS, UNK, MASK)

    @classmethod
    def learn(cls, blocks: Blocks, config: CodecConfig) -> Self:
        assert isinstance(config, NumbersConfig)
        return cls(config, make_bins(_Summary().read(blocks), config))

    def encode(self, texts: Texts) -> Encoded:
        values, lengths = parse(texts)
        found = np.searchsorted(self._edges[1:-1], values, "right")  # (symbols,)
        return Encoded(_framed((FIRST + found).astype(np.int32), lengths, texts))

    def caveat(self, stream: bool) -> str:
        return "bits per byte of the bins: what a bin leaves open is not counted"

    def intervals(self, ids: Sequence[int] | np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Of each id the lower end of its bin, its value, the upper end; NaN for special ids."""
        numbers = np.asarray(ids, np.int64).reshape(-1)
        for number in (numbers.min(initial=0), numbers.max(initial=0)):
            check_id(int(number), self.size)
        place = np.maximum(numbers - FIRST, 0)
        columns = (self._edges[place], self._values[place], self._edges[place + 1])
        low, value, high = (np.where(numbers < FIRST, np.nan, column) for column in columns)
        return low, value, high

    def scaled(self, ids: Sequence[int] | np.ndarray) -> np.ndarray:
        """The values of these ids in standard deviations from the mean."""
        return (self.intervals(ids)[1] - self.bins.mean) / self.bins.deviation

    def symbol(self, number: int) -> str:
        return written(float(self._values[number - FIRST]))

    def decode(self, ids: Sequence[int] | np.ndarray) -> str:
        numbers = np.asarray(ids, np.int64).reshape(-1)
        return UNIT.join(self.tokens(numbers[numbers >= FIRST]))

    def save(self, folder: Path) -> None:
        (folder / FILE).write_text(json.dumps(asdict(self.bins)) + "\n", encoding="utf-8")

    @classmethod
    def load(cls, folder: Path, config: CodecConfig) -> Self:
        assert isinstance(config, NumbersConfig)
        facts = read_facts(folder / FILE)
        try:
            edges, values = (tuple(map(float, facts[name])) for name in ("edges", "values"))  # type: ignore[call-overload]
            return cls(config, Bins(edges, values, float(facts["mean"]), float(facts["deviation"])))  # type: ignore[arg-type]
        except (KeyError, TypeError, ValueError) as error:
            raise CodecError(
                f"{folder / FILE} lacks {error}: the file is damaged, save the model again."
            ) from error


def parse(texts: Texts) -> tuple[np.ndarray, np.ndarray]:
    """All values (symbols,) float64 of all sequences, and how many each sequence has (sequences,)."""
    words: list[bytes] = []
    lengths = np.zeros(len(texts), np.int64)
    for place, sequence in enumerate(texts):
        found = sequence.replace(UNIT.encode(), b" ").split()
        lengths[place] = len(found)
        words += found
    return _floats(words), lengths


def _floats(words: Sequence[bytes]) -> np.ndarray:
    try:
        values = np.array([float(word) for word in words], np.float64)
    except ValueError:
        values = np.array([_float_or_nan(word) for word in words], np.float64)
    wrong = np.flatnonzero(~(np.abs(values) <= LARGEST))
    if len(wrong):
        word = words[wrong[0]].decode("utf-8", "backslashreplace")
        raise CodecError(
            f"{word!r} is no number up to {LARGEST:g}. The numbers codec reads values such as 3, -0.5 or 1e3, "
            "typed with commas or white space between them, and in files one a row or with white space. "
            "Remove or replace what is no number, or take every value as a symbol: --codec events."
        )
    return values


def _float_or_nan(word: bytes) -> float:
    try:
        return float(word)
    except ValueError:
        return float("nan")


def _framed(ids: np.ndarray, lengths: np.ndarray, texts: Texts) -> np.ndarray:
    """BOS before and EOS after each sequence, but not where it continues from or into another block."""
    out = np.empty(len(ids) + 2 * len(lengths), np.int32)
    ends = np.cumsum(lengths + 2)
    special = np.concatenate([ends - lengths - 2, ends - 1])
    inner = np.ones(len(out), np.bool_)
    inner[special] = False
    out[special[: len(lengths)]], out[ends - 1], out[inner] = BOS, EOS, ids
    begin = int(len(texts) > 0 and not texts.opens)
    return out[begin : len(out) - int(len(texts) > 0 and not texts.closes)]


class _Summary:
    """One pass over values: count, mean, spread, range, and an evenly thinned sample."""

    def __init__(self) -> None:
        self.count, self.mean, self.squares, self.every = 0, 0.0, 0.0, 1
        self.low, self.high = np.inf, -np.inf
        self.sample = np.empty(0)

    def read(self, blocks: Blocks) -> _Summary:
        for texts in blocks():
            self._add(parse(texts)[0])
        if not self.count:
            raise CodecError(
                "There is no number in the data. The numbers codec needs at least one to learn from."
            )
        return self

    def _add(self, values: np.ndarray) -> None:
        if not len(values):
            return
        skip = -self.count % self.every
        self.sample = np.concatenate([self.sample, values[skip :: self.every]])
        while len(self.sample) > SAMPLE:
            self.sample, self.every = self.sample[::2], 2 * self.every
        total = self.count + len(values)
        change = values.mean() - self.mean
        self.squares += ((values - values.mean()) ** 2).sum() + change**2 * self.count * len(values) / total
        self.mean, self.count = self.mean + change * len(values) / total, total
        self.low, self.high = min(self.low, values.min()), max(self.high, values.max())


def make_bins(summary: _Summary, config: NumbersConfig) -> Bins:
    """Edges and central values; with no more distinct values than bins, every value has a bin of its own."""
    distinct = np.unique(np.concatenate([summary.sample, [summary.low, summary.high]]))
    if len(distinct) <= config.bins and config.how == "quantile":
        middles = distinct[:-1] / 2 + distinct[1:] / 2
        edges, values = np.concatenate([distinct[:1], middles, distinct[-1:]]), distinct
    else:
        edges = _edges(summary, config)
        low, high = edges[:-1], edges[1:]
        values = np.clip(low / 2 + high / 2, low, high)  # half of the tiniest float is zero
    deviation = float(np.sqrt(summary.squares / summary.count)) or 1.0
    rounded = tuple(_rounded(*triple) for triple in zip(edges, values, edges[1:], strict=False))
    return Bins(tuple(edges.tolist()), rounded, float(summary.mean), deviation)


def _edges(summary: _Summary, config: NumbersConfig) -> np.ndarray:
    if config.how == "uniform":
        edges = np.linspace(summary.low, summary.high, config.bins + 1)
    else:
        edges = np.quantile(summary.sample, np.linspace(0, 1, config.bins + 1))
        edges[0], edges[-1] = summary.low, summary.high
    edges = np.unique(edges)
    return edges if len(edges) > 1 else np.repeat(edges, 2)


def _rounded(low: float, value: float, high: float) -> float:
    """The value in six digits if it stays well inside its bin: people will read it."""
    short = float(f"{value:.6g}")
    return short if low < short < high else float(value)


def written(value: float) -> str:
    """A value as people write it; reading it gives the same value."""
    return str(int(value)) if value == int(value) and abs(value) < 1e15 else repr(value)


def is_number(word: bytes) -> bool:
    """Whether the codec can read a word."""
    return abs(_float_or_nan(word)) <= LARGEST
