"""The shortest way from a request to its handler.

FastAPI describes all paths and answers what is asked seldom. Its middleware and routing take 60 us, which is more than
an n-gram needs for a word, so what is asked again and again does not go through them.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Mapping
from typing import Any

from fastapi import Request
from fastapi.responses import Response

from chainrule.serve.guard import App, Receive, Scope, Send

Endpoint = Callable[[Request], Coroutine[Any, Any, Response]]


class Direct:
    """POST requests of these paths go to their handlers, all others to an application, HEAD as GET."""

    def __init__(self, app: App, posts: Mapping[str, Endpoint]) -> None:
        self.app, self.posts = app, posts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["method"] == "HEAD":
            scope = {**scope, "method": "GET"}  # the server leaves out the body
        endpoint = self.posts.get(scope["path"]) if scope["method"] == "POST" else None
        if endpoint is None:
            return await self.app(scope, receive, send)
        response = await endpoint(Request(scope, receive))
        return await response(scope, receive, send)
