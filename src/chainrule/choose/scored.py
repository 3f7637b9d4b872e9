"""What models gave the symbols of the held-out parts, kept on disk: a mix of them need not read these parts again."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path

import numpy as np

from chainrule.errors import BundleError
from chainrule.models.base import LanguageModel
from chainrule.models.mix import mixed
from chainrule.store import sealed


@dataclass(frozen=True)
class Scored:
    """Natural log-probabilities (positions,) of some ids, and how long it took to find them."""

    logs: np.ndarray
    seconds: float


Scorer = Callable[[np.ndarray], Scored]


@dataclass(frozen=True)
class Reading:
    """The scores of one model; those found before are taken from `folder`, if `version` is the same file still."""

    model: LanguageModel
    name: str
    folder: Path
    version: Path

    def __call__(self, ids: np.ndarray) -> Scored:
        version = self.version.read_bytes() if self.version.exists() else b""
        digest = hashlib.blake2b(version + np.ascontiguousarray(ids).tobytes(), digest_size=8).hexdigest()
        path = self.folder / f"{self.name}.{digest}.f32"
        with suppress(BundleError):  # not there, or damaged: scored again
            kept = np.frombuffer(sealed.read_bytes(path), np.float32)
            return Scored(kept[:-1], float(kept[-1]))
        began = time.perf_counter()
        logs = self.model.score_ids(ids)
        seconds = time.perf_counter() - began
        sealed.write_bytes(path, np.append(logs, seconds).astype(np.float32).tobytes())
        return Scored(logs, seconds)


def write_cases(path: Path, cases: Sequence[np.ndarray]) -> None:
    """Bits and sizes of everything that a model was judged on."""
    file = BytesIO()
    np.save(file, np.stack(cases))
    sealed.write_bytes(path, file.getvalue())


def read_cases(path: Path) -> np.ndarray:
    """(2, S): what `write_cases` has written."""
    return np.asarray(np.load(BytesIO(sealed.read_bytes(path))))


@dataclass(frozen=True)
class Mixing:
    """The scores of a mix, from those of its parts."""

    parts: Sequence[Scorer]
    weights: Sequence[float]

    def __call__(self, ids: np.ndarray) -> Scored:
        found = [part(ids) for part in self.parts]
        return Scored(mixed([one.logs for one in found], self.weights), sum(one.seconds for one in found))
