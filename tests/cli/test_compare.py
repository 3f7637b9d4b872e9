from __future__ import annotations

from pathlib import Path

import pytest

from chainrule.cli.live import Lines
from chainrule.errors import DataError

from .conftest import Chainrule


@pytest.fixture
def earlier(tmp_path: Path) -> Path:
    """The folder of an earlier comparison, with a file that is not its own."""
    folder = tmp_path / "earlier"
    (folder / "models" / "lstm").mkdir(parents=True)
    for name in ("plan.json", "results.json", "report.html", "seconds.txt", "data.txt", "notes.txt"):
        (folder / name).write_text("{}")
    return folder


@pytest.fixture
def begun(monkeypatch: pytest.MonkeyPatch) -> None:
    """What gets as far as writing a plan ends there, with a word."""

    def begin(*given: object) -> None:
        raise DataError("it began")

    monkeypatch.setattr("chainrule.choose.plan.RacePlan.begin", begin)


def test_the_lines_of_a_comparison_name_the_unit_of_their_figures(
    capsys: pytest.CaptureFixture[str],
) -> None:
    lines = Lines()
    lines.see({"rungs": ["lstm"], "forecasts": {}, "budget": 60.0, "unit": "bits per byte"})
    lines.see({"name": "lstm", "done": True, "bits": 2.5, "seconds": 3.0})
    assert "lstm: done, 2.5000 bits per byte, 3.00 s" in capsys.readouterr().err


def test_an_earlier_comparison_is_replaced_only_by_force(
    chainrule: Chainrule, book: Path, earlier: Path, begun: None
) -> None:
    before = sorted(earlier.rglob("*"))
    done = chainrule("compare", book, "-o", earlier)
    assert done.code == 1 and "--resume" in done.err and "--force" in done.err
    assert sorted(earlier.rglob("*")) == before
    assert "nowhere.txt" in chainrule("compare", "nowhere.txt", "-o", earlier, "--force").err
    assert sorted(earlier.rglob("*")) == before, "nothing is removed before the data were read"
    assert "it began" in chainrule("compare", book, "-o", earlier, "--force").err
    kept = sorted(path.name for path in earlier.iterdir())
    assert kept == ["data.txt", "notes.txt"], "data, and what is not its own, are never removed"


def test_a_folder_that_is_no_comparison_is_never_written_to(
    chainrule: Chainrule, book: Path, lm: Path, tmp_path: Path, begun: None
) -> None:
    before = sorted(lm.rglob("*"))
    for more in ([], ["--force"], ["--resume"]):
        done = chainrule("compare", book, "-o", lm, *more)
        assert done.code == 1 and "is no comparison" in done.err
    assert sorted(lm.rglob("*")) == before
    (tmp_path / "mine" / "models" / "lstm").mkdir(parents=True)
    for more in ([], ["--force"], ["--resume"]):
        assert "it holds models" in chainrule("compare", book, "-o", tmp_path / "mine", *more).err
    assert (tmp_path / "mine" / "models" / "lstm").exists()
    done = chainrule("compare", book, "-o", book)
    assert done.code == 1 and "is a file" in done.err


def test_a_new_or_empty_folder_is_written_to(
    chainrule: Chainrule, book: Path, tmp_path: Path, begun: None
) -> None:
    (tmp_path / "empty").mkdir()
    for name in ("empty", "new"):
        assert "it began" in chainrule("compare", book, "-o", tmp_path / name).err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--models", "5-gram,lsmt"], "Did you mean 'lstm'"),
        (["--codec", "words,bites"], "Did you mean 'bytes'"),
        (["--codec", "bytes", "--vocab", "10k"], "--vocab is a setting of the codecs"),
        (["--vocb", "10k"], "Did you mean '--vocab'"),
        (["--budget", "soon"], "90s, 10m"),
        (["--budget", "1s"], "at least"),
        (["--force", "--resume"], "give one of them"),
        (["--valid", ""], "name of the data is empty"),
    ],
)
def test_mistakes_are_told_before_the_place_is_looked_at(
    chainrule: Chainrule, book: Path, lm: Path, begun: None, words: list[str], message: str
) -> None:
    done = chainrule("compare", book, "-o", lm, *words)
    assert done.code == 2 and message in done.err, done.err


def test_families_are_understood_in_any_spelling(
    chainrule: Chainrule, book: Path, tmp_path: Path, begun: None
) -> None:
    done = chainrule("compare", book, "--models", "LSTM,5-Gram,GPT-2", "-o", tmp_path / "new")
    assert "it began" in done.err and "model GPT-2 is called gpt here" in done.err


def test_labelled_data_take_the_settings_of_their_task_and_a_guess_is_said(
    chainrule: Chainrule, tmp_path: Path, begun: None
) -> None:
    data = tmp_path / "pairs.csv"
    rows = (f"a {at % 5},b {at % 3},{at % 2}" for at in range(90))
    data.write_text("\n".join(["one,other,same", *rows]))
    pairs = ["--column", "one", "--pair", "other", "--label", "same", "--class-weights", "balanced"]
    done = chainrule("compare", data, *pairs, "-o", tmp_path / "new")
    assert "it began" in done.err and "task: classify, because there is a column of labels" in done.err
    done = chainrule("compare", data, "--task", "classify", *pairs, "-o", tmp_path / "new")
    assert "it began" in done.err and "task:" not in done.err
    several = ["--column", "one", "--label", "same", "--multi-label", "--separator", ";"]
    assert "it began" in chainrule("compare", data, *several, "-o", tmp_path / "new").err
    done = chainrule("compare", data, "--label", "same", "--crf", "-o", tmp_path / "new")
    assert done.code == 2 and "--crf is a setting of the task tag. Add --task tag." in done.err
