"""`serve`: models behind an HTTP address, for OpenAI's clients and our own verbs."""

from __future__ import annotations

import os
import secrets
import sys
from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from chainrule.cli.output import Printer, Quiet, Verbose
from chainrule.cli.saved import Int8, loaded
from chainrule.cli.settings import Groups
from chainrule.cli.verb import Verb, typed
from chainrule.config import settings
from chainrule.errors import ConfigError
from chainrule.serve.config import ServeConfig

if TYPE_CHECKING:
    pass

KEY = "CHAINRULE_SERVE_KEY"


class ServeVerb(Verb):
    """A verb whose settings are those of a server."""

    def groups(self, asked: Mapping[str, str]) -> Groups:
        return {"Server": settings(ServeConfig)}


def serve(
    context: typer.Context,
    models: Annotated[
        list[Path], typer.Argument(metavar="MODEL", help="Folders of saved models; called by their names.")
    ],
    int8: Int8 = False,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Serve models over HTTP: OpenAI's API (completions, chat, embeddings) and our verbs.

    Many requests at once are answered side by side (continuous batching). It answers this machine only, unless
    --host says otherwise; then clients must send a key. Ctrl-C or SIGTERM finishes what runs and ends it.
    """
    try:
        import fastapi  # noqa: F401
        import uvicorn  # noqa: F401
    except ImportError as error:
        why = f"A server needs {error.name}: pip install 'chainrule[serve]'"
        raise ConfigError(why) from error
    output = Printer(False, quiet, verbose)
    config = _keyed(ServeConfig.from_values(_given(typed(context))), output)
    _serve(models, int8, config, output)


def _given(values: Mapping[str, Any]) -> dict[str, Any]:
    """The key may be told by the environment, where no list of processes shows it."""
    key = os.environ.get(KEY)
    return {**({"key": key} if key else {}), **values}


def _keyed(config: ServeConfig, output: Printer) -> ServeConfig:
    """Beyond this machine nobody is answered without a key: one that is made up is told once."""
    if config.key is not None or config.is_loopback:
        return config
    made = secrets.token_urlsafe(32)
    print(f"key: {made}", file=sys.stderr, flush=True)
    return replace(config, key=made)


def _serve(models: list[Path], int8: bool, config: ServeConfig, output: Printer) -> None:
    from chainrule.serve.served import names_of
    from chainrule.serve.server import listening
    from chainrule.serve.start import start, template_of

    place = listening(config)
    bundles = {name: loaded(folder, int8) for name, folder in names_of(models).items()}
    host, port = place.getsockname()[:2]
    shown = f"[{host}]" if ":" in host else host
    output.note(f"Serving {', '.join(bundles)} at http://{shown}:{port} (see /docs). Ctrl-C ends it.")
    with _log(config.log) as log:
        start(bundles, config, template_of(config), place, log)


def _log(name: str) -> Any:
    """Where the access log goes."""
    if name == "none":
        return nullcontext(None)
    if name == "-":
        return nullcontext(sys.stderr)
    try:
        return open(name, "a", encoding="utf-8")
    except OSError as error:
        raise ConfigError(f"--log {name} cannot be written: {error.strerror}.") from error
