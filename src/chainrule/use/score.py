"""`score`: how probable texts and data of any size are, together or each sequence by itself."""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np

from chainrule.codecs.base import Codec, Texts
from chainrule.errors import ConfigError
from chainrule.judge.names import own_names
from chainrule.judge.score import Score, measure, measure_each, score_ids
from chainrule.models.base import LanguageModel
from chainrule.nn.tap import listening
from chainrule.progress import Step, no_progress, progress
from chainrule.symbols import BOS
from chainrule.use.conditional import UNSAID, logs_of, refuse_without_source
from chainrule.use.source_inputs import SourceReader, Sources
from chainrule.use.text import encodable, texts_of, typed_texts
from chainrule.use.unknown import unknown_each

if TYPE_CHECKING:
    from collections.abc import Mapping

    from chainrule.bundle import Bundle
    from chainrule.data.encoder_inputs import EncoderInputs
    from chainrule.data.numbered import Numbered
    from chainrule.data.sources import Given, ReadConfig, Source

LOG2 = math.log(2.0)
TOLD = ("order", "posterior")  # taps that say something about every symbol
FIGURES = (
    "perplexity",
    "perplexity_known",
    "bits_per_symbol",
    "bits_per_byte",
    "symbols",
    "bytes",
    "unknown",
    "zero_probability",
    "log2prob",
)


@dataclass(frozen=True)
class Symbol:
    """One symbol of a scored text."""

    token: str
    log2prob: float
    # what the family tells: an n-gram the order it used, a mix the posterior of each model
    facts: Mapping[str, Any] = field(default_factory=dict)
    shown: str = ""  # the token without marks that only machines need

    @property
    def bits(self) -> float:
        """How surprising it was."""
        return 0.0 - self.log2prob

    def to_dict(self) -> dict[str, Any]:
        """For scripts."""
        return {"token": self.token, "log2prob": self.log2prob, "bits": self.bits, **self.facts}


@dataclass(frozen=True, kw_only=True)
class ModelScore(Score):
    """A score that knows how its model reads: `both` makes its figures pseudo-figures."""

    reads: str

    def _repr_html_(self) -> str:
        from chainrule.use.pictures import score_html

        return score_html(self)

    def figures(self) -> dict[str, Any]:
        """Every figure under its own name."""
        return own_names({name: getattr(self, name) for name in FIGURES}, self)


@dataclass(frozen=True, kw_only=True)
class DataScore(ModelScore):
    """How probable data are, all together."""

    seconds: float = field(compare=False)

    def to_dict(self) -> dict[str, Any]:
        """For scripts."""
        return self.figures() | {"seconds": self.seconds}


@dataclass(frozen=True, kw_only=True)
class TextScore(ModelScore):
    """How probable one text is, and each of its symbols."""

    seconds: float = field(compare=False)
    tokens: tuple[Symbol, ...]

    def __repr__(self) -> str:
        return f"<TextScore of {len(self.tokens)} symbols, {-self.log2prob:.2f} bits, perplexity {self.perplexity:.4g}>"

    def _repr_html_(self) -> str:
        from chainrule.use.pictures import text_html

        return text_html(self)

    def to_dict(self) -> dict[str, Any]:
        """For scripts."""
        tokens = [one.to_dict() for one in self.tokens]
        return self.figures() | {"seconds": self.seconds, "tokens": tokens}


@dataclass(frozen=True, kw_only=True)
class SequenceScore(ModelScore):
    """How probable one sequence of several is."""

    text: str  # as people read it
    row: int  # its number among those given, from 1
    id: str | None = None  # what the user calls it
    blank: bool = False  # there was nothing to read

    @property
    def perplexity(self) -> float:
        """NaN of a blank row, which is neither probable nor improbable."""
        return math.nan if self.blank else super().perplexity

    @property
    def bits_per_symbol(self) -> float:
        """NaN of a blank row."""
        return math.nan if self.blank else super().bits_per_symbol

    def to_dict(self) -> dict[str, Any]:
        """For scripts; what was not scored has no figures."""
        named = {"row": self.row} | ({} if self.id is None else {"id": self.id}) | {"text": self.text}
        return named | ({"blank": True} if self.blank else {}) | (self.figures() if self.symbols else {})


def score(bundle: Bundle, text: str) -> TextScore:
    """How probable one text is, and each symbol of it; the end of the text counts as a symbol."""
    if not isinstance(text, str):
        raise ConfigError(
            f"score wants one text, and a {type(text).__name__} came. Use score_each for a result for each of several "
            "texts, or score_texts for one of all together."
        )
    refuse_without_source(bundle, UNSAID)
    began = time.perf_counter()
    texts = typed_texts(bundle.codec, [text])
    encoded = bundle.codec.encode(texts)
    with listening(bundle.model, *TOLD) as heard:
        logs = bundle.model.score_ids(encoded.ids)
    total = measure(encoded.ids, logs) + Score(bytes=texts.bytes, unknown=encoded.unknown)
    tokens = _symbols(bundle, encoded.ids, logs, {name: values[0] for name, values in heard.items()})
    seconds = time.perf_counter() - began
    return TextScore(**vars(total), reads=bundle.model.reads, seconds=seconds, tokens=tokens)


def _symbols(
    bundle: Bundle, ids: np.ndarray, logs: np.ndarray, told: Mapping[str, np.ndarray]
) -> tuple[Symbol, ...]:
    facts = {name: values[1:].tolist() for name, values in told.items()}
    tokens, bits = bundle.codec.tokens(ids[1:]), (logs[1:] / LOG2).tolist()
    seen = [bundle.codec.shown(one) for one in ids[1:].tolist()]
    rows = enumerate(zip(tokens, bits, seen, strict=True))
    return tuple(
        Symbol(token, log, {name: values[at] for name, values in facts.items()}, shown)
        for at, (token, log, shown) in rows
    )


def score_texts(bundle: Bundle, texts: Iterable[str]) -> DataScore:
    """How probable several texts are together."""
    if isinstance(texts, str):
        raise ConfigError("score_texts wants several texts, and one came. Use score(text) for one.")
    refuse_without_source(bundle, UNSAID)
    began = time.perf_counter()
    with no_progress("scoring") as step:
        total = _score_blocks(bundle.codec, bundle.model, [typed_texts(bundle.codec, texts_of(texts))], step)
    return data_score(bundle, total, began)


def score_file(bundle: Bundle, source: Given, **reading: Any) -> DataScore:
    """How probable data are, of any size; `reading` are the settings of `data.sources.ReadConfig`."""
    refuse_without_source(bundle, UNSAID)
    began = time.perf_counter()
    blocks = opened(bundle.codec, bundle.card.get("reading", {}), source, reading)
    with progress("scoring", _size_of(blocks), "B") as step:
        total = _score_blocks(bundle.codec, bundle.model, blocks(), step)
    return data_score(bundle, total, began)


def score_each(
    bundle: Bundle, source: Given, *, id: str | None = None, **reading: Any
) -> Iterator[SequenceScore]:
    """One result for each row of data of any size, in order, as they are read; blank rows have one, too.

    `id` is the column of a table that names its rows.
    """
    from chainrule.data.numbered import numbered

    found = opened(bundle.codec, bundle.card.get("reading", {}), source, reading)
    with progress("scoring", _size_of(found), "B") as step:
        for rows in numbered(found, id):
            yield from _results(bundle, rows)
            step(rows.texts.bytes)


def _results(bundle: Bundle, rows: Numbered) -> Iterator[SequenceScore]:
    """Of some rows, scored side by side; blank ones are not scored."""
    scores = iter(scores_of(bundle, rows.filled) if not rows.blank.all() else ())
    found = (Score() if blank else next(scores) for blank in rows.blank.tolist())
    yield from _told(bundle, rows, found)


def results_of(
    bundle: Bundle, texts: Texts, first: int = 1, sources: Sources | None = None
) -> Iterator[SequenceScore]:
    """One result for each of these whole sequences, numbered from `first`; a blank one is an empty sequence.

    A model that writes from a source must be told that of each.
    """
    from chainrule.data.numbered import parts

    inputs = None if sources is None else SourceReader(bundle).inputs(sources)
    for rows in parts(texts, None, first):
        begun = rows.first - first
        some = None if inputs is None else inputs.select(np.arange(begun, begun + len(rows.texts)))
        yield from _told(bundle, rows, scores_of(bundle, rows.texts, some))


def _told(bundle: Bundle, rows: Numbered, scores: Iterable[Score]) -> Iterator[SequenceScore]:
    """Scores as results, each with the text, the number and the id of its row."""
    names = rows.ids or (None,) * len(rows.texts)
    each = zip(rows.texts, rows.blank.tolist(), names, scores, strict=True)
    for row, (text, blank, name, one) in enumerate(each, rows.first):
        shown = bundle.codec.to_shown(text.decode("utf-8", "backslashreplace")) if one.symbols else ""
        yield SequenceScore(**vars(one), reads=bundle.model.reads, text=shown, row=row, id=name, blank=blank)


def score_lines(bundle: Bundle, stream: BinaryIO) -> Iterator[SequenceScore]:
    """One result for each line of a stream as soon as it comes; a model of longer sequences waits for all of it."""
    from chainrule.data.arriving import arriving
    from chainrule.data.numbered import parts

    config = _reading(bundle.codec, bundle.card.get("reading", {}), {})
    if config.stream or config.group or config.sort or config.raw or config.encoding or config.format:
        yield from score_each(bundle, "-")
        return
    first = 1
    for lines in arriving(stream):
        for texts in _checked(encodable(lines), config, first):
            for rows in parts(texts, None, first):
                yield from _results(bundle, rows)
        first += len(lines)


def _checked(lines: Texts, config: ReadConfig, first: int) -> Iterable[Texts]:
    """Lines that came; where they must be numbers, what is none is refused with its place."""
    if not config.gaps:
        return [lines]
    from chainrule.data.values import checked_texts

    return checked_texts([lines], "standard input", "line", config.decimals, first - 1)


def data_score(bundle: Bundle, total: Score, began: float) -> DataScore:
    """A sum as a result; `began` is when `time.perf_counter` said so."""
    return DataScore(**vars(total), reads=bundle.model.reads, seconds=time.perf_counter() - began)


def scores_of(bundle: Bundle, texts: Texts, inputs: EncoderInputs | None = None) -> list[Score]:
    """The score of each of these whole sequences, computed side by side, given what each is written from."""
    if inputs is None:
        refuse_without_source(bundle, UNSAID)
    encoded = bundle.codec.encode(texts)
    logs = bundle.model.score_ids(encoded.ids) if inputs is None else logs_of(bundle, encoded.ids, inputs)
    scores = measure_each(encoded.ids, logs)
    sizes = (texts.ends - texts.starts + 1).tolist()  # with the newline
    unknown = unknown_each(bundle.codec, texts, encoded)
    rows = zip(scores, sizes, unknown, strict=True)
    return [one + Score(bytes=size, unknown=missing) for one, size, missing in rows]


def opened(codec: Codec, usual: Mapping[str, Any], source: Given, reading: Mapping[str, Any]) -> Source:
    """The data, read as the codec needs it and as the model's own data (`usual`) were, unless told otherwise."""
    from chainrule.data.sources import read

    return read(source, _reading(codec, usual, reading))


def _reading(codec: Codec, usual: Mapping[str, Any], reading: Mapping[str, Any]) -> ReadConfig:
    from chainrule.data.sources import ReadConfig

    for name in ("group", "sort"):
        if reading.get(name) and not usual.get(name) and not codec.joins_rows:
            raise ConfigError(
                f"--{name} makes sequences of events, and this model reads {codec.name}: texts would be glued "
                "together. Leave it out."
            )
    joined = codec.joins_rows and not {"group", "sort"} & set(reading)
    usual = {name: value for name, value in usual.items() if name != "where"}  # all rows have a score
    usually = {"raw": codec.reads_bytes, "joined": joined, "gaps": codec.keeps_gaps}
    usually["whole"] = codec.reads_whole(codec.config)
    return ReadConfig.from_values({**usually, **usual, **reading})


def _size_of(source: Source) -> int | None:
    """How many bytes its files have; None when there are none."""
    return sum(path.stat().st_size for path in source.files) or None


def _score_blocks(codec: Codec, model: LanguageModel, blocks: Iterable[Texts], step: Step) -> Score:
    """The sum; a sequence that continues in the next block is held until it is whole."""
    total, held = Score(), np.empty(0, np.int32)
    for texts in blocks:
        encoded = codec.encode(texts)
        ids = np.concatenate([held, encoded.ids]) if len(held) else encoded.ids
        whole = len(ids) if texts.closes else int(np.flatnonzero(ids == BOS)[-1])
        total += score_ids(model, ids[:whole], texts.bytes, encoded.unknown)
        held = ids[whole:]
        step(texts.bytes)
    return total
