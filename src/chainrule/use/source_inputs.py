"""Sources as people give them, ready for an encoder: texts, labels, names of files, arrays, and several at once."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from chainrule.codecs.base import Codec, Texts
from chainrule.data.attached import attached, attaches
from chainrule.data.corpus import Corpus, is_bare
from chainrule.data.encoder_inputs import EncoderInputs
from chainrule.data.given import plain
from chainrule.data.rows import trimmed
from chainrule.data.tables import CellReader, row_blocks
from chainrule.errors import ConfigError
from chainrule.use.text import encodable

if TYPE_CHECKING:
    from chainrule.bundle import Bundle

Sources = Mapping[str, Texts]  # by role, equally many of each


@dataclass(frozen=True)
class SourceReader:
    """What a model writes from, by its roles and their codecs."""

    bundle: Bundle

    @property
    def roles(self) -> tuple[str, ...]:
        """The sources, in order."""
        return self.bundle.task.source_roles()

    @property
    def plain(self) -> bool:
        """Whether it is one text, of which every line is one."""
        return len(self.roles) == 1 and not attaches(type(self.bundle.codecs[self.roles[0]]))

    @property
    def measured(self) -> bool:
        """Whether the length of a source says how long its target may be: it is text."""
        return all(self.bundle.codecs[role].spells for role in self.roles)

    def typed(self, items: Iterable[Any]) -> Sources:
        """Of every item each source: a text, a name of a file, an array; several as a dict, a tuple or between tabs."""
        found: dict[str, list[str]] = {role: [] for role in self.roles}
        for item in items:
            for role, value in zip(self.roles, self._each(item), strict=True):
                found[role].append(self._text(role, value))
        return {role: self._texts(role, encodable(some)) for role, some in found.items()}

    def cells(self, columns: Sequence[Texts], folders: Sequence[Path] = ()) -> Sources:
        """The same of cells of a table, a column for each source; files that they name may lie in `folders`."""
        each = zip(self.roles, columns, strict=True)
        return {role: self._texts(role, texts, folders) for role, texts in each}

    def spelled(self, items: Iterable[Any]) -> Iterator[tuple[Codec, str]]:
        """Every text and label among the sources of some items, with the codec that reads it."""
        for item in items:
            for role, value in zip(self.roles, self._each(item), strict=True):
                codec = self.bundle.codecs[role]
                if not attaches(type(codec)) and isinstance(value, str):
                    yield codec, value

    def lines(self, lines: Iterable[str]) -> Sources:
        """The same of lines as a stream gives them."""
        return {self.roles[0]: encodable(lines)} if self.plain else self.typed(lines)

    def _each(self, item: Any) -> Sequence[Any]:
        """The sources of one item, in order."""
        roles = self.roles
        if len(roles) == 1:
            return [next(iter(item.values())) if isinstance(item, Mapping) and len(item) == 1 else item]
        if isinstance(item, Mapping) and set(item) >= set(roles):
            return [item[role] for role in roles]
        parts = item.split("\t") if isinstance(item, str) else item
        if isinstance(parts, list | tuple) and len(parts) == len(roles):
            return parts
        raise ConfigError(
            f"This model reads {len(roles)} sources: {', '.join(roles)}. Give each item as a dict of these names, a "
            "tuple in this order or, on a command line, with a tab between."
        )

    def _text(self, role: str, value: Any) -> str:
        """One source as its codec reads it."""
        codec, value = self.bundle.codecs[role], plain(value)
        if isinstance(value, str):
            return value if attaches(type(codec)) and not codec.framed else codec.from_typed(value)
        cells = CellReader(True).cells("the given sources", (role,), (value,))
        [(texts,)] = row_blocks([cells], (codec.joins_rows,))
        return next(iter(texts)).decode()

    def _texts(self, role: str, texts: Texts, folders: Sequence[Path] = ()) -> Texts:
        return attached(texts, type(self.bundle.codecs[role]), folders)

    def inputs(self, sources: Sources) -> EncoderInputs:
        """What an encoder is given of them."""
        return EncoderInputs(tuple(self._corpus(role, sources[role]) for role in self.roles))

    def _corpus(self, role: str, texts: Texts) -> Corpus:
        codec = self.bundle.codecs[role]
        found = codec.encode(texts)
        size = texts.sequences
        return Corpus(found.ids, size, texts.bytes, found.unknown, 0, found.vectors, is_bare(codec))

    def tensors(self, inputs: EncoderInputs, rows: np.ndarray) -> Any:
        """The sources of some rows where a model can read them."""
        import torch

        device, given = self.bundle.body.device, inputs.take(rows)
        if isinstance(given, tuple):
            return tuple(torch.from_numpy(one).to(device) for one in given)
        return torch.from_numpy(given).to(device)


def blank(sources: Sources) -> np.ndarray:
    """(rows,) which of them lack a source."""
    inner = [trimmed(texts) for texts in sources.values()]
    found: np.ndarray = np.logical_or.reduce([one.starts == one.ends for one in inner])
    return found


def only(sources: Sources, chosen: np.ndarray) -> Sources:
    """Some of the rows."""
    return {role: texts.only(chosen) for role, texts in sources.items()}
