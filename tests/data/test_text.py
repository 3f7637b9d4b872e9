"""Text files of every kind, good and bad."""

from __future__ import annotations

import bz2
import errno
import gzip
import io
import lzma
import os
from collections.abc import Callable
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
from chainrule.errors import ConfigError, DataError


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
    with pytest.raises(DataError, match="not ascii"):
        items(path, encoding="ascii")


def test_invalid_bytes_are_located_and_the_way_out_is_named(tmp_path: Path) -> None:
    path = file(tmp_path, b"good\nbad \xff here\n")
    with pytest.raises(
        DataError,
        match=r"data\.txt, line 2, byte 10 of the file \(both .* 1\): b'\\xff'.*--encoding latin-1.*--codec bytes",
    ):
        items(path)
    assert items(path, raw=True) == [b"good", b"bad \xff here"]


def test_a_character_cut_off_at_the_end_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="line 1, byte 2"):
        items(file(tmp_path, "a狗".encode()[:-1]))


def test_invalid_bytes_are_located_beyond_the_first_chunk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(streams, "CHUNK", 5)
    path = file(tmp_path, "狗狗\n狗狗\n狗".encode() + b"\xff\n")
    with pytest.raises(DataError, match="line 3, byte 18"):
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


PACKED = {
    ".gz": gzip.compress,
    ".xz": lzma.compress,
    ".bz2": bz2.compress,
    ".zst": zstandard.compress,
}


@pytest.mark.parametrize("suffix", sorted(PACKED))
def test_compressed_files_are_read_and_damaged_ones_refused(tmp_path: Path, suffix: str) -> None:
    content = b"".join(b"line %d\n" % number for number in range(5000))
    packed = PACKED[suffix](content)
    assert items(file(tmp_path, packed, f"a.txt{suffix}")) == content.splitlines()
    assert items(file(tmp_path, packed + packed, f"twice.txt{suffix}")) == content.splitlines() * 2
    half, quarter = len(packed) // 2, len(packed) // 4
    for wrong in (packed[:half], packed[:quarter] + b"\xaa" * quarter + packed[half:]):
        with pytest.raises(DataError, match=r"wrong\.txt.* cannot be decompressed"):
            items(file(tmp_path, wrong, f"wrong.txt{suffix}"))


@pytest.mark.parametrize("suffix", sorted(PACKED))
def test_compression_goes_by_content_and_not_by_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, suffix: str
) -> None:
    assert items(file(tmp_path, b"plain\ntext", f"a.txt{suffix}")) == [b"plain", b"text"]
    packed = PACKED[suffix](b"one\ntwo\n")
    assert items(file(tmp_path, packed, "misnamed.txt")) == [b"one", b"two"]
    assert items(file(tmp_path, packed, "misnamed.txt.gz")) == [b"one", b"two"]
    monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=io.BytesIO(packed)))
    assert items("-") == [b"one", b"two"]


def test_text_that_begins_like_bzip2_is_text(tmp_path: Path) -> None:
    assert items(file(tmp_path, b"BZh9 is how it begins", "a.bz2")) == [b"BZh9 is how it begins"]


@pytest.mark.parametrize(
    ("content", "options"),
    [
        (b"a\n\xff\n", {}),
        (gzip.compress(b"abc", mtime=0)[:-9], {}),
        (b"x,y\n1,2\n", {"format": "csv"}),
        (b"{", {"format": "jsonl"}),
        (b"no parquet", {"format": "parquet"}),
        (b"no conllu", {"format": "conllu"}),
        (b"\n", {}),
        (b"", {}),
    ],
)
def test_messages_never_name_a_temporary_file(
    monkeypatch: pytest.MonkeyPatch, content: bytes, options: dict[str, object]
) -> None:
    monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=io.BytesIO(content)))
    with pytest.raises(DataError, match=r"^standard input") as caught:
        items("-", **options)
    assert "chainrule-" not in str(caught.value)


def test_links_that_lead_nowhere_or_in_a_circle_are_named(tmp_path: Path) -> None:
    loop, dangling = tmp_path / "loop.txt", tmp_path / "dangling.txt"
    loop.symlink_to(loop)
    dangling.symlink_to(tmp_path / "gone.txt")
    with pytest.raises(DataError, match=r"loop\.txt cannot be read: Too many levels"):
        read(loop)
    with pytest.raises(DataError, match=r"dangling\.txt is a link to .*gone\.txt"):
        read(dangling)


def test_links_in_a_folder_are_no_trap(tmp_path: Path) -> None:
    file(tmp_path, b"a", "d/a.txt")
    (tmp_path / "d" / "loop.txt").symlink_to(tmp_path / "d" / "loop.txt")
    (tmp_path / "d" / "again").symlink_to(tmp_path / "d")
    os.mkfifo(tmp_path / "d" / "pipe.txt")
    source = read(tmp_path / "d")
    assert [path.name for path in source.files] == ["a.txt"]
    assert "again, loop.txt, pipe.txt" in source.notes[0]


def test_a_named_pipe_is_refused_at_once(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(DataError, match=r"pipe is a pipe or a device.*- < "):
        read(tmp_path / "pipe")


def test_what_a_shell_pipes_in_is_read(tmp_path: Path) -> None:
    out, into = os.pipe()
    os.write(into, gzip.compress(b"a\nb\n"))
    os.close(into)
    try:
        assert items(f"/dev/fd/{out}") == [b"a", b"b"]
    finally:
        os.close(out)


def test_a_file_that_vanished_is_named(tmp_path: Path) -> None:
    path = file(tmp_path, b"a\n")
    for use in (lambda source: list(source()), lambda source: source.fingerprint):
        source = read(file(tmp_path, b"a\n"))
        path.unlink()
        with pytest.raises(DataError, match=r"data\.txt cannot be read: No such file"):
            use(source)


def test_a_file_that_may_not_be_read_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: object, **__: object) -> None:
        raise PermissionError(errno.EACCES, "Permission denied")

    source = read(file(tmp_path, b"a\n"))
    monkeypatch.setattr(
        Path, "open", refused
    )  # a superuser may read everything, so chmod would prove nothing
    with pytest.raises(DataError, match=r"data\.txt cannot be read: Permission denied"):
        list(source())
    monkeypatch.setattr(Path, "stat", refused)
    with pytest.raises(DataError, match=r"data\.txt cannot be read: Permission denied"):
        read(tmp_path / "data.txt")


def test_a_folder_that_may_not_be_read_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def walk(folder: Path, onerror: Callable[[OSError], None]) -> None:
        onerror(PermissionError(errno.EACCES, "Permission denied", str(folder / "inner")))

    monkeypatch.setattr("os.walk", walk)
    with pytest.raises(DataError, match="inner cannot be read: Permission denied"):
        read(tmp_path)


def test_a_text_given_for_a_path_is_told_apart_and_cut(tmp_path: Path) -> None:
    for wrong in ("word " * 10_000, "a\0b"):
        with pytest.raises(DataError, match=r"There is no file.*Strings as data go in a list") as caught:
            read(wrong)
        assert len(str(caught.value)) < 300


def test_folders_patterns_and_lists_of_paths(tmp_path: Path) -> None:
    first, second = file(tmp_path, b"1", "d/b.txt"), file(tmp_path, b"2\n", "d/a/z.text")
    file(tmp_path, b"hidden", "d/.git/x")
    assert items(tmp_path / "d") == [b"2", b"1"]
    assert items(str(tmp_path / "d" / "*.txt")) == [b"1"]
    assert items([first, second]) == items([str(first), str(second)]) == [b"1", b"2"]
    assert items([tmp_path / "d", tmp_path / "d" / "*.txt"]) == [b"2", b"1", b"1"]
    with pytest.raises(DataError, match="No file fits the pattern"):
        read(str(tmp_path / "*.nothing"))


def test_standard_input_may_be_one_of_several(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=io.BytesIO(b"b\n")))
    source = read([file(tmp_path, b"a\n"), Path("-")])
    assert [list(texts) for texts in source()] == [[b"a"], [b"b"]] and source.name.endswith("standard input")


def test_what_is_no_data_is_left_out_of_a_folder_and_noted(tmp_path: Path) -> None:
    for name in ("a.txt", "b.txt.gz", "plain", "code.py", "README.md", "image.PNG", ".hidden"):
        file(tmp_path, b"x\n", f"d/{name}")
    source = read(tmp_path / "d")
    assert [path.name for path in source.files] == ["a.txt", "b.txt.gz", "plain"]
    assert len(source.notes) == 1 and "README.md, code.py, image.PNG" in source.notes[0]
    everything = read(tmp_path / "d", ReadConfig(format="text"))
    assert len(everything.files) == 6 and everything.notes == ()


def test_different_formats_in_a_folder_are_noted(tmp_path: Path) -> None:
    file(tmp_path, b"x\n", "d/a.txt")
    file(tmp_path, b"text\nx\n", "d/b.csv")
    assert "the files are of different formats: 1 text, 1 csv" in read(tmp_path / "d").notes


def test_a_folder_without_readable_files_is_refused(tmp_path: Path) -> None:
    (tmp_path / "empty" / ".hidden").mkdir(parents=True)
    with pytest.raises(DataError, match="holds no readable file"):
        read(tmp_path / "empty")
    file(tmp_path, b"x", "empty/a.log")
    with pytest.raises(DataError, match=r"holds no readable file: there are a\.log .*a pattern"):
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
    with pytest.raises(DataError, match=r"int \(2\) follows str"):
        read(["1", 2])


def test_fingerprints_tell_contents_and_ways_of_reading_apart(tmp_path: Path) -> None:
    one, same, other = (file(tmp_path, text, name) for text, name in ((b"a", "1"), (b"a", "2"), (b"b", "3")))
    assert read(one).fingerprint == read(same).fingerprint != read(other).fingerprint
    assert read(one).fingerprint != read(one, ReadConfig(stream=True)).fingerprint
    assert read(["a b"]).fingerprint != read(["a", "b"]).fingerprint


def test_texts_cannot_be_written_to() -> None:
    with pytest.raises(ValueError, match="read-only"):
        Texts.of(["abc"]).data[0] = 1


@pytest.mark.parametrize("name", ["latin-99", "rot13", "base64", "zlib", "a\0b", "ü"])
def test_only_encodings_of_text_are_accepted(tmp_path: Path, name: str) -> None:
    with pytest.raises(ConfigError, match=r"There is no encoding .* of text"):
        items(file(tmp_path, b"abc"), encoding=name)


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
@pytest.mark.parametrize("text", ["hello\n", "naïve café\n" * 9, "слово и ещё слово\n" * 20])
def test_utf_16_without_its_mark_is_recognised(tmp_path: Path, encoding: str, text: str) -> None:
    path = file(tmp_path, text.encode(encoding))
    with pytest.raises(DataError, match=f"--encoding {encoding}.*--codec bytes"):
        items(path)
    assert items(path, encoding=encoding) == [line.encode() for line in text.splitlines()]
    assert items(path, raw=True)


def test_records_that_end_in_nul_are_no_utf_16(tmp_path: Path) -> None:
    content = b"".join(b"x" * (number % 7) + b"\0" for number in range(99))
    assert items(file(tmp_path, content)) == [content]
