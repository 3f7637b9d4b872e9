from __future__ import annotations

import os
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
        "--no-refit",
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
    settings = config["codecs"]["text"]["config"]
    assert (settings["vocab"], settings["min_count"], settings["closed"]) == (1000, 2, True)


def test_the_choice_of_a_codec_is_told(chainrule: Chainrule, book: Path, tmp_path: Path) -> None:
    done = chainrule("fit", book, "-o", tmp_path / "lm")
    assert done.code == 0 and "words" in done.err
    assert chainrule("fit", book, "-o", tmp_path / "quiet", "--quiet").err == ""


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--ordr", "3"], "Did you mean '--order'"),
        (["--modle", "ngram"], "Did you mean '--model'"),
        (["--order"], "--order wants a value"),
        (["--order", "12"], "at most 9"),
        (["--order", "x"], "--order"),
        (["--model", "ngrm"], "Did you mean 'ngram'"),
        (["--codec", "wrds"], "Did you mean 'words'"),
        (
            ["--codec", "bytes", "--min-count", "2"],
            "--min-count is a setting of the codecs characters, events, label-sets, labels",
        ),
        (["--codec", "characters", "--split", "simple"], "--split is a setting of the codec words"),
        (["--codec", "characters", "--split=simple"], "--split is a setting of the codec words"),
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
    assert first["codecs"]["text"]["config"]["min_count"] == 2
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
    assert "duplicates" in people and "also in train" in people and "to fit" in people
    assert "Zipf" not in people, "of so few symbols it says nothing"
    wide = tmp_path / "wide.txt"
    wide.write_text("\n".join(" ".join(f"w{n}" for n in range(k, 3 * k)) for k in range(1, 60)))
    assert "Zipf" in chainrule("check", wide, "--codec", "words").out
    assert "Did you mean '--vocab'" in chainrule("check", book, "--vocb", "3").err


def test_several_files_are_data_together(chainrule: Chainrule, book: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.txt"
    other.write_text("only here\n" * 30)
    words = ["--codec", "words", "--order", "2", "--valid", book, "--json"]
    assert chainrule("fit", book, other, "-o", tmp_path / "lm", *words).code == 0
    assert load(tmp_path / "lm").unknown("only here she was") == ()
    assert chainrule("check", book, other, "--json").code == 0
    missing = chainrule("fit", book, tmp_path / "nowhere.txt", "-o", tmp_path / "no")
    assert missing.code == 1 and "nowhere.txt" in missing.err


def test_figures_that_flatter_or_mean_little_say_so(chainrule: Chainrule, book: Path, tmp_path: Path) -> None:
    test = tmp_path / "test.txt"
    test.write_text("she was never late\n" * 3)
    done = chainrule("fit", book, "--test", test, "--codec", "words", "--order", "2", "-o", tmp_path / "lm")
    unspelled = "test: bits per byte leaves out the spelling of 3 unknown symbols (20.00%)"
    assert unspelled in done.out and "test: only 15 symbols were evaluated" in done.out
    assert unspelled in chainrule("show", tmp_path / "lm").out
    scored = chainrule("score", tmp_path / "lm", "--file", test).out
    assert "the spelling of 3 unknown symbols" in scored and "only 15 symbols" in scored
    known = chainrule("score", tmp_path / "lm", "she was late").out
    assert "spelling" not in known and "only" not in known


def test_bits_per_byte_of_numbers_are_of_bins(chainrule: Chainrule, tmp_path: Path) -> None:
    data = tmp_path / "numbers.csv"
    data.write_text("value\n" + "\n".join(str(n % 50 / 7) for n in range(400)))
    words = ["--column", "value", "--codec", "numbers", "--order", "2"]
    assert "bits per byte of the bins" in chainrule("fit", data, *words, "-o", tmp_path / "lm").out


def test_the_usage_line_is_plain(chainrule: Chainrule) -> None:
    text = chainrule("fit", "--help").out
    assert "Usage: chainrule fit [OPTIONS] [TRAIN]...\n" in text
    assert "chainrule fit --model lstm --help" in " ".join(text.split())


def test_the_command_is_installed() -> None:
    command = Path(sys.executable).parent / "chainrule"
    assert subprocess.run([command, "--version"], capture_output=True, text=True).stdout.startswith(
        "chainrule "
    )


@pytest.mark.parametrize("words", [["fit", ""], ["check", ""], ["fit", "{book}", "--valid", ""]])
def test_an_empty_name_is_not_this_folder(
    chainrule: Chainrule, book: Path, monkeypatch: pytest.MonkeyPatch, words: list[str]
) -> None:
    monkeypatch.chdir(book.parent)
    out = ["-o", "lm"] if words[0] == "fit" else []
    done = chainrule(*(word.format(book=book) for word in words), *out)
    assert done.code == 2 and "is empty" in done.err


def test_two_dashes_end_the_options(
    chainrule: Chainrule, book: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    book.rename(book.with_name("--order"))
    monkeypatch.chdir(book.parent)
    done = chainrule("fit", "-o", "lm", "--order", "2", "--codec", "words", "--", "--order")
    assert done.code == 0 and load("lm").config["model"]["order"] == 2


@pytest.mark.parametrize("line", ["model = 5", "valid = 5", 'codec = ["a"]', "stream = 3", "column = 1.5"])
def test_a_setting_of_another_kind_is_wrong_usage(
    chainrule: Chainrule, book: Path, tmp_path: Path, line: str
) -> None:
    (tmp_path / "settings.toml").write_text(line)
    done = chainrule("fit", book, "-o", tmp_path / "lm", "--config", tmp_path / "settings.toml")
    assert done.code == 2 and line.split()[0] in done.err and "settings.toml" in done.err


def test_a_file_whose_name_is_no_unicode_is_fitted(chainrule: Chainrule, book: Path, tmp_path: Path) -> None:
    odd = Path(os.fsdecode(os.fsencode(tmp_path) + b"/caf\xe9.txt"))
    try:
        book.rename(odd)
    except OSError:
        pytest.skip("this disk knows Unicode names only")
    done = chainrule("fit", odd, "-o", tmp_path / "lm", "--codec", "words", "--order", "2", "--json")
    assert done.code == 0, done.err
    assert chainrule("show", tmp_path / "lm", "--json").code == chainrule("show", tmp_path / "lm").code == 0


def test_a_counting_model_is_refitted_and_says_so(chainrule: Chainrule, book: Path, tmp_path: Path) -> None:
    words = ["fit", book, "--codec", "words", "--order", "2"]
    done = chainrule(*words, "-o", tmp_path / "all")
    assert "symbols)" in done.err and "the figures are those of its twin" in done.err
    assert load(tmp_path / "all").card["refit"]["on"] == ["train", "valid", "test"]
    plain = chainrule(*words, "--no-refit", "-o", tmp_path / "part")
    assert "twin" not in plain.err and "refit" not in load(tmp_path / "part").card


ADAPTING = ["--epochs", "1", "--batch-size", "8"]


@pytest.fixture
def new(tmp_path: Path) -> Path:
    """Text to fine-tune on."""
    path = tmp_path / "new.txt"
    path.write_text("\n".join(f"what is new {number % 5}" for number in range(120)))
    return path


@pytest.fixture
def lstm(chainrule: Chainrule, book: Path, tmp_path: Path) -> Path:
    """A model of the book that learnt by gradient."""
    words = ["--codec", "words", "--model", "lstm", "--width", "8", *ADAPTING]
    assert chainrule("fit", book, *words, "-o", tmp_path / "lstm", "-q").code == 0
    return tmp_path / "lstm"


def test_a_trained_model_is_fine_tuned_on_new_data(
    chainrule: Chainrule, lstm: Path, book: Path, new: Path, tmp_path: Path
) -> None:
    words = ["fit", new, "--from", lstm, "--extend-vocab", "--unfreeze", "1", *ADAPTING]
    done = chainrule(*words, "-o", tmp_path / "adapted")
    assert done.code == 0, done.err
    for row in ("old text, before", "old text, after", "new text, before", "new text, after"):
        assert row in done.out
    assert f"fine-tuned from {lstm}" in done.err and "1 symbols were added" in done.err
    found = chainrule(*words, "--old", book, "-o", tmp_path / "again", "--json").json
    assert found["adapted"]["from"] == str(lstm) and found["family"] == "lstm"
    assert found["adapted"]["figures"]["old text"].keys() == {"before", "after"}


def test_a_fine_tuned_ngram_is_a_mix(chainrule: Chainrule, book: Path, new: Path, tmp_path: Path) -> None:
    assert chainrule("fit", book, "--codec", "words", "--order", "2", "-o", tmp_path / "lm", "-q").code == 0
    done = chainrule("fit", new, "--from", tmp_path / "lm", "-o", tmp_path / "both")
    assert done.code == 0 and load(tmp_path / "both").body.family == "mix"
    assert "--old" in done.err and "interpolated" in done.err
    given = chainrule("fit", new, "--from", tmp_path / "lm", "--old", book, "-o", tmp_path / "more")
    assert "old text, after" in given.out


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (["--from", "{lstm}", "--width", "16"], 2, "--width 16 contradicts"),
        (["--from", "{lstm}", "--model", "gru"], 2, "--model gru contradicts"),
        (["--from", "{lstm}", "--codec", "bytes"], 2, "--codec bytes contradicts"),
        (["--from", "{lstm}", "--order", "3"], 2, "--order"),
        (["--from", "lstm"], 1, "lstm is a family of models"),
        (["--from", "nowhere"], 1, "There is no saved model nowhere"),
        (["--extend-vocab"], 2, "add --from"),
        (["--old", "{book}"], 2, "add --from"),
    ],
)
def test_what_cannot_be_fine_tuned_is_refused(
    chainrule: Chainrule, lstm: Path, book: Path, new: Path, words: list[str], code: int, message: str
) -> None:
    told = [word.format(lstm=lstm, book=book) for word in words]
    done = chainrule("fit", new, *told, "-o", new.parent / "no")
    assert done.code == code and message in done.err and not (new.parent / "no").exists()


def test_the_help_of_an_adaptation_is_that_of_its_family(chainrule: Chainrule, lstm: Path) -> None:
    text = chainrule("fit", "--from", lstm, "--help").out
    assert "Model lstm:" in text and "--unfreeze" in text and "--extend-vocab" in text
