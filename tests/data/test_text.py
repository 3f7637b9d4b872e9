"""Text files of every kind, good and bad."""

from __future__ import annotations

import gzip
import io
import lzma
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import zstandard

from chainrule.codecs.base import Texts
from chainrule.codecs.registry import codec
from chainrule.data import lines, streams
from chainrule.data.corpus import encode
from chainrule.data.sources import ReadConfig, read
from chainrule.errors import DataError


def file(folder: Path, content: bytes, name: str = "data.txt") -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return path


def items(source: object, **options: object) -> list[bytes]:
    """Whole sequences, the parts of long ones joined again."""
    found: list[bytes] = []
    for texts in read(source, ReadConfig.from_values(options))():  # type: ignore[arg-type]
        for place, sequence in enumerate(texts):
            if place == 0 and not texts.opens:
                found[-1] += sequence
            else:
                found.append(sequence)
    return found


def test_a_line_is_a_sequence_and_blank_lines_are_skipped_and_counted(tmp_path: Path) -> None:
    path = file(tmp_path, b"a b\n\n  \t\nc\n")
    assert items(path) == [b"a b", b"c"]
    assert sum(texts.skipped for texts in read(path)()) == 2


def test_every_pass_gives_the_same(tmp_path: Path) -> None:
    source = read(file(tmp_path, b"a\nb\n"))
    assert [list(texts) for texts in source()] == [list(texts) for texts in source()] == [[b"a", b"b"]]


@pytest.mark.parametrize("content", [b"a\nb", b"a\nb\n", b"a\r\nb\r\n", b"\xef\xbb\xbfa\nb\n", b"\n\na\n\nb"])
def test_line_ends_and_byte_order_marks_make_no_difference(tmp_path: Path, content: bytes) -> None:
    assert items(file(tmp_path, content)) == [b"a", b"b"]


@pytest.mark.parametrize("encoding", ["utf-16", "utf-32", "utf-8-sig"])
def test_unicode_is_recognised_by_its_mark(tmp_path: Path, encoding: str) -> None:
    assert items(file(tmp_path, "naïve\n狗\n".encode(encoding))) == ["naïve".encode(), "狗".encode()]


def test_other_encodings_are_read_when_named(tmp_path: Path) -> None:
    path = file(tmp_path, "naïve".encode("latin-1"))
    assert items(path, encoding="latin-1") == ["naïve".encode()]
    with pytest.raises(DataError, match="no encoding 'latin-99'"):
        items(path, encoding="latin-99")
    with pytest.raises(DataError, match="not ascii"):
        items(path, encoding="ascii")


def test_invalid_bytes_are_located_and_the_way_out_is_named(tmp_path: Path) -> None:
    path = file(tmp_path, b"good\nbad \xff here\n")
    with pytest.raises(
        DataError, match=r"data\.txt, line 2, byte 9: b'\\xff'.*--encoding latin-1.*--codec bytes"
    ):
        items(path)
    assert items(path, raw=True) == [b"good", b"bad \xff here"]


def test_a_character_cut_off_at_the_end_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="line 1, byte 1"):
        items(file(tmp_path, "a狗".encode()[:-1]))


def test_invalid_bytes_are_located_beyond_the_first_chunk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(streams, "CHUNK", 5)
    path = file(tmp_path, "狗狗\n狗狗\n狗".encode() + b"\xff\n")
    with pytest.raises(DataError, match="line 3, byte 17"):
        items(path)
    assert items(file(tmp_path, "狗狗\n狗狗\n狗".encode())) == ["狗狗".encode()] * 2 + ["狗".encode()]


def test_nul_bytes_are_ordinary(tmp_path: Path) -> None:
    assert items(file(tmp_path, b"a\0b\n\0\n")) == [b"a\0b", b"\0"]


def test_a_single_symbol_is_data(tmp_path: Path) -> None:
    assert items(file(tmp_path, b"x")) == [b"x"]


@pytest.mark.parametrize("content", [b"", b"\n\n \n"])
def test_empty_and_blank_files_are_refused(tmp_path: Path, content: bytes) -> None:
    with pytest.raises(DataError, match="empty"):
        items(file(tmp_path, content))


def test_a_missing_file_gets_a_suggestion(tmp_path: Path) -> None:
    file(tmp_path, b"x", "book.txt")
    with pytest.raises(DataError, match=r"There is no file .*Did you mean .*book\.txt"):
        read(tmp_path / "bok.txt")


@pytest.mark.parametrize("size", [1, 3, 7, 1000])
def test_chunk_size_changes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, size: int) -> None:
    content = "one two\r\n\r\nnaïve 狗\n a \n\r\nlast".encode()
    path = file(tmp_path, content)
    whole, flowing = items(path), items(path, stream=True)
    monkeypatch.setattr(streams, "CHUNK", size)
    monkeypatch.setattr(lines, "BLOCK", 8)
    assert items(path) == whole == [b"one two", "naïve 狗".encode(), b" a ", b"last"]
    assert items(path, stream=True) == flowing == [content.replace(b"\r\n", b"\n")]


def test_a_stream_is_one_sequence_without_its_last_line_end(tmp_path: Path) -> None:
    assert items(file(tmp_path, b"a\n\nb\r\nc\n"), stream=True) == [b"a\n\nb\nc"]


def test_a_long_line_comes_in_parts_and_encodes_as_one_sequence(tmp_path: Path) -> None:
    text = np.frombuffer(b"lorem ipsum dolor ", np.uint8)
    path = file(tmp_path, b"first\n" + np.tile(text, 2_000_000).tobytes() + b"\nlast\n")
    blocks = list(read(path)())
    assert max(texts.bytes for texts in blocks) < 40_000_000 and len(blocks) > 1
    assert sum(texts.sequences for texts in blocks) == 3
    kind = codec("words")
    made = kind.learn(lambda: blocks, kind.Config())
    corpus = encode(made, lambda: blocks)
    assert (corpus.sequences, corpus.symbols, corpus.bytes) == (3, 6_000_000 + 2 + 3, path.stat().st_size)
    assert len(corpus.starts) == 3


def test_a_long_line_without_spaces_is_cut_between_characters(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(streams, "CHUNK", 10)
    monkeypatch.setattr(lines, "BLOCK", 10)
    text = "狗é" * 50
    path = file(tmp_path, text.encode())
    for texts in read(path)():
        for sequence in texts:
            sequence.decode()
    assert items(path) == [text.encode()]


PACKED = {".gz": gzip.compress, ".xz": lzma.compress, ".zst": zstandard.compress}


@pytest.mark.parametrize("suffix", sorted(PACKED))
def test_compressed_files_are_read_and_damaged_ones_refused(tmp_path: Path, suffix: str) -> None:
    content = b"".join(b"line %d\n" % number for number in range(5000))
    packed = PACKED[suffix](content)
    assert items(file(tmp_path, packed, f"a.txt{suffix}")) == content.splitlines()
    assert items(file(tmp_path, packed + packed, f"twice.txt{suffix}")) == content.splitlines() * 2
    for name, wrong in (("cut", packed[: len(packed) // 2]), ("other", b"not compressed at all")):
        with pytest.raises(DataError, match="cannot be decompressed"):
            items(file(tmp_path, wrong, f"{name}.txt{suffix}"))


def test_folders_patterns_and_lists_of_paths(tmp_path: Path) -> None:
    first, second = file(tmp_path, b"1", "d/b.txt"), file(tmp_path, b"2\n", "d/a/z.log")
    file(tmp_path, b"hidden", "d/.git/x")
    assert items(tmp_path / "d") == [b"2", b"1"]
    assert items(str(tmp_path / "d" / "*.txt")) == [b"1"]
    assert items([first, second]) == items([str(first), str(second)]) == [b"1", b"2"]
    with pytest.raises(DataError, match="No file fits the pattern"):
        read(str(tmp_path / "*.nothing"))


def test_a_folder_without_readable_files_is_refused(tmp_path: Path) -> None:
    (tmp_path / "empty" / ".hidden").mkdir(parents=True)
    with pytest.raises(DataError, match="holds no readable file"):
        read(tmp_path / "empty")


def test_standard_input_can_be_read_twice_and_leaves_nothing_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=io.BytesIO(b"a\nb\n")))
    source = read("-")
    path = source.files[0]
    assert [list(texts) for texts in source()] == [list(texts) for texts in source()]
    assert path.exists()
    del source
    assert not path.exists()


def test_strings_are_data(tmp_path: Path) -> None:
    assert items(["the cat", "", "two\nlines"]) == [b"the cat", b"two\nlines"]
    for wrong in ([], ["", " "]):
        with pytest.raises(DataError, match="empty or blank"):
            read(wrong)
    with pytest.raises(DataError, match="half a character"):
        read(["a\ud800"])
    with pytest.raises(DataError, match="should be a string, not int"):
        read([1, 2])  # type: ignore[list-item]


def test_fingerprints_tell_contents_and_ways_of_reading_apart(tmp_path: Path) -> None:
    one, same, other = (file(tmp_path, text, name) for text, name in ((b"a", "1"), (b"a", "2"), (b"b", "3")))
    assert read(one).fingerprint == read(same).fingerprint != read(other).fingerprint
    assert read(one).fingerprint != read(one, ReadConfig(stream=True)).fingerprint
    assert read(["a b"]).fingerprint != read(["a", "b"]).fingerprint


def test_texts_cannot_be_written_to() -> None:
    with pytest.raises(ValueError, match="read-only"):
        Texts.of(["abc"]).data[0] = 1
