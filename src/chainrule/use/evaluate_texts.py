"""`evaluate` for texts: translations of a model, or texts of any system, beside references."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from chainrule.codecs.base import Texts
from chainrule.config import parted, share
from chainrule.data.columns import Data
from chainrule.data.dataset import encoded_part, read_columns
from chainrule.data.rows import TARGET
from chainrule.data.sources import Given, ReadConfig, read
from chainrule.errors import ConfigError
from chainrule.judge.meteor import MeteorConfig
from chainrule.judge.significance import differences
from chainrule.judge.texts import Rewritten, rewritten
from chainrule.tasks.translate import SOURCE, scored
from chainrule.use.against import PairedEvaluation
from chainrule.use.evaluate import Evaluation
from chainrule.use.translate import Translator

if TYPE_CHECKING:
    from chainrule.bundle import Bundle
    from chainrule.codecs.base import Blocks


def evaluate_translations(bundle: Bundle, data: Data, **options: Any) -> Evaluation:
    """Translate the sources of data and judge what comes of it; how probable the right targets are is told, too.

    `source` and `target` name columns of a table, several sources with commas between; other options are those of
    `translate`, of METEOR and of reading data.
    """
    return _translated(bundle, data, options)[0]


def evaluate_translations_against(
    bundle: Bundle, other: Bundle, data: Data, **options: Any
) -> PairedEvaluation:
    """Two models that translate the same sources."""
    return _paired(*(_translated(one, data, options) for one in (bundle, other)))


def evaluate_texts(hypotheses: Given, references: Given | Sequence[Given], **options: Any) -> Evaluation:
    """Texts of any system, one a line, beside their references; blank lines count.

    Several references for each line are a list of files; `options` are those of `MeteorConfig`.
    """
    return _texts(hypotheses, references, options)[0]


def evaluate_texts_against(
    hypotheses: Given, others: Given, references: Given | Sequence[Given], **options: Any
) -> PairedEvaluation:
    """Texts of two systems beside the same references."""
    return _paired(*(_texts(one, references, options) for one in (hypotheses, others)))


Found = tuple[Evaluation, Rewritten]


def _paired(first: Found, second: Found) -> PairedEvaluation:
    return PairedEvaluation(first[0], second[0], differences(first[1], second[1]))


def _translated(bundle: Bundle, data: Data, options: Mapping[str, Any]) -> Found:
    began = time.perf_counter()
    columns, rest = _parted(options)
    meteor, rest = parted(rest, MeteorConfig)
    reading = share(rest, ReadConfig)
    translator = Translator.of(bundle, {name: one for name, one in rest.items() if name not in reading})
    given = _columns(translator.reader.roles, columns)
    named = {} if isinstance(data, Mapping) else {**bundle.card.get("columns", {}), **given}
    roles = [replace(role, column=named.get(role.name)) for role in bundle.task.roles()]
    blocks = read_columns(data, bundle.codecs, roles=roles, options=reading).whole()
    figures = scored(bundle.model, encoded_part(bundle.codecs, blocks)).figures()
    others = {name: figures[name] for name in ("perplexity", "bits_per_symbol")}
    sources = {role: Texts.of(_all(blocks[role])) for role in translator.reader.roles}
    targets = [one.decode() for one in _all(blocks[TARGET])]
    said = [choices[0].text for choices in translator.choices(sources)]
    found = rewritten(said, [targets], others, meteor)
    return Evaluation(bundle.task.name, found, time.perf_counter() - began), found


def _parted(options: Mapping[str, Any]) -> tuple[dict[str, str | None], dict[str, Any]]:
    """Names of columns, and all other options."""
    names = {name: value for name, value in options.items() if name in (SOURCE, TARGET)}
    return names, {name: value for name, value in options.items() if name not in names}


def _columns(sources: Sequence[str], columns: Mapping[str, str | None]) -> dict[str, str]:
    """The column of each role that was named; those of several sources with commas between, in order."""
    named = columns.get(SOURCE) or ""
    several = [one.strip() for one in named.split(",")] if len(sources) > 1 else [named]
    if named and len(several) != len(sources):
        raise ConfigError(
            f"This model reads {', '.join(sources)}: name as many columns, --source A,B, not {named!r}."
        )
    found = dict(zip(sources, several, strict=False)) | {TARGET: columns.get(TARGET) or ""}
    return {role: column for role, column in found.items() if column}


def _texts(hypotheses: Given, references: Given | Sequence[Given], options: Mapping[str, Any]) -> Found:
    began = time.perf_counter()
    meteor, rest = parted(options, MeteorConfig)
    reading, rest = parted(rest, ReadConfig)
    for name in rest:
        raise ConfigError(f"There is no option {name!r} for texts.")
    several = references if isinstance(references, list | tuple) else [references]
    said, *wanted = (lines(one, reading) for one in (hypotheses, *several))
    found = rewritten(said, wanted, meteor=meteor)
    return Evaluation("texts", found, time.perf_counter() - began), found


def _all(blocks: Blocks) -> list[bytes]:
    return [one for texts in blocks() for one in texts]


def lines(given: Given, reading: ReadConfig | None = None) -> list[str]:
    """Every line or row, blank ones included."""
    rows = read(given, reading or ReadConfig()).rows((None,), (False,))
    return [one.decode("utf-8", "replace").strip() for (texts,) in rows for one in texts]
