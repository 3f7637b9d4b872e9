"""Answers of several models averaged: what a task must know so that an ensemble can do it.

Every model reads the texts with its own codec, in its own windows, by its own settings of the task. What it thinks of
each example is a row of numbers, probabilities or a value; the weighted mean of these rows is what the ensemble thinks.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, final

import numpy as np

from chainrule.codecs.base import Codec, Texts
from chainrule.data.corpus import Corpus, Part
from chainrule.models.base import Body
from chainrule.models.ensemble import Ensemble, Member
from chainrule.symbols import BOS, FIRST
from chainrule.tasks.supervised import Supervised

if TYPE_CHECKING:
    from chainrule.heads.base import Head

LEAST = 1e-15  # a probability below this is taken as this


@dataclass(frozen=True, kw_only=True)
class Averaged(Supervised):
    """A task whose answers can be averaged."""

    @abstractmethod
    def opinion(self, body: Body, head: Any, part: Part, codecs: Mapping[str, Codec]) -> np.ndarray:
        """What one model thinks (N, K) of every example, or of every word: probabilities, or a number."""

    @abstractmethod
    def as_logits(self, opinion: np.ndarray) -> np.ndarray:
        """The logits (N, K) of a model that thinks so."""

    @abstractmethod
    def trust(
        self, opinions: Sequence[np.ndarray], part: Part, codecs: Mapping[str, Codec]
    ) -> tuple[float, ...]:
        """The weight of each model, fitted on examples whose right answers are known."""

    @abstractmethod
    def ensemble_head(self, parts: Sequence[Mapping[str, Any]], codecs: Mapping[str, Codec]) -> Head:
        """One that holds these heads."""

    @final
    def averaged(self, body: Ensemble, head: Any, part: Part, codecs: Mapping[str, Codec]) -> np.ndarray:
        """Logits (N, K) of an ensemble, before any temperature."""
        found = zip(body.config.weights, self.opinions(body, head, part, codecs), strict=True)
        return self.as_logits(sum((weight * one for weight, one in found), np.zeros(())))

    @final
    def opinions(
        self, body: Ensemble, head: Any, part: Part, codecs: Mapping[str, Codec]
    ) -> Iterator[np.ndarray]:
        """What each model of an ensemble thinks."""
        for member, own_head in zip(body.members, head.parts, strict=True):
            task = type(self).from_values(member.task)
            model, own_codecs, own_part = self._read_again(member, part, codecs)
            yield task.opinion(model, own_head, own_part, own_codecs)

    def _read_again(
        self, member: Member, part: Part, codecs: Mapping[str, Codec]
    ) -> tuple[Body, Mapping[str, Codec], Part]:
        """A model, and the examples as its own codec reads them; it may know words by their letters."""
        main = self.body_role(codecs)
        if member.reads == main:
            return member.model, codecs, part
        roles = [role.name for role in self.roles() if main in (role.name, role.like) and role.name in part]
        texts = {role: texts_of(part[role]) for role in roles}
        model, codec = _knowing(member.model, codecs[member.reads], list(texts.values()))
        read = {role: replace(part[role], ids=codec.encode(one).ids) for role, one in texts.items()}
        return model, {**codecs, **dict.fromkeys(roles, codec)}, Part({**part, **read})


def _knowing(model: Body, codec: Codec, texts: Sequence[Texts]) -> tuple[Body, Codec]:
    """A model that reads letters is told how all words of these texts are spelled."""
    letters = model.config.word_letters
    if not letters:
        return model, codec
    from chainrule.models.neural import Neural

    assert isinstance(model, Neural)
    more = codec.knowing(lambda: texts)
    return model.respelled(codec.spellings(letters), more.spellings(letters, codec.size)), more


def texts_of(corpus: Corpus) -> Texts:
    """The texts again, from ids of the codec of bytes."""
    ids = np.asarray(corpus.ids)
    starts = np.flatnonzero(ids == BOS)
    ends = np.append(starts[1:], len(ids)) - 1
    data = np.where(ids < FIRST, 0, ids - FIRST).astype(np.uint8)
    return Texts(data, starts + 1, ends)


def probable(chances: np.ndarray) -> np.ndarray:
    """Logarithms of probabilities, none of them infinite."""
    found: np.ndarray = np.log(np.maximum(chances, LEAST))
    return found
