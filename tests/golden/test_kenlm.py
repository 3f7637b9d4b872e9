"""The same numbers as KenLM, from the same text and through the same files.

The fixtures were written by KenLM's `lmplz` from the texts beside them. Their last line is a word seen once:
KenLM puts the very last n-gram of each order under its plain count when it counts counts, and there both agree.
"""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pytest

from chainrule.codecs.base import Texts
from chainrule.codecs.words import Words, WordsConfig
from chainrule.interop.arpa import export_arpa, import_arpa
from chainrule.models.ngram import Ngram, NgramConfig
from chainrule.symbols import BOS

kenlm = pytest.importorskip("kenlm", reason="KenLM's Python module is not installed")
HERE = Path(__file__).parent / "fixtures"
CASES = [("zipf", "zipf", 4, ()), ("zipf", "zipf-pruned", 3, (0, 0, 1)), ("regular", "regular", 3, ())]
ids_of = [name for _, name, _, _ in CASES]


def lines_of(text: str) -> list[str]:
    lines = (HERE / f"{text}.txt").read_text().splitlines()
    return [*lines, *(" ".join(reversed(line.split())) for line in lines[:50]), "never seen words here"]


def ours(model: Ngram, codec: Words, lines: list[str]) -> np.ndarray:
    """Base-10 logarithms of every word and end."""
    ids = codec.encode(Texts.of(lines)).ids
    return model.score_ids(ids)[ids != BOS] / np.log(10)


def theirs(path: Path, lines: list[str]) -> np.ndarray:
    model = kenlm.Model(str(path))
    return np.array([log for line in lines for log, _, _ in model.full_scores(line)])


def fitted(text: str, order: int, prune: tuple[int, ...]) -> tuple[Ngram, Words]:
    texts = Texts.of((HERE / f"{text}.txt").read_text().splitlines())
    codec = Words.learn(lambda: [texts], WordsConfig())
    config = NgramConfig(alphabet=codec.size, silent=codec.silent, order=order, prune=prune)
    return Ngram.learn(config, codec.encode(texts).ids), codec


@pytest.fixture
def unpacked(tmp_path: Path):  # type: ignore[no-untyped-def]
    def unpack(name: str) -> Path:
        path = tmp_path / f"{name}.arpa"
        path.write_bytes(gzip.decompress((HERE / f"{name}.arpa.gz").read_bytes()))
        return path

    return unpack


@pytest.mark.parametrize(("text", "name", "order", "prune"), CASES, ids=ids_of)
def test_estimates_equal_those_of_kenlm(text, name, order, prune, unpacked) -> None:  # type: ignore[no-untyped-def]
    model, codec = fitted(text, order, prune)
    lines = lines_of(text)
    np.testing.assert_allclose(ours(model, codec, lines), theirs(unpacked(name), lines), atol=1e-5)


@pytest.mark.parametrize(("text", "name", "order", "prune"), CASES, ids=ids_of)
def test_a_file_of_kenlm_scores_the_same_here(text, name, order, prune, unpacked) -> None:  # type: ignore[no-untyped-def]
    model, codec = import_arpa(HERE / f"{name}.arpa.gz")
    lines = lines_of(text)
    np.testing.assert_allclose(ours(model, codec, lines), theirs(unpacked(name), lines), atol=1e-5)


@pytest.mark.parametrize("suffix", [".arpa", ".arpa.gz"])
@pytest.mark.parametrize(("text", "name", "order", "prune"), CASES, ids=ids_of)
def test_our_file_scores_the_same_in_kenlm(text, name, order, prune, suffix, tmp_path) -> None:  # type: ignore[no-untyped-def]
    model, codec = fitted(text, order, prune)
    path = tmp_path / f"ours{suffix}"
    export_arpa(model, codec, path)
    lines = lines_of(text)
    np.testing.assert_allclose(ours(model, codec, lines), theirs(path, lines), atol=1e-5)


def test_orders_used_equal_those_of_kenlm(unpacked) -> None:  # type: ignore[no-untyped-def]
    model, codec = import_arpa(HERE / "zipf.arpa.gz")
    lines = lines_of("zipf")
    reference = kenlm.Model(str(unpacked("zipf")))
    used = [order for line in lines for _, order, _ in reference.full_scores(line)]
    ids = codec.encode(Texts.of(lines)).ids
    assert model.facts(ids)["order"][ids != BOS].tolist() == used
