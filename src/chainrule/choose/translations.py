"""How models are measured that write from a source: by BLEU and other figures of what they write, greedily."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from chainrule.bundle import Bundle
from chainrule.data.corpus import Part
from chainrule.data.encoder_inputs import EncoderInputs
from chainrule.data.rows import TARGET
from chainrule.judge.texts import Rewritten, rewritten
from chainrule.models.mix import Mix, best_weights
from chainrule.symbols import BOS
from chainrule.tasks.translate import scored
from chainrule.use.conditional import logs_of
from chainrule.use.text import shown
from chainrule.use.translate import Translator

MOST, SAMPLES = 300, 3  # rows that are written, and shown
FIGURES = ("perplexity", "bits_per_symbol")


def translated(bundle: Bundle, part: Part) -> Rewritten:
    """What a model writes for the first rows of a part, beside what it should have written."""
    some = part.select(np.arange(min(MOST, part.examples)))
    figures = scored(bundle.model, some).figures()
    said = _written(bundle, some)
    wanted = [[shown(bundle.codec, ids).strip() for ids in _sequences(some[TARGET].ids)]]
    return rewritten(said, wanted, {name: figures[name] for name in FIGURES})


def samples(bundle: Bundle, part: Part) -> list[str]:
    """Some of it, for people."""
    some = part.select(np.arange(min(SAMPLES, part.examples)))
    first = next(role for role in some if role != TARGET)
    sources = [shown(bundle.codecs[first], ids).strip() for ids in _sequences(some[first].ids)]
    return [f"{one} → {other}" for one, other in zip(sources, _written(bundle, some), strict=True)]


def _written(bundle: Bundle, part: Part) -> list[str]:
    translator = Translator.of(bundle, {"temperature": 0.0})
    return [choices[0].text for choices in translator.written(EncoderInputs.of(part, TARGET))]


def _sequences(ids: np.ndarray) -> list[list[int]]:
    """One by one, without BOS and EOS."""
    starts = np.flatnonzero(ids == BOS)
    return [one[1:-1].tolist() for one in np.split(ids, starts[1:])]


def mixed(bundles: Sequence[Bundle], part: Part, names: Sequence[str]) -> Bundle:
    """The mean of what they think comes next, weighted on a part that none of them was trained on."""
    inputs, ids = EncoderInputs.of(part, TARGET), part[TARGET].ids
    logs = [logs_of(one, ids, inputs)[ids != BOS] for one in bundles]
    model = Mix.of([one.model for one in bundles], best_weights(logs))
    told = ", ".join(f"{name} {weight:.2f}" for name, weight in zip(names, model.config.weights, strict=True))
    card = {"parts": list(names), "notes": [f"weights: {told}"]}
    return Bundle(bundles[0].codecs, model, bundles[0].task, None, card)
