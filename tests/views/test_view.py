"""Views as values and as files."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

import chainrule as cr
from chainrule.views.arrays import LARGE, kind_of
from fitted import fitted
from views.seen import gpt

TEXT = "what is the weather"
HOSTILE = "</script><script>alert(1)</script> <img src=x onerror=alert(1)> \u2028"


@settings(deadline=None)
@given(
    arrays.arrays(
        st.sampled_from([np.float32, np.int32]), arrays.array_shapes(min_dims=0, max_dims=4, min_side=0)
    )
)
def test_json_gives_the_same_numbers_back(array: np.ndarray) -> None:
    view = cr.View(
        "surprise", {"bits": array, "names": ["a", "b"], "more": [{"inside": array}]}, {"title": "é"}
    )
    again = cr.View.from_json(view.to_json())
    np.testing.assert_array_equal(again["bits"], array)
    np.testing.assert_array_equal(again["more"][0]["inside"], array)
    assert again["names"] == ["a", "b"]
    assert again.meta == {"title": "é"}


def test_large_arrays_are_kept_with_half_precision_where_that_holds_them() -> None:
    assert kind_of(np.ones(LARGE - 1)) == "float32"
    assert kind_of(np.ones(LARGE)) == "float16"
    assert kind_of(np.full(LARGE, 1e6)) == "float32"
    assert kind_of(np.full(LARGE, np.inf)) == "float16"


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"format": "chainrule-view", "version": 2}'])
def test_what_is_no_view_is_refused(text: str) -> None:
    with pytest.raises(cr.ChainruleError, match="no view"):
        cr.View.from_json(text)


def test_a_damaged_array_is_refused() -> None:
    values = cr.look(fitted(), TEXT).to_dict()
    for shape in ([7, 7], [float("inf")]):
        values["data"]["bits"]["shape"] = shape
        with pytest.raises(cr.ChainruleError, match="damaged"):
            cr.View.from_json(json.dumps(values))


@pytest.mark.parametrize(
    ("place", "value"),
    [
        ("data", {"models": 3}),
        ("data", {"bits": [[-1]], "names": [None], "tokens": 1}),
    ],
)
@pytest.mark.parametrize("ending", ["svg", "png", "html"])
def test_a_view_that_cannot_be_drawn_is_refused(
    place: str, value: dict[str, object], ending: str, tmp_path: Path
) -> None:
    values = cr.look(fitted(), TEXT).to_dict()
    view = cr.View.from_json(json.dumps(values | {place: value}))
    with pytest.raises(cr.ChainruleError, match=r"damaged|has no"):
        view.save(tmp_path / f"a.{ending}")
        str(view)
    assert list(tmp_path.iterdir()) in ([], [tmp_path / f"a.{ending}"])


@pytest.mark.parametrize(
    "wrong", [{"kind": []}, {"data": []}, {"meta": 1}, {"kind": None}, {"meta": {"notes": 5}}]
)
def test_a_view_of_something_else_is_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(cr.ChainruleError, match="no view"):
        cr.View.from_json(json.dumps(cr.look(fitted(), TEXT).to_dict() | wrong))
    with pytest.raises(cr.ChainruleError, match="no view"):
        cr.View.from_json("[" * 9000)
    with pytest.raises(cr.ChainruleError, match="There is no view"):
        cr.View.from_json(json.dumps(cr.look(fitted(), TEXT).to_dict() | {"kind": "../page/start"}))


def test_a_missing_value_names_those_there_are() -> None:
    with pytest.raises(cr.ChainruleError, match="bits"):
        cr.look(fitted(), TEXT)["bit"]


def test_files_are_written_whole_and_replaced_only_when_told(tmp_path: Path) -> None:
    view = cr.look(fitted(), TEXT)
    for name in ("a.html", "a.svg", "a.png", "a.json"):
        view.save(tmp_path / name)
        with pytest.raises(cr.ChainruleError, match="--force"):
            view.save(tmp_path / name)
        view.save(tmp_path / name, force=True)
    assert (tmp_path / "a.png").read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"
    assert cr.View.from_json((tmp_path / "a.json").read_text()).kind == "surprise"
    with pytest.raises(cr.ChainruleError, match=r"\.html, \.svg, \.png, \.json"):
        view.save(tmp_path / "a.gif")
    assert not (tmp_path / "a.gif").exists()


def test_a_page_of_a_sentence_is_small_and_names_no_other_place(tmp_path: Path) -> None:
    lm = gpt(layers=4, heads=4, width=16, context=64)
    cr.look(lm, " ".join(["what is the weather today"] * 5), view="attention").save(tmp_path / "a.html")
    page = (tmp_path / "a.html").read_text()
    assert len(page.encode()) < 300_000
    assert re.findall(r"https?://(?!www\.w3\.org/2000/svg)", page) == []


@pytest.mark.parametrize("view", ["surprise", "next", "attention"])
def test_hostile_text_stays_text(view: str, tmp_path: Path) -> None:
    cr.look(gpt(), HOSTILE, view=view).save(tmp_path / "a.html")
    cr.look(gpt(), HOSTILE, view=view).save(tmp_path / "a.svg")
    for name in ("a.html", "a.svg"):
        written = (tmp_path / name).read_text()
        assert "<script>alert" not in written
        assert "<img" not in written


def test_a_notebook_gets_the_page_in_a_frame_of_its_own() -> None:
    shown = cr.look(fitted(), TEXT)._repr_html_()
    assert shown.startswith("<iframe")
    assert "<script" not in shown


def test_symbols_of_different_vocabularies_are_not_put_side_by_side() -> None:
    with pytest.raises(cr.ChainruleError, match="different vocabularies"):
        cr.look([fitted(), fitted(lines=["other words"] * 3)], TEXT, view="next")


@pytest.mark.parametrize("view", ["surprise", "attention"])
def test_no_text_is_no_view(view: str) -> None:
    with pytest.raises(cr.ChainruleError, match="no text to look at"):
        cr.look(gpt(), " ", view=view)


def test_a_family_without_attention_says_which_have_it() -> None:
    with pytest.raises(cr.ChainruleError, match="bert"):
        cr.look(fitted(), TEXT, view="attention")


def test_a_wrong_view_is_answered_with_the_nearest() -> None:
    with pytest.raises(cr.ChainruleError, match="attention"):
        cr.look(fitted(), TEXT, view="atention")


def test_halves_of_characters_are_written_out(tmp_path: Path) -> None:
    view = cr.View("training", {"models": [{"sample": "a\ud800b"}]}, {"title": "\udcff"})
    assert view["models"][0]["sample"] == r"a\ud800b" and view.title == r"\udcff"
    assert cr.View.from_json(view.to_json()).to_json() == view.to_json()


@pytest.mark.parametrize("name", ["\ud800", "a\0b", "a" * 5000])
def test_what_can_be_no_name_of_a_file_is_refused(name: str, tmp_path: Path) -> None:
    with pytest.raises(cr.ChainruleError):
        cr.look(fitted(), view="recall", corpus=name)
    with pytest.raises((cr.ChainruleError, OSError)):
        cr.look(fitted(), TEXT).save(tmp_path / f"{name}.json")
