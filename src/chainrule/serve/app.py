"""The HTTP front: what can be asked for at which path. Answers are those of OpenAI's API, and of our own verbs."""

from __future__ import annotations

import base64
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from importlib.resources import files
from typing import Any, TypeVar

import numpy as np
from fastapi import FastAPI, Request
from fastapi.responses import JSONResponse, PlainTextResponse, Response, StreamingResponse
from pydantic import BaseModel, ValidationError
from starlette.exceptions import HTTPException

from chainrule import __version__
from chainrule.config import to_json
from chainrule.errors import ChainruleError
from chainrule.serve import chat
from chainrule.serve.answers import Answers
from chainrule.serve.bodies import (
    ChatBody,
    CompletionBody,
    DetokenizeBody,
    EmbeddingBody,
    TokenizeBody,
    invalid,
)
from chainrule.serve.completions import USUAL, Answer, streamed, whole
from chainrule.serve.direct import Direct, Endpoint
from chainrule.serve.engine import Engine
from chainrule.serve.guard import FACTS, App, Gone
from chainrule.serve.metrics import Metrics
from chainrule.serve.prompts import given, settings, submitted
from chainrule.serve.refusals import Refused, told
from chainrule.serve.served import Served
from chainrule.serve.verbs import VERBS, score
from chainrule.serve.watch import watched
from chainrule.serve.work import Call, Ticket
from chainrule.symbols import BOS, SPECIALS
from chainrule.use.text import prompt_ids, shown

B = TypeVar("B", bound=BaseModel)
Handler = Callable[[Request, Any], Awaitable[Response]]
GONE = 499  # nobody is told
PAGE = {
    "": ("page.html", "text/html; charset=utf-8"),
    "/page.css": ("page.css", "text/css; charset=utf-8"),
    "/page.js": ("page.js", "text/javascript; charset=utf-8"),
}
POLICY = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; frame-ancestors 'none'"
PATHS = (
    "/v1/completions",
    "/v1/chat/completions",
    "/v1/embeddings",
    *(f"/v1/{name}" for name in VERBS),
    "/tokenize",
    "/detokenize",
    "/tokenizer_info",
    "/health",
    "/metrics",
    "/v1/models",
    "/openapi.json",
    "/docs",
)
SAME = {f"/v1/{name}" for name in VERBS} - {"/v1/translate"}  # a question has one answer: nothing is drawn
EVENTS = {"Cache-Control": "no-cache", "X-Accel-Buffering": "no"}


def application(served: Served, metrics: Metrics) -> App:
    """All paths."""
    app = FastAPI(title="chainrule", version=__version__, docs_url=None, redoc_url=None, openapi_url=None)
    app.router.redirect_slashes = False  # behind a proxy it would name an address that clients cannot reach
    front = Front(served, metrics)
    answers = Answers()
    posts = {
        path: _post(app, path, kind, handler, answers if path in SAME else None)
        for path, kind, handler in front.posts
    }
    for path, get in front.gets:
        options: dict[str, Any] = {"summary": (get.__doc__ or "").strip(), "response_class": JSONResponse}
        extra = {"parameters": [NAME]} if "{model}" in path else {}
        app.get(path, openapi_extra=extra, **options)(_with_errors(get))
    for path, (name, media) in PAGE.items():
        app.get(f"/docs{path}", include_in_schema=False)(_page(name, media))
    app.add_exception_handler(HTTPException, _http_error)
    return Direct(app, posts)


def _post(
    app: FastAPI, path: str, kind: type[BaseModel], handler: Handler, answers: Answers | None
) -> Endpoint:
    """A path that takes a body of this kind, which is read here: bounded, and with errors in OpenAI's shape."""

    async def endpoint(request: Request) -> Response:
        body = await request.body() or b"{}"
        known = None if answers is None else answers.find(path, body)
        if known is not None:
            return Response(known, media_type="application/json")
        found = await handler(request, kind.model_validate_json(body))
        if answers is not None:
            answers.keep(path, body, bytes(found.body))
        return found

    schema = {"schema": {"$ref": f"#/components/schemas/{kind.__name__}"}}
    body = {"required": True, "content": {"application/json": schema}}
    errors: dict[int | str, dict[str, Any]] = {
        status: {"description": what} for status, what in ERRORS.items()
    }
    says = (handler.__doc__ or kind.__doc__ or "").strip()
    options = {"summary": says, "responses": errors, "response_class": JSONResponse}
    safe = _with_errors(endpoint)
    app.post(path, openapi_extra={"requestBody": body}, **options)(safe)  # type: ignore[arg-type]
    return safe


NAME = {"name": "model", "in": "path", "required": True, "schema": {"type": "string"}}
ERRORS = {
    400: "It cannot be answered; the message says why.",
    401: "A key is wanted.",
    403: "Called from elsewhere.",
    404: "There is no such model.",
    408: "It took too long.",
    413: "The body is too large.",
    429: "The queue is full: try again after Retry-After seconds.",
    503: "The server is stopping.",
}


def _with_errors(handler: Callable[[Request], Awaitable[Response]]) -> Endpoint:
    """The same with every error as an answer."""

    async def endpoint(request: Request) -> Response:
        try:
            return await handler(request)
        except Gone:
            return Response(status_code=GONE)
        except Exception as error:
            return _refused(request, error)

    return endpoint


def _refused(request: Request, error: Exception) -> Response:
    if isinstance(error, Refused):
        found = error
    elif isinstance(error, ValidationError):
        found = invalid(error)
    elif isinstance(error, ChainruleError):
        found = Refused(400, str(error))
    else:
        request.scope.get(FACTS, {})["error"] = f"{type(error).__name__}: {error}"[:300]
        found = Refused(500, "The server failed at this. It has been logged.")
    return JSONResponse(found.to_dict(), found.status, found.headers)


async def _http_error(request: Request, error: Exception) -> Response:
    """No such path, or another method."""
    status = error.status_code if isinstance(error, HTTPException) else 500
    why = {404: "There is no such path. See /docs.", 405: "This path is asked in another way. See /docs."}
    headers = getattr(error, "headers", None)  # with another method: which ones there are
    return JSONResponse(told(status, why.get(status, "This cannot be answered.")), status, headers)


def _page(name: str, media: str) -> Callable[[], Awaitable[Response]]:
    content = (files("chainrule.serve") / "page" / name).read_bytes()

    async def page() -> Response:
        return Response(content, media_type=media, headers={"Content-Security-Policy": POLICY})

    return page


def dumped(values: Any) -> Response:
    """JSON in which infinite numbers are valid."""
    return Response(to_json(values), media_type="application/json")


class Front:
    """The handlers of all paths."""

    def __init__(self, served: Served, metrics: Metrics) -> None:
        self.served, self.metrics = served, metrics
        self.schema: dict[str, Any] | None = None
        verbs = [(f"/v1/{name}", kind, self._verb(call)) for name, (kind, call) in VERBS.items()]
        self.posts: list[tuple[str, type[BaseModel], Handler]] = [
            ("/v1/completions", CompletionBody, self.completions),
            ("/v1/chat/completions", ChatBody, self.chat),
            ("/v1/embeddings", EmbeddingBody, self.embeddings),
            *verbs,
            ("/tokenize", TokenizeBody, self.tokenize),
            ("/detokenize", DetokenizeBody, self.detokenize),
        ]
        self.gets: list[tuple[str, Callable[[Request], Awaitable[Response]]]] = [
            ("/health", self.health),
            ("/metrics", self.prometheus),
            ("/v1/models", self.models),
            ("/v1/models/{model}", self.model),
            ("/tokenizer_info", self.tokenizer_info),
            ("/openapi.json", self.openapi),
        ]

    def _engine(self, request: Request, name: str | None) -> Engine:
        engine = self.served.engine(name)
        request.scope.get(FACTS, {})["model"] = self.served.name(engine)
        return engine

    async def completions(self, request: Request, body: CompletionBody) -> Response:
        """Texts that follow prompts."""
        answer, ticket = await self._begun(request, body)
        if not body.stream:
            found = await whole(answer, await watched(request, ticket))
            request.scope.get(FACTS, {}).update(_used(answer))
            return dumped(found)
        return self._events(request, answer, ticket, streamed(answer, ticket, _wants_usage(body)))

    async def chat(self, request: Request, body: ChatBody) -> Response:
        """The answer to a chat, for models with a template."""
        engine = self._engine(request, body.model)
        template = self.served.chat_template(engine)
        prompt = chat.rendered(template, self.served.name(engine), body.messages)
        asked = chat.as_completion(body, prompt, self.served.config.max_tokens)
        answer, ticket = await self._begun(request, asked)
        if not body.stream:
            return dumped(chat.whole(await whole(answer, await watched(request, ticket))))
        pieces = chat.streamed(streamed(answer, ticket, _wants_usage(body)))
        return self._events(request, answer, ticket, pieces)

    async def _begun(self, request: Request, body: CompletionBody) -> tuple[Answer, Ticket]:
        """A completion that an engine works on."""
        engine = self._engine(request, body.model)
        prompts = await given(engine, body.prompt)
        config = settings(body, USUAL if body.max_tokens is None else body.max_tokens, engine)
        streams, echo = bool(body.stream), bool(body.echo)
        ticket = submitted(engine, prompts, config, body.logprobs, echo, streams)
        return Answer(engine, self.served.name(engine), body, prompts, config.count), ticket

    def _events(
        self, request: Request, answer: Answer, ticket: Ticket, pieces: AsyncIterator[dict[str, Any]]
    ) -> Response:
        """Server-sent events: the next is made when the one before has been taken."""

        async def lines() -> AsyncIterator[str]:
            try:
                async for piece in pieces:
                    yield f"data: {to_json(piece)}\n\n"
                yield "data: [DONE]\n\n"
            except Exception as error:
                body = bytes(_refused(request, error).body).decode()
                yield f"data: {body}\n\n"
            finally:
                ticket.give_up()
                request.scope.get(FACTS, {}).update(_used(answer))

        return StreamingResponse(lines(), media_type="text/event-stream", headers=EVENTS)

    async def embeddings(self, request: Request, body: EmbeddingBody) -> Response:
        """A vector for each text."""
        engine = self._engine(request, body.model)
        prompts = await given(engine, body.input)

        def run() -> list[np.ndarray]:
            found = (engine.bundle.embed([one.text for one in part]) for part in _eights(prompts))
            return [vector for part in found for vector in part]

        vectors: list[np.ndarray] = (await self._called(request, engine, run))[0]
        width = len(vectors[0])
        if body.dimensions not in (None, width):
            why = (
                f"Vectors of this model have {width} numbers, and cannot be shortened. Leave out dimensions."
            )
            raise Refused(400, why, "dimensions")
        data = [
            {"object": "embedding", "index": at, "embedding": _vector(one, body.encoding_format == "base64")}
            for at, one in enumerate(vectors)
        ]
        tokens = sum(len(one.own) for one in prompts)
        usage = {"prompt_tokens": tokens, "total_tokens": tokens}
        return dumped({"object": "list", "data": data, "model": self.served.name(engine), "usage": usage})

    async def _called(self, request: Request, engine: Engine, run: Callable[[], Any]) -> list[Any]:
        ticket = Ticket(self.served.config.time_limit)
        engine.submit(Call(ticket, run))
        return await watched(request, ticket)

    def _verb(self, call: Callable[[Any, Any], dict[str, Any]]) -> Handler:
        async def verb(request: Request, body: Any) -> Response:
            engine = self._engine(request, body.model)
            if call is not score:
                _check_lengths(body, self.served.config.max_prompt)
            [found] = await self._called(request, engine, lambda: call(engine.bundle, body))
            return dumped(found)

        verb.__doc__ = call.__doc__
        return verb

    async def tokenize(self, request: Request, body: TokenizeBody) -> Response:
        """The tokens of a text; the name of a special token alone is that token."""
        engine = self._engine(request, body.model)
        codec = engine.bundle.codec
        special = body.prompt in SPECIALS[1:]
        ids = [SPECIALS.index(body.prompt)] if special else prompt_ids(codec, body.prompt)[1:]
        ids = [BOS, *ids] if body.add_special_tokens else ids
        told = {"count": len(ids), "max_model_len": engine.bundle.body.context, "tokens": ids}
        return dumped(told | {"token_strs": codec.tokens(ids)})

    async def detokenize(self, request: Request, body: DetokenizeBody) -> Response:
        """The text of some tokens."""
        engine = self._engine(request, body.model)
        return dumped({"prompt": shown(engine.bundle.codec, body.tokens)})

    async def tokenizer_info(self, request: Request) -> Response:
        """What tokens there are, for programs that evaluate models."""
        engine = self._engine(request, request.query_params.get("model"))
        codec = engine.bundle.codec
        special = {f"{name}_token": SPECIALS[at] for at, name in enumerate(("pad", "bos", "eos", "unk"))}
        facts = {"tokenizer_class": codec.name, "vocab_size": codec.size, **special}
        limits = {"model_max_length": engine.bundle.body.context}
        return dumped(facts | limits | {"chat_template": self.served.chat_template(engine)})

    async def health(self, request: Request) -> Response:
        """Whether the server works."""
        alive = self.served.alive
        return JSONResponse({"status": "ok" if alive else "failed"}, 200 if alive else 503)

    async def prometheus(self, request: Request) -> Response:
        """Counters, for Prometheus."""
        self.metrics.engines(self.served.engines.values())
        return PlainTextResponse(self.metrics.text())

    async def models(self, request: Request) -> Response:
        """The models there are."""
        return dumped(
            {"object": "list", "data": [self.served.described(name) for name in self.served.engines]}
        )

    async def model(self, request: Request) -> Response:
        """One of them."""
        return dumped(self.served.described(request.path_params["model"]))

    async def openapi(self, request: Request) -> Response:
        """This document."""
        if self.schema is None:
            self.schema = _documented(request.app, [kind for _, kind, _ in self.posts])
        return dumped(self.schema)


def _documented(app: FastAPI, kinds: list[type[BaseModel]]) -> dict[str, Any]:
    """The OpenAPI document with what bodies are made of."""
    found: dict[str, Any] = json.loads(json.dumps(app.openapi()))
    schemas = found.setdefault("components", {}).setdefault("schemas", {})
    for kind in kinds:
        schema = kind.model_json_schema(ref_template="#/components/schemas/{model}")
        schemas |= schema.pop("$defs", {})
        schemas[kind.__name__] = schema
    return found


def _check_lengths(body: BaseModel, most: int) -> None:
    """Texts that are read at once are no longer than prompts."""
    for name, value in body:
        texts = value if isinstance(value, list) else [value]
        if any(isinstance(one, str) and len(one) > most for one in texts):
            raise Refused(400, f"A text has at most {most:,} letters here. Shorten it.", name)


def _wants_usage(body: CompletionBody | ChatBody) -> bool:
    return bool(body.stream_options and body.stream_options.include_usage)


def _used(answer: Answer) -> dict[str, int]:
    """For the log."""
    usage = answer.usage
    return {"prompt_tokens": usage["prompt_tokens"], "completion_tokens": usage["completion_tokens"]}


def _eights(items: list[Any]) -> list[list[Any]]:
    return [items[first : first + 8] for first in range(0, len(items), 8)]


def _vector(vector: np.ndarray, packed: bool) -> Any:
    numbers = vector.astype("<f4")
    return base64.b64encode(numbers.tobytes()).decode() if packed else numbers.tolist()
