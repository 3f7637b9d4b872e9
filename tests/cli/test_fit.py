from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

import chainrule.train.fit  # noqa: F401
from chainrule.bundle import Bundle, load

from .conftest import LINES, Chainrule


@pytest.fixture(autouse=True)
def cache(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CHAINRULE_CACHE", str(tmp_path_factory.mktemp("cache")))


def test_a_model_is_fitted_saved_and_judged(chainrule: Chainrule, book: Path, tmp_path: Path) -> None:
    out = tmp_path / "lm"
    words = [
        "fit",
        book,
        "--model",
        "ngram",
        "--order",
        "3",
        "--codec",
        "words",
        "-o",
        out,
        "--test",
        book,
        "--json",
    ]
    found = chainrule(*words).json
    assert (found["output"], found["family"], found["codec"]) == (str(out), "ngram", "words")
    assert found["test"]["perplexity"] > 1 and found["seconds"] > 0
    assert load(out).config["model"]["order"] == 3
    by_file = chainrule("score", out, "--file", book, "--json").json
    assert by_file["log2prob"] == pytest.approx(found["test"]["log2prob"])


def test_options_may_stand_anywhere(chainrule: Chainrule, book: Path, tmp_path: Path) -> None:
    words = ["fit", "--order", "2", "--closed", "--vocab=1k", book, "--min-count", "2", "-o", tmp_path / "lm"]
    assert chainrule(*words, "--codec", "words").code == 0
    config = load(tmp_path / "lm").config
    assert config["model"]["order"] == 2
    settings = config["codec"]["config"]
    assert (settings["vocab"], settings["min_count"], settings["closed"]) == (1000, 2, True)


def test_the_choice_of_a_codec_is_told(chainrule: Chainrule, book: Path, tmp_path: Path) -> None:
    done = chainrule("fit", book, "-o", tmp_path / "lm")
    assert done.code == 0 and "words" in done.err
    assert chainrule("fit", book, "-o", tmp_path / "silent", "--quiet").err == ""


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--ordr", "3"], "Did you mean '--order'"),
        (["--modle", "ngram"], "Did you mean '--model'"),
        (["--order"], "--order wants a value"),
        (["--order", "12"], "at most 9"),
        (["--order", "x"], "type int"),
        (["--model", "ngrm"], "Did you mean 'ngram'"),
        (["--codec", "wrds"], "Did you mean 'words'"),
        (["--codec", "bytes", "--min-count", "2"], "no option --min-count"),
        (["more.txt"], "one name of data, not 2"),
    ],
)
def test_wrong_options_are_explained_before_anything_is_done(
    chainrule: Chainrule, book: Path, tmp_path: Path, words: list[str], message: str
) -> None:
    done = chainrule("fit", book, "-o", tmp_path / "lm", *words)
    assert done.code == 2 and message in done.err
    assert not (tmp_path / "lm").exists()


def test_no_data_and_no_output_are_usage_errors(chainrule: Chainrule, book: Path, tmp_path: Path) -> None:
    assert chainrule("fit", "--order", "3", "-o", tmp_path / "lm").code == 2
    assert chainrule("fit", book).code == 2


def test_missing_data_are_an_error(chainrule: Chainrule, tmp_path: Path) -> None:
    done = chainrule("fit", tmp_path / "nowhere.txt", "-o", tmp_path / "lm")
    assert done.code == 1 and "nowhere.txt" in done.err
    assert not (tmp_path / "lm").exists()


def test_a_taken_place_is_found_out_before_training(
    chainrule: Chainrule, lm: Path, book: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def never(*given: object, **options: object) -> Bundle:
        raise AssertionError("it trained")

    monkeypatch.setattr(chainrule_fit, "fit", never)
    done = chainrule("fit", book, "-o", lm)
    assert done.code == 1 and "--force" in done.err


chainrule_fit = sys.modules["chainrule.train.fit"]


def test_settings_come_from_a_file_and_flags_win(chainrule: Chainrule, book: Path, tmp_path: Path) -> None:
    (tmp_path / "set.toml").write_text('order = 2\ncodec = "words"\nmin-count = 2\n')
    chainrule("fit", book, "--config", tmp_path / "set.toml", "-o", tmp_path / "a")
    chainrule("fit", book, "--config", tmp_path / "set.toml", "--order", "4", "-o", tmp_path / "b")
    first, second = load(tmp_path / "a").config, load(tmp_path / "b").config
    assert (first["model"]["order"], second["model"]["order"]) == (2, 4)
    assert first["codec"]["config"]["min_count"] == 2
    (tmp_path / "set.toml").write_text("ordr = 2\n")
    done = chainrule("fit", book, "--config", tmp_path / "set.toml", "-o", tmp_path / "c")
    assert done.code == 2 and "Did you mean 'order'" in done.err


def test_stopping_leaves_nothing(
    chainrule: Chainrule, book: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stopped(self: Bundle, folder: Path, force: bool = False) -> None:
        signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(Bundle, "save", stopped)
    done = chainrule("fit", book, "-o", tmp_path / "lm")
    assert done.code == 130 and "nothing was written" in done.err
    assert sorted(path.name for path in tmp_path.iterdir()) == ["book.txt"]


def test_data_are_checked(chainrule: Chainrule, book: Path, tmp_path: Path) -> None:
    (tmp_path / "test.txt").write_text("\n".join([f"{LINES[0]} 3", "something new"]))
    words = ["check", book, "--test", tmp_path / "test.txt", "--codec", "words", "--min-count", "2"]
    found = chainrule(*words, "--json").json
    assert found["codec"] == "words" and found["parts"]["test"]["sequences"] == 2
    people = chainrule(*words).out
    assert "train" in people and "Zipf" in people and "to fit" in people
    assert "Did you mean '--vocab'" in chainrule("check", book, "--vocb", "3").err


def test_the_demo_gets_better_with_every_letter(chainrule: Chainrule) -> None:
    found = chainrule("demo", "--orders", "3", "--json").json["models"]
    letters = [row["bits_per_byte"] for row in found if row["codec"] == "characters"]
    assert letters == sorted(letters, reverse=True) and len(letters) == 3
    assert all(row["line"].startswith("The") for row in found)


def test_the_command_is_installed() -> None:
    command = Path(sys.executable).parent / "chainrule"
    assert subprocess.run([command, "--version"], capture_output=True, text=True).stdout.startswith(
        "chainrule "
    )
