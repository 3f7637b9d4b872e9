"""What a client sends as prompts, as an engine wants it."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

from chainrule.codecs.base import Codec
from chainrule.decode.config import GenerationConfig
from chainrule.serve.bodies import MOST_TEXTS, Sampling
from chainrule.serve.engine import Engine
from chainrule.serve.refusals import Refused
from chainrule.serve.work import Prompt, Ticket, Writing
from chainrule.symbols import BOS
from chainrule.use.text import check_writes, prompt_ids, shown

MOST_LOGS = 2_000_000  # log-probabilities of one request
LONG = 20_000  # letters of a text from which the loop does not wait until it is encoded


@dataclass(frozen=True)
class Given:
    """A prompt as it was sent: its text, its own ids, and those that are read, BOS in front."""

    text: str
    own: tuple[int, ...]
    ids: tuple[int, ...]


async def given(engine: Engine, prompts: str | list[str] | list[int] | list[list[int]]) -> list[Given]:
    """Each prompt of a request."""
    items = [prompts] if isinstance(prompts, str) or not prompts or isinstance(prompts[0], int) else prompts
    found = [await _given(engine, one) for one in items]  # type: ignore[arg-type]
    for one in found:
        if len(one.ids) > engine.config.max_prompt:
            most = f"{engine.config.max_prompt:,} are read at most"
            why = f"A prompt has {len(one.ids):,} tokens, and {most}. Shorten it."
            raise Refused(400, why, "prompt", "context_length_exceeded")
    return found


async def _given(engine: Engine, prompt: str | list[int]) -> Given:
    codec = engine.bundle.codec
    if isinstance(prompt, str):
        long = len(prompt) > LONG
        ids = await asyncio.to_thread(prompt_ids, codec, prompt) if long else prompt_ids(codec, prompt)
        return Given(prompt, tuple(ids[1:]), tuple(ids))
    ids = [int(one) for one in prompt]
    read = ids if ids[:1] == [BOS] else [BOS, *ids]
    _check_ids(ids, codec)
    return Given(shown(codec, ids), tuple(ids), tuple(read))


def _check_ids(ids: Sequence[int], codec: Codec) -> None:
    wrong = [one for one in ids if not 0 < one < codec.size]
    if wrong:
        raise Refused(400, f"Tokens go from 1 to {codec.size - 1}, and {wrong[0]} came.", "prompt")


def settings(body: Sampling, length: int, engine: Engine) -> GenerationConfig:
    """How texts are drawn."""
    if length > engine.config.max_tokens:
        why = f"max_tokens is {length:,}, and this server writes {engine.config.max_tokens:,} at most."
        raise Refused(400, why, "max_tokens")
    stops = [body.stop] if isinstance(body.stop, str) else body.stop or []
    return GenerationConfig(
        length=length,
        temperature=1.0 if body.temperature is None else body.temperature,
        top_k=body.top_k if body.top_k is not None and body.top_k > 0 else None,
        top_p=body.top_p,
        stop=tuple(filter(None, stops)),
        count=body.n or 1,
        seed=body.seed,
    ).seeded()


def submitted(
    engine: Engine,
    prompts: Sequence[Given],
    config: GenerationConfig,
    logprobs: int | None,
    echo: bool,
    streams: bool,
) -> Ticket:
    """Hand prompts to their engine; texts are numbered prompt by prompt."""
    from chainrule.decode.cursor import checked

    check_writes(engine.bundle.codec)
    if len(prompts) * config.count > MOST_TEXTS:
        raise Refused(400, f"At most {MOST_TEXTS:,} texts are written for one request.", "n")
    read, wrote = sum(len(one.ids) for one in prompts) * echo, len(prompts) * config.count * config.length
    if logprobs is not None and (read + wrote) * (logprobs + 1) > MOST_LOGS:
        raise Refused(
            400, f"A request gets {MOST_LOGS:,} log-probabilities at most. Ask for fewer at once.", "logprobs"
        )
    ticket = Ticket(engine.config.time_limit)
    asked = []
    for place, one in enumerate(prompts):
        first = place * config.count
        ids = tuple(checked(engine.bundle.model, one.ids))
        own = config.from_row(first)
        asked.append(Prompt(one.text, ids, own, first, logprobs, echo and logprobs is not None, streams))
    ticket.left = sum(max(1, one.texts) for one in asked)
    engine.submit(Writing(ticket, tuple(asked)))
    return ticket
