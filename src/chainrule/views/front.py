"""`look`: what a model computes about a text, as a view."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from chainrule.errors import ConfigError
from chainrule.views.kinds import kind_named, kinds
from chainrule.views.view import View

if TYPE_CHECKING:
    from chainrule.bundle import Bundle


def look(
    model: Bundle | Sequence[Bundle], text: str = "", *, view: str = "surprise", **settings: Any
) -> View:
    """A view of one model, or of several side by side: `look(lm, "she was late", view="next", best=5)`.

    A view is a plain value: `view["bits"]` is an array, `view.save("picture.html")` writes a page, and a notebook
    shows it.
    """
    from chainrule.bundle import Bundle

    bundles = (model,) if isinstance(model, Bundle) else tuple(model)
    if not bundles or not all(isinstance(one, Bundle) for one in bundles):
        raise ConfigError(f"Give a model or several, not {model!r}. A view is one of: {', '.join(kinds())}.")
    if not isinstance(text, str):
        raise ConfigError(f"A text is wanted, and a {type(text).__name__} came.")
    kind = kind_named(view)
    found = kind.from_values(settings).look(bundles, text)
    families = [bundle.body.family for bundle in bundles]
    return View(found.kind, found.data, {**found.meta, "families": families})
