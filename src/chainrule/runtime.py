"""The machine: threads, compiled kernels, seeds, sizes and durations as people write them."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

F = TypeVar("F", bound=Callable[..., Any])
A = TypeVar("A")
R = TypeVar("R")


def compiled(function: F) -> F:
    """Compile a kernel with numba on first use, keep the machine code on disk, and release the GIL inside."""
    import numba

    return numba.njit(nogil=True, cache=True)(function)  # type: ignore[no-any-return]


def threads() -> int:
    """How many cores we may use; CHAINRULE_THREADS overrides."""
    given = os.environ.get("CHAINRULE_THREADS", "")
    return int(given) if given.isdigit() and int(given) > 0 else len(os.sched_getaffinity(0))


def in_threads(work: Callable[[A], R], items: Iterable[A], workers: int | None = None) -> list[R]:
    """`work` on every item, side by side, results in order; the kernels inside release the GIL."""
    todo = list(items)
    workers = min(workers or threads(), len(todo))
    if workers <= 1:
        return [work(item) for item in todo]
    with ThreadPoolExecutor(workers) as pool:
        return list(pool.map(work, todo))
