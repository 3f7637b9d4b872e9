"""Numbers as bins, and which codec suits which data."""

from __future__ import annotations

import numpy as np
import pytest

from chainrule.codecs.base import UNIT, Texts
from chainrule.codecs.choose import choose
from chainrule.codecs.numbers import Numbers, NumbersConfig
from chainrule.errors import CodecError
from chainrule.symbols import BOS, FIRST, UNK

OTHERS = 3  # below, above, missing


def numbers(text: str, **options: object) -> Numbers:
    return Numbers.learn(lambda: [Texts.of([text])], NumbersConfig.from_values(options))


def test_few_different_values_each_have_their_own_bin() -> None:
    made = numbers("1 2.5 -3 1 1")
    assert made.size == FIRST + 3 + OTHERS
    assert made.decode(made.encode(Texts.of(["-3 2.5 1"])).ids) == UNIT.join(["-3", "2.5", "1"])


def test_quantile_bins_hold_equally_many() -> None:
    values = np.random.default_rng(0).exponential(size=1000)
    made = numbers(" ".join(map(str, values)), bins=10)
    counts = np.bincount(made.encode(Texts.of([" ".join(map(str, values))])).ids[1:-1] - FIRST)
    assert counts[:9].min() >= 98 and counts[:9].max() <= 102
    assert len(counts) == 11 and counts[9:].sum() == pytest.approx(
        100, abs=2
    )  # the far end is a bin of its own


def test_values_far_out_are_not_in_one_bin_with_ordinary_ones() -> None:
    values = [*np.random.default_rng(0).normal(size=1000).tolist(), 50.0]
    made = numbers(" ".join(map(str, values)), bins=8)
    ids = made.encode(Texts.of([" ".join(map(str, values))])).ids[1:-1]
    assert np.count_nonzero(ids == ids[-1]) < 30


def test_uniform_bins_are_equally_wide() -> None:
    made = numbers("0 1 10", bins=5, how="uniform")
    low, value, high = made.intervals(range(FIRST, made.below))
    assert (
        low.tolist() == [0, 2, 4, 6, 8]
        and high.tolist() == [2, 4, 6, 8, 10]
        and value.tolist() == [1, 3, 5, 7, 9]
    )


def test_values_beyond_the_seen_range_are_symbols_that_no_model_has_seen() -> None:
    made = numbers("0 1 2 3", bins=2, how="uniform")
    ids = made.encode(Texts.of([f"-0.1{UNIT}0{UNIT}3{UNIT}3.1"])).ids
    assert ids[1:-1].tolist() == [made.below, FIRST, FIRST + 1, made.above]
    assert made.encode(Texts.of([made.decode(ids)])).ids.tolist() == ids.tolist()
    low, _, high = made.intervals([made.below, made.above])
    assert (low.tolist(), high.tolist()) == ([-np.inf, 3.0], [0.0, np.inf])


@pytest.mark.parametrize(
    "text", ["1 nan 3", f"1{UNIT}{UNIT}3", f"1{UNIT}{UNIT}3{UNIT}", "1 NA 3", "1 Null 3"]
)
def test_a_missing_value_keeps_its_place(text: str) -> None:
    made = numbers(text)
    ids = made.encode(Texts.of([text])).ids[1:-1]
    assert ids.tolist() == [FIRST, made.gap, FIRST + 1]
    assert made.decode(ids) == UNIT.join(["1", "nan", "3"])
    assert np.isnan(made.intervals([made.gap])).all()


def test_texts_are_generated_without_gaps_and_values_nobody_has_seen() -> None:
    made = numbers("1 2 3")
    assert set(made.unwritten) == {UNK, made.below, made.above, made.gap}


def test_special_ids_have_no_interval() -> None:
    assert np.isnan(numbers("1 2").intervals([BOS])).all()


def test_scaled_values_have_mean_zero_and_deviation_one() -> None:
    made = numbers("1 2 3 4")
    scaled = made.scaled(made.encode(Texts.of(["1 2 3 4"])).ids[1:-1])
    assert scaled.mean() == pytest.approx(0) and scaled.std() == pytest.approx(1)


@pytest.mark.parametrize("word", ["cloudy", "inf", "1,5", "1e300"])
def test_what_is_no_number_is_named(word: str) -> None:
    with pytest.raises(CodecError, match=f"'{word}' is no number"):
        numbers(f"1 2 {word}")


def test_no_number_at_all_is_said() -> None:
    with pytest.raises(CodecError, match="no number"):
        numbers(" ")


@pytest.mark.parametrize(
    ("items", "table", "name"),
    [
        (["the cat sat on the mat", "the dog"], False, "words"),
        (["ACGTTGCA", "GGATTACA"], False, "characters"),
        (["我喜欢猫和狗", "今天天气很好"], False, "characters"),
        ([" ".join(f"{number / 7:.3f}" for number in range(99))], False, "numbers"),
        ([str(number) for number in range(50)], True, "numbers"),
        (["sunny", "rainy", "sunny", "cloudy"] * 5, True, "events"),
        (["a film to see again", "a film to forget"] * 5, True, "words"),
        ([f"log in{UNIT}buy"], False, "events"),
        (["1 0 1 1 0"], False, "words"),
        ([b"\xff\xfe\x00binary\x80"], False, "bytes"),
        ([" ".join(f"{number:x}{number}y" for number in range(30_000))], False, "subwords"),
    ],
)
def test_the_codec_suits_the_data(items: list[str], table: bool, name: str) -> None:
    chosen = choose(Texts.of(items), table=table)
    assert chosen.name == name and chosen.reason and not chosen.settings


def test_a_stray_value_among_numbers_does_not_change_the_codec_and_is_named() -> None:
    cells = [str(number) for number in range(1000)] + ["wet"]
    for chosen in (choose(Texts.of(cells), table=True), choose(Texts.of([" ".join(cells)]))):
        assert chosen.name == "numbers" and "1 that are none" in chosen.reason
    with pytest.raises(CodecError, match=r"'wet' is no number.*commas or white space.*--codec events"):
        numbers(" ".join(cells))


def test_cells_count_as_they_are_and_not_by_their_words() -> None:
    missing = ["not known to anybody here"] * 8
    assert choose(Texts.of([*map(str, range(92)), *missing]), table=True).name == "numbers"
    assert choose(Texts.of([*map(str, range(80)), *missing, *missing]), table=True).name != "numbers"


RAW = [
    ["Ein kleines Mädchen klettert in ein Spielhaus aus Holz.", "Zwei Männer stehen am Herd."],
    ["Before we proceed any further, hear me speak.", "Speak, speak."],
    ['he said "so what" (and left)', "she did not"],
]
TOKENISED = [
    ["mr. vinken is chairman of <unk> n.v. the dutch group", "he 's with corp. inc. and u.s. firms ..."],
    ["it 's a charming , funny film .", "( but ) not `` great '' , is it ?"],
]


@pytest.mark.parametrize("items", RAW)
def test_attached_punctuation_is_split_off_and_the_reason_says_so(items: list[str]) -> None:
    chosen = choose(Texts.of(items))
    assert (chosen.name, chosen.settings) == ("words", {"split": "simple"}) and "split off" in chosen.reason


@pytest.mark.parametrize("items", TOKENISED)
def test_tokenised_text_is_taken_as_it_is(items: list[str]) -> None:
    chosen = choose(Texts.of(items))
    assert (chosen.name, chosen.settings) == ("words", {})
