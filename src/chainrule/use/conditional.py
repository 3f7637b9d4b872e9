"""p(w | x): how probable texts are, given what they are written from, whatever that is."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from chainrule.data.corpus import Corpus
from chainrule.data.encoder_inputs import EncoderInputs
from chainrule.data.paired import PairedBatches
from chainrule.errors import ConfigError, ModelError
from chainrule.symbols import BOS, PAD
from chainrule.tasks.translate import TOGETHER, scores
from chainrule.use.source_inputs import SourceReader
from chainrule.use.text import texts_of, typed_texts

if TYPE_CHECKING:
    from chainrule.bundle import Bundle

ABSENT = "This model's task is {task!r}, and it writes from no source: its texts are scored by `score`."
UNSAID = (
    "This model writes from a source, and its texts are more or less probable by it: say what each is written from "
    "(rank --source, evaluate --source --target; in Python log_probability(targets, sources))."
)
UNWRITTEN = "This model writes from a source, and none is given here. Use: chainrule translate MODEL SOURCE"


def refuse_without_source(bundle: Bundle, told: str) -> None:
    """Refuse to use a model that writes from a source as if there were none: it never learnt to."""
    if bundle.task.source is not None:
        raise ModelError(told)


def log_probability(bundle: Bundle, targets: Iterable[str], sources: Iterable[Any]) -> np.ndarray:
    """Natural logarithm (N,) of the probability of each target given its source, the end of the text included."""
    if bundle.task.source is None or bundle.task.predicts is None:
        raise ModelError(ABSENT.format(task=bundle.task.name))
    if isinstance(targets, str) or isinstance(sources, str):
        raise ConfigError("Several targets and as many sources are wanted: give a list of each.")
    reader, texts = SourceReader(bundle), typed_texts(bundle.codec, texts_of(targets))
    inputs = reader.inputs(reader.typed(sources))
    if len(inputs.lengths) != len(texts):
        raise ConfigError(
            f"There are {len(texts):,} targets and {len(inputs.lengths):,} sources: give one for each."
        )
    ids = bundle.codec.encode(texts).ids
    totals = np.add.reduceat(logs_of(bundle, ids, inputs), np.flatnonzero(ids == BOS)) if len(ids) else ids
    return np.asarray(totals, np.float64)


def logs_of(bundle: Bundle, ids: np.ndarray, inputs: EncoderInputs) -> np.ndarray:
    """Natural log-probability of each of flat ids (positions,), sequence i written from input i; 0 of BOS."""
    corpus = Corpus(ids, int((ids == BOS).sum()), 0)
    batches, found = PairedBatches(inputs, corpus, TOGETHER), np.zeros(len(ids))
    for rows in batches.groups(0) if corpus.sequences else ():
        batch = batches.take(rows)
        places = corpus.starts[rows][:, None] + 1 + np.arange(batch.targets.shape[1])  # (B, T)
        real = batch.targets != PAD
        found[places[real]] = scores(bundle.model, batch)[real]
    return found
