"""Loaded models, a few at a time: the one that was not asked for longest makes room."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from chainrule.store.files import CONFIG
from chainrule.studio.folder import Folder

if TYPE_CHECKING:
    from chainrule.bundle import Bundle

ROOM = 3


@dataclass
class Shelf:
    """Models by name, as long as their files are those that were read."""

    folder: Folder
    loaded: OrderedDict[tuple[str, int], Bundle] = field(default_factory=OrderedDict)

    def model(self, name: str) -> Bundle:
        """A model of the folder."""
        from chainrule.bundle import load

        path = self.folder.whole(name)
        stamp = (path / CONFIG).stat().st_mtime_ns if (path / CONFIG).is_file() else 0
        if (name, stamp) not in self.loaded:
            while len(self.loaded) >= ROOM:
                self.loaded.popitem(last=False)
            self.loaded[name, stamp] = load(path)
        self.loaded.move_to_end((name, stamp))
        return self.loaded[name, stamp]
