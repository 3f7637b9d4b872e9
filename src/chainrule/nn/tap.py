"""Looking inside: layers tell what they compute when somebody listens, and otherwise do nothing for it.

with listening(model) as heard:
    model.read(tokens, state)
heard["layers.0.hidden"]  # one tensor for each time that layer was run
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field

from torch import Tensor, nn


@dataclass(frozen=True)
class Listener:
    """Somebody who wants to know what the parts of one model compute."""

    names: dict[nn.Module, str]
    heard: dict[str, list[Tensor]] = field(default_factory=dict)


_LISTENERS: ContextVar[tuple[Listener, ...]] = ContextVar("listeners", default=())


@contextmanager
def listening(model: nn.Module) -> Iterator[dict[str, list[Tensor]]]:
    """Everything the parts of `model` tell within this block, by `part.what`, in the order it was told."""
    listener = Listener({part: name for name, part in model.named_modules()})
    token = _LISTENERS.set((*_LISTENERS.get(), listener))
    try:
        yield listener.heard
    finally:
        _LISTENERS.reset(token)


def is_heard(part: nn.Module) -> bool:
    """Whether anybody listens to this part of a model."""
    return any(part in listener.names for listener in _LISTENERS.get())


def tell(part: nn.Module, **values: Tensor) -> None:
    """Let listeners know what `part` has computed; tensors are kept as they are, gradients included."""
    for listener in _LISTENERS.get():
        if part in listener.names:
            for what, value in values.items():
                name = f"{listener.names[part]}.{what}".removeprefix(".")
                listener.heard.setdefault(name, []).append(value)
