"""BERT in the Hugging Face format: three layers for queries, keys and values; the masked-LM head may be missing."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from chainrule.interop.huggingface.layout import ACTIVATIONS, Format, OutputHead, TensorMap, activation, layer
from chainrule.interop.huggingface.values import Values
from chainrule.tasks.base import Task

BODY, MLM = "bert.", "cls.predictions."
LAYERS = {
    "attention.qkv": ("attention.self.query", "attention.self.key", "attention.self.value"),
    "attention.out": ("attention.output.dense",),
    "attention_norm": ("attention.output.LayerNorm",),
    "up": ("intermediate.dense",),
    "down": ("output.dense",),
    "mlp_norm": ("output.LayerNorm",),
}
SEGMENTS = f"{BODY}embeddings.token_type_embeddings.weight"


class BertFormat(Format):
    """`BertForPreTraining` is `bert` whole; `BertForMaskedLM` and `BertModel` lack some of its heads."""

    kind, family, prefix = "bert", "bert", BODY
    unread = re.compile(r"\.position_ids$|\.token_type_ids$|^cls\.predictions\.decoder\.(weight|bias)$")
    heads = (
        OutputHead(
            "mlm",
            ("projection.", "output."),
            "the folder has no masked-LM head: a fresh one is there, so scores mean nothing "
            "until it is trained; vectors are those of the folder",
        ),
        OutputHead(
            "pooler", ("pool.",), "the folder has no pooler: a fresh one is there", trained_by="next_sentence"
        ),
        OutputHead(
            "next_sentence",
            ("next_sentence.",),
            "the folder has no head for next sentences: a fresh one is there",
            setting="next_sentence",
            trained_by="next_sentence",
        ),
    )
    names: ClassVar = {
        "pad": ("pad_token",),
        "bos": ("cls_token", "bos_token"),
        "eos": ("sep_token", "eos_token"),
        "unk": ("unk_token",),
        "mask": ("mask_token",),
    }
    rows = 30522
    inputs = ("input_ids", "token_type_ids", "attention_mask")
    framed = True, True
    keys: ClassVar = {"pad": ("pad_token_id",)}

    def settings(self, values: Values) -> dict[str, Any]:
        values.expect("position_embedding_type", "absolute")
        values.expect("is_decoder", False)
        values.expect("add_cross_attention", False)
        if values.whole("type_vocab_size", 2) > 2:
            raise values.error("type_vocab_size is above 2, and chainrule tells two sentences apart")
        return {
            "layers": values.whole("num_hidden_layers", 12),
            "width": values.whole("hidden_size", 768),
            "heads": values.whole("num_attention_heads", 12),
            "context": values.whole("max_position_embeddings", 512),
            "ffn_width": values.whole("intermediate_size", 3072),
            "activation": activation(values, "hidden_act", "gelu"),
            "epsilon": values.number("layer_norm_eps", 1e-12),
            "dropout": values.number("hidden_dropout_prob", 0.1),
            "tied": "auto" if values.flag("tie_word_embeddings", True) else "no",
        }

    def described(self, config: Any, task: Task) -> dict[str, Any]:
        return {
            "architectures": [
                "BertForPreTraining" if getattr(task, "next_sentence", False) else "BertForMaskedLM"
            ],
            "model_type": self.kind,
            "num_hidden_layers": config.layers,
            "hidden_size": config.width,
            "num_attention_heads": config.heads,
            "max_position_embeddings": config.context,
            "intermediate_size": config.ffn_width or 4 * config.width,
            "hidden_act": ACTIVATIONS[config.activation][0],
            "layer_norm_eps": config.epsilon,
            "hidden_dropout_prob": config.dropout,
            "attention_probs_dropout_prob": config.dropout,
            "type_vocab_size": 2,
            "position_embedding_type": "absolute",
            "tie_word_embeddings": config.shared,
        }

    def parts(self, config: Any) -> list[TensorMap]:
        found = [
            TensorMap("embedding.weight", (f"{BODY}embeddings.word_embeddings.weight",), ids=True),
            TensorMap("positions.weight", (f"{BODY}embeddings.position_embeddings.weight",)),
            TensorMap("segments.weight", (SEGMENTS,)),
            *layer("norm", [f"{BODY}embeddings.LayerNorm"]),
            *layer("projection.dense", [f"{MLM}transform.dense"]),
            *layer("projection.norm", [f"{MLM}transform.LayerNorm"]),
            TensorMap("output.bias", (f"{MLM}bias",), ids=True),
            *layer("pool", [f"{BODY}pooler.dense"]),
            *layer(
                "next_sentence", ["cls.seq_relationship"], reversed=True
            ),  # 0 is "next_sentence" there, 1 here
        ]
        for place in range(config.layers):
            there = f"{BODY}encoder.layer.{place}"
            for ours, theirs in LAYERS.items():
                found += layer(f"blocks.{place}.{ours}", [f"{there}.{name}" for name in theirs])
        decoder = TensorMap("output.weight", (f"{MLM}decoder.weight",), ids=True)
        return found if config.shared else [*found, decoder]

    def tidied(self, arrays: dict[str, np.ndarray], values: Values) -> dict[str, np.ndarray]:
        """The bias may stand beside the decoder, and one kind of sentence does for both."""
        found, bias = dict(arrays), arrays.get(f"{MLM}decoder.bias")
        tied = values.flag("tie_word_embeddings", True)
        if bias is not None and not (tied and f"{MLM}bias" in found):
            found[f"{MLM}bias"] = bias
        segments = found.get(SEGMENTS)
        if segments is not None and segments.ndim == 2 and len(segments) == 1:
            found[SEGMENTS] = np.repeat(segments, 2, 0)
        return found

    def finished(
        self, arrays: dict[str, np.ndarray], config: Any, values: Mapping[str, Any]
    ) -> dict[str, np.ndarray]:
        """A decoder with a table of its own has the bias of its own, too."""
        return arrays if config.shared else arrays | {f"{MLM}decoder.bias": arrays[f"{MLM}bias"]}
