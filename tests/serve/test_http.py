"""The front: our verbs, what is refused, what is counted, and clients that behave badly."""

from __future__ import annotations

import io
import json
import socket
import time
from collections.abc import Callable, Iterator
from typing import Any

import httpx2 as httpx
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from chainrule.serve import guard
from chainrule.serve.answers import Answers
from chainrule.serve.config import ServeConfig
from chainrule.serve.metrics import Metrics

from .asking import server, tiny

MODELS = ("ngram", "gpt", "bert")
PATHS = [
    "completions",
    "chat/completions",
    "embeddings",
    "score",
    "predict",
    "tag",
    "translate",
    "fill",
    "complete",
    "rank",
]


@pytest.fixture(scope="module")
def http() -> Iterator[httpx.Client]:
    with server(
        {name: tiny(name) for name in MODELS}, time_limit=5.0, max_body=20_000, max_tokens=200
    ) as client:
        yield client


def without_seconds(found: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in found.items() if name != "seconds"}


def test_our_verbs_answer_with_the_dict_of_python(http: httpx.Client) -> None:
    lm, bert = tiny("ngram"), tiny("bert")
    asked = {
        "score": ({"text": "she was late"}, lm.score("she was late")),
        "complete": ({"prompt": "she w", "k": 3, "length": 4}, lm.complete("she w", 3, 4)),
        "rank": ({"candidates": ["she was", "wsa ehs"]}, lm.rank(["she was", "wsa ehs"])),
        "fill": ({"model": "bert", "text": "s[MASK]e", "k": 2}, bert.fill("s[MASK]e", 2)),
    }
    for verb, (body, expected) in asked.items():
        found = http.post(f"/v1/{verb}", json=body).json()
        assert without_seconds(found) == without_seconds(json.loads(json.dumps(expected.to_dict()))), verb
    texts = ["she was", "late"] * 6
    found = http.post("/v1/score", json={"texts": texts}).json()["results"]
    assert found == [one.to_dict() for one in lm.score_each(texts)]


def test_a_question_asked_again_is_answered_without_the_engine(http: httpx.Client) -> None:
    def asked() -> tuple[bytes, float]:
        return http.post("/v1/complete", json={"prompt": "he was l"}).content, metric(
            http, "chainrule_calls_total"
        )

    first, again = asked(), asked()
    assert first == again


def test_kept_answers_stay_within_their_bytes() -> None:
    answers = Answers(most=64_000)
    for at in range(100):
        answers.keep("/v1/score", b"%d" % at, b"x" * 700)
    assert (
        answers.bytes <= 64_000 and answers.find("/v1/score", b"99") and not answers.find("/v1/score", b"0")
    )
    answers.keep("/v1/score", b"large", b"x" * 64_000)
    assert answers.find("/v1/score", b"large") is None


@pytest.mark.parametrize("verb", ["predict", "tag", "translate", "fill"])
def test_a_verb_the_model_has_not_is_told_and_why(http: httpx.Client, verb: str) -> None:
    found = http.post(f"/v1/{verb}", json={"text": "she [MASK]"})
    assert found.status_code == 400
    assert "model" in found.json()["error"]["message"] or "ngram" in found.json()["error"]["message"]


@pytest.mark.parametrize(
    ("path", "body", "status", "told"),
    [
        ("/v1/completions", b"{", 400, "JSON"),
        ("/v1/completions", b"[" * 9000, 400, "JSON"),
        ("/v1/completions", b'{"prompt": "\\ud800"}', 400, "JSON"),
        (
            "/v1/completions",
            b'{"prompt": {}}',
            400,
            "prompt: give a text, a list of texts, ids or lists of ids",
        ),
        (
            "/v1/completions",
            b'{"prompt": ["x", 1]}',
            400,
            "prompt: give a text, a list of texts, ids or lists",
        ),
        ("/v1/completions", b'{"prompt": [-1]}', 400, "prompt: Input should be greater than or equal to 0"),
        (
            "/v1/completions",
            b'{"prompt": "x", "stream": "x"}',
            400,
            "stream: Input should be a valid boolean",
        ),
        ("/v1/completions", b'{"max_tokens": 1}', 400, "prompt: Field required"),
        ("/v1/completions", b'{"prompt": "x", "stop": 5}', 400, "stop: give a text or a list of texts"),
        ("/v1/completions", b'{"prompt": [1, 99999]}', 400, "Tokens go from 1"),
        ("/v1/completions", b'{"prompt": "x", "max_tokens": 201}', 400, "200 at most"),
        ("/v1/completions", b'{"prompt": "x", "temperature": NaN}', 400, ""),
        ("/v1/completions", b'{"prompt": "x", "model": "bert"}', 400, "both ways"),
        (
            "/v1/completions",
            b'{"prompt": ["x", "y"], "n": 128, "model": "../../etc/passwd"}',
            404,
            "no model",
        ),
        ("/v1/completions", b'{"prompt": "' + b"x" * 20_000 + b'"}', 413, "20,000 bytes"),
        ("/detokenize", b'{"tokens": [77777]}', 400, "no id 77777"),
        ("/v1/score", b"{}", 400, "Give a text"),
        ("/v1/score", b'{"text": "x", "texts": ["y"]}', 400, "text or texts, not both"),
        ("/v1/embeddings", b'{"model": "gpt", "input": "x", "dimensions": 4}', 400, "16 numbers"),
        ("/v1/embeddings", b'{"input": "x"}', 400, "no vectors"),
    ],
)
def test_wrong_requests_are_told_what_is_wrong(
    http: httpx.Client, path: str, body: bytes, status: int, told: str
) -> None:
    found = http.post(path, content=body)
    assert found.status_code == status and told in found.json()["error"]["message"], found.text


def test_paths_are_asked_as_http_has_it(http: httpx.Client) -> None:
    head, got = http.head("/health"), http.get("/health")
    assert (head.status_code, head.content) == (200, b"") and got.json() == {"status": "ok"}
    wrong = http.get("/v1/completions")
    assert wrong.status_code == 405 and wrong.headers["allow"] == "POST"
    assert http.post("/v1/models").headers["allow"] == "GET"
    slash = http.post("/v1/score/", json={"text": "she"})  # a redirect would name an address behind the proxy
    assert slash.status_code == 404 and "no such path" in slash.json()["error"]["message"]


@pytest.mark.parametrize(
    "headers",
    [{"Host": "evil.example"}, {"Origin": "http://evil.example"}, {"Host": "127.0.0.1.evil.example:80"}],
)
def test_only_this_machine_is_answered(http: httpx.Client, headers: dict[str, str]) -> None:
    assert http.get("/v1/models", headers=headers).status_code == 403
    assert http.get("/v1/models", headers={"Host": "localhost:1"}).status_code == 200


def test_a_page_describes_everything_and_asks_for_nothing_from_elsewhere(http: httpx.Client) -> None:
    document = http.get("/openapi.json").json()
    assert {f"/v1/{path}" for path in PATHS} < set(document["paths"])
    assert "CompletionBody" in document["components"]["schemas"]
    assert [one["name"] for one in document["paths"]["/v1/models/{model}"]["get"]["parameters"]] == ["model"]
    page = "".join(http.get(path).text for path in ("/docs", "/docs/page.js", "/docs/page.css"))
    assert "//" not in page.replace("/* not JSON: as it is */", "")
    assert "default-src 'none'" in http.get("/docs").headers["content-security-policy"]


def test_counters_are_told_in_prometheus_format(http: httpx.Client) -> None:
    http.post("/v1/completions", json={"prompt": "she", "max_tokens": 3})
    text = http.get("/metrics").text
    assert 'chainrule_requests_total{path="/v1/completions",status="2xx"}' in text
    assert 'chainrule_generated_tokens_total{model="ngram"}' in text
    assert all(line.startswith("#") or float(line.rpartition(" ")[2]) >= 0 for line in text.splitlines())


def test_counters_of_all_processes_are_added_up() -> None:
    metrics = Metrics(["/health"], ["lm"], 2)
    for worker in range(2):
        metrics.worker(worker)
        metrics.answered("/health", 200, 0.001)
    assert 'chainrule_requests_total{path="/health",status="2xx"} 2' in metrics.text()


def test_the_log_has_a_line_for_each_request_and_no_key_in_it() -> None:
    import asyncio

    async def app(scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"hello"})

    async def asked() -> str:
        log = io.StringIO()
        guarded = guard.Guard(app, ServeConfig(key="secret", host="0.0.0.0"), Metrics([], []), log)
        for sent in (b"Bearer secret", b"Bearer wrong-secret", b"secret"):
            scope = {"type": "http", "method": "GET", "path": "/x", "headers": [(b"authorization", sent)]}
            await guarded(scope, asyncio.Queue().get, lambda message: asyncio.sleep(0))  # type: ignore[arg-type]
        return log.getvalue()

    text = asyncio.run(asked())
    assert [json.loads(line)["status"] for line in text.splitlines()] == [200, 401, 401]
    assert "secret" not in text


def raw(http: httpx.Client, sent: bytes) -> socket.socket:
    found = socket.create_connection((http.base_url.host, int(http.base_url.port or 0)), timeout=10)
    found.sendall(sent)
    return found


def body_of(values: dict[str, Any]) -> bytes:
    body = json.dumps(values).encode()
    return b"POST /v1/completions HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n%s" % (
        len(body),
        body,
    )


def metric(http: httpx.Client, name: str) -> float:
    lines = [line for line in http.get("/metrics").text.splitlines() if line.startswith(name)]
    return sum(float(line.rpartition(" ")[2]) for line in lines)


@pytest.mark.parametrize("streams", [True, False])
def test_a_client_that_vanishes_costs_nothing_more(http: httpx.Client, streams: bool) -> None:
    before = metric(http, "chainrule_cancelled_total")
    place = raw(
        http, body_of({"model": "gpt", "prompt": "she", "max_tokens": 200, "n": 64, "stream": streams})
    )
    wait(lambda: metric(http, "chainrule_running") > 0)
    place.close()
    wait(lambda: metric(http, "chainrule_running") == 0)
    assert metric(http, "chainrule_cancelled_total") > before


def wait(until: Callable[[], bool]) -> None:
    end = time.monotonic() + 20
    while not until():
        assert time.monotonic() < end


def test_idle_and_half_sent_requests_hold_nobody_up(
    http: httpx.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(guard, "BODY_SECONDS", 0.2)
    idle = [raw(http, b"") for _ in range(100)]
    half = raw(http, b"POST /v1/score HTTP/1.1\r\nHost: localhost\r\nContent-Length: 50\r\n\r\n{")
    assert http.post("/v1/score", json={"text": "she"}).status_code == 200
    assert half.recv(15) == b"HTTP/1.1 408 Re"
    for place in [*idle, half]:
        place.close()


PLAIN = st.none() | st.booleans() | st.integers(-5, 40) | st.floats() | st.text(max_size=8)
VALUES = (
    PLAIN
    | st.lists(PLAIN | st.lists(PLAIN, max_size=3), max_size=3)
    | st.dictionaries(st.text(max_size=3), PLAIN)
)
NAMES = (
    "model prompt max_tokens temperature top_p top_k n stop seed logprobs echo stream stream_options messages input "
    "text texts pair question passage k length candidates tokens encoding_format top"
).split()


@settings(
    max_examples=50,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(path=st.sampled_from(PATHS), body=st.dictionaries(st.sampled_from(NAMES), VALUES, max_size=6))
def test_no_body_makes_the_server_fail(http: httpx.Client, path: str, body: dict[str, Any]) -> None:
    found = http.post(f"/v1/{path}", content=json.dumps(body).encode())
    assert found.status_code < 500, found.text
    assert "Traceback" not in found.text


def test_a_request_cannot_ask_for_more_numbers_than_memory_holds(http: httpx.Client) -> None:
    body = {"prompt": ["she"] * 64, "n": 16, "max_tokens": 200, "logprobs": 20}
    found = http.post("/v1/completions", json=body)
    assert found.status_code == 400 and "log-probabilities" in found.json()["error"]["message"]


def test_headers_must_come_soon_and_be_short() -> None:
    import asyncio

    from chainrule.serve.server import HEADER_BYTES, Protocol

    async def sent(data: bytes) -> bytes:
        import uvicorn
        from uvicorn.server import ServerState

        config = uvicorn.Config(lambda: None, http=Protocol, log_config=None, lifespan="off")  # type: ignore[arg-type]
        config.load()
        loop = asyncio.get_running_loop()
        protocols: list[Protocol] = []

        def connected() -> Protocol:
            protocols.append(Protocol(config, ServerState(), {}))
            return protocols[-1]

        place = await loop.create_server(connected, "127.0.0.1", 0)
        reader, writer = await asyncio.open_connection(*place.sockets[0].getsockname())
        writer.write(data)
        try:
            return await asyncio.wait_for(reader.read(), 10)
        except ConnectionError:
            return b""
        finally:
            writer.close()
            place.close()
            await asyncio.gather(writer.wait_closed(), place.wait_closed(), return_exceptions=True)
            while not protocols[0].transport.is_closing():
                await asyncio.sleep(0)
            await asyncio.sleep(0)  # what closing has left to be done

    endless = b"GET / HTTP/1.1\r\nHost: localhost\r\nX: " + b"x" * (2 * HEADER_BYTES)
    assert asyncio.run(sent(endless)) == b""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("chainrule.serve.server.HEADER_SECONDS", 0.1)
        assert asyncio.run(sent(b"GET / HTTP/1.1\r\n")) == b""
