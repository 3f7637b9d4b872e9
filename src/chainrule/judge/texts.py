"""Figures of written texts beside references: BLEU, chrF and TER by sacrebleu, ROUGE, METEOR, error rates.

Every figure is made of sums over texts, so that the bootstrap draws texts and adds up what is known of each.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np

from chainrule.errors import ConfigError, DataError
from chainrule.judge.judged import Judged, Table
from chainrule.judge.meteor import Meteor, MeteorConfig
from chainrule.judge.rouge import FIGURES, rouge

EXTRA = "{name} is wanted for this figure: pip install 'chainrule[metrics]'"


@dataclass(frozen=True)
class Metric:
    """A figure of texts, from the sums over what is known of each."""

    known: np.ndarray  # (texts, numbers)
    figure: Callable[[np.ndarray], float]  # of sums (numbers,)
    signature: str = ""  # how it was computed, for those who compare with others

    @property
    def value(self) -> float:
        """Of all texts."""
        return self.figure(self.known.sum(0))


@dataclass(frozen=True)
class Rewritten(Judged):
    """Written texts beside their references."""

    sure: ClassVar[tuple[str, ...]] = ("bleu", "chrf", "rouge1", "rouge2", "rougeL", "meteor", "wer")

    metrics: Mapping[str, Metric]
    others: Mapping[str, float]  # figures that are no sums over texts
    examples_count: int

    @property
    def examples(self) -> int:
        return self.examples_count

    def figures(self) -> dict[str, float]:
        return {name: one.value for name, one in self.metrics.items()} | dict(self.others)

    def resampled(self, rows: np.ndarray) -> Self:
        drawn = {
            name: replace(one, known=one.known[rows])
            for name, one in self.metrics.items()
            if name in self.sure
        }
        return replace(self, metrics=drawn)

    @property
    def signatures(self) -> dict[str, str]:
        """Of the figures that others compute in several ways."""
        return {name: one.signature for name, one in self.metrics.items() if one.signature}

    def details(self) -> dict[str, Any]:
        return {"signature": self.signatures.get("bleu", ""), "signatures": self.signatures}

    def tables(self) -> list[Table]:
        return [Table(["figure", "signature"], [[name, one] for name, one in self.signatures.items()])]


def rewritten(
    hypotheses: Sequence[str],
    references: Sequence[Sequence[str]],
    others: Mapping[str, float] | None = None,
    meteor: MeteorConfig | None = None,
) -> Rewritten:
    """All figures of texts; `references` are one sequence or several, each with a text for every hypothesis."""
    _check(hypotheses, references)
    each = list(zip(*references, strict=True))  # of every hypothesis, all references
    found = {name: sacrebleu_metric(name, hypotheses, references) for name in ("bleu", "chrf", "ter")}
    found |= {"bleu_lowercase": sacrebleu_metric("bleu", hypotheses, references, lowercase=True)}
    found |= rouge_metrics(hypotheses, each)
    found |= {
        "meteor": meteor_metric(hypotheses, each, meteor or MeteorConfig()),
        "wer": error_rate(hypotheses, each, str.split),
        "cer": error_rate(hypotheses, each, list),
    }
    return Rewritten(found, others or {}, len(hypotheses))


def _check(hypotheses: Sequence[str], references: Sequence[Sequence[str]]) -> None:
    """Every hypothesis must have its references."""
    for one in references:
        if len(hypotheses) != len(one):
            told = f"There are {len(hypotheses):,} hypotheses and {len(one):,} references"
            raise DataError(f"{told}: give one line for each.")
    if not references or not hypotheses:
        raise DataError("There is nothing to judge: the references are empty.")


def _sacrebleu() -> Any:
    """The library, which is an extra."""
    try:
        import sacrebleu
    except ImportError as error:
        raise ConfigError(EXTRA.format(name="sacrebleu")) from error
    return sacrebleu


def sacrebleu_metric(
    name: str, hypotheses: Sequence[str], references: Sequence[Sequence[str]], **options: Any
) -> Metric:
    """BLEU, chrF or TER as sacrebleu computes it, with its signature."""
    metric: Any = getattr(_sacrebleu().metrics, name.upper())(**options)
    # As its own bootstrap does.
    known = metric._extract_corpus_statistics(list(hypotheses), [list(one) for one in references])
    metric.num_refs = len(references)

    def figure(sums: np.ndarray) -> float:
        return float(metric._compute_score_from_stats(sums.tolist()).score)

    return Metric(np.array(known, np.float64), figure, str(metric.get_signature()))


def rouge_metrics(hypotheses: Sequence[str], references: Sequence[Sequence[str]]) -> dict[str, Metric]:
    """Means of what each text has."""
    values = [rouge(said, wanted) for said, wanted in zip(hypotheses, references, strict=True)]
    return {name: Metric(np.array([[one[name], 1.0] for one in values]), _mean) for name in FIGURES}


def meteor_metric(
    hypotheses: Sequence[str], references: Sequence[Sequence[str]], config: MeteorConfig
) -> Metric:
    """METEOR of sums over texts, words as BLEU divides them, in lower case; from 0 to 1."""
    divide, judge = _sacrebleu().metrics.BLEU().tokenizer, Meteor.of(config)

    def words(text: str) -> list[str]:
        return str(divide(text.lower())).split()

    pairs = zip(hypotheses, references, strict=True)
    known = [judge.best(words(said), [words(one) for one in wanted]) for said, wanted in pairs]
    signature = f"nrefs:{len(references[0])}|{config.signature}"
    return Metric(np.array(known, np.float64), lambda sums: config.figure(*sums.tolist()), signature)


def _mean(sums: np.ndarray) -> float:
    return float(sums[0] / sums[1]) if sums[1] else math.nan


def error_rate(
    hypotheses: Sequence[str], references: Sequence[Sequence[str]], split: Callable[[str], list[str]]
) -> Metric:
    """Word or character error rate: insertions, deletions and substitutions for each one of the nearest reference."""
    try:
        from rapidfuzz.distance.Levenshtein import distance
    except ImportError as error:
        raise ConfigError(EXTRA.format(name="rapidfuzz")) from error
    known = []
    for said, wanted in zip(hypotheses, references, strict=True):
        own, others = split(said), [split(one) for one in wanted]
        each = [(distance(own, one), len(one)) for one in others]
        known.append(min(each, key=lambda found: found[0] / max(1, found[1])))
    return Metric(np.array(known, np.float64), _mean)
