"""Settings of generation, for sampling and beam search, and constraints on ids."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from chainrule.config import Config, option, settings
from chainrule.errors import ConfigError
from chainrule.symbols import EOS, IDS

Phrase = tuple[int, ...]
SEEDS = -(1 << 63), (1 << 64) - 1  # what 64 bits hold, with a sign or without


@dataclass(frozen=True, kw_only=True)
class GenerationConfig(Config):
    """Settings of generation; those of sampling and those of beam search do not go together."""

    length: int = option(200, "how many symbols to add at most", low=0, high=1_000_000_000)
    seed: int | None = option(
        None,
        "seed of the random numbers: the same seed gives the same text; of several texts, seeds count up",
        low=SEEDS[0],
        high=SEEDS[1],
    )
    temperature: float = option(
        1.0, "temperature: below 1 safer, above 1 bolder, 0 the best symbol only", low=0.0, high=1e6
    )
    top_k: int | None = option(None, "top-k sampling: draw from the k best symbols only", low=1, high=IDS)
    top_p: float | None = option(
        None,
        "nucleus sampling: draw from the fewest symbols that together have this probability",
        low=0.0,
        high=1.0,
    )
    beam: int | None = option(
        None, "beam search: look for the most probable texts with a beam so wide", low=1, high=10_000
    )
    length_penalty: float = option(
        0.0,
        "of a beam: rank by log-probability over length to this power; 0: by probability alone",
        low=0.0,
        high=100.0,
    )
    coverage_penalty: float = option(
        0.0,
        "of a beam with a source: weight of the coverage penalty (Wu et al. 2016), against parts left untranslated",
        low=0.0,
        high=100.0,
    )
    force_words: tuple[str, ...] = option(
        (), "of a beam: a word or phrase that the text must have in it; may be given twice"
    )
    bad_words: tuple[str, ...] = option(
        (), "a word or phrase that the text must not have in it; may be given twice"
    )
    exact: str | None = option(
        None,
        "of an n-gram: the most probable text of all (Viterbi), up to its end or of exactly --length symbols",
        choices=("end", "length"),
    )
    stop: tuple[str, ...] = option((), "stop before this text; may be given twice")
    count: int = option(
        1, "how many texts for each prompt; those of a beam all differ", low=1, high=1_000_000
    )
    unknown: bool = option(False, "let it predict <unk> too")

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.top_p == 0:
            raise ConfigError("top_p must be above 0. 1 keeps all symbols.")
        if self.exact:
            self._check_exact()
        if self.beam is None:
            self._check_sampling()
        else:
            self._check_beam(self.beam)

    def _check_exact(self) -> None:
        """There is one such text, and nothing is drawn or narrowed."""
        usual = {one.name: one.default for one in settings(type(self))}
        free = ("length", "exact", "unknown", "seed")
        given = [name for name, value in usual.items() if name not in free and getattr(self, name) != value]
        if given:
            names = ", ".join(f"--{name.replace('_', '-')}" for name in given)
            raise ConfigError(f"--exact finds the one most probable text; it does not go with {names}.")

    def _check_sampling(self) -> None:
        ranking = {"length_penalty": "A length penalty", "coverage_penalty": "A coverage penalty"}
        for name, what in ranking.items():
            if getattr(self, name):
                raise ConfigError(f"{what} ranks the texts of a beam. Give --beam too, or leave it out.")
        if self.force_words:
            raise ConfigError(
                "Words that must occur are looked for by a beam. Give --beam too, or leave them out."
            )

    def _check_beam(self, width: int) -> None:
        drawing = {"temperature": 1.0, "top_k": None, "top_p": None, "seed": None}
        if any(getattr(self, name) != usual for name, usual in drawing.items()):
            raise ConfigError(
                "A beam finds the most probable texts; temperature, top-k, top-p and a seed are for drawing at "
                "random: they do not go together. Leave out one or the other."
            )
        if self.count > width:
            raise ConfigError(
                f"A beam of {width} finds at most {width} texts, not {self.count}. Make it {self.count} wide."
            )

    def seeded(self) -> Self:
        """The same with a seed to draw by, chosen at random if none was given; a beam needs none."""
        return (
            self
            if self.seed is not None or self.beam is not None
            else replace(self, seed=secrets.randbelow(1 << 31))
        )

    def from_row(self, row: int) -> Self:
        """The same for texts from number `row` on: seeds count up, from the largest one on from 0."""
        if self.seed is None or not row:
            return self
        seed = self.seed + row
        return replace(self, seed=seed if seed <= SEEDS[1] else seed - SEEDS[1] - 1)


GREEDY = GenerationConfig(temperature=0.0)


@dataclass(frozen=True)
class Constraints:
    """Constraints on ids; the probabilities of those allowed stay the model's own."""

    stop: tuple[int, ...] = (EOS,)  # the last symbol of a sequence
    never: tuple[int, ...] = ()  # are not predicted
    first: tuple[int, ...] | None = None  # the first symbol is one of these; for beams
    ends: Callable[[int, Sequence[int]], bool] | None = None  # whether a row ends with these symbols, too
    least: Sequence[int] | None = None  # by row, so many symbols must come before the last one
    most: Sequence[int] | None = None  # by row, how many symbols are added, the last one included
    bad: tuple[Phrase, ...] = ()  # phrases that do not occur
    forced: tuple[tuple[Phrase, ...], ...] = ()  # what occurs: of each phrase one of its spellings; for beams
    opens: np.ndarray | None = (
        None  # (V,) which ids begin with a letter, where words are made of several symbols
    )
    closes: np.ndarray | None = None  # (V,) which end with one

    def end(self, row: int, ids: Sequence[int]) -> bool:
        """Whether the symbols that row number `row` has added are all of them."""
        return self.over(row, ids) or self.full(row, len(ids))

    def over(self, row: int, ids: Sequence[int]) -> bool:
        """Whether a row has come to an end of its own."""
        return ids[-1] in self.stop or (self.ends is not None and self.ends(row, ids))

    def full(self, row: int, length: int) -> bool:
        """Whether a row of this length may not grow any more."""
        return self.most is not None and length >= self.most[row]

    def early(self, row: int, length: int) -> bool:
        """Whether a row that has so many symbols may not end with the next one."""
        return self.least is not None and length < self.least[row]

    def banned(self, ids: Sequence[int]) -> list[int]:
        """What must not follow these symbols, those of the prompt included, for it would complete a bad phrase."""
        size = len(ids)
        return [
            bad[-1]
            for bad in self.bad
            if len(bad) <= size + 1
            and tuple(ids[size - len(bad) + 1 :]) == bad[:-1]
            and not self.within(ids[size - len(bad)] if size >= len(bad) else None, bad[0])
        ]

    def within(self, before: int | None, after: int) -> bool:
        """Whether two symbols that follow each other are of one word."""
        if before is None or self.opens is None or self.closes is None:
            return False
        return bool(self.closes[before] and self.opens[after])


FREE = Constraints()
