"""How models are measured whose answers are right or wrong: by their task's own figure, whatever the task is.

Where tables, plots and curves want less to be better, a figure that is to be large is told as what it lacks to one:
the error (1 - accuracy).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from chainrule.bundle import Bundle, load
from chainrule.choose.measure import Choice
from chainrule.choose.plan import RacePlan
from chainrule.choose.translations import mixed, samples, translated
from chainrule.data.corpus import Part
from chainrule.data.dataset import Prepared
from chainrule.judge.bootstrap import ends
from chainrule.judge.judged import Judged, resamples
from chainrule.models.ensemble import Ensemble
from chainrule.models.readers import CountingReader
from chainrule.progress import no_progress
from chainrule.tasks.base import Task
from chainrule.train.refit import refit_facts, reread
from chainrule.use.predict import predictor

SECONDS = 1.0  # for the intervals of one model
FOLDS = 3  # of cross-validation
CROSSING, CROSSED = FOLDS - 1, 0.25  # times as long as one fit, and the share of the budget that it may take


def cost(task: Task, value: Any) -> Any:
    """A figure as tables and plots have it, where less is better."""
    return task.most - value if task.maximise else value


def unit(task: Task) -> str:
    """What that is called."""
    name = task.figure.replace("_", " ")
    if not task.maximise:
        return name
    return f"error (1 - {name})" if task.most == 1.0 else f"{task.most:g} - {name}"


@dataclass(frozen=True)
class Tested:
    """What was found on one part of the data: values to tell, and the cost (R,) on test sets drawn from it."""

    facts: Mapping[str, Any]
    drawn: np.ndarray


def answered(bundle: Bundle, part: Part) -> Judged:
    """The answers of a model to all examples of a part; of one that writes from a source, what it writes."""
    if bundle.task.source:
        return translated(bundle, part)
    task, head = predictor(bundle)
    return task.judged(bundle.body, head, part, bundle.codecs)


def ready(bundle: Bundle, prepared: Prepared, name: str) -> tuple[Bundle, Part]:
    """A model and a part, the validation or the test part; one that reads letters is told those of all words."""
    letters = bundle.body.config.word_letters
    if letters:
        from chainrule.models.neural import Neural

        assert isinstance(bundle.body, Neural)
        prepared = prepared if prepared.words else prepared.spelled_out()
        assert prepared.words is not None
        own, more = prepared.codec.spellings(letters), prepared.words.spellings(letters, prepared.codec.size)
        bundle = replace(bundle, body=bundle.body.respelled(own, more))
    part = (prepared.valid if name == "valid" else None) or prepared.test
    assert part is not None
    return bundle, part


def choice(bundle: Bundle, prepared: Prepared) -> Choice:
    """What decides about a model: its task's own figure on the validation part."""
    task, found = bundle.task, answered(*ready(bundle, prepared, "valid"))
    value = found.figures()[task.figure]
    drawn = cost(task, resamples(found, SECONDS, [task.figure])[task.figure])
    return Choice(value, -value if task.maximise else value, (drawn,))


def crossed(learn: Callable[[Prepared], Bundle], prepared: Prepared) -> float:
    """Cross-validation of what is quickly made: the cost on all of the training part, each example answered by a model
    that has not seen it. A part held out for validation is small; a model would win on it by chance.
    """
    rows = np.random.default_rng(0).permutation(prepared.train.examples)
    costs, folds = [], np.array_split(rows, FOLDS)
    for at, fold in enumerate(folds):
        rest = np.sort(np.concatenate([*folds[:at], *folds[at + 1 :]]))
        bundle = learn(replace(prepared, train=prepared.train.select(rest)))
        found = answered(bundle, prepared.train.select(np.sort(fold))).figures()[bundle.task.figure]
        costs.append(float(cost(bundle.task, found)))
    return float(np.average(costs, weights=[len(fold) for fold in folds]))


def tested(bundle: Bundle, part: Part) -> Tested:
    """Everything there is to say about a model on the test part."""
    task, began = bundle.task, time.perf_counter()
    found = answered(bundle, part)
    seconds = time.perf_counter() - began
    figures = found.figures()
    drawn = resamples(found, SECONDS, [*dict.fromkeys([task.figure, *found.sure])])
    facts = {
        "bits": cost(task, figures[task.figure]),
        "figures": figures,
        "intervals": {name: list(ends(one)) for name, one in drawn.items() if len(one) and name in figures},
        "details": found.details(),
        "score_per_second": part.examples / max(seconds, 1e-9),
        "perplexity": None,
        "write_per_second": None,
        "samples": samples(bundle, part) if task.source else [],
        "surprise": None,
        "values": None,
    }
    return Tested(facts, cost(task, drawn[task.figure]))


def averaged(plan: RacePlan, models: Path, names: Sequence[str]) -> tuple[Bundle, Prepared]:
    """The mean of what these models answer, weighted on the validation part; and the data as it reads them."""
    from chainrule.train.ensemble import codecs_of, weighed

    bundles = [load(models / name) for name in names]
    if bundles[0].task.source:
        prepared = plan.again(bundles[0].codecs)
        part = prepared.valid or prepared.test
        assert part is not None
        return mixed(bundles, part, names), prepared
    codecs = codecs_of(bundles)
    prepared = plan.again(codecs)
    part = prepared.valid or prepared.test
    assert part is not None
    return weighed(bundles, part, codecs, names), prepared


def refitted(bundle: Bundle, prepared: Prepared, models: Path) -> Bundle | None:
    """A reader made by counting, of everything; its figures stay those of its twin. None: there is nothing to gain.

    Of an ensemble, those of its models that were refitted are taken from the folder `models`.
    """
    if isinstance(bundle.body, Ensemble):
        members = [
            replace(one, model=load(models / name).body) if isinstance(one.model, CountingReader) else one
            for name, one in zip(bundle.card["parts"], bundle.body.members, strict=True)
        ]
        return replace(bundle, body=Ensemble(bundle.body.config, members))
    if not (isinstance(bundle.body, CountingReader) and prepared.data.held):
        return None
    whole = prepared.everything()
    body = reread(bundle.body, bundle.task, whole, no_progress)
    return replace(
        bundle, body=body, card={**bundle.card, **refit_facts(bundle.card, prepared, whole, bundle.head)}
    )
