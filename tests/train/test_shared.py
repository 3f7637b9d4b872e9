"""Codecs that are shared, and one model for each value of a column."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

import chainrule as cr
from chainrule.cli import main
from chainrule.errors import ChainruleError, ConfigError, DataError
from chainrule.train.each import fit_each

GOOD = [f"a good film number {n % 7} that i liked" for n in range(80)]
BAD = [f"a bad film number {n % 5} that was long" for n in range(80)]
TABLE = {"text": [*GOOD, *BAD], "label": ["pos"] * 80 + ["neg / sad"] * 80, "stars": [5] * 80 + [1] * 80}


def test_a_shared_codec_makes_models_that_can_be_mixed(tmp_path: Path) -> None:
    first = cr.fit(GOOD, order=2, codec="words", min_count=2)
    second = cr.fit(BAD, order=2, codec_from=first)
    assert second.codec.fingerprint() == first.codec.fingerprint()
    assert second.card["notes"][0] == "codec: words (that of the given model)"
    first.save(tmp_path / "first")
    third = cr.fit(BAD, order=3, codec_from=tmp_path / "first")
    assert third.codec.fingerprint() == first.codec.fingerprint()


def test_what_contradicts_a_shared_codec_is_refused() -> None:
    first = cr.fit(GOOD, order=2, codec="words")
    with pytest.raises(ConfigError, match="--codec-from too"):
        cr.fit(BAD, codec="characters", codec_from=first)
    with pytest.raises(ConfigError, match="--from"):
        cr.fit(BAD, init_from=first, codec_from=first)
    with pytest.raises(ConfigError, match="--min-count is a setting of the codec"):
        cr.fit(BAD, min_count=2, codec_from=first)


def test_each_value_has_a_model_of_its_rows_and_all_have_one_codec() -> None:
    found = dict(fit_each(TABLE, "label", column="text", order=2, codec="words", min_count=1))
    assert list(found) == ["pos", "neg / sad"]
    pos, neg = found.values()
    assert pos.codec.fingerprint() == neg.codec.fingerprint()
    for text, liked in ((GOOD[0], True), (BAD[0], False)):
        assert (pos.score(text).log2prob > neg.score(text).log2prob) is liked
    assert pos.card["data"]["symbols"] < 80 * 9  # its own rows alone


def test_conditions_hold_for_each_too() -> None:
    found = dict(fit_each(TABLE, "label", column="text", order=2, where="stars > 3"))
    assert list(found) == ["pos"]


@pytest.mark.parametrize(
    ("each", "options", "told"),
    [("lable", {"column": "text"}, "no column 'lable'"), ("label", {}, "column=")],
)
def test_what_rows_cannot_be_told_apart_by_is_refused(each: str, options: dict[str, str], told: str) -> None:
    with pytest.raises(ChainruleError, match=told):
        list(fit_each(TABLE, each, **options))
    with pytest.raises(DataError, match="no table"):
        list(fit_each(GOOD, "label"))


def test_the_command_makes_a_folder_for_each_value(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = "".join(f"{text},{label}\n" for text, label in zip(TABLE["text"], TABLE["label"], strict=True))
    (tmp_path / "rows.csv").write_text(f"text,label\n{rows}")
    words = [
        "fit",
        str(tmp_path / "rows.csv"),
        "--column",
        "text",
        "--order",
        "2",
        "-o",
        str(tmp_path / "all"),
    ]
    assert main([*words, "--each", "label", "--json", "-q"]) == 0
    told = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [one["value"] for one in told] == ["pos", "neg / sad"]
    assert sorted(path.name for path in (tmp_path / "all").iterdir()) == ["neg_sad", "pos"]
    assert cr.load(tmp_path / "all" / "pos").generate("a", 3, seed=1)
    assert main([*words, "--each", "label"]) == 1 and "exists already" in capsys.readouterr().err
    shutil.rmtree(tmp_path / "all" / "pos")  # as where it was stopped
    assert main([*words, "--each", "label", "--force"]) == 0 and cr.load(tmp_path / "all" / "pos")
    (tmp_path / "all" / "own.txt").write_text("of the user\n")
    assert main([*words, "--each", "label", "--force"]) == 1 and "own.txt" in capsys.readouterr().err
    other = [*words[:-1], str(tmp_path / "two"), "--codec-from", str(tmp_path / "all" / "pos")]
    assert main(other) == 0
    assert (
        cr.load(tmp_path / "two").codec.fingerprint() == cr.load(tmp_path / "all" / "pos").codec.fingerprint()
    )
