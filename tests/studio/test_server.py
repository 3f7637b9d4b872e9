"""Who is answered and who is not; jobs that outlive their studio; workers that die."""

from __future__ import annotations

import os
import re
import signal
from pathlib import Path
from urllib.request import urlopen

import pytest

from chainrule.studio.folder import Folder
from chainrule.studio.follow import Follower
from chainrule.studio.guard import Guard
from chainrule.studio.jobs import Jobs
from studio.running import Running, until


def test_only_the_own_page_is_answered(running: Running) -> None:
    own = f"127.0.0.1:{running.port}"
    assert running.ask("GET", "/api/files")[0] == 200
    assert running.ask("GET", "/api/files", Host=f"localhost:{running.port}")[0] == 200
    assert running.ask("GET", "/api/files", Origin=f"http://{own}", Sec_Fetch_Site="same-origin")[0] == 200
    assert running.ask("GET", "/api/files", Host=f"evil.example:{running.port}")[0] == 403
    assert running.ask("GET", "/api/files", Host="127.0.0.1:1")[0] == 403
    assert running.ask("GET", "/api/files", Origin="http://evil.example")[0] == 403
    assert running.ask("GET", "/api/files", Origin="null")[0] == 403
    for site in ("cross-site", "same-site"):
        assert running.ask("GET", "/", Sec_Fetch_Site=site)[0] == 403


def test_questions_are_json_of_a_bounded_size(running: Running) -> None:
    assert running.ask("POST", "/api/ask", b"do=show", Content_Type="text/plain")[0] == 415
    status, _, told = running.ask("POST", "/api/ask", b" " * 5_000_000)
    assert status == 413 and "4,000,000" in told["error"]
    assert running.ask("POST", "/api/ask", {"do": "nonsense"})[0] == 400
    assert running.ask("POST", "/api/jobs", {"make": "nonsense"})[0] == 400
    assert running.ask("GET", "/page/../server.py")[0] == 404


def test_an_upload_is_whole_bounded_new_and_inside(running: Running) -> None:
    assert running.ask("PUT", "/api/files/up.txt", b"one\ntwo\n")[0] == 200
    assert (running.folder / "up.txt").read_bytes() == b"one\ntwo\n"
    assert running.ask("PUT", "/api/files/up.txt", b"again")[0] == 400
    assert running.ask("PUT", "/api/files/..%2Fup.txt", b"out")[0] in (400, 404)
    assert running.ask("PUT", "/api/files/large.txt", b"x" * 1_000_001)[0] == 413
    chunks = [b"x" * 600_000] * 2  # no length is announced
    connection_status = _chunked(running, "/api/files/large.txt", chunks)
    assert connection_status == 413
    assert not (running.folder / "large.txt").exists()
    assert [one.name for one in running.folder.iterdir() if one.name.endswith(".partial")] == []


def _chunked(running: Running, path: str, chunks: list[bytes]) -> int:
    import http.client

    connection = http.client.HTTPConnection("127.0.0.1", running.port, timeout=30)
    connection.request(
        "PUT", path, iter(chunks), encode_chunked=True, headers={"Transfer-Encoding": "chunked"}
    )
    status = connection.getresponse().status
    connection.close()
    return status


def test_every_answer_has_a_strict_policy(running: Running) -> None:
    for path in ("/", "/page/main.js", "/views.js", "/views.css", "/api/files", "/nothing"):
        headers = running.ask("GET", path)[1]
        policy = headers["content-security-policy"]
        assert policy.startswith("default-src 'none'") and "unsafe" not in policy and "http" not in policy
        assert headers["x-content-type-options"] == "nosniff"


def test_a_report_is_shown_in_a_sandbox(running: Running) -> None:
    (running.folder / "cmp").mkdir()
    (running.folder / "cmp" / "report.html").write_text("<script>fetch('/api/files')</script>")
    status, headers, content = running.ask("GET", "/report/cmp")
    assert status == 200 and b"fetch" in content
    assert headers["content-security-policy"].startswith("sandbox allow-scripts; default-src 'none'")
    assert running.ask("GET", "/report/..")[0] in (400, 404)


async def _nothing(*given: object) -> None:
    raise AssertionError("asked")


def test_a_studio_for_other_machines_wants_its_token() -> None:
    guard = Guard.around(_nothing, "0.0.0.0", 8770, 10)
    assert guard.token and f"?token={guard.token}" in guard.address
    host = {"host": "192.168.1.7:8770"}
    assert guard.refusal("GET", "/", host) == (401, guard.refusal("GET", "/", host)[1])  # type: ignore[index]
    assert guard.refusal("GET", "/", {**host, "cookie": f"{guard.cookie}={guard.token}"}) is None
    assert guard.refusal("GET", "/", {**host, "cookie": f"{guard.cookie}=wrong"}) is not None
    assert (
        guard.refusal("GET", "/", {"host": "evil.example:8770", "cookie": f"{guard.cookie}={guard.token}"})
        is not None
    )
    assert Guard.around(_nothing, "127.0.0.1", 8770, 10).token is None
    assert Guard.around(_nothing, "::1", 8770, 10).token is None


def test_a_worker_that_is_killed_is_a_message_and_a_new_worker(running: Running) -> None:
    question = {"do": "score", "model": "my-lm", "text": "what is the time"}
    status, _, first = running.ask("POST", "/api/ask", question)
    assert status == 200
    for pid in _workers(running):
        os.kill(pid, signal.SIGKILL)
    answers = [running.ask("POST", "/api/ask", question) for _ in range(2)]
    assert all(status == 200 or "SIGKILL" in told["error"] for status, _, told in answers)
    assert answers[-1][0] == 200 and answers[-1][2]["perplexity"] == first["perplexity"]


def _workers(running: Running) -> list[int]:
    """Processes of this studio's workers."""
    found = []
    for place in Path("/proc").glob("[0-9]*"):
        try:
            words = (place / "cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        if b"chainrule.studio.worker" in words and str(running.folder).encode() in words:
            found.append(int(place.name))
    return found


def test_a_worker_gets_ready_when_a_page_is_open_and_not_while_it_opens(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    own = Running(tmp_path / "empty")
    try:
        for path in ("/", "/page/main.js", "/api/files", "/api/models"):
            assert own.ask("GET", path)[0] == 200
        assert _workers(own) == []
        with urlopen(f"{own.address}api/events", timeout=240):
            until(lambda: _workers(own))
    finally:
        own.close()


def test_a_command_that_fails_says_why(tmp_path: Path) -> None:
    jobs = Jobs(Folder.of(tmp_path))
    job = jobs.start("fit", ["fit", "nothing.txt", "-o", "m"], "m")
    until(lambda: not jobs.lives(job))
    told = Follower(jobs).all()[0]
    assert told["state"] == "failed" and "no file nothing.txt" in told["error"]


def test_a_rating_is_a_job_with_a_page_of_its_own(running: Running) -> None:
    for name in ("a", "b"):
        (running.folder / f"{name}.txt").write_text(f"one {name}\ntwo {name}\n")
    form = {"make": "rating", "a": "a.txt", "b": "b.txt", "name": "ratings.jsonl"}
    id = running.ask("POST", "/api/jobs", form)[2]["id"]
    jobs = Jobs(Folder.of(running.folder))

    def address() -> str | None:
        lines = Follower(jobs).snapshot(jobs.find(id))["lines"]
        return next(
            (found[0] for line in lines if (found := re.search(r"http://127.0.0.1:\d+/", line))), None
        )

    with urlopen(until(address)) as page:
        assert b"Which text is better?" in page.read()
    jobs.stop(id)
    until(lambda: not jobs.lives(jobs.find(id)))
    assert Follower(jobs).snapshot(jobs.find(id))["state"] in ("done", "stopped")
    assert (running.folder / "ratings.jsonl").exists()


@pytest.mark.parametrize("name", ["../../etc", "x", "20260101-000000-zzzz"])
def test_a_job_is_found_by_its_name_only(running: Running, name: str) -> None:
    status = running.ask("POST", f"/api/jobs/{name.replace('/', '%2F')}/remove", {})[0]
    assert status in (400, 404)
