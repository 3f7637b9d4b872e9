"""Damaged bytes in every file of every kind of folder: models, runs, comparisons, caches."""

from __future__ import annotations

import json
import os
import shutil
from functools import cache
from pathlib import Path
from random import Random

import numpy as np
from commands import PATIENCE, command
from faults import Section, Wrong
from workshop import RUN, said, some_model

import chainrule as cr
from chainrule.codecs.base import Texts
from chainrule.data import corpus
from chainrule.store import tensors
from chainrule.train import checkpoint


def damaged(random: Random, path: Path) -> None:
    """Change, cut off or add some bytes; the time of the file stays."""
    times, data = path.stat(), bytearray(path.read_bytes())
    change = random.randrange(4) if data else 3
    at = random.randrange(max(1, len(data)))
    if change == 0:
        data[at] ^= random.randrange(1, 256)
    elif change == 1:
        del data[at:]
    elif change == 2:
        data[at : at + 16] = bytes(len(data[at : at + 16]))
    else:
        data += random.randbytes(random.randint(1, 64))
    path.write_bytes(data)
    os.utime(path, (times.st_atime, times.st_mtime))


def some_file(random: Random, folder: Path) -> Path:
    return random.choice(sorted(one for one in folder.rglob("*") if one.is_file()))


known = cache(said)


def models(examples: Path, place: Path, random: Random) -> None:
    """A saved model of any family and task: it is refused, or says what it said before."""
    source = some_model(random, examples)
    folder = shutil.copytree(source, place / "lm")
    path = some_file(random, folder)
    damaged(random, path)
    found = said(folder)
    if not np.allclose(found, known(source), rtol=1e-6, atol=1e-9):
        raise Wrong(f"{path.name}: {found[:9]} instead of {known(source)[:9]}")


def runs(examples: Path, place: Path, random: Random) -> str:
    """A stopped training: it is refused, or ends as it would have."""
    runs = examples / "runs"
    shutil.copytree(runs / "lm.run", place / "lm.run")
    path = some_file(random, place / "lm.run")
    damaged(random, path)
    found = command("fit", examples / "data" / "text.txt", "-o", place / "lm", "--resume", *RUN)
    if found == "success":
        _same_weights(place / "lm", runs / "whole", path.name)
    return found


def _same_weights(one: Path, other: Path, what: str) -> None:
    ours, theirs = (tensors.read(folder / "model.safetensors") for folder in (one, other))
    if any(not np.array_equal(ours[name], theirs[name]) for name in theirs):
        raise Wrong(f"{what}: the resumed training ended elsewhere")


def run_files(examples: Path, place: Path, random: Random) -> None:
    """A checkpoint by itself: every damage must be noticed."""
    folder = shutil.copytree(examples / "runs" / "lm.run", place / "lm.run")
    damaged(random, folder / checkpoint.FILE)
    found, before = checkpoint.load(folder), checkpoint.load(examples / "runs" / "lm.run")
    assert found is not None and before is not None
    for name, array in before.arrays.items():
        if name not in found.arrays or found.arrays[name].tobytes() != array.tobytes():
            raise Wrong(f"{name} has changed")
    if found.facts != before.facts:
        raise Wrong("facts have changed")


def caches(examples: Path, place: Path, random: Random) -> None:
    """Ids kept between runs: damaged ones are made again."""
    corpus.SMALL = 1
    os.environ["CHAINRULE_CACHE"] = str(place / "cache")
    bundle = cr.load(examples / "models" / "ngram")
    lines = (examples / "data" / "text.txt").read_text().splitlines()
    first = np.array(corpus.encode(bundle.codec, lambda: [Texts.of(lines)], "content").ids)
    damaged(random, some_file(random, place / "cache"))
    again = np.array(corpus.encode(bundle.codec, lambda: [Texts.of(lines)], "content").ids)
    if not np.array_equal(first, again):
        raise Wrong("the cache gave other ids")


def comparisons(examples: Path, place: Path, random: Random) -> str:
    """A comparison that is continued, and one that is read again."""
    folder = shutil.copytree(examples / "comparison", place / "comparison")
    damaged(random, some_file(random, folder))
    words = ("--budget", "30s", "--models", "unigram,3-gram", "-o", folder)
    found = command("compare", examples / "data" / "text.txt", *words, "--resume")
    if found == "success" and _figures(folder) != _figures(examples / "comparison"):
        raise Wrong(f"{_figures(folder)} instead of {_figures(examples / 'comparison')}")
    return found


def _figures(folder: Path) -> dict[str, float]:
    """What a comparison says of every model."""
    rows = json.loads((folder / "results.json").read_text())["models"]
    return {row["name"]: row["bits"] for row in rows}


SECTIONS = [
    Section("damaged models", 4000, 1.0, models),
    Section("damaged checkpoints", 1000, 0.2, run_files),
    Section("damaged runs", 300, 1.0, runs, 2 * PATIENCE),
    Section("damaged caches", 1000, 0.3, caches),
    Section("damaged comparisons", 60, 1.0, comparisons, 2 * PATIENCE),
]
