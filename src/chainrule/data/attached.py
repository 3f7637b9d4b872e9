"""Sources that stand in files of their own: a cell of the table names an image, a recording or a matrix of numbers.

Names are relative to the folder of the table, or to the current one. Rows keep the names as they are written, so that
a folder may be moved and its rows are still divided in the same way; they become paths just before a codec reads them.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from chainrule.codecs.base import UNIT, Blocks, Codec, Texts
from chainrule.codecs.choose import Choice
from chainrule.codecs.frames import told
from chainrule.codecs.numbers import is_number
from chainrule.data import tables
from chainrule.data.arrays import arrays, is_arrays
from chainrule.data.sources import ReadConfig, read
from chainrule.errors import DataError

MATRICES = (".npy", ".csv", ".tsv")  # files of frames
SUFFIXES = {".png": "images", ".jpg": "images", ".jpeg": "images", ".wav": "audio"}
SUFFIXES |= dict.fromkeys(MATRICES, "frames")
INLINE = "data:"  # what a value of Python begins with that has become text, and no name of a file
REPEATED = 20  # rows for every different value, on average, where values are labels


def source_choice(sample: Texts) -> Choice | None:
    """The codec of a source that is no text: by what files are called, or because few values come again and again."""
    rows = [row.strip() for row in sample if row.strip()]
    kinds = {SUFFIXES.get(os.path.splitext(row.decode("utf-8", "replace"))[1].lower()) for row in rows}
    kinds = {"images"} if all(row.startswith(b"data:image/") for row in rows) else kinds
    if len(kinds) == 1 and (kind := kinds.pop()) is not None:
        return Choice(kind, "the cells are names of such files")
    if all(b"\t" in row and all(map(is_number, row.split()[:100])) for row in rows[:100]):
        return Choice("frames", "every cell is a list of frames")
    counts = Counter(rows)
    if len(rows) >= REPEATED * len(counts) and not any(len(row.split()) > 1 for row in counts):
        return Choice("labels", f"the column repeats {len(counts):,} values over {len(rows):,} rows")
    return None


@dataclass(frozen=True)
class Attached:
    """The sequences of a role, names of files resolved; of frames, with what stands in the files."""

    blocks: Blocks
    kind: type[Codec]
    folders: tuple[Path, ...]

    def __call__(self) -> Iterator[Texts]:
        for texts in self.blocks():
            yield attached(texts, self.kind, self.folders)


def attaches(kind: type[Codec]) -> bool:
    """Whether its cells may be names of files."""
    return kind.reads_files or kind.framed


def attached(texts: Texts, kind: type[Codec], folders: Sequence[Path] = ()) -> Texts:
    """The same sequences as a codec of this kind reads them."""
    if not attaches(kind):
        return texts
    cells = (text.decode("utf-8", "surrogateescape").strip() for text in texts)
    found = [_resolved(cell, folders) if kind.reads_files else _frames(cell, folders) for cell in cells]
    items = (one.encode("utf-8", "surrogateescape") for one in found)
    return replace(Texts.of(items), opens=texts.opens, closes=texts.closes, skipped=texts.skipped)


def _resolved(cell: str, folders: Sequence[Path]) -> str:
    """The path of a named file."""
    if not cell or cell.startswith(INLINE) or UNIT in cell:
        return cell
    places = [folder / cell for folder in (*folders, Path())]
    return os.path.abspath(next((one for one in places if os.path.exists(one)), places[0]))


def _frames(cell: str, folders: Sequence[Path]) -> str:
    """The numbers of a cell, or those of the file that it names."""
    if UNIT in cell or os.path.splitext(cell)[1].lower() not in MATRICES:
        return cell
    path = Path(_resolved(cell, folders))
    if is_arrays(path):
        return UNIT.join(map(told, _matrix(path)))
    return UNIT.join(_rows(path))


def _matrix(path: Path) -> np.ndarray:
    found = next(iter(arrays(path, str(path)).values()))
    if found.ndim == 1:
        found = found[:, None]
    if found.ndim != 2 or found.dtype.kind in "US":
        raise DataError(
            f"{path} has the shape {found.shape} and holds {found.dtype}; (frames, numbers) is wanted."
        )
    return found.astype(np.float64)


def _rows(path: Path) -> Iterator[str]:
    """The frames of a table; its first row may be names."""
    source = read(path, ReadConfig())
    rows, _ = tables.csv_rows(str(path), source.lines_of(path))
    for at, (_, row) in enumerate(rows):
        cells = [cell.strip() or tables.MISSING for cell in row]
        if row and (at or all(is_number(cell.encode()) for cell in cells)):
            yield " ".join(cells)
