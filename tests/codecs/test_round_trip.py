"""What every codec promises: it gives back what it was given."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from chainrule.codecs import codec, codecs, subwords
from chainrule.codecs.base import UNIT, Codec, Texts
from chainrule.errors import CodecError, ConfigError
from chainrule.symbols import BOS, EOS, FIRST, MASK, PAD, SPECIALS, UNK

SENTENCES = ["the cat sat on the mat", "the dog sat", "a cat, a dog — and “naïve” Zoë!", "1 2 3"]
SAMPLES = {
    "bytes": SENTENCES,
    "characters": SENTENCES,
    "events": ["log in", f"log in{UNIT}buy{UNIT}log out", f"buy{UNIT}two\nlines"],
    "tags": ["B-PER I-PER O", "NOUN", "zwölf"],
    "label-sets": ["good", "so so", "a.b"],
    "labels": ["good", "not so good", "two\nlines, and more"],
    "numbers": ["1 2.5 -3", "4 4 4 1e3"],
    "subwords": SENTENCES,
    "values": ["1.5", "-3", "0.25"],
    "words": SENTENCES,
}


def learnt(name: str, items: list[str] | list[bytes], **options: object) -> Codec:
    kind = codec(name)
    return kind.learn(lambda: [Texts.of(items)], kind.Config.from_values(options))


def sequences(ids: np.ndarray) -> list[np.ndarray]:
    return np.split(ids, np.flatnonzero(ids == BOS)[1:])


def test_every_codec_that_can_be_learnt_is_sampled_here() -> None:
    others = ["audio", "frames", "images", "huggingface"]  # in files of their own
    assert sorted([*SAMPLES, *others]) == codecs()


@pytest.mark.parametrize("name", sorted(SAMPLES))
def test_ids_are_framed_by_bos_and_eos(name: str) -> None:
    made = learnt(name, SAMPLES[name])
    ids = made.encode(Texts.of(SAMPLES[name])).ids
    assert ids.dtype == np.int32
    parts = sequences(ids)
    assert len(parts) == len(SAMPLES[name])
    for part in parts:
        assert part[0] == BOS and part[-1] == EOS
        assert ((part[1:-1] >= FIRST) & (part[1:-1] < made.size)).all()


@pytest.mark.parametrize("name", sorted(SAMPLES))
def test_saved_and_loaded_gives_the_same_ids(name: str, tmp_path: Path) -> None:
    made = learnt(name, SAMPLES[name])
    made.save(tmp_path)
    again = type(made).load(tmp_path, made.config)
    texts = Texts.of(SAMPLES[name])
    assert (again.encode(texts).ids == made.encode(texts).ids).all()
    assert (again.size, again.suppressed, again.fingerprint()) == (
        made.size,
        made.suppressed,
        made.fingerprint(),
    )
    assert again.tokens(range(again.size)) == made.tokens(range(made.size))


@pytest.mark.parametrize(
    "name", sorted(SAMPLES.keys() - {"label-sets", "labels", "values"})
)  # an answer is never cut
def test_parts_of_a_sequence_encode_like_the_whole(name: str) -> None:
    made = learnt(name, SAMPLES[name])
    separator = UNIT if name in ("events", "numbers") else " "
    text = separator.join(SAMPLES[name])
    texts = Texts.of([text, text])
    place = text.encode().index(separator.encode(), 3)
    left, right = texts.divided(1, len(text.encode()) + place)
    parts = [made.encode(part).ids for part in (left, right)]
    assert np.concatenate(parts).tolist() == made.encode(texts).ids.tolist()
    assert left.bytes + right.bytes == texts.bytes and left.sequences + right.sequences == 2


@pytest.mark.parametrize("name", sorted(SAMPLES))
def test_special_ids_say_nothing_and_have_names(name: str) -> None:
    made = learnt(name, SAMPLES[name])
    assert made.decode([PAD, BOS, EOS, MASK]) == ""
    assert made.tokens(range(FIRST)) == list(SPECIALS)
    assert {PAD, BOS, MASK} <= set(made.suppressed) and EOS not in made.suppressed
    with pytest.raises(CodecError, match=f"no id {made.size}"):
        made.tokens([made.size])


@pytest.mark.parametrize("name", sorted(SAMPLES))
def test_no_sequences_give_no_ids(name: str) -> None:
    assert len(learnt(name, SAMPLES[name]).encode(Texts.of([])).ids) == 0


def test_a_misspelt_codec_gets_a_suggestion() -> None:
    with pytest.raises(ConfigError, match="Did you mean 'words'"):
        codec("wrods")


@given(st.lists(st.binary(max_size=40), min_size=1))
def test_any_bytes_come_back(items: list[bytes]) -> None:
    made = learnt("bytes", items)
    found = sequences(made.encode(Texts.of(items)).ids)
    assert [made.decode_bytes(ids) for ids in found] == items  # type: ignore[attr-defined]


@given(st.lists(st.text(max_size=30), min_size=1))
def test_any_characters_come_back(items: list[str]) -> None:
    made = learnt("characters", items)
    assert [made.decode(ids) for ids in sequences(made.encode(Texts.of(items)).ids)] == items


WORD = st.text(st.characters(exclude_characters=" \t\n\r\v\f", codec="utf-8"), min_size=1, max_size=8)


@given(st.lists(st.lists(WORD).map(" ".join), min_size=1))
def test_any_words_come_back(items: list[str]) -> None:
    made = learnt("words", items)
    assert [made.decode(ids) for ids in sequences(made.encode(Texts.of(items)).ids)] == items


MARKS = [*"ab.,'￭#“é·<>、", "<unk>"]
PIECE = st.lists(st.sampled_from(MARKS), min_size=1, max_size=6).map("".join)


@given(st.lists(st.lists(PIECE).map(" ".join), min_size=1))
def test_the_simple_tokeniser_can_be_undone(items: list[str]) -> None:
    made = learnt("words", items, split="simple")
    assert [made.decode(ids) for ids in sequences(made.encode(Texts.of(items)).ids)] == items


def test_joiners_are_in_pieces_and_are_not_shown() -> None:
    made = learnt("words", ["(so) what? ￭"], split="simple")
    ids = made.encode(Texts.of(["(so) what? ￭"])).ids[1:-1].tolist()
    assert made.tokens(ids) == ["(￭", "so", "￭)", "what", "￭?", "#￭#"]
    assert [made.shown(one) for one in ids] == ["(", "so", ")", "what", "?", "￭"]
    assert made.shown(UNK) == "<unk>"


def test_what_is_shown_is_the_piece_where_nothing_is_to_be_hidden() -> None:
    for name in ("words", "characters", "bytes", "events"):
        made = learnt(name, ["a ￭. b"])
        ids = made.encode(Texts.of(["a ￭. b"])).ids.tolist()
        assert [made.shown(one) for one in ids] == made.tokens(ids)


EVENT = st.text(st.characters(exclude_characters=UNIT, codec="utf-8"), min_size=1, max_size=8)


@given(st.lists(st.lists(EVENT).map(UNIT.join), min_size=1))
def test_any_events_come_back(items: list[str]) -> None:
    made = learnt("events", items)
    assert [made.decode(ids) for ids in sequences(made.encode(Texts.of(items)).ids)] == items


@pytest.mark.parametrize("kind", ["bpe", "unigram"])
def test_any_string_comes_back_from_subwords(kind: str) -> None:
    made = learnt("subwords", SENTENCES * 3, kind=kind, vocab=300)

    @settings(max_examples=50)
    @given(st.text(max_size=40))
    def comes_back(text: str) -> None:
        encoded = made.encode(Texts.of([text]))
        assert made.decode(encoded.ids) == text and encoded.unknown == 0

    comes_back()


@pytest.mark.parametrize("kind", ["bpe", "unigram"])
def test_subwords_are_learnt_the_same_every_time(kind: str) -> None:
    texts = [" ".join(f"w{i * j % 97}x{j}" for j in range(20)) for i in range(50)]
    assert len({learnt("subwords", texts, kind=kind, vocab=400).fingerprint() for _ in range(3)}) == 1


@example([5e-324], 1, "uniform")
@given(
    st.lists(st.floats(-1e9, 1e9), min_size=1, max_size=50),
    st.integers(1, 9),
    st.sampled_from(["quantile", "uniform"]),
)
def test_a_decoded_number_falls_into_its_own_bin(values: list[float], bins: int, how: str) -> None:
    made = learnt("numbers", [" ".join(map(repr, values))], bins=bins, how=how)
    ids = made.encode(Texts.of([" ".join(map(repr, values))])).ids
    assert made.below <= FIRST + bins + 2  # what lies far out has bins of its own
    assert made.encode(Texts.of([made.decode(ids)])).ids.tolist() == ids.tolist()
    low, value, high = made.intervals(ids[1:-1])  # type: ignore[attr-defined]
    assert (low <= value).all() and (value <= high).all()
    assert (low <= values).all() and (values <= high).all()


def test_unknown_symbols_become_unk() -> None:
    for name, decoded in (("words", "the <unk> sat"), ("characters", "t\ufffd"), ("events", "<unk>")):
        made = learnt(name, ["the cat sat"])
        encoded = made.encode(Texts.of([{"words": "the dog sat", "characters": "tz", "events": "z"}[name]]))
        assert encoded.unknown == 1 and UNK in encoded.ids
        assert made.decode(encoded.ids) == decoded


@pytest.mark.parametrize("run", ["abcdefg1", "_-", "狗猫鳥"])
def test_a_long_run_without_spaces_is_cut_and_comes_back_exactly(run: str) -> None:
    text = "some words before, " + run * 1000 + " and after " + "x" * subwords.LONG
    parts = subwords.cut(text)
    assert "".join(parts) == text and len(parts) > 3
    assert max(len(word) for part in parts for word in part.split()) <= subwords.LONG
    made = learnt("subwords", [text], vocab=300)
    encoded = made.encode(Texts.of([text, "another", text]))
    ends = np.flatnonzero(encoded.ids == EOS)
    assert len(ends) == 3 and np.count_nonzero(encoded.ids == BOS) == 3
    assert made.decode(encoded.ids[: ends[0]]) == made.decode(encoded.ids[ends[1] :]) == text


def test_little_is_learnt_from_long_runs_and_everything_from_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(subwords, "LESSONS", 10 * subwords.LONG)
    line = "a " * (subwords.LONG // 2)
    lessons = list(subwords._lessons([Texts.of(["x" * 100_000, line, line])]))
    assert lessons[-2:] == [line, line] and len(lessons) <= 10 + 3


def test_text_of_ordinary_words_is_not_cut() -> None:
    text = "ordinary words, " * 1000
    assert subwords.cut(text) == [text] and subwords.cut("") == [""]
