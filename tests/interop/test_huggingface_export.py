"""Models of ours in folders of Hugging Face: there they say what they say here."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from chainrule.bundle import Bundle, load
from chainrule.cli import main
from chainrule.codecs.base import Texts
from chainrule.codecs.huggingface import HuggingFace
from chainrule.codecs.registry import codec as codec_class
from chainrule.errors import BundleError, CodecError, ModelError
from chainrule.interop.huggingface import export_hf, import_hf
from chainrule.models.bert import Bert, BertConfig
from chainrule.models.gpt import Gpt, GptConfig
from chainrule.store import tensors
from chainrule.symbols import BOS, EOS, FIRST, MASK, PAD
from fitted import fitted
from foreign import FOLDERS, LINES, agree, gpt2, logits_of, rows, theirs, transformers


@pytest.mark.parametrize(
    ("family", "saved", "kind"),
    [
        ("gpt2", "GPT2LMHeadModel", "AutoModelForCausalLM"),
        ("bert", "BertForPreTraining", "AutoModelForMaskedLM"),
        ("bert", "BertForMaskedLM", "AutoModelForMaskedLM"),
    ],
)
@pytest.mark.parametrize("tied", [True, False])
def test_there_and_back_nothing_has_changed(
    family: str, saved: str, kind: str, tied: bool, tmp_path: Path
) -> None:
    folder = FOLDERS[family](tmp_path, saved, tie_word_embeddings=tied)
    import_hf(folder).save(tmp_path / "ours")
    export_hf(load(tmp_path / "ours"), tmp_path / "back")
    before, after = (tensors.read(one / "model.safetensors") for one in (folder, tmp_path / "back"))
    assert set(before) == set(after)
    for name, array in before.items():
        if tied or name != "cls.predictions.bias":  # which nobody reads when the decoder has its own
            np.testing.assert_array_equal(after[name], array)
    assert json.loads((tmp_path / "back/tokenizer.json").read_text()) == json.loads(
        (folder / "tokenizer.json").read_text()
    )
    tokenizers = [transformers.AutoTokenizer.from_pretrained(one) for one in (folder, tmp_path / "back")]
    given = [dict(one(LINES[1], return_tensors="pt")) for one in tokenizers]
    assert set(given[0]) == set(given[1]) and all(
        torch.equal(given[0][one], given[1][one]) for one in given[0]
    )
    assert tokenizers[0].special_tokens_map == tokenizers[1].special_tokens_map
    with torch.no_grad():
        one, other = (theirs(place, kind)(**given[0]).logits for place in (folder, tmp_path / "back"))
    assert torch.equal(one, other)


def trained(codec: str, family: str, **options: Any) -> Bundle:
    """A model of ours, whose weights are as good as any."""
    kind = codec_class(codec)
    made = kind.learn(lambda: [Texts.of(LINES)], kind.Config.from_values(options))
    sizes = {
        "vocab_size": made.size,
        "suppressed": made.suppressed,
        "layers": 2,
        "width": 16,
        "heads": 2,
        "context": 64,
    }
    model: Any = (
        Gpt.seeded(GptConfig(**sizes, positions="learned"), 0)
        if family == "gpt"
        else Bert.seeded(BertConfig(**sizes), 0)
    )
    for one in model.parameters():
        one.data += 0.2 * torch.randn(one.shape, generator=torch.Generator().manual_seed(one.numel()))
    return Bundle.of(made, model)


CODECS = {
    "bytes": {},
    "characters": {},
    "words": {"min_count": 2},
    "subwords": {"vocab": 280},
    "subwords ": {"vocab": 280, "kind": "unigram"},
}


@pytest.mark.parametrize("codec", CODECS)
def test_our_own_gpt_says_the_same_there(codec: str, tmp_path: Path) -> None:
    bundle = trained(codec.strip(), "gpt", **CODECS[codec])
    assert export_hf(bundle, tmp_path / "out") == ()
    tokenizer = transformers.AutoTokenizer.from_pretrained(tmp_path / "out")
    model = theirs(tmp_path / "out", "AutoModelForCausalLM")
    for text in [*LINES, "an unseen ŵord\tand\n\x0b more"]:
        tokens = rows(bundle, text)
        given = tokenizer(text, return_tensors="pt")
        assert given["input_ids"].tolist() == tokens[:, :-1].tolist()
        with torch.no_grad():
            agree(bundle, tokens[:, :-1], model(**given).logits, np.arange(bundle.codec.size), 1e-4)
        if codec != "words":  # white space is all one there
            known = [one for one in given["input_ids"][0].tolist() if one >= FIRST]
            assert tokenizer.decode(known) == bundle.codec.decode(known)


@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize("family", ["gpt", "bert"])
def test_our_own_model_comes_back_as_it_was(family: str, codec: str, tmp_path: Path) -> None:
    bundle = trained(codec.strip(), family, **CODECS[codec])
    export_hf(bundle, tmp_path / "out")
    again = import_hf(tmp_path / "out")
    assert family == "bert" or again.codec.suppressed == bundle.codec.suppressed
    for text in LINES:
        ids = bundle.codec.encode(Texts.of([text])).ids
        assert again.codec.encode(Texts.of([text])).ids.tolist() == ids.tolist()
        np.testing.assert_allclose(again.model.score_ids(ids), bundle.model.score_ids(ids), atol=1e-5)


@pytest.mark.parametrize("codec", CODECS)
def test_our_own_bert_says_the_same_there(codec: str, tmp_path: Path) -> None:
    bundle = trained(codec.strip(), "bert", **CODECS[codec])
    assert export_hf(bundle, tmp_path / "out") == ()
    tokenizer = transformers.AutoTokenizer.from_pretrained(tmp_path / "out")
    given = tokenizer(LINES[0], LINES[3], return_tensors="pt")
    pair = torch.cat([rows(bundle, LINES[0])[0], rows(bundle, LINES[3])[0][1:]])[None]
    assert given["input_ids"].tolist() == pair.tolist()
    with torch.no_grad():
        found = theirs(tmp_path / "out", "AutoModelForMaskedLM")(**given).logits
    agree(bundle, pair, found, np.arange(bundle.codec.size), 1e-4)
    chances, ours = found.softmax(-1), logits_of(bundle, pair).softmax(-1)
    np.testing.assert_allclose(chances, ours, atol=1e-5)  # what is suppressed here is suppressed there
    assert (tokenizer.mask_token_id, tokenizer.cls_token_id, tokenizer.sep_token_id) == (MASK, BOS, EOS)


def test_generating_there_never_gives_what_is_suppressed_here(tmp_path: Path) -> None:
    bundle = trained("characters", "gpt")
    bundle.model.embedding.weight.data[[PAD, BOS, MASK]] *= 50.0  # type: ignore[union-attr]
    export_hf(bundle, tmp_path / "out")
    model = theirs(tmp_path / "out", "AutoModelForCausalLM")
    found = model.generate(torch.tensor([[BOS]]), max_new_tokens=20, do_sample=False)[0].tolist()
    assert bundle.codec.decode(found) == bundle.generate("", 20, beam=1)


def test_a_beginning_that_learnt_a_vector_of_its_own_becomes_a_token(tmp_path: Path) -> None:
    bundle = import_hf(gpt2(tmp_path))
    bundle.model.embedding.weight.data[BOS] += 1.0  # type: ignore[union-attr]
    [note] = export_hf(bundle, tmp_path / "out")
    tokenizer = transformers.AutoTokenizer.from_pretrained(tmp_path / "out")
    assert tokenizer.bos_token in note and tokenizer.bos_token_id == len(tokenizer) - 1
    tokens = rows(bundle, LINES[0])[:, :-1]
    given = torch.tensor([[tokenizer.bos_token_id, *tokenizer(LINES[0])["input_ids"]]])
    assert isinstance(bundle.codec, HuggingFace)
    with torch.no_grad():
        found = theirs(tmp_path / "out", "AutoModelForCausalLM")(given).logits
    agree(bundle, tokens, found, bundle.codec.theirs, 1e-4)
    again = import_hf(tmp_path / "out")
    np.testing.assert_array_equal(
        again.model.score_ids(tokens[0].numpy()), bundle.model.score_ids(tokens[0].numpy())
    )


def test_rows_without_a_token_are_kept(tmp_path: Path) -> None:
    folder = gpt2(tmp_path, vocab_size=300)
    bundle = import_hf(folder)
    assert "rows of the table have no token" in bundle.card["notes"][0]
    export_hf(bundle, tmp_path / "back")
    before, after = (tensors.read(one / "model.safetensors") for one in (folder, tmp_path / "back"))
    np.testing.assert_array_equal(after["transformer.wte.weight"], before["transformer.wte.weight"])


def test_what_their_formats_cannot_say_is_refused(tmp_path: Path) -> None:
    gpt = trained("characters", "gpt")
    assert isinstance(gpt.model, Gpt)
    rotary = Gpt.seeded(replace(gpt.model.config, positions="rotary"), 0)
    last = Gpt.seeded(replace(gpt.model.config, norm="post"), 0)
    simple = trained("words", "gpt", split="simple")
    for bundle, error, message in (
        (
            fitted(),
            ModelError,
            "gpt, bert, transformer go to Hugging Face, and this model is of the family 'ngram'",
        ),
        (replace(gpt, body=rotary), ModelError, "--positions learned"),
        (replace(gpt, body=last), ModelError, "--norm pre"),
        (simple, CodecError, "--split space"),
        (replace(gpt, codecs={"text": fitted("events").codec}), CodecError, "'events' reads what is no text"),
        (trained_on("a <s> b"), CodecError, "'<s>' as an ordinary symbol"),
    ):
        with pytest.raises(error, match=message):
            export_hf(bundle, tmp_path / "out")
    assert not list(tmp_path.iterdir())


def trained_on(line: str) -> Bundle:
    words = codec_class("words").learn(lambda: [Texts.of([line])], codec_class("words").Config())
    return replace(trained("words", "gpt"), codecs={"text": words})


def test_nothing_is_overwritten_unless_it_is_an_export_and_force_is_given(tmp_path: Path) -> None:
    bundle = import_hf(gpt2(tmp_path))
    out = tmp_path / "out"
    export_hf(bundle, out)
    with pytest.raises(BundleError, match="exists already"):
        export_hf(bundle, out)
    export_hf(bundle, out, force=True)
    (out / "diary.txt").write_text("dear diary")
    with pytest.raises(BundleError, match=r"holds diary\.txt"):
        export_hf(bundle, out, force=True)


def test_the_commands_bring_and_take(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ours, back = str(tmp_path / "ours"), str(tmp_path / "back")
    assert main(["import", "hf", str(gpt2(tmp_path)), "-o", ours]) == 0
    told = capsys.readouterr().out
    assert "gpt, 2 layers of width 16 with 2 heads, 24 tokens of context" in told and "parameters" in told
    assert main(["export", "hf", ours, back, "--json"]) == 0
    values = json.loads(capsys.readouterr().out)
    assert values["family"] == "gpt" and values["notes"] == [] and values["output"] == back
    assert main(["export", "hf", ours, back]) == 1 and main(["export", "hf", ours, back, "--force"]) == 0
    assert main(["export", "hf", ours, ours, "--force"]) == 1
    assert main(["import", "hf", back, "-o", ours, "--force", "--json"]) == 0
    capsys.readouterr()
    assert main(["generate", ours, "the cat", "--length", "3", "--seed", "1"]) == 0
    assert capsys.readouterr().out.startswith("the cat")
