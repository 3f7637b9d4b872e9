"""A text read once by a model, with what its taps told."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from chainrule.errors import ModelError
from chainrule.nn.tap import Heard, listening
from chainrule.symbols import EOS
from chainrule.use.text import typed_texts
from chainrule.views.text import symbols

if TYPE_CHECKING:
    from chainrule.bundle import Bundle

LONG = "This text has {symbols:,} symbols, and the model reads {context:,} at most. Give a shorter one."


@dataclass(frozen=True)
class Read:
    """What was read, and what was heard."""

    ids: np.ndarray  # (T,) BOS x_1 … x_n EOS
    symbols: list[str]
    heard: Heard

    def array(self, name: str) -> np.ndarray:
        """What a tap told, as an array."""
        found: np.ndarray = self.heard[name][0].detach().float().cpu().numpy()
        return found

    @cached_property
    def scored(self) -> np.ndarray:
        """The ids as `score_ids` takes them."""
        return self.ids if self.ids[-1] == EOS else np.append(self.ids, EOS)

    def bits(self, bundle: Bundle) -> float:
        """Of the text, for each symbol."""
        logs = bundle.model.score_ids(self.scored)
        return float(-logs.sum() / math.log(2.0) / max(1, len(self.scored) - 1))


def read(bundle: Bundle, text: str, *patterns: str) -> Read:
    """Read a text from BOS to EOS and hear what these taps tell."""
    import torch

    ids = bundle.codec.encode(typed_texts(bundle.codec, [text])).ids  # (T,)
    context = bundle.body.context
    if context is not None and len(ids) > context:
        raise ModelError(LONG.format(symbols=len(ids), context=context))
    tokens: Any = torch.from_numpy(np.asarray(ids, np.int64))[None].to(bundle.body.device)  # (1, T)
    with bundle.body.inference(), listening(bundle.body, *patterns) as heard:
        bundle.body.read(tokens, bundle.body.start(1))
    return Read(ids, symbols(bundle, ids), heard)
