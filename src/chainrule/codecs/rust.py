"""Calls into the tokenizers library, which is written in Rust: its panics are errors like others."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, suppress

from chainrule.errors import CodecError


class Silence:
    """A stretch in which nothing comes to standard error: of a panic, Rust prints an account of its own."""

    def __init__(self) -> None:
        self.lock, self.inside, self.kept = threading.Lock(), 0, -1

    def __enter__(self) -> None:
        with self.lock, suppress(OSError):  # a shell may have closed it
            self.inside += 1
            if self.inside == 1:
                self.kept = os.dup(2)
                nothing = os.open(os.devnull, os.O_WRONLY)
                os.dup2(nothing, 2)
                os.close(nothing)

    def __exit__(self, *error: object) -> None:
        with self.lock, suppress(OSError):
            self.inside -= 1
            if self.inside == 0 and self.kept >= 0:
                os.dup2(self.kept, 2)
                os.close(self.kept)
                self.kept = -1


SILENCE = Silence()


@contextmanager
def no_panic(what: str, heard: bool = False) -> Iterator[None]:
    """A stretch in which what the library raises, bare Exceptions and panics, becomes a CodecError.

    It is silent, unless something of ours that wants to be `heard` runs inside.
    """
    try:
        with nullcontext() if heard else SILENCE:
            yield
    except BaseException as error:
        if type(error) is not Exception and type(error).__name__ != "PanicException":
            raise
        raise CodecError(
            f"The tokenizers library gave up while {what}: {error}. The tokenizer is damaged."
        ) from None
