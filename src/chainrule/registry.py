"""Registries: from the name of a family, a codec, a task or a head to the class behind it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any, Generic, TypeVar

from chainrule.errors import ConfigError, suggest

T = TypeVar("T")
K = TypeVar("K", bound=type[Any])


class Registry(Generic[T]):
    """Classes by name. What is built in is listed with its module, so that asking for names imports nothing."""

    def __init__(
        self,
        what: str,
        built_in: Mapping[str, tuple[str, str]],
        attribute: str = "name",
        composed: Mapping[str, tuple[str, str]] | None = None,
    ) -> None:
        """`built_in`: name -> (module that defines it, one line of help); `attribute` is where a class has its name.

        `composed`: beginning of names -> (module, function in it that makes the class of such a name).
        """
        self.what, self.built_in, self.attribute = what, built_in, attribute
        self.composed = composed or {}
        self._known: dict[str, type[T]] = {}

    def register(self, name: str) -> Callable[[K], K]:
        """Make a class known under `name`: a decorator."""

        def keep(kind: K) -> K:
            setattr(kind, self.attribute, name)
            self._known[name] = kind
            return kind

        return keep

    def find(self, name: str) -> type[T]:
        """The class behind a name."""
        if name not in self._known and name in self.built_in:
            import_module(self.built_in[name][0])
        for beginning, (module, function) in self.composed.items():
            if name not in self._known and name.startswith(beginning):
                found: type[T] = getattr(import_module(module), function)(name)
                return found
        if name not in self._known:
            raise ConfigError(f"There is no {self.what} {name!r}. {suggest(name, self.names())}")
        return self._known[name]

    def names(self) -> list[str]:
        """All of them, built-in and registered since."""
        return sorted({*self.built_in, *self._known})
