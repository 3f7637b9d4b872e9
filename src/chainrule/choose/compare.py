"""`compare`: which model for these data?"""

from __future__ import annotations

import os
import shutil
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from chainrule.bundle import Bundle, load
from chainrule.choose.forks import Event
from chainrule.choose.ladder import answers, ladder
from chainrule.choose.plan import CODECS, GIVEN, PLAN, TYPED, RacePlan, check_same, has_codecs, opened
from chainrule.choose.race import CLOCK, FOLDERS, Race
from chainrule.choose.report import page
from chainrule.choose.results import Compared, cost_forecasts, results
from chainrule.choose.rounds import ROUNDS
from chainrule.choose.yardsticks import YARDSTICKS, yardsticks
from chainrule.config import share, to_json
from chainrule.data.check import examine
from chainrule.data.dataset import Prepared
from chainrule.data.given import Table, from_python, names_files
from chainrule.data.sources import Given
from chainrule.errors import BundleError, ConfigError, DataError
from chainrule.store.files import new_file, write_text
from chainrule.tasks.base import task as task_class
from chainrule.train.guess import guessed_task, paired, several, sourced
from chainrule.train.schedule import duration
from chainrule.use.evaluate_texts import lines

RESULTS, REPORT = "results.json", "report.html"
WRITTEN = (RESULTS, REPORT, PLAN, CODECS, CLOCK, ROUNDS, *FOLDERS)  # what a comparison makes in its folder
HELD_VALID, HELD_TEST = "valid.jsonl", "test.jsonl"  # where parallel files are put, line beside line
SHORTEST = 10.0  # seconds
Held = str | os.PathLike[str] | Mapping[str, Any] | None  # a file, parallel files by role


@dataclass(frozen=True)
class Comparison:
    """What was found: `results` as in results.json, and the folder that holds report and models."""

    results: Mapping[str, Any]
    out: Path

    def __repr__(self) -> str:
        return f"<Comparison of {len(self.results['models'])} models, {self.recommended} recommended, in {self.out}>"

    def _repr_html_(self) -> str:
        from chainrule.use.pictures import html_table

        rows = (
            [one["name"], _figure(one.get("bits")), one.get("dropped") or one.get("failed") or ""]
            for one in self.results["models"]
        )
        return str(html_table(repr(self), [["model", self.results["unit"], ""], *rows]))

    @property
    def recommended(self) -> str | None:
        """The name of the simplest model that is as good as the best."""
        return self.results["advice"]["simplest"]  # type: ignore[no-any-return]

    @property
    def report(self) -> Path:
        """The page to look at."""
        return self.out / REPORT

    def model(self, name: str | None = None) -> Bundle:
        """One of the trained models; the recommended one if no name is given."""
        chosen = name or self.recommended
        if chosen is None:
            raise BundleError(f"No model of {self.out} could be judged.")
        return load(self.out / "models" / chosen)


def _figure(value: object) -> str:
    return f"{value:.4f}" if isinstance(value, float) else ""


def compare(
    data: Given,
    *,
    out: str | Path = "comparison",
    budget: str | float = "10m",
    models: str | Sequence[str] = (),
    codec: str | Sequence[str] | None = None,
    valid: Held = None,
    test: Held = None,
    seed: int = 1,
    resume: bool = False,
    force: bool = False,
    task: str | None = None,
    watch: Callable[[Event], object] = lambda event: None,
    command: str | None = None,
    **options: Any,
) -> Comparison:
    """Train the ladder of models on one set of data within one budget, and judge all of them on the same held-out part.

    `data` are files, or whatever `fit` takes from Python; `options` those of reading (`column="text"`) and of the codec
    (`vocab="10k"`). Of several codecs, `codec=["characters", "words"]`, each gets a ladder of its own. With labels,
    `task="classify", label="stars"`, readers compete instead of language models, judged by the figure of their task.
    With a source and a target, columns or `{"source": "train.en", "target": "train.de"}`, those that write from a
    source do, judged by BLEU.
    What was stopped continues with `resume`; with `force` an earlier comparison in `out` is replaced.
    """
    began, folder, given = time.monotonic(), _folder(out), from_python(_side_by_side(data))
    task = several(task, bool(options.pop("multi_label", False)))
    task = task or guessed_task(options, data if isinstance(data, Mapping) else given)
    options = sourced(paired(options, data))
    models = _models(models, budget, task)
    _check_place(folder, resume, force)
    plan = RacePlan(
        data=_files(given, folder),
        task=task,
        roles=_roles(task, options),
        valid=_held(valid, folder / HELD_VALID),
        test=_held(test, folder / HELD_TEST),
        options=options,
        codecs=_codecs(codec, given),
        budget=duration(budget),
        models=list(models),
        seed=seed,
    )
    words = command or f"chainrule compare {' '.join(plan.data)} --budget {budget} -o {folder}"
    return _written(_raced(plan, folder, _prepared(plan, folder, resume), watch, began, words), folder)


def _raced(
    plan: RacePlan,
    folder: Path,
    prepared: dict[str, Prepared],
    watch: Callable[[Event], object],
    began: float,
    words: str,
) -> Mapping[str, Any]:
    """The models train, and what was found about them is told."""
    rungs = plan.rungs(list(prepared))
    checks = {name: examine(one.data, one.codecs) for name, one in prepared.items()}
    compared = Compared(prepared, checks, plan.asked if plan.answers else None)
    mixing = not plan.models or "mix" in plan.models
    race = Race(folder, rungs, plan.budget, mixing, watch, compared.figure, plan.answers, began)
    forecasts = cost_forecasts(race, compared)
    names = [rung.name for rung in rungs]
    watch({"rungs": names, "forecasts": forecasts, "budget": plan.budget, "unit": compared.figure})
    if not plan.answers:
        race.measure(YARDSTICKS, lambda: yardsticks(next(iter(prepared.values())), plan.budget))
    race.run()
    return results(race, compared, forecasts, words, plan.seed)


def _codecs(asked: str | Sequence[str] | None, data: Any) -> list[str]:
    """Those asked for, or the one that data of Python come with; none: the one that suits them is chosen later."""
    codec = asked or (data.choice.name if isinstance(data, Table) and data.choice else None)
    return [codec] if isinstance(codec, str) else list(codec or ())


def _written(found: Mapping[str, Any], folder: Path) -> Comparison:
    """The results and the page that shows them."""
    write_text(folder / RESULTS, to_json(found, indent=2) + "\n")
    write_text(folder / REPORT, page(found))
    return Comparison(found, folder)


def _folder(out: object) -> Path:
    if not isinstance(out, str | os.PathLike):
        raise ConfigError(f"A folder for the comparison is wanted, and a {type(out).__name__} came: {out!r}.")
    return Path(out)


def _models(asked: str | Sequence[str], budget: str | float, task: str | None) -> Sequence[str]:
    """The models; what cannot be is refused before data are read: the longest ladder knows the models of all."""
    models = asked.split(",") if isinstance(asked, str) else asked
    if not ladder("characters", models, task if answers(task) else None):
        raise ConfigError("A mix needs models to mix. Name some beside it, such as 5-gram,lstm,mix.")
    if duration(budget) < SHORTEST:
        raise ConfigError(f"A comparison needs at least {SHORTEST:.0f}s, not {budget}.")
    return models


def _roles(task: str | None, options: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The columns of a task whose answers are compared; none of language modelling, which reads texts."""
    if not answers(task):
        return []
    kind = task_class(str(task))
    return [asdict(one) for one in kind.from_values(share(options, kind)).roles()]


def _check_place(folder: Path, resume: bool, force: bool) -> None:
    """Refuse a folder that holds something else, or a comparison that nobody said what to do with."""
    if resume and force:
        raise ConfigError(
            "--resume continues an earlier comparison and --force replaces it: give one of them."
        )
    if folder.exists() and not folder.is_dir():
        raise BundleError(f"{folder} is a file, and a folder is to be written there. Choose another name.")
    names = sorted(path.name for path in folder.iterdir()) if folder.exists() else []
    left = (
        {GIVEN, TYPED, HELD_VALID, HELD_TEST} if force or resume else set[str]()
    )  # written before the plan: of one that was interrupted
    foreign = [name for name in names if name not in left]
    if PLAN not in names and foreign:
        raise BundleError(f"{folder} is no comparison: it holds {foreign[0]}. Choose another folder.")
    if PLAN in names and not (resume or force):
        raise BundleError(
            f"{folder} holds a comparison. Continue it with --resume, replace it with --force, or choose another "
            "folder."
        )


def _clear(folder: Path) -> None:
    """Remove what an earlier comparison wrote; data that it was given, and files of others, stay."""
    for name in WRITTEN:
        path = folder / name
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)


def _prepared(plan: RacePlan, folder: Path, resume: bool) -> dict[str, Prepared]:
    """The data, read for the first time or as they were read before, by codec."""
    if resume and (folder / PLAN).exists():
        check_same(folder, plan)
        return opened(folder)[1] if has_codecs(folder) else plan.begin(folder)
    ready = plan.read()
    if (folder / PLAN).exists():  # replaced, but not before the data were read: they may be missing
        _clear(folder)
    return plan.begin(folder, ready)


def _files(data: Any, folder: Path) -> list[str]:
    """Paths as they are for every process; standard input and values of Python are put into a file first."""
    if isinstance(data, str) and data == "-":
        folder.mkdir(parents=True, exist_ok=True)
        with new_file(folder / TYPED) as file:
            shutil.copyfileobj(sys.stdin.buffer, file)
        return [_absolute(folder / TYPED)]
    if isinstance(data, str | os.PathLike):
        return [_absolute(data)]
    if not isinstance(data, Table) and names_files(data):
        return [_absolute(one) for one in data]
    return [_table(data, folder / GIVEN)]


def _table(data: Any, path: Path) -> str:
    """Values of Python as lines of JSON."""
    rows = data.rows() if isinstance(data, Table) else ({"text": text} for text in data)
    path.parent.mkdir(parents=True, exist_ok=True)
    write_text(path, "".join(to_json(row) + "\n" for row in rows))
    return _absolute(path)


def _held(given: Held, path: Path) -> str | None:
    """A part to judge on, as it is for every process."""
    if given is None or isinstance(given, str | os.PathLike):
        return None if given is None else _absolute(given)
    return _table(from_python(_side_by_side(given)), path)


def _side_by_side(data: Any) -> Any:
    """Parallel files as columns; anything else as it is."""
    if not isinstance(data, Mapping) or not all(isinstance(one, str | os.PathLike) for one in data.values()):
        return data
    columns = {role: lines(name) for role, name in data.items()}
    sizes = {role: len(column) for role, column in columns.items()}
    if len(set(sizes.values())) > 1:
        told = ", ".join(f"{data[role]} has {size:,}" for role, size in sizes.items())
        raise DataError(f"Parallel files need equally many lines: {told}.")
    return columns


def _absolute(path: str | os.PathLike[str]) -> str:
    return os.path.abspath(path)
