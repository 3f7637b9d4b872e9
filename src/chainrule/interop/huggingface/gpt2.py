"""GPT-2 in the Hugging Face format: its linear weights are transposed, and one token is BOS, EOS and UNK."""

from __future__ import annotations

import re
from typing import Any, ClassVar

from chainrule.errors import ModelError
from chainrule.interop.huggingface.layout import ACTIVATIONS, Format, TensorMap, activation, layer
from chainrule.interop.huggingface.values import Values
from chainrule.tasks.base import Task

BODY = "transformer."
LAYERS = {
    "attention.qkv": "attn.c_attn",
    "attention.out": "attn.c_proj",
    "up": "mlp.c_fc",
    "down": "mlp.c_proj",
}
NORMS = {"attention_norm": "ln_1", "mlp_norm": "ln_2"}
END = "<|endoftext|>"


class Gpt2Format(Format):
    """`GPT2LMHeadModel` is `gpt` with learned positions, normalised first, without a bias at the end."""

    kind, family, prefix = "gpt2", "gpt", BODY
    unread = re.compile(r"\.attn\.(masked_)?bias$|^lm_head\.weight$")
    tokens: ClassVar = {"bos": END, "eos": END, "unk": END}
    names: ClassVar = {
        "pad": ("pad_token",),
        "bos": ("bos_token", "cls_token"),
        "eos": ("eos_token", "sep_token"),
        "unk": ("unk_token",),
        "mask": ("mask_token",),
    }
    rows = 50257
    inputs = ("input_ids", "attention_mask")
    framed = True, False
    keys: ClassVar = {role: (f"{role}_token_id",) for role in ("pad", "bos", "eos")}

    def settings(self, values: Values) -> dict[str, Any]:
        values.expect("add_cross_attention", False)
        values.expect("scale_attn_by_inverse_layer_idx", False)
        values.expect("scale_attn_weights", True)
        return {
            "layers": values.whole("n_layer", 12),
            "width": values.whole("n_embd", 768),
            "heads": values.whole("n_head", 12),
            "context": values.whole("n_positions", 1024),
            "ffn_width": values.whole("n_inner", None),
            "activation": activation(values, "activation_function", "gelu_new"),
            "epsilon": values.number("layer_norm_epsilon", 1e-5),
            "dropout": values.number("resid_pdrop", 0.1),
            "positions": "learned",
            "norm": "pre",
            "tied": "auto" if values.flag("tie_word_embeddings", True) else "no",
        }

    def described(self, config: Any, task: Task) -> dict[str, Any]:
        for name, wanted in (("positions", "learned"), ("norm", "pre"), ("attention", "heads")):
            value = getattr(config, name)
            if value != wanted:
                raise ModelError(
                    f"GPT-2's format has no {value} {name}: there it is always {wanted}. To export, train with "
                    f"--model gpt --positions learned --norm pre."
                )
        return {
            "architectures": ["GPT2LMHeadModel"],
            "model_type": self.kind,
            "n_layer": config.layers,
            "n_embd": config.width,
            "n_head": config.heads,
            "n_positions": config.context,
            "n_inner": config.ffn_width,
            "activation_function": ACTIVATIONS[config.activation][0],
            "layer_norm_epsilon": config.epsilon,
            "resid_pdrop": config.dropout,
            "embd_pdrop": config.dropout,
            "attn_pdrop": config.dropout,
            "tie_word_embeddings": config.shared,
        }

    def parts(self, config: Any) -> list[TensorMap]:
        found = [
            TensorMap("embedding.weight", (f"{BODY}wte.weight",), ids=True),
            TensorMap("positions.weight", (f"{BODY}wpe.weight",)),
            *layer("norm", [f"{BODY}ln_f"]),
        ]
        for place in range(config.layers):
            here, there = f"blocks.{place}", f"{BODY}h.{place}"
            for ours, theirs in LAYERS.items():
                found += layer(f"{here}.{ours}", [f"{there}.{theirs}"], transposed=True)
            for ours, theirs in NORMS.items():
                found += layer(f"{here}.{ours}", [f"{there}.{theirs}"])
        return found if config.shared else [*found, TensorMap("output.weight", ("lm_head.weight",), ids=True)]
