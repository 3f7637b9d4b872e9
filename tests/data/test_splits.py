"""Train, valid and test out of one piece."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chainrule.codecs.base import UNIT, Blocks, Texts
from chainrule.data import splits
from chainrule.data.splits import Division, divide, held_share


def contents(blocks: Blocks | None) -> list[bytes]:
    return [sequence for texts in blocks() for sequence in texts] if blocks else []


def parts(division: Division) -> list[list[bytes]]:
    return [contents(division.train), contents(division.valid), contents(division.test)]


LINES = [f"line {number % 3000}" for number in range(4000)]


def test_parts_have_their_shares_and_lose_nothing() -> None:
    train, valid, test = parts(divide(lambda: [Texts.of(LINES[:1000]), Texts.of(LINES[1000:])]))
    assert sorted(train + valid + test) == sorted(line.encode() for line in LINES)
    assert 0.08 < len(valid) / len(LINES) < 0.12 and 0.08 < len(test) / len(LINES) < 0.12


@given(st.integers(1, 10**13))
def test_a_part_is_as_large_as_a_sure_figure_needs(size: int) -> None:
    share = held_share(size)
    held = share * size
    assert 0 < share <= 0.1 and held <= splits.SURE * 1.001
    assert held >= min(0.1 * size, splits.ENOUGH) * 0.999
    assert share >= 0.05 or held == pytest.approx(splits.SURE)


@given(st.integers(1, 10**9), st.integers(1, 10**9))
def test_more_data_hold_out_more_bytes_and_a_smaller_share(one: int, other: int) -> None:
    small, large = sorted((one, other))
    assert held_share(small) * small <= held_share(large) * large * (1 + 1e-9)
    assert held_share(small) >= held_share(large)


@pytest.mark.parametrize(
    ("lines", "low", "high"),
    [(200, 0.09, 0.11), (20_000, 0.04, 0.06), (400_000, 0.015, 0.019)],
    ids=["small", "middle", "large"],
)
def test_held_out_bytes_follow_the_rule(lines: int, low: float, high: float) -> None:
    items = [f"a line of about thirty bytes {number}" for number in range(lines)]
    sizes = [sum(len(line) + 1 for line in part) for part in parts(divide(lambda: [Texts.of(items)]))]
    assert all(low <= size / sum(sizes) <= high for size in sizes[1:])


def test_few_long_sequences_are_held_out_by_number() -> None:
    items = [f"{number} " + "long " * 5000 for number in range(1200)]
    _, valid, test = parts(divide(lambda: [Texts.of(items)]))
    assert len(valid) == len(test) == splits.FEWEST


@pytest.mark.parametrize("test", [True, False])
@given(st.integers(2, 3000), st.integers(1, 40))
@settings(max_examples=30)
def test_many_copies_leave_no_part_empty_and_stay_on_one_side(
    test: bool, different: int, copies: int
) -> None:
    items = [f"copy {number}" for number in range(different)]
    division = divide(lambda: [Texts.of(items)] * copies, test)
    found = parts(division)
    assert found[0] and found[1] and bool(found[2]) == (test and different > 2)
    assert sum(map(len, found)) == different * copies
    assert sum(len(set(part)) for part in found) == different


@pytest.mark.parametrize(
    ("size", "reason"),
    [(100, "10 %"), (9_000, "25,000 bytes"), (40_000, "5 %"), (200_000, "sure figure")],
)
def test_what_is_held_out_and_why_is_told(size: int, reason: str) -> None:
    items = [f"a line of about thirty bytes {number}" for number in range(size)]
    for given_items in (items, [" ".join(items)]):
        assert reason in divide(lambda given_items=given_items: [Texts.of(given_items)]).how  # type: ignore[misc]


def test_copies_of_a_line_stay_on_one_side() -> None:
    train, valid, test = (set(part) for part in parts(divide(lambda: [Texts.of(LINES)])))
    assert not train & valid and not train & test and not valid & test


def test_the_same_data_give_the_same_parts_in_any_blocks() -> None:
    whole = parts(divide(lambda: [Texts.of(LINES)]))
    assert whole == parts(divide(lambda: [Texts.of(LINES[:10]), Texts.of(LINES[10:])]))


@given(st.lists(st.text("abc", min_size=1, max_size=3), min_size=2, max_size=40))
def test_no_part_of_small_data_is_empty(items: list[str]) -> None:
    division = divide(lambda: [Texts.of(items)])
    train, valid, test = parts(division)
    different = len(set(items))
    assert train
    assert bool(valid) == (different > 1) and bool(test) == (different > 2)
    assert ("too few" in division.how) == (different < 3)
    assert sorted(train + valid + test) == sorted(item.encode() for item in items)


def test_only_a_validation_part_can_be_asked_for() -> None:
    for items in (LINES, LINES[:10], [" ".join(LINES)]):
        division = divide(lambda items=items: [Texts.of(items)], test=False)  # type: ignore[misc]
        assert contents(division.valid) and division.test is None


def test_one_sequence_is_divided_by_position() -> None:
    text = " ".join(LINES * 20)
    division = divide(lambda: [Texts.of([text])])
    (train,), (valid,), (test,) = parts(division)
    assert (train + valid + test).decode() == text
    assert len(train) / len(text) == pytest.approx(0.9, abs=0.01) and len(valid) == pytest.approx(
        len(test), abs=99
    )
    assert valid.startswith(b" ") and test.startswith(b" ")
    assert "position" in division.how


def test_a_stream_in_blocks_is_divided_like_one_in_one_piece() -> None:
    text = " ".join(LINES * 10).encode()
    whole = Texts.of([text])
    pieces = whole.parts(3, splits.SPACES)
    assert len(pieces) == 3
    blocks = divide(lambda: pieces)
    joined = [b"".join(part) for part in parts(blocks)]
    assert joined == [b"".join(part) for part in parts(divide(lambda: [whole]))]
    for part in (blocks.train, blocks.valid, blocks.test):
        assert part is not None
        found = list(part())
        assert found[0].opens and found[-1].closes and sum(texts.sequences for texts in found) == 1


@given(st.text("aé狗", min_size=1, max_size=30))
def test_a_short_stream_without_spaces_is_cut_between_characters(text: str) -> None:
    found = [b"".join(part).decode() for part in parts(divide(lambda: [Texts.of([text])]))]
    assert "".join(found) == text
    assert [bool(part) for part in found] == [True, len(text) > 1, len(text) > 2]


@given(st.lists(st.text("ab", min_size=1, max_size=3), min_size=3, max_size=30), st.sampled_from([" ", UNIT]))
def test_a_short_stream_is_cut_between_symbols(symbols: list[str], separator: str) -> None:
    found = [b"".join(part).decode() for part in parts(divide(lambda: [Texts.of([separator.join(symbols)])]))]
    assert [symbol for part in found for symbol in part.split(separator) if symbol] == symbols
    assert all(part.strip(separator) for part in found)


def test_events_are_never_cut_inside() -> None:
    events = [f"log in {number}" for number in range(20_000)]
    found = parts(divide(lambda: [Texts.of([UNIT.join(events)])]))
    assert [event for (part,) in found for event in part.decode().split(UNIT) if event] == events


def test_a_long_sequence_in_several_blocks_stays_on_one_side() -> None:
    blocks = [Texts.of(LINES), *Texts.of(["word " * 60_000]).parts(4, splits.SPACES), Texts.of(LINES)]
    long = [sum(b"word" in sequence for sequence in part) for part in parts(divide(lambda: blocks))]
    assert sorted(long) == [0, 0, 4]


@pytest.mark.parametrize("little", [0, splits.LITTLE])
def test_what_is_put_aside_equals_what_is_read(monkeypatch: pytest.MonkeyPatch, little: int) -> None:
    monkeypatch.setattr(splits, "LITTLE", little)
    passes = []

    def blocks() -> list[Texts]:
        passes.append(1)
        return [Texts.of(LINES[:500]), Texts.of(LINES[500:])]

    division = divide(blocks)
    first = contents(division.valid)
    contents(division.train)
    before = len(passes)
    assert contents(division.valid) == first and contents(division.test)
    assert len(passes) - before == (0 if little else 2)
