"""Units: what they are compared with, and what is found."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

import chainrule as cr
from chainrule.views.tracks import TRACKS, tracks
from chainrule.views.units import Probe, agreements, best_unit, ranks, search
from views.seen import gpt, small

TEXT = "what is the time"
HIGH = {
    "inside quotes": ('a "bc" d', " .**. "),
    "inside brackets": ("a(b[c])d", " ***** "),
    "in a comment": ("x # y\nz", "  ***"),
    "in a condition": ("if x: y", "****"),
    "in a number": ("a 12 b", "  **"),
    "in capitals": ("A NAME b", "   ***"),
    "in the first word of a line": ("ab c\nd e", "**   *"),
}


@pytest.mark.parametrize("name", HIGH)
def test_a_track_is_high_where_it_should_be(name: str) -> None:
    text, marks = HIGH[name]
    wanted = [mark in "*." for mark in marks.ljust(len(text))]
    found = TRACKS[name](text).tolist()
    assert [one for one, mark in zip(found, marks.ljust(len(text)), strict=True) if mark != "."] == [
        one for one, mark in zip(wanted, marks.ljust(len(text)), strict=True) if mark != "."
    ]


def test_positions_and_depth_are_counted() -> None:
    assert TRACKS["position in line"]("ab\nc").tolist() == [1, 2, 0, 1]
    assert TRACKS["position in word"]("ab c").tolist() == [1, 2, 0, 1]
    assert TRACKS["nesting depth"]("(a(b))c").tolist() == [1, 1, 2, 2, 1, 0, 0]
    assert tracks(["a(", "b)", "c"])["nesting depth"].tolist() == [1, 0, 0]


@given(st.lists(st.integers(0, 5), min_size=3, max_size=30), st.data())
def test_agreement_is_the_auc_and_spearmans_rank_correlation(values: list[int], data: st.DataObject) -> None:
    column = np.array(values, float)
    track = np.array(data.draw(st.lists(st.booleans(), min_size=len(values), max_size=len(values))))
    if track.any() and not track.all():
        wanted = stats.mannwhitneyu(column[track], column[~track]).statistic / (track.sum() * (~track).sum())
        assert agreements(ranks(column)[:, None], track)[0] == pytest.approx(wanted)
    if len(set(values)) > 1:
        wanted = stats.spearmanr(column, np.arange(len(values))).statistic
        found = agreements(ranks(column)[:, None], np.arange(len(values), dtype=float))[0]
        assert found == pytest.approx(0.5 + wanted / 2, abs=1e-9)


def test_a_planted_unit_is_found_with_its_sign() -> None:
    random = np.random.default_rng(0)
    track = random.random(2000) < 0.3
    values = random.normal(size=(2000, 6))
    values[:, 4] -= 4 * track
    halves = ranks(values[:1000]), ranks(values[1000:])
    unit, sign, agreement = best_unit(halves, (track[:1000], track[1000:]))
    assert (unit, sign) == (4, -1)
    assert agreement > 0.95


def test_the_probe_sees_what_the_last_eight_symbols_say_and_no_more() -> None:
    random = np.random.default_rng(1)
    ids = random.integers(0, 5, 4000)
    near, far = np.roll(ids, 3) == 2, np.roll(ids, 12) == 2
    assert Probe(ids, 5).agreement(near) > 0.99
    assert Probe(ids, 5).agreement(far) < 0.6


def test_a_search_in_an_untrained_network_finds_nothing_real(tmp_path: Path) -> None:
    random = np.random.default_rng(2)
    words = random.choice(["what", '"is', 'it"', "the (time)", "today\n"], 700)
    (tmp_path / "text.txt").write_text(" ".join(words.tolist()))
    lm = small("lstm", codec="characters", layers=1, width=6)
    view = cr.look(lm, TEXT, view="cells", search=str(tmp_path / "text.txt"), most=2000)
    [model] = view["models"]
    assert {row["track"] for row in model["found"]} >= {"inside quotes", "position in line"}
    assert all(not row["real"] or row["agreement"] > row["untrained"] for row in model["found"])
    assert any("No unit tracks" in note or "units that track" in note for note in view.notes)


def test_clamping_a_unit_that_nothing_reads_costs_nothing() -> None:
    import torch

    lm = small("lstm", codec="characters", layers=1, width=4)
    with torch.no_grad():
        lm.body.output.weight.zero_()  # type: ignore[attr-defined]
    text = 'it is "the time" today ' * 60
    rows, _ = search(lm, text, ("layers.*.cell",))
    assert rows
    assert all(abs(row.cost_on) < 1e-6 and abs(row.cost_off) < 1e-6 for row in rows)


def test_traces_are_what_the_network_computes_and_gates_are_between_0_and_1() -> None:
    lm = small("lstm", layers=2, width=5)
    [model] = cr.look(lm, TEXT, view="cells", layer=1, unit=3)["models"]
    assert (model["tap"], model["unit"]) == ("layers.0.hidden", 2)
    assert model["traces"]["layers.1.cell"].shape == (len(model["symbols"]), 5)
    assert all(0 <= share <= 1 for shares in model["gates"].values() for share in shares)


def test_a_family_without_cells_says_which_have_them() -> None:
    with pytest.raises(cr.ChainruleError, match="gru"):
        cr.look(gpt(), TEXT, view="cells")


def test_a_file_that_cannot_be_read_is_told(tmp_path: Path) -> None:
    with pytest.raises(cr.ChainruleError, match="cannot be read"):
        cr.look(small("gru", layers=1, width=4), TEXT, view="cells", search=str(tmp_path / "none.txt"))
