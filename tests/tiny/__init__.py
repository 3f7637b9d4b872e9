"""Tiny models, one of each kind of memory, that prove the interface before anything is built on it."""

import torch

from tiny.attention import TinyAttention
from tiny.masked import TinyMasked
from tiny.recurrent import TinyRecurrent
from tiny.table import Table
from tiny.transformer import TinyTransformer
from tiny.translator import TinyTranslator

torch.set_num_threads(1)  # tensors this small are slower in two threads than in one

__all__ = ["Table", "TinyAttention", "TinyMasked", "TinyRecurrent", "TinyTransformer", "TinyTranslator"]
