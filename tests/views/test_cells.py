"""Units: what they are compared with, and what is found."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

import chainrule as cr
from chainrule.codecs.base import Texts
from chainrule.symbols import EOS
from chainrule.views.tracks import TRACKS, tracks
from chainrule.views.units import (
    CLAMPED,
    WINDOW,
    Found,
    Probe,
    agreements,
    best_unit,
    ranks,
    search,
    stretch,
    units_of,
)
from views.by_hand import lstm_steps, rnn_bits
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
    lm = small("lstm", codec="characters", layers=1, width=4)
    with torch.no_grad():
        lm.body.output.weight.zero_()  # type: ignore[attr-defined]
    text = 'it is "the time" today ' * 60
    rows, _ = search(lm, text, ("layers.*.cell",))
    assert rows
    assert all(abs(row.cost_on) < 1e-6 and abs(row.cost_off) < 1e-6 for row in rows)


def test_traces_are_what_the_network_computes_and_gates_are_as_open_as_their_values() -> None:
    lm = small("lstm", layers=1, width=5, seed=7)
    with torch.no_grad():
        for weight in lm.model.parameters():  # type: ignore[attr-defined]
            weight *= 20.0  # so that some gates are nearly closed, and some nearly open
    view = cr.look(lm, TEXT, view="cells", layer=1, unit=3)
    [model] = view["models"]
    steps = [
        {name: one.detach() for name, one in step.items()}
        for step in lstm_steps(lm, torch.tensor([[*lm.prompt_ids(TEXT), EOS]]))
    ]
    for name in ("hidden", "cell"):
        wanted = torch.cat([step[name] for step in steps]).numpy()
        np.testing.assert_allclose(model["traces"][f"layers.0.{name}"], wanted, atol=1e-5)
    assert (model["tap"], model["unit"]) == ("layers.0.hidden", 2)
    shown = dict(zip(model["symbols"], steps, strict=True))["time"]
    assert f"{shown['hidden'][0, 2].item():+.3f}" in str(view)
    ends = {"input": (0.1, 0.9), "forget": (0.1, 0.9), "output": (0.1, 0.9), "candidate": (-0.9, 0.9)}
    found = {name: model["gates"][f"layers.0.gates.{name}"] for name in ends}
    for name, (low, high) in ends.items():
        values = torch.cat([step[name] for step in steps])
        wanted = float((values < low).float().mean()), float((values > high).float().mean())
        assert found[name] == pytest.approx(wanted)
    assert all(sum(shares) > 0 for shares in zip(*found.values(), strict=True))
    assert f"candidate: {found['candidate'][0]:.0%} near -1" in str(view)


def test_clamping_costs_what_a_network_with_that_unit_held_loses() -> None:
    lm = small("rnn", codec="characters", layers=1, width=4, seed=3)
    text = 'it is "the time" today ' * 60
    rows, _ = search(lm, text, ("layers.*.hidden",))
    ids = [int(one) for one in lm.codec.encode(Texts.of([text])).ids[1:-1]]
    trace = units_of(lm.body, np.array(ids), ("layers.*.hidden",)).values
    for row in rows[:3]:
        track = TRACKS[row.track](text)
        high = (track if track.dtype == bool else track > np.median(track))[len(ids) // 2 : -1]
        kept, middle = slice(len(ids) // 2, None), len(ids) // 2
        mean = float(trace[:middle, row.unit].mean())
        lost = np.subtract(rnn_bits(lm, ids[kept], row.unit, mean), rnn_bits(lm, ids[kept]))
        for found, where in ((row.cost_on, high), (row.cost_off, ~high)):
            assert found == pytest.approx(lost[where].mean() if where.any() else 0.0, abs=1e-4)


def test_a_unit_is_clamped_where_its_track_is() -> None:
    track = np.zeros(60 * WINDOW, bool)
    track[50 * WINDOW : 51 * WINDOW] = True
    chosen = stretch(track, len(track) // 2)
    assert chosen.stop - chosen.start == CLAMPED and chosen.start >= len(track) // 2
    assert track[chosen].sum() == WINDOW


def test_a_unit_is_confirmed_only_if_it_matters_more_where_the_track_is_high() -> None:
    common: dict[str, Any] = {"track": "depth", "tap": "cell", "unit": 1, "sign": 1, "agreement": 0.95}
    common |= {"by_chance": 0.5, "untrained": 0.6, "probe": 0.7}
    assert Found(**common, cost_on=0.3, cost_off=0.1).used
    assert not Found(**common, cost_on=0.0, cost_off=0.0).used
    assert not Found(**common, cost_on=0.1, cost_off=0.2).used
    assert not Found(**common, cost_on=-0.1, cost_off=-0.2).used


def test_a_family_without_cells_says_which_have_them() -> None:
    with pytest.raises(cr.ChainruleError, match="gru"):
        cr.look(gpt(), TEXT, view="cells")


def test_a_file_that_cannot_be_read_is_told(tmp_path: Path) -> None:
    with pytest.raises(cr.ChainruleError, match="cannot be read"):
        cr.look(small("gru", layers=1, width=4), TEXT, view="cells", search=str(tmp_path / "none.txt"))
