"""Alignment by attention: at which places of its source a model looks, symbol by symbol and word by word."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from chainrule.decode.alignment import alignments, tap_of
from chainrule.errors import ModelError
from chainrule.models.base import Body
from chainrule.symbols import BOS, EOS
from chainrule.use.source_inputs import SourceReader, Sources
from chainrule.use.text import encodable, shown

if TYPE_CHECKING:
    from chainrule.bundle import Bundle
    from chainrule.codecs.base import Codec

__all__ = ["Links", "alignments", "symbol_weights", "word_links"]

Links = tuple[tuple[int, int], ...]  # source word, target word, from 0


def word_links(bundle: Bundle, sources: Sources, targets: Sequence[str]) -> list[Links]:
    """For every target word the word of its source that the model attends to most while writing it.

    Words stand between white space; attention of the symbols of a word is added up. A target word that attends most to
    the end of its source has no link.
    """
    reader = SourceReader(bundle)
    if not reader.plain or not reader.measured:
        raise ModelError(
            f"Words are aligned with words, and this model reads {' and '.join(reader.roles)}: an alignment needs one "
            "source of text."
        )
    [role] = reader.roles
    given = [_ids(bundle.codecs[role], text.decode("utf-8", "replace")) for text in sources[role]]
    written = [_ids(bundle.codec, text) for text in targets]
    return [_linked(bundle, one, other) for one, other in zip(given, written, strict=True)]


def _ids(codec: Codec, text: str) -> list[int]:
    """Without BOS and EOS."""
    ids: list[int] = codec.encode(encodable([text])).ids[1:-1].tolist()
    return ids


def _linked(bundle: Bundle, source: list[int], target: list[int]) -> Links:
    [role] = SourceReader(bundle).roles
    weights = symbol_weights(bundle.body, source, target)  # (T, S)
    own, others = _words(bundle.codec, target), _words(bundle.codecs[role], source)
    found = np.zeros((max(own, default=-1) + 1, max(others, default=-1) + 2))  # its end is the last one
    np.add.at(found, (np.array(own, int)[:, None], np.array([*others, found.shape[1] - 1])[None]), weights)
    best = found.argmax(1)
    return tuple((int(i), j) for j, i in enumerate(best) if i < found.shape[1] - 1 and found[j, i] > 0)


def symbol_weights(body: Body, source: list[int], target: list[int]) -> np.ndarray:
    """(T, S + 1) how much each symbol of a target attends to those of its source, and to its end.

    Of several layers it is the mean of those between the first and the last, which align best; of two, the last.
    """
    import torch

    from chainrule.nn.tap import listening

    linked = getattr(body, "aligned", None)  # IBM model 1 says which links are the most probable ones
    if linked is not None:
        places = linked(np.array(source, np.int64), np.array(target, np.int64))  # (T,), -1: none
        return np.eye(len(source) + 1)[places]  # type: ignore[no-any-return]
    tokens = torch.tensor([[BOS, *target]], device=body.device)
    state = body.start(1, torch.tensor([[*source, EOS]], device=body.device))
    with body.inference(tokens.numel()), listening(body, tap_of(body)) as heard:
        body.read(tokens, state)
    layers = [torch.cat(one, -2)[0] for one in heard.values()]  # (T, S + 1), or (H, T, S + 1) by heads
    weights = torch.stack(layers[1:-1] or layers[-1:]).flatten(0, -3).mean(0)
    found: np.ndarray = weights[: len(target)].double().cpu().numpy()
    return found


def _words(codec: Codec, ids: Sequence[int]) -> list[int]:
    """To which word each symbol belongs, white space before a word to that word."""
    return [max(0, len(shown(codec, ids[: place + 1]).split()) - 1) for place in range(len(ids))]
