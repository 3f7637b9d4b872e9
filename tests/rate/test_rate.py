"""People as judges: nothing is lost, nothing is told, and only this machine is answered."""

from __future__ import annotations

import http.client
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from sklearn.metrics import cohen_kappa_score

from chainrule.cli import main
from chainrule.errors import DataError
from chainrule.rate.journal import Journal
from chainrule.rate.pairs import Pairs
from chainrule.rate.report import Ratings, cohen, fleiss
from chainrule.rate.server import Server

ONE = [f"text {at} <b>one</b>" for at in range(12)]
TWO = [f"text {at} two" for at in range(11)] + [ONE[11]]
PAIRS = Pairs(("one.txt", "two.txt"), (ONE, TWO), [f"source {at}" for at in range(12)])


@contextmanager
def served(path: Path) -> Iterator[Server]:
    server = Server(PAIRS, Journal.opened(path, PAIRS.subject), 0)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def asked(port: int, path: str, values: Any = None, **headers: str) -> tuple[int, Any, dict[str, str]]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
    named = {"Content-Type": "application/json"} | {
        name.replace("_", "-"): one for name, one in headers.items()
    }
    body = None if values is None else json.dumps(values)
    connection.request(
        "GET" if values is None else "POST", path, body, named if values is not None else headers
    )
    answer = connection.getresponse()
    found, told = answer.read(), dict(answer.getheaders())
    connection.close()
    return answer.status, json.loads(found) if "json" in told["Content-Type"] else found.decode(), told


def rate_all(server: Server, rater: str, better: str) -> None:
    _, found, _ = asked(server.port, f"/next?rater={rater}")
    while not found.get("finished"):
        left = "one" if "one" in found["left"] else "two"
        choice = "tie" if better == "tie" else "left" if left == better else "right"
        _, found, _ = asked(server.port, "/rate", {"rater": rater, "pair": found["pair"], "choice": choice})


def test_every_click_counts_for_the_system_that_stood_there(tmp_path: Path) -> None:
    with served(tmp_path / "r.jsonl") as server:
        rate_all(server, "ann", "one")
        rate_all(server, "bob", "tie")
    found = Ratings.of(Journal.opened(tmp_path / "r.jsonl"))
    assert found.said["ann"] == dict.fromkeys(PAIRS.shown, "a")
    assert found.to_dict()["wins"] == {"a": 11, "b": 0, "tie": 11}
    assert found.share() == pytest.approx((0.75, 0.75, 0.75)) and found.to_dict()["significant"]
    sides = {one.left for one in Journal.opened(tmp_path / "r.jsonl").ratings}
    assert sides == {"a", "b"}  # each system stood on either side


def test_pairs_are_blind_and_everybody_has_another_order_that_stays(tmp_path: Path) -> None:
    put = PAIRS.put(Journal.opened(tmp_path / "r.jsonl", PAIRS.subject), "ann", 3)
    assert "one.txt" not in json.dumps(put) and set(put) == {
        "rated",
        "pairs",
        "pair",
        "left",
        "right",
        "source",
    }
    assert PAIRS.order("ann") == PAIRS.order("ann") != PAIRS.order("bob")
    assert sorted(PAIRS.order("ann")) == list(range(11))  # the twelfth is the same in both


def test_a_rating_continues_and_minds_may_be_changed(tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    with served(path) as server:
        _, first, _ = asked(server.port, "/next?rater=ann")
        asked(server.port, "/rate", {"rater": "ann", "pair": first["pair"], "choice": "left"})
    with served(path) as server:
        _, second, _ = asked(server.port, "/next?rater=ann")
        assert second["rated"] == 1 and second["pair"] == PAIRS.order("ann")[1]
        _, back, _ = asked(server.port, "/back", {"rater": "ann", "pair": second["pair"]})
        assert back["pair"] == first["pair"]
        asked(server.port, "/rate", {"rater": "ann", "pair": first["pair"], "choice": "tie"})
    assert Ratings.of(Journal.opened(path)).said["ann"] == {first["pair"]: "tie"}


def test_a_killed_server_has_lost_no_click(tmp_path: Path) -> None:
    for name, texts in {"a.txt": ONE, "b.txt": TWO}.items():
        (tmp_path / name).write_text("\n".join(texts) + "\n")
    words = ["rate", str(tmp_path / "a.txt"), str(tmp_path / "b.txt"), "-o", str(tmp_path / "r.jsonl")]
    process = subprocess.Popen(
        [sys.executable, "-m", "chainrule", *words], stderr=subprocess.PIPE, text=True, env=os.environ
    )
    try:
        assert process.stderr is not None
        port = int(process.stderr.readline().split("127.0.0.1:")[1].split("/")[0])
        assert asked(port, "/rate", {"rater": "ann", "pair": 2, "choice": "left"})[0] == 200
        process.send_signal(signal.SIGKILL)
        assert process.wait(20) == -signal.SIGKILL
    finally:
        process.kill()
        process.communicate()
    assert set(Ratings.of(Journal.opened(tmp_path / "r.jsonl")).said["ann"]) == {2}


def test_a_line_that_was_cut_off_spoils_neither_those_before_nor_those_after(tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    journal = Journal.opened(path, PAIRS.subject)
    journal.add("ann", 1, "a", "a")
    with path.open("a") as file:
        file.write('{"rater": "ann", "pai')
    Journal.opened(path, PAIRS.subject).add("ann", 2, "b", "a")
    assert Ratings.of(Journal.opened(path)).said["ann"] == {1: "a", 2: "b"}


@pytest.mark.parametrize(
    "line",
    [
        "[" * 5000,
        '{"rater": ["ann"], "pair": 1, "choice": "a", "left": "a", "time": 1}',
        '{"rater": "ann", "pair": "1", "choice": "a", "left": "a", "time": 1}',
        '{"rater": "ann", "pair": 1, "choice": ["a"], "left": "a", "time": 1}',
        '{"rater": "ann", "pair": 99, "choice": "a", "left": "a", "time": 1}',
        '{"rater": "ann", "pair": 1, "choice": "a", "left": "c", "time": 1}',
    ],
)
def test_damaged_ratings_do_not_count_and_it_is_said(
    line: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "r.jsonl"
    Journal.opened(path, PAIRS.subject).add("bob", 2, "b", "a")
    with path.open("a") as file:
        file.write(f"{line}\n")
    assert Ratings.of(Journal.opened(path)).said == {"bob": {2: "b"}}
    assert main(["rate", "--report", str(path), "--json"]) == 0
    told = capsys.readouterr()
    assert json.loads(told.out)["damaged"] == 1 and "1 line of" in told.err and "does not count" in told.err


@pytest.mark.parametrize("wrong", [{"pairs": "12"}, {"a": 1}, {"pairs": -1}, {"fingerprint": None}])
def test_ratings_of_nobody_knows_what_are_refused(wrong: dict[str, Any], tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    Journal.opened(path, PAIRS.subject)
    path.write_text(json.dumps(json.loads(path.read_text()) | wrong) + "\n")
    with pytest.raises(DataError, match="holds no ratings"):
        Journal.opened(path)


def test_a_damaged_number_of_pairs_does_not_hide_ratings(tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    Journal.opened(path, PAIRS.subject).add("bob", 2, "b", "a")
    head, rest = path.read_text().split("\n", 1)
    path.write_text(json.dumps(json.loads(head) | {"pairs": 1}) + "\n" + rest)
    with pytest.raises(DataError, match=r"says 1 pairs, and these texts are 12"):
        Journal.opened(path, PAIRS.subject)


def raw(port: int, request: bytes) -> bytes:
    with socket.create_connection(("127.0.0.1", port), timeout=20) as connection:
        connection.sendall(request.replace(b"PORT", str(port).encode()))
        connection.shutdown(socket.SHUT_WR)
        return b"".join(iter(lambda: connection.recv(1 << 16), b""))


def test_odd_requests_have_an_answer(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    head = (
        b"POST /rate HTTP/1.1\r\nHost: 127.0.0.1:PORT\r\nContent-Type: application/json\r\nContent-Length: "
    )
    asked = [
        b"GET http://[x HTTP/1.1\r\nHost: 127.0.0.1:PORT\r\n\r\n",
        head + "²".encode("latin-1") + b"\r\n\r\n",
        head + b"5000\r\n\r\n" + b"[" * 5000,
        *(
            head + b"%d\r\n\r\n%s" % (len(one), one)
            for one in (b'{"rater": "ann", "pair": 1, "choice": [1]}',)
        ),
    ]
    with served(tmp_path / "r.jsonl") as server:
        for one in asked:
            assert raw(server.port, one).split(b" ")[1] in (b"400", b"413"), one
        assert raw(server.port, asked[0].replace(b"/rate", b"/back")).split(b" ")[1] == b"400"
    assert "Traceback" not in capsys.readouterr().err


def test_a_click_that_cannot_be_kept_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with served(tmp_path / "r" / "r.jsonl") as server:
        shutil.rmtree(tmp_path / "r")
        status, found, _ = asked(server.port, "/rate", {"rater": "ann", "pair": 1, "choice": "left"})
        assert status == 500 and "not kept" in found["error"] and not server.journal.ratings
    assert "Traceback" not in capsys.readouterr().err


def test_a_browser_that_is_gone_before_it_was_answered_makes_no_noise(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with served(tmp_path / "r.jsonl") as server:
        for error, told in (
            (BrokenPipeError(), False),
            (ConnectionResetError(), False),
            (ValueError(), True),
        ):
            try:
                raise error
            except (OSError, ValueError):
                server.handle_error(None, ("127.0.0.1", 1))
            assert bool(capsys.readouterr().err) is told


def test_only_this_page_is_answered(tmp_path: Path) -> None:
    with served(tmp_path / "r.jsonl") as server:
        good = {"rater": "ann", "pair": 1, "choice": "left"}
        assert server.server_address[0] == "127.0.0.1"
        assert asked(server.port, "/next?rater=ann", Host="evil.example")[0] == 403
        assert asked(server.port, "/rate", good, Origin="http://evil.example")[0] == 403
        assert asked(server.port, "/rate", good, Content_Type="text/plain")[0] == 415
        assert asked(server.port, "/rate", {**good, "rater": "x" * 20_000})[0] == 413
        for wrong in (
            {"pair": 11},
            {"pair": "1"},
            {"pair": True},
            {"choice": "a"},
            {"rater": " "},
            {"rater": "a\nb"},
        ):
            assert asked(server.port, "/rate", {**good, **wrong})[0] == 400
        assert asked(server.port, "/rate", [1])[0] == 400 and asked(server.port, "/../rate", good)[0] == 404
        status, page, headers = asked(server.port, "/")
        assert status == 200 and "default-src 'none'" in headers["Content-Security-Policy"]
        assert (
            "http" not in page.replace("http-equiv", "")
            and "unsafe" not in headers["Content-Security-Policy"]
        )
    assert Ratings.of(Journal.opened(tmp_path / "r.jsonl")).said == {}


def test_cohens_kappa_is_that_of_scikit_learn_and_fleiss_that_of_his_paper() -> None:
    rows = [("a", "a"), ("a", "b"), ("tie", "b"), ("b", "b"), ("a", "a"), ("tie", "tie"), ("b", "a")]
    assert cohen(rows)[1] == pytest.approx(cohen_kappa_score(*map(list, zip(*rows, strict=True))))
    # Fleiss (1971) in small: 3 raters; aaa, aab, bbb: P = (1 + 1/3 + 1) / 3 = 7/9, chance (5/9)^2 + (4/9)^2 = 41/81
    same, kappa = fleiss([["a", "a", "a"], ["a", "a", "b"], ["b", "b", "b"]])
    assert same == pytest.approx(7 / 9) and kappa == pytest.approx((63 - 41) / (81 - 41))


def test_the_report_tells_wins_interval_and_agreement(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "r.jsonl"
    journal = Journal.opened(path, PAIRS.subject)
    assert main(["rate", "--report", str(path)]) == 0 and "Nobody" in capsys.readouterr().out
    for rater, choices in {"ann": "aabab", "bob": "aabbb", "cy": "aaaab"}.items():
        for pair, choice in enumerate(choices):
            journal.add(rater, pair, choice, "a")
    assert main(["rate", "--report", str(path), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["wins"] == {"a": 9, "b": 6, "tie": 0} and found["share_of_a"] == pytest.approx(0.6)
    assert found["interval"][0] < 0.6 < found["interval"][1] and not found["significant"]
    assert [len(one["raters"]) for one in found["agreement"]] == [2, 2, 2, 3]
    assert main(["rate", "--report", str(path)]) == 0
    assert "not significant" in capsys.readouterr().out


def test_what_cannot_be_rated_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(DataError, match=r"12 lines and .* 3"):
        Pairs(("a", "b"), (ONE, TWO[:3]))
    with pytest.raises(DataError, match="2 sources and 12"):
        Pairs(("a", "b"), (ONE, TWO), ["x", "y"])
    with pytest.raises(DataError, match="nothing to rate"):
        Pairs(("a", "b"), (ONE, ONE))
    Journal.opened(tmp_path / "r.jsonl", PAIRS.subject)
    with pytest.raises(DataError, match="other texts"):
        Journal.opened(tmp_path / "r.jsonl", Pairs(("a", "b"), (ONE[:5], TWO[:5])).subject)
    (tmp_path / "x.txt").write_text("x\n")
    with pytest.raises(DataError, match="holds no ratings"):
        Journal.opened(tmp_path / "x.txt")
    assert main(["rate", str(tmp_path / "x.txt")]) == 2 and "two systems" in capsys.readouterr().err
    assert main(["rate", "--report", str(tmp_path / "none.jsonl")]) == 1
    assert "cannot be read" in capsys.readouterr().err
