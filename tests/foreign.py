"""Small random models as `transformers` saves them, and what they say beside ours."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from chainrule.bundle import Bundle
from chainrule.codecs.base import Texts
from chainrule.symbols import PAD

os.environ["HF_HUB_OFFLINE"] = "1"
transformers = pytest.importorskip("transformers")
LINES = [
    "the cat sat on the mat",
    "the dog sat, and the cat ran",
    "naïve Zoë is 12 — or 13?",
    "a hat on a mat",
]
GPT = {"n_layer": 2, "n_embd": 16, "n_head": 2, "n_positions": 24, "initializer_range": 0.3}
BERT = {
    "num_hidden_layers": 2,
    "hidden_size": 16,
    "num_attention_heads": 2,
    "intermediate_size": 40,
    "max_position_embeddings": 24,
    "initializer_range": 0.3,
}
MARIAN = {
    "d_model": 16,
    "encoder_layers": 1,
    "decoder_layers": 2,
    "encoder_attention_heads": 2,
    "decoder_attention_heads": 2,
    "encoder_ffn_dim": 40,
    "decoder_ffn_dim": 40,
    "max_position_embeddings": 64,
    "init_std": 0.3,
    "activation_function": "swish",
    "scale_embedding": True,
}
END = "<|endoftext|>"


def byte_pairs() -> Any:
    """A small tokenizer of the kind of GPT-2."""
    from tokenizers import Tokenizer as Backend
    from tokenizers import models, pre_tokenizers, trainers

    backend = Backend(models.BPE())
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    trainer = trainers.BpeTrainer(
        vocab_size=280, initial_alphabet=alphabet, special_tokens=[END], show_progress=False
    )
    backend.train_from_iterator(LINES, trainer)
    model = json.loads(backend.to_str())["model"]
    return transformers.GPT2Tokenizer(vocab=model["vocab"], merges=[tuple(pair) for pair in model["merges"]])


def word_pieces() -> Any:
    """A small tokenizer of the kind of BERT, its special tokens not where ours are."""
    letters = "abcdefghijklmnopqrstuvwxyz0123456789,?—"
    pieces = [
        "[PAD]",
        *letters,
        *(f"##{one}" for one in letters),
        "the",
        "cat",
        "[UNK]",
        "[CLS]",
        "[SEP]",
        "[MASK]",
    ]
    return transformers.BertTokenizer(
        vocab={piece: place for place, piece in enumerate([*pieces, "mat", "##at"])}
    )


def gpt2(folder: Path, kind: str = "GPT2LMHeadModel", **settings: Any) -> Path:
    """A folder with a random GPT-2 as `transformers` saves it."""
    tokenizer = byte_pairs()
    end = tokenizer.convert_tokens_to_ids(END)
    usual = GPT | {"vocab_size": len(tokenizer), "bos_token_id": end, "eos_token_id": end}
    return _saved(folder / "gpt2", transformers.GPT2Config(**(usual | settings)), kind, tokenizer)


def bert(folder: Path, kind: str = "BertForPreTraining", **settings: Any) -> Path:
    """A folder with a random BERT as `transformers` saves it."""
    tokenizer = word_pieces()
    config = transformers.BertConfig(**(BERT | {"vocab_size": len(tokenizer)} | settings))
    return _saved(folder / "bert", config, kind, tokenizer)


def sentence_pairs() -> Any:
    """A small tokenizer of the kind of Marian: EOS, the unknown, sub-words, padding at the end; EOS ends a text."""
    from tokenizers import Tokenizer as Backend
    from tokenizers import decoders, models, pre_tokenizers, processors

    model = json.loads(byte_pairs().backend_tokenizer.to_str())["model"]
    pieces = ["</s>", "<unk>", *(one for one in model["vocab"] if one != END), "<pad>"]
    merges = [tuple(pair) for pair in model["merges"]]
    backend = Backend(models.BPE({piece: place for place, piece in enumerate(pieces)}, merges))
    backend.add_special_tokens(["</s>", "<unk>", "<pad>"])
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    backend.decoder = decoders.ByteLevel()
    backend.post_processor = processors.TemplateProcessing(single="$A </s>", special_tokens=[("</s>", 0)])
    tokens = {"eos_token": "</s>", "unk_token": "<unk>", "pad_token": "<pad>"}
    return transformers.PreTrainedTokenizerFast(tokenizer_object=backend, **tokens)


def marian(folder: Path, kind: str = "MarianMTModel", **settings: Any) -> Path:
    """A folder with a random Marian, or Pegasus, as `transformers` saves it."""
    tokenizer = sentence_pairs()
    last = len(tokenizer) - 1
    ids = {"pad_token_id": last, "decoder_start_token_id": last, "eos_token_id": 0, "forced_eos_token_id": 0}
    made = transformers.MarianConfig if kind == "MarianMTModel" else transformers.PegasusConfig
    config = made(**(MARIAN | ids | {"vocab_size": len(tokenizer)} | settings))
    return _saved(folder / "marian", config, kind, tokenizer)


WRITERS = ("MarianMTModel", "PegasusForConditionalGeneration")
FOLDERS = {"gpt2": gpt2, "bert": bert}


def _saved(folder: Path, config: Any, kind: str, tokenizer: Any) -> Path:
    torch.manual_seed(0)
    model = getattr(transformers, kind)(config)
    for name, one in [*model.named_parameters(), *model.named_buffers()]:
        if not name.endswith(("position_ids", "token_type_ids", "embed_positions.weight")):
            one.data += 0.1 * torch.randn_like(one)  # biases and norms, too
    if kind in WRITERS:
        model.get_input_embeddings().weight.data[config.pad_token_id] = 0.0
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def theirs(folder: Path, kind: str) -> Any:
    """Their model of a folder, nothing of it left over or made up; some of its heads may not be asked for."""
    model, info = getattr(transformers, kind).from_pretrained(folder, output_loading_info=True)
    heads = ("bert.pooler.", "cls.seq_relationship.") if kind == "AutoModelForMaskedLM" else ()
    known = json.loads((folder / "config.json").read_text())["architectures"] == ["BertForPreTraining"]
    assert not info["missing_keys"] and not info["mismatched_keys"]
    assert all(known and name.startswith(heads) for name in info["unexpected_keys"])
    return model.eval()


def logits_of(bundle: Bundle, tokens: torch.Tensor) -> torch.Tensor:
    """(B, T, V) of ours."""
    with bundle.model.inference():
        hidden, _ = bundle.model.read(tokens, bundle.model.start(len(tokens)))
        return bundle.model.logits(hidden)


def agree(
    bundle: Bundle, tokens: torch.Tensor, found: torch.Tensor, order: np.ndarray, within: float
) -> None:
    """Their logits (B, T, rows) equal ours wherever a symbol can be predicted and no padding stands."""
    predicted = [one for one in range(bundle.codec.size) if one not in bundle.model.config.suppressed]
    real = tokens != PAD
    ours = logits_of(bundle, tokens)[..., predicted][real]
    np.testing.assert_allclose(ours, found[..., order[predicted]][real], atol=within)
    assert ours.std() > 0.1


def rows(bundle: Bundle, *texts: str) -> torch.Tensor:
    """Texts as ids (B, T), filled up with PAD."""
    found = [torch.from_numpy(bundle.codec.encode(Texts.of([text])).ids).long() for text in texts]
    return torch.nn.utils.rnn.pad_sequence(found, batch_first=True, padding_value=PAD)


def asked(tokens: torch.Tensor, order: np.ndarray, **more: Any) -> dict[str, Any]:
    """The same for their models."""
    return {"input_ids": torch.from_numpy(order)[tokens], "attention_mask": (tokens != PAD).long(), **more}
