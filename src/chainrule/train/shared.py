"""Codecs that are shared: models over the same symbols can be mixed, and compared symbol by symbol."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from chainrule.bundle import Bundle, load
from chainrule.codecs.base import Codec
from chainrule.config import Config, flag, share
from chainrule.data.columns import Data
from chainrule.data.dataset import Prepared, encoded, open_data
from chainrule.data.roles import Role
from chainrule.errors import ConfigError


@dataclass(frozen=True)
class SharedCodecs:
    """Codecs of another model, by role."""

    name: str  # of that model
    codecs: Mapping[str, Codec]

    @classmethod
    def of(cls, given: str | Path | Bundle | SharedCodecs) -> SharedCodecs:
        """Of a saved model, or of one in memory."""
        if isinstance(given, SharedCodecs):
            return given
        bundle = given if isinstance(given, Bundle) else load(given)
        return cls("the given model" if isinstance(given, Bundle) else str(given), bundle.codecs)

    def prepare(
        self,
        given: Data,
        valid: Data | None,
        test: Data | None,
        *,
        roles: Sequence[Role],
        options: Mapping[str, Any],
        allowed: Sequence[type[Config]],
        divide: bool = True,
    ) -> Prepared:
        """Data as ids of these codecs, which have learnt already: their settings stay."""
        self._check(roles, options)
        own = {role.name: self.codecs[role.like or role.name] for role in roles}
        named = [replace(role, codec=own[role.name].name) for role in roles]
        data = open_data(given, valid, test, roles=named, options=options, allowed=allowed, divide=divide)
        told = replace(data, why=dict.fromkeys(data.roles, f"that of {self.name}"))
        return encoded(told, own)

    def _check(self, roles: Sequence[Role], options: Mapping[str, Any]) -> None:
        missing = [role.name for role in roles if (role.like or role.name) not in self.codecs]
        if missing:
            raise ConfigError(f"{self.name} has no codec for {missing[0]}, so none can be taken from there.")
        for codec in self.codecs.values():
            given = share(options, codec.Config)
            if given:
                named = flag(next(iter(given)))
                raise ConfigError(
                    f"{named} is a setting of the codec, and that of {self.name} stays as it is."
                )
