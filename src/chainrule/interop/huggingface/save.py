"""From a model of ours to a folder of Hugging Face."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from chainrule.bundle import Bundle
from chainrule.codecs.huggingface import ROLES
from chainrule.config import to_json
from chainrule.errors import ModelError
from chainrule.interop.huggingface.folder import FORMATS, WEIGHTS
from chainrule.interop.huggingface.layout import Format
from chainrule.interop.huggingface.spelling import Spelling, spelling
from chainrule.interop.huggingface.vocabulary import GENERATION, TOKENIZER, TOKENS
from chainrule.store import tensors
from chainrule.store.files import CONFIG, new_folder

FILES = (CONFIG, GENERATION, WEIGHTS, TOKENIZER, TOKENS)
SUPPRESSED = (
    -10_000.0
)  # the bias of a symbol that is never predicted: a probability of 0, and no number is infinite


def export_hf(bundle: Bundle, folder: Path | str, force: bool = False) -> tuple[str, ...]:
    """Write a folder that their Auto classes open; what a user should know comes back as notes."""
    form = format_of(bundle)
    config: Any = bundle.model.config
    values = form.described(config, bundle.task)
    arrays = dict(bundle.model.arrays())
    written = spelling(bundle.codec, form, arrays["embedding.weight"])
    arrays |= form.added(arrays)
    if written.own and "output.bias" in arrays:
        arrays["output.bias"] = _suppressed(arrays["output.bias"], config.suppressed)
    theirs: dict[str, np.ndarray] = {}
    fresh = [one.name for one in form.heads] if written.own else bundle.card.get("fresh", [])
    idle = [head for head in form.heads if head.name in fresh and head.idle(bundle.task)]
    for part in form.parts(config):
        if not any(head.holds(part) for head in idle):
            theirs |= part.to_theirs(arrays[part.ours], written.order)
    generates = bundle.model.reads == "left"
    ids = {key: number for role, number in written.ids.items() for key in form.keys.get(role, ())}
    values |= {"vocab_size": len(written.order), "dtype": "float32", **ids}
    with new_folder(folder, force, FILES) as temporary:
        _write(temporary / CONFIG, values)
        tensors.write(temporary / WEIGHTS, form.finished(theirs, config, values), {"format": "pt"})
        (temporary / TOKENIZER).write_text(written.text, encoding="utf-8", newline="")
        _write(temporary / TOKENS, _token_settings(form, written, config.context))
        if generates:
            suppressed = {"suppress_tokens": list(written.suppressed)} if written.suppressed else {}
            _write(temporary / GENERATION, ids | suppressed)
    return written.notes


def format_of(bundle: Bundle) -> Format:
    """The format over there that holds a family of ours."""
    for form in FORMATS:
        if form.family == bundle.model.family and form.holds(bundle.model.config):
            return form
    known = ", ".join(dict.fromkeys(form.family for form in FORMATS))
    also = " For n-grams there is chainrule export arpa." if bundle.model.family == "ngram" else ""
    raise ModelError(
        f"The families {known} go to Hugging Face, and this model is of the family {bundle.model.family!r}.{also}"
    )


def _suppressed(bias: np.ndarray, suppressed: tuple[int, ...]) -> np.ndarray:
    found = bias.copy()
    found[list(suppressed)] = SUPPRESSED
    return found


def _token_settings(form: Format, written: Spelling, context: int) -> dict[str, Any]:
    """What makes their AutoTokenizer of the file alone."""
    tokens = {
        form.names[role][0]: written.tokens[role]
        for role in ROLES
        if role in written.tokens and form.names[role]
    }
    return {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "model_max_length": context,
        "model_input_names": list(form.inputs),
        "clean_up_tokenization_spaces": False,
        **tokens,
    }


def _write(path: Path, values: Mapping[str, Any]) -> None:
    path.write_text(to_json(values, indent=2) + "\n", encoding="utf-8")
