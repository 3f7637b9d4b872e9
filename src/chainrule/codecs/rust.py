"""Calls into the tokenizers library, which is written in Rust: its panics are errors like others."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from chainrule.errors import CodecError


@contextmanager
def no_panic(what: str) -> Iterator[None]:
    """A stretch in which what the library raises, bare Exceptions and panics, becomes a CodecError."""
    try:
        yield
    except BaseException as error:
        if type(error) is not Exception and type(error).__name__ != "PanicException":
            raise
        raise CodecError(
            f"The tokenizers library gave up while {what}: {error}. The tokenizer is damaged."
        ) from None
