"""The GLUE score: of every task the figures it is published with, and their average over tasks (Wang et al. 2019)."""

from __future__ import annotations

from collections.abc import Mapping

from chainrule.errors import ConfigError

PUBLISHED: Mapping[str, tuple[str, ...]] = {
    "CoLA": ("matthews",),
    "SST-2": ("accuracy",),
    "MRPC": ("f1", "accuracy"),
    "STS-B": ("pearson", "spearman"),
    "QQP": ("f1", "accuracy"),
    "MNLI": ("matched_accuracy", "mismatched_accuracy"),
    "QNLI": ("accuracy",),
    "RTE": ("accuracy",),
    "WNLI": ("accuracy",),
}


def task_score(task: str, figures: Mapping[str, float]) -> float:
    """100 times the mean of the figures a task is published with."""
    if task not in PUBLISHED:
        raise ConfigError(f"{task!r} is no task of GLUE. They are: {', '.join(PUBLISHED)}.")
    missing = [name for name in PUBLISHED[task] if name not in figures]
    if missing:
        raise ConfigError(
            f"{task} is published with {' and '.join(PUBLISHED[task])}: {missing[0]} is missing."
        )
    return 100.0 * sum(figures[name] for name in PUBLISHED[task]) / len(PUBLISHED[task])


def glue_score(figures: Mapping[str, Mapping[str, float]]) -> float:
    """The mean over the tasks that are given; published averages are over all nine, or all but WNLI."""
    if not figures:
        raise ConfigError("There are no figures of any task to take the mean of.")
    return sum(task_score(task, own) for task, own in figures.items()) / len(figures)
