"""`evaluate` for texts: translations of a model, or texts of any system, beside references."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from chainrule.codecs.base import Texts
from chainrule.config import share
from chainrule.data.columns import Data
from chainrule.data.dataset import encoded_part, read_columns
from chainrule.data.rows import TARGET
from chainrule.data.sources import Given, ReadConfig, read
from chainrule.errors import ConfigError
from chainrule.judge.texts import rewritten
from chainrule.tasks.translate import SOURCE, scored
from chainrule.use.evaluate import Evaluation
from chainrule.use.translate import Translator

if TYPE_CHECKING:
    from chainrule.bundle import Bundle
    from chainrule.codecs.base import Blocks


def evaluate_translations(
    bundle: Bundle, data: Data, columns: Mapping[str, str | None] | None = None, **options: Any
) -> Evaluation:
    """Translate the sources of data and judge what comes of it; how probable the right targets are is told, too."""
    began = time.perf_counter()
    reading = share(options, ReadConfig)
    writing = {name: one for name, one in options.items() if name not in reading}
    translator = Translator.of(bundle, writing)
    given = _columns(translator.reader.roles, columns or {})
    named = {} if isinstance(data, Mapping) else {**bundle.card.get("columns", {}), **given}
    roles = [replace(role, column=named.get(role.name)) for role in bundle.task.roles()]
    blocks = read_columns(data, bundle.codecs, roles=roles, options=reading).whole()
    figures = scored(bundle.model, encoded_part(bundle.codecs, blocks)).figures()
    others = {name: figures[name] for name in ("perplexity", "bits_per_symbol")}
    sources = {role: Texts.of(_all(blocks[role])) for role in translator.reader.roles}
    targets = [one.decode() for one in _all(blocks[TARGET])]
    found = [choices[0].text for choices in translator.choices(sources)]
    return Evaluation(bundle.task.name, rewritten(found, targets, others), time.perf_counter() - began)


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


def evaluate_texts(hypotheses: Given, references: Given) -> Evaluation:
    """Texts of any system, one a line, beside one reference each; blank lines count."""
    began = time.perf_counter()
    said, wanted = (_lines(one) for one in (hypotheses, references))
    return Evaluation("texts", rewritten(said, wanted), time.perf_counter() - began)


def _all(blocks: Blocks) -> list[bytes]:
    return [one for texts in blocks() for one in texts]


def _lines(given: Given) -> list[str]:
    """Every line or row, blank ones included."""
    rows = read(given, ReadConfig()).rows((None,), (False,))
    return [one.decode("utf-8", "replace").strip() for (texts,) in rows for one in texts]
