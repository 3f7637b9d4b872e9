from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from chainrule import GenerationConfig
from chainrule.bundle import Bundle, load
from chainrule.codecs.base import Texts
from chainrule.errors import BundleError, CodecError, ConfigError
from chainrule.store import manifest
from chainrule.use.text import streamed, until
from fitted import LINES, fitted


@pytest.fixture(scope="module")
def words() -> Bundle:
    return fitted()


@pytest.fixture
def saved(words: Bundle, tmp_path: Path) -> Path:
    words.save(tmp_path / "lm")
    return tmp_path / "lm"


def test_saved_and_loaded_gives_the_same_numbers(words: Bundle, saved: Path) -> None:
    again = load(saved, verify=True)
    assert again.score("what is the weather") == words.score("what is the weather")
    assert again.config == words.config
    assert again.card["seed"] == 1 and {"created", "versions"} <= set(again.card)


def test_saving_twice_needs_force(words: Bundle, saved: Path) -> None:
    with pytest.raises(BundleError, match="--force"):
        words.save(saved)
    words.save(saved, force=True)
    assert sorted(path.name for path in saved.parent.iterdir()) == ["lm"]


def test_a_loaded_model_can_be_saved_over_itself(saved: Path) -> None:
    bundle = load(saved)
    before = bundle.score("the time")
    bundle.save(saved, force=True)
    assert bundle.score("the time") == before == load(saved, verify=True).score("the time")


FILES = ["config.json", "model.safetensors", "card.json", "manifest.json", "codecs/text/vocabulary.txt"]


@pytest.mark.parametrize("name", FILES)
def test_a_missing_file_is_named(saved: Path, name: str) -> None:
    (saved / name).unlink()
    with pytest.raises(BundleError, match=Path(name).name):
        load(saved)


@pytest.mark.parametrize("name", FILES)
def test_a_damaged_file_is_named(saved: Path, name: str) -> None:
    content = bytearray((saved / name).read_bytes())
    content[len(content) // 2] ^= 0x41
    (saved / name).write_bytes(content)
    with pytest.raises(BundleError, match="damaged" if name == "manifest.json" else Path(name).name):
        load(saved)


def test_large_files_are_sampled_and_checked_whole_on_demand(
    saved: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in {"LARGE": 1000, "SAMPLES": 3, "SAMPLE": 8}.items():
        monkeypatch.setattr(manifest, name, value)
    manifest.write(saved)
    path = saved / "model.safetensors"
    content = bytearray(path.read_bytes())
    content[-20] ^= 1  # between two samples
    path.write_bytes(content)
    load(saved)
    with pytest.raises(BundleError, match=r"model\.safetensors is damaged"):
        load(saved, verify=True)
    content[-1] ^= 1  # in the last sample
    path.write_bytes(content)
    with pytest.raises(BundleError, match=r"model\.safetensors is damaged"):
        load(saved)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"format": "keras"}, "not of chainrule"),
        ({"version": 99}, "Upgrade"),
        ({"version": None}, "damaged"),
        ({"family": "gpt9"}, "no model family 'gpt9'"),
        ({"codecs": {"text": {"name": "wrds", "config": {}}}}, "Did you mean 'words'"),
        ({"model": {"ordr": 3}}, "Did you mean 'order'"),
        ({"codecs": None}, "does not describe a model"),
        ({"version": True}, "damaged"),
        ({"version": 0}, "damaged"),
    ],
)
def test_a_foreign_config_is_explained(saved: Path, change: dict[str, Any], message: str) -> None:
    config = json.loads((saved / "config.json").read_text())
    (saved / "config.json").write_text(json.dumps(config | change))
    manifest.write(saved)
    with pytest.raises(BundleError) as caught:
        load(saved)
    assert message in str(caught.value)


def test_what_is_no_model_is_explained(tmp_path: Path) -> None:
    with pytest.raises(BundleError, match=r"no saved model .*chainrule fit"):
        load(tmp_path / "nowhere")
    with pytest.raises(BundleError, match=r"has no config\.json"):
        load(tmp_path)
    (tmp_path / "file.arpa").write_text("")
    with pytest.raises(BundleError, match="import arpa"):
        load(tmp_path / "file.arpa")


def test_an_ngram_is_loaded_and_scored_without_torch(saved: Path) -> None:
    program = f"""
import sys, chainrule
chainrule.load({str(saved)!r}).score("the weather")
sys.exit("torch" in sys.modules)
"""
    assert subprocess.run([sys.executable, "-c", program]).returncode == 0


def test_a_score_is_the_sum_of_its_symbols(words: Bundle) -> None:
    score = words.score("what is the moon")
    assert [one.token for one in score.tokens] == ["what", "is", "the", "<unk>", "</s>"]
    assert score.log2prob == pytest.approx(sum(one.log2prob for one in score.tokens), rel=1e-6)
    assert (score.symbols, score.bytes, score.unknown) == (5, len("what is the moon") + 1, 1)
    assert score.tokens[0].bits == -score.tokens[0].log2prob
    assert score.tokens[2].facts["order"] == 3


def test_scores_of_texts_add_up(words: Bundle) -> None:
    together = words.score_texts(LINES[:3])
    assert together.log2prob == pytest.approx(sum(words.score(line).log2prob for line in LINES[:3]), rel=1e-6)
    assert together.symbols == sum(words.score(line).symbols for line in LINES[:3])


@pytest.mark.parametrize("name", ["words", "characters", "bytes"])
def test_a_sequence_larger_than_a_block_scores_the_same(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bundle, text = fitted(name), " ".join(LINES * 5)
    path = tmp_path / "long.txt"
    path.write_text("\n".join([LINES[0], text, LINES[1]]), encoding="utf-8")
    whole = bundle.score_file(path)
    for module in ("chainrule.data.lines.BLOCK", "chainrule.data.streams.CHUNK"):
        monkeypatch.setattr(module, 64)
    parts = bundle.score_file(path)
    assert parts.log2prob == pytest.approx(whole.log2prob, rel=1e-6)
    assert (parts.symbols, parts.bytes) == (whole.symbols, whole.bytes)
    assert whole.log2prob == pytest.approx(bundle.score_texts([LINES[0], text, LINES[1]]).log2prob, rel=1e-6)


def test_ranking_puts_the_most_probable_first(words: Bundle) -> None:
    ranked = words.rank(["whether two day", "what is the weather today", "today weather"]).ranked
    assert ranked[0].text == "what is the weather today"
    assert [one.log2prob for one in ranked] == sorted((one.log2prob for one in ranked), reverse=True)


def test_impossible_text_is_minus_infinite_and_ranks_last() -> None:
    bundle = fitted(order=2, smoothing="none")
    assert bundle.score("today today").log2prob == -np.inf
    assert bundle.score("today today").zero_probability > 0
    assert bundle.rank(["today today", "what is the time"]).ranked[-1].text == "today today"


@pytest.mark.parametrize("name", ["words", "characters", "bytes"])
def test_the_same_seed_gives_the_same_text(name: str) -> None:
    bundle = fitted(name)
    text = bundle.generate("what is ", 30, seed=5)
    assert text == bundle.generate("what is ", 30, seed=5)
    assert text.startswith("what is ") and "  " not in text
    assert {bundle.generate("", 30, seed=seed) for seed in range(9)} != {text}


def test_streaming_bytes_never_gives_half_a_character() -> None:
    bundle = fitted("bytes", order=5, lines=["€uro", "héé", "日本語"] * 5, smoothing="none")
    for seed in range(10):
        pieces = list(bundle.stream("", 40, seed=seed))
        assert all(piece == "" or "\ufffd" not in piece for piece in pieces)
        assert "".join(pieces) == bundle.generate("", 40, seed=seed) in {"€uro", "héé", "日本語"}


def test_long_streams_equal_decoding_at_once() -> None:
    codec = fitted("bytes").codec
    ids = codec.encode(Texts.of(["aé€😀" * 300])).ids[1:-1].tolist()
    assert "".join(streamed(codec, [1], ids)) == "aé€😀" * 300
    assert "".join(streamed(codec, [1], ids[:-1])) == "aé€😀" * 299 + "aé€\ufffd"


def test_text_ends_before_the_stop(words: Bundle) -> None:
    best = words.generate("what is", beam=3)
    assert words.generate("what is", beam=3, stop="the") == best.split("the")[0]
    assert "".join(until(["a", "bc", "d", "ab", "x"], ["bcx", "abx"])) == "abcd"
    assert "".join(until(["a", "b"], ["bc"])) == "ab"
    assert list(until(["xa", "b", "c"], ["abc"])) == ["x", "", ""]


@pytest.mark.parametrize(
    "settings", [{"seed": 7}, {"temperature": 0.0}, {"beam": 3}, {"seed": 2, "stop": "the"}]
)
def test_a_list_of_prompts_gives_what_each_gives_alone_in_order(
    words: Bundle, settings: dict[str, Any]
) -> None:
    prompts = ["what is", "", "the weather", "what is the ", *["today"] * 70]
    found = words.generate(prompts, 12, **settings)
    for place, (prompt, text) in enumerate(zip(prompts, found, strict=True)):
        own = settings | ({"seed": settings["seed"] + place} if "seed" in settings else {})
        assert text == words.generate(prompt, 12, **own)
    assert words.generate([]) == []


def test_a_beam_finds_the_most_probable_text(words: Bundle) -> None:
    best = words.generate("the weather", beam=8)
    rivals = [words.generate("the weather", seed=seed) for seed in range(20)]
    assert words.score(best).log2prob >= max(words.score(text).log2prob for text in rivals) - 1e-6


def test_completion_offers_symbols_and_continuations(words: Bundle) -> None:
    found = words.complete("what is the", k=3, length=4)
    assert {one.text for one in found.next} >= {" weather", " time"}
    assert all(one.symbols and 0 < one.probability <= 1 for one in found.next)
    assert len(found.next) == len(found.continuations) == 3
    assert [one.probability for one in found.next] == sorted(
        (one.probability for one in found.next), reverse=True
    )
    assert any(one.text == " time" and one.ends for one in found.continuations)


def test_events_are_typed_and_read_with_commas() -> None:
    bundle = fitted("events", lines=["log in\x1flook\x1fbuy", "log in\x1fbuy"] * 4, smoothing="none")
    assert [one.token for one in bundle.score("log in, look,buy").tokens] == ["log in", "look", "buy", "</s>"]
    assert bundle.generate("log in, look", seed=1) == "log in, look, buy"
    assert {one.text for one in bundle.complete("log in").next} == {", look", ", buy"}


def test_a_prompt_ending_in_a_space_gets_no_second_one(words: Bundle) -> None:
    assert "  " not in words.generate("what is the ", 5, seed=0)
    assert not any(one.text.startswith(" ") for one in words.complete("what is the ").next)


@pytest.mark.parametrize("options", [{"temperature": -1.0}, {"top_k": 0}, {"top_p": 2.0}, {"beam": 0}])
def test_odd_options_are_refused(words: Bundle, options: dict[str, Any]) -> None:
    with pytest.raises(ConfigError):
        words.generate("what", **options)


def test_settings_can_be_one_value_and_keywords_win_over_its_fields(words: Bundle) -> None:
    config = GenerationConfig(length=5, seed=3, temperature=2.0, stop=("today",))
    same = {"length": 5, "seed": 3, "temperature": 2.0, "stop": "today"}
    assert words.generate("what", config=config) == words.generate("what", **same)
    assert "".join(words.stream("what", config=config)) == words.generate("what", config=config)
    for other in ({"length": 2}, {"seed": 8}, {"temperature": 0.0}, {"stop": None}):
        assert words.generate("what", config=config, **other) == words.generate("what", **(same | other))
    with pytest.raises(ConfigError, match="do not go together"):
        words.generate("what", config=config, beam=3)
    with pytest.raises(ConfigError, match="a GenerationConfig, and a dict came"):
        words.generate("what", config=same)


def test_a_search_is_as_its_settings_say(words: Bundle) -> None:
    wide = GenerationConfig(length=4, beam=6, count=2)
    assert words.search("what", config=wide) == words.search("what", 4, beam=6, count=2)
    assert words.search("what", config=wide, count=5) == words.search("what", 4, beam=6)[:5]
    assert words.search("what", config=GenerationConfig(length=4)) == words.search("what", 4)[:1]
    assert len(words.search("what", 4)) == 4


def test_text_that_is_no_unicode_is_refused(words: Bundle) -> None:
    with pytest.raises(CodecError, match="not valid Unicode"):
        words.score("\udcff")


def test_nothing_is_left_when_saving_fails(
    words: Bundle, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(folder: Path) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(manifest, "write", broken)
    with pytest.raises(KeyboardInterrupt):
        words.save(tmp_path / "lm")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("change", "message"),
    [({"vocab_size": 3}, "vocabulary of 3 ids"), ({"suppressed": [0, 999_999]}, "suppressed id 999999")],
)
def test_a_model_of_another_vocabulary_is_refused(saved: Path, change: dict[str, Any], message: str) -> None:
    config = json.loads((saved / "config.json").read_text())
    config["model"] |= change
    (saved / "config.json").write_text(json.dumps(config))
    manifest.write(saved)
    with pytest.raises(BundleError, match=rf"config\.json is damaged: .*{message}"):
        load(saved)


@pytest.mark.parametrize("name", [*(name for name in FILES if name != "manifest.json"), "all"])
def test_a_file_the_manifest_does_not_list_is_not_trusted(saved: Path, name: str) -> None:
    listed = json.loads((saved / "manifest.json").read_text())["files"]
    kept = {one: facts for one, facts in listed.items() if name not in (one, "all")}
    (saved / "manifest.json").write_text(json.dumps({"files": kept}))
    with pytest.raises(BundleError, match="does not list"):
        load(saved)


@pytest.mark.parametrize("name", ["../other", "/etc/hostname", "codec/../../other", "C:\\other", "..\\other"])
def test_a_manifest_that_points_outside_is_refused(saved: Path, name: str) -> None:
    listed = json.loads((saved / "manifest.json").read_text())["files"]
    (saved / "manifest.json").write_text(json.dumps({"files": listed | {name: {"size": 0}}}))
    with pytest.raises(BundleError, match="outside the folder"):
        load(saved)


def test_a_manifest_that_is_a_device_is_not_read(saved: Path) -> None:
    (saved / "manifest.json").unlink()
    (saved / "manifest.json").symlink_to("/dev/null")
    with pytest.raises(BundleError, match="no plain file"):
        load(saved)


def test_names_that_are_no_unicode_are_saved_and_come_back(words: Bundle, tmp_path: Path) -> None:
    name = b"caf\xe9.txt".decode(errors="surrogateescape")
    Bundle.of(words.codec, words.model, {"data": {"name": name}}).save(tmp_path / "lm")
    assert load(tmp_path / "lm").card["data"]["name"] == name


@pytest.mark.parametrize(
    ("wish", "message"),
    [
        ({"seed": "a"}, "--seed wants a whole number"),
        ({"seed": True}, "--seed wants a whole number"),
        ({"seed": 1 << 64}, "--seed must be at most"),
        ({"seed": -(1 << 63) - 1}, "--seed must be at least"),
        ({"top_k": 2.5}, "--top-k wants a whole number"),
        ({"temperature": "hot"}, "--temperature wants a number"),
        ({"temprature": 0.5}, "temperature"),
        ({"beam": 2, "temperature": 0.5}, "do not go together"),
        ({"beam": 2, "top_k": 5}, "do not go together"),
        ({"beam": 2, "top_p": 0.5}, "do not go together"),
        ({"beam": 2, "seed": 1}, "do not go together"),
        ({"length_penalty": 0.5}, "Give --beam"),
        ({"count": 2}, "2 times"),
        ({"stop": [5]}, "A text is wanted"),
        ({"prompt": [5]}, "A text is wanted"),
    ],
)
def test_wishes_that_cannot_be_met_are_refused(words: Bundle, wish: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        words.generate(**wish)


def test_what_is_no_list_of_texts_is_not_ranked(words: Bundle) -> None:
    with pytest.raises(ConfigError, match="several texts"):
        words.rank("abc")
    with pytest.raises(ConfigError, match="a int came"):
        words.rank([5])  # type: ignore[list-item]
    with pytest.raises(ConfigError, match="int"):
        words.score(5)  # type: ignore[arg-type]


def test_the_largest_seeds_are_seeds_too(words: Bundle) -> None:
    for seed in ((1 << 64) - 1, -(1 << 63), np.int64(3)):
        assert words.generate("what", 2, seed=seed).startswith("what")


@pytest.mark.parametrize("name", ["reading", "columns", "figures", "training"])
def test_a_card_whose_parts_are_something_else_is_refused(saved: Path, name: str) -> None:
    card = json.loads((saved / "card.json").read_text())
    (saved / "card.json").write_text(json.dumps(card | {name: [1]}))
    manifest.write(saved)
    with pytest.raises(BundleError, match=f"its '{name}' is"):
        load(saved)
