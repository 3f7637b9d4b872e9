from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from chainrule import __version__
from chainrule.cli import main
from chainrule.cli.output import Printer, number, percent, seconds, size, table
from chainrule.config import to_json
from chainrule.errors import DataError

from .conftest import Chainrule


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (["score", "nowhere", "text"], 1, "no saved model nowhere"),
        (["generate"], 2, "MODEL"),
        (["generate", "nowhere", "--length", "many"], 2, "--length"),
        (["generate", "nowhere", "--lenght", "3"], 2, "--length"),
        (["scoer", "x"], 2, "score"),
        (["models", "wrds"], 2, "Did you mean 'words'"),
        (["export", "arpa", "nowhere", "file.arpa"], 1, "no saved model"),
        (["import", "arpa", "nowhere.arpa", "-o", "out"], 1, "nowhere.arpa"),
    ],
)
def test_errors_go_to_stderr_with_their_exit_code(
    chainrule: Chainrule,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    words: list[str],
    code: int,
    message: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    done = chainrule(*words)
    assert (done.code, done.out) == (code, "")
    assert message in done.err and "Traceback" not in done.err
    again = chainrule(*words, "--json")
    assert again.code == code and message in again.json["error"]
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("error", "code", "message"),
    [
        (KeyboardInterrupt(), 130, "nothing was written"),
        (DataError("The file is odd."), 1, "The file is odd."),
        (MemoryError(), 1, "not enough memory"),
        (FileNotFoundError(2, "No such file", "x.txt"), 1, "x.txt: No such file"),
        (ZeroDivisionError("oh"), 1, "unexpected ZeroDivisionError: oh"),
        (SystemExit(3), 3, ""),
    ],
)
def test_whatever_is_raised_has_a_message_and_a_code(
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    error: BaseException,
    code: int,
    message: str,
) -> None:
    def broken(words: list[str], began: float) -> int:
        raise error

    monkeypatch.setattr("chainrule.cli.app.run", broken)
    assert main(["score"]) == code
    out, err = capsys.readouterr()
    assert message in err and "Traceback" not in err and out == ""
    main(["score", "--verbose"])
    assert ("Traceback" in capsys.readouterr().err) == (code != 3)


def test_help_and_version_are_no_errors(chainrule: Chainrule) -> None:
    assert chainrule("--help").code == 0
    assert chainrule("--version").out.startswith("chainrule ")


def test_a_sentence_ends_before_the_advice(chainrule: Chainrule) -> None:
    assert "'MODEL'. Try: chainrule generate --help" in chainrule("generate").err


def test_nothing_typed_shows_the_verbs_and_no_more(chainrule: Chainrule) -> None:
    done = chainrule()
    assert done.code == 2 and done.err.startswith("Usage:") and "Try" not in done.err


def test_every_verb_speaks_json_and_knows_quiet_and_verbose(chainrule: Chainrule) -> None:
    verbs = "fit score generate complete rank check models show demo".split()
    for words in [*([verb] for verb in verbs), ["import", "arpa"], ["export", "arpa"]]:
        text = chainrule(*words, "--help").out
        assert all(flag in text for flag in ("--json", "--quiet", "--verbose")), words


def test_infinite_numbers_are_valid_json() -> None:
    text = to_json({"log2prob": float("-inf"), "perplexity": float("inf"), "x": [float("nan"), "a"]})

    def refuse(constant: str) -> float:
        raise AssertionError(constant)

    found = json.loads(text, parse_constant=refuse)
    assert found == {"log2prob": float("-inf"), "perplexity": float("inf"), "x": [None, "a"]}


def test_quiet_says_results_only(capsys: pytest.CaptureFixture[str]) -> None:
    output = Printer(quiet=True)
    output.note("by the way")
    output.detail("more")
    output.result({"a": 1}, "one")
    assert capsys.readouterr() == ("one\n", "")


def test_figures_are_easy_to_read() -> None:
    assert [number(n) for n in (141.186, 7, 1_234_567, 0.5, float("inf"))] == [
        *("141.19", "7", "1,234,567", "0.5", "infinite")
    ]
    assert [percent(n) for n in (0.4231, 1.0, 0.001234, 0.0000123, 1e-30, 0)] == [
        *("42.31%", "100.00%", "0.12%", "0.0012%", "1.0e-28%", "0%")
    ]
    assert [size(n) for n in (12, 1500, 2_500_000, 3e9)] == ["12 bytes", "1.5 kB", "2.5 MB", "3.0 GB"]
    assert [seconds(n) for n in (0.123, 12.3, 125)] == ["0.12 s", "12 s", "2:05 min"]
    assert table(["a", "b"], [["long", "1"], ["x", "22"]]) == "a      b\nlong   1\nx     22"


def test_strings_that_look_like_numbers_stay_strings() -> None:
    values = {
        "a": '\0infinite\0 Infinity "NaN" -Infinity \\\\',
        "Infinity": [float("inf"), "NaN"],
        "b": float("nan"),
    }
    assert json.loads(to_json(values)) == values | {"b": None}
    marks = ["\0infinite\0", "-\0infinite\0", 'say "\0infinite\0"', "Infinity"]
    assert json.loads(to_json(marks)) == marks


def test_json_can_always_be_written() -> None:
    name = b"caf\xe9 \xf0\x9f\x98\x80".decode(errors="surrogateescape")
    assert json.loads(to_json([name]).encode("utf-8")) == [name]
    assert json.loads(to_json([name], ascii=True).encode("ascii")) == [name]


def run(program: str, *words: str | Path, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", program, *map(str, words)],
        capture_output=True,
        encoding="utf-8",
        env=os.environ | environment,
    )


WHOLE = "import sys; from chainrule.cli import main; sys.exit(main())"


def test_output_that_cannot_show_a_sign_shows_its_number(lm: Path) -> None:
    done = run(WHOLE, "score", lm, "wär 😀", PYTHONIOENCODING="ascii")
    assert done.returncode == 0 and "'w\\xe4r' is unknown" in done.stderr
    found = run(WHOLE, "generate", lm, "wär 😀", "--json", PYTHONIOENCODING="ascii").stdout
    assert found.isascii() and json.loads(found)["prompt"] == "wär 😀"


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no device that is always full")
@pytest.mark.parametrize("more", [[], ["--json"]])
def test_a_full_disk_behind_standard_output_is_one_message(lm: Path, more: list[str]) -> None:
    with open("/dev/full", "w") as full:
        words = [sys.executable, "-c", WHOLE, "score", str(lm), "what", *more]
        done = subprocess.run(words, stdout=full, stderr=subprocess.PIPE, text=True)
    assert done.returncode == 1
    assert done.stderr.count("\n") == 1 and "No space left" in done.stderr


ENDED = """
import os, signal, sys
from chainrule import bundle
from chainrule.store import files
from chainrule import __version__
from chainrule.cli import main

def load(*_, **__):
    with files.new_folder(sys.argv[1]) as folder:
        (folder / "half").write_text("")
        os.kill(os.getpid(), getattr(signal, sys.argv[2]))

bundle.load = load
sys.exit(main(["show", "x"]))
"""


@pytest.mark.parametrize(("name", "code"), [("SIGTERM", 143), ("SIGHUP", 129)])
def test_a_program_that_is_ended_leaves_nothing_behind(tmp_path: Path, name: str, code: int) -> None:
    done = run(ENDED, tmp_path / "lm", name)
    assert done.returncode == code and f"ended by {name}" in done.stderr and "Traceback" not in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_a_signal_that_is_ignored_stays_ignored(tmp_path: Path) -> None:
    ignoring = "import signal; signal.signal(signal.SIGHUP, signal.SIG_IGN)"
    done = run(ignoring + ENDED, tmp_path / "lm", "SIGHUP")
    assert "SIGHUP" not in done.stderr and (tmp_path / "lm" / "half").exists()


def test_the_short_flag_shows_where_an_error_happened_too(
    chainrule: Chainrule, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "Traceback" in chainrule("show", "nowhere", "-v").err
    assert "Traceback" not in chainrule("show", "--", "-v").err


@pytest.mark.parametrize("words", [["score", "{lm}"], ["rank", "{lm}"], ["fit", "-", "-o", "out"]])
def test_closed_standard_input_is_explained(
    chainrule: Chainrule, lm: Path, monkeypatch: pytest.MonkeyPatch, words: list[str]
) -> None:
    monkeypatch.setattr(sys, "stdin", None)
    done = chainrule(*(word.format(lm=lm) for word in words))
    assert done.code == 1 and "Standard input is closed" in done.err


def test_the_package_can_be_run_as_a_module() -> None:
    done = subprocess.run([sys.executable, "-m", "chainrule", "--version"], capture_output=True, text=True)
    assert done.returncode == 0 and __version__ in done.stdout


@pytest.mark.parametrize("words", [["import", "arpa", "a\0b", "-o", "c"], ["export", "hf", "a\0b", "-"]])
def test_no_argument_holds_a_nul(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(words) == 2
    assert "holds a NUL" in capsys.readouterr().err
