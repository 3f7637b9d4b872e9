"""What a client is told when it does not get what it asked for, in the shape of OpenAI's errors."""

from __future__ import annotations

from typing import Any

KINDS = {
    400: "invalid_request_error",
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    408: "timeout_error",
    413: "invalid_request_error",
    429: "rate_limit_error",
    503: "overloaded_error",
}


class Refused(Exception):
    """A request that is not answered, with its status."""

    def __init__(
        self,
        status: int,
        why: str,
        param: str | None = None,
        code: str | None = None,
        wait: int | None = None,
    ) -> None:
        super().__init__(why)
        self.status, self.param, self.code, self.wait = status, param, code, wait

    @property
    def headers(self) -> dict[str, str]:
        """What goes with it."""
        return {} if self.wait is None else {"Retry-After": str(self.wait)}

    def to_dict(self) -> dict[str, Any]:
        """The body."""
        return told(self.status, str(self), self.param, self.code)


def told(status: int, why: str, param: str | None = None, code: str | None = None) -> dict[str, Any]:
    """An error as OpenAI's clients expect it."""
    kind = KINDS.get(status, "invalid_request_error" if status < 500 else "server_error")
    return {"error": {"message": why, "type": kind, "param": param, "code": code}}


class Cancelled(BaseException):
    """Nobody waits for this answer any more: whoever works on it stops. No `except Exception` holds it up."""


def busy(wait: int = 1) -> Refused:
    """The queue is full."""
    return Refused(429, f"The server has all it can do. Try again in {wait} s.", code="queue_full", wait=wait)


def late(seconds: float) -> Refused:
    """It took longer than a request may."""
    why = f"The request took longer than {seconds:g} s, which is the server's limit. Ask for fewer tokens."
    return Refused(408, why, code="time_limit")
