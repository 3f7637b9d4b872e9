"""Taps: names and patterns, who hears what, and what replaces what. Parts of a model need not be modules."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack

import numpy as np
import pytest

from chainrule.errors import ModelError
from chainrule.nn.tap import Heard, hear, is_replaced, is_tapped, listening, replaced, replacing, tell


class Part:
    """Adds 1 and tells it, twice over."""

    def __init__(self, **children: Part) -> None:
        self.children = children

    def named_children(self) -> Iterator[tuple[str, Part]]:
        return iter(self.children.items())

    def run(self, value: np.ndarray) -> np.ndarray:
        for child in self.children.values():
            value = child.run(value)
        sums = tell(self, "sum", value + 1.0)
        return tell(self, "twice.sum", 2.0 * sums)


def model() -> Part:
    return Part(left=Part(deep=Part()), right=Part())


ONES = np.ones(2)
NAMES = {f"{path}{value}" for path in ("", "left.", "left.deep.", "right.") for value in ("sum", "twice.sum")}


def test_taps_need_no_torch() -> None:
    program = "import sys, chainrule.nn.tap; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program]).returncode == 0


@pytest.mark.parametrize(
    ("patterns", "names"),
    [
        ((), NAMES),
        (("*",), NAMES),
        (("sum",), {"sum"}),
        (("left.sum", "right.sum"), {"left.sum", "right.sum"}),
        (("left",), {name for name in NAMES if name.startswith("left.")}),
        (("*.deep",), {"left.deep.sum", "left.deep.twice.sum"}),
        (("left.*.sum",), {"left.twice.sum", "left.deep.sum", "left.deep.twice.sum"}),
        (("*.twice.sum",), {name for name in NAMES if name.endswith(".twice.sum")}),
        (("right.twice",), {"right.twice.sum"}),
        (("[lr]*t.sum",), {"left.sum", "right.sum"}),
        (("lef", "um", "righ.sum", "left.sum.more"), set()),
    ],
)
def test_what_is_heard_is_what_a_pattern_names(patterns: tuple[str, ...], names: set[str]) -> None:
    whole = model()
    with listening(whole, *patterns) as heard:
        whole.run(ONES)
    assert set(heard) == names


def test_every_run_is_heard_in_order() -> None:
    whole = model()
    with listening(whole, "left.deep.sum") as heard:
        whole.run(ONES)
        whole.run(3.0 * ONES)
    np.testing.assert_array_equal(heard["left.deep.sum"], [2.0 * ONES, 4.0 * ONES])


def test_names_are_relative_to_the_part_listened_to() -> None:
    whole = model()
    with listening(whole.children["left"], "deep") as heard:
        whole.run(ONES)
    assert set(heard) == {"deep.sum", "deep.twice.sum"}


def test_nothing_is_heard_outside_the_block() -> None:
    whole, other = model(), model()
    whole.run(ONES)
    with listening(whole) as heard:
        other.run(ONES)
    whole.run(ONES)
    assert heard == {}
    with pytest.raises(ZeroDivisionError), replacing(whole, "*", lambda value: 0.0 * value):
        _ = 1 / 0
    assert (whole.run(ONES) == other.run(ONES)).all()


def test_who_listens_inside_and_outside_hears_the_same_value() -> None:
    whole = model()
    with listening(whole, "*sum") as outside:
        with listening(whole, "left.deep.sum") as inside:
            whole.run(ONES)
        whole.run(ONES)
    assert [len(outside["left.deep.sum"]), len(inside["left.deep.sum"])] == [2, 1]
    assert outside["left.deep.sum"][0] is inside["left.deep.sum"][0]


def test_a_replaced_value_is_what_everything_after_it_computes_with() -> None:
    whole = model()
    with replacing(whole, "left.deep.twice.sum", lambda value: value + 100.0):
        found = whole.run(ONES)
    left = 2.0 * (2.0 * (ONES + 1.0) + 100.0 + 1.0)
    np.testing.assert_array_equal(found, 2.0 * (2.0 * (left + 1.0) + 1.0))


@pytest.mark.parametrize("early", [True, False], ids=["listener first", "listener last"])
def test_functions_replace_in_the_order_they_came_and_everybody_hears_the_last_value(early: bool) -> None:
    whole, seen = model(), []

    def doubled(value: np.ndarray) -> np.ndarray:
        seen.append(value)
        return 2.0 * value

    with ExitStack() as stack:
        heard = stack.enter_context(listening(whole, "right.sum")) if early else Heard()
        stack.enter_context(replacing(whole, "right.sum", lambda value: value + 1.0))
        stack.enter_context(replacing(whole, "right.*", doubled))
        heard = heard if early else stack.enter_context(listening(whole, "right.sum"))
        whole.run(ONES)
    plain = 2.0 * (2.0 * (ONES + 1.0) + 1.0) + 1.0
    np.testing.assert_array_equal(heard["right.sum"], [2.0 * (plain + 1.0)])
    np.testing.assert_array_equal(seen[0], plain + 1.0)
    assert len(seen) == 2


def test_a_part_can_ask_who_is_there() -> None:
    whole = model()
    left = whole.children["left"]
    assert not is_tapped(left, "sum") and not is_replaced(left, "sum")
    with listening(whole, "left.sum"):
        assert is_tapped(left, "sum") and is_tapped(left, "other", "sum") and not is_replaced(left, "sum")
        assert not is_tapped(left, "other") and not is_tapped(whole, "sum") and not is_tapped(left)
    with replacing(whole, "left.sum", lambda value: value):
        assert is_tapped(left, "sum") and is_replaced(left, "sum") and not is_replaced(left, "other")


def test_a_value_can_be_replaced_first_and_heard_later() -> None:
    whole = model()
    with listening(whole) as heard, replacing(whole, "sum", lambda value: -value):
        value = replaced(whole, "sum", ONES)
        assert heard == {} and (value == -ONES).all()
        hear(whole, "sum", value)
    assert heard["sum"] == [value]


@pytest.mark.parametrize("function", [lambda value: value[:1], lambda value: None], ids=["short", "none"])
def test_a_replacement_of_another_shape_is_refused(function: Callable[[np.ndarray], np.ndarray]) -> None:
    whole = model()
    with replacing(whole, "left.sum", function), pytest.raises(ModelError, match=r"'left.sum' has the shape"):
        whole.run(ONES)


def test_a_name_that_was_not_heard_is_explained() -> None:
    whole = model()
    with listening(whole, "left") as heard:
        with pytest.raises(ModelError, match="Run the model inside the block"):
            heard["left.sum"]
        whole.run(ONES)
    with pytest.raises(ModelError, match=r"Did you mean 'left.sum'\?"):
        heard["left.sun"]
    assert "right.sum" not in heard and heard.get("right.sum") is None


def test_a_part_that_stands_in_two_places_goes_by_its_first_name() -> None:
    shared = Part()
    whole = Part(one=shared, other=shared)
    with listening(whole, "one", "other") as heard:
        whole.run(ONES)
    assert set(heard) == {"one.sum", "one.twice.sum"} and len(heard["one.sum"]) == 2


def test_values_without_listeners_are_left_alone() -> None:
    assert tell(model(), "sum", ONES) is ONES
