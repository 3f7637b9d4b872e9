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
from chainrule.data.dataset import encoded, open_data
from chainrule.data.rows import TEXT
from chainrule.interop.arpa import export_arpa, import_arpa
from chainrule.models.ngram import Ngram, NgramConfig
from chainrule.nn.tap import listening
from chainrule.progress import no_progress
from chainrule.symbols import BOS
from chainrule.train.budget import Timing
from chainrule.train.fit import Place, ask, finished, learn

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
    model = kenlm.LanguageModel(str(path))
    return np.array([log for line in lines for log, _, _ in model.full_scores(line)])


def fitted(text: str, order: int, prune: tuple[int, ...]) -> tuple[Ngram, Words]:
    texts = Texts.of((HERE / f"{text}.txt").read_text().splitlines())
    codec = Words.learn(lambda: [texts], WordsConfig())
    config = NgramConfig(vocab_size=codec.size, suppressed=codec.suppressed, order=order, prune=prune)
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


def test_a_file_without_unk_scores_unknown_words_as_kenlm_does(tmp_path: Path) -> None:
    lines = gzip.decompress((HERE / "zipf.arpa.gz").read_bytes()).decode().splitlines(keepends=True)
    size = next(line for line in lines if line.startswith("ngram 1="))
    fewer = f"ngram 1={int(size.partition('=')[2]) - 1}\n"
    path = tmp_path / "without.arpa"
    path.write_text("".join(fewer if line == size else line for line in lines if "\t<unk>\t" not in line))
    model, codec = import_arpa(path)
    texts = [*lines_of("zipf"), "never"]
    found, expected = ours(model, codec, texts), theirs(path, texts)
    assert found.min() < -100 and np.isfinite(found).all()
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-5)
    assert model.notes == (
        "the file has no <unk>: unknown words get the log10 probability -100, as in KenLM",
    )
    assert import_arpa(HERE / "zipf.arpa.gz")[0].notes == ()


def test_orders_used_equal_those_of_kenlm(unpacked) -> None:  # type: ignore[no-untyped-def]
    model, codec = import_arpa(HERE / "zipf.arpa.gz")
    lines = lines_of("zipf")
    reference = kenlm.LanguageModel(str(unpacked("zipf")))
    used = [order for line in lines for _, order, _ in reference.full_scores(line)]
    ids = codec.encode(Texts.of(lines)).ids
    with listening(model, "order") as heard:
        model.score_ids(ids)
    [orders] = heard["order"]
    assert orders[ids != BOS].tolist() == used


def test_a_refitted_model_is_that_of_kenlm_on_the_whole_file(unpacked) -> None:  # type: ignore[no-untyped-def]
    """With a codec that knows all words; one that `fit` learns knows those of the training part."""
    codec = fitted("regular", 1, ())[1]
    data = open_data(HERE / "regular.txt", codec="words", options={"split": "space"})
    prepared, task = encoded(data, {TEXT: codec}), ask("ngram", None, {})
    judged = learn("ngram", task, prepared, {"order": 3})
    place = Place(None, False, no_progress, Timing())
    found = finished(task, judged, prepared, place, again=True).body
    lines = lines_of("regular")
    assert isinstance(found, Ngram) and isinstance(judged.body, Ngram)
    expected = theirs(unpacked("regular"), lines)
    np.testing.assert_allclose(ours(found, codec, lines), expected, atol=1e-5)
    assert np.abs(ours(judged.body, codec, lines) - expected).max() > 0.1
