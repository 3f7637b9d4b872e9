"""A client that waits for an answer may go away."""

from __future__ import annotations

import asyncio

from fastapi import Request

from chainrule.serve.guard import Gone
from chainrule.serve.work import Event, Ticket


async def watched(request: Request, ticket: Ticket) -> list[Event]:
    """Everything a ticket brings, unless the client goes away before."""

    async def gone() -> None:
        while (await request.receive())["type"] != "http.disconnect":
            continue
        ticket.end(Gone())

    watch = asyncio.ensure_future(gone())
    try:
        return await ticket.all()
    finally:
        watch.cancel()
