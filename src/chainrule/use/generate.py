"""`generate`: texts that continue prompts, drawn from the model or found by beam search, many prompts at once."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from chainrule.codecs.base import Codec
from chainrule.decode.config import Constraints, GenerationConfig
from chainrule.errors import ConfigError
from chainrule.models.base import LanguageModel
from chainrule.runtime import blocks_kept
from chainrule.symbols import EOS
from chainrule.use.conditional import UNWRITTEN, refuse_without_source
from chainrule.use.phrases import phrase_constraints
from chainrule.use.text import (
    check_writes,
    endless,
    following,
    has_stop,
    joined,
    prompt_ids,
    streamed,
    texts_of,
    until,
)

if TYPE_CHECKING:
    from chainrule.bundle import Bundle

ROWS = 64  # texts written side by side
LOG2 = math.log(2.0)


@dataclass(frozen=True)
class Written:
    """A text that continues a prompt."""

    prompt: str
    continuation: str  # what follows it
    seed: int | None = None  # what it was drawn by
    log2prob: float | None = (
        None  # found by a beam: of all symbols after the prompt up to its end, that included
    )

    @property
    def text(self) -> str:
        """The prompt and what follows it."""
        return self.prompt + self.continuation

    def to_dict(self) -> dict[str, Any]:
        """For scripts."""
        facts = {"seed": self.seed, "log2prob": self.log2prob}
        given = {name: value for name, value in facts.items() if value is not None}
        return {"text": self.text, "continuation": self.continuation, **given}


@dataclass(frozen=True)
class Generation:
    """The texts that continue one prompt; those of a beam best first."""

    prompt: str
    texts: tuple[Written, ...]

    def to_dict(self) -> dict[str, Any]:
        """For scripts: the keys of the first text beside the list of all."""
        rows = [one.to_dict() for one in self.texts]
        return {"prompt": self.prompt, **rows[0], "texts": rows}


def settings(values: Mapping[str, Any], config: GenerationConfig | None = None) -> GenerationConfig:
    """Settings as people give them, in place of those of a `config`; a stop may be one text or several, or None."""
    config = GenerationConfig() if config is None else config
    if not isinstance(config, GenerationConfig):
        raise ConfigError(
            f"config is a GenerationConfig, and a {type(config).__name__} came. Single settings are keywords."
        )
    stop = values.get("stop", config.stop) or ()
    stops = tuple(filter(None, texts_of([stop] if isinstance(stop, str) else stop)))
    return GenerationConfig.from_values({**config.values(), **values, "stop": stops})


def refuse_draft_for_a_beam(config: GenerationConfig, draft: object) -> None:
    """A draft would be left unused."""
    if draft is not None and config.beam is not None:
        raise ConfigError(
            "A draft speeds up drawing at random; with a beam they do not go together. Leave out --draft or --beam."
        )


def check_shared_codecs(bundle: Bundle, draft: Bundle) -> None:
    """Refuse a drafter that reads or writes other symbols."""
    theirs = {role: codec.fingerprint() for role, codec in draft.codecs.items()}
    if theirs != {role: codec.fingerprint() for role, codec in bundle.codecs.items()}:
        raise ConfigError("A drafter must share the model's codec. Fit both on the same data and codec.")


def generate(
    bundle: Bundle, prompts: Sequence[str], config: GenerationConfig, draft: Bundle | None = None
) -> tuple[Generation, ...]:
    """The texts that continue each prompt; what a prompt gets does not depend on the others.

    Text number n of all is drawn by the seed + n. With `draft` a smaller model writes ahead: the same distribution,
    sooner, but the text of a seed may differ. A stop text ends a text and is left out of it, and so a text's
    probability is that of the symbols up to its end: to EOS, or to the one that completed the stop.
    """
    task, size = _Task.of(bundle, config.seeded(), draft), max(1, ROWS // (config.beam or config.count))
    made, given = list[Generation](), texts_of(prompts)
    with blocks_kept():
        for first in range(0, len(given), size):
            made += task.part(first).written(given[first : first + size])
    return tuple(made)


def stream(
    bundle: Bundle, prompt: str, config: GenerationConfig, draft: Bundle | None = None
) -> Iterator[str]:
    """The prompt, then what follows it in the first text that `generate` would give, piece by piece as it is drawn."""
    task = _Task.of(bundle, replace(config, count=1), draft)
    if config.beam is not None or config.exact:
        [found] = task.written([prompt])
        yield from (found.prompt, found.texts[0].continuation)
        return
    codec, known = bundle.codec, task.known(prompt)
    yield prompt
    ids = (id for [part] in task.steps([prompt], [known]) for id in part)
    pieces = joined(codec, prompt, known, streamed(codec, known, ids))
    yield from filter(None, until(pieces, config.stop))


def request(bundle: Bundle, prompt: str, config: GenerationConfig) -> tuple[list[list[int]], Constraints]:
    """What a search is asked for: the ids of a prompt, and what may follow."""
    task = _Task.of(bundle, config, None)
    known = [task.known(prompt)]
    return known, task.constraints([prompt], known, 1)


@dataclass(frozen=True)
class _Task:
    """What prompts are continued by, and how."""

    codec: Codec
    model: LanguageModel
    drafter: LanguageModel | None
    config: GenerationConfig
    endless: bool  # EOS is never drawn

    @classmethod
    def of(cls, bundle: Bundle, config: GenerationConfig, draft: Bundle | None) -> _Task:
        refuse_draft_for_a_beam(config, draft)
        check_writes(bundle.codec)
        refuse_without_source(bundle, UNWRITTEN)
        if draft is not None:
            check_shared_codecs(bundle, draft)
            if config.bad_words:
                raise ConfigError("A draft does not know --bad-words. Leave one of the two out.")
        drafter = None if draft is None else draft.model
        return cls(bundle.codec, bundle.model, drafter, config, endless(bundle.card))

    def part(self, first: int) -> _Task:
        """The same for prompts from number `first` on."""
        return replace(self, config=self.config.from_row(first * self.config.count))

    def known(self, prompt: str) -> list[int]:
        """The ids of a prompt; what cannot be continued is refused."""
        from chainrule.decode.cursor import checked

        return checked(self.model, prompt_ids(self.codec, prompt))

    def written(self, prompts: Sequence[str]) -> list[Generation]:
        """The texts of these prompts, all of them side by side."""
        known = [self.known(prompt) for prompt in prompts]
        if self.config.exact:
            return [self._exact(prompt, ids) for prompt, ids in zip(prompts, known, strict=True)]
        texts = (self._drawn if self.config.beam is None else self._found)(prompts, known)
        return [Generation(prompt, tuple(own)) for prompt, own in zip(prompts, texts, strict=True)]

    def _exact(self, prompt: str, known: list[int]) -> Generation:
        """The most probable text of all."""
        from chainrule.decode.exact import most_probable

        limits, ends = self.constraints([prompt], [known], 1), self.config.exact == "end"
        best = most_probable(self.model, known, self.config.length, limits, ends)
        text = Written(prompt, self._text(prompt, known, best.ids), log2prob=best.log_probability / LOG2)
        return Generation(prompt, (text,))

    def steps(self, prompts: Sequence[str], known: list[list[int]]) -> Iterator[list[list[int]]]:
        """What is added to each row as it is drawn."""
        from chainrule.decode.draft import drafted
        from chainrule.decode.sample import sample

        constraints = self.constraints(prompts, known, self.config.count)
        if self.drafter is None:
            return sample(self.model, known, self.config, constraints)
        return drafted(self.model, self.drafter, known, self.config, constraints)

    def _drawn(self, prompts: Sequence[str], known: list[list[int]]) -> list[list[Written]]:
        from chainrule.decode.sample import joined as all_of

        count = self.config.count
        rows = all_of(self.steps(prompts, known)) or [[]] * (count * len(prompts))
        texts: list[list[Written]] = [[] for _ in prompts]
        for row, ids in enumerate(rows):
            place, seed = row // count, self.config.from_row(row).seed
            text = self._text(prompts[place], known[place], ids)
            texts[place].append(Written(prompts[place], text, seed))
        return texts

    def _found(self, prompts: Sequence[str], known: list[list[int]]) -> list[list[Written]]:
        """The best texts of a beam, all different."""
        from chainrule.decode.beam import search

        results = search(self.model, known, self.config, self.constraints(prompts, known, 1))
        texts = []
        for prompt, own, result in zip(prompts, known, results, strict=True):
            found: dict[str, float] = {}
            for one in result.hypotheses:
                found.setdefault(self._text(prompt, own, one.ids), one.log_probability / LOG2)
            ways = list(found.items())[: self.config.count]
            texts.append([Written(prompt, text, log2prob=log) for text, log in ways])
        return texts

    def constraints(self, prompts: Sequence[str], known: list[list[int]], count: int) -> Constraints:
        """What must not be predicted, and where each of the `count` rows of a prompt ends."""
        never: tuple[int, ...] = (EOS,) if self.endless else ()
        never += () if self.config.unknown else self.codec.unwritten
        more = phrase_constraints(self.codec, self.config)
        if not self.config.stop:
            return Constraints(never=never, **more)

        def ends(row: int, ids: Sequence[int]) -> bool:
            place = row // count
            return has_stop(self.codec, prompts[place], known[place], ids, self.config.stop)

        return Constraints(never=never, ends=ends, **more)

    def _text(self, prompt: str, known: list[int], ids: Sequence[int]) -> str:
        """What these ids add to a prompt, up to the first stop text."""
        return "".join(until([following(self.codec, prompt, known, ids)], self.config.stop))
