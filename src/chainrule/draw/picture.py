"""A picture that notebooks show and files keep."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from chainrule.draw.markup import Html
from chainrule.errors import ConfigError
from chainrule.store.files import write_text

PAGE = (
    '<!doctype html><html lang="en"><meta charset="utf-8"><title>{title}</title><body>{body}</body></html>\n'
)


@dataclass(frozen=True, repr=False)
class Picture:
    """Markup that draws itself in a notebook; `save` writes it as .svg or .html."""

    title: str
    markup: Html

    def __repr__(self) -> str:
        return f"<Picture {self.title}>"

    def _repr_html_(self) -> str:
        return str(self.markup)

    def written(self, kind: str) -> str:
        """As the content of a file of this suffix."""
        if kind == ".svg" and self.markup.startswith("<svg"):
            return f"{self.markup}\n"
        if kind != ".html":
            raise ConfigError(f"{self.title} is written as .html (.svg holds a single chart), not as {kind}.")
        from html import escape

        return PAGE.format(title=escape(self.title), body=self.markup)

    def save(self, path: str | Path) -> None:
        """Write a file that any browser opens, without a network: all of it or nothing."""
        write_text(path, self.written(Path(path).suffix.lower()))
