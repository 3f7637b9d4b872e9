"""Bodies of trained models under a new head: how fast their layers learn, from when on, and what is read once."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import chainrule as cr
from chainrule.bundle import Bundle
from chainrule.data.corpus import Corpus
from chainrule.data.labelled import LabelledBatches
from chainrule.errors import ChainruleError, Stopped
from chainrule.heads.pooled import Pooled, PooledConfig
from chainrule.models.registry import family
from chainrule.symbols import BOS, EOS, FIRST
from chainrule.tasks.classify import WEIGHTS, Classify
from chainrule.train.config import TrainConfig
from chainrule.train.features import Features
from chainrule.train.layers import THAWED, depths, scales, thawing
from chainrule.train.network import Network, Rates
from chainrule.train.trainer import Trainer
from foreign import bert

TEXTS = ["a good film", "good fun", "so good it is", "a bad film", "bad plot", "so bad it is"] * 6
TABLE = {"text": TEXTS, "label": (["up"] * 3 + ["down"] * 3) * 6}


@pytest.mark.parametrize("name", ["lstm", "gru", "gpt", "bert", "elmo", "cnn"])
def test_every_parameter_has_its_layer_and_lower_ones_learn_slower(name: str) -> None:
    body: Any = family(name).tiny()
    found = depths(body)
    assert set(found) == {parameter for parameter, _ in body.named_parameters()}
    layers = body.config.layers
    assert min(found.values()) == 0 and max(found.values()) == layers
    assert all(depth == layers for one, depth in found.items() if one.startswith("embedding."))
    factors = scales(body, 0.5, 0.1)
    lowest = [factor for one, factor in factors.items() if one.startswith("body.embedding.")]
    assert max(factors.values()) == 0.5 and lowest == pytest.approx([0.5 * 0.1**layers] * len(lowest))
    begin = thawing(body)
    assert 0 < min(begin.values()) < max(begin.values()) == THAWED


def test_what_is_read_before_the_first_layer_lies_below_it_and_what_comes_after_above() -> None:
    bert, gpt = (depths(family(name).tiny()) for name in ("bert", "gpt"))
    assert bert["norm.weight"] == bert["positions.weight"] == 2 and bert["pool.weight"] == 0
    assert gpt["norm.weight"] == 0
    assert all(depth == 1 for name, depth in gpt.items() if name.startswith("blocks.0."))


def labelled(count: int = 40) -> tuple[Corpus, np.ndarray]:
    """Texts of four symbols; the label is the first of them."""
    rng = np.random.default_rng(0)
    rows = [[BOS, *rng.integers(FIRST, FIRST + 4, rng.integers(2, 6)).tolist(), EOS] for _ in range(count)]
    answers = np.array([FIRST + row[1] % 2 for row in rows])
    return Corpus(np.concatenate(rows).astype(np.int32), count, 1), answers


def run_of(folder: Path | None, name: str = "lstm", rates: Rates | None = None, **options: Any) -> Trainer:
    torch.set_num_threads(1)
    corpus, answers = labelled()
    body: Any = family(name).tiny(1)
    task, extra = Classify(), {WEIGHTS: np.ones(len(answers), np.float32)}
    head = Pooled.seeded(PooledConfig(width=body.width, answers=2, dropout=0.1), 1)
    batches = LabelledBatches(corpus, answers, 8, body.context, 1, extra)
    network = Network(task, body, head)
    rates = rates or Rates(scales(body, 0.5, 0.5), thawing(body))
    rates.freeze(network)
    config = TrainConfig(**{"epochs": 5, "lr": 0.02, "patience": 0, **options})
    return Trainer(network, batches, None, config, folder, rates=rates)


def weights(run: Trainer) -> dict[str, np.ndarray]:
    return {name: value.detach().clone().numpy() for name, value in run.network.state_dict().items()}


@pytest.mark.parametrize(
    ("name", "optimizer"), [("lstm", "adamw"), ("elmo", "adamw"), ("gpt", "muon"), ("bert", "muon")]
)
def test_layer_after_layer_begins_to_learn_from_the_highest_down(name: str, optimizer: str) -> None:
    run = run_of(None, name, optimizer=optimizer)
    before, moved = weights(run), dict[str, int]()

    def look(values: dict[str, Any]) -> None:
        now = weights(run)
        for one in now:
            if "step" in values and not np.array_equal(now[one], before[one]):
                moved.setdefault(one, values["step"])

    run.report = look
    run.run()
    since, last = thawing(run.body), run.at.step - 1
    for one, first in ((one, moved[one]) for one, _ in run.network.named_parameters() if one in moved):
        expected = since.get(one, 0.0)
        assert (first - 1) / last >= expected, f"{one} moved too early"
        assert (first - 3) / last <= expected, f"{one} moved too late"
    assert moved["head.output.weight"] == 1 and max(moved.values()) > 2


@pytest.mark.parametrize(("name", "optimizer"), [("lstm", "adamw"), ("gpt", "muon")])
def test_gradual_unfreezing_stopped_and_resumed_equals_uninterrupted_to_the_bit(
    tmp_path: Path, name: str, optimizer: str
) -> None:
    whole = run_of(tmp_path / "whole", name, optimizer=optimizer)
    whole.run()
    left = 0
    for _ in range(50):
        part = run_of(tmp_path / "part", name, optimizer=optimizer)
        part.restore()
        steps = iter([False] * 6 + [True])
        part.stopping = lambda steps=steps: next(steps)  # type: ignore[misc]
        try:
            part.run()
            break
        except Stopped:
            left += 1
    assert left > 2
    found, expected = weights(part), weights(whole)
    assert all(np.array_equal(found[one], expected[one]) for one in expected)


def test_the_first_step_of_a_late_parameter_is_as_long_as_that_of_an_early_one() -> None:
    from chainrule.train.optimizer import AdamW

    early, late = (torch.nn.Parameter(torch.zeros(3)) for _ in range(2))
    optimizer = AdamW([early, late], 0.0)
    for step in range(6):
        early.grad = torch.ones(3)
        late.grad = torch.ones(3) if step > 2 else None
        optimizer.step(0.1)
    assert torch.allclose(early, torch.full((3,), -0.6), atol=1e-4)
    assert torch.allclose(late, torch.full((3,), -0.3), atol=1e-4)


def small_lm(**settings: Any) -> Bundle:
    return cr.fit(TEXTS, model="lstm", codec="words", width=8, embedding=8, epochs=1, **settings)


def test_a_frozen_body_reads_every_text_once(monkeypatch: pytest.MonkeyPatch) -> None:
    from chainrule.models.lstm import Lstm

    lm, read = small_lm(dropout=0.5), list[int]()
    original = Lstm.read

    def counted(self: Lstm, tokens: Any, state: Any) -> Any:
        read.append(len(tokens))
        return original(self, tokens, state)

    monkeypatch.setattr(Lstm, "read", counted)
    cr.fit(TABLE, valid=TABLE, init_from=lm, transfer="frozen", epochs=9, batch_size=12)
    assert sum(read) == 4 * len(TEXTS)  # both parts to learn from; then calibrated and judged


def test_what_is_looked_up_is_what_would_be_read() -> None:
    corpus, answers = labelled()
    body: Any = family("gpt").tiny(1)
    texts = LabelledBatches(corpus, answers, 8, body.context)
    features = Features(body)
    features.learn([texts])
    for number in range(len(texts)):
        tokens = torch.from_numpy(texts.batch(3, number).tokens)
        found, _ = features.read(tokens, features.start(len(tokens)))
        expected, _ = body.read(tokens, body.start(len(tokens)))
        real = tokens != 0
        assert torch.allclose(found[real], expected[real], atol=1e-5) and not found.requires_grad
    unknown = torch.full((1, 4), FIRST)
    assert torch.allclose(features.read(unknown, body.start(1))[0], body.read(unknown, body.start(1))[0])


def test_features_beyond_the_memory_are_read_again() -> None:
    corpus, answers = labelled()
    body: Any = family("lstm").tiny(1)
    features = Features(body, most=4 * 100 * body.width)
    texts = LabelledBatches(corpus, answers, 8)
    features.learn([texts])
    assert 0 < len(features.known) < 40
    tokens = torch.from_numpy(texts.batch(1, 2).tokens)
    assert features.read(tokens, features.start(len(tokens)))[0].shape[:2] == tokens.shape


def test_a_folder_of_hugging_face_is_a_body(tmp_path: Path) -> None:
    folder = bert(tmp_path)
    for way in ("frozen", "tuned"):
        model = cr.fit(TABLE, valid=TABLE, init_from=folder, transfer=way, epochs=2, pooling="first")
        model.save(tmp_path / way)
        again = cr.load(tmp_path / way)
        assert again.codec.name == "huggingface" and again.predict("the cat")[0].label in ("up", "down")
        assert again.card["transfer"] == {"from": str(folder), "way": way}
    with pytest.raises(ChainruleError, match="no saved model"):
        cr.fit(TABLE, init_from=tmp_path / "nothing", transfer="frozen")


def test_a_foreign_body_is_tuned_more_slowly_than_one_of_ours() -> None:
    from chainrule.train.transfer import BODY, FOREIGN, Origin

    lm = small_lm()
    theirs = Bundle(lm.codecs, lm.body, lm.task, None, {"imported": "somewhere"})
    for bundle, rate in ((lm, BODY), (theirs, FOREIGN)):
        assert max(Origin("it", bundle).start("tuned", {}).scales.values()) == rate


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"transfer": "frozen", "gradual_unfreezing": True}, "--gradual-unfreezing is for --transfer tuned"),
        ({"transfer": "fresh", "layer_lr_decay": 0.5}, "--layer-lr-decay is for --transfer tuned"),
        ({"layer_lr_decay": 1.5}, "layer-lr-decay"),
    ],
)
def test_settings_that_would_do_nothing_are_refused(options: dict[str, Any], told: str) -> None:
    with pytest.raises(ChainruleError, match=told):
        cr.fit(TABLE, init_from=small_lm(), **options)


def test_tuning_needs_a_model_to_tune() -> None:
    with pytest.raises(ChainruleError, match="add --from MODEL"):
        cr.fit(TABLE, model="lstm", gradual_unfreezing=True)
    with pytest.raises(ChainruleError, match="new task"):
        cr.fit(TEXTS, init_from=small_lm(), body_lr=0.5)


def test_a_class_model_is_no_body() -> None:
    model = cr.fit(TABLE, valid=TABLE, model="class-ngram")
    with pytest.raises(ChainruleError, match="no hidden vectors"):
        cr.fit(TABLE, init_from=model, task="classify")
