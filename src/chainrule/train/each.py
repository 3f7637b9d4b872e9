"""One model for each value of a column: of each author, each class, each customer, over one shared codec."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from chainrule.bundle import Bundle
from chainrule.config import share
from chainrule.data.columns import Data
from chainrule.data.dataset import learn_codecs, open_data
from chainrule.data.sources import ReadConfig, read
from chainrule.errors import ConfigError, DataError
from chainrule.train.fit import USUAL, ask, fit, settings_of
from chainrule.train.shared import SharedCodecs

MOST = 1000  # models at once


def fit_each(data: Data, each: str, **options: Any) -> Iterator[tuple[str, Bundle]]:
    """The values of the column `each`, as they are first seen, each with a model of its rows.

    `options` are those of `fit`. All models share the codec of the whole data, so that their probabilities of the same
    text can be compared.
    """
    if isinstance(data, Mapping) and not options.get("column"):
        raise ConfigError(
            "Say which column holds the data (column=…): the others may be what rows are told apart by."
        )
    found = values(data, each, options)
    where = options.pop("where", ())
    conditions = [where] if isinstance(where, str) else list(where)
    if "codec_from" not in options:
        shared = _whole(data, {**options, "where": tuple(conditions)})
        settled = {name for codec in shared.codecs.values() for name in share(options, codec.Config)}
        options = {name: one for name, one in options.items() if name not in settled}
        options |= {"codec_from": shared, "codec": None}
    for value in found:
        yield value, fit(data, where=(*conditions, f'{each} == "{value}"'), **options)


def values(data: Data, each: str, options: Mapping[str, Any]) -> list[str]:
    """The values of a column, as they are first seen; rows without one belong to nobody."""
    reading = {**share(options, ReadConfig), "column": each, "group": None, "sort": None, "stream": False}
    source = read(data, ReadConfig.from_values(reading))
    if not source.table:
        raise DataError(f"{source.name} is no table, so it has no column {each!r} to tell rows apart by.")
    found = dict.fromkeys(
        text.decode("utf-8", "backslashreplace").strip()
        for (block,) in source.rows((each,), (False,))
        for text in block
    )
    found.pop("", None)
    if not found:
        raise DataError(f"The column {each!r} is empty, so there is nothing to tell rows apart by.")
    if len(found) > MOST:
        raise ConfigError(
            f"The column {each!r} has {len(found):,} values; one model each is possible up to {MOST:,}."
        )
    return list(found)


def _whole(data: Data, options: Mapping[str, Any]) -> SharedCodecs:
    """The codec of all rows."""
    model, codec = options.get("model") or USUAL, options.get("codec")
    task = ask(model, options.get("task"), {})
    known = list(settings_of(model, options.get("task")).values())
    own = ("model", "task", "codec", "valid", "test", "run", "resume", "progress", "timing")
    settings = {name: one for name, one in options.items() if name not in own}
    found = open_data(data, roles=task.roles(), codec=codec, options=settings, allowed=known)
    return SharedCodecs("all rows together", learn_codecs(found))
