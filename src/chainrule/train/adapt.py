"""Fine-tuning: train a saved model further on new data (domain adaptation).

Codec, family, sizes and task come from the model. One that learns by gradient is trained further; an n-gram is
interpolated with one of the new data, or counted again from old and new data together. Figures on old and new text,
before and after, show what was gained and what was forgotten.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from chainrule.bundle import Bundle, load
from chainrule.codecs.base import Codec
from chainrule.config import Config, flag, share, visible
from chainrule.data.columns import ByRole, Data, opened
from chainrule.data.corpus import Part, encode
from chainrule.data.dataset import Dataset, Prepared, encoded, open_data
from chainrule.data.roles import Request, Role
from chainrule.data.rows import TEXT
from chainrule.data.sources import ReadConfig
from chainrule.errors import ChainruleError, ConfigError, DataError, ModelError
from chainrule.models.base import CountingModel
from chainrule.models.mix import Mix, best_weights
from chainrule.symbols import BOS, UNK
from chainrule.tasks.base import Task
from chainrule.train.card import Outcome, card_of, judging_threads
from chainrule.train.config import FREE, TUNING, FitConfig
from chainrule.train.fit import Asked, Place, finished, learn, refits, renamed, settings_of
from chainrule.train.refit import first_half, recount, refit_facts
from chainrule.train.start import Start

SLOWER = 0.3  # the learning rate, as a part of that the model was trained with
CAREFUL = 1e-4  # the learning rate where that is not known
STACKS = ("layers", "blocks", "rightward.layers", "leftward.layers")  # what families call their layers


@dataclass(frozen=True)
class Origin:
    """The model that is fine-tuned."""

    name: str
    bundle: Bundle

    @classmethod
    def of(cls, given: str | Path | Bundle) -> Origin:
        """A saved model, or one in memory; refused if nothing can be learnt from there."""
        bundle = given if isinstance(given, Bundle) else load(given)
        found = cls("the given model" if isinstance(given, Bundle) else str(given), bundle)
        kind = bundle.body.family
        if bundle.body.learner is None:
            raise ModelError(
                f"{found.name} is a {kind}, made of trained models. Fine-tune one of those, and {kind} again."
            )
        if bundle.head is not None or not bundle.body.arrays():
            raise ModelError(f"{found.name} is a {kind} that cannot be fine-tuned. Fit a new one.")
        return found

    @property
    def reading(self) -> dict[str, Any]:
        """How its own data were read."""
        return share(self.bundle.card.get("reading", {}), ReadConfig)

    def check(self, asked: Asked, options: Mapping[str, Any]) -> None:
        """Refuse what contradicts the model: its family, sizes, task and codec stay."""
        own = {
            "model": self.bundle.body.family,
            "task": self.bundle.task.name,
            "codec": self.bundle.codec.name,
        }
        for name, value in own.items():
            if getattr(asked, name) not in (None, value):
                raise self._contradiction(name, getattr(asked, name), value)
        for config in (self.bundle.body.config, self.bundle.codec.config):
            self._check_settings(config, options)
        for name in ("transfer", *TUNING):
            if options.get(name):
                raise ConfigError(f"{flag(name)} is for a new task with a head, such as --task classify.")

    def _check_settings(self, config: Config, options: Mapping[str, Any]) -> None:
        given = {name: one for name, one in share(options, type(config)).items() if name not in FREE}
        wanted = type(config).from_values(given)
        for name in given:
            if getattr(wanted, name) != getattr(config, name):
                raise self._contradiction(name, getattr(wanted, name), getattr(config, name))

    def _contradiction(self, name: str, value: Any, own: Any) -> ConfigError:
        return ConfigError(
            f"{flag(name)} {value} contradicts {self.name}, whose {name.replace('_', ' ')} is {own} and stays. Leave "
            "the flag out, or fit a new model without --from."
        )


def adapt(given: str | Path | Bundle, asked: Asked, options: Mapping[str, Any], place: Place) -> Bundle:
    """Fine-tune a trained model on new data."""
    origin = Origin.of(given)
    before = origin.bundle
    known = list(settings_of(before.body.family, before.task.name).values())
    options = renamed(options, known)
    origin.check(asked, options)
    task = type(before.task).from_values({**before.task.values(), **share(options, type(before.task))})
    config = FitConfig.from_values(share(options, FitConfig))
    _check_parts(before, config)
    data = _opened(origin, asked, task, options, known)
    codecs = _extended(before, data) if config.extend_vocab else dict(before.codecs)
    prepared = encoded(data, codecs)
    _check_known(task, prepared)
    old = old_text(origin, asked.old, task)
    twice = (prepared.test or prepared.valid, old.part(codecs))  # judged before and after
    place = place.judging(task, prepared.valid, prepared.test, *twice, twice[1])
    learnt = _train
    if isinstance(before.body, CountingModel):
        learnt = _add_counts if config.merge == "counts" else _interpolate
    adapted = learnt(origin, prepared, task, options, place)
    figures = adapted.card["figures"]
    with judging_threads(adapted.card):  # as many as training found best
        new = HeldText(data.test or data.valid).figures(before, task)
        earlier = {"old text": old.figures(before, task), "new text": new}
        later = {"old text": old.figures(adapted, task)}
    later |= {"new text": figures.get("test") or figures.get("valid")}
    told = {name: {"before": earlier[name], "after": later[name]} for name in earlier if earlier[name]}
    return replace(adapted, card=_card(adapted, origin, prepared, old.note, told))


def _check_parts(before: Bundle, config: FitConfig) -> None:
    """Refuse to freeze layers, or to grow tables, that there are not."""
    if not isinstance(before.body, CountingModel):
        frozen(before.body, config.unfreeze)
        if config.merge is not None:
            raise ConfigError(
                f"--merge is for models made by counting; a {before.body.family} is trained further. Leave it out."
            )
    elif config.extend_vocab or config.unfreeze is not None:
        raise ConfigError(
            f"A {before.body.family} has no layers and no table of symbols that could grow. Leave out "
            "--extend-vocab and --unfreeze; for new words, fit a new one to old and new text together."
        )


def _opened(
    origin: Origin, asked: Asked, task: Task, options: Mapping[str, Any], known: list[type[Config]]
) -> Dataset:
    """The new data, read like the old ones unless options say otherwise, for the codecs of the model."""
    roles = _roles(origin, task)
    every = origin.reading | dict(options)
    found = open_data(asked.data, asked.valid, asked.test, roles=roles, options=every, allowed=known)
    return replace(found, why=dict.fromkeys(found.roles, f"that of {origin.name}"))


def _roles(origin: Origin, task: Task) -> list[Role]:
    return [replace(role, codec=origin.bundle.codecs[role.name].name) for role in task.roles()]


def _extended(before: Bundle, data: Dataset) -> dict[str, Codec]:
    """The codecs, that of what the body reads with the symbols of the new training part."""
    role = before.task.body_role(before.codecs)
    return {**before.codecs, role: before.codec.extended(data.train[role])}


def _check_known(task: Task, prepared: Prepared) -> None:
    """Refuse unknown symbols where they are impossible: nothing can be learnt from them."""
    role = task.body_role(prepared.codecs)
    unknown = prepared.train[role].unknown
    if unknown and UNK in prepared.codecs[role].suppressed:
        raise DataError(
            f"The vocabulary is closed, and {unknown:,} symbols of the data are not in it. Add them with "
            "--extend-vocab, if the model learns by gradient, or fit a new one."
        )


@dataclass(frozen=True)
class HeldText:
    """Text that a model is judged on before and after, with whatever codecs it has; there may be none."""

    blocks: ByRole | None
    note: str = ""  # why there is none, for people

    def part(self, codecs: Mapping[str, Codec]) -> Part | None:
        """As ids."""
        return (
            Part({role: encode(codecs[role], one) for role, one in self.blocks.items()})
            if self.blocks
            else None
        )

    def figures(self, bundle: Bundle, task: Task) -> dict[str, float] | None:
        """How well a model does on it."""
        part = self.part(bundle.codecs)
        return (
            None if part is None else dict(task.judge(bundle.body, bundle.head, part, bundle.codecs).values)
        )


def old_text(origin: Origin, given: Data | None, task: Task) -> HeldText:
    """Text like that the model was trained on: as given, or what was held out of its own data, if they are there."""
    roles = _roles(origin, task)
    if given is not None:
        asked = Request.of(roles, None, origin.reading, ())
        return HeldText(opened(given, asked).suited({role.name: role for role in asked.roles}).whole())
    advice = "give text like the old with --old to see what is forgotten"
    if "refit" in origin.bundle.card:
        return HeldText(None, f"{origin.name} has learnt from all of its data; {advice}")
    data = _own_data(origin, roles)
    held = (data.test or data.valid) if data else None
    return HeldText(held, "" if held else f"the data of {origin.name} are not there as they were; {advice}")


def _own_data(origin: Origin, roles: list[Role]) -> Dataset | None:
    """The data a model was trained on, if they are where they were and the same."""
    facts = origin.bundle.card.get("data", {})
    if not os.path.exists(facts.get("name", "")):
        return None
    try:
        found = open_data(facts["name"], roles=roles, options=origin.reading)
        return found if found.fingerprint == facts.get("fingerprint") else None
    except ChainruleError:  # another file under the same name
        return None


def _train(
    origin: Origin, prepared: Prepared, task: Task, options: Mapping[str, Any], place: Place
) -> Bundle:
    """Train all weights, or those of the last layers, further."""
    body: Any = origin.bundle.body
    codec = prepared.codecs[task.body_role(prepared.codecs)]
    if codec is not origin.bundle.codec:
        body = body.grown(codec.size, codec.suppressed)
    asked = type(body.config).from_values(share(options, type(body.config)))
    free = {name: getattr(asked, name) for name in FREE if name in options and hasattr(asked, name)}
    layers = FitConfig.from_values(share(options, FitConfig)).unfreeze
    start = Start(replace(body.config, **free), body.arrays(), frozen(body, layers))
    again = refits(body.family, prepared, options)
    given = {"lr": _rate(origin)} | (first_half(options, place.run, place.resume) if again else dict(options))
    run = (place.run, place.resume, place.progress, place.timing)
    found = learn(body.family, task, prepared, given, *run, start)
    return finished(task, found, prepared, place, again, start)


def _rate(origin: Origin) -> float:
    """A learning rate at which little is forgotten."""
    before = origin.bundle.card.get("settings", {}).get("lr")
    return float(f"{SLOWER * before:.3g}") if before else CAREFUL


def frozen(body: Any, layers: int | None) -> dict[str, float]:
    """Scales of the learning rate that freeze all but the output and the last `layers`.

    A table that input and output share is part of the output.
    """
    if layers is None:
        return {}
    there = getattr(body.config, "layers", 0)
    if layers > there:
        raise ConfigError(f"--unfreeze {layers}: the model has {there} layers.")
    first = range(there - layers)
    inner = [f"body.{name}.{number}.*" for name in STACKS for number in first]
    tables = [
        "body.positions.*",
        "body.segments.*",
        *([] if getattr(body.config, "shared", False) else ["body.embedding.*"]),
    ]
    return dict.fromkeys([*inner, *tables], 0.0)


def _add_counts(
    origin: Origin, prepared: Prepared, task: Task, options: Mapping[str, Any], place: Place
) -> Bundle:
    """One model of old and new data; a saved model has no counts, so its own data are counted again."""
    old: Any = origin.bundle.body
    data = _own_data(origin, _roles(origin, task))
    if data is None:
        raise DataError(
            f"Counts are added by counting old and new data, and those of {origin.name} are not where they were, as "
            "they were. Interpolate (--merge interpolate), or fit a new model to both files."
        )
    before = encoded(data, prepared.codecs)
    before = before.everything() if "refit" in origin.bundle.card else before
    config = _alike(old.config, options)

    def counted(new: Prepared) -> CountingModel:
        ids = np.concatenate([before.train[TEXT].ids, new.train[TEXT].ids])
        model: CountingModel = type(old).learn(config, ids, place.progress)
        return model

    model, symbols = counted(prepared), before.train.main.symbols
    note = f"counts of {symbols:,} old and {prepared.train.main.symbols:,} new symbols are added up"
    found = Outcome(model, None, (*model.notes, note), {})
    card = card_of(task, found, prepared)
    if not refits(old.family, prepared, options):
        return Bundle(prepared.codecs, found.body, task, None, card)
    whole = prepared.everything()
    return Bundle(prepared.codecs, counted(whole), task, None, card | refit_facts(card, prepared, whole))


def _interpolate(
    origin: Origin, prepared: Prepared, task: Task, options: Mapping[str, Any], place: Place
) -> Bundle:
    """Interpolate with a model of the new data; the weights are those under which its validation part is likeliest.

    The result is a mix: counts of the old data are not kept, and a mix of two back-off models is no back-off model.
    """
    old: Any = origin.bundle.body
    if prepared.valid is None:
        raise DataError(
            "Old and new are weighted on a validation part, for which the data are too few. Give --valid."
        )
    new = type(old).learn(_alike(old.config, options), prepared.train[TEXT].ids, place.progress)
    ids = prepared.valid[TEXT].ids
    weights = best_weights([model.score_ids(ids)[ids != BOS] for model in (old, new)])
    note = f"interpolated with a {new.family} of the new data: old {weights[0]:.3f}, new {weights[1]:.3f}"
    found = Outcome(Mix.of([old, new], weights), None, (*new.notes, note), {"parts": ["old", "new"]})
    card = card_of(task, found, prepared)
    if not refits(old.family, prepared, options):
        return Bundle(prepared.codecs, found.body, task, None, card)
    whole = prepared.everything()
    both = Mix.of([old, recount(new, whole, place.progress)], weights)
    return Bundle(prepared.codecs, both, task, None, card | refit_facts(card, prepared, whole))


def _alike(config: Any, options: Mapping[str, Any]) -> Any:
    """The settings a user may give, as they are, and none of those that only imported models have."""
    values = {one.name: getattr(config, one.name) for one in visible(type(config))}
    fresh = type(config).from_values(values | share(options, type(config)))
    return replace(fresh, vocab_size=config.vocab_size, suppressed=config.suppressed)


def _card(
    adapted: Bundle, origin: Origin, prepared: Prepared, note: str, figures: Mapping[str, Any]
) -> dict[str, Any]:
    """What is said of an adapted model besides what is said of any."""
    read = prepared.train[adapted.task.body_role(prepared.codecs)]
    added = adapted.codec.size - origin.bundle.codec.size
    facts = {
        "from": origin.name,
        "data": origin.bundle.card.get("data"),
        "unknown": read.unknown,
        "added": added,
    }
    told = [f"fine-tuned from {origin.name}", *_learning(adapted)]
    told += [f"{added:,} symbols were added to the vocabulary"] if added else []
    if read.unknown:
        told.append(f"{read.unknown:,} of {read.symbols:,} symbols to learn from are unknown to the codec")
    notes = [*told, *adapted.card["notes"], *([note] if note else [])]
    return {**adapted.card, "notes": notes, "adapted": {**facts, "figures": figures}}


def _learning(adapted: Bundle) -> list[str]:
    rate = adapted.card.get("settings", {}).get("lr")
    return [f"learning rate {rate:g}"] if rate else []
