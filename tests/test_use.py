"""A model in use: what is typed, offered, written and scored one by one."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

from chainrule.bundle import Bundle
from chainrule.codecs.base import Texts
from chainrule.codecs.registry import codec as codec_class
from chainrule.continuation import shown, typed
from chainrule.errors import ConfigError
from chainrule.judge.score import Score
from chainrule.models.ngram import Ngram, NgramConfig
from fitted import LINES, fitted


@pytest.fixture(scope="module")
def words() -> Bundle:
    return fitted()


events = some.lists(
    some.text(some.characters(exclude_characters="\x1f", exclude_categories=["Cs"]), min_size=1), min_size=1
)


@settings(max_examples=200, deadline=None)
@given(events)
def test_events_of_any_name_are_read_back_as_they_are_shown(names: list[str]) -> None:
    codec = EVENTS.codec
    assert typed(codec, shown(codec, "\x1f".join(names))) == "\x1f".join(names)


STRANGE = ["/home", "/search?q=a,b", ' a"b ', '"', ",", "log in"]
EVENTS = fitted("events", lines=["\x1f".join(STRANGE), "\x1f".join(STRANGE[::-1])] * 4)


@pytest.mark.parametrize("seed", range(5))
def test_generated_events_can_be_fed_back(seed: int) -> None:
    prompt = '/home, "/search?q=a,b"'
    text = EVENTS.generate(prompt, 20, seed=seed)
    names = EVENTS.codec.pieces(EVENTS.prompt_ids(text)[1:])
    assert names[:2] == STRANGE[:2] and set(names) <= set(STRANGE)
    assert EVENTS.generate(text, 0) == text


def test_a_quote_that_nobody_closes_is_a_letter() -> None:
    assert typed(EVENTS.codec, '"a, b ,"c" d') == '"a\x1fb\x1f"c" d'
    assert typed(EVENTS.codec, "a,") == "a\x1f"


@pytest.mark.parametrize("prompt", ["log in", "log in,", "log in, "])
def test_a_comma_is_not_said_twice(prompt: str) -> None:
    found = [prompt + one.text for one in EVENTS.complete(prompt).next if not one.ends]
    assert all(text.startswith("log in, ") and ", ," not in text for text in found) and found


@pytest.mark.parametrize("name", ["words", "characters"])
def test_the_unknown_is_spoken_only_when_asked_for(name: str) -> None:
    kind = codec_class(name)
    codec = kind.learn(lambda: [Texts.of(LINES)], kind.Config.from_values({"min_count": 4}))
    config = NgramConfig(alphabet=codec.size, silent=codec.silent, order=2)
    bundle = Bundle(codec, Ngram.learn(config, codec.encode(Texts.of(LINES)).ids))
    for options in ({"temperature": 0.0}, {"seed": 3}, {"beam": 4}):
        assert not {"<unk>", "\ufffd"} & set(bundle.generate("", 20, **options).split())
    offered = bundle.complete("", k=20)
    assert not any("<unk>" in one.symbols for one in (*offered.next, *offered.continuations))
    assert any("<unk>" in one.symbols for one in bundle.complete("", k=20, unknown=True).next)


def test_probabilities_offered_are_the_models_own() -> None:
    bundle = fitted()
    every = {one.symbols: one.probability for one in bundle.complete("the", 99, unknown=True).next}
    known = {one.symbols: one.probability for one in bundle.complete("the", 99).next}
    assert known == {symbols: chance for symbols, chance in every.items() if symbols != ("<unk>",)}


def test_a_half_typed_word_is_finished_by_what_comes_before(words: Bundle) -> None:
    found = words.complete("what is the t")
    assert {one.text for one in found.words} == {"ime", "oday", "he"} and not found.next
    assert found.words[0].text == "ime"
    assert found.words[0].probability == pytest.approx(
        2 ** words.score("what is the time").pieces[3].log2prob, rel=1e-4
    )
    assert all(one.text.startswith(("ime", "oday", "he")) for one in found.continuations)


def test_a_known_word_is_followed_and_finished() -> None:
    bundle = fitted(lines=["a car drives", "a cart stands"] * 3)
    found = bundle.complete("a car")
    assert [one.text for one in found.words] == ["t"] and " drives" in {one.text for one in found.next}
    assert fitted(lines=["a car drives"] * 3).complete("a c ").words == ()
    assert bundle.complete("a zzz").words == () and bundle.complete("a zzz").next


def test_the_prompt_alone_is_no_continuation(words: Bundle) -> None:
    assert all(one.text for one in words.complete("what is the time", 5).continuations)


def test_a_beam_finds_different_texts_with_their_probability(words: Bundle) -> None:
    found = words.search("what is", beam=6, count=3)
    assert len({one.text for one in found}) == 3
    assert found[0].text == words.generate("what is", beam=6)
    prompt = sum(one.log2prob for one in words.score("what is").pieces[:2])
    assert found[0].log2prob == pytest.approx(words.score(found[0].text).log2prob - prompt, rel=1e-4)


def test_a_list_is_not_one_text_nor_a_text_a_list(words: Bundle) -> None:
    with pytest.raises(ConfigError, match="score_texts"):
        words.score(["a", "b"])  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match="score"):
        words.score_texts("a b")


def test_a_model_says_what_it_is(words: Bundle) -> None:
    assert repr(words) == f"<Bundle ngram order=3 on words, {words.codec.size} ids>"


def test_unknown_symbols_are_named() -> None:
    assert fitted().unknown("what is the moon, the <unk> moon,") == ("moon,",)
    assert fitted("characters").unknown("what?!?") == ("?", "!")
    assert fitted("bytes").unknown("anything") == ()
    assert EVENTS.unknown('/home, "/search?q=a,c", /home') == ("/search?q=a,c",)
    kind = codec_class("words")
    simple = kind.learn(
        lambda: [Texts.of(["she is late, she says"])], kind.Config.from_values({"split": "simple"})
    )
    config = NgramConfig(alphabet=simple.size, silent=simple.silent, order=1)
    bundle = Bundle(simple, Ngram.learn(config, simple.encode(Texts.of(["she is late, she says"])).ids))
    assert bundle.unknown("she is (late), moon") == ("(", ")", "moon")


def test_each_sequence_is_scored_as_if_alone(words: Bundle) -> None:
    lines = [*LINES[:4], "the moon <unk>", "<unk>", "moon moon"]
    found = list(words.score_each(lines))
    assert [text for text, _ in found] == lines
    for text, one in found:
        alone = words.score_texts([text])
        assert one.log2prob == pytest.approx(alone.log2prob, rel=1e-6)
        assert (one.symbols, one.bytes, one.unknown) == (alone.symbols, alone.bytes, alone.unknown)


@pytest.mark.parametrize("name", ["words", "characters", "bytes"])
def test_each_of_sequences_larger_than_a_block_is_scored_whole(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bundle, path = fitted(name), tmp_path / "long.txt"
    lines = [LINES[0], " ".join(LINES * 5), LINES[1], " ".join(LINES * 3)]
    path.write_text("\n".join(lines), encoding="utf-8")
    for module in ("chainrule.data.lines.BLOCK", "chainrule.data.streams.CHUNK"):
        monkeypatch.setattr(module, 64)
    found = list(bundle.score_each(path))
    assert [text for text, _ in found] == lines
    assert sum((one for _, one in found), Score()).log2prob == pytest.approx(
        bundle.score_texts(lines).log2prob, rel=1e-6
    )
