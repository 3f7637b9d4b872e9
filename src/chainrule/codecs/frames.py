"""Frames: every symbol is a vector of real numbers (sensors, features, amplitudes), standardised column by column.

A sequence is text like any other: the numbers of a frame are separated by blanks, frames by UNIT. The vocabulary has
special symbols only. As long as some data are read, their frames have ids behind these (`knowing`), and models are told
the numbers of each, as they are told the letters of words outside a vocabulary.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Self

import numpy as np

from chainrule.codecs.base import UNIT, Blocks, Codec, CodecConfig, Encoded, Texts, check_id
from chainrule.codecs.numbers import is_missing
from chainrule.codecs.registry import register
from chainrule.codecs.vocabulary import read_facts
from chainrule.config import option
from chainrule.errors import CodecError
from chainrule.symbols import BOS, EOS, FIRST, UNK

FACTS, COLUMNS = "frames.json", ("count", "mean", "squares")
LARGEST = 1e30  # the largest number, so that squares of it are finite
FAR = 1000.0  # deviations: what lies further out is read as this far


@dataclass(frozen=True)
class Moments:
    """Count, mean and sum of squared distances from it, of every column; missing numbers do not count."""

    count: np.ndarray  # (F,)
    mean: np.ndarray  # (F,)
    squares: np.ndarray  # (F,)
    frames: int = 0  # how many there were

    @classmethod
    def none(cls, features: int) -> Moments:
        """Of nothing."""
        return cls(np.zeros(features), np.zeros(features), np.zeros(features))

    def after(self, frames: np.ndarray) -> Moments:
        """With more frames (N, F)."""
        known = ~np.isnan(frames)
        more = known.sum(0)
        mean = np.where(known, frames, 0.0).sum(0) / np.maximum(1, more)
        squares = np.square(np.where(known, frames - mean, 0.0)).sum(0)
        count, apart = self.count + more, mean - self.mean
        share = more / np.maximum(1, count)
        joined = self.squares + squares + apart**2 * self.count * share
        return Moments(count, self.mean + apart * share, joined, self.frames + len(frames))

    @property
    def scale(self) -> np.ndarray:
        """(F,) the standard deviation; 1 where all numbers are equal."""
        found = np.sqrt(self.squares / np.maximum(1, self.count))
        return np.where(found > 1e-12 * np.maximum(1e-300, np.abs(self.mean)), found, 1.0)

    @property
    def missing(self) -> int:
        """How many numbers were."""
        return int(self.frames * len(self.count) - self.count.sum())


STRIDES = ("1", "2", "4", "8", "16")


@dataclass(frozen=True, kw_only=True)
class FramesConfig(CodecConfig):
    """How frames are read."""

    stride: str = option(
        "1", "of a source: convolutions make one column of so many frames, for long ones", choices=STRIDES
    )


@register("frames")
class Frames(Codec):
    """Vectors of real numbers, each column with mean 0 and deviation 1 in the training data; NaN is missing."""

    Config = FramesConfig
    separator = "; "
    joins_rows = True
    keeps_gaps = True
    spells = False
    framed = True
    source_kind = "frames"

    def __init__(self, config: CodecConfig, moments: Moments, table: np.ndarray | None = None) -> None:
        self.config, self.moments = config, moments
        rows = np.empty((0, self.features), np.float32) if table is None else table
        self._keys = np.unique(_keys(rows))  # (X,) sorted, of the frames that have ids

    @classmethod
    def reads_whole(cls, config: CodecConfig) -> bool:
        return True

    @classmethod
    def learn(cls, blocks: Blocks, config: CodecConfig) -> Self:
        moments: Moments | None = None
        for texts in blocks():
            for text in texts:
                frames = parsed(text, len(moments.mean) if moments else None)
                moments = (moments or Moments.none(frames.shape[1])).after(frames)
        if moments is None or not moments.frames:
            raise CodecError("There is not a single frame to learn from.")
        return cls(config, moments)

    def knowing(self, blocks: Blocks) -> Self:
        found = [self.standardised(text) for texts in blocks() for text in texts]
        return type(self)(
            self.config, self.moments, np.concatenate([np.empty((0, self.features), np.float32), *found])
        )

    @property
    def size(self) -> int:
        return FIRST + len(self._keys)

    @property
    def features(self) -> int:
        return len(self.moments.mean)

    @property
    def stride(self) -> int:
        assert isinstance(self.config, FramesConfig)
        return int(self.config.stride)

    @property
    def notes(self) -> tuple[str, ...]:
        """What the columns are like."""
        one = self.moments
        still, unknown = int((one.squares == 0).sum()), int((one.count == 0).sum())
        told = [f"frames of {self.features:,} numbers, each standardised by its mean and deviation"]
        told += [f"{one.missing:,} numbers of frames are missing, and read as such"] if one.missing else []
        told += [f"{unknown:,} columns have no number in the training data"] if unknown else []
        told += [f"{still - unknown:,} columns never change, and say nothing"] if still > unknown else []
        return tuple(told)

    def standardised(self, text: bytes) -> np.ndarray:
        """The frames (T, F) of a sequence as networks read them, NaN where a number is missing."""
        frames = parsed(text, self.features)
        found = np.clip((frames - self.moments.mean) / self.moments.scale, -FAR, FAR).astype(np.float32)
        return np.where(np.isnan(found), np.float32(np.nan), found + np.float32(0.0))  # one NaN, and one zero

    @property
    def scale(self) -> np.ndarray:
        return self.moments.scale

    def values(self, frames: np.ndarray) -> np.ndarray:
        found: np.ndarray = frames.astype(np.float64) * self.scale + self.moments.mean
        return found

    def encode(self, texts: Texts) -> Encoded:
        found = [self.standardised(text) for text in texts]
        if not len(self._keys):
            return unlisted(found, self.features)
        ids = [np.array([BOS, *self._ids(frames), EOS], np.int32) for frames in found]
        return Encoded(np.concatenate([np.empty(0, np.int32), *ids]))

    def _ids(self, frames: np.ndarray) -> np.ndarray:
        """(T,) of the frames of a sequence; UNK for those that are not known."""
        keys = _keys(frames)
        place = np.minimum(np.searchsorted(self._keys, keys), len(self._keys) - 1)
        return np.where(self._keys[place] == keys, place + FIRST, UNK)

    def spellings(self, letters: int, first: int = 0) -> np.ndarray:
        """The frames (V - first, F) from id `first` on; special symbols have no numbers, which is 0."""
        table = self._keys.view(np.float32).reshape(-1, self.features)
        return np.concatenate([np.zeros((FIRST, self.features), np.float32), table])[first:]

    def symbol(self, number: int) -> str:
        check_id(number, self.size)
        return told(self.values(self.spellings(0, number)[0]))

    def decode(self, ids: Sequence[int] | np.ndarray) -> str:
        return UNIT.join(self.symbol(int(one)) for one in ids if one >= FIRST)

    def from_typed(self, text: str) -> str:
        frames = [one.replace(",", " ").split() for one in text.replace(UNIT, ";").strip("; \n").split(";")]
        return UNIT.join(" ".join(frame) for frame in frames)

    def to_shown(self, text: str) -> str:
        return self.separator.join(text.split(UNIT))

    def symbols_of(self, text: str) -> list[str]:
        return text.split(UNIT) if text else []

    def save(self, folder: Path) -> None:
        one = self.moments
        facts = {name: getattr(one, name).tolist() for name in COLUMNS}
        (folder / FACTS).write_text(json.dumps({"frames": one.frames} | facts) + "\n", encoding="utf-8")

    @classmethod
    def load(cls, folder: Path, config: CodecConfig) -> Self:
        facts = read_facts(folder / FACTS)
        try:
            columns = [np.array(facts[name], np.float64) for name in COLUMNS]
            frames = int(str(facts["frames"]))
        except (KeyError, ValueError, TypeError) as error:
            raise CodecError(f"{folder / FACTS} is damaged ({error}): save the model again.") from error
        if len({one.shape for one in columns}) != 1 or columns[0].ndim != 1 or not np.isfinite(columns).all():
            raise CodecError(f"{folder / FACTS} is damaged: columns do not fit. Save the model again.")
        count, mean, squares = columns
        return cls(config, Moments(count, mean, squares, frames))


def unlisted(sequences: Sequence[np.ndarray], features: int) -> Encoded:
    """Sequences of frames (T, F) that have no ids: each is UNK, and its numbers stand beside it."""
    ids = [np.array([BOS, *[UNK] * len(frames), EOS], np.int32) for frames in sequences]
    kind = sequences[0].dtype if sequences else np.dtype(np.float32)
    end = np.zeros((1, features), kind)
    rows = [one for frames in sequences for one in (end, frames, end)]
    return Encoded(
        np.concatenate([np.empty(0, np.int32), *ids]),
        0,
        np.concatenate([np.empty((0, features), kind), *rows]),
    )


def told(frame: np.ndarray) -> str:
    """The numbers of a frame as text."""
    return " ".join(f"{one:.9g}" for one in frame.tolist())


def parsed(text: bytes, features: int | None = None) -> np.ndarray:
    """The frames (T, F) of a sequence; `features` is F, where it is known."""
    rows = text.removesuffix(UNIT.encode()).split(UNIT.encode()) if text.strip() else []
    cells = [row.split() for row in rows]
    wanted = features or (len(cells[0]) if cells else 0)
    for number, row in enumerate(cells, 1):
        if len(row) != wanted:
            raise CodecError(
                f"Frame {number:,} of a sequence has {len(row):,} numbers, and {wanted:,} are wanted, as many as "
                "all others have. A missing one is written nan."
            )
    flat = [cell for row in cells for cell in row]
    try:
        found = np.array(list(map(float, flat)), np.float64)
    except ValueError:  # a missing one may be written in other ways
        found = np.array([_number(cell) for cell in flat], np.float64)
    if (np.abs(found) > LARGEST).any():
        wrong = flat[int((np.abs(found) > LARGEST).argmax())].decode("utf-8", "backslashreplace")
        raise CodecError(f"{wrong[:40]!r} is no number up to {LARGEST:g}. A missing one is written nan.")
    return found.reshape(len(cells), wanted)


def _number(cell: bytes) -> float:
    """NaN for a missing one, infinite for what is none."""
    try:
        return float(cell)
    except ValueError:
        return np.nan if is_missing(cell) else np.inf


def _keys(rows: np.ndarray) -> np.ndarray:
    """Rows (N, F) of float32 as values (N,) that can be sorted and found."""
    plain = np.ascontiguousarray(rows, np.float32)
    return plain.view(np.dtype((np.void, 4 * plain.shape[1]))).ravel()
