"""Series of numbers and events: forecasts, anomalies, gaps and levels."""

from __future__ import annotations

import csv
import json
import math
from datetime import date, timedelta
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import chainrule as cr
from chainrule.bundle import Bundle
from chainrule.cli import main
from chainrule.data.dataset import prepare
from chainrule.errors import ConfigError
from chainrule.seasons import Level, best_level
from chainrule.use.times import day, moment, times_after

LENGTH, SEASON = 420, 7


def weekly(noise: float = 0.5, slope: float = 0.0) -> np.ndarray:
    at = np.arange(LENGTH)
    rng = np.random.default_rng(0)
    return np.round(20 + 5 * np.sin(2 * np.pi * at / SEASON) + slope * at + rng.normal(0, noise, LENGTH), 2)


def written(path: Path, values: np.ndarray, missing: tuple[int, ...] = ()) -> Path:
    first = date(2024, 1, 1)
    rows = [
        f"{first + timedelta(at)},{'' if at in missing else value}"
        for at, value in enumerate(values.tolist())
    ]
    path.write_text("\n".join(["day,value", *rows]) + "\n")
    return path


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    values = weekly()
    values[200] = 60.0
    return written(tmp_path_factory.mktemp("series") / "week.csv", values, (50, 51))


@pytest.fixture(scope="module")
def lm(table: Path) -> Bundle:
    return cr.fit(table, column="value", sort="day", difference="auto")


def test_a_forecast_continues_the_season_from_the_end(lm: Bundle) -> None:
    [found] = lm.forecast(steps=SEASON, paths=300)
    truth = 20 + 5 * np.sin(2 * np.pi * np.arange(LENGTH, LENGTH + SEASON) / SEASON)
    middle = np.array([step.median for step in found.steps])
    assert np.abs(middle - truth).mean() < 0.5 and found.paths.shape == (300, SEASON)
    assert all(step.low < step.median < step.high for step in found.steps)  # type: ignore[operator]
    assert found.steps[0].time == (date(2024, 1, 1) + timedelta(LENGTH)).isoformat()


def test_the_same_seed_gives_the_same_paths_and_the_interval_is_theirs(lm: Bundle) -> None:
    [one], [two], [other] = (lm.forecast(steps=5, paths=50, seed=seed, interval=0.5) for seed in (1, 1, 2))
    assert np.array_equal(one.paths, two.paths) and not np.array_equal(one.paths, other.paths)
    assert one.steps[3].low == pytest.approx(np.quantile(one.paths[:, 3], 0.25))


def test_counts_are_forecast_as_counts() -> None:
    rng = np.random.default_rng(1)
    lm = cr.fit(rng.poisson(1.0, 500).tolist(), codec="numbers", difference="auto")
    [found] = lm.forecast(rng.poisson(1.0, 100).tolist(), 5)
    assert (found.paths >= 0).all() and (found.paths == np.round(found.paths)).all()


def test_gaps_do_not_shift_the_season(tmp_path: Path) -> None:
    missing = tuple(range(30, LENGTH, 31))
    lm = cr.fit(
        written(tmp_path / "gaps.csv", weekly(), missing), column="value", sort="day", difference="auto"
    )
    assert any("values are missing" in note for note in lm.card["notes"])
    [found] = lm.forecast(steps=SEASON)
    truth = 20 + 5 * np.sin(2 * np.pi * np.arange(LENGTH, LENGTH + SEASON) / SEASON)
    assert np.abs(np.array([step.median for step in found.steps]) - truth).mean() < 0.6


def test_nan_in_python_is_the_same_gap_as_an_empty_cell() -> None:
    values: list[float] = weekly().tolist()
    values[30] = math.nan
    lm = cr.fit(values, codec="numbers")
    assert lm.codec.missing(lm.codec.encode(cr_texts(values)).ids) == 1


def cr_texts(values: list[float]):  # type: ignore[no-untyped-def]
    from chainrule.codecs.base import Texts

    return Texts.of([" ".join(map(str, values))])


def test_an_outlier_is_the_most_surprising_value_with_what_was_expected(lm: Bundle, table: Path) -> None:
    found = lm.anomalies(table)
    first = found.events[0]
    assert (first.row, first.value, first.time) == (201, "60.0", "2024-07-19")
    assert first.low is not None and first.low < float(first.expected) < 60.0
    assert found.days[0].name == "2024-07-19" and not found.sessions
    assert [one.row for one in found.in_order] == list(range(1, LENGTH + 1))
    assert found.in_order[49].bits < first.bits


@pytest.mark.parametrize("model", ["ngram", "gru"])
def test_a_value_outside_the_training_range_surprises_every_family(model: str) -> None:
    options = {"tokens": 20_000, "width": 16} if model == "gru" else {}
    values = weekly()
    lm = cr.fit(values.tolist(), model=model, codec="numbers", **options)
    before = ", ".join(f"{value:.2f}" for value in values[200:214])
    inside, above, below = (lm.score(f"{before}, {one}").tokens[14].bits for one in (values[214], 400, -300))
    assert min(above, below) > 2 + inside


EVENTS = [("a", "home"), ("a", "search"), ("a", "buy"), ("b", "home"), ("b", "search"), ("b", "buy")]


def test_events_have_sessions_and_unknown_ones_surprise(tmp_path: Path) -> None:
    log = tmp_path / "log.csv"
    rows = [f"{user}{number},{event}" for number in range(40) for user, event in EVENTS]
    log.write_text("\n".join(["user,event", *rows]) + "\n")
    lm = cr.fit(log, column="event", group="user")
    odd = tmp_path / "odd.csv"
    odd.write_text("user,event,key\nx,home,k1\nx,search,k2\nx,buy,k3\ny,buy,k4\ny,buy,k5\ny,explode,k6\n")
    found = lm.anomalies(odd, id="key")
    assert found.sessions[0].name == "y" and found.sessions[1].name == "x"
    assert found.events[0].series == "y" and found.in_order[5].bits > 2 and found.in_order[5].id == "k6"
    assert found.in_order[1].expected == "search" and found.in_order[1].probability is not None
    [*ahead] = lm.forecast(odd, steps=2)
    assert [one.name for one in ahead] == ["x", "y"] and 0 < ahead[0].steps[0].events[0][1] <= 1


def test_the_commands_print_tables_files_and_pictures(
    lm: Bundle, table: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lm.save(tmp_path / "lm")
    words = ["forecast", str(tmp_path / "lm"), "--steps", "3"]
    assert main(words) == 0 and capsys.readouterr().out.count("\n") == 4
    assert main([*words, "--json"]) == 0
    assert len(json.loads(capsys.readouterr().out)["forecasts"][0]["steps"]) == 3
    assert main([*words, "-o", str(tmp_path / "f.csv")]) == 0
    with (tmp_path / "f.csv").open() as file:
        assert [row["step"] for row in csv.DictReader(file)] == ["1", "2", "3"]
    assert main([*words, "-o", str(tmp_path / "f.csv")]) == 2  # it is there
    assert main([*words, "-o", str(tmp_path / "f.svg")]) == 0
    assert (tmp_path / "f.svg").read_text().startswith("<svg")
    assert main([*words, "-o", str(tmp_path / "f.png")]) == 2
    assert ".svg" in capsys.readouterr().err
    assert main(["anomalies", str(tmp_path / "lm"), str(table), "-k", "2"]) == 0
    assert "60.0" in capsys.readouterr().out
    assert main(["anomalies", str(tmp_path / "lm"), str(table), "--each", "--json"]) == 0
    assert len(capsys.readouterr().out.splitlines()) == LENGTH


def test_models_of_text_are_refused(tmp_path: Path) -> None:
    lm = cr.fit(["the cat sat", "the dog sat"] * 20)
    with pytest.raises(ConfigError, match="score --each"):
        lm.forecast(["the"])


def test_data_that_are_gone_are_asked_for(lm: Bundle) -> None:
    from dataclasses import replace

    with pytest.raises(ConfigError, match="--data"):
        replace(lm, card={**lm.card, "data": {"name": "nowhere.csv"}}).forecast()


@given(st.lists(st.floats(-1e6, 1e6), min_size=3, max_size=60), st.integers(1, 5), st.floats(0.05, 1.0))
def test_a_level_is_what_its_formula_says(values: list[float], lag: int, weight: float) -> None:
    held = np.array(values)
    found = Level(lag, weight).before(held, np.array([len(held)]))[0]
    for at in range(len(held)):
        level = math.nan
        for before in range(at % lag, at, lag):
            level = held[before] if math.isnan(level) else level + weight * (held[before] - level)
        assert found[at] == pytest.approx(level, nan_ok=True)


def test_the_level_suits_the_series() -> None:
    rng = np.random.default_rng(0)
    lengths = np.array([LENGTH])
    assert best_level(weekly(), lengths).lag == SEASON
    assert best_level(np.cumsum(rng.normal(0, 1, LENGTH)), lengths).lag == 1
    assert best_level(rng.normal(0, 1, LENGTH), lengths).lag == 0


@pytest.mark.parametrize(
    ("cell", "found"),
    [
        ("2024-02-29", "2024-02-29"),
        ("2024-02-29T23:59:00", "2024-02-29"),
        ("1709208000", "2024-02-29"),
        ("1709208000000", "2024-02-29"),
        ("12", None),
        ("noon", None),
    ],
)
def test_days_are_read_from_dates_and_time_stamps(cell: str, found: str | None) -> None:
    assert day(cell) == found
    assert (moment(cell) is None) == (found is None)


def test_times_continue_as_they_are_spaced() -> None:
    assert times_after(["2024-02-27", "2024-02-28", "2024-02-29"], 2) == ["2024-03-01", "2024-03-02"]
    assert times_after(["1", "3", "5"], 2) == ["7", "9"]
    assert times_after(["a", "b", "c"], 1) == [None]


def test_a_loss_curve_and_models_are_shown_in_notebooks(tmp_path: Path) -> None:
    lm = cr.fit(weekly().tolist(), model="gru", codec="numbers", tokens=20_000, width=16)
    lm.save(tmp_path / "lm")
    again = cr.load(tmp_path / "lm")
    assert again.history == lm.history and {"step", "train", "valid"} <= set(lm.history[0])
    steps = [line["step"] for line in lm.history]
    assert len(steps) >= 20 and steps == sorted(set(steps))  # type: ignore[type-var]
    assert any(line["valid"] is None for line in lm.history) and lm.history[-1]["valid"] is not None
    again.plot().save(tmp_path / "loss.svg")
    assert (tmp_path / "loss.svg").read_text().startswith("<svg")
    assert "loss" in again._repr_html_() and "\n" not in repr(again)
    assert "background" in lm.score("20, 22")._repr_html_() and "\n" not in repr(lm.score("20, 22"))
    with pytest.raises(ConfigError, match="loss curve"):
        cr.fit(weekly().tolist(), codec="numbers").plot()


def test_what_is_shown_in_a_notebook_is_escaped() -> None:
    lm = cr.fit(["<b>x</b> <script>", "<b>x</b> y"] * 20, codec="words")
    assert "<script>" not in lm.score("<script> y")._repr_html_()


def test_a_setting_of_one_codec_alone_chooses_it() -> None:
    few = [1, 2, 3, 2] * 50
    assert cr.fit(few).codec.name == "events"
    lm = cr.fit(few, difference="auto")
    assert lm.codec.name == "numbers" and "--difference" in lm.card["notes"][0]
    with pytest.raises(ConfigError, match="difference"):
        cr.fit(few, codec="events", difference="auto")


def stores(path: Path) -> Path:
    """Three series of unlike size, one with a shift of its level."""
    at, rng, first = np.arange(300), np.random.default_rng(2), date(2024, 1, 1)
    wave = np.sin(2 * np.pi * at / SEASON)
    series = {
        "north": 100 + 0.1 * at + 10 * wave + rng.normal(0, 3, 300),
        "south": 250 + 30 * wave + rng.normal(0, 7.5, 300),
        "west": 60 + 5 * wave + 40 * (at > 150) + rng.normal(0, 1.5, 300),
    }
    rows = [
        f"{first + timedelta(day)},{name},{series[name][day]:.2f}" for day in at.tolist() for name in series
    ]
    path.write_text("\n".join(["day,store,sold", *rows]) + "\n")
    return path


def test_series_of_unlike_size_share_a_model(tmp_path: Path) -> None:
    lm = cr.fit(stores(tmp_path / "stores.csv"), column="sold", group="store", sort="day", difference="auto")
    notes = " ".join(lm.card["notes"])
    assert "the end of each of the 3 sequences" in notes and "season of 7" in notes and "scaled" in notes
    expected = {"north": 130.0, "south": 250.0, "west": 100.0}
    noise = {"north": 3.0, "south": 7.5, "west": 1.5}
    for one in lm.forecast(steps=2 * SEASON):
        middle = np.mean([step.median for step in one.steps])
        wide = np.mean([step.high - step.low for step in one.steps])  # type: ignore[operator]
        assert one.name is not None and abs(middle - expected[one.name]) < 1.5 * noise[one.name]
        assert 1.5 * noise[one.name] < wide < 6 * noise[one.name]


def test_sessions_end(tmp_path: Path) -> None:
    log = tmp_path / "log.csv"
    rows = [f"{number},{event}" for number in range(60) for event in ("login", "look", "logout")]
    log.write_text("\n".join(["user,event", *rows]) + "\n")
    lm = cr.fit(log, column="event", group="user")
    open_one = tmp_path / "open.csv"
    open_one.write_text("user,event\n1,login\n1,look\n1,logout\n")
    [found] = lm.forecast(open_one, steps=3)
    assert found.steps[0].events[0][0] == found.steps[2].events[0][0] == "(end)"


def test_a_model_of_some_rows_scores_all_rows(tmp_path: Path) -> None:
    table = tmp_path / "reviews.csv"
    table.write_text("text,label\n" + "good film,yes\nbad film,no\n" * 30)
    lm = cr.fit(table, column="text", where=("label == yes",), codec="words")
    assert [one.row for one in lm.score_each(table)] == list(range(1, 61))
    unlabelled = tmp_path / "new.csv"
    unlabelled.write_text('text\ngood film\n""\n')
    found = list(lm.score_each(unlabelled))
    assert len(found) == 2 and math.isnan(found[1].perplexity) and found[1].blank


def test_what_knows_distances_only_is_neither_completed_nor_continued(lm: Bundle) -> None:
    for use in (lm.complete, lm.generate, lm.next):
        with pytest.raises(ConfigError, match="chainrule forecast"):
            use("20, 21, 22")


@pytest.mark.parametrize("difference", ["auto", "7", "0"])
@pytest.mark.parametrize("sort", [None, "day"])
def test_levels_do_not_depend_on_the_size_of_blocks(
    table: Path, monkeypatch: pytest.MonkeyPatch, difference: str, sort: str | None
) -> None:
    found = []
    for block in (1 << 24, 64):
        for module in ("tables", "lines"):
            monkeypatch.setattr(f"chainrule.data.{module}.BLOCK", block)
        monkeypatch.setattr("chainrule.data.streams.CHUNK", block)
        data = prepare(
            table, codec="numbers", options={"column": "value", "sort": sort, "difference": difference}
        )
        lm = cr.fit(table, codec="numbers", column="value", sort=sort, difference=difference)
        assert data.valid and data.test
        ids = [part.main.ids.tolist() for part in (data.train, data.valid, data.test)]
        figures = [lm.score_file(table).log2prob, *(one.log2prob for one in lm.score_each(table))]
        found.append((data.codec.bins, ids, figures))
    [one, other] = found
    assert (
        one[0]
        and other[0]
        and one[0].edges == other[0].edges
        and one[1] == other[1]
        and one[2] == pytest.approx(other[2])
    )


def test_many_series_are_forecast_in_one_short_table(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "clicks.csv"
    rows = [f"s{one},{at},{'abcd'[(one + at) % 4]}" for one in range(30) for at in range(6)]
    path.write_text("\n".join(["session,time,page", *rows]) + "\n")
    lm = cr.fit(path, column="page", group="session", sort="time")
    lm.save(tmp_path / "lm")
    assert main(["forecast", str(tmp_path / "lm"), "--steps", "3", "--paths", "5", "-q"]) == 0
    told = capsys.readouterr().out.splitlines()
    assert told[0].split() == ["series", "time", "step", "events"] and len(told) == 63
    assert "first 20 of 30 series" in told[-1] and "-o forecast.csv" in told[-1]
    assert "The first 12 of 30 series" in lm.forecast(path, 1, paths=5).plot().written(".html")
