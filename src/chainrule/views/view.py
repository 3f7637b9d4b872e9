"""A view: what there is to see in a model, as a plain value that notebooks, files, terminals and programs share."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from chainrule.errors import ChainruleError, ConfigError, DataError, suggest
from chainrule.views.arrays import characters, packed, unpacked

FORMAT = "chainrule-view"
VERSION = 1
AGAIN = "Save one: chainrule look … -o view.json"
Drawn = TypeVar("Drawn")


@dataclass(frozen=True, eq=False, repr=False)
class View:
    """Named data of one kind: arrays and plain values, and in `meta` what they are of."""

    kind: str  # what draws it
    data: Mapping[str, Any]
    meta: Mapping[str, Any] = field(default_factory=dict)  # title, model, text, notes, command
    read: bool = False  # from JSON, which may be damaged

    def __post_init__(self) -> None:
        for name in ("data", "meta"):
            object.__setattr__(self, name, characters(getattr(self, name)))

    def __getitem__(self, name: str) -> Any:
        """One of the data: `view["weights"]` is an array."""
        if name not in self.data:
            raise ConfigError(f"A view of {self.kind} has no {name!r}. {suggest(name, self.data)}")
        return self.data[name]

    def __repr__(self) -> str:
        arrays = [
            f"{name} {value.shape}" for name, value in self.data.items() if isinstance(value, np.ndarray)
        ]
        return f"<View {self.kind}: {self.title}{'; ' if arrays else ''}{', '.join(arrays)}>"

    def __str__(self) -> str:
        from chainrule.views.kinds import kind_named

        return self.drawn(lambda view: kind_named(view.kind).words(view))

    def drawn(self, draw: Callable[[View], Drawn]) -> Drawn:
        """What a drawing makes of it; numbers that were read and do not fit together are refused."""
        try:
            return draw(self)
        except Exception as error:
            if not self.read or isinstance(error, ChainruleError):
                raise
            raise DataError(f"This view is damaged and cannot be drawn ({error!r:.200}). {AGAIN}") from error

    @property
    def title(self) -> str:
        """What is to be seen, in a line."""
        return str(self.meta.get("title", self.kind))

    @property
    def notes(self) -> tuple[str, ...]:
        """What must be said beside the picture."""
        return tuple(str(one) for one in self.meta.get("notes", ()))

    def to_dict(self) -> dict[str, Any]:
        """As plain values: arrays as base64 with their shape."""
        head = {"format": FORMAT, "version": VERSION, "kind": self.kind}
        return {**head, "data": packed(self.data), "meta": packed(self.meta)}

    def to_json(self) -> str:
        """As a line of JSON."""
        return json.dumps(self.to_dict(), ensure_ascii=False, allow_nan=False, separators=(",", ":"))

    @classmethod
    def from_json(cls, text: str) -> View:
        """What `to_json` gave."""
        from chainrule.views.kinds import kind_named

        try:
            values = json.loads(text)
            if values["format"] != FORMAT or values["version"] != VERSION:
                raise DataError(
                    f"This is no view of this version: {values['format']!r} {values['version']!r}."
                )
            kind, data, meta = values["kind"], unpacked(values["data"]), unpacked(values["meta"])
            if not (isinstance(kind, str) and isinstance(data, Mapping) and isinstance(meta, Mapping)):
                raise TypeError("a kind, data and meta are wanted")
            if not isinstance(meta.get("notes", []), list):
                raise TypeError("notes are a list")
            kind_named(kind)
            return cls(kind, data, meta, read=True)
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            raise DataError(f"This is no view: {error!r}. {AGAIN}") from error

    def _repr_html_(self) -> str:
        from chainrule.views.page import frame

        return self.drawn(frame)

    def save(self, path: Path | str, force: bool = False) -> None:
        """Write it as .html, .svg, .png or .json; an existing file is replaced only with `force`."""
        from chainrule.views.files import save

        save(self, Path(path), force)
