"""Views as pages: one HTML text with the module that draws them, which opens from disk and asks for nothing else."""

from __future__ import annotations

import re
from base64 import b64encode
from functools import cache
from hashlib import sha256
from html import escape
from importlib.resources import files

from chainrule.draw.markup import block, joined
from chainrule.views.view import View

MODULES = (
    "arrays.js",
    "dom.js",
    "heat.js",
    "plot.js",
)  # what the drawing of a kind may use; that of each kind follows
FRAME = '<iframe srcdoc="{page}" style="width: 100%; height: {height}px; border: 0" sandbox="allow-scripts"></iframe>'
HEIGHT = 480


@cache
def _file(name: str) -> str:
    return (files("chainrule.views") / "page" / name).read_text(encoding="utf-8")


@cache
def module(kinds: tuple[str, ...]) -> str:
    """The ES module that draws views of these kinds, the same wherever they are shown: `draw(view, element)`."""
    return "\n".join([*map(_file, MODULES), *(_file(f"{kind}.js") for kind in kinds), _file("draw.js")])


def page(view: View) -> str:
    """A whole document; its policy allows its own style and script, and no connection."""
    style, script = _file("look.css"), f"{module((view.kind,))}\n{_file('start.js')}"
    filled = {
        "policy": f"default-src 'none'; img-src data:; style-src '{_seal(style)}'; script-src '{_seal(script)}'",
        "title": joined(view.title),
        "style": style,
        "data": block("view", view.to_dict()),
        "script": script,
    }
    # In one pass, so that nothing inside the data is taken for a gap.
    return re.sub(r"\{\{(\w+)\}\}", lambda gap: filled[gap[1]], _file("page.html"))


def _seal(source: str) -> str:
    """What the page says of its own style and script, so that browsers take no others."""
    return f"sha256-{b64encode(sha256(source.encode()).digest()).decode()}"


def frame(view: View) -> str:
    """For a notebook: the page in a frame of its own, so that neither changes the other."""
    return FRAME.format(page=escape(page(view)), height=HEIGHT)
