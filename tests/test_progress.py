from __future__ import annotations

import json

import pytest

from chainrule import progress as module
from chainrule.progress import Limit, Meter, clock, no_progress, progress, quiet, short


def test_a_meter_tells_share_speed_and_time_left() -> None:
    now = iter([0.0] + [10.0] * 20)
    meter = Meter("counting", 400, "symbols", clock=lambda: next(now))
    meter(60)
    meter(40)
    assert meter.line() == "counting: 25 %, 10 symbols/s, 0:30 left"
    assert meter.summary() == "counting: done in 0:10, 10 symbols/s"


def test_without_a_total_the_time_so_far_is_told() -> None:
    now = iter([0.0] + [65.0] * 20)
    assert Meter("sorting", clock=lambda: next(now)).line() == "sorting: 1:05 so far"


def test_a_job_may_learn_its_size_and_tell_more() -> None:
    now = iter([0.0] + [10.0] * 20)
    meter = Meter("training", clock=lambda: next(now))
    meter(50)
    meter.total, meter.words = 100, "loss 1.5"
    assert meter.line() == "training: 50 %, 5/s, loss 1.5, 0:10 left"


def test_the_time_left_of_a_budget_never_jumps_and_is_never_more_than_the_budget() -> None:
    seconds = [0.0]
    meter = Meter("training", clock=lambda: seconds[0])
    meter.limit, left, shares = Limit(600.0, 600.0), [], []
    for at, (count, total) in enumerate([(1, 9_000), (5, 100_000), (900, 4_000), (50, 1_000)]):
        seconds[0], meter.total = 60.0 + 120.0 * at, total  # the plan is revised, the pace changes
        meter(count)
        left.append(meter.left)
        shares.append(meter.share)
    assert left == [540.0, 420.0, 300.0, 180.0] and shares == pytest.approx([0.1, 0.3, 0.5, 0.7])
    seconds[0] = 700.0
    assert meter.line().endswith("0:00 left") and meter.share == 1.0


def test_what_was_done_before_counts_for_the_share_and_not_for_the_speed() -> None:
    now = iter([0.0] + [10.0] * 20)
    meter = Meter("training", 400, clock=lambda: next(now), skipped=200)
    meter(100)
    assert meter.line() == "training: 75 %, 10/s, 0:10 left"


def test_a_short_job_says_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    with progress("quick", 3) as step:
        step(3)
    assert capsys.readouterr() == ("", "")


def test_a_long_job_tells_stderr_only(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "DELAY", 0.0)
    with progress("long", 3) as step:
        step(3)
    out, err = capsys.readouterr()
    assert out == "" and "long: done in 0:00" in err


def test_quiet_shows_nothing_and_errors_pass_through(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "DELAY", 0.0)
    with quiet(), progress("long", 3) as step:
        step(3)
    with no_progress("long", 3) as step:
        step(3)
    assert capsys.readouterr() == ("", "")
    with pytest.raises(KeyboardInterrupt), progress("stopped"):
        raise KeyboardInterrupt
    assert "done" not in capsys.readouterr().err


def test_numbers_and_times_are_short() -> None:
    assert [short(n) for n in (0, 3.25, 950, 1234, 31e6, 2e9)] == ["0", "3.2", "950", "1.2k", "31M", "2.0G"]
    assert [clock(s) for s in (0, 7, 65, 3723)] == ["0:00", "0:07", "1:05", "1:02:03"]


def test_a_program_that_watches_reads_lines_of_json(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CHAINRULE_PROGRESS", "json")
    with progress("training", 4, "symbols") as step:
        step.loss, step.nats = 1.5, float("inf")
        step(4)
    out, err = capsys.readouterr()
    *_, last = [json.loads(line) for line in err.splitlines()]
    assert out == "" and (last["progress"], last["share"], last["unit"]) == ("training", 1.0, "symbols")
    assert (last["loss"], last["nats"]) == (1.5, None)  # JSON has no infinity
