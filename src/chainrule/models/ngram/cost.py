"""What counting will cost, from a sample: different n-grams grow with the data as a power of their size."""

from __future__ import annotations

import numpy as np

from chainrule.models.base import CostForecast
from chainrule.models.ngram.space import Space
from chainrule.models.ngram.trie import count_ngrams
from chainrule.symbols import BOS, EOS

ORDERS = (1, 2, 3, 5, 8)
# Measured with benchmarks/ngram.py on two cores: reading and encoding a symbol, making an n-gram, starting up.
PER_SYMBOL, PER_NODE, START = 1.2e-7, 3e-7, 0.6
PROCESS = 150_000_000  # bytes of the interpreter and its libraries


def cost_forecasts(sample: np.ndarray, vocab_size: int, symbols: int) -> dict[str, CostForecast]:
    """Memory and time to fit each order."""
    ids = np.concatenate([sample, [EOS]]).astype(np.int32)
    half = np.concatenate([ids[: len(ids) // 2], [EOS]]).astype(np.int32)
    most = max(ORDERS)
    whole, part = (np.diff(count_ngrams(some, vocab_size, most, Space()).levels)[2:] for some in (ids, half))
    power = np.clip(np.log2(np.maximum(whole, 1) / np.maximum(part, 1)), 0, 1)
    nodes = whole * max(1.0, symbols / max(1, int((sample != BOS).sum()))) ** power  # (most - 1,)
    return {f"ngram, order {n}": _forecast(symbols, vocab_size, n, nodes[: n - 1]) for n in ORDERS}


def _forecast(symbols: int, vocab_size: int, order: int, nodes: np.ndarray) -> CostForecast:
    """From the number of different n-grams of lengths 2, 3 …: bytes as `trie`, `estimate` and `packing` hold them."""
    leaves = float(nodes[-1]) if len(nodes) else float(vocab_size)
    contexts = vocab_size + float(nodes[:-1].sum()) if len(nodes) else 1.0
    memory = PROCESS + 4 * symbols + max(5 * symbols, 16 * (leaves + contexts) + 24 * contexts + 8 * leaves)
    seconds = START + PER_SYMBOL * symbols + PER_NODE * (leaves + contexts)
    return CostForecast(int(memory), seconds, {"order": order})
