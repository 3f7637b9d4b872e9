"""Which settings there are, by heading: of a model family, its task, its training, its codec and its data."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from chainrule.aliases import hinted, our_names, our_spelling, words_for
from chainrule.cli.output import Printer
from chainrule.config import Config, Setting, flag, flattened, merged, read_toml, settings
from chainrule.errors import ConfigError, suggest
from chainrule.flags import called_here, check_any, name_of, nested
from chainrule.store.files import CONFIG

Groups = Mapping[str, Sequence[Setting]]
COLUMN = Setting(
    "column",
    str | None,
    None,
    "its column of a table; else the one called like the role. The flag may leave out .column",
)
CODEC = Setting("codec", str | None, None, "its codec; chosen from the data if not given")


def of_fit(model: str, task: str | None = None, codec: str | None = None) -> dict[str, Sequence[Setting]]:
    """Everything that can be set when a family is trained."""
    from chainrule.train.fit import settings_of

    model = family_named(model)
    configs = settings_of(model, task and task_named(task))
    found = {_title(part, model, config): settings(config) for part, config in configs.items()}
    return _filled({**found, **of_roles(model, task), **of_codec(codec), **of_data()})


def _title(part: str, model: str, config: Any) -> str:
    names = {"model": f"Model {model}", "task": f"Task {getattr(config, 'name', '')}"}
    return names.get(part, part.capitalize())


def of_task(name: str) -> Groups:
    """The settings of a task, whatever model it is for."""
    from chainrule.tasks.base import task

    named = task_named(name)
    return {f"Task {named}": settings(task(named))}


def of_training() -> Groups:
    """What can be set for every family that learns by gradient."""
    from chainrule.train.config import TrainConfig

    return {"Training, for models that learn by gradient": settings(TrainConfig)}


def of_data() -> Groups:
    """How files are read."""
    from chainrule.data.sources import ReadConfig

    return {"Data": settings(ReadConfig)}


def of_adapting() -> Groups:
    """How a model that learns by gradient adapts itself to the text it scores."""
    from chainrule.use.adapt import AdaptConfig

    return {"Adapting": settings(AdaptConfig)}


def of_codec(name: str | None) -> Groups:
    """The settings of a codec; of all of them where it is still to be chosen, each with the codecs that have it."""
    from chainrule.codecs.registry import codec, codecs

    if name is not None:
        named = codec_named(name)
        return {f"Codec {named}": settings(codec(named).Config)}
    owners: dict[Setting, list[str]] = {}
    for one in codecs():
        for setting in settings(codec(one).Config):
            owners.setdefault(setting, []).append(one)
    return {"Codec": [replace(one, help=f"{one.help} ({', '.join(names)})") for one, names in owners.items()]}


def of_roles(model: str, task: str | None) -> Groups:
    """For a task that reads several columns: the column and the codec of each, as in --label.column stars."""
    from chainrule.models.registry import family
    from chainrule.tasks.base import task as task_class

    roles = [one.name for one in task_class(task_named(task or family(model).task))().roles()]
    inside = [COLUMN, CODEC, *of_codec(None)["Codec"]] if len(roles) > 1 else []
    return {f"Column {role}": [replace(one, name=f"{role}.{one.name}") for one in inside] for role in roles}


def of_sources(named: str) -> dict[str, Sequence[Setting]]:
    """The same for each of several sources: --source question,image has --image.size."""
    names = [one.strip() for one in named.split(",")]
    inside = [COLUMN, CODEC, *of_codec(None)["Codec"]] if len(names) > 1 else []
    return {
        f"Column {one}": [replace(two, name=f"{one}.{two.name}") for two in inside] for one in names if inside
    }


def _filled(groups: Groups) -> dict[str, Sequence[Setting]]:
    return {title: group for title, group in groups.items() if group}


def family_named(name: str) -> str:
    """A family as it is called here: LSTM is lstm, GPT-2 is gpt."""
    from chainrule.models.registry import families

    order = name.lower().removesuffix("gram").rstrip("-_")
    if order.isdigit() and name.lower().endswith("gram"):
        raise ConfigError(f"There is no model family {name!r}. It is --model ngram --order {order}.")
    found = our_spelling(name, families())
    if found not in families() and (Path(name) / CONFIG).is_file():
        raise ConfigError(
            f"{name} is the folder of a trained model. --model names a family; give --from {name}."
        )
    return found


def codec_named(name: str) -> str:
    """A codec as it is called here: BPE is subwords."""
    from chainrule.codecs.registry import codecs

    return our_spelling(name, codecs())


def task_named(name: str) -> str:
    """A task as it is called here: mlm is masked."""
    from chainrule.tasks.base import tasks

    return our_spelling(name, tasks())


SPELLINGS = {"model": family_named, "task": task_named, "codec": codec_named}


def understood(kind: str, name: str, output: Printer) -> str:
    """A model, task or codec as it is called here; where that is not what was typed, a note says so."""
    ours = SPELLINGS[kind](name)
    if ours != name:
        output.note(f"note: {kind} {name} is called {ours} here")
    return ours


def owner(word: str, own: Collection[str]) -> str:
    """A sentence that says whose a flag is, if a codec, a task or a family that was not asked for has it.

    `own` are the flags of the verb: one that has no --model is not told to add one.
    """
    name = name_of(word)
    tried = hinted(name)  # a word for one of our settings that is not understood, only suggested
    wanted = [flag(one) for one in (name, *our_names(name), *tried)]
    named = f"There is no option {word}. {flag(tried[0])}" if tried else word
    for kind, names in _owners(wanted):
        if names and f"--{kind}" in own:
            if len(names) == 1:
                return f"{named} is a setting of the {kind} {names[0]}. Add --{kind} {names[0]}."
            found = f"{', '.join(names[:-1])} and {names[-1]}"
            return f"{named} is a setting of the {kind}s {found}. Choose one with --{kind}."
    return ""


def _owners(wanted: Sequence[str]) -> Iterator[tuple[str, list[str]]]:
    """The codecs, families and tasks that take one of these flags; later ones are imported only if needed."""
    from chainrule.codecs.registry import codec, codecs
    from chainrule.models.registry import families, family
    from chainrule.tasks.base import task, tasks
    from chainrule.train.fit import settings_of

    def having(configs: Mapping[str, Sequence[type[Config]]]) -> list[str]:
        flags = {
            name: {one.flag for config in own for one in settings(config)} for name, own in configs.items()
        }
        return [name for name, found in flags.items() if found & set(wanted)]

    yield "codec", having({name: [codec(name).Config] for name in codecs()})
    trained = {name: settings_of(name) for name in families() if family(name).learner}
    answers = {
        name: task(family(name).task).predicts is None for name in trained
    }  # those of a task are its own
    bodies = {
        name: [one for part, one in own.items() if part != "task" or not answers[name]]
        for name, own in trained.items()
    }
    yield "model", having(bodies)
    yield "task", having({name: [task(name)] for name in tasks()})


def from_file(path: Path, own: Sequence[str], groups: Groups, output: Printer) -> dict[str, Any]:
    """Settings from a TOML file; `own` are names of options of the verb that may stand there too, as texts."""
    known: dict[str, list[Setting]] = {name: [Setting(name, str, None)] for name in own}
    for group in groups.values():
        for one in group:
            known.setdefault(one.name, []).append(one)
    values: dict[str, Any] = {}
    for typed, value in flattened(read_toml(path)).items():
        name = typed if typed in known else _called_here(path, typed, known, output)
        if name in own and not isinstance(value, str):
            raise ConfigError(f"{path}: {name} wants a text in quotes, not {value!r}.")
        _check(path, known[name], value)
        values = merged(values, nested(name, value))
    return values


def _called_here(path: Path, name: str, known: Collection[str], output: Printer) -> str:
    """The setting of ours that another tool calls so; a note points it out."""
    flags = {flag(one): one for one in known}
    ours = called_here(flag(name), flags)
    if ours is None:
        raise ConfigError(
            f"{path} has an unknown setting {name!r}. {suggest(name, known, words_for(known))}".rstrip()
        )
    output.note(f"note: {name} is called {flags[ours]} here")
    return flags[ours]


def _check(path: Path, found: Sequence[Setting], value: Any) -> None:
    try:
        check_any(found, value)
    except ConfigError as error:
        raise ConfigError(f"{path}: {found[0].name}: {error}") from error


def default_of(setting: Setting) -> str:
    """A default for people; an empty text where there is none."""
    value = "chosen" if setting.chosen else setting.default
    if isinstance(value, bool):
        return "on" if value else "off"
    return "" if value is None or value == () else str(value)
