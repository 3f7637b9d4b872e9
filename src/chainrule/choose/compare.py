"""`compare`: which model for these data?"""

from __future__ import annotations

import os
import shutil
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from chainrule.bundle import Bundle, load
from chainrule.choose.ladder import ladders
from chainrule.choose.plan import GIVEN, PLAN, TYPED, Plan, check_same, opened
from chainrule.choose.race import Event, Race
from chainrule.choose.report import page
from chainrule.choose.results import Compared, foretold, results
from chainrule.config import to_json
from chainrule.data.check import check
from chainrule.data.dataset import Prepared
from chainrule.errors import BundleError, ConfigError
from chainrule.files import new_file, write_text
from chainrule.train.schedule import duration

RESULTS, REPORT = "results.json", "report.html"
SHORTEST = 10.0  # seconds


@dataclass(frozen=True)
class Comparison:
    """What was found: `results` as in results.json, and the folder that holds report and models."""

    results: Mapping[str, Any]
    out: Path

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


def compare(
    data: str | os.PathLike[str] | Sequence[str] | Sequence[os.PathLike[str]],
    *,
    out: str | Path = "comparison",
    budget: str = "10m",
    models: Sequence[str] = (),
    codec: str | Sequence[str] | None = None,
    valid: str | os.PathLike[str] | None = None,
    test: str | os.PathLike[str] | None = None,
    seed: int = 1,
    resume: bool = False,
    watch: Callable[[Event], object] = lambda event: None,
    command: str | None = None,
    **options: Any,
) -> Comparison:
    """Train the ladder of models on one set of data within one budget, and judge all of them on the same held-out part.

    `data` are files, or texts; `options` those of reading (`column="text"`) and of the codec (`vocab="10k"`). Of
    several codecs, `codec=["characters", "words"]`, each gets a ladder of its own. What was stopped goes on with
    `resume`.
    """
    began, folder = time.monotonic(), Path(out)
    plan = Plan(
        data=_files(data, folder),
        valid=None if valid is None else _absolute(valid),
        test=None if test is None else _absolute(test),
        options=options,
        codecs=[codec] if isinstance(codec, str) else list(codec or ()),
        budget=duration(budget),
        models=list(models),
        seed=seed,
    )
    if plan.budget < SHORTEST:
        raise ConfigError(f"A comparison needs {SHORTEST:.0f}s at least, not {budget}.")
    prepared = _prepared(plan, folder, resume)
    rungs = ladders(list(prepared), models)
    if not rungs:
        raise ConfigError("A mix needs models to mix. Name some beside it, such as 5-gram,lstm,mix.")
    race = Race(folder, rungs, plan.budget, not models or "mix" in models, watch, began)
    compared = Compared(prepared, {name: check(one.data, one.codec) for name, one in prepared.items()})
    forecasts = foretold(race, compared)
    watch({"rungs": [rung.name for rung in rungs], "forecasts": forecasts, "budget": plan.budget})
    race.run()
    words = command or f"chainrule compare {' '.join(plan.data)} --budget {budget} -o {folder}"
    found = results(race, compared, forecasts, words, seed)
    write_text(folder / RESULTS, to_json(found, indent=2) + "\n")
    write_text(folder / REPORT, page(found))
    return Comparison(found, folder)


def _prepared(plan: Plan, folder: Path, resume: bool) -> dict[str, Prepared]:
    """The data, read anew or as they were read before, by codec."""
    begun = (folder / PLAN).exists()
    if begun and not resume:
        raise BundleError(f"{folder} holds a comparison. Go on with --resume, or choose another folder.")
    if not begun:
        return plan.begin(folder)
    check_same(folder, plan)
    return opened(folder)[1]


def _files(data: Any, folder: Path) -> list[str]:
    """Paths as they are for every process; texts are put into a file first."""
    if data == "-":
        folder.mkdir(parents=True, exist_ok=True)
        with new_file(folder / TYPED) as file:
            shutil.copyfileobj(sys.stdin.buffer, file)
        return [_absolute(folder / TYPED)]
    if isinstance(data, str | os.PathLike):
        return [_absolute(data)]
    items = list(data)
    if items and all(isinstance(one, os.PathLike) for one in items):
        return [_absolute(one) for one in items]
    path = folder / GIVEN
    folder.mkdir(parents=True, exist_ok=True)
    write_text(path, "".join(to_json({"text": text}) + "\n" for text in items))
    return [_absolute(path)]


def _absolute(path: str | os.PathLike[str]) -> str:
    return os.path.abspath(path)
