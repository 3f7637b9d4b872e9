"""Audio: log-mel frames equal to another computation, every width of samples, and what is refused."""

from __future__ import annotations

import cmath
import math
import wave
from pathlib import Path

import numpy as np
import pytest

from chainrule.codecs.audio import Audio, AudioConfig, log_mel, read_wav
from chainrule.codecs.base import UNIT, Texts
from chainrule.codecs.registry import codec
from chainrule.errors import CodecError

RATE = 1000


def written(path: Path, samples: np.ndarray, width: int = 2, channels: int = 1, rate: int = RATE) -> bytes:
    """A file of samples (N, channels) from -1 to 1."""
    whole = np.round(samples.reshape(-1) * (2 ** (8 * width - 1) - 1)).astype(np.int64)
    whole = whole + 128 if width == 1 else whole
    with wave.open(str(path), "wb") as file:
        file.setnchannels(channels)
        file.setsampwidth(width)
        file.setframerate(rate)
        file.writeframes(b"".join(int(one).to_bytes(width, "little", signed=width > 1) for one in whole))
    return str(path).encode()


def tone(seconds: float = 0.2, pitch: float = 110.0) -> np.ndarray:
    at = np.arange(int(seconds * RATE)) / RATE
    return 0.5 * np.sin(2 * np.pi * pitch * at) + 0.01 * np.random.default_rng(0).standard_normal(len(at))


def slowly(samples: list[float], rate: int, mels: int) -> list[list[float]]:
    """The same by the definitions: one sum for each frequency, one triangle for each band."""
    size, hop = round(0.025 * rate), round(0.01 * rate)
    points = 2 ** math.ceil(math.log2(size))
    count = 1 + math.ceil(max(0, len(samples) - size) / hop)
    samples = samples + [0.0] * (size + count * hop)
    edges = [
        700 * (10 ** (i * 2595 * math.log10(1 + rate / 1400) / (mels + 1) / 2595) - 1)
        for i in range(mels + 2)
    ]
    found = []
    for frame in range(count):
        windowed = [samples[frame * hop + n] * math.sin(math.pi * n / size) ** 2 for n in range(size)]
        power = []
        for k in range(points // 2 + 1):
            power.append(
                abs(sum(x * cmath.exp(-2j * math.pi * k * n / points) for n, x in enumerate(windowed))) ** 2
            )
        bands = []
        for low, middle, high in zip(edges, edges[1:], edges[2:], strict=False):
            total = 0.0
            for k, one in enumerate(power):
                hertz = k * rate / points
                if low < hertz <= middle:
                    total += one * (hertz - low) / (middle - low)
                elif middle < hertz < high:
                    total += one * (high - hertz) / (high - middle)
            bands.append(math.log(max(total, 1e-10)))
        found.append(bands)
    return found


def test_log_mel_frames_equal_those_of_the_definitions() -> None:
    samples = tone(0.1)
    found = log_mel(samples, RATE, 6)
    assert found.shape == (1 + -(-(100 - 25) // 10), 6)
    assert np.allclose(found, slowly(samples.tolist(), RATE, 6), atol=1e-8)
    assert log_mel(np.zeros(0), RATE, 6).shape == (1, 6) and np.isfinite(log_mel(np.zeros(3), RATE, 6)).all()


def test_a_tone_is_loudest_in_its_band() -> None:
    bands = [int(log_mel(tone(0.2, pitch), RATE, 8).mean(0).argmax()) for pitch in (60, 150, 260, 420)]
    assert bands == sorted(set(bands))


@pytest.mark.parametrize("width", [1, 2, 3, 4])
@pytest.mark.parametrize("channels", [1, 2])
def test_samples_of_every_width_are_read(width: int, channels: int, tmp_path: Path) -> None:
    samples = tone()
    name = written(tmp_path / "a.wav", np.repeat(samples[:, None], channels, 1), width, channels)
    found, rate = read_wav(name.decode(), 1.0)
    assert rate == RATE and np.allclose(found, samples, atol=2.0 ** (2 - 8 * width) + 1e-6)


def test_frames_are_standardised_and_a_saved_codec_gives_the_same(tmp_path: Path) -> None:
    names = [written(tmp_path / f"{at}.wav", tone(0.1 + 0.05 * at, 80 + 40 * at)) for at in range(4)]
    made = Audio.learn(lambda: [Texts.of(names)], AudioConfig(mels=6))
    frames = np.concatenate([made.frames(name) for name in names])
    assert np.allclose(frames.mean(0), 0, atol=1e-5) and np.allclose(frames.std(0), 1, atol=1e-5)
    made.save(tmp_path)
    again = codec("audio").load(tmp_path, AudioConfig(mels=6))
    found = again.encode(Texts.of(names)).vectors
    assert found is not None and np.array_equal(found, made.encode(Texts.of(names)).vectors)
    told = UNIT.join(f"{one!r}" for one in read_wav(names[0].decode(), 1.0)[0].tolist())
    assert np.allclose(made.frames(told.encode()), made.frames(names[0]), atol=1e-4)


def test_another_sample_rate_and_long_recordings_are_refused(tmp_path: Path) -> None:
    one, other = written(tmp_path / "a.wav", tone()), written(tmp_path / "b.wav", tone(), rate=2000)
    with pytest.raises(CodecError, match="2,000 samples a second, and 1,000 are wanted"):
        Audio.learn(lambda: [Texts.of([one, other])], AudioConfig())
    with pytest.raises(CodecError, match="--max-seconds"):
        Audio.learn(lambda: [Texts.of([one])], AudioConfig(max_seconds=0.1))


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"RIFF",
        b"RIFF\x24\0\0\0WAVEfmt \x10\0\0\0\x03\0\x01\0\x40\x1f\0\0\0\x7d\0\0\x04\0\x20\0data\0\0\0\0",
    ],
    ids=["empty", "cut", "floats"],
)
def test_what_is_no_recording_is_refused(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "a.wav").write_bytes(content)
    with pytest.raises(CodecError, match="cannot be read as a recording"):
        read_wav(str(tmp_path / "a.wav"), 1.0)
    with pytest.raises(CodecError, match="no recording"):
        read_wav(str(tmp_path / "nowhere.wav"), 1.0)


def test_a_header_that_promises_more_than_there_is_takes_no_memory(tmp_path: Path) -> None:
    name = written(tmp_path / "a.wav", tone())
    data = bytearray(Path(name.decode()).read_bytes())
    data[40:44] = (2**31 - 2).to_bytes(4, "little")
    (tmp_path / "a.wav").write_bytes(data)
    with pytest.raises(CodecError, match="seconds"):
        read_wav(name.decode(), 60.0)
