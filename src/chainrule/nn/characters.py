"""Words from their letters: a character CNN with highway layers (Kim et al. 2016), a character LSTM that reads both
ways (Lample et al. 2016), or character n-grams (fastText); unseen words have vectors, too.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from chainrule.nn import tap
from chainrule.nn.cells import LstmCell
from chainrule.nn.letters import greatest
from chainrule.nn.product import Linear
from chainrule.nn.recurrent import BothWays, OneWay
from chainrule.nn.spelled import Spelled
from chainrule.symbols import BYTE_LETTER, LETTERS, NO_LETTER, WORD_BEGIN, WORD_END

FILTERS = (
    (1, 32),
    (2, 32),
    (3, 64),
    (4, 64),
    (5, 64),
)  # letters seen at once, and how many filters see so many
PRIME, MODULUS = 1_000_003, (1 << 31) - 1  # of the numbers of n-grams


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
        self.width, self.most = width, max(size for size, _ in filters)
        self.embedding = nn.Embedding(LETTERS, letter, padding_idx=NO_LETTER)
        self.filters = nn.ModuleList(nn.Conv1d(letter, count, size) for size, count in filters)
        self.highways = nn.ModuleList(Highway(total) for _ in range(highways))
        self.projection = Linear(total, width)

    def forward(self, letters: Tensor) -> Tensor:
        lengths = (letters != NO_LETTER).sum(1).clamp(min=1)  # (N,)
        found = greatest(letters, lengths, self._table(), self._widths()) + self._biases()
        found = F.relu(found)  # (N, F)
        for highway in self.highways:
            found = highway(found)
        return self.projection(found)  # type: ignore[no-any-return]

    def _table(self) -> Tensor:
        """What filters make of each letter at each of their places (P, L, F); 0 where a narrower one does not reach."""
        weights = [F.pad(one.weight, (0, self.most - one.weight.shape[2])) for one in self.filters]  # type: ignore
        vectors = self.embedding(torch.arange(LETTERS, device=self.embedding.weight.device))  # (L, E)
        return torch.einsum("le,fep->plf", vectors, torch.cat(weights)).contiguous()

    def _widths(self) -> Tensor:
        """Of the filters (F,)."""
        return torch.tensor([one.kernel_size[0] for one in self.filters for _ in one.bias])  # type: ignore

    def _biases(self) -> Tensor:
        """Of the filters (F,)."""
        return torch.cat([one.bias for one in self.filters])  # type: ignore


class CharacterLSTM(nn.Module):
    """Letters (N, C) -> vectors (N, D): what an LSTM has read at the end of a word, and backwards at its beginning."""

    def __init__(self, width: int, *, letter: int = 16) -> None:
        """`width` is D, half of it for each direction; `letter` the size of a letter's embedding."""
        super().__init__()
        self.width = width
        self.embedding = nn.Embedding(LETTERS, letter, padding_idx=NO_LETTER)
        ahead, back = LstmCell(letter, width // 2), LstmCell(letter, width - width // 2)
        self.layer = BothWays(OneWay(ahead), OneWay(back, backward=True))

    def forward(self, letters: Tensor) -> Tensor:
        lengths = (letters != NO_LETTER).sum(1)  # (N,)
        columns = max(1, int(lengths.max())) if len(letters) else 1
        vectors = self.embedding(letters[:, :columns].long())  # (N, C, E)
        _, (ahead, _, back, _) = self.layer(vectors, self.layer.start(len(letters)), lengths)
        return torch.cat([ahead, back], 1)


class CharacterNgrams(nn.Module):
    """Letters (N, C) -> vectors (N, D): the mean over the n-grams of a word, which share the rows of one table."""

    def __init__(self, width: int, rows: int, sizes: tuple[int, int] = (3, 6), spread: float = 0.25) -> None:
        super().__init__()
        self.width, self.rows, self.sizes = width, rows, sizes
        self.table = nn.Embedding(rows, width)
        nn.init.uniform_(self.table.weight, -spread, spread)

    def forward(self, letters: Tensor) -> Tensor:
        grams, real = self._grams(letters.long())  # (N, G)
        counts = real.sum(1)  # (N,)
        found = F.embedding_bag(grams[real], self.table.weight, counts.cumsum(0) - counts, mode="mean")
        return found

    def _grams(self, letters: Tensor) -> tuple[Tensor, Tensor]:
        """The row of each n-gram, and which of them are there."""
        low, high = self.sizes
        hashes, found, real = torch.zeros_like(letters), [], []
        for size in range(1, high + 1):
            last = F.pad(letters[:, size - 1 :], (0, size - 1), value=NO_LETTER)[:, : letters.shape[1]]
            hashes = (hashes * PRIME + last + 1) % MODULUS
            if size >= low:
                found.append(hashes % self.rows)
                real.append(last != NO_LETTER)
        return torch.cat(found, 1), torch.cat(real, 1)


class SpelledEmbedding(Spelled):
    """Embeddings (B, T, D) of words (B, T) from how they are spelled.

    Every word of a batch is looked at once, however often it occurs.
    """

    def __init__(
        self, reader: CharacterCNN | CharacterLSTM | CharacterNgrams, vocab_size: int, letters: int
    ) -> None:
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
