"""Views as files: a page, a picture, or their numbers."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from chainrule.errors import ConfigError
from chainrule.store.files import new_file
from chainrule.views.kinds import kind_named
from chainrule.views.page import page
from chainrule.views.raster import png
from chainrule.views.scene import svg
from chainrule.views.view import View


def _scene(view: View) -> bytes:
    return f"{svg(kind_named(view.kind).scene(view))}\n".encode()


FORMATS: dict[str, Callable[[View], bytes]] = {
    ".html": lambda view: page(view).encode(),
    ".svg": _scene,
    ".png": lambda view: png(kind_named(view.kind).scene(view)),
    ".json": lambda view: f"{view.to_json()}\n".encode(),
}


def check(path: Path, force: bool) -> None:
    """Whether a view can be written there, told before anything is computed."""
    if path.suffix.lower() not in FORMATS:
        raise ConfigError(
            f"A view is written as {', '.join(FORMATS)}, not as {path.name!r}. Change the ending."
        )
    if path.exists() and not force:
        raise ConfigError(f"{path} exists. Replace it with --force, or take another name.")


def save(view: View, path: Path, force: bool) -> None:
    """Write a view in the format its ending names, all of it or nothing."""
    check(path, force)
    content = view.drawn(FORMATS[path.suffix.lower()])
    with new_file(path) as file:
        file.write(content)
