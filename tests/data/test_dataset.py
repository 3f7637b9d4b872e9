"""From a path to ids, and what the data are like."""

from __future__ import annotations

import gzip
import io
import shutil
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from chainrule.codecs.base import Texts
from chainrule.data import check as checking
from chainrule.data.check import Seen, examine, fit_zipf
from chainrule.data.dataset import encoded, open_data, prepare
from chainrule.errors import ConfigError, DataError
from chainrule.symbols import UNK

LINES = [f"the cat number {number} sat" for number in range(200)]


def file(folder: Path, lines: list[str], name: str = "a.txt") -> Path:
    path = folder / name
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def test_from_a_path_to_three_corpora(tmp_path: Path) -> None:
    ready = prepare(file(tmp_path, LINES))
    assert ready.valid is not None and ready.test is not None
    assert ready.codec.name == "words" and "words" in ready.data.why["text"]
    assert [part.examples for part in (ready.train, ready.valid, ready.test)] == [160, 20, 20]
    assert ready.train.main.symbols == 6 * 160
    assert ready.train.main.unknown == 0 and ready.valid.main.unknown == 20  # each number occurs once


def test_given_parts_are_left_whole(tmp_path: Path) -> None:
    train, valid, test = (file(tmp_path, LINES[:size], f"{size}.txt") for size in (100, 20, 30))
    ready = prepare(train, valid, test, codec="words", options={"vocab": "4"})
    assert ready.valid is not None and ready.test is not None
    assert [part.examples for part in (ready.train, ready.valid, ready.test)] == [100, 20, 30]
    assert UNK in ready.train.main.ids
    alone = prepare(train, valid, codec="words")
    assert alone.train.main.sequences == 100 and alone.test is None
    tested = prepare(train, test=test, codec="words")
    assert tested.valid is not None and tested.test is not None
    assert (tested.train.main.sequences, tested.valid.main.sequences, tested.test.main.sequences) == (
        90,
        10,
        30,
    )


def test_how_many_symbols_were_held_out_is_noted(tmp_path: Path) -> None:
    path = file(tmp_path, LINES)
    [told] = [note for note in prepare(path).notes if note.startswith("data:")]
    assert "10 % each" in told and "(120 and 120 symbols)" in told
    one, given = prepare(path, test=path), prepare(path, path)
    assert one.data.held == ("valid",) and "10 % for validation" in one.data.how
    assert given.data.held == () and "data: in parts as given" in given.notes


def test_a_compressed_file_gives_the_same_parts(tmp_path: Path) -> None:
    path = file(tmp_path, LINES)
    packed = tmp_path / "a.txt.gz"
    packed.write_bytes(gzip.compress(path.read_bytes()))
    plain, other = prepare(path), prepare(packed)
    assert plain.test is not None and other.test is not None
    np.testing.assert_array_equal(plain.test.main.ids, other.test.main.ids)


def test_a_column_of_numbers_is_one_series_divided_by_time(tmp_path: Path) -> None:
    ready = prepare(file(tmp_path, ["t"] + [str(number / 8) for number in range(1000)], "a.csv"))
    assert ready.codec.name == "numbers" and "position" in ready.data.how
    assert ready.valid is not None and ready.train.main.sequences == ready.valid.main.sequences == 1
    assert ready.codec.intervals(ready.train.main.ids[1:2])[1][0] < 10  # type: ignore[attr-defined]


def test_states_in_a_column_are_events(tmp_path: Path) -> None:
    ready = prepare(file(tmp_path, ["state", *["sunny", "rainy", "sunny", "very cloudy"] * 20], "a.csv"))
    assert ready.codec.name == "events" and ready.train.main.sequences == 1


def test_three_days_of_weather_work() -> None:
    ready = prepare(["sunny rainy sunny"])
    assert ready.train.main.symbols == 2 and ready.valid is not None and ready.test is not None


def test_a_single_symbol_works_and_says_what_is_missing() -> None:
    ready = prepare(["x"])
    assert ready.train.main.symbols == 2 and ready.valid is None and "too short" in ready.data.how


def test_bytes_read_anything(tmp_path: Path) -> None:
    path = tmp_path / "binary"
    path.write_bytes(bytes(range(256)) * 3)
    with pytest.raises(DataError, match="--codec bytes"):
        prepare(path)
    ready = prepare(path, codec="bytes")
    assert ready.train.main.symbols > 0


def test_standard_input_is_read_once_for_choice_and_training(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=io.BytesIO("\n".join(LINES).encode())))
    assert prepare("-").train.main.sequences == 160


def test_settings_are_checked_before_anything_is_read(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="Did you mean 'vocab'"):
        prepare(tmp_path / "missing.txt", codec="words", options={"vocabb": 3})


def test_the_fingerprint_follows_content_and_parts(tmp_path: Path) -> None:
    path, other = file(tmp_path, LINES), file(tmp_path, LINES[:9], "b.txt")
    assert open_data(path).fingerprint == open_data(path).fingerprint
    marks = {open_data(path).fingerprint, open_data(path, other).fingerprint, open_data(other).fingerprint}
    assert len(marks) == 3
    assert open_data(path, options={"stream": True}).fingerprint not in marks


def test_the_choice_can_be_asked_for_alone(tmp_path: Path) -> None:
    assert open_data(file(tmp_path, ["ACGT", "GGCA"])).roles["text"].codec == "characters"


def test_settings_that_were_chosen_are_used_unless_others_are_given(tmp_path: Path) -> None:
    path = file(tmp_path, ["Well, this is raw text.", "Is it? Yes, it is."])
    assert prepare(path).codec.config.values()["split"] == "simple"
    assert prepare(path, options={"split": "space"}).codec.config.values()["split"] == "space"


@pytest.mark.parametrize("stream", [False, True])
def test_blank_lines_are_counted_though_the_data_are_divided(tmp_path: Path, stream: bool) -> None:
    path = file(tmp_path, ["", *LINES, " ", ""])
    ready = prepare(path, codec="words", options={"stream": stream})
    assert ready.valid is not None
    assert ready.skipped == (0 if stream else 3)
    assert examine(ready.data, ready.codecs).parts["train"].skipped == ready.skipped


@pytest.mark.parametrize("options", [{}, {"group": "g"}, {"group": "g", "sort": "t"}])
@pytest.mark.parametrize("codec", ["events", "words"])
def test_empty_cells_are_counted(tmp_path: Path, codec: str, options: dict[str, str]) -> None:
    rows = [f"{'' if number % 10 == 0 else f'e{number % 7}'},{number % 20},{number}" for number in range(300)]
    path = file(tmp_path, ["event,g,t", *rows], "a.csv")
    assert prepare(path, codec=codec, options={"column": "event", **options}).skipped == 30


def test_a_check_counts_what_is_there(tmp_path: Path) -> None:
    train = file(tmp_path, ["a b", "", "a b", "a c d"])
    valid = file(tmp_path, ["a b", "a z"], "b.txt")
    ready = prepare(train, valid, codec="words")
    found = examine(ready.data, ready.codecs)
    part, held = found.parts["train"], found.parts["valid"]
    assert (part.sequences, part.symbols, part.skipped, part.duplicates) == (3, 10, 1, 1)
    assert part.lengths == ((2, 2), (4, 1)) and part.bytes == ready.train.main.bytes
    assert found.types == 4 and not found.sampled
    assert held.leaked == 1 and held.unknown == 1 and held.unknown_rate == 1 / 6
    np.testing.assert_array_equal(found.sample, ready.train.main.ids)


def test_the_length_of_a_sequence_in_parts_is_counted_once() -> None:
    ready = prepare(["a b c d e f g h"], ["a"], codec="words")
    whole = Texts.of(["a b c d e f g h"])
    blocks = list(whole.divided(0, 5))
    survey = checking._Survey(ready.codec)
    assert survey.part(lambda: blocks, None) == checking._Survey(ready.codec).part(lambda: [whole], None)


def test_zipf_finds_the_slope_it_was_given() -> None:
    ranks = np.arange(1, 2000)
    assert fit_zipf((1e7 / ranks).astype(np.int64)).slope == pytest.approx(-1, abs=0.01)
    assert fit_zipf(np.array([5])).points == ((1, 5),)


def test_duplicates_are_estimated_from_a_sample_when_there_are_too_many(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(checking, "SAMPLE", 1000)
    hashes = np.random.default_rng(0).integers(0, 2**64, 20_000, np.uint64, endpoint=False)
    seen, other = Seen(), Seen()
    for part in np.split(np.concatenate([hashes, hashes[:10_000]]), 6):
        seen.add(part)
    other.add(hashes[:5000])
    assert len(seen.values) <= 1000 and seen.shift > 0
    assert seen.duplicates == pytest.approx(10_000, rel=0.2)
    assert other.shared(seen) == pytest.approx(5000, rel=0.2)


def test_a_file_that_changes_before_it_is_encoded_leaves_nothing_in_the_cache(
    tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("chainrule.data.corpus.SMALL", 1)
    path = file(tmp_path, LINES)
    ready = prepare(path, codec="characters")
    shutil.rmtree(cache)
    data = open_data(path, codec="characters")
    assert data.fingerprint
    file(tmp_path, LINES[::-1] + LINES)
    with pytest.raises(DataError, match="changed while it was read: run again"):
        encoded(data, ready.codecs)
    assert not list(cache.iterdir())


def test_bytes_objects_that_are_no_text_are_taken_as_bytes() -> None:
    assert prepare([b"\xff\xfe binary \xff" * 9]).codec.name == "bytes"  # type: ignore[arg-type]
