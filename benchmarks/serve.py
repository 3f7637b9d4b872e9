"""How many a server answers at once, how soon and how rightly; one command a measurement.

    python benchmarks/serve.py model OUT          a GPT of 6 layers x 384 with random weights, and its export
    python benchmarks/serve.py many OUT           16 clients against one at a time
    python benchmarks/serve.py beside OUT         the same 16 clients, and transformers' generate behind FastAPI
    python benchmarks/serve.py complete MODEL     completions of an n-gram a second, by wrk
    python benchmarks/serve.py soak MODEL 300     seconds of requests with faults: kill -9, disconnects, nonsense
    python benchmarks/serve.py fuzz MODEL 20000   random bodies

The server is a process of its own, and so are the clients.
"""

from __future__ import annotations

import asyncio
import json
import math
import os
import random
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx2 as httpx

ROOT = Path(__file__).resolve().parents[1]
CLIENTS, REQUESTS = 16, 24  # requests of each client
VOCABULARY, CONTEXT = 4096, 256
SHAPE = {"layers": 6, "width": 384, "heads": 6, "context": CONTEXT}
WORDS = [chr(97 + at % 26) + chr(97 + at // 26 % 26) + chr(97 + at // 676) for at in range(VOCABULARY - 5)]


def make(out: Path) -> None:
    """The model, ours and exported."""
    from chainrule.bundle import Bundle
    from chainrule.codecs.base import Texts
    from chainrule.codecs.registry import codec
    from chainrule.models.registry import family

    kind = codec("subwords")
    text = Texts.of([" ".join(random.Random(at).choices(WORDS, k=200)) for at in range(400)])
    words = kind.learn(lambda: [text], kind.Config.from_values({"vocab": VOCABULARY}))
    gpt: Any = family("gpt")
    sizes = SHAPE | {"vocab_size": words.size, "suppressed": words.suppressed, "positions": "learned"}
    Bundle.of(words, gpt.seeded(gpt.Config(**sizes), 0)).save(out / "gpt", force=True)
    subprocess.run(
        [sys.executable, "-m", "chainrule", "export", "hf", out / "gpt", out / "hf", "--force"],
        check=True,
    )


@contextmanager
def serving(
    model: Path, *options: str, program: list[str] | None = None
) -> Iterator[tuple[httpx.Client, int]]:
    """A server in a process of its own."""
    port = random.randint(20_000, 60_000)
    words = program or [sys.executable, "-m", "chainrule", "serve", str(model), "--log", "none", *options]
    process = subprocess.Popen([*words, "--port", str(port)], stderr=subprocess.DEVNULL)
    client = httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=120)
    try:
        until = time.monotonic() + 600
        while True:
            try:
                client.get("/health")
                break
            except httpx.TransportError:
                assert process.poll() is None and time.monotonic() < until, "the server did not start"
                time.sleep(0.1)
        yield client, process.pid
    finally:
        process.terminate()
        process.wait(600)


def body(number: int, stream: bool = True) -> dict[str, Any]:
    """A request: a prompt of 8 to 40 words, 32 to 96 tokens."""
    chance = random.Random(number)
    prompt = " ".join(chance.choices(WORDS, k=chance.randint(8, 40)))
    return {"prompt": prompt, "max_tokens": chance.choice((32, 64, 96)), "temperature": 0, "stream": stream}


async def load(address: str, clients: int, requests: int) -> dict[str, float]:
    """So many clients, each with one request after another: tokens a second, and seconds to the first token."""
    firsts, tokens = list[float](), 0

    async def one(client: httpx.AsyncClient, first: int) -> None:
        nonlocal tokens
        for number in range(first, first + requests):
            began, told = time.perf_counter(), False
            asked = body(number) | {"stream_options": {"include_usage": True}}
            async with client.stream("POST", "/v1/completions", json=asked) as answer:
                async for line in answer.aiter_lines():
                    if line.startswith("data: {"):
                        if not told:
                            firsts.append(time.perf_counter() - began)
                        told = True
                        tokens += (json.loads(line[6:]).get("usage") or {}).get("completion_tokens", 0)

    async with httpx.AsyncClient(base_url=address, timeout=300) as client:
        began = time.perf_counter()
        await asyncio.gather(*(one(client, 1000 * at) for at in range(clients)))
        seconds = time.perf_counter() - began
    firsts.sort()
    rank = min(len(firsts) - 1, math.ceil(0.95 * len(firsts)))
    return {
        "tokens": tokens,
        "seconds": seconds,
        "rate": tokens / seconds,
        "p95": firsts[rank],
        "p50": statistics.median(firsts),
    }


def tell(name: str, found: dict[str, float]) -> None:
    print(
        f"{name}: {found['rate']:.0f} tokens/s, first token p50 {1000 * found['p50']:.0f} ms, "
        f"p95 {1000 * found['p95']:.0f} ms ({found['tokens']:.0f} tokens in {found['seconds']:.1f} s)",
        flush=True,
    )


def many(out: Path) -> None:
    with serving(out / "gpt") as (client, _):
        asyncio.run(load(str(client.base_url), 1, 2))
        alone = asyncio.run(load(str(client.base_url), 1, 12))
        tell("one at a time", alone)
        crowd = asyncio.run(load(str(client.base_url), CLIENTS, REQUESTS))
        tell(f"{CLIENTS} clients", crowd)
    print(
        f"tokens/s {crowd['rate'] / alone['rate']:.2f}x (bar 4x); p95 {crowd['p95'] / alone['p95']:.2f}x (bar 5x)"
    )


THEIRS = """
import sys, asyncio, torch, uvicorn, json
from fastapi import FastAPI, Request
from fastapi.responses import JSONResponse
from transformers import AutoModelForCausalLM, AutoTokenizer
folder, _, port = sys.argv[1:4]
model, words = AutoModelForCausalLM.from_pretrained(folder).eval(), AutoTokenizer.from_pretrained(folder)
app = FastAPI()
@app.get("/health")
def health(): return {}
@app.post("/v1/completions")
def write(body: dict):
    ids = words(body["prompt"], return_tensors="pt").input_ids
    with torch.no_grad():
        made = model.generate(ids, max_new_tokens=body["max_tokens"], do_sample=False, pad_token_id=0)
    new = made[0, ids.shape[1]:].tolist()
    return {"choices": [{"text": words.decode(new)}], "usage": {"completion_tokens": len(new)}}
uvicorn.run(app, port=int(port), log_level="error")
"""


async def whole(address: str, requests: int) -> float:
    """Tokens a second of 16 clients that wait for whole answers."""
    tokens = 0

    async def one(client: httpx.AsyncClient, first: int) -> None:
        nonlocal tokens
        for number in range(first, first + requests):
            answer = await client.post("/v1/completions", json=body(number, stream=False))
            tokens += answer.json()["usage"]["completion_tokens"]

    async with httpx.AsyncClient(base_url=address, timeout=600) as client:
        began = time.perf_counter()
        await asyncio.gather(*(one(client, 1000 * at) for at in range(CLIENTS)))
        return tokens / (time.perf_counter() - began)


def worked(pid: int) -> float:
    """Seconds that a process has computed: what is left of a figure where other programs take the cores."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def beside(out: Path) -> None:
    rates = {}
    with tempfile.NamedTemporaryFile("w", suffix=".py") as file:
        file.write(THEIRS)
        file.flush()
        for name, program in (
            ("chainrule", None),
            ("transformers", [sys.executable, file.name, str(out / "hf")]),
        ):
            with serving(out / "gpt", program=program) as (client, pid):
                asyncio.run(whole(str(client.base_url), 1))
                before, began = worked(pid), time.perf_counter()
                rates[name] = asyncio.run(whole(str(client.base_url), 3))
                cores = (worked(pid) - before) / (time.perf_counter() - began)
                print(
                    f"{name}: {rates[name]:.0f} tokens/s with {CLIENTS} clients, on {cores:.2f} cores",
                    flush=True,
                )
    print(f"{rates['chainrule'] / rates['transformers']:.2f}x (bar 3x)")


SCRIPT = """wrk.method = "POST"
wrk.headers["Content-Type"] = "application/json"
local prompts = {%s}
local at = 0
request = function()
  at = at + 1
  return wrk.format(nil, "%s", nil, prompts[at %% #prompts + 1])
end
"""


def complete(model: Path) -> None:
    """Every prompt of a small set once, then again and again by 16 connections; and completions of eight tokens."""
    from chainrule.bundle import load as opened

    words = [opened(model).codec.token(id) for id in range(5, 205)]
    prompts = [" ".join(random.Random(at).choices(words, k=3)) for at in range(500)]
    kinds = {
        "/v1/complete": [json.dumps({"prompt": one}) for one in prompts],
        "/v1/completions": [
            json.dumps({"prompt": one, "max_tokens": 8, "temperature": 0}) for one in prompts
        ],
    }
    for path, bodies in kinds.items():
        with serving(model) as (client, _), tempfile.NamedTemporaryFile("w", suffix=".lua") as script:
            script.write(SCRIPT % (",".join(f"[==[{one}]==]" for one in bodies), path))
            script.flush()
            began = time.perf_counter()
            for one in bodies:
                client.post(path, content=one)
            print(f"{path}: for the first time {len(bodies) / (time.perf_counter() - began):.0f} a second")
            words_of = ["wrk", "-t1", "-c16", "-d8s", "--latency", "-s", script.name, str(client.base_url)]
            print(path, subprocess.run(words_of, capture_output=True, text=True).stdout, flush=True)


def resident(pid: int) -> float:
    """Megabytes of a process and of those it started."""
    total = 0
    for one in [pid, *children(pid)]:
        try:
            status = Path(f"/proc/{one}/smaps_rollup").read_text()
        except (FileNotFoundError, ProcessLookupError):
            continue  # killed meanwhile
        total += next(int(line.split()[1]) for line in status.splitlines() if line.startswith("Pss:"))
    return total / 1024


def children(pid: int) -> list[int]:
    return [int(one) for one in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def soak(model: Path, seconds: float) -> None:
    """Right answers are known beforehand; faults come at random."""
    chance, wrong, asked, lost, kills, sizes = random.Random(1), 0, 0, 0, 0, list[float]()
    with serving(model, "--workers", "2") as (client, pid):
        bodies = [body(number, stream=False) | {"max_tokens": 8, "logprobs": 1} for number in range(24)]
        known = [client.post("/v1/completions", json=one).json()["choices"] for one in bodies]
        until, killed = time.monotonic() + seconds, time.monotonic()
        while time.monotonic() < until:
            number = chance.randrange(len(bodies))
            try:
                kind = chance.random()
                if kind < 0.1:
                    assert client.post("/v1/completions", content=chance.randbytes(200)).status_code == 400
                elif kind < 0.2:
                    with (
                        httpx.Client(base_url=client.base_url) as other,
                        other.stream(
                            "POST", "/v1/completions", json=body(number) | {"max_tokens": 500}
                        ) as answer,
                    ):
                        next(answer.iter_lines())
                else:
                    asked += 1
                    wrong += (
                        client.post("/v1/completions", json=bodies[number]).json()["choices"] != known[number]
                    )
            except httpx.TransportError:
                lost += 1
            if time.monotonic() - killed > 15:
                os.kill(chance.choice(children(pid)), signal.SIGKILL)
                kills, killed = kills + 1, time.monotonic()
            if asked % 50 == 0:
                sizes.append(resident(pid))
        sizes.append(resident(pid))
        tenth = max(1, len(sizes) // 10)
        first, last = (
            statistics.median(part) for part in (sizes[tenth : 3 * tenth + 1], sizes[-2 * tenth :])
        )
        print(f"{asked:,} answers, {wrong} wrong; {kills} workers killed, {lost} connections lost with them")
        print(f"memory {first:.0f} MB at the beginning, {last:.0f} MB in the end")


PATHS = "completions chat/completions embeddings score predict tag translate fill complete rank".split()
NAMES = (
    "prompt max_tokens temperature top_p top_k n stop seed logprobs echo stream messages input text texts pair "
    "question passage k length candidates tokens encoding_format top model"
).split()


def nonsense(chance: random.Random, depth: int = 0) -> Any:
    kinds = [
        None,
        True,
        chance.randint(-5, 50),
        chance.uniform(-1e9, 1e9),
        float("nan"),
        "she \x00\U0001f600" * chance.randint(0, 3),
    ]
    if depth < 3 and chance.random() < 0.3:
        inner = [nonsense(chance, depth + 1) for _ in range(chance.randint(0, 3))]
        return inner if chance.random() < 0.7 else {str(one)[:9]: one for one in inner}
    return chance.choice(kinds)


async def asked(address: str, questions: Iterator[tuple[str, bytes]]) -> dict[int, int]:
    """Statuses of questions, one after another over a connection that is opened again when the server closes it."""
    host, port = address.removeprefix("http://").split(":")
    statuses, closed = dict[int, int](), True
    for path, content in questions:
        if closed:
            reader, writer = await asyncio.open_connection(host, int(port), limit=1 << 26)
        writer.write(
            f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Length: {len(content)}\r\n\r\n".encode()
        )
        writer.write(content)
        head = (await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), 60)).lower()
        status, closed = int(head.split()[1]), b"connection: close" in head
        if b"content-length: " in head:
            told = await reader.readexactly(int(head.split(b"content-length: ")[1].split()[0]))
        else:
            told = await reader.readuntil(b"0\r\n\r\n")
        statuses[status] = statuses.get(status, 0) + 1
        assert status < 500 and b"Traceback" not in told and str(ROOT).encode() not in told, (content, told)
    return statuses


def questions(count: int) -> Iterator[tuple[str, bytes]]:
    """Bodies of known fields with values that make no sense, a fifth of them damaged."""
    chance = random.Random(2)
    for _ in range(count):
        made = {name: nonsense(chance) for name in chance.sample(NAMES, chance.randint(0, 6))}
        text = json.dumps(made).encode()
        if chance.random() < 0.2:
            place = chance.randrange(len(text))
            text = text[:place] + chance.randbytes(chance.randint(0, 4)) + text[place + 1 :]
        yield f"/v1/{chance.choice(PATHS)}", text


def fuzz(model: Path, count: int) -> None:
    async def all_of_them(address: str) -> list[dict[int, int]]:
        shared = questions(count)
        return await asyncio.gather(*(asked(address, shared) for _ in range(CLIENTS)))

    with serving(model, "--max-tokens", "64", "--time-limit", "30") as (client, _):
        found = asyncio.run(all_of_them(str(client.base_url).rstrip("/")))
    total = {status: sum(one.get(status, 0) for one in found) for status in sorted(set().union(*found))}
    print(f"{sum(total.values()):,} bodies: {total}; none made it fail")


if __name__ == "__main__":
    verb, place, *rest = sys.argv[1:]
    numbers = {"soak": float, "fuzz": int}
    given = [numbers[verb](one) for one in rest]
    {
        "model": make,
        "many": many,
        "beside": beside,
        "complete": complete,
        "soak": soak,
        "fuzz": fuzz,
    }[verb](Path(place), *given)  # type: ignore[operator]
