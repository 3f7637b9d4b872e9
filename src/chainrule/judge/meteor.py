"""METEOR (Banerjee & Lavie 2005): words matched in stages, recall before precision, and a penalty for fragments.

Stages follow each other: the same word, the same stem, a common synset. Each aligns only words that the stages before
it left over: of all alignments with the most matches the one with the fewest crossings, all links counted, and of those
one with the fewest chunks.

    F = P R / (alpha P + (1 - alpha) R)      penalty = gamma (chunks / matches) ** beta      METEOR = F (1 - penalty)

Of several texts matches, chunks and lengths are summed up first, as in the paper. With several references the one
that gives a text the highest score counts.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from chainrule.config import Config, option
from chainrule.judge.porter import stem
from chainrule.judge.wordnet import WordNet

STATES = 1_000  # of a search kept side by side; only texts with very many repeated words have more
NUMBERS = 4  # matches, chunks, words written, words of the reference


@dataclass(frozen=True, kw_only=True)
class MeteorConfig(Config):
    """METEOR's parameters: those of 2005; for English those of 2007 are 0.81, 0.83 and 0.28."""

    meteor_alpha: float = option(0.9, "METEOR: how much more recall weighs than precision", low=0.0, high=1.0)
    meteor_beta: float = option(3.0, "METEOR: power of chunks / matches in the penalty", low=0.0, high=100.0)
    meteor_gamma: float = option(0.5, "METEOR: the largest penalty", low=0.0, high=1.0)
    meteor_stem: bool = option(True, "METEOR: match words with the same Porter stem (English), too")
    wordnet: str | None = option(
        None, "METEOR: match synonyms, too, by the WordNet database in this folder (index.noun, …)"
    )

    @property
    def signature(self) -> str:
        """What figures of others must have in common with ours."""
        stages = ["exact", *(["stem"] if self.meteor_stem else []), *(["synonym"] if self.wordnet else [])]
        numbers = f"alpha:{self.meteor_alpha:g}|beta:{self.meteor_beta:g}|gamma:{self.meteor_gamma:g}"
        return f"{numbers}|stages:{','.join(stages)}|case:lc|tok:13a"

    def figure(self, matches: float, chunks: float, said: float, wanted: float) -> float:
        """METEOR of such sums."""
        if not matches:
            return 0.0
        precision, recall = matches / said, matches / wanted
        mean = precision * recall / (self.meteor_alpha * precision + (1 - self.meteor_alpha) * recall)
        penalty = self.meteor_gamma * (chunks / matches) ** self.meteor_beta
        return float(mean * (1 - penalty))

    def stages(self) -> list[Stage]:
        """In the order in which words are matched."""
        found: list[Stage] = [lambda one, two: one == two]
        if self.meteor_stem:
            found.append(lambda one, two: stem(one) == stem(two))
        if self.wordnet:
            found.append(WordNet.opened(self.wordnet).synonyms)
        return found


Stage = Callable[[str, str], bool]  # whether two words match
Key = tuple[
    int, int | None
]  # which places of the reference are used, as bits, and the partner of the last word
Links = tuple[int | None, ...]  # of every written word, the place of its partner in the reference


@dataclass(frozen=True)
class Meteor:
    """A judge of texts, words in lower case."""

    config: MeteorConfig
    stages: Sequence[Stage]

    @classmethod
    def of(cls, config: MeteorConfig) -> Meteor:
        """With the stages of these settings."""
        return cls(config, config.stages())

    def best(self, said: Sequence[str], references: Sequence[Sequence[str]]) -> tuple[int, int, int, int]:
        """The numbers of a text beside the reference that gives it the highest score."""
        each = [self.numbers(said, wanted) for wanted in references]
        return max(each, key=lambda numbers: self.config.figure(*numbers))

    def numbers(self, said: Sequence[str], wanted: Sequence[str]) -> tuple[int, int, int, int]:
        """Matches, chunks and both lengths."""
        links = self.aligned(said, wanted)
        matches = sum(place is not None for place in links)
        return matches, chunks(links), len(said), len(wanted)

    def aligned(self, said: Sequence[str], wanted: Sequence[str]) -> Links:
        """Stage after stage."""
        links: Links = (None,) * len(said)
        for stage in self.stages:
            links = extended(links, said, wanted, stage)
        return links


def chunks(links: Links) -> int:
    """Runs of neighbours whose partners are neighbours in the same order, as long as they can be."""
    before = (None, *links)[: len(links)]
    return sum(
        place is not None and (last is None or place != last + 1)
        for last, place in zip(before, links, strict=True)
    )


def extended(links: Links, said: Sequence[str], wanted: Sequence[str], stage: Stage) -> Links:
    """More links by one stage: the most there can be, then the fewest crossings, then the fewest chunks."""
    taken = {place for place in links if place is not None}
    free = [place for place in range(len(wanted)) if place not in taken]
    options: list[list[int]] = [
        [] if links[at] is not None else [place for place in free if stage(word, wanted[place])]
        for at, word in enumerate(said)
    ]
    if not any(options):
        return links
    return _search(links, options, _spare(options))


def _spare(options: Sequence[Sequence[int]]) -> int:
    """How many words that could be linked cannot be, because others need their partners (by augmenting paths)."""
    partner: dict[int, int] = {}

    def found(at: int, seen: set[int]) -> bool:
        for place in options[at]:
            if place not in seen:
                seen.add(place)
                if place not in partner or found(partner[place], seen):
                    partner[place] = at
                    return True
        return False

    able = [at for at, places in enumerate(options) if places]
    return len(able) - sum(found(at, set()) for at in able)


@dataclass(frozen=True)
class _Way:
    """The best links so far of all that use the same places and end at the same one."""

    cost: tuple[int, int, int] = (0, 0, 0)  # words left out, crossings, chunks
    links: Links = ()


def _search(fixed: Links, options: Sequence[Sequence[int]], spare: int) -> Links:
    """Word by word, keeping the best way to every set of places: exact, unless there are more of them than are kept."""
    ways: dict[Key, _Way] = {(0, None): _Way()}
    alike, left = _alike(options), 0
    for at in range(len(options)):
        later: dict[Key, _Way] = {}
        while not later:  # where too many ways were given up, no word can be spared but one more
            later = _later(fixed, options, alike, at, ways, spare + left)
            left += not later
        ways = dict(sorted(later.items(), key=lambda item: item[1].cost)[:STATES])
    return min(ways.values(), key=lambda way: way.cost).links


def _alike(options: Sequence[Sequence[int]]) -> list[tuple[list[int], int]]:
    """Of every word those before it that may be linked to the same places, and how many such words follow."""
    groups: dict[tuple[int, ...], list[int]] = {}
    for at, places in enumerate(options):
        groups.setdefault(tuple(places), []).append(at)
    each = [groups[tuple(places)] for places in options]
    return [(group[: group.index(at)], len(group) - group.index(at) - 1) for at, group in enumerate(each)]


def _later(
    fixed: Links,
    options: Sequence[Sequence[int]],
    alike: Sequence[tuple[list[int], int]],
    at: int,
    ways: Mapping[Key, _Way],
    spare: int,
) -> dict[Key, _Way]:
    """All ways with one word more, of which no more than `spare` words are left out."""
    later: dict[Key, _Way] = {}
    for (used, last), way in ways.items():
        for place in _choices(fixed[at], options[at], used, alike[at], way, spare - way.cost[0]):
            key, found = _step(fixed, at, place, used, last, way, bool(options[at]))
            if key not in later or found.cost < later[key].cost:
                later[key] = found
    return later


def _choices(
    own: int | None, places: Sequence[int], used: int, alike: tuple[list[int], int], way: _Way, spare: int
) -> list[int | None]:
    """What a word may be linked to.

    Links of words that may be linked to the same places never cross: exchanging their partners would be better. So only
    later places are left, and they must be enough for such words that follow.
    """
    if not places:
        return [own]
    before, follow = alike
    first = max((found for at in before if (found := way.links[at]) is not None), default=-1)
    free = [place for place in places if place > first and not used >> place & 1]
    some: list[int | None] = [*free[: max(0, len(free) - follow + spare)]]
    return [*some, None] if spare > 0 else some


def _step(
    fixed: Links, at: int, place: int | None, used: int, last: int | None, way: _Way, new: bool
) -> tuple[Key, _Way]:
    """A way with one word more."""
    left, crossings, runs = way.cost
    if place is not None:
        runs += last is None or place != last + 1
        if new:
            crossings += (used >> (place + 1)).bit_count() + _crossed(fixed, at, place)
            used |= 1 << place
    return (used, place), _Way((left + (new and place is None), crossings, runs), (*way.links, place))


def _crossed(fixed: Links, at: int, place: int) -> int:
    """How many links of earlier stages a new one crosses."""
    return sum(
        (other < at) != (partner < place) for other, partner in enumerate(fixed) if partner is not None
    )
