"""Masks filled and texts embedded, from Python and by command."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import torch

import chainrule as cr
from chainrule.bundle import Bundle
from chainrule.cli import main
from chainrule.codecs.base import Codec, Texts
from chainrule.codecs.events import Events
from chainrule.codecs.numbers import Numbers
from chainrule.codecs.registry import codec as codec_class
from chainrule.errors import CodecError, ConfigError, ModelError
from chainrule.models.bert import Bert, BertConfig
from chainrule.models.neural import Neural
from chainrule.nn.int8 import Int8Linear
from chainrule.nn.product import Linear
from chainrule.progress import no_progress
from chainrule.symbols import BOS, EOS, MASK
from chainrule.use.embed import embed
from chainrule.use.fill import with_masks

LINES = ["the sun is warm", "the rain is wet", "the fog is grey"] * 30
SMALL = {
    "layers": 1,
    "width": 32,
    "heads": 2,
    "context": 16,
    "progress": no_progress,
    "valid": LINES,
    "test": LINES,
}


@pytest.fixture(scope="module")
def bert() -> Bundle:
    return cr.fit(
        LINES,
        model="bert",
        codec="words",
        epochs=120,
        lr=0.003,
        batch_size=4,
        seq_len=16,
        dropout=0.0,
        patience=0,
        **SMALL,
    )


@pytest.fixture(scope="module")
def gpt() -> Bundle:
    return cr.fit(
        LINES, model="gpt", codec="words", epochs=20, lr=0.01, batch_size=4, seq_len=16, dropout=0.0, **SMALL
    )


@pytest.fixture
def saved(bert: Bundle, tmp_path: Path) -> Path:
    bert.save(tmp_path / "bert")
    return tmp_path / "bert"


def test_masks_are_filled_from_both_sides(bert: Bundle) -> None:
    for words, missing in (
        ("the [MASK] is wet", "rain"),
        ("the sun is [MASK]", "warm"),
        ("the [MASK] is grey", "fog"),
    ):
        [guesses] = bert.fill(words, 3).masks
        assert guesses[0].symbol == missing and guesses[0].probability > 0.5
        assert guesses[0].text == words.replace("[MASK]", missing)
        assert [one.probability for one in guesses] == sorted(
            (one.probability for one in guesses), reverse=True
        )


def test_every_mask_has_guesses_of_its_own(bert: Bundle) -> None:
    found = bert.fill("the [MASK] is [MASK]", 2).masks
    assert len(found) == 2 and all(len(guesses) == 2 for guesses in found)
    assert with_masks(bert.codec, "the [MASK] is [MASK]").count(MASK) == 2
    ids = with_masks(bert.codec, "[MASK] rain")
    assert ids[:2] == [BOS, MASK] and ids[-1] == EOS and len(ids) == 4


def test_a_text_without_masks_and_a_model_that_reads_one_way_are_refused(bert: Bundle, gpt: Bundle) -> None:
    with pytest.raises(ConfigError, match=r"\[MASK\]"):
        bert.fill("nothing is missing")
    with pytest.raises(ModelError, match="left to right"):
        gpt.fill("the [MASK]")
    with pytest.raises(ModelError, match="Shorten"):
        bert.fill("[MASK] " * 40)


def test_vectors_of_a_text_do_not_depend_on_its_company(bert: Bundle) -> None:
    texts = ["the sun is warm", "rain", "the fog is grey the fog is grey"]
    together = bert.embed(texts)
    alone = np.concatenate([bert.embed([text]) for text in texts])
    np.testing.assert_allclose(together, alone, atol=1e-5)
    assert together.shape == (3, 32)
    np.testing.assert_allclose(np.linalg.norm(bert.embed(texts, normalise=True), axis=1), 1.0, atol=1e-5)


@pytest.mark.parametrize(("pooling", "place"), [("first", 0), ("last", -1)])
def test_pooling_takes_the_vector_it_says(bert: Bundle, pooling: str, place: int) -> None:
    [one] = bert.embed_symbols(["the rain"])
    assert one.symbols == ("<s>", "the", "rain", "</s>") and one.vectors.shape == (4, 32)
    np.testing.assert_allclose(bert.embed(["the rain"], pooling=pooling)[0], one.vectors[place], atol=1e-6)
    np.testing.assert_allclose(bert.embed(["the rain"])[0], one.vectors.mean(0), atol=1e-6)


def test_other_poolings_and_models_without_vectors_are_refused(bert: Bundle) -> None:
    with pytest.raises(ConfigError, match="mean"):
        bert.embed(["a"], pooling="median")
    counted = cr.fit(LINES, model="ngram", codec="words", valid=LINES, test=LINES, progress=no_progress)
    with pytest.raises(ModelError, match="no vectors"):
        counted.embed(["the rain"])


def test_fill_and_embed_by_command(saved: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["fill", str(saved), "the [MASK] is wet", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["masks"][0][0]["symbol"] == "rain"
    assert main(["fill", str(saved), "the [MASK] is wet"]) == 0
    assert "the rain is wet" in capsys.readouterr().out
    out = saved.parent / "vectors.npy"
    assert main(["embed", str(saved), "the rain", "the sun", "-o", str(out)]) == 0
    assert np.load(out).shape == (2, 32)
    assert main(["embed", str(saved), "the rain", "-o", str(out)]) == 2  # nothing is overwritten
    capsys.readouterr()
    assert main(["embed", str(saved), "the rain", "--each"]) == 0
    assert len(json.loads(capsys.readouterr().out)["vectors"]) == 4


def test_eight_bits_answer_almost_the_same(gpt: Bundle, bert: Bundle) -> None:
    for bundle in (gpt, bert):
        small = bundle.compressed()
        assert small.score("the rain is wet").log2prob == pytest.approx(
            bundle.score("the rain is wet").log2prob, abs=0.3
        )
        assert isinstance(small.model, Neural)
        kinds = {type(one) for one in small.model.modules()}
        assert Int8Linear in kinds and Linear not in kinds
    # after "the" alone several words are about as probable as each other
    assert gpt.compressed().generate("the rain", temperature=0.0, length=3) == gpt.generate(
        "the rain", temperature=0.0, length=3
    )


def test_eight_bits_are_for_everything_that_learns_by_gradient() -> None:
    recurrent = cr.fit(LINES, model="lstm", codec="words", width=8, epochs=1, progress=no_progress)
    exact, small = (bundle.score("the rain is wet") for bundle in (recurrent, recurrent.compressed()))
    assert 0 < abs(exact.log2prob - small.log2prob) < 0.3
    counted = cr.fit(LINES, model="ngram", codec="words", valid=LINES, test=LINES, progress=no_progress)
    with pytest.raises(ModelError, match="Eight bits"):
        counted.compressed()


def test_a_drafter_changes_nothing_but_the_time(gpt: Bundle) -> None:
    drafter = cr.fit(LINES, model="ngram", codec="words", valid=LINES, test=LINES, progress=no_progress)
    plain = gpt.generate("the", temperature=0.0, length=12)
    assert gpt.generate("the", temperature=0.0, length=12, draft=drafter) == plain
    other = cr.fit(["other words here"] * 9, model="ngram", codec="words", progress=no_progress)
    with pytest.raises(ConfigError, match="codec"):
        gpt.generate("the", draft=other)


def test_a_text_for_a_model_that_reads_both_ways_is_refused_before_anything_is_said(
    saved: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["generate", str(saved), "hello"]) == 1
    out, err = capsys.readouterr()
    assert out == "" and "both ways" in err


def untrained(codec: Codec) -> Bundle:
    """A bert of these symbols that has learnt nothing yet."""
    config = BertConfig(
        vocab_size=codec.size, suppressed=codec.suppressed, layers=1, width=8, heads=2, context=16
    )
    return Bundle.of(codec, Bert.seeded(config, 3))


SHOP = ["log in\x1flook\x1fbuy", 'log in\x1fsearch "a, b"\x1fbuy\x1flog out'] * 3


def of_events() -> Bundle:
    return untrained(Events.learn(lambda: [Texts.of(SHOP)], Events.Config()))


@pytest.mark.parametrize(
    ("text", "symbols"),
    [
        ("log in, [MASK], buy", ["<s>", "log in", "<mask>", "buy", "</s>"]),
        ('"search ""a, b""",[MASK]', ["<s>", 'search "a, b"', "<mask>", "</s>"]),
        ("[MASK], log out", ["<s>", "<mask>", "log out", "</s>"]),
        ("log in\x1f[MASK]", ["<s>", "log in", "<mask>", "</s>"]),
    ],
)
def test_masks_between_typed_events_are_filled(text: str, symbols: list[str]) -> None:
    bundle = of_events()
    assert bundle.codec.tokens(with_masks(bundle.codec, text)) == symbols
    [guesses] = bundle.fill(text, 9).masks
    assert {one.symbol for one in guesses} == {"log in", "look", "buy", 'search "a, b"', "log out"}
    for one in guesses:
        filled = [one.symbol if symbol == "<mask>" else symbol for symbol in symbols[1:-1]]
        assert bundle.codec.from_typed(one.text) == "\x1f".join(filled)


def test_masks_between_numbers_are_filled() -> None:
    numbers = Numbers.learn(lambda: [Texts.of(["1\x1f2\x1f3"])], Numbers.Config())
    [guesses] = untrained(numbers).fill("3, [MASK], 1", 3).masks
    assert {one.text for one in guesses} == {"3, 1, 1", "3, 2, 1", "3, 3, 1"}


@pytest.mark.parametrize(("name", "kept"), [("characters", True), ("bytes", True), ("words", False)])
def test_a_space_beside_a_mask_is_kept_where_it_is_a_symbol(name: str, kept: bool) -> None:
    kind = codec_class(name)
    codec = kind.learn(lambda: [Texts.of(["a b c"])], kind.Config())
    assert (" " in codec.tokens(with_masks(codec, "a [MASK]"))) == kept


def test_vectors_of_typed_events_are_those_of_the_events() -> None:
    bundle = of_events()
    typed, stored = 'log in, "search ""a, b"""', 'log in\x1fsearch "a, b"'
    np.testing.assert_array_equal(bundle.embed([typed]), bundle.embed([stored]))
    [one] = bundle.embed_symbols([typed])
    assert one.symbols == ("<s>", "log in", 'search "a, b"', "</s>")
    assert one.vectors.shape == (4, 8) and one.text == typed


def test_symbols_stand_beside_their_own_vectors() -> None:
    """Also among texts of other lengths, and in one too long for the model, of which the beginning is read."""
    bundle, texts = of_events(), ["log in, look", "buy", ", ".join(["look", "buy"] * 20), "log in, look, buy"]
    for text, found in zip(texts, bundle.embed_symbols(texts), strict=True):
        ids = torch.tensor([[*bundle.prompt_ids(text), EOS][: bundle.body.context]])
        with bundle.body.inference():
            hidden, _ = bundle.body.read(ids, bundle.body.start(1))
        assert list(found.symbols) == bundle.codec.tokens(ids[0].tolist())
        np.testing.assert_allclose(found.vectors, hidden[0].numpy(), atol=1e-5)


def test_one_text_alone_is_one_text(bert: Bundle) -> None:
    np.testing.assert_array_equal(bert.embed("the rain"), bert.embed(["the rain"]))
    [one] = bert.embed_symbols("the rain")
    assert one.text == "the rain" and len(one.symbols) == len(one.vectors) == 4
    assert bert.embed([]).shape == (0, 0) and bert.embed_symbols([]) == []
    with pytest.raises(ConfigError, match="A text is wanted"):
        bert.embed([5])  # type: ignore[list-item]


def test_symbols_and_vectors_end_where_the_model_can_hold_no_more(bert: Bundle) -> None:
    short, long = bert.embed_symbols(["the rain", "the fog is grey " * 9])
    assert len(long.symbols) == len(long.vectors) == 16 and len(short.symbols) == 4


def test_what_is_no_unicode_fills_no_mask(bert: Bundle) -> None:
    with pytest.raises(CodecError, match="not valid Unicode"):
        bert.fill("\udcff [MASK]")
    with pytest.raises(ConfigError, match="A text is wanted"):
        bert.fill(5)  # type: ignore[arg-type]


def test_figures_of_a_model_that_reads_both_ways_are_called_pseudo(bert: Bundle, gpt: Bundle) -> None:
    for bundle, name in ((bert, "pseudo_perplexity"), (gpt, "perplexity")):
        results = [
            bundle.score("the rain"),
            bundle.score_texts(["the rain"]),
            *bundle.score_each(["the rain"]),
            *bundle.rank(["the rain"]).ranked,
        ]
        assert all(name in one.to_dict() and "symbols" in one.to_dict() for one in results)
        assert all((name == "perplexity") == ("log2prob" in one.to_dict()) for one in results)


def test_results_of_reading_are_plain_values(bert: Bundle) -> None:
    guess = {"symbol", "probability", "text"}
    found = bert.fill("the [MASK] is [MASK]", 2).to_dict()
    assert list(found) == ["masks"] and [len(one) for one in found["masks"]] == [2, 2]
    assert all(set(one) == guess for guesses in found["masks"] for one in guesses)
    [vector], [symbols] = embed(bert, "the rain"), bert.embed_symbols("the rain")
    assert vector.to_dict() == {"text": "the rain", "vector": bert.embed("the rain")[0].tolist()}
    assert symbols.to_dict() == {
        "text": "the rain",
        "symbols": ["<s>", "the", "rain", "</s>"],
        "vectors": symbols.vectors.tolist(),
    }
    assert json.loads(json.dumps([found, vector.to_dict(), symbols.to_dict()]))
