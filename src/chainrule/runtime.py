"""The machine: threads, compiled kernels, and what we run on."""

from __future__ import annotations

import ctypes
import os
import platform
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache
from typing import Any, TypeVar, cast

A = TypeVar("A")
R = TypeVar("R")


def compiled(function: Callable[..., Any], **options: Any) -> Callable[..., Any]:
    """Compile a kernel with numba on first use, keep the machine code on disk, and release the GIL inside.

    Where neither the installation nor the home folder can be written, the kernel is compiled in every process.
    """
    import numba

    try:
        kernel = numba.njit(nogil=True, cache=True, **options)(function)
    except RuntimeError:  # numba: "no locator available"
        return cast(Callable[..., Any], numba.njit(nogil=True, **options)(function))
    _load_without_registries(kernel)
    return cast(Callable[..., Any], kernel)


def _load_without_registries(kernel: Any) -> None:
    """Spare a kernel that is on disk the rules by which others are compiled: numba imports them all before it looks.

    That takes a tenth of a second in every process. Compiling imports them as before.
    """
    from numba.core.runtime.nrt import rtsys

    cache: Any = getattr(kernel, "_cache", None)
    if not all(hasattr(cache, name) for name in ("_load_overload", "_guard_against_spurious_io_errors")):
        return  # another version of numba

    def load_overload(signature: Any, context: Any) -> Any:
        rtsys.initialize(context)  # what allocates memory for kernels
        with cache._guard_against_spurious_io_errors():
            return cache._load_overload(signature, context)

    cache.load_overload = load_overload


def threads(otherwise: int | None = None) -> int:
    """How many we may use: CHAINRULE_THREADS, `otherwise` as said, or as many as there are cores."""
    given = os.environ.get("CHAINRULE_THREADS", "")
    if given.isdigit() and int(given) > 0:
        return int(given)
    if otherwise is not None:
        return otherwise
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def in_threads(work: Callable[[A], R], items: Iterable[A], workers: int | None = None) -> list[R]:
    """`work` on every item, side by side, results in order; the kernels inside release the GIL.

    Threads are kept between calls: starting one takes longer than scoring a sentence. Work that is itself
    in a thread does its parts one after another.
    """
    todo = list(items)
    workers = min(workers or threads(), len(todo))
    if workers <= 1 or threading.current_thread().name.startswith(WORKER):
        return [work(item) for item in todo]
    return list(_pool(workers, os.getpid()).map(work, todo))


@cache
def _pool(workers: int, process: int) -> ThreadPoolExecutor:
    """Threads of this process; a forked child needs its own."""
    return ThreadPoolExecutor(workers, WORKER)


WORKER = "chainrule-worker"


TURN = 1024  # symbols of a step where turns are taken
_turns = threading.local()


@contextmanager
def taking_turns(turn: Callable[[], None]) -> Iterator[None]:
    """A stretch in which this thread calls `turn` before every step of a model, so that others come in between."""
    before = getattr(_turns, "turn", None)
    _turns.turn = turn
    try:
        yield
    finally:
        _turns.turn = before


def side_by_side(rows: int, symbols: int) -> int:
    """How many rows of so many symbols one step reads: fewer where others wait for their turn."""
    return rows if getattr(_turns, "turn", None) is None else max(1, min(rows, TURN // max(1, symbols)))


def step_begins() -> None:
    """A step of a model is about to begin: whoever takes turns with it may do something first."""
    turn = getattr(_turns, "turn", None)
    if turn is not None:
        turn()


def versions() -> dict[str, str]:
    """What this runs on, for the record; nothing is imported to find out."""
    return dict(_versions())


@cache
def _versions() -> dict[str, str]:
    from importlib.metadata import PackageNotFoundError, version

    found = {"python": platform.python_version()}
    for name in ("chainrule", "numba", "numpy", "tokenizers", "torch"):
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


KEEP = 1 << 30  # bytes of the largest block that is kept for the next time when it is free
MMAP_THRESHOLD, TRIM_THRESHOLD = -3, -1  # glibc's numbers of what is set
ADAPTED = 32 << 20  # where glibc's own threshold ends up when large blocks come and go


@contextmanager
def blocks_kept(largest: int = KEEP) -> Iterator[None]:
    """A stretch in which the C library keeps freed blocks up to this size: fresh ones cost a page fault every 4 KiB.

    Afterwards free memory goes back to the system, and the thresholds are fixed at ADAPTED, whatever they were before:
    glibc cannot be asked for them, and once they are set it does not adapt them to the program any more.
    """
    try:
        library = ctypes.CDLL("libc.so.6")
        library.mallopt(MMAP_THRESHOLD, largest)
    except (OSError, AttributeError):  # not glibc: nothing to tell
        yield
        return
    library.mallopt(TRIM_THRESHOLD, 2**31 - 1)
    try:
        yield
    finally:
        library.mallopt(MMAP_THRESHOLD, ADAPTED)
        library.mallopt(TRIM_THRESHOLD, 2 * ADAPTED)
        library.malloc_trim(0)
