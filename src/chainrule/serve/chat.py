"""`/v1/chat/completions`: messages become a prompt by the model's template, then it is a completion."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

from chainrule.serve.bodies import ChatBody, CompletionBody, Message
from chainrule.serve.refusals import Refused

ABSENT = (
    "The model {name!r} has no chat template, so messages cannot become a prompt. Send a prompt to /v1/completions, or "
    "start the server with --chat-template FILE."
)


def rendered(template: str | None, name: str, messages: list[Message]) -> str:
    """The prompt that messages make, by a template that can do nothing but write text."""
    if template is None:
        raise Refused(400, ABSENT.format(name=name), "model", "no_chat_template")
    from jinja2 import TemplateError
    from jinja2.sandbox import ImmutableSandboxedEnvironment

    def refuse(message: str) -> None:
        raise Refused(400, f"The chat template refuses these messages: {message}", "messages")

    environment = ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True)
    environment.globals["raise_exception"] = refuse
    told = [{"role": one.role, "content": _content(one)} for one in messages]
    try:
        made = environment.from_string(template)
        return str(made.render(messages=told, add_generation_prompt=True, bos_token="", eos_token="</s>"))
    except (TemplateError, TypeError, ValueError, ArithmeticError, LookupError, RecursionError) as error:
        why = f"The chat template cannot write these messages: {error}"
        raise Refused(400, why, "messages") from error


def _content(message: Message) -> str:
    """Its text; parts of other kinds are refused."""
    if isinstance(message.content, str) or message.content is None:
        return message.content or ""
    parts = [part.get("text") for part in message.content if part.get("type") == "text"]
    if len(parts) != len(message.content) or not all(isinstance(part, str) for part in parts):
        raise Refused(
            400, "Only text is read: give content as a text, or as parts of the type text.", "messages"
        )
    return "".join(map(str, parts))


def as_completion(body: ChatBody, prompt: str, most: int) -> CompletionBody:
    """The same as a completion; without a limit, as much as the server writes."""
    length = body.max_completion_tokens if body.max_completion_tokens is not None else body.max_tokens
    same = body.model_dump(include={"model", "temperature", "top_p", "top_k", "n", "stop", "seed", "stream"})
    logprobs = (body.top_logprobs or 0) if body.logprobs else None
    options = body.stream_options
    return CompletionBody(
        prompt=prompt,
        max_tokens=min(most, 1024) if length is None else length,
        logprobs=logprobs,
        stream_options=options,
        **same,
    )


def whole(found: dict[str, Any]) -> dict[str, Any]:
    """A completion as the answer to a chat."""
    choices = [
        {
            "index": one["index"],
            "message": {"role": "assistant", "content": one["text"]},
            "logprobs": _logs(one["logprobs"]),
            "finish_reason": one["finish_reason"],
        }
        for one in found["choices"]
    ]
    return found | {"id": _id(found), "object": "chat.completion", "choices": choices}


async def streamed(pieces: AsyncIterator[dict[str, Any]]) -> AsyncIterator[dict[str, Any]]:
    """Pieces of a completion as those of a chat; the first of every text says who speaks."""
    begun: set[int] = set()
    async for piece in pieces:
        choices = []
        for one in piece["choices"]:
            delta = {"content": one["text"]}
            if one["index"] not in begun:
                delta = {"role": "assistant", **delta}
                begun.add(one["index"])
            rest = {"logprobs": _logs(one["logprobs"]), "finish_reason": one["finish_reason"]}
            choices.append({"index": one["index"], "delta": delta, **rest})
        yield piece | {"id": _id(piece), "object": "chat.completion.chunk", "choices": choices}


def _id(found: dict[str, Any]) -> str:
    return str(found["id"]).replace("cmpl-", "chatcmpl-", 1)


def _logs(block: dict[str, Any] | None) -> dict[str, Any] | None:
    """The block of a completion as a chat tells it."""
    if block is None:
        return None
    each = zip(block["tokens"], block["token_logprobs"], block["top_logprobs"], strict=True)
    return {
        "content": [
            _told(token, log) | {"top_logprobs": [_told(*one) for one in (top or {}).items()]}
            for token, log, top in each
        ]
    }


def _told(token: str, log: float) -> dict[str, Any]:
    return {"token": token, "logprob": log, "bytes": list(token.encode("utf-8", "surrogatepass"))}
