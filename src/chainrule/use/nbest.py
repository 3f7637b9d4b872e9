"""N-best lists: candidates of a file, group by group, ranked by the model together with scores that others gave."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from chainrule.config import Config, option
from chainrule.data.given import Table
from chainrule.errors import ConfigError, DataError
from chainrule.use.score import SequenceScore, opened, results_of
from chainrule.use.source_inputs import SourceReader

if TYPE_CHECKING:
    from chainrule.bundle import Bundle
    from chainrule.codecs.base import Texts
    from chainrule.data.decimals import Decimals
    from chainrule.data.sources import Given, Source

Load = Callable[[str], "Bundle"]  # a model from its folder

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
    source: str | None = option(
        None,
        "what all candidates are written from or, with --file, the column that says so of each; several: A,B",
    )
    also: tuple[str, ...] = option(
        (),
        "a second model and its weight, such as lm=0.3: its log-probability counts too; may be given again",
    )
    channel: str | None = option(
        None,
        "noisy channel: a model that writes backwards and its weight, such as back=1: log p(source given candidate) "
        "counts too",
    )
    lm_weight: float = option(1.0, "weight of the model's log-probability beside them", low=-1e6, high=1e6)
    log_base: str = option(
        "2", "base of the model's log-probability: 10 as in ARPA files", choices=tuple(BASES)
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        self.weights()
        self.models()
        if self.channel and not self.source:
            raise ConfigError("--channel asks how probable the source is: say what it is, with --source.")

    def weights(self) -> dict[str, float]:
        """Column -> weight."""
        return dict(_weighted("--weight", one, "a column", "acoustic=0.1") for one in self.weight)

    def models(self) -> dict[str, tuple[float, bool]]:
        """Folder -> weight, and whether it writes backwards."""
        others = [_weighted("--also", one, "a model", "lm=0.3") for one in self.also]
        found = {name: (weight, False) for name, weight in others}
        if self.channel:
            name, weight = _weighted("--channel", self.channel, "a model", "back=1")
            found[name] = (weight, True)
        return found


def _weighted(flag: str, text: str, what: str, example: str) -> tuple[str, float]:
    """A name and its weight."""
    name, equals, value = text.rpartition("=")
    try:
        weight = float(value)
    except ValueError:
        equals, weight = "", 0.0
    if not (name and equals):
        raise ConfigError(f"{flag} {text}: {what} and a number were expected, as in {example}.")
    return name, weight


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
    bundle: Bundle, source: Given, config: NbestConfig, load: Load, **reading: Any
) -> tuple[Nbest, ...]:
    """The lists of candidates in a table, each ranked; groups come as they are first seen.

    total = lm_weight * log p(text) + sum of weight * score, over the columns with scores of others and over other
    models, which are read by `load`. Where there is a source, the model's is log p(text given source).
    """
    found = opened(bundle.codec, bundle.card.get("reading", {}), source, reading)
    if config.group or config.id or config.weight or config.source:
        _check_table(found)
    others = [Other(name, load(name), *how) for name, how in config.models().items()]
    groups: dict[str | None, list[Candidate]] = {}
    for group, one in _candidates(bundle, found, config, others):
        groups.setdefault(group, []).append(one)
    best_first = {group: sorted(each, key=lambda one: -one.total) for group, each in groups.items()}
    return tuple(Nbest(group, tuple(each)) for group, each in best_first.items())


def rank_from(bundle: Bundle, candidates: Sequence[str], config: NbestConfig, load: Load) -> Nbest:
    """The same of texts; the source of all of them is what the settings say, a tab between several."""
    said = {} if config.source is None else dict(enumerate(config.source.split("\t")))
    columns = {"candidate": list(candidates)} | {
        f"source {n}": [one] * len(candidates) for n, one in said.items()
    }
    told = replace(config, source=",".join(list(columns)[1:]) or None)
    table = Table("the candidates", columns, tuple(columns))
    return rank_file(bundle, table, told, load, column="candidate")[0]


@dataclass(frozen=True)
class Other:
    """A second model that has a say."""

    name: str
    bundle: Bundle
    weight: float
    backwards: bool

    def logs(self, texts: Texts, sources: Sequence[Texts], folders: Sequence[Path]) -> list[float]:
        """Log2-probability of each text or, backwards, of its source given the text."""
        if self.backwards:
            if len(sources) != 1:
                raise ConfigError("--channel reads one source, a text.")
            [texts], sources = sources, [texts]
        return [one.log2prob for one in _scored(self.bundle, texts, sources, folders)]


def _scored(
    bundle: Bundle, texts: Texts, sources: Sequence[Texts], folders: Sequence[Path], first: int = 1
) -> list[SequenceScore]:
    """Of each text, given its source where the model has one; files that sources name may lie in `folders`."""
    reader = SourceReader(bundle)
    if bundle.task.source is None or not sources:
        return list(results_of(bundle, texts, first))
    if len(sources) != len(reader.roles):
        raise ConfigError(
            f"This model reads {', '.join(reader.roles)}: name as many sources, --source A,B, not {len(sources)}."
        )
    return list(results_of(bundle, texts, first, reader.cells(sources, folders)))


def _check_table(source: Source) -> None:
    if not source.table:
        raise ConfigError(
            f"--group, --id, --weight and --source name columns, and {source.name} is no table. Give .csv, .tsv, "
            ".jsonl or .parquet, or say what it is with --format."
        )


def _candidates(
    bundle: Bundle, source: Source, config: NbestConfig, others: Sequence[Other]
) -> Iterator[tuple[str | None, Candidate]]:
    """Every row with its group."""
    weights = config.weights()
    named = {"group": config.group, "id": config.id}
    kept = {role: column for role, column in named.items() if column} | {name: name for name in weights}
    given = [one.strip() for one in config.source.split(",")] if config.source else []
    columns = (source.config.column, *given, *kept.values())
    first, folders = 1, list(dict.fromkeys(path.parent for path in source.files))
    for texts, *cells in source.rows(columns, (False,) * len(columns)):
        sources, told = cells[: len(given)], cells[len(given) :]
        rows = {role: _decoded(column) for role, column in zip(kept, told, strict=True)}
        said = {one.name: one.logs(texts, sources, folders) for one in others}
        for place, scored in enumerate(_scored(bundle, texts, sources, folders, first)):
            row = {role: column[place] for role, column in rows.items()}
            more = {one.name: (one.weight, said[one.name][place]) for one in others}
            yield row.get("group"), _candidate(replace(scored, id=row.get("id")), row, more, source, config)
        first += len(texts)


def _decoded(column: Texts) -> list[str]:
    return [cell.decode("utf-8", "backslashreplace") for cell in column]


def _candidate(
    scored: SequenceScore,
    row: Mapping[str, str],
    others: Mapping[str, tuple[float, float]],
    source: Source,
    config: NbestConfig,
) -> Candidate:
    weights = config.weights()
    where, decimals = f"{source.name}, row {scored.row:,}", source.config.decimals
    scores = {name: _number(row[name], name, where, decimals) for name in weights}
    base = math.log(2.0) / math.log(BASES[config.log_base])
    lm, weighted = config.lm_weight * scored.log2prob * base, {n: weights[n] * scores[n] for n in weights}
    weighted |= {name: weight * log * base for name, (weight, log) in others.items()}
    scores |= {name: log * base for name, (_, log) in others.items()}
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
