"""Settings of a server."""

from __future__ import annotations

from dataclasses import dataclass
from ipaddress import ip_address

from chainrule.config import Config, option
from chainrule.errors import ConfigError


@dataclass(frozen=True, kw_only=True)
class ServeConfig(Config):
    """Address, key, limits and processes of a server."""

    host: str = option("127.0.0.1", "the address to listen on; any but this machine's own needs a key")
    port: int = option(8000, "the port; 0: any that is free", low=0, high=65_535)
    key: str | None = option(
        None, "what clients must send as a bearer token; beyond this machine one is generated if not given"
    )
    workers: int = option(1, "processes behind the address, which share the weights", low=1, high=256)
    batch_size: int = option(32, "texts written side by side at most (continuous batching)", low=1, high=4096)
    queue: int = option(
        256, "requests that may wait; any more are told to come later (429)", low=1, high=100_000
    )
    time_limit: float = option(120.0, "seconds that a request may take", low=0.1, high=86_400.0)
    max_tokens: int = option(4096, "most symbols that one text may get", low=1, high=1_000_000)
    max_prompt: int = option(32_768, "most symbols of a prompt", low=1, high=10_000_000)
    max_body: int = option(1_000_000, "most bytes of a request", low=1_000, high=1_000_000_000)
    prefix_cache: int = option(
        128_000_000, "bytes for what was made of beginnings that prompts share; 0: none", low=0, high=1 << 40
    )
    chat_template: str | None = option(
        None, "a file with the chat template (Jinja) of a model that brings none"
    )
    log: str = option("-", "the access log, JSON lines: a file; -: standard error; none: no log")

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.key is not None and not (self.key.isascii() and self.key.isprintable() and self.key.strip()):
            raise ConfigError("--key is sent in a header: give printable ASCII characters.")

    @property
    def is_loopback(self) -> bool:
        """Whether only this machine can call."""
        try:
            return ip_address(self.host).is_loopback
        except ValueError:
            return self.host == "localhost"
