"""From a folder of Hugging Face to a model of ours."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import torch

from chainrule.bundle import Bundle
from chainrule.codecs.huggingface import HuggingFace, drops
from chainrule.codecs.subwords import FILE
from chainrule.errors import BundleError, ConfigError
from chainrule.interop.huggingface.folder import format_of, settings_of, tensors_of
from chainrule.interop.huggingface.layout import Arrays, Format, TensorMap
from chainrule.interop.huggingface.values import Values
from chainrule.interop.huggingface.vocabulary import backend, chat_template, codec_of
from chainrule.models.registry import family
from chainrule.symbols import EOS
from chainrule.tasks.base import task as task_class

FEW = 4  # names that a message lists


def import_hf(folder: Path | str) -> Bundle:
    """A model that their library saved, with its tokenizer; what a user should know is in `card["notes"]`."""
    folder = Path(folder)
    values = settings_of(folder)
    form = format_of(values)
    codec = codec_of(folder, values, form)
    config = _config(form, values, codec)
    parts = form.parts(config)
    wanted = [name for part in parts for name in part.theirs]
    found = form.tidied(form.named(tensors_of(folder), wanted), values)
    lacking = [
        head for head in form.heads if not any(_known(part, found) for part in parts if head.holds(part))
    ]
    old = [part for part in parts if not any(head.holds(part) for head in lacking)]
    _check(folder, found, old, _shapes(form, config), codec.rows)
    arrays = {part.ours: part.to_ours(found, codec.theirs) for part in old}
    if lacking:
        arrays = _fresh(form, config) | arrays
    notes = [*(head.note for head in lacking), *_codec_notes(codec), *_unread(form, found, wanted)]
    card = {"imported": folder.resolve().name, "fresh": [head.name for head in lacking], "notes": notes}
    template = chat_template(folder)
    card |= {} if template is None else {"chat_template": template}
    kind = family(form.family)
    told = {head.setting: head not in lacking for head in form.heads if head.setting}
    task = task_class(kind.task)(**told)
    return Bundle(
        {role.name: codec for role in task.roles()}, kind.from_arrays(config, arrays), task, None, card
    )


def _config(form: Format, values: Values, codec: HuggingFace) -> Any:
    kind = family(form.family).Config
    try:
        config: Any = kind(vocab_size=codec.size, suppressed=codec.suppressed, **form.settings(values))
        config.check()
        return config
    except ConfigError as error:
        raise BundleError(f"{values.path} does not describe a model that can be imported: {error}") from error


def _shapes(form: Format, config: Any) -> dict[str, tuple[int, ...]]:
    """Of all our tensors."""
    made: Any = family(form.family)
    with torch.device("meta"):  # sizes only, no memory
        return {name: tuple(one.shape) for name, one in made(config).state_dict().items()}


def _fresh(form: Format, config: Any) -> dict[str, np.ndarray]:
    made: Any = family(form.family)
    return dict(made.seeded(config, 0).arrays())


def _known(part: TensorMap, found: Arrays) -> bool:
    return any(name in found for name in part.theirs)


def _check(
    folder: Path, found: Arrays, parts: list[TensorMap], shapes: dict[str, tuple[int, ...]], rows: int
) -> None:
    """Every tensor is there, holds numbers, and has the shape that config.json leads to expect."""
    missing = [name for part in parts for name in part.theirs if name not in found]
    if missing:
        raise BundleError(
            f"{folder} lacks {_listed(missing)}, which its config.json leads to expect. Copy the folder again."
        )
    for part in parts:
        wanted = part.shape(shapes[part.ours], rows)
        for name in part.theirs:
            if found[name].shape != wanted:
                raise BundleError(
                    f"{folder}: the tensor {name} has the shape {found[name].shape}, and its config.json leads to "
                    f"expect {wanted}. The two files do not belong together."
                )
            if found[name].dtype.kind != "f":
                raise BundleError(
                    f"{folder}: the tensor {name} holds {found[name].dtype}, and numbers with a fraction were "
                    "expected. Quantised models cannot be imported: save it as float32, float16 or bfloat16."
                )


def _unread(form: Format, found: Arrays, wanted: list[str]) -> list[str]:
    others = sorted(name for name in found if name not in wanted and not form.unread.search(name))
    return [f"not read, for they have no place here: {_listed(others)}"] if others else []


def _codec_notes(codec: HuggingFace) -> list[str]:
    notes = []
    if drops(backend(codec.text, Path(FILE))):
        notes.append("the tokenizer drops merges at random (dropout), which is for training: it is off here")
    if EOS not in codec.keeps:
        notes.append("no token of the tokenizer ends a sequence: whole sequences get probability 0")
    if len(codec.unnamed):
        notes.append(
            f"{len(codec.unnamed):,} rows of the table have no token: they are kept, and never predicted"
        )
    return notes


def _listed(names: list[str]) -> str:
    more = f" and {len(names) - FEW:,} more" if len(names) > FEW else ""
    return ", ".join(names[:FEW]) + more
