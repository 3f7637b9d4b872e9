"""`/v1/completions`: texts that follow prompts, at once or as they come, and how probable every token was."""

from __future__ import annotations

import time
import uuid
from collections.abc import AsyncIterator, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from chainrule.serve.bodies import CompletionBody
from chainrule.serve.engine import Engine
from chainrule.serve.prompts import Given
from chainrule.serve.reading import SymbolLog
from chainrule.serve.text import Written
from chainrule.serve.work import Event, Read, Ticket
from chainrule.use.text import TextStream

LEAST = -9999.0  # stands for the logarithm of zero, which JSON cannot say
USUAL = 16  # tokens, if nothing is said


class Names:
    """How tokens are called: different ones never alike, because top_logprobs are told by name."""

    def __init__(self, engine: Engine) -> None:
        self.codec = engine.bundle.codec
        self.owners: dict[str, int] = {}

    def __call__(self, id: int) -> str:
        name = self.codec.token(id)
        return name if self.owners.setdefault(name, id) == id else f"token_id:{id}"


def finite(log: float) -> float:
    """A logarithm as JSON can say it."""
    return max(log, LEAST)


def log_block(
    names: Names, ids: Sequence[int], logs: Sequence[SymbolLog | None], offsets: Sequence[int]
) -> dict[str, Any]:
    """OpenAI's `logprobs`: the chosen token's number is the very one in `top_logprobs`."""
    return {
        "text_offset": list(offsets),
        "token_logprobs": [None if one is None else finite(one.log) for one in logs],
        "tokens": [names(id) for id in ids],
        "top_logprobs": [None if one is None else _top(names, one) for one in logs],
    }


def _top(names: Names, one: SymbolLog) -> dict[str, float]:
    found = {names(id): finite(log) for id, log in one.top}
    return found | {names(one.id): finite(one.log)}


@dataclass
class Answer:
    """The texts of one request as they come, in OpenAI's shape."""

    engine: Engine
    name: str
    body: CompletionBody
    prompts: Sequence[Given]
    count: int
    id: str = field(default_factory=lambda: f"cmpl-{uuid.uuid4().hex}")
    created: int = field(default_factory=lambda: int(time.time()))

    def __post_init__(self) -> None:
        self.names = Names(self.engine)
        self.begun: set[int] = set()  # texts of which something was told
        self.read: dict[int, Read] = {}
        self.tokens = 0

    @property
    def usage(self) -> dict[str, Any]:
        """How many tokens were read and written."""
        read = sum(len(one.own) for one in self.prompts)
        cached = sum(one.cached for one in self.read.values())
        return {
            "prompt_tokens": read,
            "completion_tokens": self.tokens,
            "total_tokens": read + self.tokens,
            "prompt_tokens_details": {"cached_tokens": cached},
        }

    def shell(self, choices: Sequence[dict[str, Any]]) -> dict[str, Any]:
        """What stands around choices."""
        known = {"id": self.id, "object": "text_completion", "created": self.created, "model": self.name}
        return {**known, "choices": list(choices)}

    def choices(self, event: Event) -> Iterable[dict[str, Any]]:
        """What one event adds to which texts."""
        if isinstance(event, Read):
            self.read[event.first] = event
            if not self.body.max_tokens and self.body.max_tokens is not None:
                for number in range(event.first, event.first + self.count):
                    yield self._choice(Written(number, finish="length"))
        elif isinstance(event, Written):
            self.tokens += len(event.ids)
            yield self._choice(event)

    def _choice(self, event: Written) -> dict[str, Any]:
        opens = bool(self.body.echo) and event.choice not in self.begun
        self.begun.add(event.choice)
        place = event.choice // self.count
        prompt = self.prompts[place]
        before = prompt.text if self.body.echo else ""
        logs = self._logs(event, prompt, opens, len(before))
        text = (before if opens else "") + event.text
        return {"index": event.choice, "text": text, "logprobs": logs, "finish_reason": event.finish}

    def _logs(self, event: Written, prompt: Given, opens: bool, before: int) -> dict[str, Any] | None:
        if self.body.logprobs is None:
            return None
        ids, offsets = event.ids, tuple(one + before for one in event.offsets)
        logs: Sequence[SymbolLog | None] = event.logs
        if opens:
            known = self.read[event.choice // self.count * self.count].logs
            # Of ids that begin with BOS all others were scored; of a text all but its first symbol are told.
            own = known[len(known) - len(prompt.own) + 1 :] if prompt.own else ()
            ids, offsets = (*prompt.own, *ids), (*_offsets(self.engine, prompt), *offsets)
            logs = (*([None] if prompt.own else []), *own, *logs)
        return log_block(self.names, ids, logs, offsets)


def _offsets(engine: Engine, prompt: Given) -> tuple[int, ...]:
    """Where in its text each symbol of a prompt begins."""
    stream, length, found = TextStream(engine.bundle.codec, ()), 0, []
    for id in prompt.own:
        found.append(min(length, len(prompt.text)))
        length += len(stream.add(id))
    return tuple(found)


async def whole(answer: Answer, events: Iterable[Event]) -> dict[str, Any]:
    """The answer in one, its texts in order."""
    parts: dict[int, dict[str, Any]] = {}
    for event in events:
        for choice in answer.choices(event):
            parts[choice["index"]] = choice
    return answer.shell([parts[number] for number in sorted(parts)]) | {"usage": answer.usage}


async def streamed(answer: Answer, ticket: Ticket, wants_usage: bool) -> AsyncIterator[dict[str, Any]]:
    """The answer piece by piece; usage comes last."""
    extra: dict[str, Any] = {"usage": None} if wants_usage else {}
    while events := await ticket.next():
        for event in events:
            for choice in answer.choices(event):
                yield answer.shell([choice]) | extra
    if wants_usage:
        yield answer.shell([]) | {"usage": answer.usage}
