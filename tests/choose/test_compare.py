"""The whole comparison, small: every model in a process of its own, judged on the same sequences."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import chainrule as cr
from chainrule.choose import race
from chainrule.choose.compare import Comparison
from chainrule.choose.ladder import ladders, title
from chainrule.choose.measure import cases, spelled, widths
from chainrule.choose.rounds import Schedule
from chainrule.choose.subsets import part
from chainrule.cli import main
from chainrule.data.corpus import Corpus
from chainrule.data.dataset import Prepared, prepare
from chainrule.data.examples import example
from chainrule.errors import BundleError, ConfigError, Stopped
from chainrule.symbols import BOS, EOS, UNK
from chainrule.train.checkpoint import load as load_checkpoint

FEW = ["unigram", "2-gram", "lstm", "mix"]


@pytest.fixture(scope="module")
def weather(tmp_path_factory: pytest.TempPathFactory) -> Path:
    name, content = example("weather")
    path = tmp_path_factory.mktemp("weather") / name
    path.write_text(content, encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def events() -> list[dict[str, Any]]:
    return []


@pytest.fixture(scope="module")
def compared(weather: Path, events: list[dict[str, Any]]) -> Comparison:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(race, "LEAST", -1e9)  # however slow the machine is
        patch.setattr(race, "COUNTED_CURVE", 1e9)
        patch.setattr(race, "ADAPTING", {"neural cache": 0.0, "dynamic evaluation": 0.0})
        return cr.compare(
            weather,
            column="state",
            out=weather.parent / "out",
            budget="14s",
            models=FEW,
            watch=lambda event: events.append(dict(event)),
        )


def test_all_models_are_judged_and_the_best_comes_first(compared: Comparison) -> None:
    rows = compared.results["models"]
    assert [row["name"] for row in rows if row["failed"]] == []
    adapting = {"lstm + neural cache + 2-gram", "lstm + dynamic evaluation + 2-gram"}
    assert {row["name"] for row in rows} == {"unigram", "2-gram", "lstm", "lstm + 2-gram"} | adapting
    losses = [row["loss"] for row in rows]
    named = {row["name"]: row for row in rows}
    assert losses == sorted(losses) and named["2-gram"]["bits"] < named["unigram"]["bits"]
    for row in rows:
        assert row["low"] <= row["bits"] <= row["high"]
        assert row["parameters"] > 0 and row["memory_bytes"] > 1e6 and row["score_per_second"] > 0
    assert rows[0]["behind"] is None and named["unigram"]["behind"]["real"]
    seconds = {row["name"]: row["seconds"] for row in rows}
    assert (
        seconds["lstm + 2-gram"] > seconds["lstm"] + seconds["2-gram"]
    )  # a mix takes the time of its parts, too


def test_it_keeps_to_its_budget(compared: Comparison) -> None:
    assert (
        compared.results["seconds"] < 6 * compared.results["budget"]
    )  # tests share the machine, and kernels may have to be compiled first


def test_models_can_be_used_afterwards_and_score_as_reported(compared: Comparison, weather: Path) -> None:
    bundle = compared.model("2-gram")
    row = next(row for row in compared.results["models"] if row["name"] == "2-gram")
    assert bundle.generate("", 5, seed=1)
    assert row["perplexity"] == pytest.approx(2.0 ** row["bits"], rel=1e-6)  # events: bits per symbol
    assert compared.model().codec.fingerprint() == bundle.codec.fingerprint()


def test_a_winner_that_adapts_itself_is_told_apart_and_handed_over_as_judged(compared: Comparison) -> None:
    rows = {row["name"]: row for row in compared.results["models"]}
    for way, name in (("neural-cache", "neural cache"), ("dynamic", "dynamic evaluation")):
        row = rows[f"lstm + {name} + 2-gram"]
        assert any(way in note and "in its order" in note for note in row["notes"])
        assert compared.model(row["name"]).model.models[0].family == way  # type: ignore[attr-defined]
        assert row["loss"] < rows["2-gram"]["loss"] + 0.01


def test_results_and_report_are_on_disk(compared: Comparison) -> None:
    told = json.loads((compared.out / "results.json").read_text())
    assert told["advice"]["simplest"] == compared.recommended
    text = compared.report.read_text()
    assert "lstm + 2-gram" in text and len(text) < 3_000_000


def test_learning_curves_end_at_the_full_data(compared: Comparison) -> None:
    curves = {curve["name"]: curve for curve in compared.results["curves"]}
    assert set(curves) <= {"2-gram", "lstm"} and "2-gram" in curves
    assert any("no time for a learning curve of lstm" in note for note in compared.results["notes"])
    for name, curve in curves.items():
        row = next(row for row in compared.results["models"] if row["name"] == name)
        assert [symbols for symbols, _ in curve["points"]] == sorted(
            symbols for symbols, _ in curve["points"]
        )
        assert curve["points"][-1] == [compared.results["data"]["parts"]["train"]["symbols"], row["bits"]]


def test_everybody_is_told_what_happens(compared: Comparison, events: list[dict[str, Any]]) -> None:
    assert events[0]["rungs"] == ["unigram", "2-gram", "lstm"]
    assert set(events[0]["forecasts"]) == {"unigram", "2-gram", "lstm"}
    assert {event["name"] for event in events if event.get("done")} >= {"unigram", "2-gram", "lstm"}


def test_what_was_found_is_not_done_again(compared: Comparison, weather: Path) -> None:
    again: list[str] = []
    options: dict[str, Any] = {"column": "state", "out": compared.out, "budget": "14s", "models": FEW}
    with pytest.raises(BundleError, match="--resume"):
        cr.compare(weather, **options)
    found = cr.compare(
        weather, resume=True, watch=lambda event: again.append(str(event.get("began"))), **options
    )
    assert "True" not in again
    assert found.results["seconds"] >= 0.8 * compared.results["seconds"]  # the clock continues where it stood
    assert [row["bits"] for row in found.results["models"]] == [
        row["bits"] for row in compared.results["models"]
    ]
    with pytest.raises(BundleError, match="seed"):
        cr.compare(weather, resume=True, seed=2, **options)


def test_a_family_that_fails_is_reported_and_the_rest_continues(
    weather: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(codecs: Any, wanted: Any, task: Any, pairs: bool) -> Any:
        return [
            replace(rung, options={"order": 99}) if rung.name == "2-gram" else rung
            for rung in ladders(codecs, wanted)
        ]

    monkeypatch.setattr("chainrule.choose.plan.ladders", broken)
    found = cr.compare(
        weather, column="state", out=tmp_path / "out", budget="10s", models=["unigram", "2-gram"]
    )
    failed = {row["name"]: row["failed"] for row in found.results["models"] if row["failed"]}
    assert list(failed) == ["2-gram"] and "order" in failed["2-gram"]
    assert found.recommended == "unigram" and "2-gram" in found.report.read_text()


def test_models_without_time_are_left_out(weather: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    found = cr.compare(weather, column="state", out=out, budget="10s", models=["unigram", "window", "gpt"])
    left = {row["name"]: row["failed"] for row in found.results["models"] if row["failed"]}
    assert left["window"].startswith("not started") and "larger budget" in left["window"]
    assert found.recommended is not None and found.results["seconds"] < 30


def test_ctrl_c_stops_and_says_how_to_resume(
    weather: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(event: Any) -> None:
        if event.get("done"):
            raise KeyboardInterrupt

    with pytest.raises(Stopped, match="--resume"):
        cr.compare(
            weather, column="state", out=tmp_path / "out", budget="10s", models=["unigram"], watch=interrupted
        )
    assert (tmp_path / "out" / "plan.json").exists()


def test_wrong_questions_are_refused(weather: Path, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="lstm"):
        cr.compare(weather, column="state", out=tmp_path / "a", models=["lstn"])
    with pytest.raises(ConfigError, match="models to mix"):
        cr.compare(weather, column="state", out=tmp_path / "c", models=["mix"])
    with pytest.raises(ConfigError, match="at least 10s"):
        cr.compare(weather, column="state", out=tmp_path / "b", budget="3s")


def test_fifty_lines_of_text_give_an_answer_that_says_what_it_cannot(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    texts = [
        f"the {one} cat saw {two} dogs" for one in ("old", "red", "big", "wet", "shy") for two in range(10)
    ]
    path = tmp_path / "tiny.txt"
    path.write_text("\n".join(texts), encoding="utf-8")
    words = [
        "compare",
        str(path),
        "--budget",
        "10s",
        "--models",
        "unigram,3-gram",
        "-o",
        str(tmp_path / "out"),
    ]
    assert main(words) == 0
    printed = capsys.readouterr()
    assert "differences smaller than the intervals" in printed.out and "Report:" in printed.out
    assert "unigram: started" in printed.err
    shutil.rmtree(tmp_path / "out")


def test_the_winner_of_a_round_continues_from_its_checkpoint_and_the_other_is_dropped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    both = Schedule(("window", "gru"), ((2, 8.0),), 30.0)
    monkeypatch.setattr(race, "schedule", lambda names, seconds, starting=0.0: both)
    monkeypatch.setattr(race, "LEAST", -1e9)  # however slow the machine is
    path, out = tmp_path / "text.txt", tmp_path / "out"
    path.write_text(example("text")[1], encoding="utf-8")
    words = ["compare", str(path), "--codec", "characters", "--budget", "36s", "-o", str(out)]
    assert main([*words, "--models", "3-gram,window,gru,mix"]) == 0
    results = json.loads((out / "results.json").read_text())
    first, second, last = results["rounds"]
    assert (first["round"], second["round"], last["round"]) == (1, 1, 2)
    lost, kept = sorted((first, second), key=lambda one: one["loss"], reverse=True)
    assert (lost["decision"], kept["decision"], last["decision"]) == ("dropped", "continues", "won")
    assert last["name"] == kept["name"] and last["trained"] > kept["trained"]
    rows = {row["name"]: row for row in results["models"]}
    assert rows[lost["name"]]["dropped"] == lost["why"] and not rows[last["name"]]["dropped"]
    assert f"{last['name']} + 3-gram" in rows
    steps = [
        json.loads(line)["step"]
        for line in (out / "runs" / last["name"] / "metrics.jsonl").read_text().splitlines()
    ]
    assert steps == sorted(set(steps)) and not list(out.glob("runs/*/checkpoint.safetensors"))
    printed = capsys.readouterr()
    assert f"Round 1, {lost['name']}: dropped after" in printed.out and "xz" in printed.out
    assert f"{lost['name']}: dropped after" in printed.err


KILLED = """
import sys, chainrule as cr
out, models = sys.argv[1], sys.argv[2].split(",")
def watch(event):
    print(event.get("name", ""), event.get("bits", ""), flush=True)
cr.compare(sys.argv[3], out=out, budget="40s", models=models, resume=True, watch=watch)
"""


def test_a_comparison_that_was_killed_resumes_the_model_that_was_training(tmp_path: Path) -> None:
    path, out = tmp_path / "text.txt", tmp_path / "out"
    path.write_text(example("text")[1], encoding="utf-8")
    words = [sys.executable, "-c", KILLED, str(out), "2-gram,gru", str(path)]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        for line in process.stdout:
            if line.startswith("gru") and (out / "runs" / "gru" / "checkpoint.safetensors").exists():
                process.kill()
                break
    assert not (out / "results.json").exists()
    before = load_checkpoint(out / "runs" / "gru")
    assert before is not None
    found = cr.compare(path, out=out, budget="40s", models=["2-gram", "gru"], resume=True)
    rows = {row["name"]: row for row in found.results["models"]}
    assert rows["gru"]["failed"] is None and rows["gru"]["bits"] < 8
    assert found.model("gru").card["training"]["steps"] > before.facts["step"]
    lines = (out / "runs" / "gru" / "metrics.jsonl").read_text().splitlines()
    assert all(json.loads(line)["step"] > 0 for line in lines)


TEXTS = [
    f"{one} {two} went home to sleep" for one in ("ann", "bob", "eve") for two in "abcdefghijklmnopqrstuvw"
]


def test_several_codecs_are_told_in_bits_per_byte(tmp_path: Path) -> None:
    found = cr.compare(
        TEXTS, out=tmp_path / "out", budget="12s", models=["unigram", "3-gram"], codec=["words", "characters"]
    )
    rows = {row["name"]: row for row in found.results["models"]}
    assert {row["codec"] for row in rows.values()} == {"words", "characters"} and len(rows) == 4
    assert found.results["unit"] == "bits per byte" and found.results["data"]["name"] == "texts given"
    letters, words = rows["3-gram (characters)"], rows["3-gram (words)"]
    assert letters["low"] < letters["bits"] < letters["high"] < rows["unigram (characters)"]["bits"]
    assert words["samples"] and found.model("3-gram (words)").codec.name == "words"
    best = found.results["models"][0]["codec"]
    assert all(best in curve["name"] for curve in found.results["curves"])
    assert (
        found.model().codec.name in ("words", "characters") and "3-gram (words)" in found.report.read_text()
    )


def test_codecs_that_read_other_sequences_are_not_compared(weather: Path, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="codecs of text"):
        cr.compare(weather, column="state", out=tmp_path / "out", codec=["events", "words"])


def _prepared(codec: str, **settings: Any) -> Prepared:
    return prepare(TEXTS, TEXTS, [*TEXTS[:30], "zoë slept"], codec=codec, options=settings)


@pytest.mark.parametrize("codec", ["words", "characters", "bytes", "subwords"])
def test_symbols_stand_for_the_bytes_of_the_text(codec: str) -> None:
    ready = _prepared(codec)
    assert ready.test is not None
    found = widths(ready, ready.test.main)
    assert found.sum() == pytest.approx(ready.test.main.bytes) and found.min() >= 0
    _, sizes = cases(ready.test.main.ids, np.zeros(len(found)), found)
    assert sizes[:30] == pytest.approx([len(text) + 1 for text in TEXTS[:30]], rel=0.3)


def test_what_a_codec_cannot_write_is_paid_for() -> None:
    ready = _prepared("words")
    assert ready.test is not None and ready.test.main.unknown == 2  # "zoë", "slept"
    found = spelled(ready.test.main, widths(ready, ready.test.main))
    assert (found > 0).tolist() == (ready.test.main.ids == UNK).tolist()
    assert found.sum() == pytest.approx(8 * len("zoë slept\n".encode()))


def test_names_tell_the_codec_only_where_there_are_several() -> None:
    assert [rung.name for rung in ladders(["words"], ["3-gram", "gpt"])] == ["3-gram", "gpt"]
    several = ladders(["words", "characters"], ["3-gram", "lstm", "gpt"])
    assert [rung.name for rung in several][:2] == ["3-gram (words)", "3-gram (characters)"]
    assert [rung.family for rung in several] == ["ngram"] * 2 + ["lstm"] * 2 + ["gpt"] * 2
    assert title("gpt", {"layers": 2, "width": 64}, "gpt (words)") == "GPT, 2 × 64 (words)"


def test_a_smaller_part_lies_within_a_larger_one() -> None:
    rows = [np.array([BOS, *range(5, 5 + one % 7), EOS], np.int32) for one in range(200)]
    corpus = Corpus(np.concatenate(rows), 200, 1000)
    small, large = (part(corpus, share, 1) for share in (1 / 8, 1 / 4))
    assert small.sequences == 25 and large.sequences == 50
    assert small.sequences == int((small.ids == BOS).sum())
    long = Corpus(np.array([BOS, *range(5, 1005), EOS], np.int32), 1, 1000)
    assert part(long, 1 / 4, 1).ids[-1] == EOS and len(part(long, 1 / 4, 1).ids) == 251


def test_the_demo_shows_what_models_write(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    kept = ["unigram", "3-gram"]
    monkeypatch.setattr("chainrule.choose.plan.ladders", lambda codecs, *_: ladders(codecs, kept))
    words = ["demo", "--budget", "10s", "-o", str(tmp_path / "demo")]
    for _ in range(2):  # the second time nothing is left to do
        assert main(words) == 0
        printed = capsys.readouterr().out
        assert "unigram generates:" in printed and "Take 3-gram" in printed
        assert str(tmp_path / "demo" / "report.html") in printed
