"""`fit`: from data to a model one can use, whatever the family."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from chainrule.bundle import Bundle
from chainrule.codecs.choose import Choice
from chainrule.codecs.registry import codec as codec_named
from chainrule.config import refuse_unknown, share
from chainrule.data.corpus import Corpus
from chainrule.data.dataset import Prepared, prepare, suggest_codec
from chainrule.data.sources import Given, ReadConfig, read
from chainrule.errors import ConfigError
from chainrule.judge.score import Score, score_ids
from chainrule.models.base import Model, ModelConfig
from chainrule.models.registry import family
from chainrule.progress import Progress
from chainrule.progress import progress as shown

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
    progress: Progress = shown,
    **options: Any,
) -> Bundle:
    """Train a model of any family on data of any kind; what is not given is chosen, and the choice is noted.

    `options` are settings of the family (`order=5`), of the codec (`vocab="10k"`) and of reading (`column="text"`).
    """
    kind = family(model)
    config = ReadConfig.from_values(share(options, ReadConfig))
    source = read(data, config)
    choice = Choice(codec, "as asked") if codec else suggest_codec(source, config)
    alphabet = codec_named(choice.name)
    refuse_unknown(options, ReadConfig, kind.Config, alphabet.Config)
    settings = kind.Config.from_values(share(options, kind.Config))
    chosen = {**choice.settings, **share(options, alphabet.Config)}
    prepared = prepare(source, valid, test, codec=choice.name, settings=chosen, config=config)
    learnt = _learn(kind, settings, prepared, progress)
    notes = (*_data_notes(prepared, choice), *getattr(learnt, "notes", ()))
    return Bundle(prepared.codec, learnt, _card(learnt, prepared, notes, progress))


def _data_notes(prepared: Prepared, choice: Choice) -> list[str]:
    """What was chosen and left out while reading."""
    skipped = f"{prepared.skipped:,} blank lines or empty cells were skipped"
    told = [
        f"codec: {choice.name} ({choice.reason})",
        f"data: {prepared.data.how}",
        *prepared.data.source.notes,
    ]
    return [*told, skipped] if prepared.skipped else told


def _learn(kind: type[Model], settings: ModelConfig, prepared: Prepared, progress: Progress) -> Model:
    """Counting families learn in one pass over the ids."""
    told = replace(settings, alphabet=prepared.codec.size, silent=prepared.codec.silent)
    learn = getattr(kind, "learn", None)
    if learn is None:
        raise ConfigError(f"The family {kind.family!r} cannot be trained by `fit`.")
    learnt: Model = learn(told, prepared.train.ids, progress, prepared.valid.ids if prepared.valid else None)
    return learnt


def _card(learnt: Model, prepared: Prepared, notes: tuple[str, ...], progress: Progress) -> dict[str, Any]:
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
        "figures": {name: figures(_judge(learnt, part)) for name, part in parts.items() if part is not None},
    }


def _judge(learnt: Model, part: Corpus) -> Score:
    return score_ids(learnt, part.ids, part.bytes, part.unknown)


def figures(score: Score) -> dict[str, float]:
    """A score as plain numbers."""
    return {name: getattr(score, name) for name in FIGURES}
