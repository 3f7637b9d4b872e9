"""Text files with labels: a file or a folder for every label, `__label__` lines, `label text` lines, SST trees.

rt-polarity.pos, rt-polarity.neg     # the part of the name that differs is the label, a line is a text
train/spam/1.txt, train/ham/2.txt    # the folder is the label, a file is a text
__label__spam buy now                # as fastText writes them
3 it is a film                       # the first word is the label, if few words stand there
(3 (2 a) (4 (3 good) (2 film)))      # a tree of the Stanford Sentiment Treebank: the label of its root
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from chainrule.data.rows import LABEL, TEXT
from chainrule.data.sources import Source, read
from chainrule.errors import DataError

MARK = b"__label__"
TREE = re.compile(rb"\(\d+ \(.*\)\)|\(\d+ [^()\s]+\)")
LEAF = re.compile(rb"\(\d+ ([^()\s]+)\)")
FEW = 5  # texts of a label, at least, on average: else first words are no labels
Pairs = Iterable[tuple[bytes, bytes]]  # label and text


def is_labelled_text(source: Source) -> bool:
    """Whether the data are files of text."""
    return bool(source.files) and all(source.kind(path) == "text" for path in source.files)


def labelled_text(source: Source) -> dict[str, list[bytes]]:
    """Texts and their labels, in the order of the files."""
    folders = {path.parent for path in source.files}
    if len(folders) > 1:
        pairs = list(_by_folder(source))
    elif len(source.files) > 1:
        pairs = list(_by_name(source))
    else:
        pairs = _by_line(source)
    return {TEXT: [text for _, text in pairs], LABEL: [label for label, _ in pairs]}


def _by_folder(source: Source) -> Iterator[tuple[bytes, bytes]]:
    for path in source.files:
        whole = b"\n".join(_lines(source, path))
        yield path.parent.name.encode(), b" ".join(whole.split())


def _by_name(source: Source) -> Iterator[tuple[bytes, bytes]]:
    for path, label in zip(source.files, labels_of_names([path.name for path in source.files]), strict=True):
        for line in _lines(source, path):
            yield label.encode(), line


def labels_of_names(names: list[str]) -> list[str]:
    """The parts of file names in which they differ: `rt-polarity.pos` and `rt-polarity.neg` are `pos` and `neg`."""
    parts = [re.split(r"[._-]", name) for name in names]
    shortest = min(map(len, parts))
    front = next((at for at in range(shortest) if len({one[at] for one in parts}) > 1), shortest)
    back = next((at for at in range(shortest - front) if len({one[-1 - at] for one in parts}) > 1), 0)
    return ["-".join(one[front : len(one) - back]) or name for one, name in zip(parts, names, strict=True)]


def _by_line(source: Source) -> list[tuple[bytes, bytes]]:
    lines = list(_lines(source, source.files[0]))
    marked = [line.startswith(MARK) for line in lines]
    if lines and all(TREE.fullmatch(line.strip()) for line in lines):
        pairs = [_tree(line.strip()) for line in lines]
    elif all(marked):
        pairs = [_halves(line.removeprefix(MARK)) for line in lines]
    else:
        pairs = [_halves(line) for line in lines]
        if len({label for label, _ in pairs}) * FEW > len(pairs) or any(marked):
            raise DataError(
                f"{source.name} says no labels: its lines do not begin with one of few words, nor with __label__. "
                "Give a table with --label COLUMN, a file or a folder for each label, or lines `label text`."
            )
    return pairs


def _tree(line: bytes) -> tuple[bytes, bytes]:
    """The label of the root and the words of the leaves; brackets are written -LRB- and -RRB-, a slash as \\/."""
    words = b" ".join(LEAF.findall(line)).replace(b"-LRB-", b"(").replace(b"-RRB-", b")")
    return line[1:].partition(b" ")[0], words.replace(rb"\/", b"/")


def _halves(line: bytes) -> tuple[bytes, bytes]:
    label, _, text = line.strip().replace(b"\t", b" ", 1).partition(b" ")
    return label, text.strip()


def _lines(source: Source, path: Path) -> Iterator[bytes]:
    """The lines of one file that say something."""
    for texts in read(path, source.config)():
        yield from texts
