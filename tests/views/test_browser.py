"""Views in a real browser: they draw, answer, and ask for nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import chainrule as cr
from chainrule.views.kinds import kinds
from chainrule.views.page import module
from fitted import fitted
from views.opened import Visit
from views.seen import gpt, small

TEXT = "what is the weather"


def visit(browser: Any, folder: Path, view: cr.View, **how: Any) -> Visit:
    view.save(folder / "view.html")
    found = Visit(browser, folder / "view.html", **how)
    assert found.asked == []
    assert found.complaints == []
    return found


def test_next_shows_pythons_numbers_and_narrows_them(browser: Any, tmp_path: Path) -> None:
    view = cr.look(fitted(), "what is", view="next", best=4)
    page = visit(browser, tmp_path, view).page
    shown = page.locator(".bars .row .value").all_inner_texts()
    assert [float(one.rstrip(" %")) for one in shown[:4]] == pytest.approx(
        (100 * view["probabilities"][0]).tolist(), abs=0.006
    )
    page.locator("input[type=range]").nth(1).evaluate(
        "(input) => { input.value = 1; input.dispatchEvent(new Event('input')); }"
    )
    assert page.locator(".bars .row .value").first.inner_text() == "100.00 %"
    assert page.locator(".bars .row.out").count() == 3


def test_a_click_on_a_symbol_continues_with_it(browser: Any, tmp_path: Path) -> None:
    page = visit(browser, tmp_path, cr.look(fitted(), "what is", view="next")).page
    page.locator(".bars button.row").filter(has_text="the").first.click()
    after = fitted().next("what is the", 1).symbols[0]
    first = page.locator(".bars .row").first
    assert first.locator(".name").inner_text() == after.token
    assert float(first.locator(".value").inner_text().rstrip(" %")) == pytest.approx(
        100 * after.probability, abs=0.006
    )
    assert page.locator(".trail").inner_text().startswith("then the")
    page.locator(".trail button").click()
    assert page.locator(".trail").inner_text() == ""


def test_a_click_on_a_symbol_hides_it(browser: Any, tmp_path: Path) -> None:
    view = cr.look(small("bert", layers=1, width=8, heads=2, context=32), TEXT, view="masked", best=3)
    page = visit(browser, tmp_path, view).page
    page.locator(".symbol").nth(2).click()
    assert page.locator(".symbol").all_inner_texts() == ["what", "is", "[MASK]", "weather"]
    shown = page.locator(".bars .row .value").all_inner_texts()
    wanted = (100 * view["models"][0]["probabilities"][2]).tolist()
    assert [float(one.rstrip(" %")) for one in shown] == pytest.approx(wanted, abs=0.006)


def test_surprise_tells_a_symbol_that_one_steps_to(browser: Any, tmp_path: Path) -> None:
    view = cr.look([fitted(), fitted(order=1)], TEXT)
    page = visit(browser, tmp_path, view).page
    page.locator(".symbol").first.focus()
    page.keyboard.press("ArrowRight")
    assert f"is: {view['bits'][0, 1]:.2f} bits" in page.locator(".readout").first.inner_text()
    assert page.locator("h2").count() == 3


def test_attention_of_another_head_is_drawn_when_it_is_chosen(browser: Any, tmp_path: Path) -> None:
    view = cr.look(gpt(), TEXT, view="attention")
    page = visit(browser, tmp_path, view, width=420, color_scheme="dark").page
    page.locator("[data-head='1.2']").click()
    assert "layer 1, head 2" in page.locator("h2").all_inner_texts()
    page.locator(".symbol").nth(3).focus()
    most = view["models"][0]["grids"][0]["weights"][0, 1, 3].max()
    assert f"{100 * most:.0f} %" in page.locator(".readout").nth(1).inner_text()
    assert page.evaluate("document.documentElement.scrollWidth") <= 420


def test_much_attention_is_drawn_within_a_second(browser: Any, tmp_path: Path) -> None:
    symbols = [str(at) for at in range(256)]
    wide = np.zeros((12, 12, 256, 256), np.float16)
    wide[..., :8] = np.random.default_rng(0).dirichlet(np.ones(8), (12, 12, 256))
    entropy = np.ones((12, 12))
    grid = {"name": "attention", "queries": symbols, "keys": symbols, "weights": wide}
    grid |= {"entropy": entropy, "flat": entropy, "taps": []}
    data = {
        "names": ["gpt"],
        "models": [{"grids": [grid], "losses": [], "habits": None}],
        "layer": 11,
        "head": 0,
    }
    cr.View("attention", data, {"title": "256 symbols"}).save(tmp_path / "view.html")
    found = Visit(browser, tmp_path / "view.html")
    assert found.complaints == []
    assert found.page.evaluate("performance.getEntriesByName('draw')[0].duration") < 1000
    assert found.page.locator("[data-head]").count() == 144


VIEWS = {
    "gradient": (lambda: cr.look(small("lstm", layers=1, width=4), TEXT, view="gradient"), "polyline"),
    "layers": (lambda: cr.look(gpt(), TEXT, view="layers"), ".lens td"),
    "saliency": (lambda: cr.look(gpt(), TEXT, view="saliency", contrast="time"), ".symbol"),
    "recall": (
        lambda: cr.look(
            [fitted(), fitted(order=1)], view="recall", corpus=str(Path(__file__).parent / "recall.txt")
        ),
        "polyline",
    ),
    "cells": (lambda: cr.look(small("gru", layers=2, width=4), TEXT, view="cells"), "polyline"),
    "vectors": (lambda: cr.look(gpt(), f"{TEXT} | the time | it is fine", view="vectors"), "circle"),
}


@pytest.mark.parametrize("name", VIEWS)
def test_every_view_is_drawn(browser: Any, tmp_path: Path, name: str) -> None:
    make, drawn = VIEWS[name]
    page = visit(browser, tmp_path, make(), width=700).page
    assert page.locator(drawn).count() > 0
    assert page.evaluate("document.documentElement.scrollWidth") <= 700


def test_one_module_draws_all_kinds(browser: Any, tmp_path: Path) -> None:
    kinds_of_all = tuple(kinds())
    module_text = module(kinds_of_all).replace("</", "<\\/")
    names = "document.title = Object.keys(DRAWERS).sort().join(); document.body.dataset.drawn = 'all';"
    (tmp_path / "all.html").write_text(f"<body><script type=module>{module_text}\n{names}</script>")
    found = Visit(browser, tmp_path / "all.html")
    assert found.complaints == []
    assert found.page.title() == ",".join(kinds_of_all)
