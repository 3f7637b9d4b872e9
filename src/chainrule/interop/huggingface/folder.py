"""The settings and tensors in a Hugging Face folder; nothing in it is executed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from chainrule.errors import BundleError
from chainrule.interop.huggingface.bert import BertFormat
from chainrule.interop.huggingface.gpt2 import Gpt2Format
from chainrule.interop.huggingface.layout import Arrays, Format
from chainrule.interop.huggingface.marian import MarianFormat, PegasusFormat
from chainrule.interop.huggingface.values import Values
from chainrule.store import tensors
from chainrule.store.files import CONFIG, FORMAT

FORMATS: tuple[Format, ...] = (Gpt2Format(), BertFormat(), MarianFormat(), PegasusFormat())
WEIGHTS, INDEX = "model.safetensors", "model.safetensors.index.json"
PICKLED = ("pytorch_model.bin", "pytorch_model.bin.index.json", "tf_model.h5", "flax_model.msgpack")


def settings_of(folder: Path) -> Values:
    """The content of config.json, if this is a folder of theirs at all."""
    if not folder.is_dir():
        what = "is a file" if folder.exists() else "does not exist"
        raise BundleError(f"{folder} {what}; a folder with {CONFIG}, {WEIGHTS} and a tokenizer was expected.")
    if not (folder / CONFIG).is_file():
        raise BundleError(f"{folder} has no {CONFIG}: it is no model folder of Hugging Face.")
    values = Values.read(folder / CONFIG)
    if values.found.get("format") == FORMAT:
        raise BundleError(
            f"{folder} is a model of chainrule already. Use it as it is: chainrule show {folder}"
        )
    return values


def format_of(values: Values) -> Format:
    """Which kind of model a config.json describes."""
    architectures = values.found.get("architectures")
    names = [str(one).lower() for one in architectures] if isinstance(architectures, list) else []
    given = values.found.get("model_type")
    for one in FORMATS:
        if given == one.kind or (given is None and any(name.startswith(one.kind) for name in names)):
            return one
    known = ", ".join(one.kind for one in FORMATS)
    raise BundleError(f"{values.path}: its model_type is {given!r}; {known} can be imported.")


def tensors_of(folder: Path) -> Arrays:
    """All tensors, from one file or from several."""
    if (folder / WEIGHTS).is_file():
        return tensors.read(folder / WEIGHTS)
    if (folder / INDEX).is_file():
        found: dict[str, Any] = {}
        for name in _shards(folder):
            found |= tensors.read(folder / name)
        return found
    pickled = next((name for name in PICKLED if (folder / name).exists()), None)
    if pickled:
        raise BundleError(
            f"{folder} has {pickled} and no {WEIGHTS}. Such a file may run any program when it is opened, so it is not "
            "read. Where you trust it, convert it with their library: "
            "AutoModelForCausalLM.from_pretrained(DIR).save_pretrained(NEW) (BERT: AutoModelForMaskedLM, Marian: "
            "AutoModelForSeq2SeqLM), and the tokenizer with AutoTokenizer.from_pretrained(DIR).save_pretrained(NEW)"
        )
    raise BundleError(f"{folder} has no {WEIGHTS}: there is nothing to import.")


def _shards(folder: Path) -> list[str]:
    """The files an index names; all lie in the folder itself."""
    places = Values.read(folder / INDEX).found.get("weight_map")
    names = sorted({str(name) for name in places.values()}) if isinstance(places, dict) else []
    wrong = [name for name in names if Path(name).name != name or not name.endswith(".safetensors")]
    if wrong or not names:
        raise BundleError(
            f"{folder / INDEX} is damaged or foreign: it should name .safetensors files beside it."
        )
    return names
