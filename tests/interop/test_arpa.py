"""ARPA files: round trips, odd symbols, and what is said about broken ones."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pytest

from chainrule.codecs.base import Texts
from chainrule.codecs.words import Words, WordsConfig
from chainrule.errors import DataError, ModelError
from chainrule.interop.arpa import NO_UNKNOWN, export_arpa, import_arpa
from chainrule.models.ngram import Ngram, NgramConfig

LINES = ["sun sun rain", "sun rain rain", "rain sun sun sun", "fog"]

SMALL = """\\data\\
ngram 1=4
ngram 2=2

\\1-grams:
-99\t<s>\t-0.3
-0.5\t</s>
-0.4\tsun\t-0.2
-0.6\train\t-0.1

\\2-grams:
-0.1\t<s> sun
-0.2\tsun rain

\\end\\
"""


def fitted(lines: list[str], closed: bool = False, **options: object) -> tuple[Ngram, Words]:
    texts = Texts.of(lines)
    codec = Words.learn(lambda: [texts], WordsConfig(closed=closed))
    config = NgramConfig(vocab_size=codec.size, suppressed=codec.suppressed, **options)  # type: ignore[arg-type]
    return Ngram.learn(config, codec.encode(texts).ids), codec


def scores(model: Ngram, codec: Words, lines: list[str]) -> np.ndarray:
    return model.score_ids(codec.encode(Texts.of(lines)).ids)


@pytest.mark.parametrize("closed", [True, False])
@pytest.mark.parametrize("smoothing", ["kneser-ney", "absolute", "witten-bell", "none"])
@pytest.mark.parametrize("order", [1, 2, 3])
def test_exported_and_imported_gives_the_same_numbers(
    order: int, smoothing: str, closed: bool, tmp_path: Path
) -> None:
    model, codec = fitted(LINES, closed, order=order, smoothing=smoothing)
    export_arpa(model, codec, tmp_path / "model.arpa.gz")
    back, words = import_arpa(tmp_path / "model.arpa.gz")
    tests = [*LINES, "rain fog snow sun", "fog fog"]
    np.testing.assert_allclose(scores(back, words, tests), scores(model, codec, tests), atol=1e-5)


def test_a_hand_written_file_scores_as_computed_by_hand(tmp_path: Path) -> None:
    path = tmp_path / "small.arpa"
    path.write_text(SMALL)
    model, codec = import_arpa(path)
    logs = scores(model, codec, ["sun rain"]) / np.log(10)
    np.testing.assert_allclose(logs, [0, -0.1, -0.2, -0.1 - 0.5], atol=1e-6)
    logs = scores(model, codec, ["snow sun"]) / np.log(10)
    np.testing.assert_allclose(logs, [0, -100.3, -0.4, -0.2 - 0.5], rtol=1e-6)
    assert model.notes == (NO_UNKNOWN,)


@pytest.mark.parametrize("unknown", ["-99", "-inf"])
def test_unknown_words_have_probability_zero_where_the_file_says_so(unknown: str, tmp_path: Path) -> None:
    path = tmp_path / "closed.arpa"
    path.write_text(SMALL.replace("1=4", "1=5").replace("-0.5\t</s>", f"-0.5\t</s>\n{unknown}\t<unk>"))
    model, codec = import_arpa(path)
    assert scores(model, codec, ["snow"])[1] == -np.inf and model.notes == ()


def test_beginnings_and_endings_that_were_pruned_away_change_nothing(tmp_path: Path) -> None:
    path = tmp_path / "holes.arpa"
    text = SMALL.replace("ngram 2=2\n", "ngram 2=2\nngram 3=1\n")
    path.write_text(text.replace("\n\\end", "\n\\3-grams:\n-0.05\train rain sun\n\n\\end"))
    model, codec = import_arpa(path)
    logs = scores(model, codec, ["rain rain sun"]) / np.log(10)
    np.testing.assert_allclose(logs, [0, -0.3 - 0.6, -0.1 - 0.6, -0.05, -0.2 - 0.5], atol=1e-6)


def test_add_k_says_why_it_cannot_be_exported(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="kneser-ney"):
        export_arpa(*fitted(LINES, smoothing="add-k"), tmp_path / "model.arpa")


def test_a_word_that_looks_special_is_refused_on_export(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="'</s>'"):
        export_arpa(*fitted(["a </s> b"]), tmp_path / "model.arpa")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("\\data\\", "data", "not an ARPA file"),
        ("ngram 2=2", "ngram 3=2", "expected 'ngram 2=COUNT'"),
        ("ngram 2=2", "ngram 2=3", "expected 3 or 4 columns"),
        ("ngram 2=2", "ngram 2=1", "more 2-grams than the 1 announced"),
        ("-0.2\tsun rain", "-0.2\tsun snow", "'snow' in a 2-gram is not among the 1-grams"),
        ("-0.2\tsun rain", "x\tsun rain", "line 13: expected numbers"),
        ("-0.6\train\t-0.1", "-0.6\tsun\t-0.1", "'sun' stands twice"),
        ("\n\\end\\\n", "", "cut off"),
        ("-0.2\tsun rain", "nan\tsun rain", "a logarithm of at most 0"),
        ("-0.4\tsun\t-0.2", "nan\tsun\t-0.2", "a logarithm of at most 0"),
        ("-0.4\tsun\t-0.2", "5\tsun\t-0.2", "a logarithm of at most 0"),
        ("-0.4\tsun\t-0.2", "-0.4\tsun\tnan", "a finite weight"),
        ("-0.4\tsun\t-0.2", "-0.4\tsun\tinf", "a finite weight"),
        ("-0.2\tsun rain", "-0.2\t<s> sun", "stands twice"),
        ("ngram 2=2", "ngram 2=99999999999999999999", "expected 'ngram 2=COUNT'"),
        ("ngram 2=2", "ngram 2=999999999999999", "more than memory holds"),
    ],
)
def test_a_broken_file_is_explained(old: str, new: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "broken.arpa"
    path.write_text(SMALL.replace(old, new))
    with pytest.raises(DataError, match=message):
        import_arpa(path)


def test_a_cut_off_gzip_file_is_explained(tmp_path: Path) -> None:
    path = tmp_path / "cut.arpa.gz"
    path.write_bytes(gzip.compress(SMALL.encode())[:-20])
    with pytest.raises(DataError, match="cannot be read"):
        import_arpa(path)


def test_a_binary_file_is_explained(tmp_path: Path) -> None:
    path = tmp_path / "model.bin"
    path.write_bytes(bytes(range(256)) * 10)
    with pytest.raises(DataError, match="ARPA"):
        import_arpa(path)


@pytest.mark.parametrize("name", ["characters", "events"])
def test_other_vocabularies_come_back_as_what_they_were(name: str, tmp_path: Path) -> None:
    from chainrule.codecs.base import UNIT
    from chainrule.codecs.registry import codec as codec_named

    kind = codec_named(name)
    texts = Texts.of([f"log in{UNIT}look{UNIT}buy", f"look{UNIT}log in", "\u00a0 tab\there"])
    codec = kind.learn(lambda: [texts], kind.Config())
    config = NgramConfig(vocab_size=codec.size, suppressed=codec.suppressed, order=3)
    model = Ngram.learn(config, codec.encode(texts).ids)
    export_arpa(model, codec, tmp_path / "model.arpa")
    back, vocab_size = import_arpa(tmp_path / "model.arpa", name)
    first, second = (m.score_ids(c.encode(texts).ids) for m, c in ((model, codec), (back, vocab_size)))
    np.testing.assert_allclose(second, first, atol=1e-5)


def test_words_are_not_taken_for_characters(tmp_path: Path) -> None:
    path = tmp_path / "small.arpa"
    path.write_text(SMALL)
    with pytest.raises(DataError, match="'sun' is more than one character"):
        import_arpa(path, "characters")


def test_capital_specials_and_a_byte_order_mark_are_understood(tmp_path: Path) -> None:
    plain, odd = tmp_path / "plain.arpa", tmp_path / "odd.arpa"
    plain.write_text(SMALL)
    odd.write_text("\ufeff" + SMALL.replace("<s>", "<S>").replace("</s>", "</S>"))
    (one, words), (other, same) = import_arpa(plain), import_arpa(odd)
    assert words.tokens(range(words.size)) == same.tokens(range(same.size))
    np.testing.assert_array_equal(scores(one, words, ["sun rain"]), scores(other, same, ["sun rain"]))


def test_two_words_that_stand_for_one_symbol_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "twice.arpa"
    path.write_text(SMALL.replace("rain", "\\u0073").replace("sun", "s"))
    assert import_arpa(path)[1].size == 7
    with pytest.raises(DataError, match="two of its words stand for 's'"):
        import_arpa(path, "events")


@pytest.mark.parametrize(
    ("old", "new"),
    [("-0.4\tsun", "0\tsun"), ("-0.2\tsun rain", "-0.2\tsun rain\n0\tsun sun")],
    ids=["1-grams", "2-grams"],
)
def test_probabilities_that_add_up_to_more_than_one_are_refused(old: str, new: str, tmp_path: Path) -> None:
    path = tmp_path / "certain.arpa"
    path.write_text(SMALL.replace("ngram 2=2", f"ngram 2={2 + new.count(chr(10))}").replace(old, new))
    with pytest.raises(DataError, match="more than one"):
        import_arpa(path)
