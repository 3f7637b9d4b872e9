"""The web process: pages, the folder, jobs and their events; questions about models go to workers."""

from __future__ import annotations

import asyncio
import json
import shlex
import socket
from base64 import b64decode
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Any

import uvicorn
from fastapi import Body, FastAPI, Request
from fastapi.responses import JSONResponse, Response, StreamingResponse
from starlette.concurrency import run_in_threadpool

from chainrule.errors import ChainruleError, ConfigError
from chainrule.store.files import new_file
from chainrule.studio import words
from chainrule.studio.folder import Folder, Outside
from chainrule.studio.follow import Follower
from chainrule.studio.guard import Guard, TooLarge
from chainrule.studio.jobs import Jobs
from chainrule.studio.models import Models
from chainrule.studio.pool import Pool

EVERY, BEAT = 0.5, 15.0  # seconds between two looks at jobs, and between two signs of life
KINDS = {".js": "text/javascript", ".css": "text/css", ".html": "text/html", ".svg": "image/svg+xml"}
REPORT_POLICY = (
    "sandbox allow-scripts; default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'"
)
PICTURES = {".html": "text/html", ".svg": "image/svg+xml", ".png": "image/png", ".json": "application/json"}
Form = Annotated[dict[str, Any], Body()]
Handler = Callable[[Request, Exception], JSONResponse]


@dataclass(frozen=True)
class Studio:
    """What the routes share."""

    folder: Folder
    jobs: Jobs
    follower: Follower
    models: Models
    pool: Pool

    @classmethod
    def of(cls, path: Path) -> Studio:
        folder = Folder.of(path)
        jobs = Jobs(folder)
        pool = Pool(folder.root, folder.own / "workers.log")
        return cls(folder, jobs, Follower(jobs), Models(folder), pool)

    async def answer(self, question: Mapping[str, Any], request: Request) -> Any:
        """A question with one answer; it ends when the browser goes away."""
        asking = asyncio.ensure_future(self._asked(question))
        while not asking.done():
            await asyncio.wait({asking}, timeout=EVERY)
            if not asking.done() and await request.is_disconnected():
                asking.cancel()
                with suppress(asyncio.CancelledError):
                    await asking
                raise Outside("The browser has gone.")
        return asking.result()

    async def _asked(self, question: Mapping[str, Any]) -> Any:
        if question.get("do") == "catalogue":
            told = await self.pool.catalogue()
        else:
            told = [one async for one in self.pool.ask(question)][-1]
        if "error" in told:
            raise Outside(told["error"])
        return told["result"]


def application(studio: Studio) -> FastAPI:
    """All routes."""

    @asynccontextmanager
    async def living(app: FastAPI) -> AsyncIterator[None]:
        yield
        await studio.pool.close()

    app = FastAPI(lifespan=living, openapi_url=None, docs_url=None, redoc_url=None)
    for kind in (ChainruleError, OSError, TooLarge, KeyError, TypeError, ValueError):
        app.add_exception_handler(kind, _explained)
    _pages(app)
    _data(app, studio)
    _jobs(app, studio)
    _models(app, studio)
    _questions(app, studio)
    return app


def _explained(request: Request, error: Exception) -> JSONResponse:
    """What went wrong, in words."""
    if isinstance(error, TooLarge):
        return JSONResponse({"error": "The file is larger than this studio takes."}, 413)
    told = str(error)
    if isinstance(error, OSError):
        told = f"The system says: {error.strerror or error}."
    elif not isinstance(error, ChainruleError):
        told = f"That is not how a studio is asked ({type(error).__name__}: {error})."
    return JSONResponse({"error": told}, 400)


def _pages(app: FastAPI) -> None:
    """The page, its style and modules, and the module that draws views."""

    @app.get("/")
    def page() -> Response:
        return _asset("index.html")

    @app.get("/page/{name}")
    def asset(name: str) -> Response:
        return _asset(name)

    @app.get("/views.js")
    def drawing() -> Response:
        from chainrule.views.kinds import kinds
        from chainrule.views.page import module

        return Response(module(tuple(kinds())), media_type=KINDS[".js"])

    @app.get("/views.css")
    def style() -> Response:
        return Response(
            (files("chainrule.views") / "page" / "look.css").read_bytes(), media_type=KINDS[".css"]
        )


def _asset(name: str) -> Response:
    """A file of the page, by its name among those that there are."""
    found = {one.name: one for one in (files("chainrule.studio") / "page").iterdir()}
    if name not in found:
        return JSONResponse({"error": "There is no such page."}, 404)
    return Response(found[name].read_bytes(), media_type=KINDS[Path(name).suffix])


def _data(app: FastAPI, studio: Studio) -> None:
    """Files of the folder."""
    folder = studio.folder

    @app.get("/api/files")
    def listed() -> Any:
        return {"folder": folder.root.name, "files": folder.files()}

    @app.put("/api/files/{name}")
    async def taken(name: str, request: Request) -> Any:
        path = folder.new(name)
        with new_file(path) as file:
            async for part in request.stream():
                await run_in_threadpool(file.write, part)
        return {"name": path.name}

    @app.get("/api/beginning")
    def beginning(name: str) -> Any:
        return {"text": folder.beginning(name)}


def _jobs(app: FastAPI, studio: Studio) -> None:
    """Long commands."""
    jobs, folder = studio.jobs, studio.folder
    makers = {"training": words.training, "rating": words.rating, "exporting": words.exporting}

    @app.post("/api/command")
    def command(form: Form) -> Any:
        asked = makers[form["make"]](folder, form)
        return {"command": shlex.join(["chainrule", *asked.words])}

    @app.post("/api/jobs")
    def start(form: Form) -> Any:
        asked = makers[form["make"]](folder, form)
        about = {"task": form.get("task"), "budget": form.get("budget")}
        return {"id": jobs.start(asked.kind, asked.words, asked.name, **about).id}

    @app.post("/api/jobs/{id}/{what}")
    def change(id: str, what: str) -> Any:
        does = {"stop": jobs.stop, "continue": jobs.restart, "remove": jobs.remove}
        if what not in does:
            raise Outside(f"A job can be {', '.join(does)}, not {what}.")
        does[what](id)
        return {"id": id}

    @app.get("/api/events")
    async def events(request: Request) -> StreamingResponse:
        studio.pool.warm()
        server: uvicorn.Server = request.app.state.server
        return StreamingResponse(_events(studio.follower, server), media_type="text/event-stream")


async def _events(follower: Follower, server: uvicorn.Server) -> AsyncIterator[str]:
    """All jobs that changed, and which there are; now and then a sign of life; until the server is to end."""
    sent: dict[str, int] = {}
    quiet = 0.0
    while not server.should_exit:
        found = await run_in_threadpool(follower.all)
        changed = [one for one in found if sent.get(one["id"]) != one["revision"]]
        ids = {one["id"]: one["revision"] for one in found}
        if changed or ids.keys() != sent.keys() or (not sent and not quiet):
            told = {"jobs": [_with_command(one) for one in changed], "ids": list(ids)}
            yield f"data: {json.dumps(told)}\n\n"
            quiet = 0.0
        sent, quiet = ids, quiet + EVERY
        if quiet >= BEAT:
            yield ": here\n\n"
            quiet = EVERY
        await asyncio.sleep(EVERY)


def _with_command(job: Mapping[str, Any]) -> dict[str, Any]:
    return {**job, "command": shlex.join(["chainrule", *job["command"]])}


def _models(app: FastAPI, studio: Studio) -> None:
    """Saved models."""
    models, folder = studio.models, studio.folder

    @app.get("/api/models")
    def listed() -> Any:
        return {"models": models.listed()}

    @app.get("/api/bin")
    def binned() -> Any:
        return {"bin": folder.binned()}

    @app.get("/api/model")
    def detail(name: str) -> Any:
        return models.detail(name)

    @app.post("/api/models/{what}")
    def change(what: str, form: Form) -> Any:
        if what == "rename":
            return models.rename(form["name"], form["new"])
        if what == "delete":
            models.parts(form["name"])
            return {"binned": folder.bin(form["name"])}
        if what == "restore":
            return {"name": folder.restore(form["binned"])}
        raise Outside(f"A model can be renamed, deleted and restored, not {what}.")

    @app.get("/report/{name}")
    def report(name: str) -> Response:
        """A comparison's report: in a sandbox, whatever somebody has written into that file."""
        path = folder.whole(f"{name}/report.html")
        return Response(
            path.read_bytes(), media_type="text/html", headers={"content-security-policy": REPORT_POLICY}
        )


def _questions(app: FastAPI, studio: Studio) -> None:
    """What workers answer."""

    @app.post("/api/ask")
    async def ask(request: Request, question: Form) -> Any:
        return JSONResponse(await studio.answer(_commanded(question), request))

    @app.post("/api/stream")
    async def stream(question: Form) -> StreamingResponse:
        lines = (f"{json.dumps(told)}\n" async for told in studio.pool.ask(question))
        return StreamingResponse(lines, media_type="application/x-ndjson")

    @app.post("/api/save")
    async def save(request: Request, question: Form) -> Response:
        found = await studio.answer(_commanded({**question, "do": "save"}), request)
        return Response(b64decode(found["base64"]), media_type=PICTURES[question["format"]])


def _commanded(question: Form) -> Form:
    """A view with the command that makes it."""
    if question.get("do") not in ("look", "save"):
        return question
    others, given = question.get("against", ()), question.get("settings", {})
    made = words.looking(question["model"], others, question["text"], question["view"], given)
    return {**question, "command": shlex.join(["chainrule", *made])}


def opened(host: str, port: int) -> socket.socket:
    """A socket that listens, so that the port is known before anything is said."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listening = socket.socket(family, socket.SOCK_STREAM)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((host, port))
    except OSError as error:
        listening.close()
        raise ConfigError(
            f"{host}:{port} cannot be listened on ({error.strerror}): name another --port."
        ) from error
    return listening


def serving(folder: Path, listening: socket.socket, upload: int) -> tuple[uvicorn.Server, Guard]:
    """A server that is ready to run, and the guard that knows its address."""
    host, port = listening.getsockname()[:2]
    app = application(Studio.of(folder))
    guard = Guard.around(app, host, port, upload)
    config = uvicorn.Config(
        guard,
        log_level="error",
        access_log=False,
        server_header=False,
        ws="none",
        timeout_graceful_shutdown=2,
    )
    app.state.server = server = uvicorn.Server(config)
    return server, guard
