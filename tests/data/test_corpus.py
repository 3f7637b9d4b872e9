"""Ids in memory, on disk and in the cache."""

from __future__ import annotations

import errno
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from chainrule.codecs.base import Blocks, Codec, Texts
from chainrule.codecs.registry import codec
from chainrule.data import cache as kept
from chainrule.data import corpus
from chainrule.data.corpus import encode
from chainrule.errors import DataError
from chainrule.symbols import BOS, EOS, FIRST

TEXTS = [Texts.of(["the cat", "sat"]), Texts.of(["on the mat", "the end"])]


@pytest.fixture
def words() -> Codec:
    kind = codec("words")
    return kind.learn(lambda: TEXTS, kind.Config())


class Counted:
    """Blocks that know how many were read."""

    def __init__(self) -> None:
        self.read = 0

    def __call__(self) -> Blocks:
        for texts in TEXTS:
            self.read += 1
            yield texts  # type: ignore[misc]


def test_small_data_stay_off_the_disk(words: Codec, cache: Path) -> None:
    found = encode(words, lambda: TEXTS, "mark")
    assert (found.sequences, found.symbols, found.bytes) == (4, 12, sum(texts.bytes for texts in TEXTS))
    assert not cache.exists()


@pytest.mark.parametrize("content", ["mark", None])
def test_large_data_are_mapped_and_equal(
    words: Codec, monkeypatch: pytest.MonkeyPatch, content: str | None
) -> None:
    small = encode(words, lambda: TEXTS)
    monkeypatch.setattr(corpus, "SMALL", 1)
    large = encode(words, lambda: TEXTS, content)
    assert isinstance(large.ids, np.memmap) and large.ids.tolist() == small.ids.tolist()
    assert (large.sequences, large.bytes, large.unknown) == (small.sequences, small.bytes, small.unknown)


def test_what_was_skipped_is_known_from_the_cache_too(words: Codec, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(corpus, "SMALL", 1)
    texts = [replace(TEXTS[0], skipped=2), replace(TEXTS[1], skipped=1)]
    assert [encode(words, lambda: texts, "mark").skipped for _ in range(2)] == [3, 3]


def test_a_second_run_reads_one_block_only(words: Codec, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(corpus, "SMALL", 1)
    first, second = Counted(), Counted()
    assert encode(words, first, "mark").ids.tolist() == encode(words, second, "mark").ids.tolist()
    assert (first.read, second.read) == (2, 1)


def test_another_codec_or_content_is_another_entry(
    words: Codec, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(corpus, "SMALL", 1)
    kind = codec("words")
    other = kind.learn(lambda: TEXTS, kind.Config.from_values({"vocab": 2}))
    for made, content in ((words, "a"), (words, "b"), (other, "a")):
        encode(made, lambda: TEXTS, content)
    assert len(list(cache.glob("*.ids"))) == len(list(cache.glob("*.json"))) == 3


@pytest.mark.parametrize("damage", ["flipped", "short", "facts", "lost"])
def test_a_damaged_entry_is_built_again(
    words: Codec, cache: Path, monkeypatch: pytest.MonkeyPatch, damage: str
) -> None:
    monkeypatch.setattr(corpus, "SMALL", 1)
    ids = encode(words, lambda: TEXTS, "mark").ids.tolist()
    (path,), (facts,) = cache.glob("*.ids"), cache.glob("*.json")
    whole = path.read_bytes()
    if damage == "flipped":
        path.write_bytes(whole[:-1] + b"\xff")
    elif damage == "short":
        path.write_bytes(whole[:-4])
    elif damage == "facts":
        facts.write_text('{"positions"')
    else:
        path.unlink()
    again = Counted()
    assert encode(words, again, "mark").ids.tolist() == ids and again.read == 2
    assert path.read_bytes() == whole


def test_nothing_is_left_half_written(words: Codec, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(corpus, "SMALL", 1)

    def broken() -> Blocks:
        yield TEXTS[0]  # type: ignore[misc]
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        encode(words, broken, "mark")
    assert not list(cache.iterdir())


def test_the_oldest_entries_go_first(words: Codec, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(corpus, "SMALL", 1)
    order: list[str] = []  # as they were made, oldest first
    monkeypatch.setattr(kept, "_used", lambda path: order.index(path.stem) if path.stem in order else 99)
    for number in range(3):
        size = 4 * len(encode(words, lambda: TEXTS, str(number)).ids)
        order += sorted({path.stem for path in cache.glob("*.json")} - set(order))
        monkeypatch.setenv("CHAINRULE_CACHE_LIMIT", str(2 * size))
    assert {path.stem for path in cache.glob("*.json")} == set(order[1:])
    assert {path.stem for path in cache.glob("*.ids")} == set(order[1:])


def test_a_cache_that_cannot_be_written_is_done_without(
    words: Codec, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(corpus, "SMALL", 1)
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("CHAINRULE_CACHE", str(tmp_path / "file" / "cache"))
    assert encode(words, lambda: TEXTS, "mark").sequences == 4


def test_what_killed_runs_left_is_swept_away(
    words: Codec, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(corpus, "SMALL", 1)
    cache.mkdir()
    left, fresh, foreign = (cache / name for name in (".x.ids.1234.partial", "young.ids", "notes.txt"))
    for path in (left, fresh, foreign):
        path.write_bytes(b"half")
    monkeypatch.setattr(kept, "_used", lambda path: 0.0 if path != fresh else float("inf"))
    encode(words, lambda: TEXTS, "mark")
    assert not left.exists() and fresh.exists() and foreign.exists()


FOREIGN = [[BOS, 99, EOS], [BOS, -1, EOS], [BOS, FIRST, FIRST], [FIRST, FIRST, EOS], []]


@pytest.mark.parametrize("ids", FOREIGN)
def test_an_entry_of_ids_outside_the_vocabulary_is_built_again(
    words: Codec, cache: Path, monkeypatch: pytest.MonkeyPatch, ids: list[int]
) -> None:
    monkeypatch.setattr(corpus, "SMALL", 1)
    expected = encode(words, lambda: TEXTS, "mark").ids.tolist()
    (path,), (facts,) = cache.glob("*.ids"), cache.glob("*.json")
    path.write_bytes(np.array(ids, np.int32).tobytes())
    values = json.loads(facts.read_text())
    facts.write_text(json.dumps({**values, "positions": len(ids), "checksum": kept.checksum(path)}))
    assert encode(words, lambda: TEXTS, "mark").ids.tolist() == expected


@pytest.mark.parametrize("value", ["2", 2.0, True, None, -1, [2]])
def test_an_entry_of_wrong_types_is_built_again(
    words: Codec, cache: Path, monkeypatch: pytest.MonkeyPatch, value: object
) -> None:
    monkeypatch.setattr(corpus, "SMALL", 1)
    encode(words, lambda: TEXTS, "mark")
    (facts,) = cache.glob("*.json")
    facts.write_text(json.dumps({**json.loads(facts.read_text()), "sequences": value}))
    again = Counted()
    assert encode(words, again, "mark").sequences == 4 and again.read == 2


def full(*_: object) -> int:
    raise OSError(errno.ENOSPC, "No space left on device")


def test_a_full_cache_is_done_without(words: Codec, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = encode(words, lambda: TEXTS)
    monkeypatch.setattr(corpus, "SMALL", 1)
    whole = kept.Writer.write
    monkeypatch.setattr(
        kept.Writer,
        "write",
        lambda self, ids: (full if self.file.name.endswith("partial") else whole)(self, ids),
    )
    found = encode(words, lambda: TEXTS, "mark")
    assert found.ids.tolist() == expected.ids.tolist() and found.sequences == 4 and not list(cache.iterdir())


def test_an_entry_that_cannot_be_completed_is_used_and_forgotten(
    words: Codec, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(corpus, "SMALL", 1)
    monkeypatch.setattr(kept, "write_text", full)
    assert encode(words, lambda: TEXTS, "mark").ids.tolist() == encode(words, lambda: TEXTS).ids.tolist()
    assert not list(cache.iterdir())


def test_no_room_anywhere_names_the_folder(
    words: Codec, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(corpus, "SMALL", 1)
    monkeypatch.setattr(kept.Writer, "write", full)
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    with pytest.raises(DataError, match=rf"{tmp_path} \(No space.*set TMPDIR"):
        encode(words, lambda: TEXTS, "mark")
