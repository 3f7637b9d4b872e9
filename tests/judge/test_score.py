"""Scores are sums, and never NaN."""

from __future__ import annotations

import itertools
import math
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

from chainrule.errors import ModelError
from chainrule.judge.score import Score, measure, measure_each, pieces, score_ids
from chainrule.symbols import BOS, EOS, UNK
from tiny import Table
from tiny.table import RAIN, SNOW, SUN

WEEK = np.array([BOS, SUN, SUN, EOS, BOS, RAIN, EOS], np.int32)  # .5 .6 .1, .3 .2
IMPOSSIBLE = np.array([BOS, RAIN, SNOW, EOS], np.int32)  # it never snows after rain


def test_the_score_of_a_table_is_what_a_hand_computes() -> None:
    found = score_ids(Table.tiny(), WEEK, bytes=12, unknown=1)
    assert found.log2prob == pytest.approx(math.log2(0.5 * 0.6 * 0.1 * 0.3 * 0.2))
    assert (found.symbols, found.bytes, found.unknown, found.zero_probability) == (5, 12, 1, 0)
    assert found.perplexity == pytest.approx((0.5 * 0.6 * 0.1 * 0.3 * 0.2) ** (-1 / 5))
    assert found.bits_per_byte == pytest.approx(found.bits / 12)
    assert found.bits_per_symbol == pytest.approx(found.bits / 5)


def test_the_impossible_costs_infinitely_much_and_is_counted() -> None:
    found = score_ids(Table.tiny(), np.concatenate([WEEK, IMPOSSIBLE, IMPOSSIBLE]))
    assert found.zero_probability == 2
    assert found.perplexity == found.bits == found.bits_per_symbol == math.inf
    assert (found + found).perplexity == math.inf


def test_nothing_scores_nothing() -> None:
    nothing = score_ids(Table.tiny(), np.zeros(0, np.int32))
    assert nothing == Score()
    assert (nothing.bits, nothing.bits_per_symbol, nothing.bits_per_byte, nothing.perplexity) == (0, 0, 0, 1)


def test_a_hopeless_score_is_infinite_instead_of_an_error() -> None:
    assert Score(-1e6, 1).perplexity == math.inf


@given(some.lists(some.tuples(some.floats(-1e3, 0), *[some.integers(0, 99)] * 4), min_size=1, max_size=5))
def test_scores_add_up_field_by_field(parts: list[tuple[float, int, int, int, int]]) -> None:
    total = sum((Score(*part) for part in parts), Score())
    assert total.log2prob == pytest.approx(sum(part[0] for part in parts))
    counts = (total.symbols, total.bytes, total.unknown, total.zero_probability)
    assert counts == tuple(sum(part[at] for part in parts) for at in range(1, 5))


@settings(max_examples=100, deadline=None)
@given(some.lists(some.integers(0, 6), max_size=12), some.integers(1, 25))
def test_pieces_are_whole_sequences_as_large_as_allowed(lengths: list[int], size: int) -> None:
    ids = np.array([id for length in lengths for id in [BOS, *[SUN] * length, EOS]], np.int32)
    found = list(pieces(ids, size))
    assert np.array_equal(np.concatenate([ids[:0], *found]), ids)
    for part, after in itertools.zip_longest(found, found[1:], fillvalue=ids[:0]):
        assert part[0] == BOS and part[-1] == EOS
        assert len(part) <= size or np.count_nonzero(part == BOS) == 1
        first = int(np.argmax(after == EOS)) + 1 if len(after) else size
        assert len(part) + first > size, "the next sequence would have fitted in"


UNSURE = np.array([BOS, SUN, UNK, EOS, BOS, UNK, EOS], np.int32)


def test_perplexity_without_unknown_symbols_leaves_out_their_cost_and_their_number() -> None:
    found = measure(UNSURE, np.log([1.0, 0.5, 0.01, 0.25, 1.0, 0.01, 0.5]))
    assert found.perplexity_known == pytest.approx((0.5 * 0.25 * 0.5) ** (-1 / 3))
    assert found.perplexity == pytest.approx((0.5 * 0.25 * 0.5 * 1e-4) ** (-1 / 5))
    assert (found + found).perplexity_known == pytest.approx(found.perplexity_known)


def test_impossible_unknown_symbols_leave_the_rest_finite() -> None:
    logs = np.array([0.0, -1.0, -np.inf, -1.0, 0.0, -np.inf, -1.0])
    assert measure(UNSURE, logs).perplexity == math.inf
    assert measure(UNSURE, logs).perplexity_known == pytest.approx(math.e)


def test_scores_of_each_sequence_are_those_of_the_sequences_alone() -> None:
    ids = np.concatenate([WEEK, UNSURE, IMPOSSIBLE])
    logs = Table.tiny().score_ids(ids)
    each = measure_each(ids, logs)
    cuts = [*np.flatnonzero(ids == BOS).tolist(), len(ids)]
    alone = [measure(ids[low:high], logs[low:high]) for low, high in itertools.pairwise(cuts)]
    assert len(each) == len(alone) == 5
    for one, other in zip(each, alone, strict=True):
        assert [getattr(one, name) for name in COUNTS] == [getattr(other, name) for name in COUNTS]
        assert one.log2prob == pytest.approx(other.log2prob)
        assert one.known_log2prob == pytest.approx(other.known_log2prob)
    assert measure_each(ids[:0], logs[:0]) == []


COUNTS = ("symbols", "zero_probability", "known")


def test_memory_mapped_ids_are_scored_in_pieces(tmp_path: Path) -> None:
    np.save(tmp_path / "ids.npy", np.tile(WEEK, 50))
    mapped = np.load(tmp_path / "ids.npy", mmap_mode="r")
    found = score_ids(Table.tiny(), mapped, piece=16)
    assert found.log2prob == pytest.approx(50 * score_ids(Table.tiny(), WEEK).log2prob)


def test_no_number_is_refused_instead_of_summed() -> None:
    with pytest.raises(ModelError, match="position 2"):
        measure(WEEK[:4], np.array([0.0, -1.0, math.nan, -1.0]))


def test_judging_does_not_import_torch() -> None:
    code = "import sys, chainrule.judge.score; sys.exit('torch' in sys.modules)"
    assert (
        subprocess.run([sys.executable, "-c", code], env={"PYTHONPATH": _source()}, check=False).returncode
        == 0
    )


def _source() -> str:
    return str(Path(sys.modules["chainrule.judge.score"].__file__ or "").parents[2])
