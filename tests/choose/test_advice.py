"""Which model is recommended, and what is said about it."""

from __future__ import annotations

from typing import Any

import pytest

from chainrule.choose.advice import advice

ROW = {"failed": None, "unfinished": None, "dropped": None, "score_per_second": 10.0}
DATA = {"parts": {"train": {"symbols": 9_000}, "test": {"sequences": 100, "symbols": 9_000}}}


def _row(name: str, bits: float, real: bool, speed: float = 10.0) -> dict[str, Any]:
    return {
        **ROW,
        "name": name,
        "title": name,
        "bits": bits,
        "loss": bits,
        "chosen_behind": {"real": real},
        "behind": {"real": real},
        "score_per_second": speed,
    }


@pytest.mark.parametrize(
    ("rows", "simplest"),
    [
        ([_row("lstm", 1.0, False), _row("5-gram", 1.01, False)], "5-gram"),  # may be chance, and is simpler
        ([_row("lstm", 1.0, False), _row("5-gram", 1.01, True)], "lstm"),  # is really worse
        ([_row("lstm", 1.0, False), _row("5-gram", 1.05, False)], "lstm"),  # too much worse to be recommended
        ([_row("5-gram", 1.0, False), _row("lstm", 1.0, False)], "5-gram"),  # the best is the simplest
    ],
)
def test_the_simplest_of_equals_is_recommended(rows: list[dict[str, Any]], simplest: str) -> None:
    found = advice(rows, ["5-gram", "lstm"], [], DATA, "bits per byte")
    assert found["simplest"] == simplest and found["sentences"][0].startswith(f"Take {simplest}")


def test_what_may_be_chance_is_not_denied() -> None:
    order = ["copy", "ibm1", "mix"]
    rows = [_row("mix", 1.0, False), _row("ibm1", 1.05, False), _row("copy", 2.0, True)]
    [told, *_] = advice(rows, order, [], DATA, "bits per byte")["sentences"]
    assert told.startswith("Take mix: with 1.000 bits per byte it is the best") and "not behind" not in told
    assert "ibm1" in told and "5.0 %" in told and "chance" in told
    turned = [rows[0], {**rows[1], "bits": 0.9}, rows[2]]  # the test part says otherwise
    [told, *_] = advice(turned, order, [], DATA, "bits per byte")["sentences"]
    assert "it is the best on the validation part" in told
    sure = [rows[0], {**rows[1], "chosen_behind": {"real": True}}, rows[2]]
    assert "not behind by chance" in advice(sure, order, [], DATA, "bits per byte")["sentences"][0]


@pytest.mark.parametrize("first", ["bag", "class-ngram"])
def test_cross_validation_decides_between_what_is_quickly_made(first: str) -> None:
    """Whichever comes first on a small validation part, and though chance may explain it there."""
    crossed = {"bag": 0.20, "class-ngram": 0.23}
    second = next(name for name in crossed if name != first)
    rows = [_row(first, 0.200, False), _row(second, 0.201, False)]
    told = [{**row, "crossed": crossed[row["name"]]} for row in rows]
    found = advice(told, ["class-ngram", "bag"], [], DATA, "bits per byte")
    assert found["simplest"] == "bag"
    assert any("by chance" in one for one in found["sentences"][1:2]) == (first == "class-ngram")


def test_speed_and_more_data_are_mentioned() -> None:
    rows = [_row("lstm", 1.0, False), _row("5-gram", 1.05, True, 5_000.0)]
    crossing = {"first": "gpt", "second": "lstm", "symbols": 50_000, "low": 20_000, "high": None}
    found = advice(rows, ["5-gram", "lstm"], [crossing], DATA, "bits per byte")
    assert found["fastest"] == "5-gram"
    assert "500 times as fast" in found["sentences"][1] and "gpt overtakes lstm" in found["sentences"][2]
