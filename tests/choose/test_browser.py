"""The page in a real browser: it shows, sorts and chooses, and asks for nothing but itself."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from chainrule.choose.report import page
from choose.made_up import rich

HOSTILE = (
    "</script><script>document.title = 'taken'</script>\u2028<img src=x onerror=\"document.title = 'taken'\">"
)
OVERLAPS = """() => {
    const boxes = [...document.querySelectorAll("svg.plot .label")].map((one) => one.getBoundingClientRect());
    const seen = boxes.filter((box) => box.width > 0);
    const meets = (one, other) => one.left < other.right && other.left < one.right
        && one.top + 2 < other.bottom - 2 && other.top + 2 < one.bottom - 2;
    return [seen.length, seen.filter((one, at) => seen.slice(at + 1).some((other) => meets(one, other))).length];
}"""


class Visit:
    """An opened page, every request it made, and every complaint."""

    def __init__(
        self, browser: Any, path: Path, results: dict[str, Any], width: int = 1280, **how: Any
    ) -> None:
        path.write_text(page(results), encoding="utf-8")
        self.address = path.as_uri()
        self.requests: list[str] = []
        self.complaints: list[str] = []
        self.page = browser.new_page(viewport={"width": width, "height": 900}, **how)
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.on("console", lambda message: self.complaints.append(message.text))
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.goto(self.address)

    def column(self, at: int) -> list[str]:
        """The texts of a column of the leaderboard, from top to bottom."""
        rows = self.page.locator("#leaderboard tbody tr:not(.failed)")
        return [row.locator("th, td").nth(at).inner_text() for row in rows.all()]

    def levels(self, line: int) -> list[str]:
        """The colours of a row of the surprise."""
        return list(
            self.page.eval_on_selector_all(".cell", f"all => all.map(one => one.children[{line}].className)")
        )


@pytest.fixture(scope="module")
def visit(browser: Any, tmp_path_factory: pytest.TempPathFactory) -> Visit:
    """A rich page that several tests look at; each leaves it usable for the others."""
    return Visit(browser, tmp_path_factory.mktemp("page") / "report.html", rich())


def test_nothing_but_the_file_is_asked_for_and_nothing_complains(visit: Visit) -> None:
    assert [one for one in visit.requests if one not in (visit.address, "data:,")] == []
    assert visit.complaints == []


@pytest.mark.parametrize("width", [1280, 820, 390])
def test_plots_are_seen_labels_are_apart_and_nothing_is_wider_than_the_screen(
    visit: Visit, width: int
) -> None:
    visit.page.set_viewport_size({"width": width, "height": 900})
    boxes = [one.bounding_box() for one in visit.page.locator("svg.plot").all() if one.is_visible()]
    assert len(boxes) == 2
    assert all(width * 0.6 < box["width"] <= width and box["height"] > 200 for box in boxes if box)
    labels, overlaps = visit.page.evaluate(OVERLAPS)
    assert (labels, overlaps) == (9 + 2, 0)
    assert visit.page.evaluate("document.documentElement.scrollWidth") <= width


def test_a_click_on_a_head_sorts_and_a_second_turns_it_round(visit: Visit) -> None:
    visit.page.set_viewport_size({"width": 1280, "height": 900})
    training = visit.page.get_by_role("button", name="training")
    training.click()
    assert visit.column(4)[:3] == ["0.05\u00a0s", "0.8\u00a0s", "1.9\u00a0s"]
    assert training.locator("..").get_attribute("aria-sort") == "ascending"
    training.click()
    assert visit.column(4)[0] == "3:02\u00a0min"
    assert "failed" in str(visit.page.locator("#leaderboard tbody tr").last.get_attribute("class"))
    visit.page.get_by_role("button", name="model").click()
    assert visit.column(0)[0].startswith("3-gram")


def test_rounds_are_shown_as_bars_over_the_time(visit: Visit) -> None:
    visit.page.set_viewport_size({"width": 1280, "height": 900})
    boxes = [one.bounding_box() for one in visit.page.locator("#rounds svg.turn rect").all()]
    lefts = [box["x"] for box in boxes if box]
    assert len(lefts) == 5 and lefts == sorted(lefts)
    assert max(box["width"] for box in boxes if box) == boxes[-1]["width"]  # the winner had most of it
    assert "dropped after 20 s" in visit.page.locator("#rounds").inner_text()


def test_any_two_models_can_be_chosen(visit: Visit) -> None:
    first = visit.levels(0)
    visit.page.select_option("#upper", label=visit.page.locator("#upper option").nth(8).inner_text())
    chosen = visit.levels(0)
    assert chosen != first
    visit.page.select_option("#lower", "8")
    assert visit.levels(1) == chosen
    assert set(visit.levels(2)) == {""}
    visit.page.select_option("#upper", "0")
    visit.page.select_option("#lower", "1")
    assert visit.levels(0) == first


def test_the_script_colours_as_the_page_came(browser: Any, tmp_path: Path) -> None:
    fresh = Visit(browser, tmp_path / "report.html", rich())
    before = [fresh.levels(line) for line in range(3)]
    fresh.page.select_option("#upper", "2")
    fresh.page.select_option("#upper", "0")
    assert [fresh.levels(line) for line in range(3)] == before


def test_a_symbol_tells_both_values_by_pointer_and_by_keys(visit: Visit) -> None:
    bits = rich()["surprise"]["bits"]
    visit.page.locator(".cell").nth(5).hover()
    told = visit.page.inner_text("#readout")
    assert 'Symbol 6 "s"' in told
    assert f"mix: {bits['mix'][5]:.2f} bits" in told and f"lstm: {bits['lstm'][5]:.2f} bits" in told
    visit.page.focus("#staff")
    visit.page.keyboard.press("ArrowRight")
    assert "Symbol 7 " in visit.page.inner_text("#readout")
    visit.page.keyboard.press("End")
    assert f"Symbol {len(rich()['surprise']['symbols'])} " in visit.page.inner_text("#readout")


def test_without_a_script_everything_is_told_but_nothing_can_be_chosen(browser: Any, tmp_path: Path) -> None:
    plain = Visit(browser, tmp_path / "report.html", rich(), java_script_enabled=False)
    assert not plain.page.locator("#upper").is_visible()
    assert plain.page.locator(".fixed").inner_text() == "Rows: mix above lstm."
    assert plain.page.locator("svg.plot.wide").first.is_visible()
    assert plain.page.locator("section").count() == 9


def test_hostile_names_stay_text(browser: Any, tmp_path: Path) -> None:
    results = rich()
    results["data"]["name"] = results["models"][0]["title"] = results["advice"]["sentences"][0] = HOSTILE
    results["surprise"]["bits"] = {HOSTILE: [1.0] * 9, "other": [2.0] * 9}
    results["surprise"]["symbols"] = [HOSTILE] * 9
    hostile = Visit(browser, tmp_path / "report.html", results, width=390)
    assert hostile.page.title().startswith("</script>")
    assert hostile.page.inner_text("h1").startswith("</script><script>document.title")
    assert hostile.complaints == []
    hostile.page.locator(".cell").first.click()
    assert "difference: −1.00" in hostile.page.inner_text("#readout")
    assert hostile.page.evaluate("document.documentElement.scrollWidth") <= 390
