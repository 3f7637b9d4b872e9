"""Images: what is read of files and arrays, and what is refused."""

from __future__ import annotations

import builtins
import struct
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from chainrule.codecs.base import Texts
from chainrule.codecs.images import Images, ImagesConfig
from chainrule.data.examples.drawing import png
from chainrule.data.given import told_pixels
from chainrule.errors import CodecError, ConfigError


def codec(size: int = 8) -> Images:
    return Images(ImagesConfig(size=size))


def picture(side: int = 8) -> np.ndarray:
    return np.random.default_rng(0).integers(0, 256, (side, side, 3), dtype=np.uint8)


def written(path: Path, pixels: np.ndarray) -> bytes:
    path.write_bytes(png([[tuple(one) for one in row] for row in pixels.tolist()]))
    return str(path).encode()


def test_the_pixels_of_a_file_are_those_that_were_drawn(tmp_path: Path) -> None:
    pixels = picture()
    found = codec().pixels(written(tmp_path / "a.png", pixels))
    assert np.array_equal(found.reshape(8, 8, 3), pixels)
    assert np.array_equal(codec().pixels(told_pixels(pixels).encode()), found)


def test_images_of_any_size_and_form_are_brought_to_one(tmp_path: Path) -> None:
    from PIL import Image

    grey = np.full((20, 12), 200, np.uint8)
    forms = {
        "grey.png": Image.fromarray(grey),
        "deep.png": Image.fromarray(np.full((9, 9), 200 * 257, np.uint16)),
        "clear.png": Image.new("RGBA", (30, 10), (200, 200, 200, 255)),
        "palette.png": Image.fromarray(grey).convert("P"),
        "photo.jpg": Image.fromarray(np.full((64, 48, 3), 200, np.uint8)),
    }
    for name, image in forms.items():
        image.save(tmp_path / name)
        found = codec().pixels(str(tmp_path / name).encode())
        assert found.shape == (8, 24) and np.abs(found.astype(int) - 200).max() <= 2, name
    Image.new("RGBA", (5, 5), (0, 0, 0, 0)).save(tmp_path / "nothing.png")
    assert (codec().pixels(str(tmp_path / "nothing.png").encode()) == 255).all()  # transparent is white


def test_a_picture_taken_with_the_camera_turned_stands_upright(tmp_path: Path) -> None:
    from PIL import Image

    pixels = np.zeros((8, 8, 3), np.uint8)
    pixels[:4] = 255  # light above
    exif = Image.Exif()
    exif[0x0112] = 3  # turned by half a turn
    Image.fromarray(pixels[::-1]).save(tmp_path / "turned.png", exif=exif)
    found = codec().pixels(str(tmp_path / "turned.png").encode())
    assert found[0].min() == 255 and found[-1].max() == 0


def test_every_row_of_pixels_is_a_frame_beside_its_id(tmp_path: Path) -> None:
    name = written(tmp_path / "a.png", picture())
    found = codec().encode(Texts.of([name, name]))
    assert found.vectors is not None and found.vectors.dtype == np.uint8
    assert len(found.ids) == len(found.vectors) == 2 * (8 + 2)


def _bomb(side: int) -> bytes:
    """A file that says it has so many pixels along each side."""
    parts = (b"IHDR", struct.pack(">2I5B", side, side, 8, 2, 0, 0, 0)), (b"IDAT", zlib.compress(b"\0" * 100))
    sums = (struct.pack(">I", zlib.crc32(name + data)) for name, data in parts)
    chunks = (struct.pack(">I", len(data)) + name + data + next(sums) for name, data in parts)
    return b"\x89PNG\r\n\x1a\n" + b"".join(chunks)


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"", "cannot be read"),
        (b"GIF89a not this one", "cannot be read"),
        (_bomb(60_000), "pixels"),
        (_bomb(12_000), "make it smaller"),
        (_bomb(100), "cannot be read"),
        (b"%!PS-Adobe-3.0 EPSF", "cannot be read"),
    ],
    ids=["empty", "gif", "bomb", "large", "cut", "postscript"],
)
def test_what_is_no_image_or_too_large_is_refused(content: bytes, told: str, tmp_path: Path) -> None:
    path = tmp_path / "odd.png"
    path.write_bytes(content)
    with pytest.raises(CodecError, match=told):
        codec().pixels(str(path).encode())


def test_missing_files_and_damaged_texts_are_refused(tmp_path: Path) -> None:
    for name in (b"nowhere.png", str(tmp_path).encode()):
        with pytest.raises(CodecError, match="no image"):
            codec().pixels(name)
    for text in (
        b"data:image/png;base64,AAAA",
        b"data:image/x-rgb;size=2x2;base64,AAAA",
        b"data:image/x-rgb;size=1x1;base64,??",
    ):
        with pytest.raises(CodecError):
            codec().pixels(text)
    with pytest.raises(ConfigError, match="multiple of 4"):
        ImagesConfig(size=30)


def test_without_pillow_a_message_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = builtins.__import__

    def without(name: str, *rest: Any) -> Any:
        if name.startswith("PIL"):
            raise ImportError(name)
        return plain(name, *rest)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(CodecError, match=r"pip install 'chainrule\[images\]'"):
        codec().pixels(b"a.png")
