"""Audio: .wav files as log-mel frames, how loud each band of frequencies is, a hundred times a second; for sources.

A sequence is the name of a file, of 8, 16, 24 or 32 bits a sample, or the samples themselves.
"""

from __future__ import annotations

import json
import wave
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Self

import numpy as np

from chainrule.codecs.base import UNIT, Blocks, Codec, CodecConfig, Encoded, Texts
from chainrule.codecs.frames import COLUMNS, STRIDES, Moments, parsed, unlisted
from chainrule.codecs.registry import register
from chainrule.codecs.vocabulary import read_facts
from chainrule.config import option
from chainrule.errors import CodecError
from chainrule.symbols import FIRST

FACTS = "audio.json"
WINDOW, HOP = 0.025, 0.010  # seconds that a frame looks at, and between two of them
QUIET = 1e-10  # power of a band that is as good as silent
LARGEST = 1 << 30  # bytes of a file
ASKED = "At most {most:g} seconds are read (--max-seconds)."


@dataclass(frozen=True, kw_only=True)
class AudioConfig(CodecConfig):
    """How recordings are read."""

    sample_rate: int | None = option(
        None, "samples a second of all recordings; that of the first one if not given", low=1000, high=384_000
    )
    mels: int = option(40, "bands of frequencies (mel filters) of a frame", low=4, high=256)
    max_seconds: float = option(60.0, "longest recording that is read", low=0.1, high=36_000.0)
    stride: str = option("4", "convolutions make one column of so many frames", choices=STRIDES)


@register("audio")
class Audio(Codec):
    """Log-mel frames, each band with mean 0 and deviation 1 in the training data."""

    Config = AudioConfig
    spells = False
    source_kind = "frames"
    reads_files = True
    config: AudioConfig

    def __init__(self, config: CodecConfig, rate: int, moments: Moments) -> None:
        assert isinstance(config, AudioConfig)
        self.config, self.rate, self.moments = config, rate, moments

    @classmethod
    def reads_whole(cls, config: CodecConfig) -> bool:
        return True

    @classmethod
    def learn(cls, blocks: Blocks, config: CodecConfig) -> Self:
        assert isinstance(config, AudioConfig)
        found = cls(config, config.sample_rate or 0, Moments.none(config.mels))
        for texts in blocks():
            for text in texts:
                samples, rate = found.samples(text)
                found.rate = found.rate or rate
                found.moments = found.moments.after(log_mel(samples, found.rate, config.mels))
        return found

    @property
    def size(self) -> int:
        return FIRST

    @property
    def features(self) -> int:
        return self.config.mels

    @property
    def stride(self) -> int:
        return int(self.config.stride)

    @property
    def notes(self) -> tuple[str, ...]:
        """What is made of them."""
        bands = f"{self.config.mels} bands of frequencies, {1 / HOP:g} times a second"
        return (f"recordings of {self.rate:,} samples a second are read as {bands}",)

    def encode(self, texts: Texts) -> Encoded:
        return unlisted([self.frames(text) for text in texts], self.features)

    def frames(self, text: bytes) -> np.ndarray:
        """The log-mel frames (T, F) of a recording as networks read them, float32."""
        samples, _ = self.samples(text)
        found = log_mel(samples, self.rate, self.config.mels)
        told: np.ndarray = ((found - self.moments.mean) / self.moments.scale).astype(np.float32)
        return told

    def samples(self, text: bytes) -> tuple[np.ndarray, int]:
        """The samples (N,) of a recording, and how many a second they are."""
        if UNIT.encode() in text:
            return self._given(parsed(text, 1)[:, 0])
        name = text.decode("utf-8", "surrogateescape").strip()
        samples, rate = read_wav(name, self.config.max_seconds)
        if self.rate not in (0, rate):
            raise CodecError(
                f"{name} has {rate:,} samples a second, and {self.rate:,} are wanted, as all others have. "
                f"Convert it: ffmpeg -i {name} -ar {self.rate} other.wav"
            )
        return samples, rate

    def _given(self, samples: np.ndarray) -> tuple[np.ndarray, int]:
        """Samples that are no file."""
        if not self.rate:
            raise CodecError("How many samples are there a second? Say so: --sample-rate 16000")
        if len(samples) > self.config.max_seconds * self.rate:
            raise CodecError(
                f"A recording has {len(samples):,} samples. {ASKED.format(most=self.config.max_seconds)}"
            )
        if not np.isfinite(samples).all():
            raise CodecError("A recording holds samples that are no numbers.")
        return samples, self.rate

    def symbol(self, number: int) -> str:
        raise CodecError("Log-mel frames have no ids, and cannot be shown as text.")

    def decode(self, ids: Sequence[int] | np.ndarray) -> str:
        return ""

    def save(self, folder: Path) -> None:
        facts = {name: getattr(self.moments, name).tolist() for name in COLUMNS}
        told = {"rate": self.rate, "frames": self.moments.frames} | facts
        (folder / FACTS).write_text(json.dumps(told) + "\n", encoding="utf-8")

    @classmethod
    def load(cls, folder: Path, config: CodecConfig) -> Self:
        facts = read_facts(folder / FACTS)
        assert isinstance(config, AudioConfig)
        try:
            columns = [np.array(facts[name], np.float64) for name in COLUMNS]
            rate, frames = int(str(facts["rate"])), int(str(facts["frames"]))
        except (KeyError, ValueError, TypeError) as error:
            raise CodecError(f"{folder / FACTS} is damaged ({error}): save the model again.") from error
        wanted = (config.mels,)
        if rate < 1 or any(one.shape != wanted or not np.isfinite(one).all() for one in columns):
            raise CodecError(f"{folder / FACTS} is damaged: columns do not fit. Save the model again.")
        count, mean, squares = columns
        return cls(config, rate, Moments(count, mean, squares, frames))


def read_wav(name: str, seconds: float) -> tuple[np.ndarray, int]:
    """Samples (N,) from -1 to 1 of a PCM file, the mean of its channels, and how many a second there are."""
    path = Path(name)
    if not path.is_file():
        raise CodecError(f"There is no recording {name}. Names are relative to the table, or to this folder.")
    if path.stat().st_size > LARGEST:
        raise CodecError(f"{name} has more than {LARGEST:,} bytes. {ASKED.format(most=seconds)}")
    try:
        with wave.open(str(path), "rb") as file:
            rate, width, channels = file.getframerate(), file.getsampwidth(), file.getnchannels()
            if min(rate, width, channels) < 1 or width > 4:
                raise CodecError(f"{name} says {rate} samples a second of {width} bytes: it is damaged.")
            if file.getnframes() > seconds * rate:
                raise CodecError(
                    f"{name} has {file.getnframes() / rate:,.1f} seconds. {ASKED.format(most=seconds)}"
                )
            data = file.readframes(file.getnframes())
    except (wave.Error, EOFError, OSError, ValueError, RuntimeError) as error:
        raise CodecError(
            f"{name} cannot be read as a recording ({error or 'cut off'}). Give a .wav of plain samples (PCM): ffmpeg "
            f"-i {name} other.wav"
        ) from error
    whole = len(data) // (width * channels) * width * channels
    return _numbers(np.frombuffer(data[:whole], np.uint8), width).reshape(-1, channels).mean(1), rate


def _numbers(data: np.ndarray, width: int) -> np.ndarray:
    """Samples from -1 to 1 of their bytes, the lowest first; those of 8 bits have no sign."""
    if width == 1:
        return (data.astype(np.float64) - 128.0) / 128.0
    padded = np.zeros((len(data) // width, 4), np.uint8)
    padded[:, 4 - width :] = data.reshape(-1, width)
    return padded.view("<i4")[:, 0] / 2.0**31


def log_mel(samples: np.ndarray, rate: int, mels: int) -> np.ndarray:
    """Natural logarithm of the power (T, mels) in every band, of Hann windows of 25 ms, 10 ms apart.

    The last window is filled up with silence; a recording of nothing is one silent frame.
    """
    size, hop = max(2, round(WINDOW * rate)), max(1, round(HOP * rate))
    count = 1 + -(-max(0, len(samples) - size) // hop)
    filled = np.pad(samples, (0, max(0, size + (count - 1) * hop - len(samples))))
    frames = np.lib.stride_tricks.sliding_window_view(filled, size)[::hop][:count]  # (T, size)
    points = 1 << (size - 1).bit_length()
    window = 0.5 - 0.5 * np.cos(2 * np.pi * np.arange(size) / size)
    power = np.square(np.abs(np.fft.rfft(frames * window, points)))  # (T, points / 2 + 1)
    found: np.ndarray = np.log(np.maximum(power @ mel_filters(rate, points, mels).T, QUIET))
    return found


def mel_filters(rate: int, points: int, mels: int) -> np.ndarray:
    """Triangles (mels, points / 2 + 1) over frequencies, equally wide on the mel scale of O'Shaughnessy (1987)."""
    top = 2595.0 * np.log10(1.0 + rate / 2 / 700.0)
    edges = 700.0 * (10.0 ** (np.linspace(0.0, top, mels + 2) / 2595.0) - 1.0)  # in Hz
    at = np.arange(points // 2 + 1) * rate / points
    low, middle, high = edges[:-2, None], edges[1:-1, None], edges[2:, None]
    return np.maximum(0.0, np.minimum((at - low) / (middle - low), (high - at) / (high - middle)))
