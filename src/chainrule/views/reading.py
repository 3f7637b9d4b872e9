"""A text read once by a model, with what its taps told."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from chainrule.errors import ModelError
from chainrule.nn.tap import Heard, listening
from chainrule.symbols import EOS
from chainrule.use.text import typed_texts
from chainrule.views.text import symbols, visible

if TYPE_CHECKING:
    from chainrule.bundle import Bundle

LONG = "This text has {symbols:,} symbols, and the model reads {context:,} at most. Give a shorter one."


@dataclass(frozen=True)
class Read:
    """What was read, and what was heard."""

    ids: np.ndarray  # (T,) BOS x_1 … x_n EOS
    symbols: list[str]
    heard: Heard
    source: Any = None  # what an encoder read, if there is one
    source_symbols: tuple[str, ...] = ()  # of a source in text

    def array(self, name: str) -> np.ndarray:
        """What a tap told, as an array; of one that is asked step by step, all steps below each other."""
        import torch

        found: np.ndarray = torch.cat(self.heard[name], -2).detach().float().cpu().numpy()
        return found

    def keys(self, count: int) -> list[str]:
        """The names of so many places of the source."""
        named = self.source_symbols
        return list(named) if len(named) == count else [str(at) for at in range(1, count + 1)]

    def bits(self, bundle: Bundle) -> float:
        """Of the text, for each symbol."""
        ids = self.ids if self.ids[-1] == EOS else np.append(self.ids, EOS)
        if self.source is None:
            logs = bundle.model.score_ids(ids)
            return float(-logs.sum() / math.log(2.0) / max(1, len(ids) - 1))
        tokens = _tensor(bundle, ids)
        with bundle.body.inference():
            found, _ = bundle.model.score(tokens[:, :-1], tokens[:, 1:], bundle.body.start(1, self.source))
        return float(-found.mean() / math.log(2.0))


def read(bundle: Bundle, text: str, *patterns: str, target: str | None = None) -> Read:
    """Read a text from BOS to EOS and hear what these taps tell.

    An encoder-decoder reads it as its source, and the target, its own translation if none is given, symbol by symbol.
    """
    if bundle.task.source is not None:
        return _read_pair(bundle, text, patterns, target)
    ids = whole_ids(bundle, text)
    with bundle.body.inference(), listening(bundle.body, *patterns) as heard:
        bundle.body.read(_tensor(bundle, ids), bundle.body.start(1))
    return Read(ids, symbols(bundle, ids), heard)


def fits(bundle: Bundle, text: str) -> bool:
    """Whether the model can read a text in one go."""
    return _fits(bundle, _encoded(bundle, text))


def whole_ids(bundle: Bundle, text: str) -> np.ndarray:
    """A text (T,) from BOS to EOS, if the model can read it at once."""
    return bounded(bundle, _encoded(bundle, text))


def bounded(bundle: Bundle, ids: np.ndarray) -> np.ndarray:
    """Ids (T,), if the model can read so many at once."""
    if not _fits(bundle, ids):
        raise ModelError(LONG.format(symbols=len(ids), context=bundle.body.context))
    return ids


def _encoded(bundle: Bundle, text: str) -> np.ndarray:
    return bundle.codec.encode(typed_texts(bundle.codec, [text])).ids


def _fits(bundle: Bundle, ids: np.ndarray) -> bool:
    return bundle.body.context is None or len(ids) <= bundle.body.context


def _read_pair(bundle: Bundle, text: str, patterns: tuple[str, ...], target: str | None) -> Read:
    from chainrule.use.source_inputs import SourceReader

    reader = SourceReader(bundle)
    inputs = reader.inputs(reader.typed([text]))
    given = reader.tensors(inputs, np.arange(1))
    said = bundle.translate([text])[0].text if target is None else target
    ids = bundle.codec.encode(typed_texts(bundle.codec, [said])).ids
    with bundle.body.inference(), listening(bundle.body, *patterns) as heard:
        bundle.body.read(_tensor(bundle, ids)[:, :-1], bundle.body.start(1, given))
    codec = bundle.codecs[reader.roles[0]]
    shown = [visible(one) for one in codec.tokens(inputs.take(np.arange(1))[0])] if reader.plain else []
    # A symbol is written from what the decoder looks at before it.
    return Read(ids, symbols(bundle, ids[1:]), heard, given, tuple(shown))


def _tensor(bundle: Bundle, ids: np.ndarray) -> Any:
    import torch

    return torch.from_numpy(np.asarray(ids, np.int64))[None].to(bundle.body.device)  # (1, T)
