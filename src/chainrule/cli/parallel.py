"""Data of two sides, as the command line names them: two files, or two columns of a table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from chainrule.cli.arguments import pairs, sources
from chainrule.config import Config, option
from chainrule.errors import ConfigError

Named = dict[str, str] | str | list[Path]
SIDES = ("source", "target")


@dataclass(frozen=True, kw_only=True)
class HeldOutConfig(Config):
    """Parallel files to validate and to test on; --valid and --test are for tables."""

    valid_source: str | None = option(None, "sources to validate on, a file")
    valid_target: str | None = option(None, "their translations, a file")
    test_source: str | None = option(None, "sources to test on, a file")
    test_target: str | None = option(None, "their translations, a file")

    @property
    def parts(self) -> dict[str, Named]:
        """By name, where any were given."""
        both = {"valid": (self.valid_source, self.valid_target), "test": (self.test_source, self.test_target)}
        return {name: pairs((), *pair) for name, pair in both.items() if any(pair)}


@dataclass(frozen=True)
class Parallel:
    """Where the data are, and what follows from how they were named."""

    data: Named
    settings: dict[str, str]  # the columns, or the task that two files are for
    parts: dict[str, Named]  # validation and test data


def parallel(
    train: Sequence[str], source: str | None, target: str | None, held: HeldOutConfig, verb: str = "fit"
) -> Parallel:
    """Files of both sides, or a table and perhaps the names of two columns, or data of one side alone."""
    if train and held.parts:
        raise ConfigError(
            "--valid-source and --test-source go with --source FILE. Of a table, give --valid and --test."
        )
    if train:
        columns = {side: one for side, one in zip(SIDES, (source, target), strict=True) if one is not None}
        return Parallel(sources(train), columns, {})
    if source is None and target is None:
        raise ConfigError(
            f"Name the data: a file, or --source FILE and --target FILE. Try: chainrule {verb} --help"
        )
    return Parallel(pairs((), source, target), {"task": "translate"}, held.parts)
