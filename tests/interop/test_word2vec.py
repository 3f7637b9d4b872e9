"""Word vectors of other programs: gensim opens ours, and we open gensim's."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pytest
from gensim.models import KeyedVectors

from chainrule.cli import main
from chainrule.errors import DataError
from chainrule.interop.word2vec import export_vectors, import_vectors
from chainrule.symbols import FIRST, UNK

WORDS = ["the", "größer", "a-b", "東京", "<unk>", "x"]
TABLE = np.random.default_rng(0).normal(size=(len(WORDS), 7)).astype(np.float32)


def theirs(path: Path, format: str) -> Path:
    """A file as gensim writes it."""
    made = KeyedVectors(7)
    made.add_vectors(WORDS, TABLE)
    made.save_word2vec_format(str(path), binary=format == "binary", write_header=format != "glove")
    return path


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # gensim leaves a file open
@pytest.mark.filterwarnings("ignore::ResourceWarning")
@pytest.mark.parametrize("format", ["text", "binary", "glove"])
def test_we_open_what_gensim_writes_and_it_opens_what_we_write(format: str, tmp_path: Path) -> None:
    bundle = import_vectors(theirs(tmp_path / "theirs", format))
    assert bundle.codec.tokens(range(FIRST, bundle.codec.size)) == [one for one in WORDS if one != "<unk>"]
    np.testing.assert_allclose(bundle.body.table[FIRST:], np.delete(TABLE, 4, 0), rtol=1e-6)  # type: ignore[attr-defined]
    np.testing.assert_allclose(bundle.body.table[UNK], TABLE[4], rtol=1e-6)  # type: ignore[attr-defined]
    assert bundle.card["notes"] == [f"format: {format}"]
    count, notes = export_vectors(bundle, tmp_path / "ours", format)
    again = KeyedVectors.load_word2vec_format(
        str(tmp_path / "ours"), binary=format == "binary", no_header=format == "glove"
    )
    assert count == len(WORDS) and notes == () and set(again.index_to_key) == set(WORDS)
    np.testing.assert_allclose(np.stack([again[word] for word in WORDS]), TABLE, rtol=1e-6)
    query = [one for one, _ in again.most_similar("the", topn=5) if one != "<unk>"]
    assert [one.word for one in bundle.similar("the", 4)] == query


def test_words_with_spaces_are_read_and_copies_are_told(tmp_path: Path) -> None:
    (tmp_path / "glove.gz").write_bytes(gzip.compress(b"a 1 2 3\n. . . 4 5 6\na 7 8 9\n"))
    bundle = import_vectors(tmp_path / "glove.gz")
    assert bundle.codec.tokens([FIRST, FIRST + 1]) == ["a", ". . ."]
    assert bundle.card["notes"][1].startswith("1 words stand there more than once")
    count, notes = export_vectors(bundle, tmp_path / "out.txt")
    assert count == 1 and notes[0].startswith("1 words with white space")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "no word vectors"),
        (b"hello\n", "expected a word and 1 numbers"),
        (b"2 3\na 1 2 3\n", "1 of 2 words are missing"),
        (b"1 3\na 1 2 3\nb 1 2 3\n", "more words than the 1 announced"),
        (b"2 3\na 1 2 3\nb 1 x 3\n", "expected 3 numbers after the word"),
        (b"a 1 2 3\nb 1 2\n", "expected a word and 3 numbers"),
        (b"a 1 2 nan\n", "no finite vector"),
        (b"999999999999 60000\n\0\0\0", "are missing"),
        (b"9 0\n", "there must be some"),
        (b"9 99999999\n", "there must be some"),
        (b"3 2\n" + b"x" * 1_100_000, "more than 1,048,576 bytes"),
        (b"1 2\nword " + b"\0" * 8 + b"\nmore ", "more than the 1 words"),
        (b"\xff\xfe" * 100, "expected a word"),
    ],
)
def test_hostile_files_are_refused_with_plain_errors(content: bytes, message: str, tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(content)
    with pytest.raises(DataError, match=message):
        import_vectors(tmp_path / "file")


def test_the_commands_import_compare_map_and_export(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    theirs(tmp_path / "file.bin", "binary")
    (tmp_path / "pairs.tsv").write_text("the\tx\nx\tthe\n\na-b\t東京\n", encoding="utf-8")
    for line in (
        "import vectors file.bin -o V",
        "similar V the -k 2 --json",
        "analogy V the x a-b --json",
        "map-vectors V V pairs.tsv -o M --method linear",
        "similar M the --among V",
        "export vectors M out.txt --format glove",
    ):
        assert main(line.split()) == 0, line
    told = capsys.readouterr().out
    assert '"neighbours"' in told and '"with_query"' in told and "out.txt: 6 words" in told
    assert main(["export", "vectors", "M", "out.txt"]) == 1
