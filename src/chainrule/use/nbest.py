"""N-best lists: candidates of a file, group by group, ranked by the model together with scores that others gave."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from chainrule.config import Config, option
from chainrule.errors import ConfigError, DataError
from chainrule.use.score import SequenceScore, opened, results_of

if TYPE_CHECKING:
    from chainrule.bundle import Bundle
    from chainrule.data.decimals import Decimals
    from chainrule.data.sources import Given, Source

BASES = {"2": 2.0, "10": 10.0, "e": math.e}


@dataclass(frozen=True, kw_only=True)
class NbestConfig(Config):
    """How candidates of a file are ranked."""

    group: str | None = option(None, "the column whose equal values make one list of candidates")
    id: str | None = option(None, "the column with the id of each candidate")
    weight: tuple[str, ...] = option(
        (),
        "a column with another score and its weight, such as acoustic=0.1; more is better; may be given again",
    )
    lm_weight: float = option(1.0, "weight of the model's log-probability beside them", low=-1e6, high=1e6)
    log_base: str = option(
        "2", "base of the model's log-probability: 10 as in ARPA files", choices=tuple(BASES)
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        self.weights()

    def weights(self) -> dict[str, float]:
        """Column -> weight."""
        found = {}
        for one in self.weight:
            name, equals, value = one.rpartition("=")
            try:
                found[name] = float(value)
            except ValueError:
                equals = ""
            if not (name and equals):
                raise ConfigError(f"--weight {one}: a column and a number were expected, as in acoustic=0.1.")
        return found


@dataclass(frozen=True)
class Candidate:
    """One of a list, with everything that decides about it."""

    scored: SequenceScore
    scores: Mapping[str, float]  # that others gave
    lm: float  # the model's log-probability in the base asked for, times its weight
    weighted: Mapping[str, float]  # the scores times their weights
    total: float  # the sum of these

    def to_dict(self) -> dict[str, Any]:
        """For scripts."""
        parts = {"scores": dict(self.scores), "lm": self.lm, "weighted": dict(self.weighted)}
        return {**self.scored.to_dict(), **parts, "total": self.total}


@dataclass(frozen=True)
class Nbest:
    """The candidates of one group, best first."""

    group: str | None
    ranked: tuple[Candidate, ...]

    def to_dict(self) -> dict[str, Any]:
        """For scripts."""
        named = {} if self.group is None else {"group": self.group}
        return {**named, "ranked": [one.to_dict() for one in self.ranked]}


def rank_file(
    bundle: Bundle, source: Given, config: NbestConfig | None = None, **reading: Any
) -> tuple[Nbest, ...]:
    """The lists of candidates in a table, each ranked; groups come as they are first seen.

    total = lm_weight * log p(text) + sum of weight * score, over the columns with scores of others.
    """
    config = config or NbestConfig()
    found = opened(bundle.codec, bundle.card.get("reading", {}), source, reading)
    if config.group or config.id or config.weight:
        _check_table(found)
    groups: dict[str | None, list[Candidate]] = {}
    for group, one in _candidates(bundle, found, config):
        groups.setdefault(group, []).append(one)
    best_first = {group: sorted(each, key=lambda one: -one.total) for group, each in groups.items()}
    return tuple(Nbest(group, tuple(each)) for group, each in best_first.items())


def _check_table(source: Source) -> None:
    if not source.table:
        raise ConfigError(
            f"--group, --id and --weight name columns, and {source.name} is no table. Give .csv, .tsv, .jsonl or "
            ".parquet, or say what it is with --format."
        )


def _candidates(
    bundle: Bundle, source: Source, config: NbestConfig
) -> Iterator[tuple[str | None, Candidate]]:
    """Every row with its group."""
    weights = config.weights()
    named = {"group": config.group, "id": config.id}
    kept = {role: column for role, column in named.items() if column} | {name: name for name in weights}
    first = 1
    for texts, *others in source.rows((source.config.column, *kept.values()), (False,) * (1 + len(kept))):
        cells = {
            role: [cell.decode("utf-8", "backslashreplace") for cell in column]
            for role, column in zip(kept, others, strict=True)
        }
        for place, scored in enumerate(results_of(bundle, texts, first)):
            row = {role: column[place] for role, column in cells.items()}
            told = replace(scored, id=row.get("id"))
            yield row.get("group"), _candidate(told, row, source, config)
        first += len(texts)


def _candidate(
    scored: SequenceScore, row: Mapping[str, str], source: Source, config: NbestConfig
) -> Candidate:
    weights = config.weights()
    where, decimals = f"{source.name}, row {scored.row:,}", source.config.decimals
    scores = {name: _number(row[name], name, where, decimals) for name in weights}
    own = scored.log2prob * math.log(2.0) / math.log(BASES[config.log_base])
    lm, weighted = config.lm_weight * own, {name: weight * scores[name] for name, weight in weights.items()}
    return Candidate(scored, scores, lm, weighted, lm + sum(weighted.values()))


def _number(cell: str, name: str, where: str, decimals: Decimals) -> float:
    try:
        return decimals.number(cell)
    except ValueError:
        from chainrule.data.decimals import advice

        raise DataError(
            f"{where}: a number was expected in column {name!r}, not {cell!r:.40}. {advice(cell)}"
            f"Repair it, or leave such rows out: --where {f'{name} != {cell}'!r:.60}"
        ) from None
