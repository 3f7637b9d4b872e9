"""p(w | x): how probable texts are, given what they are written from, whatever that is."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from chainrule.data.corpus import Corpus
from chainrule.data.paired import PairedBatches
from chainrule.errors import ConfigError, ModelError
from chainrule.tasks.translate import TOGETHER, scores
from chainrule.use.source_inputs import SourceReader
from chainrule.use.text import texts_of, typed_texts

if TYPE_CHECKING:
    from chainrule.bundle import Bundle

ABSENT = "This model's task is {task!r}, and it writes from no source: its texts are scored by `score`."


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
    encoded = bundle.codec.encode(texts)
    batches = PairedBatches(inputs, Corpus(encoded.ids, len(texts), texts.bytes), TOGETHER)
    found = np.zeros(len(texts))
    for rows in batches.groups(0) if len(texts) else ():
        found[rows] = scores(bundle.model, batches.take(rows)).sum(1, dtype=np.float64)
    return found
