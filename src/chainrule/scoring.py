"""Data of any size, scored block by block: all together, or each sequence by itself."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from chainrule.codecs.base import Codec, Texts
from chainrule.continuation import shown
from chainrule.judge.score import Score, measure_each, score_ids
from chainrule.models.base import Model
from chainrule.progress import Step
from chainrule.symbols import BOS
from chainrule.unknown import unknown_each

if TYPE_CHECKING:
    from chainrule.data.sources import Given, Source

MANY = 1 << 12  # sequences scored at once when each is wanted


def opened(codec: Codec, usual: Mapping[str, Any], source: Given, reading: Mapping[str, Any]) -> Source:
    """The data, read as the codec needs it and as the model's own data (`usual`) were, unless told otherwise."""
    from chainrule.data.dataset import JOINING
    from chainrule.data.sources import ReadConfig, read

    joined = codec.name in JOINING and not {"group", "sort"} & set(reading)
    return read(
        source,
        ReadConfig.from_values({"raw": codec.name == "bytes", "joined": joined, **usual, **reading}),
    )


def size_of(source: Source) -> int | None:
    """How many bytes its files have; None when there are none."""
    return sum(path.stat().st_size for path in source.files) or None


def score_blocks(codec: Codec, model: Model, blocks: Iterable[Texts], step: Step) -> Score:
    """The sum; a sequence that goes on in the next block is held until it is whole."""
    total, held = Score(), np.empty(0, np.int32)
    for texts in blocks:
        encoded = codec.encode(texts)
        ids = np.concatenate([held, encoded.ids]) if len(held) else encoded.ids
        whole = len(ids) if texts.closes else int(np.flatnonzero(ids == BOS)[-1])
        total += score_ids(model, ids[:whole], texts.bytes, encoded.unknown)
        held = ids[whole:]
        step(texts.bytes)
    return total


def score_each(
    codec: Codec, model: Model, blocks: Iterable[Texts], step: Step
) -> Iterator[tuple[str, Score]]:
    """Every sequence as people read it, with its score."""
    for texts in whole_sequences(blocks):
        for begin in range(0, len(texts), MANY):
            part = Texts(texts.data, texts.starts[begin : begin + MANY], texts.ends[begin : begin + MANY])
            yield from _each(codec, model, part)
            step(part.bytes)


def _each(codec: Codec, model: Model, texts: Texts) -> Iterator[tuple[str, Score]]:
    encoded = codec.encode(texts)
    scores = measure_each(encoded.ids, model.score_ids(encoded.ids))
    unknown = unknown_each(codec, texts, encoded)
    for text, score, missing in zip(texts, scores, unknown, strict=True):
        told = shown(codec, text.decode("utf-8", "backslashreplace"))
        yield told, score + Score(bytes=len(text) + 1, unknown=missing)


def whole_sequences(blocks: Iterable[Texts]) -> Iterator[Texts]:
    """The same sequences in blocks that cut none of them; one spread over several blocks is put together."""
    held = b""
    for texts in blocks:
        inside = np.ones(len(texts), np.bool_)
        if len(texts) and not texts.opens:
            inside[0] = False
            held += next(iter(texts))
            if len(texts) > 1 or texts.closes:
                yield Texts.of([held])
                held = b""
        if len(texts) and not texts.closes and inside[-1]:
            inside[-1] = False
            held = texts.data[texts.starts[-1] : texts.ends[-1]].tobytes()
        yield Texts(texts.data, texts.starts[inside], texts.ends[inside])
