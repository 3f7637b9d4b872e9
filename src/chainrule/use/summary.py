"""`show`: the layers of a model with their shapes and parameters, as Keras prints them."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from chainrule.models.base import SPELLINGS
from chainrule.models.readers import CountingReader
from chainrule.symbols import BOS, EOS, UNK

if TYPE_CHECKING:
    from torch import nn

    from chainrule.bundle import Bundle

PROBE, ROWS = (BOS, UNK, EOS), 2  # what is read, and how often side by side, to see shapes
Shape = tuple[
    int | str, ...
]  # with the letters B for rows and T for symbols, of which there may be any number


@dataclass(frozen=True)
class Layer:
    """A layer that has learnt something."""

    name: str
    kind: str  # its class
    output: Shape | None  # None: it gives no vectors for each symbol or row
    weights: Mapping[str, tuple[int, ...]]  # shapes by name

    @property
    def parameters(self) -> int:
        """How many numbers it has learnt."""
        return sum(map(math.prod, self.weights.values()))

    def to_dict(self) -> dict[str, Any]:
        """For scripts."""
        return {
            "name": self.name,
            "kind": self.kind,
            "output": None if self.output is None else list(self.output),
            "weights": {name: list(shape) for name, shape in self.weights.items()},
            "parameters": self.parameters,
        }


def summary(bundle: Bundle) -> tuple[Layer, ...]:
    """The layers of a network and of its head, from the lowest to the highest; none of a model made by counting."""
    if bundle.body.learner != "gradient" or isinstance(bundle.body, CountingReader):
        return ()
    body, head = bundle.body, bundle.head
    outputs = _outputs(bundle)
    own = _layers(body, body.arrays(), outputs)
    return (*own, *(_layers(head, head.arrays(), outputs, "head.") if head is not None else ()))


def _layers(
    root: Any, arrays: Mapping[str, Any], outputs: Mapping[nn.Module, Shape], before: str = ""
) -> tuple[Layer, ...]:
    """Every module below `root` that has arrays of its own."""
    grouped: dict[str, dict[str, tuple[int, ...]]] = {}
    for name, array in arrays.items():
        if name.endswith(SPELLINGS):  # not learnt
            continue
        owner = _owner(root, name)
        grouped.setdefault(owner, {})[name.removeprefix(f"{owner}.")] = tuple(array.shape)
    return tuple(
        Layer(
            before + (name or "own"),
            type(root.get_submodule(name)).__name__,
            _output(root, name, outputs),
            shapes,
        )
        for name, shapes in grouped.items()
    )


def _owner(root: Any, name: str) -> str:
    """The module an array belongs to; a list of arrays is none."""
    from torch import nn

    owner = name.rpartition(".")[0]
    return owner.rpartition(".")[0] if isinstance(root.get_submodule(owner), nn.ParameterList) else owner


def _output(root: Any, name: str, outputs: Mapping[nn.Module, Shape]) -> Shape | None:
    """What a module gives or, if it is not called by itself, the one around it."""
    from torch import nn

    from chainrule.nn.softmax import SoftmaxOutput

    module = root.get_submodule(name)
    if isinstance(module, nn.Embedding):
        return ("B", "T", module.embedding_dim)
    if isinstance(module, SoftmaxOutput):
        return ("B", "T", len(module.weight))
    while name and module not in outputs:
        name = name.rpartition(".")[0]
        module = root.get_submodule(name)
    return outputs.get(module) if name else None


def _outputs(bundle: Bundle) -> dict[nn.Module, Shape]:
    """The shape of what every module gives that is called, found out by reading a few symbols."""
    import torch

    found: dict[nn.Module, Shape] = {}
    body, head = bundle.body, bundle.head
    if bundle.task.source is not None:
        return found
    tokens = torch.tensor([PROBE] * ROWS, device=body.device)  # (B, T)
    with body.inference(), _watched(body, found), _watched(head, found):
        hidden, _ = body.read(tokens, body.start(len(tokens)))
        if head is not None:
            head(hidden, torch.ones_like(tokens, dtype=torch.bool))
    return found


@contextmanager
def _watched(root: Any, found: dict[nn.Module, Shape]) -> Iterator[None]:
    """Within this block, note what the modules below `root` give."""
    modules = [] if root is None else list(root.modules())
    handles = [one.register_forward_hook(partial(_noted, found)) for one in modules]
    try:
        yield
    finally:
        for handle in handles:
            handle.remove()


def _noted(found: dict[nn.Module, Shape], module: nn.Module, given: Any, output: Any) -> None:
    """A hook of torch."""
    first = output[0] if isinstance(output, tuple) else output
    shape = tuple(getattr(first, "shape", ()))
    if len(shape) in (2, 3) and shape[0] == ROWS:
        found[module] = ("B", *("T" for _ in shape[1:-1]), shape[-1])
