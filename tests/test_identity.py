"""Results keep their identity: one for each row that was given, in order, with its number and the user's id."""

from __future__ import annotations

import io
import json
import math
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from chainrule.bundle import Bundle, load
from chainrule.cli import main
from chainrule.data.arriving import arriving
from chainrule.errors import ChainruleError, ConfigError, DataError
from chainrule.use.nbest import NbestConfig, rank_file
from fitted import LINES, fitted

BLANK = ["what is", "", "  ", "the weather", "\t", "what is"]


@pytest.fixture(scope="module")
def words() -> Bundle:
    return fitted()


@pytest.fixture(scope="module")
def saved(words: Bundle, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("saved") / "lm"
    words.save(folder)
    return folder


def test_every_row_has_a_result_and_blank_ones_say_so(words: Bundle, tmp_path: Path) -> None:
    file = tmp_path / "rows.txt"
    file.write_text("\n".join(BLANK) + "\n")
    for source in (BLANK, file, {"text": BLANK}):
        found = list(words.score_each(source))
        assert [one.row for one in found] == [1, 2, 3, 4, 5, 6]
        assert [one.blank for one in found] == [not one.strip() for one in BLANK]
        assert found[0].log2prob == found[5].log2prob == pytest.approx(words.score("what is").log2prob)
    assert found[1].to_dict() == {"row": 2, "text": "", "blank": True}


def test_rows_of_a_table_keep_the_ids_of_the_user(words: Bundle, tmp_path: Path) -> None:
    table = tmp_path / "rows.csv"
    table.write_text("key,text\nu1,what is\nu2,\nu3,the weather\n")
    found = list(words.score_each(table, column="text", id="key"))
    assert [(one.row, one.id, one.blank) for one in found] == [
        (1, "u1", False),
        (2, "u2", True),
        (3, "u3", False),
    ]
    assert found[0].to_dict()["id"] == "u1"
    with pytest.raises(ConfigError, match="column of a table"):
        list(words.score_each(LINES, id="key"))
    with pytest.raises(DataError, match="no column 'kye'"):
        list(words.score_each(table, column="text", id="kye"))


@given(st.lists(st.sampled_from(["what is", "", " ", "the weather"]), min_size=1, max_size=9))
def test_ranking_keeps_every_candidate_an_empty_one_too(candidates: list[str]) -> None:
    found = fitted().rank(candidates)
    assert sorted(one.row for one in found.ranked) == list(range(1, len(candidates) + 1))
    assert [candidates[one.row - 1] for one in found.ranked] == [one.text for one in found.ranked]
    assert [one.blank for one in found.ranked] == [not one.text.strip() for one in found.ranked]


NBEST = """utterance,hypothesis,text,acoustic
a,a1,what is the weather,-10
a,a2,what is the whether,-9
b,b1,the time is,-5
a,a3,,-1
b,b2,what is the time,-5
"""


@pytest.fixture
def nbest(tmp_path: Path) -> Path:
    path = tmp_path / "nbest.csv"
    path.write_text(NBEST)
    return path


def test_lists_of_a_file_are_ranked_group_by_group(words: Bundle, nbest: Path) -> None:
    config = NbestConfig(group="utterance", id="hypothesis", weight=("acoustic=0.5",), log_base="10")
    first, second = rank_file(words, nbest, config, load, column="text")
    assert (first.group, second.group) == ("a", "b")
    assert [one.scored.id for one in first.ranked if one.scored.blank] == ["a3"]
    for one in (*first.ranked, *second.ranked):
        own = one.scored.log2prob * math.log10(2)
        assert one.total == pytest.approx(own + 0.5 * one.scores["acoustic"])
    totals = [one.total for one in second.ranked]
    assert totals == sorted(totals, reverse=True)
    assert list(first.to_dict()) == ["group", "ranked"]


def test_scores_of_others_can_decide(words: Bundle, nbest: Path) -> None:
    loud = NbestConfig(group="utterance", id="hypothesis", weight=("acoustic=1000",))
    first, _ = rank_file(words, nbest, loud, load, column="text")
    assert first.ranked[0].scored.id == "a3"
    quiet = NbestConfig(group="utterance", id="hypothesis", weight=("acoustic=0",))
    first, _ = rank_file(words, nbest, quiet, load, column="text")
    places = [one.scored.id for one in first.ranked]
    assert places.index("a1") < places.index("a2")


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"weight": ("acoustic",)}, "acoustic=0.1"),
        ({"weight": ("acoustic=x",)}, "acoustic=0.1"),
        ({"weight": ("text=1",)}, "a number was expected in column 'text'"),
        ({"group": "speaker"}, "no column 'speaker'"),
    ],
)
def test_what_is_wrong_with_a_list_is_told(words: Bundle, nbest: Path, options: Any, told: str) -> None:
    with pytest.raises(ChainruleError, match=told):
        rank_file(words, nbest, NbestConfig(**options), load, column="text")


def test_the_distribution_over_the_next_symbol_is_whole(words: Bundle) -> None:
    found = words.next("what is", k=3)
    assert found.probabilities.shape == (words.codec.size,) and found.probabilities.sum() == pytest.approx(
        1.0
    )
    assert [one.probability for one in found] == sorted(found.probabilities, reverse=True)[:3]
    best = found.symbols[0]
    assert words.codec.tokens(np.array([best.id])) == [best.token]
    offered = words.complete("what is", k=1, unknown=True).next[0]
    assert offered.probability == pytest.approx(best.probability)
    for wrong in (0, -1, 2.5, True):
        with pytest.raises(ConfigError, match="1 or more"):
            words.next("what", k=wrong)  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match="100 of each"):
        words.complete("what", k=100_000)


# Streams


@given(st.lists(st.text(st.characters(exclude_characters="\n\r", exclude_categories=["Cs"])), max_size=9))
def test_lines_arrive_as_they_were_sent(lines: list[str]) -> None:
    sent = "".join(f"{line}\n" for line in lines).encode()
    found = [line for some in arriving(io.BytesIO(sent), most=3) for line in some]
    expected = [lines[0].removeprefix("\ufeff"), *lines[1:]] if lines else []
    assert found == expected


def test_bytes_that_are_no_text_are_told_with_their_line() -> None:
    with pytest.raises(DataError, match="line 2: not UTF-8"):
        list(arriving(io.BytesIO(b"good\n\xff\n")))


@pytest.mark.parametrize(
    ("words_", "key"),
    [
        (["score", "--each", "--json"], "log2prob"),
        (["generate", "-", "--length", "2", "--seed", "1", "--json"], "continuation"),
        (["complete", "-", "--json"], "next"),
    ],
    ids=lambda one: one[0] if isinstance(one, list) else one,
)
def test_streams_answer_line_by_line(saved: Path, words_: list[str], key: str) -> None:
    verb, *rest = words_
    command = [sys.executable, "-m", "chainrule.cli", verb, str(saved), *rest, "-q"]
    pipes: Any = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with subprocess.Popen(command, **pipes) as process:
        assert process.stdin is not None and process.stdout is not None
        for line in ("what is", "the weather"):  # the answer comes before the next line is sent
            process.stdin.write(f"{line}\n")
            process.stdin.flush()
            assert key in json.loads(process.stdout.readline())
        process.stdin.close()
        assert process.wait(60) == 0


def test_the_command_gives_a_line_for_every_line(
    saved: Path, nbest: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "rows.txt"
    file.write_text("\n".join(BLANK) + "\n")
    assert main(["score", str(saved), "--file", str(file), "--each", "-q"]) == 0
    assert [line.count("\t") for line in capsys.readouterr().out.splitlines()] == [2] * 6
    assert main(["score", str(saved), "--file", str(file), "--each", "--json", "-q"]) == 0
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [row["row"] for row in rows] == [1, 2, 3, 4, 5, 6] and rows[1]["blank"]
    flags = ["--group", "utterance", "--id", "hypothesis", "--weight", "acoustic=0.5", "--column", "text"]
    assert main(["rank", str(saved), "--file", str(nbest), *flags, "--json"]) == 0
    lists = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [one["group"] for one in lists] == ["a", "b"] and len(lists[0]["ranked"]) == 3
    assert main(["rank", str(saved), "--file", str(nbest), *flags]) == 0
    told = capsys.readouterr().out
    assert "(blank)" in told and "id  text" in told
    assert told.splitlines()[1].split() == ["id", "text", "symbols", "lm", "acoustic", "total"]
    for one in lists[0]["ranked"]:
        assert one["lm"] == pytest.approx(one["log2prob"])
        assert one["weighted"]["acoustic"] == pytest.approx(0.5 * one["scores"]["acoustic"])
        assert one["total"] == pytest.approx(one["lm"] + one["weighted"]["acoustic"])
    assert main(["rank", str(saved), str(nbest)]) == 0 and "use --file" in capsys.readouterr().err
    broken = tmp_path / "broken.csv"
    broken.write_text("text,acoustic\na,1\nb,none\n")
    assert main(["rank", str(saved), "--file", str(broken), "--weight", "acoustic=1"]) == 1
    assert "broken.csv, row 2: a number was expected" in capsys.readouterr().err
    assert main(["rank", str(saved), "a", "--group", "x"]) == 2 and "--file" in capsys.readouterr().err
    assert main(["score", str(saved), "a", "--id", "x"]) == 2 and "--each" in capsys.readouterr().err


def test_a_blank_sequence_of_events_has_a_result_too() -> None:
    found = list(fitted("events", lines=["log in", "look"] * 9).score_each(["log in", "", "look"]))
    assert [(one.row, one.text, one.blank) for one in found] == [
        (1, "log in", False),
        (2, "", True),
        (3, "look", False),
    ]
