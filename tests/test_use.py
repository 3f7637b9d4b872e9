"""A model in use: what is typed, offered, written and scored one by one."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

import chainrule as cr
from chainrule.bundle import Bundle
from chainrule.codecs.base import Texts
from chainrule.codecs.registry import codec as codec_class
from chainrule.decode.config import GenerationConfig
from chainrule.errors import ConfigError
from chainrule.judge.score import Score
from chainrule.models import windows
from chainrule.models.lstm import Lstm, LstmConfig
from chainrule.models.ngram import Ngram, NgramConfig
from chainrule.symbols import BOS, EOS
from chainrule.use.complete import complete
from chainrule.use.generate import generate
from decoding import searched
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
    assert codec.from_typed(codec.to_shown("\x1f".join(names))) == "\x1f".join(names)


STRANGE = ["/home", "/search?q=a,b", ' a"b ', '"', ",", "log in"]
EVENTS = fitted("events", lines=["\x1f".join(STRANGE), "\x1f".join(STRANGE[::-1])] * 4)


@pytest.mark.parametrize("seed", range(5))
def test_generated_events_can_be_fed_back(seed: int) -> None:
    prompt = '/home, "/search?q=a,b"'
    text = EVENTS.generate(prompt, 20, seed=seed)
    names = EVENTS.codec.tokens(EVENTS.prompt_ids(text)[1:])
    assert names[:2] == STRANGE[:2] and set(names) <= set(STRANGE)
    assert EVENTS.generate(text, 0) == text


def test_a_quote_that_nobody_closes_is_a_letter() -> None:
    assert EVENTS.codec.from_typed('"a, b ,"c" d') == '"a\x1fb\x1f"c" d'
    assert EVENTS.codec.from_typed("a,") == "a\x1f"


@pytest.mark.parametrize("prompt", ["log in", "log in,", "log in, "])
def test_a_comma_is_not_said_twice(prompt: str) -> None:
    found = [prompt + one.text for one in EVENTS.complete(prompt).next if not one.ends]
    assert all(text.startswith("log in, ") and ", ," not in text for text in found) and found


@pytest.mark.parametrize("name", ["words", "characters"])
def test_the_unknown_is_generated_only_when_asked_for(name: str) -> None:
    kind = codec_class(name)
    codec = kind.learn(lambda: [Texts.of(LINES)], kind.Config.from_values({"min_count": 4}))
    config = NgramConfig(vocab_size=codec.size, suppressed=codec.suppressed, order=2)
    bundle = Bundle.of(codec, Ngram.learn(config, codec.encode(Texts.of(LINES)).ids))
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
        2 ** words.score("what is the time").tokens[3].log2prob, rel=1e-4
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
    prompt = sum(one.log2prob for one in words.score("what is").tokens[:2])
    assert found[0].log2prob == pytest.approx(words.score(found[0].text).log2prob - prompt, rel=1e-4)


def test_a_stopped_text_has_the_probability_of_what_it_says_and_of_the_stop(words: Bundle) -> None:
    [best, *_] = words.search("what is", beam=4, stop="the")
    assert best.text == "what is "
    scored = words.score("what is the").tokens  # what, is, the, </s>
    assert best.log2prob == pytest.approx(scored[2].log2prob, rel=1e-4)
    for one in words.search("what", 6, beam=6, stop=["today", "time"]):
        scores = [words.score(one.text + end) for end in ("", "today", "time")]
        unended = [each.log2prob - each.tokens[-1].log2prob for each in scores]
        whole = [each - scores[0].tokens[0].log2prob for each in (scores[0].log2prob, *unended)]
        assert any(one.log2prob == pytest.approx(each, rel=1e-4) for each in whole)


def test_the_texts_of_a_beam_with_stops_are_best_first_and_all_different(words: Bundle) -> None:
    found = words.search("what", 6, beam=8, stop="e")
    logs = [one.log2prob or 0.0 for one in found]
    assert logs == sorted(logs, reverse=True) and len({one.text for one in found}) == len(found) > 1
    assert not any("e" in one.continuation for one in found)


def test_a_stop_ends_texts_drawn_in_one_go_where_it_ends_streams() -> None:
    for bundle, stops in ((fitted("bytes"), ["é", "the w", " "]), (fitted(), [" the", "today", "e"])):
        for prompt in ("what is ", "what", "the weather"):
            for seed in range(6):
                whole = bundle.generate(prompt, 40, seed, stop=stops)
                assert whole == "".join(bundle.stream(prompt, 40, seed, stop=stops))
                plain = bundle.generate(prompt, 40, seed)[len(prompt) :]
                cut = min(place for place in (*map(plain.find, stops), len(plain)) if place >= 0)
                assert whole == prompt + plain[:cut]


def test_results_of_generation_are_plain_values(words: Bundle) -> None:
    drawn, again = generate(words, ["what is", "the"], GenerationConfig(seed=5, count=2, length=4))
    assert [one.seed for one in (*drawn.texts, *again.texts)] == [5, 6, 7, 8]
    assert drawn.to_dict()["texts"][1] == drawn.texts[1].to_dict()
    assert list(drawn.to_dict()) == ["prompt", "text", "continuation", "seed", "texts"]
    [found] = generate(words, ["what is"], GenerationConfig(beam=3, count=2))
    assert list(found.to_dict()) == ["prompt", "text", "continuation", "log2prob", "texts"]
    assert found.texts[0].text == "what is" + found.texts[0].continuation
    unseeded = generate(words, ["what is"], GenerationConfig())[0].texts[0]
    assert unseeded.text == words.generate("what is", seed=unseeded.seed)


def test_a_draft_for_a_beam_is_refused(words: Bundle) -> None:
    with pytest.raises(ConfigError, match="do not go together"):
        words.generate("what", beam=2, draft=words)


@pytest.mark.parametrize("unknown", [False, True])
def test_completions_of_many_prompts_are_those_of_each(words: Bundle, unknown: bool) -> None:
    prompts = ["what is the t", "", "what", "a zzz", "the weather is the w", "what is "]
    together = complete(words, prompts, 4, 6, unknown=unknown)
    assert list(together) == [words.complete(prompt, 4, 6, unknown=unknown) for prompt in prompts]


def test_a_sequence_scores_what_it_was_generated_with_up_to_what_is_scored_in_one_go() -> None:
    model = Lstm.seeded(LstmConfig(vocab_size=12, width=8), 1)
    found = searched(model, [BOS], 1, 40, stop=())
    ids = np.array([BOS, *found.hypotheses[0].ids, EOS], np.int32)
    steps = np.diff([node.log_probability for node in found.tree.nodes], prepend=0.0)  # (40,)
    assert model.score_ids(ids)[1:41] == pytest.approx(steps, abs=1e-4)
    with patch.object(windows, "LONG", 16), patch.object(windows, "WARM", 4):
        scored = model.score_ids(ids)
    assert scored[1:17] == pytest.approx(steps[:16], abs=1e-4)
    assert scored[17:41] != pytest.approx(steps[16:], abs=1e-5)
    part = model.score_ids(np.array([BOS, *ids[12:20], EOS], np.int32))  # four symbols are read again
    assert scored[17:20] == pytest.approx(part[6:9], abs=1e-4)


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
    config = NgramConfig(vocab_size=simple.size, suppressed=simple.suppressed, order=1)
    bundle = Bundle.of(simple, Ngram.learn(config, simple.encode(Texts.of(["she is late, she says"])).ids))
    assert bundle.unknown("she is (late), moon") == ("(", ")", "moon")


def test_each_sequence_is_scored_as_if_alone(words: Bundle) -> None:
    lines = [*LINES[:4], "the moon <unk>", "<unk>", "moon moon"]
    found = list(words.score_each(lines))
    assert [one.text for one in found] == lines
    for one in found:
        alone = words.score_texts([one.text])
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
    assert [one.text for one in found] == lines
    assert sum(found, Score()).log2prob == pytest.approx(bundle.score_texts(lines).log2prob, rel=1e-6)


CODECS = ("words", "characters", "bytes", "subwords", "events")


def recurrent(name: str) -> Bundle:
    """An LSTM of a few lines that has learnt nothing yet."""
    kind = codec_class(name)
    codec = kind.learn(lambda: [Texts.of(LINES)], kind.Config())
    config = LstmConfig(vocab_size=codec.size, suppressed=codec.suppressed, width=8)
    return Bundle.of(codec, Lstm.seeded(config, 3))


@pytest.mark.parametrize("name", CODECS)
@pytest.mark.parametrize("made", [fitted, recurrent])
def test_candidates_score_together_what_they_score_alone(made: Any, name: str) -> None:
    bundle = made(name)
    texts = [*LINES[:4], "what, is <unk>", "", "moon, moon", "is", LINES[1], *(LINES[0] * n for n in (2, 9))]
    ranked = bundle.rank(iter(texts)).ranked
    assert sorted(one.text for one in ranked) == sorted(texts)
    for one in ranked:
        alone = bundle.score_texts([one.text])
        assert one.log2prob == pytest.approx(alone.log2prob, rel=1e-5)
        assert one.known_log2prob == pytest.approx(alone.known_log2prob, rel=1e-5, abs=1e-5)
        for count in ("symbols", "bytes", "unknown", "zero_probability", "known"):
            assert getattr(one, count) == getattr(alone, count)
    assert [one.log2prob for one in ranked] == sorted((one.log2prob for one in ranked), reverse=True)


def test_equally_probable_candidates_stay_in_order() -> None:
    bundle = fitted(lines=["a b", "a c"] * 4)
    texts = ["a c", "a b", "a  c", "a c", "a  b"]
    assert [one.text for one in bundle.rank(texts).ranked] == texts
    assert bundle.rank([]).ranked == ()


@pytest.mark.parametrize("size", [1, 3, 4, 1 << 12])
def test_candidates_are_scored_in_parts_of_any_size(
    words: Bundle, size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("chainrule.data.numbered.MANY", size)
    assert sorted(one.text for one in words.rank(LINES[:4]).ranked) == sorted(LINES[:4])
    assert [one.text for one in words.score_each(LINES[:4])] == LINES[:4]


FIGURES = [
    "perplexity",
    "perplexity_known",
    "bits_per_symbol",
    "bits_per_byte",
    "symbols",
    "bytes",
    "unknown",
    "zero_probability",
    "log2prob",
]


def test_results_are_plain_values_under_names_scripts_know(words: Bundle) -> None:
    text = words.score("what is").to_dict()
    assert list(text) == [*FIGURES, "seconds", "tokens"]
    assert [list(one) for one in text["tokens"]] == [["token", "log2prob", "bits", "order"]] * 3
    assert list(words.score_texts(["what is"]).to_dict()) == [*FIGURES, "seconds"]
    assert [list(one.to_dict()) for one in words.score_each(["what is"])] == [["row", "text", *FIGURES]]
    ranking = words.rank(["what", "is"]).to_dict()
    assert list(ranking) == ["ranked", "seconds"] and len(ranking["ranked"]) == 2
    offered = words.complete("what is the t").to_dict()
    assert list(offered) == ["prompt", "words", "next", "continuations"]
    assert {tuple(one) for one in offered["words"]} == {("symbol", "text", "probability", "ends")}
    assert {tuple(one) for one in offered["continuations"]} == {("text", "probability", "ends")}
    assert json.loads(json.dumps([text, ranking, offered]))


def test_the_half_typed_word_is_told_apart(words: Bundle) -> None:
    assert words.complete("what is the t").half == "t"
    assert words.complete("what is the").half == "" and words.complete("").half == ""


def test_time_is_measured_and_makes_no_difference(words: Bundle) -> None:
    one, other = words.score("what is"), words.score("what is")
    assert one == other and one.seconds > 0 and one != words.score("what")


@pytest.mark.parametrize(
    ("name", "text", "symbols"),
    [
        ("words", "what\tis  it", ["what", "is", "it"]),
        ("words", "one\x1fword", ["one\x1fword"]),
        ("characters", "a b", ["a", " ", "b"]),
        ("bytes", "é", ["\\xc3", "\\xa9"]),
        ("subwords", "what is", ["what", "is"]),
        ("events", "log in\x1flook\x1f\x1fbuy", ["log in", "look", "buy"]),
    ],
)
def test_a_codec_names_the_symbols_of_a_text(name: str, text: str, symbols: list[str]) -> None:
    kind = codec_class(name)
    assert kind.learn(lambda: [Texts.of(LINES)], kind.Config()).symbols_of(text) == symbols


def test_only_words_are_finished() -> None:
    half = {name: fitted(name).codec.half_typed("what is the t") for name in CODECS}
    assert {name for name, found in half.items() if found} == {"words"}
    assert half["words"] and set(fitted().codec.tokens(half["words"].longer)) == {"the", "time", "today"}
    assert fitted().codec.half_typed("what ") is None and fitted().codec.half_typed("") is None


@pytest.mark.parametrize("model", ["ngram", "gru"])
def test_what_was_trained_on_a_stream_never_ends_its_texts(tmp_path: Path, model: str) -> None:
    book = tmp_path / "book.txt"
    book.write_text("sun and rain\n" * 12)
    learning = {"tokens": 2_000, "width": 8} if model == "gru" else {"order": 2}
    lm = cr.fit(book, model=model, codec="words", stream=True, **learning)
    ended = lm.next("sun and rain", 100).probabilities[EOS]
    assert ended > 0  # as the end of a file is scored
    texts = lm.generate(["sun", "", "rain"] * 10, 25, seed=1)
    assert all(len(lm.codec.encode(Texts.of([text])).ids) - 2 >= 25 for text in texts)
    assert len(lm.search("sun", 9, beam=3)[0].continuation.split()) == 9
    assert not any(one.ends for one in lm.complete("sun and rain", k=5).next)
