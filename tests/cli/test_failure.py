from __future__ import annotations

import json
from pathlib import Path

import pytest

from chainrule.cli import main
from chainrule.cli.output import Output, number, percent, seconds, size, table
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
    def broken(words: list[str]) -> int:
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
    output = Output(quiet=True)
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
