"""Frames: standardised by the training data, known by their numbers, and refused where they are none."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from chainrule.codecs.base import UNIT, CodecConfig, Texts
from chainrule.codecs.frames import FAR, Frames, told
from chainrule.errors import CodecError
from chainrule.symbols import BOS, EOS, FIRST, UNK


def texts(*sequences: np.ndarray) -> Texts:
    return Texts.of([UNIT.join(told(frame) for frame in one) for one in sequences])


def learnt(*sequences: np.ndarray) -> Frames:
    return Frames.learn(lambda: [texts(*sequences)], CodecConfig())


DRAWN = np.random.default_rng(1).normal(5, 3, (6, 10, 2))
DRAWN[2, 3, 1] = DRAWN[4, :, 1] = np.nan
DATA = [one[: 4 + at] for at, one in enumerate(DRAWN)]


def test_mean_and_deviation_are_those_of_all_numbers_that_are_there() -> None:
    codec, flat = learnt(*DATA), np.concatenate(DATA)
    assert np.allclose(codec.moments.mean, np.nanmean(flat, 0)) and codec.features == 2
    assert np.allclose(codec.moments.scale, np.nanstd(flat, 0))
    assert any("9 numbers of frames are missing" in note for note in codec.notes)


def test_frames_have_ids_while_data_are_read_and_none_in_the_vocabulary() -> None:
    codec, given = learnt(*DATA), texts(*DATA)
    assert codec.size == FIRST
    assert codec.encode(given).ids.tolist()[:6] == [BOS, UNK, UNK, UNK, UNK, EOS]
    known = codec.knowing(lambda: [given])
    ids = known.encode(given).ids
    flat = np.concatenate(DATA)
    assert known.size == FIRST + len(flat) and UNK not in ids
    found = known.values(known.spellings(2)[ids[ids >= FIRST]])
    assert np.allclose(found, flat, rtol=1e-5, equal_nan=True)
    assert not known.spellings(2)[:FIRST].any()
    assert codec.size == FIRST, "the codec itself has changed"


def test_the_same_frame_has_one_id_and_an_unknown_one_none() -> None:
    codec = learnt(np.array([[1.0, 2], [3, 4], [1, 2]])).knowing(
        lambda: [texts(np.array([[1.0, 2], [3, 4]]))]
    )
    one, two, again = codec.encode(texts(np.array([[1.0, 2], [3, 4], [1, 2]]))).ids[1:-1]
    assert one == again != two
    assert codec.encode(texts(np.array([[9.0, 9]]))).ids.tolist() == [BOS, UNK, EOS]


def test_a_saved_codec_standardises_as_before(tmp_path: Path) -> None:
    codec = learnt(*DATA)
    codec.save(tmp_path)
    again = Frames.load(tmp_path, CodecConfig())
    assert again.fingerprint() == codec.fingerprint() and again.notes == codec.notes
    text = next(iter(texts(*DATA)))
    assert np.array_equal(again.standardised(text), codec.standardised(text))
    (tmp_path / "frames.json").write_text('{"count": [1], "mean": [1, 2], "squares": [1], "frames": 1}')
    with pytest.raises(CodecError, match="damaged"):
        Frames.load(tmp_path, CodecConfig())


def test_a_column_that_never_changes_and_one_far_out_stay_finite() -> None:
    codec = learnt(np.array([[7.0, 0], [7, 1]]))
    found = codec.standardised(b"7 1e20")
    assert found.tolist() == [[0.0, FAR]]
    assert any("1 columns never change" in note for note in codec.notes)


def test_typed_frames_are_read_and_shown_as_they_are_typed() -> None:
    codec = learnt(*DATA)
    assert codec.from_typed("1, 2; 3 nan;") == f"1 2{UNIT}3 nan"
    assert codec.to_shown(f"1 2{UNIT}3 nan") == "1 2; 3 nan"
    assert codec.symbols_of(f"1 2{UNIT}3 nan") == ["1 2", "3 nan"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"1 2\x1f3", r"Frame 2 of a sequence has 1 numbers, and 2 are wanted"),
        (b"1 x", r"'x' is no number"),
        (b"1 inf", r"'inf' is no number up to 1e\+30"),
    ],
)
def test_what_is_no_frame_is_refused(text: bytes, message: str) -> None:
    with pytest.raises(CodecError, match=message):
        learnt(*DATA).encode(Texts.of([text]))


def test_nothing_to_learn_from_is_refused() -> None:
    with pytest.raises(CodecError, match="not a single frame"):
        Frames.learn(lambda: [Texts.of([])], CodecConfig())
