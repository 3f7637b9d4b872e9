"""Word vectors: words that stand in the same contexts are alike."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from chainrule.codecs.base import Codec
from chainrule.data.batches import Batches, TensorBatch
from chainrule.data.corpus import Part
from chainrule.data.roles import Role
from chainrule.data.rows import TEXT
from chainrule.errors import ModelError
from chainrule.models.base import Body
from chainrule.models.state import State
from chainrule.models.vectors import Sentences, WordVectors
from chainrule.symbols import FIRST
from chainrule.tasks.base import BatchSize, Figures, register
from chainrule.tasks.supervised import Teaching

if TYPE_CHECKING:
    from torch import Tensor

    from chainrule.heads.base import Head

MOST = 100_000  # pairs that are judged
APART = 2  # words that stand so far apart at most are neighbours


@register("vectors")
@dataclass(frozen=True, kw_only=True)
class Vectors(Teaching):
    """A vector for every word, judged by whether neighbours in new text are more alike than words drawn at random."""

    shown: ClassVar[tuple[str, ...]] = ("neighbour_auc", "pairs")
    figure: ClassVar[str] = "neighbour_auc"
    maximise: ClassVar[bool] = True
    divides: ClassVar[bool] = False

    def roles(self) -> Sequence[Role]:
        return (Role(TEXT),)

    def head(self, body: Body, codecs: Mapping[str, Codec], seed: int) -> Head | None:
        return None

    def examples(self, part: Part, codecs: Mapping[str, Codec]) -> Sentences:
        codec = codecs[TEXT]
        return Sentences(part[TEXT].ids, [codec.shown(number) for number in range(FIRST, codec.size)])

    def batches(self, body: Body, part: Part, codecs: Mapping[str, Codec], size: BatchSize) -> Batches:
        raise ModelError("Word vectors are not learnt in batches. Use --model vectors for this task.")

    def loss(self, body: Body, head: Head | None, batch: TensorBatch, state: State) -> tuple[Tensor, State]:
        raise ModelError("Word vectors are not learnt in batches. Use --model vectors for this task.")

    def validate(self, body: Body, head: Head | None, part: Part, batches: Batches, most: int) -> float:
        return 1.0 - self.judge(body, head, part, {}).values["neighbour_auc"]

    def judge(self, body: Body, head: Head | None, part: Part, codecs: Mapping[str, Codec]) -> Figures:
        """How often a neighbour is nearer, by cosine, than another word of the same text: 0.5 is chance."""
        assert isinstance(body, WordVectors)
        left, right = _neighbours(np.asarray(part[TEXT].ids))
        if not len(left):
            return Figures({"neighbour_auc": 0.5, "pairs": 0}, ("no two known words stand side by side",))
        rng = np.random.default_rng(0)
        if len(left) > MOST:
            some = rng.choice(len(left), MOST, replace=False)
            left, right = left[some], right[some]
        near = _cosines(body.table, left, right)
        far = _cosines(body.table, left, rng.permutation(right))
        share = float((near > far).mean() + 0.5 * (near == far).mean())
        return Figures({"neighbour_auc": share, "pairs": len(left)})


def _neighbours(ids: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Pairs (n,), (n,) of different words that stand at most APART words apart."""
    pairs = [(ids[:-apart], ids[apart:]) for apart in range(1, APART + 1) if len(ids) > apart]
    left, right = (np.concatenate([pair[side] for pair in pairs]) for side in (0, 1))
    real = (left >= FIRST) & (right >= FIRST) & (left != right)
    return left[real], right[real]


def _cosines(table: np.ndarray, left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """(n,) of pairs of words."""
    lengths = np.maximum(np.linalg.norm(table, axis=1), 1e-12)  # (V,)
    found: np.ndarray = np.einsum("nd,nd->n", table[left], table[right]) / (lengths[left] * lengths[right])
    return found
