"""Word vectors under any body that has a table of symbols: what is known of a word before a label is seen.

All words that have a vector are in the vocabulary. So one that training never saw is known when it comes: frozen, it
says what the words near it say.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from chainrule.bundle import Bundle, load
from chainrule.codecs.base import Texts
from chainrule.config import share, visible
from chainrule.data.dataset import Prepared, encoded
from chainrule.data.rows import main_of
from chainrule.errors import ConfigError
from chainrule.models.readers import CountingReader
from chainrule.models.registry import family
from chainrule.symbols import FIRST
from chainrule.train.config import FitConfig
from chainrule.train.start import Start, Table

USUAL = {"split": "space"}
FROZEN = {"body.embedding.*": 0.0}


def given_vectors(model: str, options: Mapping[str, Any]) -> Vectors | None:
    """Those that are asked for, to start a family from; None: none are."""
    config = FitConfig.from_values(share(options, FitConfig))
    if config.vectors is None:
        return None
    if _sized_by(model) is None:
        raise ConfigError(
            f"--vectors is for models with a table of word vectors, such as cnn, lstm, gpt and bert, not for a {model}."
        )
    if config.transfer == "fresh":
        raise ConfigError("--transfer fresh would not use the --vectors. Leave one of them out.")
    return Vectors(config.vectors, model, config.transfer == "frozen")


@dataclass(frozen=True)
class Vectors:
    """Word vectors, and whom they are for."""

    name: str
    model: str
    frozen: bool

    @cached_property
    def bundle(self) -> Bundle:
        """A saved model, or what stands in a file."""
        if Path(self.name).is_file():
            from chainrule.interop.word2vec import import_vectors

            return import_vectors(Path(self.name))
        found = load(self.name)
        if found.task.name != "vectors":
            raise ConfigError(
                f"{self.name} is a {found.body.family}, no word vectors. To start from a whole model, use --from."
            )
        return found

    @property
    def width(self) -> int:
        """Numbers of a vector."""
        return self.bundle.body.width

    def sized(self, options: Mapping[str, Any]) -> dict[str, Any]:
        """With a table as wide as the vectors, and words split as theirs were."""
        name = str(_sized_by(self.model))
        if int(options.get(name) or self.width) != self.width:
            raise ConfigError(
                f"--{name} {options[name]}: the vectors of {self.name} have {self.width} numbers. Leave it out."
            )
        split = {key: one for key, one in self.bundle.codec.config.values().items() if key == "split"}
        return {**(split if split != USUAL else {}), **options, name: self.width}

    def known(self, prepared: Prepared) -> Prepared:
        """The data by a codec that has all words of the vectors, after its own."""
        role, codec = main_of(prepared.codecs), prepared.codec
        words = codec.knowing(lambda: [Texts.of(self._rows)])
        return encoded(prepared.data, {**prepared.codecs, role: words})

    def start(self, prepared: Prepared) -> Start:
        """A fresh body, but for its table."""
        table: Any = self.bundle.arrays()["vectors"]
        found = self._found(prepared)
        if not found:
            raise ConfigError(
                f"No symbol of the data, read as {prepared.codec.name}, has a vector in {self.name}. Read them as the "
                "vectors' words are: --codec words, and --split simple where punctuation was split off."
            )
        vectors = np.asarray(table[[row for _, row in found]], np.float32)
        ids = np.array([one for one, _ in found])
        return Start(None, {}, FROZEN if self.frozen else {}, table=Table(ids, vectors, alone=self.frozen))

    def note(self, prepared: Prepared) -> str:
        """What came of it, for people."""
        way = "frozen" if self.frozen else "tuned"
        known = f"{len(self._found(prepared)):,} of {prepared.codec.size:,} symbols"
        return f"vectors: {way}, from {self.name}, for {known}"

    @cached_property
    def _rows(self) -> dict[str, int]:
        """The row of each word in the table."""
        codec = self.bundle.codec
        return {codec.symbol(number): number for number in range(FIRST, codec.size)}

    def _found(self, prepared: Prepared) -> list[tuple[int, int]]:
        """Ids of symbols that have a vector, and the rows of these."""
        codec = prepared.codec
        named = ((number, codec.symbol(number)) for number in range(FIRST, codec.size))
        return [(number, self._rows[name]) for number, name in named if name in self._rows]


def _sized_by(model: str) -> str | None:
    """The setting that says how wide a family's table of symbols is; None: it has no such table."""
    kind = family(model)
    if kind.learner != "gradient" or issubclass(kind, CountingReader):
        return None
    names = {one.name for one in visible(kind.Config)}
    wanted = "width" if "heads" in names else "embedding"
    return wanted if wanted in names else None
