"""`translate`: for every source its translation, by beam search or drawn, many sources at once."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np

from chainrule.config import Config, option, parted
from chainrule.decode.config import Constraints, GenerationConfig
from chainrule.errors import ConfigError, ModelError
from chainrule.runtime import blocks_kept
from chainrule.symbols import BOS, SPECIALS, UNK
from chainrule.use.align import Links, word_links
from chainrule.use.generate import check_shared_codecs, refuse_draft_for_a_beam, settings
from chainrule.use.phrases import phrase_constraints
from chainrule.use.score import opened
from chainrule.use.source_inputs import SourceReader, Sources, blank, only
from chainrule.use.text import prompt_ids, shown

if TYPE_CHECKING:
    from chainrule.bundle import Bundle
    from chainrule.codecs.base import Codec
    from chainrule.data.encoder_inputs import EncoderInputs
    from chainrule.data.sources import Given

ROWS = 64  # sources translated side by side
BEAM, PENALTY = 5, 1.0  # of a search, if nothing is said
SPARE = 10  # symbols that a translation may have beyond its share
LOG2 = math.log(2.0)
DRAWING = ("temperature", "top_k", "top_p", "seed")
ABSENT = "This model's task is {task!r}: it translates nothing. Fit one that does: chainrule fit --source A --target B"


@dataclass(frozen=True, kw_only=True)
class WriteConfig(Config):
    """What a translation begins with, what stands for its unknowns, and how long it may be by its source."""

    prefix: str = option("", "what every translation begins with: the model continues from there")
    replace_unknowns: bool = option(
        False, "let it predict <unk>, and put the word of the source there that it attends to most"
    )

    min_length_ratio: float = option(
        0.0, "at least so many symbols for each one of the source", low=0.0, high=1000.0
    )
    max_length_ratio: float = option(
        2.0, f"at most so many symbols for each one of the source, and {SPARE} more", low=0.0, high=1000.0
    )

    def constraints(self, lengths: Sequence[int], count: int, longest: int, **more: Any) -> Constraints:
        """Of sources this long, each of which has `count` rows."""
        rows = [length for length in lengths for _ in range(count)]
        least = [math.floor(self.min_length_ratio * length) for length in rows]
        usual = [math.floor(self.max_length_ratio * length) + SPARE for length in rows]
        most = [min(longest, max(both)) for both in zip(least, usual, strict=True)]
        return Constraints(least=least, most=most, **more)


@dataclass(frozen=True, kw_only=True)
class AlignConfig(Config):
    """What is told beside a translation."""

    alignment: bool = option(
        False,
        "tell which word of the source each word of the best translation attends to most, as i-j from 0 on "
        "(Pharaoh format)",
    )


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
    alignment: Links | None = None  # of the best one, if asked for: source word, target word

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
        aligned = {} if self.alignment is None else {"alignment": [list(link) for link in self.alignment]}
        return named | self.choices[0].to_dict() | aligned | several


@dataclass(frozen=True)
class Translator:
    """A model, and how it writes."""

    bundle: Bundle
    config: GenerationConfig
    writing: WriteConfig
    alignment: bool = False
    draft: Bundle | None = None

    @classmethod
    def of(
        cls,
        bundle: Bundle,
        options: Mapping[str, Any],
        config: GenerationConfig | None = None,
        draft: Bundle | None = None,
    ) -> Translator:
        """With settings as people give them; those of drawing mean that no beam is wanted."""
        if bundle.task.source is None or bundle.task.predicts is None:
            raise ModelError(ABSENT.format(task=bundle.task.name))
        writing, rest = parted(options, WriteConfig)
        told, rest = parted(rest, AlignConfig)
        if config is None and draft is not None and not any(name in rest for name in (*DRAWING, "beam")):
            rest = {"temperature": 0.0, **rest}
        elif config is None and "beam" not in rest and not any(name in rest for name in DRAWING):
            count = settings({name: rest[name] for name in ("count",) if name in rest}).count
            rest = {"beam": max(BEAM, count), "length_penalty": PENALTY, **rest}
        settled = settings(rest, config).seeded()
        if draft is not None:
            check_draft(bundle, draft, settled, writing)
        return cls(bundle, settled, writing, told.alignment, draft)

    @property
    def role(self) -> str:
        """Whose sequences are translated, the first one of several."""
        return self.reader.roles[0]

    @property
    def columns(self) -> dict[str, str]:
        """Where sources stood in the table that was learnt from."""
        known = self.bundle.card.get("columns", {})
        return {role: known[role] for role in self.reader.roles if known.get(role)}

    @property
    def column(self) -> str | None:
        """That of the only one."""
        return self.columns.get(self.role)

    @property
    def given(self) -> dict[str, Codec]:
        """How each is read."""
        return {role: self.bundle.codecs[role] for role in self.reader.roles}

    @property
    def reader(self) -> SourceReader:
        """How sources are read."""
        return SourceReader(self.bundle)

    def choices(self, sources: Sources) -> list[tuple[Choice, ...]]:
        """Of every row, in order."""
        return self.written(self.reader.inputs(sources))

    def written(self, inputs: EncoderInputs) -> list[tuple[Choice, ...]]:
        """The same of what an encoder is given; those of similar length are translated together."""
        order = sorted(range(len(inputs.lengths)), key=lambda row: -inputs.lengths[row])
        found: dict[int, tuple[Choice, ...]] = {}
        with blocks_kept():
            for first in range(0, len(order), ROWS):
                some = order[first : first + ROWS]
                found |= dict(zip(some, self._written(inputs, np.array(some)), strict=True))
        return [found[row] for row in range(len(order))]

    def _written(self, inputs: EncoderInputs, rows: np.ndarray) -> list[tuple[Choice, ...]]:
        prompts, limits, given = self._request(inputs, rows)
        return (self._drawn if self.config.beam is None else self._found)(prompts, limits, given)

    def request(self, sources: Sources, rows: np.ndarray) -> tuple[list[list[int]], Constraints, Any]:
        """What a search is asked for: prompts, what may follow, and the sources of these rows as a model reads them."""
        return self._request(self.reader.inputs(sources), rows)

    def _request(self, inputs: EncoderInputs, rows: np.ndarray) -> tuple[list[list[int]], Constraints, Any]:
        prefix = prompt_ids(self.bundle.codec, self.writing.prefix) if self.writing.prefix else [BOS]
        count, longest = 1 if self.config.beam else self.config.count, self.config.length
        sizes = inputs.lengths[rows].tolist() if self.reader.measured else [longest] * len(rows)
        more = phrase_constraints(self.bundle.codec, self.config, prefix)
        limits = self.writing.constraints(sizes, count, longest, never=self.never, **more)
        return [prefix] * len(rows), limits, self.reader.tensors(inputs, rows)

    @property
    def never(self) -> tuple[int, ...]:
        """What is not written."""
        wanted = self.config.unknown or self.writing.replace_unknowns
        return () if wanted else self.bundle.codec.unwritten

    def _found(self, prompts: list[list[int]], limits: Constraints, given: Any) -> list[tuple[Choice, ...]]:
        """The best texts of a beam, all different."""
        from chainrule.decode.beam import search

        results = []
        for prompt, result in zip(
            prompts, search(self.bundle.model, prompts, self.config, limits, given), strict=True
        ):
            texts: dict[str, float] = {}
            for one in result.hypotheses:
                texts.setdefault(self._text([*prompt, *one.ids]), one.log_probability / LOG2)
            ways = list(texts.items())[: self.config.count]
            results.append(tuple(Choice(text, log) for text, log in ways))
        return results

    def _drawn(self, prompts: list[list[int]], limits: Constraints, given: Any) -> list[tuple[Choice, ...]]:
        from chainrule.decode.draft import drafted
        from chainrule.decode.sample import joined, sample

        model, count = self.bundle.model, self.config.count
        steps = (
            sample(model, prompts, self.config, limits, given)
            if self.draft is None
            else drafted(model, self.draft.model, prompts, self.config, limits, source=given)
        )
        rows = joined(steps) or [[]] * (count * len(prompts))
        texts = [Choice(self._text([*prompts[at // count], *ids])) for at, ids in enumerate(rows)]
        return [tuple(texts[at : at + count]) for at in range(0, len(texts), count)]

    def _text(self, ids: Sequence[int]) -> str:
        return shown(self.bundle.codec, ids).strip()

    def rows(
        self, sources: Sources, first: int = 1, ids: Sequence[str] | None = None
    ) -> Iterator[Translation]:
        """One translation for each row, those included that lack a source."""
        lacking = blank(sources)
        given = only(sources, ~lacking)
        chosen = self.choices(given)
        if self.writing.replace_unknowns:
            chosen = with_source_words(self.bundle, given, chosen)
        links = iter(
            word_links(self.bundle, given, [one[0].text for one in chosen]) if self.alignment else ()
        )
        found = iter(chosen)
        names = ids or (None,) * len(lacking)
        each = zip(zip(*sources.values(), strict=True), lacking.tolist(), names, strict=True)
        for row, (texts, none, name) in enumerate(each, first):
            said = b"\t".join(texts).decode("utf-8", "backslashreplace")
            yield Translation(said, *((), row, name) if none else (next(found), row, name, next(links, None)))


def check_draft(bundle: Bundle, draft: Bundle, config: GenerationConfig, writing: WriteConfig) -> None:
    """Refuse a drafter that does not fit, and what a draft does not know of."""
    refuse_draft_for_a_beam(config, draft)
    check_shared_codecs(bundle, draft)
    if writing.min_length_ratio or config.bad_words:
        raise ConfigError(
            "A draft knows neither --min-length-ratio nor --bad-words. Leave them out, or leave out --draft."
        )


def with_source_words(
    bundle: Bundle, sources: Sources, choices: list[tuple[Choice, ...]]
) -> list[tuple[Choice, ...]]:
    """The same with the word of the source that is attended to most in the place of every unknown one."""
    [role] = SourceReader(bundle).roles
    found = []
    for row, (source, some) in enumerate(zip(sources[role], choices, strict=True)):
        words = source.decode("utf-8", "replace").split()
        given, made = only(sources, np.arange(len(choices)) == row), list[Choice]()
        for one in some:
            targets = one.text.split()
            unknown = any(SPECIALS[UNK] in word for word in targets)
            links = {j: i for i, j in word_links(bundle, given, [one.text])[0]} if unknown else {}
            copied = (
                word.replace(SPECIALS[UNK], words[links[at]])
                if SPECIALS[UNK] in word and at in links
                else word
                for at, word in enumerate(targets)
            )
            made.append(replace(one, text=" ".join(copied)) if unknown else one)
        found.append(tuple(made))
    return found


def translate(
    bundle: Bundle,
    sources: Iterable[Any],
    config: GenerationConfig | None = None,
    draft: Bundle | None = None,
    **options: Any,
) -> list[Translation]:
    """One translation for each source, in order."""
    translator = Translator.of(bundle, options, config, draft)
    given = translator.reader.typed(sources)
    return list(translator.rows(given))


def translate_each(
    translator: Translator, source: Given, *, id: str | None = None, **reading: Any
) -> Iterator[Translation]:
    """One translation for each row of data of any size, in order, as they are read; blank rows have one, too."""
    from chainrule.data.dataset import read_sources
    from chainrule.data.numbered import numbered

    if not translator.reader.plain:
        first = 1
        for rows, names in read_sources(source, translator.given, translator.columns, id, reading):
            yield from translator.rows(rows.columns, first, names)
            first += len(rows)
        return
    codec, column = translator.bundle.codecs[translator.role], translator.column
    found = opened(codec, {}, source, reading)
    if found.table and column and "column" not in reading:
        found = opened(codec, {"column": column}, source, reading)
    for part in numbered(found, id):
        yield from translator.rows({translator.role: part.texts}, part.first, part.ids)


def translate_lines(translator: Translator, stream: BinaryIO) -> Iterator[Translation]:
    """One translation for each line of a stream as soon as it comes."""
    from chainrule.data.arriving import arriving

    first = 1
    for lines in arriving(stream):
        yield from translator.rows(translator.reader.lines(lines), first)
        first += len(lines)
