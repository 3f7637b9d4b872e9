"""What a worker answers: each question is one of the verbs that Python and the command line have, or a view."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from chainrule.errors import ConfigError
from chainrule.studio.shelf import Shelf

if TYPE_CHECKING:
    from chainrule.bundle import Bundle
    from chainrule.config import Setting
    from chainrule.views.view import View

Question = Mapping[str, Any]
Pieces = Iterator[dict[str, Any]]
ANSWERS: dict[str, Callable[[Shelf, Question], Pieces]] = {}
RUN = "run"
# Settings of views that are words; other texts name files.
WORDS = ("target", "contrast", "find", "word", "analogy", "prefix")
SAMPLES, LENGTH = 3, 40


def answers(name: str) -> Callable[[Callable[[Shelf, Question], Any]], Any]:
    """Register a question that has one answer."""

    def registered(function: Callable[[Shelf, Question], Any]) -> Callable[[Shelf, Question], Any]:
        def told(shelf: Shelf, asked: Question) -> Pieces:
            yield {"result": function(shelf, asked)}

        ANSWERS[name] = told
        return function

    return registered


def _model(shelf: Shelf, asked: Question) -> Bundle:
    return shelf.model(asked["model"])


@answers("catalogue")
def catalogue(shelf: Shelf, asked: Question) -> dict[str, Any]:
    """Families, tasks and codecs, each with a line of help; of a family, the tasks it can be trained for."""
    from chainrule.codecs import registry as codecs
    from chainrule.models import registry as models
    from chainrule.tasks import base as tasks
    from chainrule.views import kinds

    def helped(names: Sequence[str], told: Mapping[str, tuple[str, str]]) -> list[dict[str, Any]]:
        return [{"name": name, "help": told[name][1] if name in told else ""} for name in names]

    families = [
        one for one in helped(models.families(), models.BUILT_IN) if models.family(one["name"]).learner
    ]
    return {
        "families": [{**one, **_family(one["name"], tasks.tasks())} for one in families],
        "tasks": [{**one, "roles": _roles(one["name"])} for one in helped(tasks.tasks(), tasks.BUILT_IN)],
        "codecs": helped(codecs.codecs(), codecs.BUILT_IN),
        "views": helped(kinds.kinds(), kinds.BUILT_IN),
    }


def _family(name: str, tasks: Sequence[str]) -> dict[str, Any]:
    """How it learns; its own task and, where a head can be put on it, those that are answered by one."""
    from chainrule.models.base import SourceConfig
    from chainrule.models.registry import family
    from chainrule.tasks.base import task
    from chainrule.tasks.supervised import Supervised
    from chainrule.train.fit import ask

    kind, found = family(name), [family(name).task]
    headed = not issubclass(kind.Config, SourceConfig) and name != "vectors"
    for one in tasks:
        if headed and one not in found and issubclass(task(one), Supervised):
            with suppress(ConfigError):
                ask(name, one, {})
                found.append(one)
    return {"learner": kind.learner, "tasks": found}


def _roles(name: str) -> list[str]:
    from chainrule.tasks.base import task

    return [role.name for role in task(name)().roles()]


@answers("settings")
def settings_of(shelf: Shelf, asked: Question) -> list[dict[str, Any]]:
    """Settings of a training or of a view, by group."""
    from chainrule.config import settings
    from chainrule.data.sources import ReadConfig
    from chainrule.train.fit import settings_of as of_fit

    if view := asked.get("view"):
        from chainrule.views.kinds import kind_named

        group = _group("View", settings(kind_named(view)))
        files = _files(view) - {RUN}  # which is a folder, and is typed
        return [{**group, "settings": [{**one, "file": one["name"] in files} for one in group["settings"]]}]
    groups = [_group(part, settings(one)) for part, one in of_fit(asked["family"], asked.get("task")).items()]
    return [*(one for one in groups if one["settings"]), _group("data", settings(ReadConfig))]


def _group(title: str, found: Sequence[Setting]) -> dict[str, Any]:
    return {"title": title, "settings": [_described(one) for one in found]}


def _described(one: Setting) -> dict[str, Any]:
    default = None if one.chosen or one.default == () else one.default
    return {
        "name": one.name,
        "help": one.help,
        "kind": "switch" if one.switch else "choice" if one.choices else _kind(one),
        "choices": list(one.choices),
        "default": default if isinstance(default, str | int | float | bool) else None,
        "chosen": one.chosen,
        "low": one.low,
        "high": one.high,
    }


def _kind(one: Setting) -> str:
    return {"INTEGER": "integer", "NUMBER": "number"}.get(one.metavar, "text")


@answers("check")
def check(shelf: Shelf, asked: Question) -> dict[str, Any]:
    """`check`, and what it notes while it reads."""
    from chainrule.use.check import check as looked

    given: dict[str, Any] = asked.get("settings", {})
    path = shelf.folder.whole(asked["data"])
    options: dict[str, Any] = {
        name: shelf.folder.value(one) if isinstance(one, str) else one for name, one in given.items()
    }
    found = looked(path, **options)
    return {**found.to_dict(), "notes": list(found.notes)}


@answers("show")
def show(shelf: Shelf, asked: Question) -> dict[str, Any]:
    """Layers and parameters."""
    from chainrule.use.summary import summary

    bundle = _model(shelf, asked)
    return {"parameters": bundle.parameters, "layers": [one.to_dict() for one in summary(bundle)]}


@answers("samples")
def samples(shelf: Shelf, asked: Question) -> list[str]:
    """A few texts that a model writes by itself."""
    from chainrule.use.generate import generate, settings

    config = settings({"count": SAMPLES, "seed": 1, "length": asked.get("length", LENGTH)})
    return [one.text for one in generate(_model(shelf, asked), [asked.get("text", "")], config)[0].texts]


def generate(shelf: Shelf, asked: Question) -> Pieces:
    """A text as it is drawn; of several, all at the end."""
    from chainrule.use.generate import generate as texts_of
    from chainrule.use.generate import settings, stream

    bundle, config = _model(shelf, asked), settings(asked.get("settings", {})).seeded()
    if config.count > 1 or config.beam is not None:
        yield {"result": {**texts_of(bundle, [asked["text"]], config)[0].to_dict(), "seed": config.seed}}
        return
    pieces = []
    for piece in stream(bundle, asked["text"], config):
        pieces.append(piece)
        yield {"piece": piece}
    yield {"result": {"text": "".join(pieces), "seed": config.seed}}


ANSWERS["generate"] = generate


@answers("score")
def score(shelf: Shelf, asked: Question) -> dict[str, Any]:
    return _model(shelf, asked).score(asked["text"]).to_dict()


@answers("complete")
def complete(shelf: Shelf, asked: Question) -> dict[str, Any]:
    given = asked.get("settings", {})
    return _model(shelf, asked).complete(asked["text"], given.get("k", 5), given.get("length", 10)).to_dict()


@answers("next")
def after(shelf: Shelf, asked: Question) -> dict[str, Any]:
    return _model(shelf, asked).next(asked["text"], asked.get("settings", {}).get("k", 20)).to_dict()


@answers("rank")
def rank(shelf: Shelf, asked: Question) -> Any:
    return _model(shelf, asked).rank([line for line in asked["text"].splitlines() if line.strip()]).to_dict()


@answers("fill")
def fill(shelf: Shelf, asked: Question) -> dict[str, Any]:
    return _model(shelf, asked).fill(asked["text"], asked.get("settings", {}).get("k", 5)).to_dict()


@answers("predict")
def predict(shelf: Shelf, asked: Question) -> dict[str, Any]:
    pair = asked.get("second") or None
    return _model(shelf, asked).predict([asked["text"]], pair=pair)[0].to_dict()


@answers("answer")
def answer(shelf: Shelf, asked: Question) -> dict[str, Any]:
    return _model(shelf, asked).answer(asked["second"], asked["text"]).to_dict()


@answers("translate")
def translate(shelf: Shelf, asked: Question) -> list[dict[str, Any]]:
    lines = [line for line in asked["text"].splitlines() if line.strip()]
    return [one.to_dict() for one in _model(shelf, asked).translate(lines, **asked.get("settings", {}))]


@answers("similar")
def similar(shelf: Shelf, asked: Question) -> dict[str, Any]:
    return _model(shelf, asked).similar(asked["text"].strip()).to_dict()


@answers("analogy")
def analogy(shelf: Shelf, asked: Question) -> dict[str, Any]:
    words = asked["text"].split()
    if len(words) != 3:
        raise ConfigError("An analogy is asked by three words: man king woman.")
    return _model(shelf, asked).analogy(*words).to_dict()


@answers("look")
def look(shelf: Shelf, asked: Question) -> dict[str, Any]:
    return _view(shelf, asked).to_dict()


@answers("save")
def save(shelf: Shelf, asked: Question) -> dict[str, Any]:
    """A view as the bytes of a file."""
    from chainrule.views.files import FORMATS

    ending = asked["format"]
    if ending not in FORMATS:
        raise ConfigError(f"A view is written as {', '.join(FORMATS)}, not as {ending!r}.")
    return {"base64": b64encode(FORMATS[ending](_view(shelf, asked))).decode()}


def _view(shelf: Shelf, asked: Question) -> View:
    from chainrule.views.front import look as view_of
    from chainrule.views.view import View

    names = [asked["model"], *asked.get("against", ())]
    given: dict[str, Any] = dict(asked.get("settings", {}))
    for name in _files(asked["view"]) & given.keys():
        given[name] = str(shelf.folder.whole(given[name])) if given[name] else None
    found = view_of([shelf.model(one) for one in names], asked["text"], view=asked["view"], **given)
    return View(found.kind, found.data, {**found.meta, "command": asked.get("command", "")})


def _files(view: str) -> set[str]:
    """The settings of a view that name files."""
    from chainrule.config import settings
    from chainrule.views.kinds import kind_named

    found = (one for one in settings(kind_named(view)) if _kind(one) == "text")
    return {one.name for one in found if not (one.switch or one.choices or one.name in WORDS)}


@answers("continue")
def onward(shelf: Shelf, asked: Question) -> str:
    """A text and one more symbol, chosen by its name."""
    from chainrule.use.text import following
    from chainrule.views.text import visible

    bundle, text = _model(shelf, asked), asked["text"]
    found = bundle.next(text, bundle.codec.size)
    id = next((one.id for one in found if visible(one.token) == asked["symbol"] and not one.ends), None)
    if id is None:
        raise ConfigError("Nothing follows the end of a text.")
    return str(text + following(bundle.codec, text, bundle.prompt_ids(text), [id]))
