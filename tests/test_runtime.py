"""Threads, compiled kernels and the allocator."""

from __future__ import annotations

import platform
import subprocess
import sys
from typing import Any

import pytest

from chainrule.runtime import compiled, in_threads, threads


def test_results_come_in_order_and_errors_pass_through(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CHAINRULE_THREADS", "2")
    assert in_threads(lambda item: item * item, range(50)) == [item * item for item in range(50)]
    with pytest.raises(ZeroDivisionError):
        in_threads(lambda item: 1 // item, [1, 0])


def test_work_inside_work_does_not_wait_for_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CHAINRULE_THREADS", "2")
    found = in_threads(lambda item: sum(in_threads(lambda inner: inner, range(item))), range(8))
    assert found == [sum(range(item)) for item in range(8)]


def test_the_number_of_threads_can_be_set(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CHAINRULE_THREADS", "3")
    assert threads() == 3


def test_kernels_work_where_nothing_can_be_written(monkeypatch: pytest.MonkeyPatch) -> None:
    import numba

    njit = numba.njit

    def refusing(*words: Any, **options: Any) -> Any:
        if options.get("cache"):
            raise RuntimeError("cannot cache function: no locator available")
        return njit(*words, **options)

    monkeypatch.setattr(numba, "njit", refusing)
    assert compiled(lambda number: number + 1)(1) == 2


MEMORY = """
import os
from pathlib import Path
import numpy as np
from chainrule.runtime import blocks_kept

def resident():
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")

size, before = 64 << 20, resident()
with blocks_kept():
    np.ones(size, np.uint8)
    kept = resident() - before
freed = resident() - before
np.ones(size, np.uint8)
print(kept > 0.9 * size, freed < 0.5 * size, resident() - before < 0.5 * size)
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="only glibc is told")
def test_freed_memory_is_kept_for_the_next_step_and_given_back_at_the_end() -> None:
    """In a process of its own: what others have left free would be used first."""
    done = subprocess.run([sys.executable, "-c", MEMORY], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["True", "True", "True"]
