"""`translate`: for every source its translation, by beam search or drawn, many sources at once."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np

from chainrule.config import Config, option, parted
from chainrule.decode.config import Constraints, GenerationConfig
from chainrule.errors import ModelError
from chainrule.models.base import LanguageModel
from chainrule.symbols import BOS, PAD
from chainrule.use.generate import settings
from chainrule.use.score import opened
from chainrule.use.text import encodable, shown, typed_texts

if TYPE_CHECKING:
    from chainrule.bundle import Bundle
    from chainrule.codecs.base import Texts
    from chainrule.data.numbered import Numbered
    from chainrule.data.sources import Given

ROWS = 64  # sources translated side by side
BEAM, PENALTY = 5, 1.0  # of a search, if nothing is said
SPARE = 10  # symbols that a translation may have beyond its share
LOG2 = math.log(2.0)
DRAWING = ("temperature", "top_k", "top_p", "seed")
ABSENT = "This model's task is {task!r}: it translates nothing. Fit one that does: chainrule fit --source A --target B"


@dataclass(frozen=True, kw_only=True)
class LengthConfig(Config):
    """How long a translation may be, by the length of its source."""

    min_length_ratio: float = option(
        0.0, "at least so many symbols for each one of the source", low=0.0, high=1000.0
    )
    max_length_ratio: float = option(
        2.0, f"at most so many symbols for each one of the source, and {SPARE} more", low=0.0, high=1000.0
    )

    def constraints(
        self, lengths: Sequence[int], count: int, longest: int, never: tuple[int, ...]
    ) -> Constraints:
        """Of sources this long, each of which has `count` rows."""
        rows = [length for length in lengths for _ in range(count)]
        least = [math.floor(self.min_length_ratio * length) for length in rows]
        most = [min(longest, math.floor(self.max_length_ratio * length) + SPARE) for length in rows]
        return Constraints(never=never, least=least, most=most)


@dataclass(frozen=True)
class Choice:
    """A translation, and how probable it is; one that was drawn has no probability."""

    text: str
    log2prob: float | None = None

    def to_dict(self) -> dict[str, Any]:
        """For scripts."""
        return {"text": self.text} | ({} if self.log2prob is None else {"log2prob": self.log2prob})


@dataclass(frozen=True)
class Translation:
    """What was made of one source: choices, the best first; a blank source has none."""

    source: str = field(repr=False)
    choices: tuple[Choice, ...]
    row: int = 1  # its number among those given, from 1
    id: str | None = None  # what the user calls it

    @property
    def text(self) -> str:
        """The best one; nothing for a blank source."""
        return self.choices[0].text if self.choices else ""

    @property
    def blank(self) -> bool:
        """Whether there was nothing to translate."""
        return not self.choices

    def to_dict(self) -> dict[str, Any]:
        """For scripts: the best one, and with several all of them."""
        named = {"row": self.row} | ({} if self.id is None else {"id": self.id}) | {"text": self.text}
        if self.blank:
            return named | {"blank": True}
        several = {"choices": [one.to_dict() for one in self.choices]} if len(self.choices) > 1 else {}
        return named | self.choices[0].to_dict() | several


@dataclass(frozen=True)
class Translator:
    """A model, and how it writes."""

    bundle: Bundle
    config: GenerationConfig
    lengths: LengthConfig

    @classmethod
    def of(
        cls, bundle: Bundle, options: Mapping[str, Any], config: GenerationConfig | None = None
    ) -> Translator:
        """With settings as people give them; those of drawing mean that no beam is wanted."""
        if bundle.task.source is None or bundle.task.predicts is None:
            raise ModelError(ABSENT.format(task=bundle.task.name))
        lengths, rest = parted(options, LengthConfig)
        if config is None and "beam" not in rest and not any(name in rest for name in DRAWING):
            count = settings({name: rest[name] for name in ("count",) if name in rest}).count
            rest = {"beam": max(BEAM, count), "length_penalty": PENALTY, **rest}
        return cls(bundle, settings(rest, config).seeded(), lengths)

    @property
    def role(self) -> str:
        """Whose sequences are translated."""
        return str(self.bundle.task.source)

    @property
    def column(self) -> str | None:
        """Where they stood in the table that was learnt from."""
        found: str | None = self.bundle.card.get("columns", {}).get(self.role)
        return found

    def choices(self, texts: Texts) -> list[tuple[Choice, ...]]:
        """Of every text, in order; those of similar length are translated together."""
        ids = self.bundle.codecs[self.role].encode(texts).ids
        starts = np.flatnonzero(ids == BOS)
        sources = np.split(ids, starts[1:]) if len(starts) else []
        order = sorted(range(len(sources)), key=lambda row: -len(sources[row]))
        found: dict[int, tuple[Choice, ...]] = {}
        for first in range(0, len(order), ROWS):
            some = order[first : first + ROWS]
            written = self._written([sources[row][1:] for row in some])  # with EOS, without BOS
            found |= dict(zip(some, written, strict=True))
        return [found[row] for row in range(len(sources))]

    def _written(self, sources: Sequence[np.ndarray]) -> list[tuple[Choice, ...]]:
        model, prompts = self.bundle.model, [[BOS]] * len(sources)
        count = 1 if self.config.beam else self.config.count
        codec, longest = self.bundle.codec, self.config.length
        never = () if self.config.unknown else codec.unwritten
        limits = self.lengths.constraints([len(one) - 1 for one in sources], count, longest, never)
        given = padded(sources, model.device)
        if self.config.beam is None:
            return self._drawn(model, prompts, limits, given)
        return self._found(model, prompts, limits, given)

    def _found(
        self, model: LanguageModel, prompts: Any, limits: Constraints, given: Any
    ) -> list[tuple[Choice, ...]]:
        """The best texts of a beam, all different."""
        from chainrule.decode.beam import search

        results = []
        for result in search(model, prompts, self.config, limits, given):
            texts: dict[str, float] = {}
            for one in result.hypotheses:
                texts.setdefault(self._text(one.ids), one.log_probability / LOG2)
            ways = list(texts.items())[: self.config.count]
            results.append(tuple(Choice(text, log) for text, log in ways))
        return results

    def _drawn(
        self, model: LanguageModel, prompts: Any, limits: Constraints, given: Any
    ) -> list[tuple[Choice, ...]]:
        from chainrule.decode.sample import joined, sample

        count = self.config.count
        rows = joined(sample(model, prompts, self.config, limits, given)) or [[]] * (count * len(prompts))
        texts = [Choice(self._text(ids)) for ids in rows]
        return [tuple(texts[at : at + count]) for at in range(0, len(texts), count)]

    def _text(self, ids: Sequence[int]) -> str:
        return shown(self.bundle.codec, ids).strip()

    def rows(self, rows: Numbered) -> Iterator[Translation]:
        """One translation for each row, blank ones included."""
        found = iter(self.choices(rows.filled))
        names = rows.ids or (None,) * len(rows.texts)
        each = zip(rows.texts, np.asarray(rows.blank).tolist(), names, strict=True)
        for row, (text, blank, name) in enumerate(each, rows.first):
            said = text.decode("utf-8", "backslashreplace")
            yield Translation(said, () if blank else next(found), row, name)


def padded(sources: Sequence[np.ndarray], device: Any) -> Any:
    """Sources as one tensor (B, S), PAD on the right."""
    import torch

    found = torch.full((len(sources), max(map(len, sources))), PAD, dtype=torch.long)
    for row, ids in enumerate(sources):
        found[row, : len(ids)] = torch.from_numpy(np.asarray(ids, np.int64))
    return found.to(device)


def translate(
    bundle: Bundle, texts: Iterable[str], config: GenerationConfig | None = None, **options: Any
) -> list[Translation]:
    """One translation for each text, in order."""
    from chainrule.data.numbered import parts

    translator = Translator.of(bundle, options, config)
    given = typed_texts(bundle.codecs[translator.role], texts)
    return [one for rows in parts(given, None, 1) for one in translator.rows(rows)]


def translate_each(
    translator: Translator, source: Given, *, id: str | None = None, **reading: Any
) -> Iterator[Translation]:
    """One translation for each row of data of any size, in order, as they are read; blank rows have one, too."""
    from chainrule.data.numbered import numbered

    codec, column = translator.bundle.codecs[translator.role], translator.column
    found = opened(codec, {}, source, reading)
    if found.table and column and "column" not in reading:
        found = opened(codec, {"column": column}, source, reading)
    for rows in numbered(found, id):
        yield from translator.rows(rows)


def translate_lines(translator: Translator, stream: BinaryIO) -> Iterator[Translation]:
    """One translation for each line of a stream as soon as it comes."""
    from chainrule.data.arriving import arriving
    from chainrule.data.numbered import parts

    first = 1
    for lines in arriving(stream):
        for rows in parts(encodable(lines), None, first):
            yield from translator.rows(rows)
        first += len(lines)
