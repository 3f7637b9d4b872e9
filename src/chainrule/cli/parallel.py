"""Data of two sides, as the command line names them: two files, or two columns of a table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from chainrule.cli.arguments import pairs, sources
from chainrule.errors import ConfigError

Pair = tuple[str | None, str | None]
Named = dict[str, str] | str | list[Path]
SIDES = ("source", "target")


@dataclass(frozen=True)
class Parallel:
    """Where the data are, and what follows from how they were named."""

    data: Named
    settings: dict[str, str]  # the columns, or the task that two files are for
    parts: dict[str, Named]  # validation and test data


def parallel(train: Sequence[str], train_pair: Pair, valid: Pair, test: Pair) -> Parallel:
    """Files of both sides, or a table and perhaps the names of two columns, or data of one side alone."""
    parts: dict[str, Named] = {
        name: pairs((), *pair) for name, pair in (("valid", valid), ("test", test)) if any(pair)
    }
    if train and parts:
        raise ConfigError(
            "--valid-source and --test-source go with --source FILE: give --valid TABLE and --test."
        )
    if train:
        columns = {side: one for side, one in zip(SIDES, train_pair, strict=True) if one is not None}
        return Parallel(sources(train), columns, {})
    if not any(train_pair):
        raise ConfigError(
            "Name the data: TRAIN, or --source FILE and --target FILE. Try: chainrule fit --help"
        )
    return Parallel(pairs((), *train_pair), {"task": "translate"}, parts)
