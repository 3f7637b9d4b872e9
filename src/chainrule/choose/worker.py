"""A process of its own for every model: what it needs is measured, and if it fails the others go on.

    python -m chainrule.choose.worker OUT/jobs/lstm.json

Lines of JSON on standard output tell how far it is; what was found is left in OUT/found/NAME.json.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from chainrule.bundle import Bundle, load
from chainrule.choose.ladder import Rung, title
from chainrule.choose.measure import JUDGING, Peak, judged
from chainrule.choose.plan import Plan, judged_on, opened, rate
from chainrule.config import to_json
from chainrule.data.corpus import Corpus
from chainrule.data.dataset import Prepared
from chainrule.errors import ChainruleError
from chainrule.files import write_text
from chainrule.judge.score import LOG2, score_ids
from chainrule.models.mix import Mix, best_weights
from chainrule.progress import Meter, Step, hush
from chainrule.symbols import BOS, EOS
from chainrule.train.fit import learn

SHORTEST = 2.0  # seconds that a training gets at least
EVERY = 0.5  # seconds between two lines


@dataclass
class Work:
    """One job: its description, the data, and when it began."""

    job: Mapping[str, Any]
    out: Path
    plan: Plan
    prepared: Prepared
    began: float
    peak: Peak

    @property
    def left(self) -> float:
        """Seconds of its share that are left."""
        return float(self.job["seconds"]) - (time.monotonic() - self.began)

    def rungs(self) -> None:
        """Train and judge models one after another."""
        for number, described in enumerate(self.job["rungs"]):
            rung = Rung(**described)
            self.peak.reset()
            began = self.began if number == 0 else time.monotonic()
            options = dict(rung.options) | ({"budget": self._budget(1 - JUDGING)} if rung.weight else {})
            run = self.out / "runs" / rung.name
            outcome = learn(
                rung.family,
                self.prepared,
                options | {"seed": self.plan.seed},
                run,
                True,
                self._teller(rung.name),
            )
            bundle = Bundle(self.prepared.codec, outcome.model, dict(outcome.facts))
            facts = {"notes": list(outcome.notes), "progress": _journal(run, time.monotonic() - began)}
            self._keep(rung.name, bundle, facts, began)

    def mix(self) -> None:
        """Let several models that were found speak together."""
        self.peak.reset()
        bundles = [load(self.out / "models" / name) for name in self.job["parts"]]
        valid = self.prepared.valid or judged_on(self.prepared)
        spoken = valid.ids != BOS
        logs = [bundle.model.score_ids(valid.ids)[spoken] for bundle in bundles]
        model = Mix.of([bundle.model for bundle in bundles], best_weights(logs))
        weights = ", ".join(
            f"{name} {weight:.2f}"
            for name, weight in zip(self.job["parts"], model.config.weights, strict=True)
        )
        facts = {"notes": [f"weights: {weights}"], "progress": []}
        parts = (json.loads((self.out / "found" / f"{name}.json").read_text()) for name in self.job["parts"])
        learning = sum(part["seconds"] for part in parts)  # without them there would be nothing to mix
        self._keep(self.job["name"], Bundle(self.prepared.codec, model), facts, self.began - learning)

    def curve(self) -> None:
        """The same model with parts of the data, in parts of the time."""
        rung, fractions = Rung(**self.job["rungs"][0]), self.job["fractions"]
        test, points = judged_on(self.prepared), []
        for place, fraction in enumerate(fractions):
            share = (1 - JUDGING) * fraction / sum(fractions[place:])
            options = dict(rung.options) | ({"budget": self._budget(share)} if rung.weight else {})
            some = replace(self.prepared, train=part(self.prepared.train, fraction, self.plan.seed))
            model = learn(
                rung.family,
                some,
                options | {"seed": self.plan.seed},
                None,
                False,
                self._teller(self.job["name"]),
            ).model
            points.append([some.train.symbols, score_ids(model, test.ids).bits])
        write_text(self.out / "found" / f"{self.job['name']}.json", to_json({"points": points}) + "\n")

    def _teller(self, name: str) -> Any:
        """A `Progress` that says its lines."""

        @contextmanager
        def shown(title: str, total: int | None = None, unit: str = "") -> Iterator[Step]:
            yield _Telling(name, Meter(title, total, unit), rate(self.prepared) / LOG2)

        return shown

    def _budget(self, share: float) -> str:
        return f"{max(SHORTEST, share * self.left):.2f}s"

    def _keep(self, name: str, bundle: Bundle, facts: Mapping[str, Any], began: float) -> None:
        """Save a model and what there is to say about it."""
        family, settings = bundle.model.family, bundle.model.config.values()
        learning = time.monotonic() - began
        bundle.save(self.out / "models" / name, force=True)
        memory = self.peak.bytes
        found = judged(bundle, self.prepared, self.plan.seed, spelling=len(self.plan.codecs) > 1)
        bits = float(found.bits.sum() / found.sizes.sum())
        np.save(self.out / "found" / f"{name}.npy", np.stack([found.bits, found.sizes]))
        told = {
            "name": name,
            "title": title(family, settings, name),
            "codec": bundle.codec.name,
            "bits": bits,
            "family": family,
            "settings": _plain(settings),
            "seconds": learning,
            "memory_bytes": memory,
            "parameters": bundle.model.parameters_count,
            "file_bytes": sum(path.stat().st_size for path in (self.out / "models" / name).rglob("*")),
            **found.facts,
            **facts,
        }
        write_text(self.out / "found" / f"{name}.json", to_json(told, indent=2) + "\n")
        say({"name": name, "done": True, "bits": bits, "seconds": learning})


def part(corpus: Corpus, fraction: float, seed: int) -> Corpus:
    """Some of the sequences, in an order of chance in which a smaller part lies within a larger one; or, of few long
    sequences, the beginning.
    """
    starts = corpus.starts
    if len(starts) < 64:
        ids = np.append(corpus.ids[: max(2, int(fraction * len(corpus.ids)))], EOS).astype(corpus.ids.dtype)
        return replace(corpus, ids=ids, sequences=int((ids == BOS).sum()), bytes=int(fraction * corpus.bytes))
    chosen = np.random.default_rng(seed).permutation(len(starts))[: max(2, int(fraction * len(starts)))]
    ends = np.append(starts[1:], len(corpus.ids))
    ids = np.concatenate([corpus.ids[starts[one] : ends[one]] for one in np.sort(chosen)])
    return replace(corpus, ids=ids, sequences=len(chosen), bytes=int(fraction * corpus.bytes))


def _journal(run: Path, seconds: float) -> list[list[float]]:
    """Nats per symbol on the validation part over time, as a training wrote them down."""
    path = run / "metrics.jsonl"
    if not path.exists():
        return []
    lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    last = max((line["step"] for line in lines), default=1)
    return [[seconds * line["step"] / last, line["valid"]] for line in lines]


def _plain(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Settings worth showing: numbers, words, yes and no."""
    hidden = ("alphabet", "silent", "parts")
    return {
        name: value for name, value in settings.items() if name not in hidden and not isinstance(value, dict)
    }


def say(line: Mapping[str, Any]) -> None:
    """One line for whoever started this process."""
    print(json.dumps(line), flush=True)


class _Telling:
    """A step that says how far it is, not too often."""

    nats: float | None = None

    def __init__(self, name: str, meter: Meter, bits: float) -> None:
        self.name, self.meter, self.bits, self.said = name, meter, bits, 0.0
        self.total, self.words = meter.total, ""

    def __call__(self, count: int) -> None:
        self.meter.total = self.total
        self.meter(count)
        if time.monotonic() - self.said < EVERY:
            return
        self.said = time.monotonic()
        share = self.meter.done / self.total if self.total else None
        bits = None if self.nats is None else self.bits * self.nats
        say({"name": self.name, "share": share, "bits": bits, "left": self.meter.left})


def main(path: Path) -> int:
    """Do one job."""
    job, out = json.loads(path.read_text(encoding="utf-8")), path.parent.parent
    began = time.monotonic()
    try:
        with hush():
            plan, prepared = opened(out, job["codec"])
            work = Work(job, out, plan, prepared[job["codec"]], began, Peak())
            {"rungs": work.rungs, "mix": work.mix, "curve": work.curve}[job["kind"]]()
    except ChainruleError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
