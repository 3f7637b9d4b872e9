"""The models of a server by the names clients call them, each with its engine."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from chainrule.models.base import LanguageModel
from chainrule.serve.config import ServeConfig
from chainrule.serve.engine import Engine
from chainrule.serve.refusals import Refused

if TYPE_CHECKING:
    from chainrule.bundle import Bundle


class Served:
    """All models behind one address."""

    def __init__(
        self, bundles: Mapping[str, Bundle], config: ServeConfig, template: str | None = None
    ) -> None:
        self.config, self.created, self.template = config, int(time.time()), template
        self.engines = {name: Engine(bundle, config) for name, bundle in bundles.items()}

    def start(self) -> None:
        """Begin to work."""
        for engine in self.engines.values():
            engine.start()

    def stop(self) -> None:
        """Finish what runs."""
        for engine in self.engines.values():
            engine.stop()

    @property
    def alive(self) -> bool:
        """Whether every engine works."""
        return all(engine.alive for engine in self.engines.values())

    def engine(self, name: str | None) -> Engine:
        """The one a client asks for; the first where it names none."""
        if name is None or name == "":
            return next(iter(self.engines.values()))
        if name not in self.engines:
            why = f"There is no model {name[:100]!r} here. GET /v1/models lists those there are."
            raise Refused(404, why, "model", "model_not_found")
        return self.engines[name]

    def name(self, engine: Engine) -> str:
        """What clients call it."""
        return next(name for name, one in self.engines.items() if one is engine)

    def chat_template(self, engine: Engine) -> str | None:
        """How messages become a prompt, where that is known."""
        found = engine.bundle.card.get("chat_template")
        return found if isinstance(found, str) else self.template

    def described(self, name: str) -> dict[str, Any]:
        """One of them, as OpenAI's clients list models."""
        bundle = self.engine(name).bundle
        writes = isinstance(bundle.body, LanguageModel) and bundle.body.reads == "left"
        return {
            "id": name,
            "object": "model",
            "created": self.created,
            "owned_by": "chainrule",
            "family": bundle.body.family,
            "task": bundle.task.name,
            "writes": writes,
            "max_model_len": bundle.body.context,
        }


def names_of(folders: Sequence[Path]) -> dict[str, Path]:
    """What models are called: like their folders, whatever lies above these; the same name twice gets a number."""
    found: dict[str, Path] = {}
    for folder in folders:
        name, count = folder.resolve().name, 2
        while name in found:
            name, count = f"{folder.resolve().name}-{count}", count + 1
        found[name] = folder
    return found
