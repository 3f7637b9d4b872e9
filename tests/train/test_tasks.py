"""A task is an addition: a file of the tests is trained, saved, loaded and judged like those of the package."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import chainrule as cr
from chainrule.data.batches import Batch
from chainrule.data.corpus import Corpus, Part
from chainrule.data.dataset import read_part
from chainrule.data.rows import TEXT
from chainrule.errors import ConfigError, ModelError
from chainrule.models.registry import FAMILIES
from chainrule.symbols import BOS, EOS, PAD, UNK
from chainrule.tasks.base import stepped
from chainrule.tasks.masked import Masked
from chainrule.tasks.next import Next
from tiny.cnn import TinyCnn
from tiny.label import Label
from tiny.masked import TinyMasked
from tiny.translator import TinyTranslator, Translating

SMALL: dict[str, dict[str, Any]] = {
    "cnn": {},
    "lstm": {"width": 16},
    "bert": {"width": 16, "layers": 1, "heads": 2, "context": 32},
}
WARM, COLD = "hot sunny beach heat".split(), "ice snowy frost wind".split()


@pytest.fixture
def reviews(tmp_path: Path) -> Path:
    """A table of two columns: texts, and whether most of their words are warm or cold."""
    rng = np.random.default_rng(0)
    path = tmp_path / "weather.csv"
    with path.open("w", encoding="utf-8") as file:
        file.write("text,label\n")
        for number in range(100):
            words = [COLD, WARM][number % 2]
            file.write(
                f"{' '.join(rng.choice(words, rng.integers(2, 7)))} it is,{['cold', 'warm'][number % 2]}\n"
            )
    return path


@pytest.fixture(autouse=True)
def cnn(monkeypatch: pytest.MonkeyPatch) -> None:
    """A family for these tests only."""
    monkeypatch.setitem(FAMILIES._known, "cnn", TinyCnn)


def fit(data: Path, model: str, **options: Any) -> cr.Bundle:
    shared = {"codec": "words", "epochs": 8, "batch_size": 8, "lr": 0.02}
    return cr.fit(data, model=model, task="label", **shared, **SMALL[model], **options)


@pytest.mark.parametrize("model", SMALL)
def test_a_task_of_ones_own_is_fitted_saved_loaded_and_judged(
    model: str, reviews: Path, tmp_path: Path
) -> None:
    bundle = fit(reviews, model, pooling="max")
    assert bundle.card["figures"]["test"]["accuracy"] == 1.0
    assert set(bundle.codecs) == {"text", "label"}

    bundle.save(tmp_path / "saved")
    again = cr.load(tmp_path / "saved")
    assert again.task == Label(pooling="max")
    part = read_part(reviews, again.codecs, roles=again.task.roles())
    before, after = (one.task.judge(one.body, one.head, part, one.codecs).values for one in (bundle, again))
    assert before == after
    assert after["accuracy"] == 1.0


def test_a_body_without_a_vocabulary_output_predicts_no_symbols(reviews: Path) -> None:
    bundle = fit(reviews, "cnn")
    assert bundle.embed(["hot heat"]).shape == (1, 8)
    with pytest.raises(ModelError, match="predicts no symbols"):
        bundle.score("hot heat")


def test_settings_of_a_task_of_ones_own_are_checked(reviews: Path) -> None:
    with pytest.raises(ConfigError, match="pooling"):
        fit(reviews, "lstm", pooling="median")
    with pytest.raises(ConfigError, match="counting"):
        cr.fit(reviews, model="ngram", task="label")
    with pytest.raises(ConfigError, match="label"):
        cr.fit(reviews, model="lstm", task="lable")


def windows() -> Iterator[Batch]:
    """Two sequences, each with a source, in three windows that follow each other."""
    rng = np.random.default_rng(0)
    source = np.array([[5, 6, 7], [8, 5, PAD]])
    ids = np.concatenate([[[BOS], [BOS]], rng.integers(5, 9, (2, 11)), [[EOS], [EOS]]], 1)
    for begin in range(0, 12, 4):
        tokens, targets = ids[:, begin : begin + 4], ids[:, begin + 1 : begin + 5]
        yield Batch(tokens, targets, source, continues=begin > 0)


def test_the_gradient_of_an_encoder_survives_windows() -> None:
    """Window by window, as training goes, it is that of one pass in which only the decoder's own memory is cut."""
    body, task = TinyTranslator.tiny().train(), Next()
    state = None
    for batch in windows():
        loss, state = stepped(task, body, None, batch, state)
        loss.backward()
        state = state.detach()
    found = body.foreign.weight.grad.clone()

    body.zero_grad()
    whole = body.start(2, torch.as_tensor(next(windows()).source))
    total = torch.zeros(())
    for batch in windows():
        loss, whole = task.loss(body, None, batch.tensors(), whole)
        whole = Translating(whole.vector.detach(), whole.source)
        total = total + loss
    total.backward()
    torch.testing.assert_close(found, body.foreign.weight.grad)
    assert found[5:].abs().min() > 0


def test_a_masked_model_is_judged_on_a_sample_of_much_data_and_says_so() -> None:
    rng = np.random.default_rng(0)
    lines = [[BOS, *rng.choice([UNK, 5, 6, 7, 8], 10), EOS] for _ in range(1500)]  # 18,000 ids
    ids = np.concatenate(lines).astype(np.int32)
    unknown = int((ids == UNK).sum()) // 2  # the other half are literal
    found = Masked().judge(TinyMasked.tiny(), None, Part({TEXT: Corpus(ids, 1500, 30_000, unknown)}), {})
    assert "sample" in found.notes[0] and "18,000" in found.notes[0]
    values, share = found.values, found.values["symbols"] / (len(ids) - 1500)
    assert 0.5 < share < 1.0
    assert values["unknown"] == pytest.approx(share * unknown, rel=0.05)
    bits = values["pseudo_bits_per_symbol"] * values["symbols"]
    assert values["pseudo_bits_per_byte"] == pytest.approx(bits / (share * 30_000), rel=0.01)


def test_fit_leaves_threads_and_randomness_as_they_were(reviews: Path) -> None:
    threads = torch.get_num_threads()
    try:
        torch.set_num_threads(2)
        torch.manual_seed(7)
        np.random.seed(7)
        random.seed(7)
        before = (torch.get_rng_state(), np.random.get_state()[1].tolist(), random.getstate())
        cr.fit(reviews, model="lstm", codec="words", epochs=1, width=8)
        assert torch.get_num_threads() == 2
        assert torch.equal(torch.get_rng_state(), before[0])
        assert np.random.get_state()[1].tolist() == before[1] and random.getstate() == before[2]
    finally:
        torch.set_num_threads(threads)
