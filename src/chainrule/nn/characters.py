"""Words from their letters: a character CNN with highway layers (Kim et al. 2016); unseen words have vectors, too."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from chainrule.nn import tap
from chainrule.nn.product import Linear
from chainrule.nn.spelled import Spelled
from chainrule.symbols import BYTE_LETTER, LETTERS, NO_LETTER, WORD_BEGIN, WORD_END

FILTERS = (
    (1, 32),
    (2, 32),
    (3, 64),
    (4, 64),
    (5, 64),
)  # letters seen at once, and how many filters see so many


class Highway(nn.Module):
    """Highway layer: g * relu(W x) + (1 - g) * x, with a gate g that begins by letting x through."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.transform, self.gate = Linear(width, width), Linear(width, width)
        nn.init.constant_(self.gate.bias, -1.0)

    def forward(self, vectors: Tensor) -> Tensor:
        gate = torch.sigmoid(self.gate(vectors))
        found: Tensor = gate * F.relu(self.transform(vectors)) + (1.0 - gate) * vectors
        return found


class CharacterCNN(nn.Module):
    """Letters (N, C) -> vectors (N, D): convolutions of several widths, their maximum over a word, highway layers.

    What comes after the end of a word changes nothing.
    """

    def __init__(
        self,
        width: int,
        *,
        letter: int = 16,
        filters: Sequence[tuple[int, int]] = FILTERS,
        highways: int = 1,
    ) -> None:
        """`width` is D; `letter` the size of a letter's embedding."""
        super().__init__()
        total = sum(count for _, count in filters)
        self.width = width
        self.embedding = nn.Embedding(LETTERS, letter, padding_idx=NO_LETTER)
        self.filters = nn.ModuleList(nn.Conv1d(letter, count, size) for size, count in filters)
        self.highways = nn.ModuleList(Highway(total) for _ in range(highways))
        self.projection = Linear(total, width)

    def forward(self, letters: Tensor) -> Tensor:
        real = letters != NO_LETTER  # (N, C)
        columns = max(1, int(real.sum(1).max())) if len(letters) else 1
        vectors = self.embedding(letters[:, :columns].long()).transpose(1, 2)  # (N, E, C)
        outside = ~real[:, None, :columns]
        found = torch.cat([_greatest(one, vectors, outside) for one in self.filters], 1)  # (N, F)
        for highway in self.highways:
            found = highway(found)
        return self.projection(found)  # type: ignore[no-any-return]


def _greatest(filters: nn.Module, vectors: Tensor, outside: Tensor) -> Tensor:
    """Max over time (N, F), of the windows that begin with a letter of the word."""
    assert isinstance(filters, nn.Conv1d)
    values = filters(F.pad(vectors, (0, filters.kernel_size[0] - 1)))  # (N, F, C)
    return F.relu(values.masked_fill(outside, -torch.inf).amax(2))


class SpelledEmbedding(Spelled):
    """Embeddings (B, T, D) of words (B, T) from how they are spelled.

    Every word of a batch is looked at once, however often it occurs.
    """

    def __init__(self, reader: CharacterCNN, vocab_size: int, letters: int) -> None:
        super().__init__(numbered(vocab_size, letters))
        self.reader = reader

    def forward(self, tokens: Tensor) -> Tensor:
        words, place = torch.unique(tokens, return_inverse=True)  # (N,), (B, T)
        vectors: Tensor = tap.tell(self, "words", self.reader(self.spelled(words)))  # (N, D)
        return vectors[place]


def numbered(vocab_size: int, letters: int) -> np.ndarray:
    """Spellings (V, C) of words of which nothing is known: their ids, written with bytes for digits."""
    found = np.full((vocab_size, letters), NO_LETTER, np.int16)
    digits = min(4, letters - 2)
    ids = np.arange(vocab_size)[:, None] >> (8 * np.arange(digits))
    found[:, 0], found[:, digits + 1] = WORD_BEGIN, WORD_END
    found[:, 1 : digits + 1] = (ids & 255) + BYTE_LETTER
    return found
