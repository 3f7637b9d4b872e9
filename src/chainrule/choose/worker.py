"""A process of its own for every model: what it needs is measured, and if it fails the others continue.

    python -m chainrule.choose.worker OUT/jobs/lstm.json

Lines of JSON on standard output tell how far it is; what was found is left in OUT/found/NAME.json.
"""

from __future__ import annotations

import json
import math
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from chainrule.bundle import Bundle, load
from chainrule.choose import answers
from chainrule.choose.ladder import Rung, title
from chainrule.choose.learning import FirstLook, Lesson, lasted
from chainrule.choose.measure import JUDGING, Choice, Peak, choice, journal, judged, plain
from chainrule.choose.plan import RacePlan, chosen_on, judged_on, opened, rate
from chainrule.choose.scored import Mixing, Reading, Scored, Scorer, write_cases
from chainrule.choose.subsets import some
from chainrule.choose.telling import Telling, say
from chainrule.config import share
from chainrule.data.corpus import Part
from chainrule.data.dataset import Prepared
from chainrule.errors import ChainruleError
from chainrule.judge.score import LOG2, score_ids
from chainrule.models.base import LanguageModel
from chainrule.models.mix import Mix, best_weights
from chainrule.progress import Meter, Step, quiet
from chainrule.store import sealed
from chainrule.store.files import MARK, write_text
from chainrule.symbols import BOS
from chainrule.train.budget import Timing
from chainrule.train.unfinished import UNFINISHED
from chainrule.use.adapt import AdaptConfig, adapted_model, told

SHORTEST = 2.0  # seconds that a training gets at least
LEAVING, QUICKLY = 1.5, 0.5  # seconds for samples, and for writing everything down; without samples
EVERY_CHECKPOINT = "30s"
FRACTIONS = (1 / 16, 1 / 8, 1 / 4, 1 / 2)  # of the data, for the curve of a model that counts
WAYS = {
    "neural cache": AdaptConfig(neural_cache=True),
    "dynamic evaluation": AdaptConfig(dynamic=True),
}  # how a model adapts itself to what it reads
SAMPLE = 32_768  # ids of the validation part that decide before the last round


@dataclass
class Work:
    """One job: its description, the data, and when it began."""

    job: Mapping[str, Any]
    out: Path
    plan: RacePlan
    prepared: Prepared
    began: float
    peak: Peak
    started: float = 0.0  # seconds after it was launched

    def __post_init__(self) -> None:
        self.started = self.used

    @property
    def used(self) -> float:
        """Seconds since this process was launched."""
        return max(0.0, time.time() - float(self.job["launched"]))

    def rungs(self) -> None:
        """Count and judge models one after another, then the learning curve of the best of them."""
        best: tuple[float, Rung | None, float] = (math.inf, None, 0.0)
        for number, described in enumerate(self.job["rungs"]):
            rung = Rung(**described)
            self.peak.reset()
            began = self.began if number == 0 else time.monotonic()
            bundle = self._learnt(rung, {})
            seconds = time.monotonic() - began
            loss = self._keep(rung.name, bundle, {"crossed": self._crossed(rung, seconds)}, seconds)
            best = min(best, (loss, rung, seconds), key=lambda one: one[0])
        _, chosen, seconds = best
        allowed = float(self.job["curve_seconds"])
        if chosen and 2 * seconds <= allowed:  # half, a quarter … make almost one whole
            self._curve(chosen, FRACTIONS, lambda fraction: {})

    def _crossed(self, rung: Rung, seconds: float) -> float | None:
        """Its cost by cross-validation; None where there are no labels, or no time for it."""
        quick = answers.CROSSING * seconds <= answers.CROSSED * self.plan.budget
        if not quick or not self.plan.answers or self.plan.kind.source:
            return None
        return answers.crossed(lambda less: replace(self, prepared=less)._learnt(rung, {}), self.prepared)

    def round(self) -> None:
        """Train one model from where it stood until this round is over, and judge it."""
        rung = Rung(**self.job["rungs"][0])
        self._able(rung)._round(rung)

    def _round(self, rung: Rung) -> None:
        self.peak.reset()
        run, quick = self.out / "runs" / rung.name, self._quick() if self.job["learning"] else None
        parts = [chosen_on(quick)] if quick else [chosen_on(self.prepared), judged_on(self.prepared)]
        timing = Timing(
            clock=FirstLook() if self.job["learning"] else lambda: self.used,
            judged=sum(len(part.ids) for part in parts),
            leaving=QUICKLY if quick else LEAVING,
            planned=self.job["planned"],
        )
        options = {"budget": self._budget(run), "checkpoint_every": EVERY_CHECKPOINT}
        bundle = self._learnt(rung, options, run, timing)
        training = bundle.card["training"]
        facts = {
            "progress": [] if self.plan.answers else journal(run, training["seconds"]),
            "unfinished": bundle.card.get(UNFINISHED),
            "round": self.job["round"],
            "epochs": training["epochs"],
            "stopped_early": training["stopped_early"],
        }
        self._keep(rung.name, bundle, facts, float(training["seconds"]), quick)

    def _quick(self) -> Prepared:
        """The data with a sample to decide on: before the last round, time is better spent on learning."""
        held = self.prepared.valid or self.prepared.test
        assert held is not None
        fraction = min(1.0, SAMPLE / max(1, len(held.main.ids)))
        return replace(self.prepared, valid=held if fraction == 1.0 else some(held, fraction, self.plan.seed))

    def test(self) -> None:
        """Judge models on the test part that were dropped before anybody had asked for that."""
        for name in self.job["names"]:
            bundle, path = load(self.out / "models" / name), self.out / "found" / f"{name}.json"
            found = sealed.read_json(path)
            with _threads(found["threads"]):
                told = self._tested(name, bundle, self._reading(name, bundle))
            sealed.write_json(path, {**found, **told}, indent=2)

    def refit(self) -> None:
        """Fit what is made by counting once more, on everything; it is what is handed over."""
        for name in self.job["names"]:
            found = answers.refitted(load(self.out / "models" / name), self.prepared, self.out / "models")
            if found is not None:
                found.save(self.out / "models" / name, force=True)
        sealed.write_json(self.out / "found" / f"{self.job['name']}.json", {"names": self.job["names"]})

    def _reading(self, name: str, bundle: Bundle, model: LanguageModel | None = None) -> Scorer:
        """The scores of a model, kept for mixes; saved again, it is another one."""
        if self.plan.answers:  # there are none: its answers are judged
            return _no_scores
        return Reading(model or bundle.model, name, self.out / "scores", self.out / "models" / name / MARK)

    def _tested(self, name: str, bundle: Bundle, scorer: Scorer) -> dict[str, Any]:
        """Everything there is to say about a model on the test part."""
        if self.plan.answers:
            told = answers.tested(*answers.ready(bundle, self.prepared, "test"))
            write_cases(self.out / "found" / f"{name}.npy", [told.drawn])
            return dict(told.facts)
        found = judged(bundle, self.prepared, self.plan.seed, scorer, self.spelling)
        write_cases(self.out / "found" / f"{name}.npy", [found.bits, found.sizes])
        return {"bits": float(found.bits.sum() / found.sizes.sum()), **found.facts}

    @property
    def spelling(self) -> bool:
        """Whether what a codec cannot write down is paid for by the byte: where several are compared."""
        return len(self.plan.codecs) > 1

    def _learnt(
        self, rung: Rung, options: Mapping[str, Any], run: Path | None = None, timing: Timing | None = None
    ) -> Bundle:
        """A model of the training part, or of what stands for it."""
        return self._lesson(rung, options, run, timing).learnt(self.prepared, self._columns)

    def _lesson(
        self,
        rung: Rung,
        options: Mapping[str, Any],
        run: Path | None = None,
        timing: Timing | None = None,
    ) -> Lesson:
        settings = share(self.plan.options, self.plan.kind) if self.plan.answers else {}
        teller = self._teller(rung.name)
        return Lesson(rung, self.plan.task, settings, options, self.plan.seed, teller, run, timing)

    def _able(self, rung: Rung) -> Work:
        """The same job, with the letters of all words where a model reads them."""
        return replace(self, prepared=self._lesson(rung, {}).able(self.prepared))

    @property
    def _columns(self) -> dict[str, str]:
        """Where every role is read from."""
        return {name: role.column for name, role in self.prepared.data.roles.items() if role.column}

    def _budget(self, run: Path) -> str:
        """Until when a model may learn, rounds before this one included; a round that was interrupted keeps its end.

        Before the last round time counts from the first step: all have the same, however long they take to start.
        """
        path = self.out / "jobs" / f"{self.job['name']}.budget"
        if not path.exists():
            seconds = float(self.job["learning"] or self.job["seconds"])
            write_text(path, f"{lasted(run) + max(SHORTEST, seconds):.2f}s\n")
        return path.read_text().strip()

    def mix(self) -> None:
        """Mix several models that were found; the first may adapt itself to what it reads."""
        self.peak.reset()
        if self.plan.answers:
            self._average()
            return
        bundles = [load(self.out / "models" / name) for name in self.job["parts"]]
        parts = [sealed.read_json(self.out / "found" / f"{name}.json") for name in self.job["parts"]]
        threads = next((one["threads"] for one in parts if one["threads"]), None)
        valid = chosen_on(self.prepared)
        predicted, way = valid.ids != BOS, self.job["adapting"]
        models, found = [bundle.model for bundle in bundles], list(self.job["parts"])
        with _threads(threads):
            if way:
                models[0], found[0] = adapted_model(models[0], WAYS[way], valid.ids), self.job["name"]
            each = zip(found, bundles, models, strict=True)
            readings = [self._reading(name, bundle, model) for name, bundle, model in each]
            logs = [reading(valid.ids).logs[predicted] for reading in readings]
        model = Mix.of(models, best_weights(logs))
        names = zip(self.job["parts"], model.config.weights, strict=True)
        notes = ["weights: " + ", ".join(f"{name} {weight:.2f}" for name, weight in names)]
        notes += [f"{told(models[0])}: figures are of text in its order"] if way else []
        card = {"parts": list(self.job["parts"]), "notes": notes, "threads": threads}
        card |= {"reading": self.prepared.data.source.config.values()}
        learning = sum(part["seconds"] for part in parts)  # without them there would be nothing to mix
        bundle = Bundle.of(self.prepared.codec, model, card)
        scorer = Mixing(readings, model.config.weights)
        self._keep(self.job["name"], bundle, {}, time.monotonic() - self.began + learning, scorer=scorer)

    def _average(self) -> None:
        """The mean of what several models answer."""
        parts = [sealed.read_json(self.out / "found" / f"{name}.json") for name in self.job["parts"]]
        threads = next((one["threads"] for one in parts if one["threads"]), None)
        with _threads(threads):
            bundle, prepared = answers.averaged(self.plan, self.out / "models", self.job["parts"])
        card = {**bundle.card, "threads": threads, "columns": self._columns}
        card |= {"reading": self.prepared.data.source.config.values()}
        seconds = time.monotonic() - self.began + sum(part["seconds"] for part in parts)
        told, here = {"codec": self.job["codec"]}, replace(self, prepared=prepared)
        here._keep(self.job["name"], replace(bundle, card=card), told, seconds)

    def curve(self) -> None:
        """The curve of a model that learns: parts of the time as large as the parts of the data."""
        rung, fractions = Rung(**self.job["rungs"][0]), self.job["fractions"]
        seconds = (float(self.job["seconds"]) - self.used) * (1 - JUDGING) / sum(fractions)
        less = self._able(rung)
        less._curve(rung, fractions, lambda fraction: {"budget": f"{max(1.0, seconds * fraction):.2f}s"})

    def _curve(
        self, rung: Rung, fractions: Sequence[float], options: Callable[[float], Mapping[str, Any]]
    ) -> None:
        """Learning curve: the same model with parts of the data."""
        points = []
        for fraction in fractions:
            train = some(self.prepared.train, fraction, self.plan.seed)
            less = replace(self, prepared=replace(self.prepared, train=train))
            points.append([_amount(train, self.plan), self._cost(less._learnt(rung, options(fraction)))])
        kind = "labels" if self.plan.answers else "points"
        sealed.write_json(self.out / "found" / f"curve of {rung.name}.json", {kind: points})

    def _cost(self, bundle: Bundle) -> float:
        """On the test part: all bits, or the cost of answers."""
        if self.plan.answers:
            figures = answers.answered(*answers.ready(bundle, self.prepared, "test")).figures()
            return float(answers.cost(bundle.task, figures[bundle.task.figure]))
        return score_ids(bundle.model, judged_on(self.prepared).ids).bits

    def _teller(self, name: str) -> Any:
        """A `Progress` that says its lines."""

        @contextmanager
        def shown(title: str, total: int | None = None, unit: str = "") -> Iterator[Step]:
            scale = None if self.plan.answers else rate(self.prepared) / LOG2
            yield Telling(name, Meter(title, total, unit), scale)

        return shown

    def _keep(
        self,
        name: str,
        bundle: Bundle,
        facts: Mapping[str, Any],
        seconds: float,
        quick: Prepared | None = None,
        scorer: Scorer | None = None,
    ) -> float:
        """Save a model that took so many `seconds`, and what there is to say about it; gives what is minimised.

        With `quick` data, only what decides about it.
        """
        family, settings = bundle.body.family, bundle.body.config.values()
        bundle.save(self.out / "models" / name, force=True)
        memory, began = self.peak.bytes, time.monotonic()
        scorer = scorer or self._reading(name, bundle)
        with _threads(bundle.card.get("threads")):
            chosen = self._choice(bundle, quick or self.prepared, scorer)
            tested = {} if quick else self._tested(name, bundle, scorer)
        if chosen.cases is not None and not quick:
            write_cases(self.out / "found" / f"{name}.valid.npy", chosen.cases)
        told = {
            "name": name,
            "title": title(family, settings, name),
            "codec": bundle.codec.name,
            "figure": chosen.figure,
            "loss": chosen.loss,
            "family": family,
            "settings": plain(settings),
            "notes": bundle.card.get("notes", []),
            "progress": [],
            "seconds": seconds,
            "judging": (time.monotonic() - began) * (self._whole(quick) if quick else 1.0),
            "started": self.started,
            "threads": bundle.card.get("threads"),
            "memory_bytes": memory,
            "parameters": bundle.parameters,
            "file_bytes": sum(path.stat().st_size for path in (self.out / "models" / name).rglob("*")),
            **tested,
            **facts,
        }
        sealed.write_json(self.out / "found" / f"{name}.json", told, indent=2)
        say({"name": name, "done": True, "bits": chosen.figure, "seconds": seconds})
        return chosen.loss

    def _choice(self, bundle: Bundle, prepared: Prepared, scorer: Scorer) -> Choice:
        if self.plan.answers:
            return answers.choice(bundle, prepared)
        return choice(bundle, prepared, scorer, self.spelling)

    def _whole(self, quick: Prepared) -> float:
        """How many times as many symbols both held-out parts have."""
        whole = len(chosen_on(self.prepared).ids) + len(judged_on(self.prepared).ids)
        return whole / max(1, len(chosen_on(quick).ids))


def _threads(number: int | None) -> AbstractContextManager[None]:
    """Judging has as many as training found best: beside other programs, two can be many times slower than one."""
    if number is None:
        return nullcontext()
    from chainrule.nn.threads import in_threads

    return in_threads(number)


def _amount(train: Part, plan: RacePlan) -> int:
    """How much a model learns from: labels or, without any, symbols."""
    return train.examples if plan.answers else train.main.symbols


def _no_scores(ids: np.ndarray) -> Scored:
    raise AssertionError("answers have no scores of symbols")


@cache
def _data(out: Path, codec: str) -> tuple[RacePlan, Prepared]:
    """The plan and the data, read once; a fork has what was read before it."""
    with quiet():
        plan, prepared = opened(out, codec)
    return plan, prepared[codec]


def ready(path: Path) -> None:
    """Whatever a job needs that others need, too: its data, and torch for those that learn."""
    job = json.loads(path.read_text(encoding="utf-8"))
    _data(path.parent.parent, job["codec"])
    if job["kind"] != "rungs":
        import chainrule.train.gradient  # noqa: F401


def main(path: Path) -> int:
    """Do one job."""
    job, out = json.loads(path.read_text(encoding="utf-8")), path.parent.parent
    began = time.monotonic()
    try:
        with quiet():
            work = Work(job, out, *_data(out, job["codec"]), began, Peak())
            {
                "rungs": work.rungs,
                "round": work.round,
                "test": work.test,
                "refit": work.refit,
                "mix": work.mix,
                "curve": work.curve,
            }[job["kind"]]()
    except ChainruleError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
