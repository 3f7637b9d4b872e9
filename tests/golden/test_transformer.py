"""The encoder-decoder is that of torch on the same weights."""

from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor, nn

from chainrule.models.transformer import EncoderDecoderConfig, Transformer
from chainrule.nn.attention import Attention, Block, SelfAttention
from chainrule.nn.position import sinusoidal
from chainrule.symbols import PAD

SIZES = {"vocab_size": 20, "source_size": 15, "layers": 2, "encoder_layers": 3, "width": 16, "heads": 4}


def told(layer: nn.MultiheadAttention, own: SelfAttention | Attention) -> None:
    """torch's attention with our weights."""
    if isinstance(own, SelfAttention):
        weight, bias = own.qkv.weight, own.qkv.bias
    else:
        weight, bias = torch.cat([own.q.weight, own.kv.weight]), torch.cat([own.q.bias, own.kv.bias])
    layer.in_proj_weight.copy_(weight)
    layer.in_proj_bias.copy_(bias)
    layer.out_proj.load_state_dict({"weight": own.out.weight, "bias": own.out.bias})


def theirs(block: Block, pre: bool, decoder: bool) -> nn.Module:
    """One of torch's layers with our weights."""
    kind = nn.TransformerDecoderLayer if decoder else nn.TransformerEncoderLayer
    layer = kind(16, 4, 64, dropout=0.0, batch_first=True, norm_first=pre).eval()
    norms = [block.attention_norm, *([block.cross_norm] if decoder else []), block.mlp_norm]
    with torch.no_grad():
        told(layer.self_attn, block.attention)
        if decoder:
            told(layer.multihead_attn, block.cross)
        for number, norm in enumerate(norms, 1):
            getattr(layer, f"norm{number}").load_state_dict(norm.state_dict())
        layer.linear1.load_state_dict({"weight": block.up.weight, "bias": block.up.bias})
        layer.linear2.load_state_dict({"weight": block.down.weight, "bias": block.down.bias})
    return layer


def placed(table: nn.Embedding, ids: Tensor) -> Tensor:
    """Scaled embeddings and sinusoids, as in the paper."""
    return table(ids) * math.sqrt(16) + sinusoidal(torch.arange(ids.shape[1])[None], 16)


@pytest.mark.parametrize("norm", ["pre", "post"])
def test_every_layer_gives_what_that_of_torch_gives(norm: str) -> None:
    model = Transformer.seeded(EncoderDecoderConfig(**SIZES, norm=norm), 0)
    pre = norm == "pre"
    source = torch.tensor([[6, 7, 8, 9, 2], [10, 2, PAD, PAD, PAD]])
    tokens = torch.tensor([[1, 7, 8, 12], [1, 9, 9, 6]])
    with torch.no_grad():
        hidden, _ = model.read(tokens, model.start(2, source))
        memory, padding = placed(model.source_embedding, source), source == PAD
        for block in model.encoder.blocks.all:
            memory = theirs(block, pre, False)(memory, src_key_padding_mask=padding)
        memory, vectors = model.encoder.norm(memory), placed(model.embedding, tokens)
        ahead = nn.Transformer.generate_square_subsequent_mask(4)
        for block in model.blocks.all:
            layer = theirs(block, pre, True)
            vectors = layer(
                vectors, memory, tgt_mask=ahead, memory_key_padding_mask=padding, tgt_is_causal=True
            )
        assert torch.allclose(hidden, model.norm(vectors), atol=1e-5)
