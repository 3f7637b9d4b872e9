"""Which tensors and settings of Hugging Face are which of ours; one class per format."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from chainrule.interop.huggingface.values import Values
from chainrule.tasks.base import Task

Arrays = Mapping[str, np.ndarray]
ACTIVATIONS = {  # their names of ours, the usual one first
    "gelu-tanh": ("gelu_new", "gelu_pytorch_tanh", "gelu_fast", "gelu_accurate"),
    "gelu": ("gelu", "gelu_python"),
    "relu": ("relu",),
    "silu": ("silu", "swish"),
}


@dataclass(frozen=True)
class TensorMap:
    """A tensor of ours and its name there; several of theirs may be stacked in it, row after row."""

    ours: str
    theirs: tuple[str, ...]
    transposed: bool = False  # rows there are columns here
    ids: bool = False  # a row for every id
    reversed: bool = False  # the first row there is the last one here

    def shape(self, ours: Sequence[int], rows: int) -> tuple[int, ...]:
        """The shape of each of theirs, when their table has so many rows."""
        first = rows if self.ids else ours[0] // len(self.theirs)
        found = (first, *ours[1:])
        return found[::-1] if self.transposed else found

    def to_ours(self, arrays: Arrays, order: np.ndarray) -> np.ndarray:
        """Ours, made of theirs; `order` (V,) is the row behind each id."""
        found = [np.asarray(arrays[name], np.float32) for name in self.theirs]
        whole = np.concatenate([one.T if self.transposed else one for one in found])
        return whole[order] if self.ids else whole[::-1] if self.reversed else whole

    def to_theirs(self, array: np.ndarray, order: np.ndarray) -> dict[str, np.ndarray]:
        """Theirs, made of ours; `order` (rows,) is the id behind each row."""
        whole = array[order] if self.ids else array[::-1] if self.reversed else array
        parts = np.split(whole, len(self.theirs))
        return {name: one.T if self.transposed else one for name, one in zip(self.theirs, parts, strict=True)}


def layer(ours: str, theirs: Sequence[str], **how: bool) -> list[TensorMap]:
    """The weight and the bias of a layer; only the weight may be transposed."""
    plain = {name: value for name, value in how.items() if name != "transposed"}
    return [
        TensorMap(f"{ours}.weight", tuple(f"{name}.weight" for name in theirs), **how),
        TensorMap(f"{ours}.bias", tuple(f"{name}.bias" for name in theirs), **plain),
    ]


@dataclass(frozen=True)
class OutputHead:
    """A head on a body, which a folder may lack: then a fresh one is put there."""

    name: str
    begins: tuple[str, ...]  # how its tensors are called here
    note: str
    setting: str = ""  # of our task that is true when it is there
    trained_by: str = ""  # the setting of our task without which nothing teaches it

    def holds(self, part: TensorMap) -> bool:
        return part.ours.startswith(self.begins)

    def idle(self, task: Task) -> bool:
        """Whether a fresh one is still as it was put there."""
        return bool(self.trained_by) and not getattr(task, self.trained_by)


class Format(ABC):
    """One kind of model over there, and the family it is here."""

    kind: ClassVar[str]  # its `model_type`
    family: ClassVar[str]
    prefix: ClassVar[str]  # before the names of tensors of the body, in most files
    unread: ClassVar[re.Pattern[str]]  # tensors that hold nothing learnt
    heads: ClassVar[tuple[OutputHead, ...]] = ()
    tokens: ClassVar[Mapping[str, str]] = {}  # which token plays a role when nothing is said
    names: ClassVar[Mapping[str, tuple[str, ...]]]  # what settings call the token of a role, the best first
    rows: ClassVar[int]  # of the table, when nothing is said
    inputs: ClassVar[tuple[str, ...]]  # what a tokenizer gives to the model
    framed: ClassVar[tuple[bool, bool]]  # whether a tokenizer puts BOS before a text, and EOS behind it
    keys: ClassVar[Mapping[str, tuple[str, ...]]] = {}  # what config.json calls the id of a role

    def key(self, role: str) -> str:
        """What config.json calls the id of a role first."""
        return self.keys.get(role, (f"{role}_token_id",))[0]

    def holds(self, config: Any) -> bool:
        """Whether this is the format for a model of the family with these settings."""
        return True

    def order(self, size: int) -> np.ndarray:
        """Which id stands behind each row over there, for a codec of ours with so many."""
        return np.arange(size)

    @abstractmethod
    def settings(self, values: Values) -> dict[str, Any]:
        """Our settings, from their config.json; refuses what our family cannot do."""

    @abstractmethod
    def described(self, config: Any, task: Task) -> dict[str, Any]:
        """Their config.json, from our settings; refuses what their format cannot say."""

    @abstractmethod
    def parts(self, config: Any) -> list[TensorMap]:
        """Every tensor."""

    def added(self, arrays: Arrays) -> dict[str, np.ndarray]:
        """Tensors that ours may lack, and theirs always has."""
        return {}

    def tidied(self, arrays: dict[str, np.ndarray], values: Values) -> dict[str, np.ndarray]:
        """Tensors as the newest version of the format has them."""
        return arrays

    def finished(
        self, arrays: dict[str, np.ndarray], config: Any, values: Mapping[str, Any]
    ) -> dict[str, np.ndarray]:
        """Tensors of theirs, with copies that their format wants, such as tied weights; `values`: config.json."""
        return arrays

    def named(self, arrays: Arrays, wanted: Sequence[str]) -> dict[str, np.ndarray]:
        """Under the names of today: with the prefix, and weight and bias where old files say gamma and beta."""
        found = {}
        for name, array in arrays.items():
            new = re.sub(r"LayerNorm\.gamma$", "LayerNorm.weight", name)
            new = re.sub(r"LayerNorm\.beta$", "LayerNorm.bias", new)
            found[self.prefix + new if self.prefix + new in wanted else new] = array
        return found


def activation(values: Values, name: str, usual: str) -> str:
    """Our name of the activation in a config.json."""
    given = values.text(name, usual)
    for ours, theirs in ACTIVATIONS.items():
        if given in theirs:
            return ours
    known = ", ".join(name for names in ACTIVATIONS.values() for name in names)
    raise values.error(f"{name} is {given!r}, and chainrule has {known}")
