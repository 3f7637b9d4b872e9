"""Marian and Pegasus in the Hugging Face format: encoder-decoders, layer norm after the residual or before it.

Both begin to write with the padding token. Marian's own is a vector of zeros, and CTranslate2 takes it for that: so
what our BOS has learnt goes into the first position of the decoder, where it adds up to the same.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
import torch

from chainrule.errors import ModelError
from chainrule.interop.huggingface.layout import ACTIVATIONS, Arrays, Format, TensorMap, activation, layer
from chainrule.interop.huggingface.values import Values
from chainrule.nn.position import sinusoidal
from chainrule.symbols import EOS, FIRST, PAD, UNK
from chainrule.tasks.base import Task

BODY, BIAS = "model.", "final_logits_bias"
TABLE, POSITIONS = f"{BODY}shared.weight", f"{BODY}{{}}.embed_positions.weight"
COPIES = (f"{BODY}encoder.embed_tokens.weight", f"{BODY}decoder.embed_tokens.weight", "lm_head.weight")
SIDES = {"encoder.blocks": "encoder", "blocks": "decoder"}
SELF = {
    "attention.qkv": ("self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj"),
    "attention.out": ("self_attn.out_proj",),
    "attention_norm": ("self_attn_layer_norm",),
    "up": ("fc1",),
    "down": ("fc2",),
    "mlp_norm": ("final_layer_norm",),
}
CROSS = {
    "cross.q": ("encoder_attn.q_proj",),
    "cross.kv": ("encoder_attn.k_proj", "encoder_attn.v_proj"),
    "cross.out": ("encoder_attn.out_proj",),
    "cross_norm": ("encoder_attn_layer_norm",),
}
EPSILON, CLOSE = 1e-5, 2e-3  # of their layer norms; how near sinusoids of 16 bits are
OLD = {"normalize_embedding": False, "static_position_embeddings": True, "extra_pos_embeddings": 0}


class MarianFormat(Format):
    """`MarianMTModel` is `transformer` with sinusoidal positions, --norm post and one vocabulary for both sides."""

    kind, family, prefix = "marian", "transformer", BODY
    architecture: ClassVar[str] = "MarianMTModel"
    norm: ClassVar[str] = "post"
    unread = re.compile(r"\.embed_positions\.|\.embed_tokens\.|^lm_head\.weight$")
    names: ClassVar = {
        "pad": ("pad_token",),
        "bos": (),
        "eos": ("eos_token",),
        "unk": ("unk_token",),
        "mask": ("mask_token",),
    }
    keys: ClassVar = {
        "pad": ("pad_token_id",),
        "bos": ("decoder_start_token_id",),
        "eos": ("eos_token_id", "forced_eos_token_id"),
    }
    rows = 58101
    inputs = ("input_ids", "attention_mask")
    framed = False, True

    def holds(self, config: Any) -> bool:
        return bool(config.norm == self.norm)

    def order(self, size: int) -> np.ndarray:
        """As Marian has it: EOS, UNK, all symbols, and padding at the end."""
        return np.array([EOS, UNK, *range(FIRST, size), PAD])

    def settings(self, values: Values) -> dict[str, Any]:
        for name, wanted in (OLD | {"normalize_before": self.norm == "pre"}).items():
            values.expect(name, wanted)
        values.expect("share_encoder_decoder_embeddings", True)
        values.expect("tie_word_embeddings", True)
        rows, width = values.whole("vocab_size", self.rows), values.whole("d_model", 1024)
        values.expect("decoder_vocab_size", rows)
        start = values.found.get("decoder_start_token_id")
        if type(start) is not int or not 0 <= start < rows:
            raise values.error(
                f"decoder_start_token_id should be a whole number below {rows:,}, not {start!r}"
            )
        if width % 2:
            raise values.error(f"d_model is {width}, and half of the numbers of a position are sines")
        same = {
            name: values.whole(f"encoder_{name}", usual)
            for name, usual in (("attention_heads", 16), ("ffn_dim", 4096))
        }
        for name, number in same.items():
            values.expect(f"decoder_{name}", number)
        return {
            "layers": values.whole("decoder_layers", 12),
            "encoder_layers": values.whole("encoder_layers", 12),
            "width": width,
            "heads": same["attention_heads"],
            "context": values.whole("max_position_embeddings", 1024),
            "ffn_width": same["ffn_dim"],
            "activation": activation(values, "activation_function", "gelu"),
            "epsilon": EPSILON,
            "dropout": values.number("dropout", 0.1),
            "positions": "sinusoidal",
            "norm": self.norm,
            "scale_embedding": values.flag("scale_embedding", False),
            "output_bias": True,
        }

    def described(self, config: Any, task: Task) -> dict[str, Any]:
        self._check(config)
        sides = {
            "layers": (config.encoder_layers or config.layers, config.layers),
            "attention_heads": (config.heads,) * 2,
            "ffn_dim": (config.ffn_width or 4 * config.width,) * 2,
        }
        both = zip(("encoder", "decoder"), range(2), strict=True)
        return {
            "architectures": [self.architecture],
            "model_type": self.kind,
            "is_encoder_decoder": True,
            "d_model": config.width,
            **{f"{side}_{name}": found[number] for side, number in both for name, found in sides.items()},
            "max_position_embeddings": config.context,
            "activation_function": ACTIVATIONS[config.activation][0],
            "dropout": config.dropout,
            "scale_embedding": config.scale_embedding,
            "tie_word_embeddings": True,
            "normalize_before": self.norm
            == "pre",  # as files of older versions say, and CTranslate2 wants to hear
            "normalize_embedding": False,
        }

    def _check(self, config: Any) -> None:
        """Refuse what the format cannot say."""
        for flag, value, wanted in (
            ("--positions", config.positions, "sinusoidal"),
            ("--tied", "auto" if config.shared else config.tied, "auto"),
            ("--epsilon", config.epsilon, EPSILON),
        ):
            if value != wanted:
                raise ModelError(
                    f"This model has {flag} {value}, and {self.kind}'s format knows {wanted} only. To export, train "
                    f"with {flag} {wanted}."
                )
        if config.source_size:
            raise ModelError(
                f"Source and target have vocabularies of their own, and {self.kind}'s format has one tokenizer for "
                "both. To export, train with --codec subwords --shared-vocab."
            )
        if config.width % 2:
            raise ModelError(
                f"Half of the numbers of a position are sines in {self.kind}'s format: train with an even --width."
            )

    def parts(self, config: Any) -> list[TensorMap]:
        found = [
            TensorMap("embedding.weight", (TABLE,), ids=True),
            TensorMap("output.bias", (BIAS,), ids=True),
        ]
        depth = {"encoder": config.encoder_layers or config.layers, "decoder": config.layers}
        for here, side in SIDES.items():
            named = SELF if side == "encoder" else SELF | CROSS
            for place in range(depth[side]):
                there = f"{BODY}{side}.layers.{place}"
                for ours, theirs in named.items():
                    found += layer(f"{here}.{place}.{ours}", [f"{there}.{name}" for name in theirs])
        return found

    def added(self, arrays: Arrays) -> dict[str, np.ndarray]:
        """A bias of zeros, where ours has none: there it also says what is never predicted."""
        bias = np.zeros(len(arrays["embedding.weight"]), np.float32)
        return {} if "output.bias" in arrays else {"output.bias": bias}

    def tidied(self, arrays: dict[str, np.ndarray], values: Values) -> dict[str, np.ndarray]:
        """One table, a bias for each row of it, and what the first position of the decoder adds in that of BOS."""
        found = dict(arrays)
        copies = [name for name in (TABLE, *COPIES) if name in found]
        if not copies:
            return found
        table = found[TABLE] = np.array(found[copies[0]], np.float32)
        if any(not np.array_equal(found[name], table) for name in copies[1:]):
            raise values.error("encoder, decoder and output have different tables of embeddings")
        if table.ndim != 2:
            return found  # the shape is what will be complained about
        bias = np.asarray(found.get(BIAS, np.zeros(len(table), np.float32)))
        found[BIAS] = bias.reshape(-1)
        self._first_position(found, table, values)
        return found

    def _first_position(self, found: Arrays, table: np.ndarray, values: Values) -> None:
        """Positions must be sinusoids; only the first one of a decoder may hold more, which becomes BOS."""
        for side in ("encoder", "decoder"):
            given = found.get(POSITIONS.format(side))
            if given is None:
                continue
            if given.ndim != 2 or given.shape[1] != table.shape[1]:
                raise values.error(f"the table of positions of the {side} has the shape {given.shape}")
            more = np.asarray(given, np.float32) - waves(*given.shape)
            free = int(side == "decoder")
            if not (np.abs(more[free:]) < CLOSE).all():
                raise values.error(f"positions of the {side} are no sinusoids")
            if side == "decoder" and more[:1].any():
                self._told(table, more[0], values)

    def _told(self, table: np.ndarray, more: np.ndarray, values: Values) -> None:
        """The token that writing begins with has a vector of its own."""
        start = values.found["decoder_start_token_id"]
        if start != values.found.get("pad_token_id") or start >= len(table):
            raise values.error(
                "the first position of the decoder is no sinusoid, and writing begins with a symbol"
            )
        table[start] += more / self._scale(values.flag("scale_embedding", False), table.shape[1])

    @staticmethod
    def _scale(scaled: bool, width: int) -> float:
        return float(np.sqrt(width)) if scaled else 1.0

    def finished(
        self, arrays: dict[str, np.ndarray], config: Any, values: Mapping[str, Any]
    ) -> dict[str, np.ndarray]:
        """A bias of one row; the token that writing begins with is zero, as padding is."""
        found = arrays | {BIAS: arrays[BIAS][None]}
        start = values["decoder_start_token_id"]
        if start != values.get("pad_token_id") or not found[TABLE][start].any():
            return found
        table, places = found[TABLE].copy(), waves(config.context, config.width)
        places[0] += self._scale(config.scale_embedding, config.width) * table[start]
        table[start] = 0.0
        return found | {TABLE: table, POSITIONS.format("decoder"): places}


class PegasusFormat(MarianFormat):
    """`PegasusForConditionalGeneration` is the same with --norm pre, and a layer norm after the last layer."""

    kind = "pegasus"
    architecture = "PegasusForConditionalGeneration"
    norm = "pre"
    rows = 50265

    def parts(self, config: Any) -> list[TensorMap]:
        ends = [
            *layer("encoder.norm", [f"{BODY}encoder.layer_norm"]),
            *layer("norm", [f"{BODY}decoder.layer_norm"]),
        ]
        return [*super().parts(config), *ends]

    def finished(
        self, arrays: dict[str, np.ndarray], config: Any, values: Mapping[str, Any]
    ) -> dict[str, np.ndarray]:
        """Positions are written down here."""
        places = {
            POSITIONS.format(side): waves(config.context, config.width) for side in ("encoder", "decoder")
        }
        return places | super().finished(arrays, config, values)


def waves(count: int, width: int) -> np.ndarray:
    """The sinusoids of so many positions: (count, width)."""
    found: np.ndarray = sinusoidal(torch.arange(count), width).numpy()
    return found
