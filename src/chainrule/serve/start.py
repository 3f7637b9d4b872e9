"""A server from models and settings: in this process, or in several that share the weights."""

from __future__ import annotations

import socket
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from chainrule.errors import ConfigError
from chainrule.serve.config import ServeConfig

if TYPE_CHECKING:
    from chainrule.bundle import Bundle


def template_of(config: ServeConfig) -> str | None:
    """The chat template of a file."""
    if config.chat_template is None:
        return None
    try:
        return Path(config.chat_template).read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        raise ConfigError(f"--chat-template {config.chat_template} cannot be read: {error}.") from error


def start(
    bundles: Mapping[str, Bundle],
    config: ServeConfig,
    template: str | None,
    place: socket.socket,
    log: TextIO | None,
) -> None:
    """Answer until a signal says stop."""
    from chainrule.serve.app import PATHS
    from chainrule.serve.metrics import Metrics
    from chainrule.serve.served import Served
    from chainrule.serve.server import run
    from chainrule.serve.workers import Workers

    for name, bundle in bundles.items():
        _check(name, bundle)
    metrics = Metrics(PATHS, list(bundles), config.workers)

    def work(number: int) -> None:
        metrics.worker(number)
        run(Served(bundles, config, template), metrics, place, log)

    if config.workers == 1:
        work(0)
    else:
        Workers(config.workers, work).run()


def _check(name: str, bundle: Bundle) -> None:
    """Texts of strangers must not become names of files that are opened."""
    if any(codec.reads_files for codec in bundle.codecs.values()):
        raise ConfigError(
            f"The model {name!r} reads files by their names, and a server must not open files that strangers name. "
            "Use it with: chainrule predict"
        )
