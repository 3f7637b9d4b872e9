"""Which symbols get ids, and in what order."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from chainrule.codecs import scan
from chainrule.codecs.base import UNIT, Texts
from chainrule.codecs.characters import Characters
from chainrule.codecs.events import Events
from chainrule.codecs.vocabulary import Vocabulary, VocabularyConfig, escape, unescape
from chainrule.codecs.words import Words, WordsConfig
from chainrule.errors import CodecError
from chainrule.symbols import BOS, EOS, FIRST, MASK, PAD, UNK


def words(items: list[str], **options: object) -> Words:
    return Words.learn(lambda: [Texts.of(items)], WordsConfig.from_values(options))


def test_ids_follow_counts_then_bytes() -> None:
    assert words(["b a c a b a", "d c é"]).vocabulary.symbols == (b"a", b"b", b"c", b"d", "é".encode())


def test_the_limit_keeps_the_most_frequent() -> None:
    made = words(["c c c b b a a z"], vocab="3")
    assert made.vocabulary.symbols == (b"c", b"a", b"b")
    assert made.encode(Texts.of(["z b"])).ids.tolist() == [BOS, UNK, FIRST + 2, EOS]


def test_ten_k_is_ten_thousand() -> None:
    assert WordsConfig.from_values({"vocab": "10k"}).vocab == 10_000


def test_rare_symbols_are_left_out() -> None:
    assert words(["a a b"], min_count=2).vocabulary.symbols == (b"a",)
    assert Characters.learn(
        lambda: [Texts.of(["aab"])], VocabularyConfig(min_count=2)
    ).vocabulary.symbols == (b"a",)


def test_a_literal_unk_is_the_unknown_symbol_and_not_counted_as_unknown() -> None:
    made = words(["a <unk> b"])
    encoded = made.encode(Texts.of(["a <unk> c"]))
    assert encoded.ids.tolist() == [BOS, FIRST, UNK, UNK, EOS] and encoded.unknown == 1
    assert made.vocabulary.symbols == (b"a", b"b")


def test_other_special_names_are_ordinary_words() -> None:
    made = words(["<s> </s> <pad> <mask>"])
    ids = made.encode(Texts.of(["<s> </s> <pad> <mask>"])).ids
    assert (ids[1:-1] >= FIRST).all() and made.decode(ids) == "<s> </s> <pad> <mask>"


@pytest.mark.parametrize(
    ("text", "options", "suppressed"),
    [
        ("a b b", {}, False),
        ("a b b", {"closed": True}, True),
        ("a b <unk>", {"closed": True}, False),
        ("a b b", {"closed": True, "vocab": 1}, False),
        ("a b b", {"closed": True, "min_count": 2}, False),
        ("a b b", {"closed": True, "vocab": 2}, True),
    ],
)
def test_unk_is_suppressed_only_when_closed_and_never_seen(
    text: str, options: dict, suppressed: bool
) -> None:
    assert words([text], **options).suppressed == ((PAD, BOS, UNK, MASK) if suppressed else (PAD, BOS, MASK))


def test_runs_of_any_ascii_space_separate_words_and_others_do_not() -> None:
    made = words(["a  b\t c\n\x0b d\u00a0e"])
    assert {symbol.decode() for symbol in made.vocabulary.symbols} == {"a", "b", "c", "d\u00a0e"}
    assert made.decode(made.encode(Texts.of([" a  c "])).ids) == "a c"


def test_nul_bytes_tell_words_apart() -> None:
    made = words(["a a\0 \0a"])
    assert len(made.vocabulary.symbols) == 3
    assert made.decode(made.encode(Texts.of(["a\0 \0a a"])).ids) == "a\0 \0a a"


def test_any_symbol_survives_its_file(tmp_path: Path) -> None:
    strange = ("\n", "\r", "\\", "\\n", "\0", "\u2028", "é", " ", "\\x41", "<unk>")
    kept = Vocabulary((*(symbol.encode() for symbol in strange), b"\xff\xfe", b"a\xe2"))
    kept.save(tmp_path)
    assert Vocabulary.load(tmp_path) == kept
    assert all(unescape(escape(symbol).encode()) == symbol for symbol in kept.symbols)


def test_a_cut_vocabulary_file_is_refused(tmp_path: Path) -> None:
    words(["a b c"]).save(tmp_path)
    (tmp_path / "vocabulary.txt").write_text("a\nb\n")
    with pytest.raises(CodecError, match="2 symbols where 3"):
        Words.load(tmp_path, WordsConfig())


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(CodecError, match=r"vocabulary\.json"):
        Words.load(tmp_path, WordsConfig())


def test_counting_agrees_with_python_over_blocks_threads_and_growth(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CHAINRULE_THREADS", "3")
    numbers = np.random.default_rng(0).zipf(1.3, 60_000) % 20_000
    lines = [" ".join(f"w{number}" for number in row) for row in numbers.reshape(-1, 20)]
    blocks = [Texts.of(lines[:1000]), Texts.of([]), Texts.of([" ".join(lines[1000:])])]
    found = scan.count_words(lambda: blocks, Words.separators)
    counted: dict[bytes, int] = {}
    for word in " ".join(lines).encode().split():
        counted[word] = counted.get(word, 0) + 1
    assert dict(zip(found.words, found.counts.tolist(), strict=True)) == counted


def test_threads_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    texts = Texts.of(["x y " * 60_000, "z", "", "y x z " * 30_000])
    results = []
    for count in ("1", "4"):
        monkeypatch.setenv("CHAINRULE_THREADS", count)
        for kind, config in ((Words, WordsConfig()), (Characters, VocabularyConfig())):
            made = kind.learn(lambda: [texts], config)
            results.append((made.vocabulary.symbols, made.encode(texts).ids.tolist()))
    assert results[0] == results[2] and results[1] == results[3]


def test_parts_keep_every_byte_and_cut_only_at_separators() -> None:
    texts = Texts.of(["ab " * 100_000, "c", "éé" * 70_000])
    parts = texts.parts(4, Words.separators)
    assert len(parts) > 2
    assert b"".join(b"".join(part) for part in parts) == b"".join(texts)
    assert all(first.closes == second.opens for first, second in pairwise(parts))
    for part in parts[1:]:
        assert part.opens or next(iter(part))[:1] in (b" ", b"")


def test_events_may_contain_spaces_and_empty_ones_are_skipped() -> None:
    made = Events.learn(lambda: [Texts.of([f"log in{UNIT}{UNIT}buy"])], VocabularyConfig())
    ids = made.encode(Texts.of([f"buy{UNIT}log in"])).ids
    assert made.tokens(ids) == ["<s>", "buy", "log in", "</s>"]


def test_simple_splitting_is_as_documented() -> None:
    made = words(["Don't stop (yet)!"], split="simple")
    ids = made.encode(Texts.of(["Don't stop (yet)!"])).ids
    assert " ".join(made.tokens(ids[1:-1])) == "Don ￭'￭ t stop (￭ yet ￭) ￭!"


def test_characters_refuse_what_is_no_utf8() -> None:
    with pytest.raises(CodecError, match=r"0xff.*--codec bytes"):
        Characters.learn(lambda: [Texts.of([b"ab\xff"])], VocabularyConfig())
    for wrong in (b"\xc0\x80", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"\xe2\x82"):
        with pytest.raises(CodecError):
            Characters.learn(lambda wrong=wrong: [Texts.of([wrong])], VocabularyConfig())  # type: ignore[misc]
