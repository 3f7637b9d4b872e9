"""Sequences of frames from end to end: the order of frames is learnt, and the same is said of every form of data."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import chainrule as cr
from chainrule.bundle import Bundle
from chainrule.data.examples import example
from chainrule.errors import ChainruleError, ConfigError, ModelError

SMALL: dict[str, Any] = {"width": 16, "embedding": 8, "lr": 0.02, "batch_size": 16, "dropout": 0.0}
SMALL |= {"head_dropout": 0.0, "seed": 1}


def circles(
    count: int, seed: int, way: Callable[[int], int] = lambda at: 1 - 2 * (at % 2)
) -> list[np.ndarray]:
    """(T, 2) each: around a circle to the left or to the right, from anywhere, with a little noise."""
    rng = np.random.default_rng(seed)
    found = []
    for at in range(count):
        angle = 2 * np.pi * (rng.random() + way(at) * np.arange(rng.integers(8, 12)) / 8)
        found.append(np.stack([10 * np.cos(angle), np.sin(angle)], 1) * (1 + 0.1 * rng.random()))
    return found


def directions(count: int) -> list[str]:
    return ["right" if at % 2 else "left" for at in range(count)]


@pytest.fixture(scope="module")
def model() -> Bundle:
    data = {"text": circles(120, 1), "label": directions(120)}
    return cr.fit(data, valid=data, model="gru", task="classify", epochs=8, **SMALL)


def test_the_order_of_frames_is_learnt_where_their_mean_says_nothing(model: Bundle) -> None:
    from sklearn.linear_model import LogisticRegression

    train, test = circles(120, 1), circles(100, 2)
    means = [np.stack([one.mean(0) for one in part]) for part in (train, test)]
    simple = LogisticRegression().fit(means[0], directions(120)).score(means[1], directions(100))
    found = model.evaluate({"text": test, "label": directions(100)}).figures["accuracy"]
    assert simple < 0.7 and found >= 0.95, (simple, found)


def test_a_saved_model_standardises_as_in_training(model: Bundle, tmp_path: Path) -> None:
    model.save(tmp_path / "model")
    again, test = cr.load(tmp_path / "model", verify=True), circles(5, 3)
    assert [one.probabilities for one in again.predict(test)] == [
        one.probabilities for one in model.predict(test)
    ]
    assert again.codec.fingerprint() == model.codec.fingerprint() and again.codec.size == 5
    alone = [again.predict([one])[0].probability for one in test]
    assert np.allclose(alone, [one.probability for one in model.predict(test)], atol=1e-6)


def test_typed_frames_and_missing_numbers_are_read(model: Bundle) -> None:
    test = circles(1, 4)[0]
    typed = "; ".join(f"{x!r} {y!r}" for x, y in test.tolist())
    assert model.predict(typed)[0].probability == pytest.approx(
        model.predict([test])[0].probability, abs=1e-6
    )
    test[2, 1] = np.nan
    assert 0.5 < model.predict([test])[0].probability <= 1


def test_one_result_for_each_sequence_named_by_its_group(model: Bundle, tmp_path: Path) -> None:
    lines = [
        f"s{at},{t},{x:.9g},{y:.9g}" for at, one in enumerate(circles(3, 5)) for t, (x, y) in enumerate(one)
    ]
    (tmp_path / "new.csv").write_text("\n".join(["who,t,x,y", *reversed(lines)]) + "\n")
    found = list(model.predict_each(tmp_path / "new.csv", column="x,y", group="who", sort="t"))
    assert [one.id for one in found] == ["s2", "s1", "s0"]
    assert [one.label for one in found] == ["left", "right", "left"]
    assert found[0].to_dict().keys() == {"row", "id", "label", "probabilities"}


def test_a_number_is_learnt_from_frames() -> None:
    rng = np.random.default_rng(1)
    heights = rng.uniform(1, 9, 96)
    data = {
        "text": [rng.normal([0, one], 0.1, (6, 2)) for one in heights],
        "label": [f"{one:.3f}" for one in heights],
    }
    found = cr.fit(data, valid=data, model="gru", task="regress", epochs=6, **SMALL)
    assert found.evaluate(data).figures["pearson"] > 0.9


def test_a_body_of_frames_is_transferred_with_its_standardisation(model: Bundle) -> None:
    data = {"text": circles(40, 6), "label": ["b" if at % 2 else "a" for at in range(40)]}
    found = cr.fit(data, valid=data, init_from=model, task="classify", transfer="frozen", epochs=3, lr=0.02)
    assert found.codec.fingerprint() == model.codec.fingerprint()
    assert found.evaluate(data).figures["accuracy"] >= 0.9


def test_the_estimator_takes_arrays() -> None:
    X, y = circles(80, 7), directions(80)
    found = cr.SequenceClassifier(model="gru", epochs=8, **SMALL).fit(X, y)
    assert found.score(circles(40, 8), directions(40)) >= 0.9


def test_a_language_model_is_no_body_for_frames_and_frames_make_no_text(model: Bundle) -> None:
    for use in (lambda: model.generate("1 2"), lambda: model.score("1 2")):
        with pytest.raises(ModelError, match="predicts no symbols"):
            use()
    data = {"text": circles(20, 1), "label": directions(20)}
    with pytest.raises(ConfigError, match="A bag reads symbols, and these are frames"):
        cr.fit(data, model="bag", task="classify")
    with pytest.raises(ConfigError, match="'next' predicts symbols"):
        cr.fit(circles(20, 1), model="gru", task="next")
    words = cr.fit(["a b c", "b c a"] * 20, model="rnn", codec="words", epochs=1, width=8)
    with pytest.raises(ChainruleError, match="take --codec frames"):
        cr.fit(data, init_from=words, task="classify")


def test_frames_of_another_size_are_refused(model: Bundle) -> None:
    with pytest.raises(ChainruleError, match="has 3 numbers, and 2 are wanted"):
        model.predict([np.zeros((4, 3))])


def test_the_example_says_nothing_moment_by_moment() -> None:
    rows = [line.split(",") for line in example("sensors")[1].splitlines()[1:]]
    by_label: dict[str, list[list[float]]] = {}
    for _, _, x, y, _, motion, _ in rows:
        by_label.setdefault(motion, []).append([float(x), float(y)])
    assert len(by_label) == 4
    for frames in map(np.array, by_label.values()):
        assert np.abs(frames.mean(0)).max() < 0.1 and np.allclose(frames.std(0), 0.73, atol=0.05)


def test_the_command_line_fits_predicts_evaluates_and_shows(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from chainrule.cli import main

    monkeypatch.chdir(tmp_path)
    lines = example("sensors")[1].splitlines()
    Path("sensors.csv").write_text("\n".join(lines[:1500]) + "\n")
    reading = "--column x,y,z --group session --sort time --label motion"
    main(f"fit sensors.csv {reading} --model gru --width 8 --epochs 1 -o motion -q".split())
    capsys.readouterr()
    main("predict motion --file sensors.csv --json".split())
    first = json.loads(capsys.readouterr().out.splitlines()[0])
    assert first["id"] == "000" and len(first["probabilities"]) == 4
    main("evaluate motion sensors.csv --json".split())
    assert 0 <= json.loads(capsys.readouterr().out)["accuracy"] <= 1
    main("show motion --json".split())
    shown = json.loads(capsys.readouterr().out)
    assert sum(one["parameters"] for one in shown["layers"]) == shown["parameters"]
    assert shown["model"]["features"] == 3


def turning(count: int, seed: int) -> tuple[list[np.ndarray], list[list[str]]]:
    """Frames that change their direction somewhere, and the direction of each."""
    rng = np.random.default_rng(seed)
    found, tags = [], []
    for _ in range(count):
        way = np.where(np.arange(12) < rng.integers(3, 9), 1, -1) * rng.choice([-1, 1])
        angle = 2 * np.pi * rng.random() + np.cumsum(way) * 2 * np.pi / 8
        found.append(np.stack([10 * np.cos(angle), np.sin(angle)], 1))
        tags.append(["left" if one > 0 else "right" for one in way])
    return found, tags


@pytest.fixture(scope="module")
def tagger() -> Bundle:
    frames, tags = turning(120, 1)
    data = {"text": frames, "label": tags}
    return cr.fit(data, valid=data, model="gru", task="tag", epochs=10, **SMALL)


def test_every_frame_has_a_tag_and_the_others_decide_about_it(tagger: Bundle, tmp_path: Path) -> None:
    frames, tags = turning(40, 2)
    test = {"text": frames, "label": tags}
    assert tagger.evaluate(test).figures["accuracy"] > 0.9
    tagger.save(tmp_path / "tagger")
    again = cr.load(tmp_path / "tagger")
    found = again.predict(frames)
    assert [len(one.tags or ()) for one in found] == [12] * 40 and found == tagger.predict(frames)
    typed = again.predict("; ".join(f"{x!r} {y!r}" for x, y in frames[0].tolist()))
    assert typed[0].tags == found[0].tags


def test_tags_of_frames_stand_in_tables_and_in_arrays(tmp_path: Path) -> None:
    frames, tags = turning(30, 3)
    rows = [
        f"{at},{t},{x:.9g},{y:.9g},{tag}"
        for at, (one, own) in enumerate(zip(frames, tags, strict=True))
        for t, ((x, y), tag) in enumerate(zip(one, own, strict=True))
    ]
    (tmp_path / "all.csv").write_text("\n".join(["who,t,x,y,way", *rows]) + "\n")
    np.savez(tmp_path / "all.npz", X=np.stack(frames), y=np.array(tags))
    reading = {"column": "x,y", "group": "who", "sort": "t", "label": "way"}
    quick: dict[str, Any] = {"model": "gru", "task": "tag", "epochs": 1, **SMALL}
    one = cr.fit(tmp_path / "all.csv", **reading, **quick)
    other = cr.fit(tmp_path / "all.npz", **quick)
    assert one.card["figures"]["valid"].keys() == other.card["figures"]["valid"].keys()
    assert one.evaluate(tmp_path / "all.csv").judged.details()["words"] == 30 * 12
    assert next(one.predict_each(tmp_path / "all.csv")).id == "0"
    (tmp_path / "gap.csv").write_text("\n".join(["who,t,x,y,way", *rows[:20], "1,8,0,0,"]) + "\n")
    with pytest.raises(ChainruleError, match="has no tag"):
        cr.fit(tmp_path / "gap.csv", **reading, **quick)


@pytest.fixture(scope="module")
def forecaster() -> Bundle:
    data = circles(150, 1)
    own = {name: one for name, one in SMALL.items() if name != "head_dropout"}
    return cr.fit(data, valid=circles(40, 2), model="gru", epochs=20, **own)


def test_the_next_frame_is_forecast_better_than_by_the_last_one(forecaster: Bundle) -> None:
    assert forecaster.task.name == "next-frame" and forecaster.body.reads == "left"
    found = forecaster.evaluate(circles(50, 3))
    figures = found.figures
    assert figures["rmse"] < 0.75 * figures["naive_rmse"]
    assert figures["nats_per_frame"] < 2 * 1.4189  # of two standard normal numbers that nobody can forecast
    own = found.judged.details()["per_column"]
    assert 5 < own[0]["rmse"] / own[1]["rmse"] < 20  # in the unit of each column


def test_nats_are_those_of_the_normal_distributions_it_tells(forecaster: Bundle) -> None:
    from torch.distributions import Normal

    whole = circles(1, 4)[0]
    scale, total = forecaster.codec.moments.scale, 0.0  # type: ignore[attr-defined]
    import torch

    for at in range(1, len(whole)):
        told = forecaster.predict([whole[:at]])[0].answer
        mean, wide = (torch.tensor(one) for one in (told.frame, told.deviation))  # type: ignore[union-attr]
        logs = Normal(mean, wide).log_prob(torch.tensor(whole[at], dtype=torch.float32))
        total -= float((logs + torch.tensor(np.log(scale))).sum())
    begun = forecaster.evaluate([whole[:1]]).figures["nats_per_frame"]
    nats = forecaster.evaluate([whole]).figures["nats_per_frame"]
    assert nats * len(whole) == pytest.approx(total + begun, rel=1e-3)


def test_a_saved_forecaster_skips_missing_numbers_and_is_a_body_for_labels(
    forecaster: Bundle, tmp_path: Path
) -> None:
    forecaster.save(tmp_path / "next")
    again, test = cr.load(tmp_path / "next"), circles(6, 5)
    assert again.predict(test) == forecaster.predict(test)
    test[0][3, 1] = np.nan
    assert np.isfinite(again.evaluate(test).figures["nats_per_frame"])
    data = {"text": circles(40, 6), "label": directions(40)}
    found = cr.fit(data, valid=data, init_from=again, task="classify", transfer="frozen", epochs=2, lr=0.02)
    assert found.codec.fingerprint() == again.codec.fingerprint()


def test_text_is_not_forecast_as_frames_nor_by_who_has_seen_what_follows() -> None:
    with pytest.raises(ConfigError, match="these data are symbols"):
        cr.fit(["a b c"] * 30, task="next-frame", model="gru", epochs=1)
    with pytest.raises(ConfigError, match="sees what it is to forecast"):
        cr.fit(circles(30, 1), model="bert", task="next-frame", epochs=1)
