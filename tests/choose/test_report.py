"""The page of a comparison holds together whatever the results say."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable
from html.parser import HTMLParser
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chainrule.choose.report import page
from chainrule.draw.plots import Box, Scale, labels
from choose.made_up import rich

VOID = {"meta", "link", "br"}
HOSTILE = [
    "</script><script>document.title = 'taken'</script>",
    '"><img src=x onerror="document.title = 1">',
    "'-->]]></style></title><b>\u2028\u2029",
    "{{script}} {{style}} \\g<1> \\",
    "\ud800 lone, \x00 nothing, \x1b escape, \u202e backwards, \u0301",
    "",
    "x" * 3000,
]


class Reader(HTMLParser):
    """Follows every tag; remembers which are open, and what stands in the page."""

    def __init__(self, html: str) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.said: list[str] = []
        self.scripts: list[str] = []
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attrs
        if tag not in VOID:
            self.open.append(tag)
        if tag == "script":
            self.scripts.append("")

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open[-1:] == ["script"]:
            self.scripts[-1] += data
        elif self.open[-1:] != ["style"]:
            self.said.append(data)

    @property
    def words(self) -> str:
        return " ".join(self.said)


def whole(results: Any) -> Reader:
    """The page, after looking whether it is well-formed, plain and harmless."""
    html = page(results)
    html.encode("utf-8")
    reader = Reader(html)
    assert reader.open == []
    assert reader.tags.count("script") == 1 + ('id="surprise-data"' in html)
    assert not {"img", "iframe", "object", "form", "base"} & set(reader.tags)
    names = {name for name, _ in reader.attributes}
    assert not {name for name in names if name.startswith("on")} | {"src", "style", "action"} & names
    assert all(
        value == "data:," or str(value)[0] == "#" for name, value in reader.attributes if name == "href"
    )
    identities = [value for name, value in reader.attributes if name == "id"]
    assert len(identities) == len(set(identities))
    places = [
        str(value) for name, value in reader.attributes if name in ("x", "y", "cx", "cy", "width", "points")
    ]
    assert not [place for place in places if re.search("nan|inf|e", place.replace("device-width", ""))]
    return reader


def small() -> dict[str, Any]:
    """Everything a page can show, but not much of it."""
    results = rich()
    results["models"] = [*results["models"][:3], results["models"][-1]]
    results["models"][0]["values"] = {
        "mae": 1.2,
        "coverage": 0.79,
        "naive_mae": 1.5,
        "seasonal_mae": 1.4,
        "season": 24,
    }
    bits = results["surprise"]["bits"]
    results["surprise"] = {
        "symbols": results["surprise"]["symbols"][:5],
        "bits": {name: bits[name][:5] for name in ("mix", "lstm")},
    }
    return results


def changed(values: Any, change: Callable[[Any], Any]) -> Any:
    """The same with every leaf changed."""
    if isinstance(values, dict):
        return {key: changed(value, change) for key, value in values.items()}
    return [changed(value, change) for value in values] if isinstance(values, list) else change(values)


def branches(values: Any) -> list[tuple[Any, Any]]:
    """Every place of nested values, as what holds it and under which name."""
    pairs = list(values.items() if isinstance(values, dict) else enumerate(values))
    below = [place for _, value in pairs if isinstance(value, dict | list) for place in branches(value)]
    return [(values, key) for key, _ in pairs] + below


ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=6,
)


@given(st.dictionaries(st.sampled_from(sorted(rich())), ANYTHING))
@settings(deadline=None)
def test_any_results_give_a_whole_page(results: dict[str, Any]) -> None:
    whole(results)


@given(st.lists(st.tuples(st.integers(0, 10**6), ANYTHING), min_size=1, max_size=8))
@settings(deadline=None)
def test_anything_may_stand_anywhere_in_the_results(changes: list[tuple[int, Any]]) -> None:
    results = small()
    for at, value in changes:
        places = branches(results)
        holder, key = places[at % len(places)]
        holder[key] = value
    whole(results)


@pytest.mark.parametrize("number", [math.nan, math.inf, -math.inf, 0, -1, 1e-300, 1e300, 10**400, None, "7"])
def test_any_number_may_stand_for_every_number(number: object) -> None:
    whole(changed(small(), lambda leaf: number if isinstance(leaf, int | float) else leaf))


@pytest.mark.parametrize("text", HOSTILE)
def test_no_text_becomes_markup(text: str) -> None:
    results = changed(small(), lambda leaf: text if isinstance(leaf, str) else leaf)
    results["models"][0]["settings"] = {text: text}
    results["data"]["parts"] = {text: {}}
    results["reproduce"]["versions"] = {text: text}
    results["surprise"]["bits"] = {text: [1.0, 2.0], "other": [2.0, 1.0]}
    reader = whole(results)
    assert set(reader.tags) <= set(whole(small()).tags)
    assert json.loads(reader.scripts[0])["names"][1] == "other"
    if text and text.isprintable():
        assert text in reader.words


def test_data_for_the_script_cannot_end_it() -> None:
    results = small()
    results["surprise"]["symbols"][0] = "</script>\u2028<!--<script>"
    block = re.search(r'id="surprise-data">(.*?)</script>', page(results))
    assert block and not set("<>&\u2028") & set(block[1])
    assert json.loads(block[1])["symbols"][0] == "</script>\u2028<!--<script>"


def test_a_page_refers_to_nothing_outside() -> None:
    html = page(rich())
    assert "//" not in html
    assert "url(" not in html and "@import" not in html and "fetch(" not in html
    assert "default-src 'none'" in html


def test_a_large_page_stays_below_three_megabytes() -> None:
    results = rich()
    model = results["models"][0] | {"samples": ["word " * 5000] * 50, "notes": ["a note"] * 5}
    results["models"] = [model | {"name": f"model {at}"} for at in range(12)]
    row = [1.2345] * 600
    results["surprise"] = {"symbols": ["symbol"] * 600, "bits": {f"model {at}": row for at in range(12)}}
    results["curves"] = [results["curves"][0] | {"name": f"model {at}"} for at in range(12)]
    assert 100_000 < len(page(results).encode()) < 3_000_000


def test_every_part_is_there_in_its_order() -> None:
    titles = re.findall(r'<section[^>]* id="(\w+)"|<section id="(\w+)"', page(small()))
    order = [
        "leaderboard",
        "rounds",
        "time",
        "curves",
        "surprise",
        "samples",
        "values",
        "data",
        "reproduce",
        "forecast",
    ]
    assert [first or second for first, second in titles] == order


def test_nothing_at_all_is_said_politely() -> None:
    reader = whole({})
    assert "Nothing was compared" in reader.words
    assert "section" not in reader.tags


def test_models_that_all_failed_say_why() -> None:
    reader = whole(
        {"models": [{"name": "gpt", "failed": "no memory left"}, {"name": "lstm", "failed": "no time left"}]}
    )
    assert "No model finished" in reader.words
    assert "failed: no memory left" in reader.words and "failed: no time left" in reader.words
    assert reader.attributes.count(("class", "failed")) == 2
    assert "figure" not in reader.tags


def test_one_model_has_a_page() -> None:
    results = small()
    results["models"] = results["models"][:1]
    results["surprise"]["bits"] = {"mix": results["surprise"]["bits"]["mix"]}
    reader = whole(results)
    assert "select" not in reader.tags
    assert "LSTM and 5-gram, mixed" in reader.words


def test_the_recommended_model_is_the_headline_with_its_interval() -> None:
    results = small()
    results["advice"]["best"] = "gpt"
    html = page(results)
    assert "<h1>GPT, 4 layers of 256</h1>" in html
    assert re.search(r"<b>1.829</b> bits per byte on held-out data; 95 % interval 1.808 … 1.853", html)


def test_an_infinite_figure_is_shown_and_a_missing_one_is_a_dash() -> None:
    results = small()
    results["models"][1] |= {"bits": math.inf, "perplexity": math.nan, "behind": None}
    row = re.search(r"<tr><th[^>]*><i class=\"dot k1\">.*?</tr>", page(results))
    assert row and "∞" in row[0] and 'data-value="inf"' in row[0]
    assert row[0].count(">–<") == 2


def test_a_difference_that_could_be_chance_is_marked() -> None:
    results = small()
    results["models"][1]["behind"]["real"] = False
    results["models"][2]["behind"]["real"] = True
    html = page(results)
    assert "≈ +0.028" in html and "≈ +0.045" not in html and "+0.045" in html


def test_each_symbol_is_coloured_by_its_surprise() -> None:
    surprise = {"symbols": ["a", " "], "bits": {"one": [0.0, 10.0], "two": [10.0, None]}}
    cells = re.findall(
        r'<b class="(\w+)"[^>]*>(.)</b><b class="(\w+)"[^>]*>.</b><i( class="\w+")?',
        page({"surprise": surprise}),
    )
    assert cells == [("l0", "a", "l9", ' class="u5"'), ("l9", "\u00a0", "lx", "")]


def test_endless_surprise_is_told_and_takes_no_colour_from_the_others() -> None:
    surprise = {"symbols": ["a", "b", "c"], "bits": {"one": [math.inf, 0.5, 2.0], "two": [math.inf] * 3}}
    html = page({"surprise": surprise})
    assert 'title="a: one ∞, two ∞"' in html and "one (∞ here)" in html
    assert [level for level, _ in re.findall(r'cell"[^>]*><b class="(\w+)">(\w)', html)] == ["l9", "l5", "l9"]


def test_dropped_and_unfinished_models_say_so_and_write_nothing_unfinished() -> None:
    results = rich()
    html, reader = page(results), whole(results)
    assert "dropped after 20 s at 2.361 bits per byte: lstm had 2.112" in reader.words
    assert "unfinished: no better than a unigram" in reader.words
    samples = html[html.index('<section id="samples"') :]
    assert (
        "RNN, 1 layer of 512" in samples
        and "Window of 8 symbols" not in samples[: samples.index("</section>")]
    )


def test_compressors_stand_below_the_models() -> None:
    html = page(rich())
    assert html.index("BERT") < html.index("bzip2") and "2.340" in html


def test_models_that_did_not_start_did_not_fail() -> None:
    reader = whole({"models": [{"name": "gpt", "failed": "not started: 20 s are enough for lstm only"}]})
    assert "not started: 20 s" in reader.words and "failed: not" not in reader.words


def test_a_crossing_is_told_with_its_interval() -> None:
    assert "cross at about 57,000 symbols (95 % interval 44,000 … 74,000)" in whole(small()).words


def test_a_model_far_worse_than_the_others_does_not_press_them_together() -> None:
    html = page(rich())
    assert (
        html.count('class="arrow"') == 3 and html.count("unigram (4.451)") == 3
    )  # one for each size of the plot
    assert html.count('class="beyond"') == 1
    heights = sorted(float(y) for y in re.findall(r'<circle cx="[\d.]+" cy="([\d.]+)" r="4.5">', html)[:8])
    assert heights[-1] - heights[0] > 250  # of 360 pixels


@pytest.mark.parametrize(("scale", "power", "drawn"), [(30.0, 0.3, 33), (1.0, -1e4, 7), (math.nan, 0.3, 7)])
def test_a_curve_without_a_band_follows_its_fit_or_its_points(scale: float, power: float, drawn: int) -> None:
    results = small()
    fit = {"floor": 1.2, "scale": scale, "power": power}
    results["curves"] = [results["curves"][0] | {"band": [], "fit": fit}]
    assert whole(results)
    line = re.search(r'<polyline points="([^"]*)" class="curve', page(results))
    assert line and len(line[1].split()) == drawn


@given(st.lists(st.floats(-1e9, 1e9), min_size=1, max_size=5), st.integers(3, 9))
@settings(deadline=None)
def test_a_scale_has_room_for_its_values_and_round_ticks(values: list[float], most: int) -> None:
    scale = Scale.over(values, 0.0, 100.0)
    assert all(0 <= scale.place(value) <= 100 for value in values)
    ticks = scale.ticks(most)
    assert 1 <= len(ticks) <= most + 1
    assert all(-1e-6 <= scale.place(tick) <= 100 + 1e-6 for tick in ticks)


@given(st.lists(st.tuples(st.floats(0, 800), st.floats(0, 400)), min_size=1, max_size=12))
@settings(deadline=None)
def test_labels_never_collide(places: list[tuple[float, float]]) -> None:
    marks = [(x, y, f"model {at}", "label") for at, (x, y) in enumerate(places)]
    written = [
        re.search(r'<text x="([-\d.]+)" y="([-\d.]+)" class="([ \w]+)"', one)
        for one in labels(marks, AREA, [])
    ]
    boxes = [_box(float(one[1]), float(one[2]), one[3]) for one in written if one]
    assert len(boxes) == len(places)
    assert not [one for at, one in enumerate(boxes) if any(one.meets(other) for other in boxes[:at])]


AREA = Box(0.0, 0.0, 800.0, 400.0)


def _box(x: float, y: float, kind: str) -> Box:
    """What seven letters of eight pixels occupy, a little less for rounding."""
    left = x - (56 if kind.endswith("end") else 28 if kind.endswith("middle") else 0)
    return Box(left + 0.2, y - 10.8, left + 55.8, y + 3.8)
