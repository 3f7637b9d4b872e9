"""What a saved folder says: its config read and checked, its codecs and its head made again."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from chainrule.codecs.base import Codec
from chainrule.codecs.registry import codec as codec_class
from chainrule.config import Config, visible
from chainrule.errors import BundleError
from chainrule.models.base import ModelConfig
from chainrule.models.registry import families
from chainrule.store import manifest, tensors
from chainrule.store.files import CONFIG, FORMAT

if TYPE_CHECKING:
    from chainrule.heads.base import Head
    from chainrule.tasks.base import Task

VERSION = 1
PARTS: dict[str, type] = {  # of a card, as every verb takes them
    **dict.fromkeys(
        ("reading", "columns", "figures", "training", "data", "settings", "versions", "adapted"), dict
    ),
    **dict.fromkeys(("notes", "losses", "history"), list),
}
CURVES = {"losses": ("train",), "history": ("train", "valid")}  # by step
MOST = 1e300  # a step that is one
HEAD = "head/"  # before the names of what a head has learnt


def is_hugging_face(folder: Path) -> bool:
    """Whether a folder holds a model as their library saves it, and none of ours."""
    config = manifest.read_json(folder / CONFIG) if (folder / CONFIG).is_file() else {}
    return config.get("format") != FORMAT and "model_type" in config


def read_config(folder: Path) -> dict[str, Any]:
    """What a saved model is, without loading it."""
    if folder.is_file():
        raise BundleError(
            f"{folder} is a file; a saved model is a folder. (ARPA files: chainrule import arpa.)"
        )
    if not folder.is_dir() and str(folder) in families():
        raise BundleError(
            f"{folder} is a family of models, and the folder of a trained one is wanted. A family is named by --model."
        )
    if not folder.is_dir():
        raise BundleError(f"There is no saved model {folder}. Make one: chainrule fit DATA -o {folder}")
    if not (folder / CONFIG).is_file():
        raise BundleError(f"{folder} is no saved model: it has no {CONFIG}.")
    config = manifest.read_json(folder / CONFIG)
    if is_hugging_face(folder):
        raise BundleError(
            f"{folder} is a model of Hugging Face ({config['model_type']}). Import it first: chainrule import hf "
            f"{folder} -o OUT"
        )
    if config.get("format") != FORMAT:
        raise BundleError(f"{folder / CONFIG} is not of chainrule: its format is {config.get('format')!r}.")
    if type(config.get("version")) is not int or config["version"] < 1:
        raise BundleError(f"{folder / CONFIG} is damaged: its version is {config.get('version')!r}.")
    if config["version"] > VERSION:
        raise BundleError(
            f"{folder} was saved by a newer chainrule (format {config['version']}; this one reads up to "
            f"{VERSION}). Upgrade chainrule to load it."
        )
    return config


def saved_codec(folder: Path, described: Mapping[str, Any]) -> Codec:
    kind = codec_class(described["name"])
    return kind.load(folder, kind.Config.from_values(described["config"]))


def saved_head(
    described: Mapping[str, Any] | None, arrays: Mapping[str, np.ndarray], body: ModelConfig
) -> Head | None:
    """The head of a body with this config; each model of an ensemble has its own."""
    if described is None:
        return None
    from chainrule.heads.base import head

    kind = head(described["name"])
    own = {name.removeprefix(HEAD): one for name, one in arrays.items() if name.startswith(HEAD)}
    found = kind.from_arrays(kind.Config.from_values(described["config"]), own)
    heads, models = getattr(found.config, "parts", None), getattr(body, "parts", ())
    if heads is not None and len(heads) != len(models):
        raise BundleError(
            f"An ensemble of {len(models)} models has {len(heads)} heads, and should have as many. "
            "Copy or save the model again."
        )
    return found


def read_card(path: Path) -> dict[str, Any]:
    """Where a saved model comes from; its parts must be what every verb takes them for."""
    card: dict[str, Any] = manifest.read_json(path)
    odd = [name for name, kind in PARTS.items() if not isinstance(card.get(name, kind()), kind)]
    odd = odd or [name for name, keys in CURVES.items() if not _is_curve(card.get(name, []), keys)]
    odd = odd or ["figures"] * any(not isinstance(one, dict) for one in card.get("figures", {}).values())
    if odd:
        raise BundleError(
            f"{path} is damaged: its {odd[0]!r} is {str(card[odd[0]])[:200]}. Copy or save the model again."
        )
    return card


def _is_curve(rows: list[Any], keys: tuple[str, ...]) -> bool:
    """Whether each row has a step that is a number, these values, and nothing but numbers, or none."""
    return all(
        isinstance(row, dict)
        and _is_number(row.get("step"))
        and all(name in row for name in keys)
        and all(isinstance(one, float | None) or _is_number(one) for one in row.values())
        for row in rows
    )


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < MOST


def check(folder: Path, task: Task, codecs: Mapping[str, Codec], config: ModelConfig) -> None:
    """Every column has a codec, and the model its ids: else there would be wrong numbers without a word."""
    wanted = [role.name for role in task.roles()]
    wanted += [part["reads"] for part in getattr(config, "parts", ()) if "reads" in part]  # of an ensemble
    missing = next((name for name in wanted if name not in codecs), None)
    if missing is not None:
        raise BundleError(
            f"{folder / CONFIG} is damaged: there is no codec for {missing!r}, which a model for {task.name!r} reads. "
            "Copy or save the model again."
        )
    for name, size in task.sizes(codecs).items():
        if getattr(config, name, size) != size:
            raise BundleError(
                f"{folder / CONFIG} is damaged: its model has a vocabulary of {getattr(config, name)} ids and its "
                f"codec one of {size}. Copy or save the model again."
            )
    outside = [one for one in config.suppressed if not 0 <= one < config.vocab_size]
    if outside:
        raise BundleError(
            f"{folder / CONFIG} is damaged: the suppressed id {outside[0]} is not among the {config.vocab_size} ids. "
            "Copy or save the model again."
        )


def read_arrays(path: Path) -> dict[str, np.ndarray]:
    """What a model has learnt. None is saved with half precision: code that counts knows no such numbers."""
    arrays = tensors.read(path)
    halves = next((name for name, one in arrays.items() if one.dtype == np.float16), None)
    if halves is not None:
        raise BundleError(
            f"{path} is not of this program: the array {halves!r} is float16. Copy or save the model again."
        )
    return arrays


def described_part(name: str, config: Config) -> str:
    """A name, its first setting, and the others that are not as usual."""
    settings = visible(type(config))
    told = [one.name for at, one in enumerate(settings) if not at or getattr(config, one.name) != one.default]
    return " ".join(
        [name, *(f"{one}={getattr(config, one)}" for one in told if getattr(config, one) is not None)]
    )
