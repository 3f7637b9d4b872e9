"""`fit`: from data to a model one can use, whatever the family."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from chainrule.bundle import Bundle
from chainrule.codecs.choose import Choice
from chainrule.codecs.registry import codec as codec_named
from chainrule.config import Config, refuse_unknown, share
from chainrule.data.corpus import Corpus
from chainrule.data.dataset import Prepared, prepare, suggest_codec
from chainrule.data.sources import Given, ReadConfig, read
from chainrule.errors import ConfigError
from chainrule.judge.names import own_names
from chainrule.judge.score import Score, score_ids, taste
from chainrule.models.base import Model, ModelConfig
from chainrule.models.registry import family
from chainrule.progress import Progress
from chainrule.progress import progress as shown
from chainrule.train.config import TrainConfig

TASTE = 16_384  # ids
FIGURES = (
    "perplexity",
    "bits_per_symbol",
    "bits_per_byte",
    "symbols",
    "unknown",
    "log2prob",
    "perplexity_known",
)


def fit(
    data: Given,
    *,
    model: str = "ngram",
    codec: str | None = None,
    valid: Given | None = None,
    test: Given | None = None,
    run: str | Path | None = None,
    resume: bool = False,
    progress: Progress = shown,
    **options: Any,
) -> Bundle:
    """Train a model of any family on data of any kind; what is not given is chosen, and the choice is noted.

    `options` are settings of the family (`order=5`), of the codec (`vocab="10k"`), of reading (`column="text"`)
    and, for models that learn by gradient, of training (`budget="10m"`). Such a training keeps its checkpoints in
    the folder `run`, and goes on from there with `resume`.
    """
    kind = family(model)
    if not (kind.learns or counts(kind)):
        raise ConfigError(
            f"A {model} is not trained: it is made of trained models, with `chainrule {model} A B -o C`."
        )
    config = ReadConfig.from_values(share(options, ReadConfig))
    source = read(data, config)
    choice = Choice(codec, "as asked") if codec else suggest_codec(source, config)
    alphabet = codec_named(choice.name)
    refuse_unknown(options, ReadConfig, alphabet.Config, *settings_of(model))
    kind.Config.from_values(share(options, kind.Config))  # mistakes are told before long work
    chosen = {**choice.settings, **share(options, alphabet.Config)}
    prepared = prepare(source, valid, test, codec=choice.name, settings=chosen, config=config)
    found = learn(model, prepared, options, run, resume, progress)
    card = _card(found.model, prepared, (*_data_notes(prepared, choice), *found.notes))
    return Bundle(prepared.codec, found.model, card | dict(found.facts))


@dataclass(frozen=True)
class Outcome:
    """What learning gave."""

    model: Model
    notes: tuple[str, ...]  # for people
    facts: Mapping[str, Any]  # for the card


def learn(
    model: str,
    prepared: Prepared,
    options: Mapping[str, Any],
    run: str | Path | None = None,
    resume: bool = False,
    progress: Progress = shown,
) -> Outcome:
    """A model of a family from prepared data; `options` of reading and of codecs are not looked at."""
    kind: Any = family(model)
    settings = kind.Config.from_values(share(options, kind.Config))
    told = replace(settings, alphabet=prepared.codec.size, silent=prepared.codec.silent)
    if counts(kind):
        valid = prepared.valid.ids if prepared.valid else None
        learnt = kind.learn(told, prepared.train.ids, progress, valid)
        return Outcome(learnt, learnt.notes, {})
    return _train(kind, told, prepared, options, run, resume, progress)


def counts(kind: type[Model]) -> bool:
    """Whether a family learns by counting, in one pass; the others learn by gradient."""
    return hasattr(kind, "learn")


def settings_of(model: str) -> list[type[Config]]:
    """What a user may set for a family: its own settings, and those of training if it is trained by gradient."""
    kind = family(model)
    return [kind.Config] if counts(kind) else [kind.Config, TrainConfig]


def _data_notes(prepared: Prepared, choice: Choice) -> list[str]:
    """What was chosen and left out while reading."""
    skipped = f"{prepared.skipped:,} blank lines or empty cells were skipped"
    told = [
        f"codec: {choice.name} ({choice.reason})",
        f"data: {prepared.data.how}",
        *prepared.data.source.notes,
    ]
    return [*told, skipped] if prepared.skipped else told


def _train(
    kind: Any,
    settings: ModelConfig,
    prepared: Prepared,
    options: Mapping[str, Any],
    run: str | Path | None,
    resume: bool,
    progress: Progress,
) -> Outcome:
    from chainrule.train.gradient import learn

    config = TrainConfig.from_values(share(options, TrainConfig))
    folder = None if run is None else Path(run)
    found = learn(kind, settings, prepared, config, options.keys(), folder, resume, progress)
    return Outcome(found.model, found.notes, found.facts)


def _card(learnt: Model, prepared: Prepared, notes: tuple[str, ...]) -> dict[str, Any]:
    """Where the model comes from and how good it is."""
    parts = {"valid": prepared.valid, "test": prepared.test}
    return {
        "data": {
            "name": prepared.data.source.name,
            "fingerprint": prepared.data.fingerprint,
            "sequences": prepared.train.sequences,
            "symbols": prepared.train.symbols,
            "bytes": prepared.train.bytes,
        },
        "reading": prepared.data.source.config.values(),
        "notes": list(notes),
        "figures": {
            name: own_names(figures(_judge(learnt, part)), learnt)
            for name, part in parts.items()
            if part is not None
        },
    }


def _judge(learnt: Model, part: Corpus) -> Score:
    """On everything; a model that reads both ways, which is asked for one symbol at a time, on a taste of it."""
    if learnt.reads == "both" and len(part.ids) > TASTE:
        return score_ids(learnt, taste(part.ids, TASTE))
    return score_ids(learnt, part.ids, part.bytes, part.unknown)


def figures(score: Score) -> dict[str, float]:
    """A score as plain numbers."""
    return {name: getattr(score, name) for name in FIGURES}
