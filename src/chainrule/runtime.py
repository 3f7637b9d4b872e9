"""The machine: threads, compiled kernels, and what we run on."""

from __future__ import annotations

import os
import platform
import threading
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import Any, TypeVar, cast

A = TypeVar("A")
R = TypeVar("R")


def compiled(function: Callable[..., Any], **options: Any) -> Callable[..., Any]:
    """Compile a kernel with numba on first use, keep the machine code on disk, and release the GIL inside.

    Where neither the installation nor the home folder can be written, the kernel is compiled anew in every process.
    """
    import numba

    try:
        return cast(Callable[..., Any], numba.njit(nogil=True, cache=True, **options)(function))
    except RuntimeError:  # numba: "no locator available"
        return cast(Callable[..., Any], numba.njit(nogil=True, **options)(function))


def threads() -> int:
    """How many cores we may use; CHAINRULE_THREADS overrides."""
    given = os.environ.get("CHAINRULE_THREADS", "")
    if given.isdigit() and int(given) > 0:
        return int(given)
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


def versions() -> dict[str, str]:
    """What this runs on, for the record; nothing is imported to find out."""
    from importlib.metadata import PackageNotFoundError, version

    found = {"python": platform.python_version()}
    for name in ("chainrule", "numba", "numpy", "tokenizers", "torch"):
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


def reuse_memory() -> None:
    """Tell the C library to keep large blocks it has freed: fresh ones cost a page fault every 4 KiB."""
    import ctypes

    try:
        library = ctypes.CDLL("libc.so.6")
        library.mallopt(-3, 1 << 30)  # M_MMAP_THRESHOLD: no mapping of its own for blocks up to 1 GiB
        library.mallopt(-1, 2**31 - 1)  # M_TRIM_THRESHOLD: nothing is given back
    except (OSError, AttributeError):
        return  # not glibc: nothing to tell
