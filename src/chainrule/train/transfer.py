"""Transfer: a model trained on plain text becomes the body of another task, under a new head.

frozen: its weights stay, the head alone learns; tuned: they move, slower than the head; fresh: its sizes, new weights.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from chainrule.bundle import Bundle, load
from chainrule.config import flag, share
from chainrule.data.columns import Data
from chainrule.data.dataset import Prepared, encoded, learn_codecs, open_data
from chainrule.data.rows import main_of
from chainrule.errors import ConfigError, ModelError
from chainrule.models.readers import CountingReader
from chainrule.saved import is_hugging_face
from chainrule.tasks.base import Task
from chainrule.train.config import FREE, TUNING, FitConfig
from chainrule.train.fit import (
    Asked,
    Place,
    ask,
    check_frames,
    finished,
    learn,
    refits,
    renamed,
    settings_of,
)
from chainrule.train.layers import scales, thawing
from chainrule.train.refit import first_half
from chainrule.train.start import Start

USUAL = "tuned"
HEAD_OPTIONS: Mapping[str, Any] = {"lr": 0.002, "optimizer": "adamw"}  # of a head on a body that is there
BODY, FOREIGN = 0.3, 0.03  # of it, for the highest layer of a body that was trained here, or elsewhere
FROZEN = {"body.*": 0.0, "body.mix.*": 1.0}  # the weights of layers are learnt for every task


@dataclass(frozen=True)
class Origin:
    """The model whose body is taken."""

    name: str
    bundle: Bundle

    @classmethod
    def of(cls, given: str | Path | Bundle) -> Origin:
        """A saved model, one in memory, or a folder of Hugging Face; refused if it has no vectors for a head."""
        bundle = given if isinstance(given, Bundle) else opened(given)
        found = cls("the given model" if isinstance(given, Bundle) else str(given), bundle)
        body = bundle.body
        if body.learner != "gradient" or not body.width or isinstance(body, CountingReader):
            raise ModelError(
                f"{found.name} is a {body.family}, which has no hidden vectors for a head. Take a model that "
                "learns by gradient, such as lstm, gpt or bert."
            )
        return found

    @property
    def body(self) -> Any:
        return self.bundle.body

    def start(self, way: str, options: Mapping[str, Any]) -> Start:
        """The weights of the body without what predicted symbols, and how fast they may move."""
        asked = type(self.body.config).from_values(share(options, type(self.body.config)))
        free = {name: getattr(asked, name) for name in FREE if name in options and hasattr(asked, name)}
        config = replace(self.body.config, **free)
        if hasattr(config, "softmax"):
            config = replace(config, softmax=False)
        body, own = type(self.body).seeded(config, 0), self.body.arrays()
        weights = {key: own.get(key, one) for key, one in body.arrays().items()}
        if way == "frozen":
            return Start(config, weights, FROZEN)
        tuning = FitConfig.from_values(share(options, FitConfig))
        rate = tuning.body_lr if tuning.body_lr is not None else self._usual_rate
        since = thawing(body) if tuning.gradual_unfreezing else {}
        return Start(config, weights, scales(body, rate, tuning.layer_lr_decay), since)

    @property
    def _usual_rate(self) -> float:
        return FOREIGN if "imported" in self.bundle.card else BODY


def opened(path: str | Path) -> Bundle:
    """A saved model, or a folder of Hugging Face, which is imported on the way."""
    if is_hugging_face(Path(path)):
        from chainrule.interop.huggingface import import_hf

        return import_hf(path)
    return load(path)


def transfer(given: str | Path | Bundle, wanted: Asked, options: Mapping[str, Any], place: Place) -> Bundle:
    """Train a head for the task that is asked for on the body of a trained model, which may be tuned with it."""
    origin = Origin.of(given)
    family = origin.body.family
    known = list(settings_of(family, wanted.task).values())
    options = renamed(options, known)
    way = _way(options)
    left = {key: one for key, one in options.items() if key not in ("transfer", *TUNING)}
    task = ask(family, wanted.task, left)
    prepared = _prepared(origin, task, (wanted.data, wanted.valid, wanted.test), options, known)
    check_frames(family, task, prepared.codec)
    again = refits(family, prepared, options)
    place = place.judging(task, prepared.valid, prepared.test)
    options = first_half(options, place.run, place.resume) if again else options
    start = None if way == "fresh" else origin.start(way, options)
    if start is None:
        options = {**share(origin.body.config.values(), type(origin.body.config)), **options}
    else:
        options = {**HEAD_OPTIONS, **options}
    run = (place.run, place.resume, place.progress, place.timing)
    found = learn(family, task, prepared, options, *run, start)
    bundle = finished(task, found, prepared, place, again, start)
    told = {
        "transfer": {"from": origin.name, "way": way},
        "notes": [*bundle.card["notes"], f"body: {way}, from {origin.name}"],
    }
    return replace(bundle, card={**bundle.card, **told})


def _way(options: Mapping[str, Any]) -> str:
    """Frozen, tuned or fresh; settings of tuning are refused for the others."""
    config = FitConfig.from_values(share(options, FitConfig))
    way = config.transfer or USUAL
    for name in TUNING:
        if way != "tuned" and getattr(config, name) != getattr(FitConfig(), name):
            raise ConfigError(
                f"{flag(name)} is for --transfer tuned, and this body is {way}. Leave one of them out."
            )
    return way


def _prepared(
    origin: Origin,
    task: Task,
    parts: tuple[Data, Data | None, Data | None],
    options: Mapping[str, Any],
    known: list[Any],
) -> Prepared:
    """The data as ids: what the body reads by its own codec, labels by a new one."""
    main, codec = main_of(role.name for role in task.roles()), origin.bundle.codec
    roles = [replace(one, codec=codec.name) if main in (one.name, one.like) else one for one in task.roles()]
    data = open_data(*parts, roles=roles, options=options, allowed=known)
    own = data.alike(main)
    data = replace(data, why={**data.why, **dict.fromkeys(own, f"that of {origin.name}")})
    others = replace(data, roles={name: role for name, role in data.roles.items() if name not in own})
    found = encoded(data, dict.fromkeys(own, codec) | learn_codecs(others))
    return found.spelled_out() if origin.body.config.word_letters else found
