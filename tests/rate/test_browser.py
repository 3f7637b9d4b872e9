"""The page of a rating in a real browser: keys, several raters, hostile texts, a server that dies."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pytest

from chainrule.rate.journal import Journal
from chainrule.rate.pairs import Pairs
from chainrule.rate.report import Ratings
from chainrule.rate.server import Server

HOSTILE = "</p><script>document.title = 'taken'</script><img src=x onerror=\"document.title = 'taken'\">"
LONG = "word " * 60 + "x" * 300
PAIRS = Pairs(
    ("one", "two"),
    ([f"{HOSTILE} one {at}" for at in range(4)], [f"{LONG} two {at}" for at in range(4)]),
    [HOSTILE] * 4,
)


class Rated:
    """A server and a browser that looks at its page."""

    def __init__(self, browser: Any, path: Path, width: int = 1100, **how: Any) -> None:
        self.journal = Journal.opened(path, PAIRS.subject)
        self.server = Server(PAIRS, self.journal, 0)
        self.thread = threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.01})
        self.thread.start()
        self.requests: list[str] = []
        self.complaints: list[str] = []
        self.page = browser.new_page(viewport={"width": width, "height": 800}, **how)
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.on("console", lambda message: self.complaints.append(message.text))
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))

    def visit(self, rater: str = "") -> None:
        self.page.goto(self.server.address + (f"?rater={rater}" if rater else ""))

    def press(self, key: str, told: str) -> None:
        """A key, and what the page says when it was understood."""
        before = self.page.locator("#who").inner_text()
        self.page.keyboard.press(key)
        if told == "Saved.":
            self.page.wait_for_function(
                "before => document.getElementById('who').textContent !== before", arg=before
            )
        self.page.wait_for_function(
            "told => document.getElementById('told').textContent.includes(told)", arg=told
        )

    def stop(self) -> None:
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()


def test_keys_rate_and_go_back_and_texts_stay_texts(browser: Any, tmp_path: Path) -> None:
    rated = Rated(browser, tmp_path / "r.jsonl")
    try:
        rated.visit()
        rated.page.fill("#name", "Ann")
        rated.page.keyboard.press("Enter")
        rated.page.wait_for_selector("#rating:not([hidden])")
        assert HOSTILE in rated.page.locator(".two").inner_text() and rated.page.title() == "chainrule rate"
        assert rated.page.locator("#source").inner_text() == HOSTILE
        for key in ("ArrowLeft", "ArrowRight", "ArrowDown"):
            rated.press(key, "Saved.")
        rated.press("u", "Choose again")
        rated.page.keyboard.press("1")
        rated.page.wait_for_function("() => document.getElementById('told').textContent === 'Saved.'")
        rated.page.locator("[data-choice=tie]").click()
        rated.page.wait_for_selector("#finished:not([hidden])")
        assert rated.complaints == []
        assert {one.split("/")[2] for one in rated.requests} - {""} == {f"127.0.0.1:{rated.server.port}"}
    finally:
        rated.stop()
    own = Journal.opened(tmp_path / "r.jsonl").of("Ann")
    sides = [
        "left" if own[pair].choice == own[pair].left else own[pair].choice for pair in PAIRS.order("Ann")
    ]
    assert sides[0] == "left" and sides[1] in "ab" and sides[2:] == ["left", "tie"]
    assert sum(map(len, Ratings.of(Journal.opened(tmp_path / "r.jsonl")).said.values())) == 4


@pytest.mark.parametrize(("width", "scheme"), [(1100, "light"), (360, "dark")])
def test_it_reads_well_on_any_screen(browser: Any, tmp_path: Path, width: int, scheme: str) -> None:
    rated = Rated(browser, tmp_path / "r.jsonl", width, color_scheme=scheme)
    try:
        rated.visit("Bob")
        rated.page.wait_for_selector("#rating:not([hidden])")
        assert rated.page.evaluate("document.documentElement.scrollWidth") <= width
        left, right = (
            rated.page.locator(f".text[data-choice={side}]").bounding_box() for side in ("left", "right")
        )
        assert (left["y"] == right["y"]) == (width > 640)
        dark = rated.page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(20, 22, 26)"
        assert dark == (scheme == "dark")
    finally:
        rated.stop()


def test_a_click_that_was_not_saved_is_not_passed_over(browser: Any, tmp_path: Path) -> None:
    rated = Rated(browser, tmp_path / "r.jsonl")
    rated.visit("Cy")
    rated.page.wait_for_selector("#rating:not([hidden])")
    shown = rated.page.locator(".two").inner_text()
    rated.stop()
    rated.page.keyboard.press("ArrowLeft")
    rated.page.wait_for_function("() => document.getElementById('told').textContent.startsWith('Not saved.')")
    assert rated.page.locator(".two").inner_text() == shown
    assert Journal.opened(tmp_path / "r.jsonl").ratings == []
