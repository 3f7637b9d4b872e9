"""What a comparison keeps of its data."""

from __future__ import annotations

import os
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from chainrule.choose.compare import _check_place, _prepared
from chainrule.choose.plan import RacePlan, opened
from chainrule.data.roles import Role
from chainrule.errors import BundleError, ConfigError

ROWS = [f'"Well, film {number} is ok.",{number % 40 / 8}' for number in range(400)]


def plan(folder: Path, **changed: Any) -> RacePlan:
    path = folder / "a.csv"
    path.write_text("\n".join(["text,stars", *ROWS]) + "\n")
    given = {"data": [str(path)], "valid": None, "test": None, "options": {}, "codecs": []}
    return RacePlan(**{**given, "budget": 10.0, "models": [], **changed})


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CHAINRULE_CACHE", str(tmp_path / "cache"))


def test_data_with_several_roles_are_opened_again_as_they_were(tmp_path: Path) -> None:
    roles = [asdict(Role("text", column="text")), asdict(Role("label", column="stars"))]
    begun = plan(tmp_path, roles=roles).begin(tmp_path / "out")
    again = opened(tmp_path / "out")[1]
    assert list(begun) == list(again) == ["words"]
    first, second = begun["words"], again["words"]
    assert {role: codec.name for role, codec in second.codecs.items()} == {
        "text": "words",
        "label": "numbers",
    }
    for role in ("text", "label"):
        assert first.codecs[role].fingerprint() == second.codecs[role].fingerprint()
        np.testing.assert_array_equal(first.train[role].ids, second.train[role].ids)


def test_options_of_one_codec_do_not_disturb_another(tmp_path: Path) -> None:
    options = {"column": "text", "split": "simple", "min_count": 2}
    begun = plan(tmp_path, codecs=["characters", "words"], options=options).begin(tmp_path / "out")
    assert begun["words"].codec.config.values()["split"] == "simple"
    assert begun["characters"].codec.config.values()["min_count"] == 2
    with pytest.raises(ConfigError, match=r"no option 'kind' .*"):
        plan(tmp_path, codecs=["characters", "words"], options={"kind": "bpe"}).begin(tmp_path / "other")


def test_only_codecs_of_text_are_compared_with_each_other(tmp_path: Path) -> None:
    options = {"column": "text"}
    with pytest.raises(ConfigError, match="bytes, characters, huggingface, subwords, words"):
        plan(tmp_path, codecs=["words", "events"], options=options).begin(tmp_path / "out")


def test_a_plan_is_not_continued_with_other_data(tmp_path: Path) -> None:
    data = tmp_path / "text.txt"
    data.write_text("".join(f"she was late {n % 7}\n" for n in range(200)))
    plan = RacePlan([str(data)], None, None, {}, ["words"], 10.0, [])
    plan.begin(tmp_path / "out")
    assert opened(tmp_path / "out")[0] == plan
    data.write_text("".join(f"she was late {n % 6}\n" for n in range(200)))
    with pytest.raises(BundleError, match="data have changed"):
        opened(tmp_path / "out")


def test_a_plan_interrupted_before_its_codecs_were_kept_is_begun_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wanted, out = plan(tmp_path, options={"column": "text"}), tmp_path / "out"
    with monkeypatch.context() as patched, pytest.raises(OSError):
        patched.setattr("chainrule.choose.plan._save", lambda *words: os.stat("/nowhere"))
        wanted.begin(out)
    _check_place(out, resume=True, force=False)
    assert list(_prepared(wanted, out, resume=True)) == list(opened(out)[1]) == ["words"]
