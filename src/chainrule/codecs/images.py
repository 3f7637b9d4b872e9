"""Images: PNG and JPEG files, or pixels that Python holds, each brought to one size; for sources.

A sequence is the name of a file. What comes of it are bytes, a frame of 3 W numbers for every row of pixels.
"""

from __future__ import annotations

import re
import warnings
from base64 import b64decode
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from chainrule.codecs.base import Blocks, Codec, CodecConfig, Encoded, Texts
from chainrule.codecs.frames import unlisted
from chainrule.codecs.registry import register
from chainrule.config import option
from chainrule.errors import CodecError, ConfigError
from chainrule.symbols import FIRST

if TYPE_CHECKING:
    from PIL.Image import Image

FORMATS = ("PNG", "JPEG")
LARGEST = 64 << 20  # bytes of a file
MOST = 1 << 26  # pixels of an image
COLOURS = 3
INLINE = re.compile(rb"data:image/x-rgb;size=(\d{1,6})x(\d{1,6});base64,")
MISSING = "Reading images needs Pillow: pip install 'chainrule[images]'"


@dataclass(frozen=True, kw_only=True)
class ImagesConfig(CodecConfig):
    """How images are read."""

    size: int = option(
        32, "pixels along each side that an image is brought to; a multiple of 4", low=8, high=512
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.size % 4:
            raise ConfigError(
                f"--size {self.size}: patches have 4 pixels along each side; give a multiple of 4."
            )


@register("images")
class Images(Codec):
    """Red, green and blue of every pixel, from 0 to 255."""

    Config = ImagesConfig
    spells = False
    source_kind = "images"
    reads_files = True
    config: ImagesConfig

    def __init__(self, config: CodecConfig) -> None:
        assert isinstance(config, ImagesConfig)
        self.config = config

    @classmethod
    def reads_whole(cls, config: CodecConfig) -> bool:
        return True

    @classmethod
    def learn(cls, blocks: Blocks, config: CodecConfig) -> Self:
        return cls(config)

    @property
    def size(self) -> int:
        return FIRST

    @property
    def features(self) -> int:
        return COLOURS * self.config.size

    @property
    def notes(self) -> tuple[str, ...]:
        """What is made of them."""
        side = self.config.size
        return (f"images are brought to {side} x {side} pixels and read as {(side // 4) ** 2} patches",)

    def encode(self, texts: Texts) -> Encoded:
        if not (texts.opens and texts.closes):
            raise CodecError("The name of an image is longer than a block of data. Is it the right column?")
        return unlisted([self.pixels(text.strip()) for text in texts], self.features)

    def pixels(self, name: bytes) -> np.ndarray:
        """The rows (H, 3 W) of an image, uint8."""
        image = (
            _inline(name) if name.startswith(b"data:") else _opened(name.decode("utf-8", "surrogateescape"))
        )
        side = self.config.size
        if image.size != (side, side):
            from PIL.Image import Resampling

            image = image.resize(
                (side, side), Resampling.BOX if min(image.size) > side else Resampling.BILINEAR
            )
        return np.asarray(image, np.uint8).reshape(side, self.features)

    def symbol(self, number: int) -> str:
        raise CodecError("Rows of pixels have no ids, and cannot be shown as text.")

    def decode(self, ids: Sequence[int] | np.ndarray) -> str:
        return ""

    def save(self, folder: Path) -> None:
        pass

    @classmethod
    def load(cls, folder: Path, config: CodecConfig) -> Self:
        return cls(config)


def _pillow() -> Any:
    try:
        from PIL import Image, ImageOps
    except ImportError as error:
        raise CodecError(MISSING) from error
    return Image, ImageOps


def _opened(name: str) -> Image:
    """The pixels of a file, its right side up, transparent parts white."""
    pillow, operations = _pillow()
    path = Path(name)
    try:
        if not path.is_file():
            raise CodecError(f"There is no image {name}. Names are relative to the table, or to this folder.")
        if path.stat().st_size > LARGEST:
            raise CodecError(f"{name} has more than {LARGEST:,} bytes: make the image smaller.")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what is too large is refused here, with what to do
            with pillow.open(path, formats=FORMATS) as image:
                if image.width * image.height > MOST:
                    raise CodecError(
                        f"{name} has {image.width:,} x {image.height:,} pixels, and at most {MOST:,} are read: "
                        "make it smaller."
                    )
                return _coloured(pillow, operations.exif_transpose(image))
    except CodecError:
        raise
    except Exception as error:  # a damaged file makes Pillow fail in many ways
        told = str(error).strip().replace("\n", " ")
        raise CodecError(
            f"{name} cannot be read as an image ({told:.120}). Give a PNG or JPEG file."
        ) from error


def _coloured(pillow: Any, image: Any) -> Image:
    """Red, green and blue."""
    if image.mode in ("I", "I;16", "I;16B", "I;16L", "F"):  # grey in 16 bits
        image = pillow.fromarray((np.asarray(image, np.float64) / 257.0).clip(0, 255).astype(np.uint8))
    if image.mode in ("LA", "PA", "RGBA", "RGBa", "La") or "transparency" in image.info:
        image = image.convert("RGBA")
        white = pillow.new("RGBA", image.size, "white")
        image = pillow.alpha_composite(white, image)
    found: Image = image.convert("RGB")
    return found


def _inline(text: bytes) -> Image:
    """Pixels that stand in the text itself."""
    pillow, _ = _pillow()
    found = INLINE.match(text)
    if not found:
        raise CodecError("A data: text that holds no pixels came. Give the name of a PNG or JPEG file.")
    width, height = int(found[1]), int(found[2])
    try:
        pixels = np.frombuffer(b64decode(text[found.end() :], validate=True), np.uint8)
    except ValueError as error:
        raise CodecError(f"The pixels of an image are damaged ({error}).") from error
    if not 0 < width * height <= MOST or len(pixels) != COLOURS * width * height:
        raise CodecError(f"An image of {width} x {height} pixels came with {len(pixels):,} bytes.")
    image: Image = pillow.fromarray(pixels.reshape(height, width, COLOURS))
    return image
