"""Transfer: a model trained on plain text becomes the body of another task, under a new head.

frozen: its weights stay, the head alone learns; tuned: they move, slower than the head; fresh: its sizes, new weights.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from chainrule.bundle import Bundle, load
from chainrule.config import share
from chainrule.data.columns import Data
from chainrule.data.dataset import Prepared, encoded, learn_codecs, open_data
from chainrule.data.rows import main_of
from chainrule.errors import ModelError
from chainrule.models.base import Body
from chainrule.tasks.base import Task
from chainrule.train.config import FitConfig
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
from chainrule.train.refit import first_half
from chainrule.train.start import Start

MIX = {"body.mix.*": 1.0}  # the weights of layers, which are learnt for every task
SCALES = {"frozen": {"body.*": 0.0} | MIX, "tuned": {"body.*": 0.3} | MIX}  # of the learning rate
USUAL = "tuned"


def transfer(given: str | Path | Bundle, wanted: Asked, options: Mapping[str, Any], place: Place) -> Bundle:
    """Train a head for the task that is asked for on the body of a trained model, which may be tuned with it."""
    origin = given if isinstance(given, Bundle) else load(given)
    name = "the given model" if isinstance(given, Bundle) else str(given)
    if origin.body.learner != "gradient" or not origin.body.width:
        raise ModelError(
            f"{name} is a {origin.body.family}, which has no hidden vectors for a head. Take a model that learns by "
            "gradient, such as lstm, gpt or bert."
        )
    family = origin.body.family
    known = list(settings_of(family, wanted.task).values())
    options = renamed(options, known)
    way = FitConfig.from_values(share(options, FitConfig)).transfer or USUAL
    asked = ask(family, wanted.task, {key: one for key, one in options.items() if key != "transfer"})
    parts = (wanted.data, wanted.valid, wanted.test)
    prepared = _prepared(origin, name, asked, parts, options, known)
    check_frames(family, asked, prepared.codec)
    again = refits(family, prepared, options)
    place = place.judging(asked, prepared.valid, prepared.test)
    options = first_half(options, place.run, place.resume) if again else options
    start = None if way == "fresh" else _start(origin.body, way)
    if start is None:
        options = {**share(origin.body.config.values(), type(origin.body.config)), **options}
    found = learn(
        family, asked, prepared, options, place.run, place.resume, place.progress, place.timing, start
    )
    bundle = finished(asked, found, prepared, place, again, start)
    told = {
        "transfer": {"from": name, "way": way},
        "notes": [*bundle.card["notes"], f"body: {way}, from {name}"],
    }
    return replace(bundle, card={**bundle.card, **told})


def _prepared(
    origin: Bundle,
    name: str,
    task: Task,
    parts: tuple[Data, Data | None, Data | None],
    options: Mapping[str, Any],
    known: list[Any],
) -> Prepared:
    """The data as ids: what the body reads by its own codec, labels by a new one."""
    main = main_of(role.name for role in task.roles())
    roles = [replace(one, codec=origin.codec.name) if one.name == main else one for one in task.roles()]
    data = open_data(*parts, roles=roles, options=options, allowed=known)
    data = replace(data, why={**data.why, main: f"that of {name}"})
    others = replace(data, roles={name: role for name, role in data.roles.items() if name != main})
    found = encoded(data, {main: origin.codec, **learn_codecs(others)})
    return found.spelled_out() if origin.body.config.word_letters else found


def _start(body: Body, way: str) -> Start:
    """The weights of a body without what predicted symbols."""
    config: Any = body.config
    kind: Any = type(body)
    if hasattr(config, "softmax"):
        config = replace(config, softmax=False)
    fresh, own = kind.seeded(config, 0).arrays(), body.arrays()
    return Start(config, {key: own.get(key, one) for key, one in fresh.items()}, SCALES.get(way, {}))
