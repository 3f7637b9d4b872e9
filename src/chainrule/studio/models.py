"""The saved models of a folder, known by their small files: what they are, where they come from, what fits them."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from chainrule.errors import BundleError
from chainrule.store import manifest
from chainrule.store.files import CONFIG, FORMAT
from chainrule.studio.folder import DEEP, Folder, Outside, entries

CARD, WEIGHTS, RESULTS = "card.json", "model.safetensors", "results.json"
MANY = 2_000
WRITING = ("generate", "complete", "next", "score", "rank")
VERBS: Mapping[str, tuple[str, ...]] = {
    "next": WRITING,
    "both-ways": ("score", "embed"),
    "masked": ("fill", "score"),
    "classify": ("predict",),
    "multi-label": ("predict",),
    "regress": ("predict",),
    "tag": ("predict",),
    "span": ("answer",),
    "translate": ("translate",),
    "vectors": ("similar", "analogy"),
}
VIEWS: Mapping[str, tuple[str, ...]] = {
    "rnn": ("gradient", "cells"),
    "lstm": ("gradient", "cells"),
    "gru": ("gradient", "cells"),
    "gpt": ("attention", "layers", "vectors"),
    "bert": ("attention", "layers", "masked", "vectors"),
    "elmo": ("masked", "vectors"),
    "transformer": ("attention",),
    "seq2seq": ("attention",),
    "cnn": ("filters",),
    "vectors": ("vectors",),
}
# Views that ask for what only models of these tasks compute.
ASKED: Mapping[str, tuple[str, ...]] = {
    "gradient": ("next",),
    "layers": ("next", "masked"),
    "masked": ("masked", "both-ways"),
    "saliency": ("next", "masked", "classify", "regress", "multi-label"),
}
COUNTED = ("ngram", "mix", "cache", "majority", "most-frequent-tag", "class-ngram", "bag")


@dataclass
class Models:
    """Remembers what it has read, as long as the files are the same."""

    folder: Folder
    known: dict[str, tuple[float, dict[str, Any]]] = field(default_factory=dict)

    def listed(self) -> list[dict[str, Any]]:
        """A short card of each, the newest first."""
        found = [self._card(path) for path in _models(self.folder.root, 1)][:MANY]
        return sorted((one for one in found if one), key=lambda one: str(one["created"]), reverse=True)

    def _card(self, path: Path) -> dict[str, Any] | None:
        name = path.relative_to(self.folder.root).as_posix()
        try:
            changed = (path / CONFIG).stat().st_mtime
            before = self.known.get(name)
            if before is None or before[0] != changed:
                self.known[name] = before = (changed, self._read(name))
            return before[1]
        except (OSError, BundleError, Outside, KeyError, TypeError, AttributeError):
            return None  # no model of ours, or a damaged one, which every verb explains when it is asked for

    def _read(self, name: str) -> dict[str, Any]:
        config, card = self.parts(name)
        task, family = config["task"]["name"], config["family"]
        path, data = self.folder.root / name, card.get("data", {})
        return {
            "name": name,
            "task": task,
            "family": family,
            "codec": next(iter(config["codecs"].values()))["name"],
            "created": card.get("created", ""),
            "data": data.get("name") if isinstance(data, dict) else None,
            "bytes": (path / WEIGHTS).stat().st_size,
            "figures": card.get("figures") or self._compared(name),
            "seconds": card.get("training", {}).get("seconds"),
            "run": f"{name}.run" if (path.parent / f"{path.name}.run" / "metrics.jsonl").is_file() else None,
            "unfinished": card.get("unfinished"),
            "verbs": VERBS.get(task, ()),
            "views": views(family, task),
        }

    def _compared(self, name: str) -> dict[str, Any]:
        """The figures of a model that belongs to a comparison, as its results tell them."""
        comparison, _, own = name.rpartition("/models/")
        path = self.folder.root / comparison / RESULTS
        if not comparison or not path.is_file():
            return {}
        found = manifest.read_json(self.folder.whole(path.relative_to(self.folder.root).as_posix()))
        row: dict[str, Any] = next((one for one in found["models"] if one.get("name") == own), {})
        figures = row.get("figures") or {"_".join(found["unit"].split()): row.get("bits")}
        return {"test": {**figures, "perplexity": row["perplexity"]} if "perplexity" in row else figures}

    def parts(self, name: str) -> tuple[dict[str, Any], dict[str, Any]]:
        """Config and card of a model."""
        path = self.folder.whole(name)
        if not (path / CONFIG).is_file():
            raise Outside(f"{name} is no saved model.")
        config = manifest.read_json(path / CONFIG)
        if config.get("format") != FORMAT:
            raise Outside(f"{name} is no saved model of chainrule.")
        return config, manifest.read_json(path / CARD)

    def detail(self, name: str) -> dict[str, Any]:
        """All of its card, with the curve of its training."""
        config, card = self.parts(name)
        losses = [one for one in card.pop("losses", []) if isinstance(one, dict)]
        history = card.pop("history", [])
        return {
            **self._read(name),
            "model": config["model"],
            "card": card,
            "history": history,
            "losses": losses,
        }

    def rename(self, name: str, other: str) -> None:
        """Another name for a model, and for the run beside it."""
        self.parts(name)
        old, new = self.folder.inside(name), self.folder.new(other)
        if old.parent != self.folder.root:
            raise Outside(f"{name} belongs to a comparison, which needs it there. Copy it instead.")
        old.rename(new)
        run = old.with_name(f"{old.name}.run")
        if run.is_dir() and not os.path.lexists(new.with_name(f"{new.name}.run")):
            run.rename(new.with_name(f"{new.name}.run"))


def views(family: str, task: str) -> list[str]:
    """The views that fit a model: those of its family and of what it was trained for."""
    predicts = {"next": ["next", "surprise", "beam", "recall"], "translate": ["beam"]}.get(task, [])
    trained = [] if family in COUNTED else ["saliency", "training"]
    mixing = ["mixing"] if family == "elmo" and task not in ("both-ways",) else []
    found = [*predicts, *VIEWS.get(family, ()), *mixing, *trained]
    return [name for name in found if task in ASKED.get(name, (task,))]


def _models(folder: Path, deep: int) -> list[Path]:
    """Folders that look like saved models, those of comparisons too."""
    found: list[Path] = []
    for path in sorted(entries(folder)):
        if not path.is_dir() or path.is_symlink() or path.suffix == ".run":
            continue
        if (path / CONFIG).is_file():
            found.append(path)
        elif deep < DEEP:
            found += _models(path, deep + 1)
    return found
