"""Where large arrays live: in memory, or in files that the system may page out."""

from __future__ import annotations

import mmap
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from chainrule.progress import Progress, no_progress
from chainrule.runtime import in_threads

Span = tuple[int, int]


class Space:
    """Makes large arrays, and runs kernels over spans of them in threads, telling how far they are."""

    batch = 64  # spans worked on before `rest`

    def __init__(self, progress: Progress = no_progress) -> None:
        self.progress = progress

    def empty(self, size: int, dtype: Any) -> np.ndarray:
        """A new array, its contents not set."""
        return np.empty(size, dtype)

    def rest(self) -> None:
        """Let go of memory that is only a copy of what is on disk."""

    def sweep(self, title: str, work: Callable[[Span], Any], low: int, high: int, parts: int = 64) -> None:
        """`work` on consecutive spans of low … high, side by side."""
        cuts = np.linspace(low, high, min(parts, max(1, high - low)) + 1).astype(np.int64).tolist()
        spans = list(pairwise(cuts))
        with self.progress(title, high - low) as step:

            def one(span: Span) -> None:
                work(span)
                step(span[1] - span[0])

            for at in range(0, len(spans), self.batch):
                in_threads(one, spans[at : at + self.batch])
                self.rest()


class DiskSpace(Space):
    """Arrays are files in a folder of their own: memory stays bounded, whatever their size."""

    batch = 4

    def __init__(self, folder: Path, progress: Progress = no_progress) -> None:
        super().__init__(progress)
        self.folder = folder
        self.maps: list[mmap.mmap] = []

    def empty(self, size: int, dtype: Any) -> np.ndarray:
        path = self.folder / f"{len(self.maps)}.bin"
        with path.open("w+b") as file:
            file.truncate(max(1, size) * np.dtype(dtype).itemsize)
            self.maps.append(mmap.mmap(file.fileno(), 0))
        path.unlink()  # the file lives as long as its mapping does, even if we are killed
        return np.frombuffer(self.maps[-1], dtype, size)

    def rest(self) -> None:
        for one in self.maps:
            one.madvise(mmap.MADV_DONTNEED)


@contextmanager
def space_for(memory: int | None, progress: Progress) -> Iterator[Space]:
    """Plain memory when no limit is given, else files in a temporary folder."""
    if memory is None:
        yield Space(progress)
        return
    with tempfile.TemporaryDirectory(prefix="chainrule-") as folder:
        yield DiskSpace(Path(folder), progress)
