"""Numbers: quantised real values, each as the bin it falls into, with the way back to a value and its interval.

Three more symbols follow the bins: a value below all that were seen in training, one above them, and a missing value
(NaN, NA, null, an empty cell), which keeps its place in the sequence. No model has seen the first two, so they surprise
every one.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Self

import numpy as np

from chainrule.codecs.base import UNIT, Blocks, CodecConfig, Encoded, Texts, check_id
from chainrule.codecs.bins import Bins, make_bins
from chainrule.codecs.registry import register
from chainrule.codecs.typed import CommaSeparated
from chainrule.codecs.vocabulary import read_facts
from chainrule.config import option
from chainrule.errors import CodecError, ConfigError
from chainrule.seasons import Level, best_level
from chainrule.symbols import BOS, EOS, FIRST, MASK, PAD, UNK

FILE = "bins.json"
LARGEST = 1e150  # squares of values must be finite
MISSING = frozenset(b"nan -nan na n/a #n/a #na <na> null none".split())  # in lower case, as pandas reads them
MOST = 50.0  # scales: changes beyond that make no bins
SAMPLE = 1 << 22  # most values kept for finding quantiles; beyond, every second one is dropped


@dataclass(frozen=True, kw_only=True)
class NumbersConfig(CodecConfig):
    """Settings of the numbers codec."""

    bins: int = option(
        64, "number of bins, at most; two more where some values lie far out", low=1, high=1_000_000
    )
    how: str = option(
        "quantile",
        "quantile: bins hold equally many values; uniform: bins are equally wide",
        choices=("quantile", "uniform"),
    )
    difference: str = option(
        "0",
        "differencing: bins hold the change since so many values before, such as 1, or a season; 0: the values "
        "themselves; auto: the distance from a smoothed level, by season if the data show one, if that is smaller",
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        plain = str(self.difference)
        if plain != "auto" and not (plain.isascii() and plain.isdigit() and len(plain) <= 6):
            raise ConfigError(f"--difference is auto or a number from 0 to 999999, not {plain!r}.")


@register("numbers")
class Numbers(CommaSeparated):
    """Symbols separated by UNIT or white space."""

    Config = NumbersConfig
    config: NumbersConfig
    joins_rows = True
    keeps_gaps = True
    spells = False
    bins: Bins

    def __init__(self, config: NumbersConfig, bins: Bins) -> None:
        self.config = config
        self.bins = bins
        low, high = bins.edges[0], bins.edges[-1]
        outside = (
            min(low - bins.deviation, np.nextafter(low, -np.inf)),
            max(high + bins.deviation, np.nextafter(high, np.inf)),
        )
        self._values = np.array([*bins.values, *outside, np.nan])  # (bins + 3,)
        self._low = np.array([*bins.edges[:-1], -np.inf, high, np.nan])
        self._high = np.array([*bins.edges[1:], low, np.inf, np.nan])

    @property
    def size(self) -> int:
        return FIRST + len(self._values)

    @property
    def below(self) -> int:
        """The id of a value below all of training."""
        return self.size - 3

    @property
    def above(self) -> int:
        """The id of a value above all of training."""
        return self.size - 2

    @property
    def writes(self) -> bool:
        return not self.bins.lag  # distances from a level that nobody sees

    @property
    def gap(self) -> int:
        """The id of a missing value."""
        return self.size - 1

    @property
    def unwritten(self) -> tuple[int, ...]:
        return (UNK, self.below, self.above, self.gap)

    @property
    def suppressed(self) -> tuple[int, ...]:
        return (PAD, BOS, UNK, MASK)

    @classmethod
    def reads_whole(cls, config: CodecConfig) -> bool:
        assert isinstance(config, NumbersConfig)
        return str(config.difference) != "0"  # a level begins with its sequence

    @classmethod
    def learn(cls, blocks: Blocks, config: CodecConfig) -> Self:
        assert isinstance(config, NumbersConfig)
        level = found_level(blocks) if config.difference == "auto" else Level(int(config.difference))
        return cls(config, make_bins(Summary().read(blocks, level), config, level))

    def encode(self, texts: Texts) -> Encoded:
        values, lengths = parse(texts)
        values, lengths = self.bins.level.known(values, lengths)
        edges = self.bins.edges
        found = FIRST + np.searchsorted(edges[1:-1], values, "right")  # (symbols,)
        found[values < edges[0]] = self.below
        found[values > edges[-1]] = self.above
        found[np.isnan(values)] = self.gap
        return Encoded(_framed(found.astype(np.int32), lengths, texts))

    def tail(self, chances: np.ndarray, ids: np.ndarray, values: np.ndarray | None) -> np.ndarray:
        """Of a value that of all on its side that are as far out, doubled; half of its own bin counts.

        In the outermost bins and beyond them it falls exponentially with the distance, by the scale of the others.
        """
        assert values is not None
        order = [self.below, *range(FIRST, self.below), self.above]  # from small to large
        given = chances[:, order] / np.maximum(1e-300, 1.0 - chances[:, [self.gap]])  # (n, bins + 2)
        rows, place = (
            np.arange(len(ids)),
            np.where(ids == self.below, 0, np.minimum(ids - FIRST + 1, len(order) - 1)),
        )
        own = given[rows, place]
        under = np.cumsum(given, 1)[rows, place] - own / 2
        over = np.cumsum(given[:, ::-1], 1)[rows, len(order) - 1 - place] - own / 2
        found = np.log2(np.minimum(1.0, 2 * np.minimum(under, over))) - self._far(values)
        bits: np.ndarray = np.where(ids == self.gap, np.log2(chances[:, self.gap]), found)
        return bits

    def _far(self, values: np.ndarray) -> np.ndarray:
        """By how many bits the tail is smaller for values (n,) beyond the inner bins."""
        edges = self.bins.edges
        low, high = (edges[1], edges[-2]) if len(edges) > 3 else (edges[0], edges[-1])
        scale = (
            high - low
        ) / 4 or self.bins.deviation  # about a standard deviation: nearly all values lie between
        outside = np.maximum(0.0, np.maximum(values - high, low - values))
        bits: np.ndarray = outside / scale / np.log(2.0)
        return bits

    def missing(self, ids: np.ndarray) -> int:
        return int(np.count_nonzero(ids == self.gap))

    @property
    def notes(self) -> tuple[str, ...]:
        level = self.bins.level
        if not level.lag:
            return ()
        season = f"with a season of {level.lag} steps" if level.lag > 1 else "without a season"
        scaled = ", scaled series by series" if level.scaled else ""
        return (f"difference: from a level {season}, the last value weighs {level.weight:g}{scaled}",)

    def caveat(self, stream: bool) -> str:
        return "bits per byte of the bins: what a bin leaves open is not counted"

    def intervals(self, ids: Sequence[int] | np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Of each id the lower end of its bin, its value, the upper end; NaN for special ids and missing values."""
        numbers = np.asarray(ids, np.int64).reshape(-1)
        for number in (numbers.min(initial=0), numbers.max(initial=0)):
            check_id(int(number), self.size)
        place = np.maximum(numbers - FIRST, 0)
        columns = (self._low[place], self._values[place], self._high[place])
        low, value, high = (np.where(numbers < FIRST, np.nan, column) for column in columns)
        return low, value, high

    def scaled(self, ids: Sequence[int] | np.ndarray) -> np.ndarray:
        """The values of these ids in standard deviations from the mean."""
        return (self.intervals(ids)[1] - self.bins.mean) / self.bins.deviation

    def symbol(self, number: int) -> str:
        return "nan" if number == self.gap else written(float(self._values[number - FIRST]))

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
            scale = (float(facts["mean"]), float(facts["deviation"]))  # type: ignore[arg-type]
            level = (int(facts["lag"]), float(facts["weight"]), bool(facts["scaled"]))  # type: ignore[call-overload,arg-type]
            return cls(config, Bins(edges, values, scale[0], scale[1], *level))
        except (KeyError, TypeError, ValueError) as error:
            raise CodecError(
                f"{folder / FILE} lacks {error}: the file is damaged, save the model again."
            ) from error


def parse(texts: Texts) -> tuple[np.ndarray, np.ndarray]:
    """All values (symbols,) float64 of all sequences, NaN where one is missing, and how many each has (sequences,)."""
    words: list[bytes] = []
    lengths = np.zeros(len(texts), np.int64)
    for place, sequence in enumerate(texts):
        found = _words(sequence)
        lengths[place] = len(found)
        words += found
    return _floats(words), lengths


def _words(sequence: bytes) -> list[bytes]:
    """The values of a sequence as they are written; nothing between two separators is a missing one."""
    if UNIT.encode() * 2 in sequence:
        inner = sequence.strip(UNIT.encode())
        return [word for cell in inner.split(UNIT.encode()) for word in cell.split() or [b"nan"]]
    return sequence.replace(UNIT.encode(), b" ").split()


def _floats(words: Sequence[bytes]) -> np.ndarray:
    try:
        values = np.array([float(word) for word in words], np.float64)
    except ValueError:
        values = np.array([_float_or_nan(word) for word in words], np.float64)
    odd = np.flatnonzero(~(np.abs(values) <= LARGEST))
    wrong = [place for place in odd.tolist() if not is_missing(words[place])]
    if wrong:
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


def found_level(blocks: Blocks) -> Level:
    """The level that suits the data, by the first values."""
    values, lengths, size = [], [], 0
    for texts in blocks():
        some, each = parse(texts)
        values.append(some)
        lengths.append(each)
        size += len(some)
        if size >= SAMPLE:
            break
    if not size:
        return Level()
    ends = np.minimum(np.cumsum(np.concatenate(lengths)), SAMPLE)
    return best_level(np.concatenate(values)[:SAMPLE], np.diff(ends, prepend=0))


class Summary:
    """One pass over values: count, mean, spread, range, and an evenly thinned sample."""

    def __init__(self) -> None:
        self.count, self.mean, self.squares, self.every = 0, 0.0, 0.0, 1
        self.low, self.high = np.inf, -np.inf
        self.sample = np.empty(0)

    def read(self, blocks: Blocks, level: Level) -> Summary:
        for texts in blocks():
            values, lengths = parse(texts)
            changes = level.known(values, lengths)[0]
            self._add(changes[np.abs(changes) <= MOST if level.scaled else ~np.isnan(changes)])
        if not self.count:
            raise CodecError(_nothing(level))
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


def _nothing(level: Level) -> str:
    """Why there is nothing to learn from, and what to do."""
    if not level.lag:
        return "There is no number in the data. The numbers codec needs at least one to learn from."
    return (
        f"No series of the training part is long enough for differences: each value needs one {level.lag} before it. "
        "Give longer series, a smaller --difference, or none."
    )


def written(value: float) -> str:
    """A value as people write it; reading it gives the same value."""
    return str(int(value)) if value == int(value) and abs(value) < 1e15 else repr(value)


def is_missing(word: bytes) -> bool:
    """Whether a word says that there is no value."""
    return word.lower() in MISSING


def is_number(word: bytes) -> bool:
    """Whether the codec can read a word."""
    return abs(_float_or_nan(word)) <= LARGEST
