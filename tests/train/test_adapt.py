"""Fine-tuning: what is new is learnt, what is old is judged, too."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import chainrule as cr
from chainrule.codecs.base import Texts
from chainrule.codecs.registry import codec as codec_class
from chainrule.data.corpus import encode
from chainrule.data.sources import read
from chainrule.errors import BundleError, CodecError, ConfigError, DataError, ModelError
from chainrule.models.mix import Mix
from chainrule.models.registry import family
from chainrule.symbols import FIRST
from chainrule.train.adapt import SLOWER, frozen

OLD = [f"the {'old' if n % 3 else 'new'} cat number {n % 9} sat on mat {n % 7}" for n in range(400)]
NEW = [f"a {'big' if n % 3 else 'new'} dog number {n % 8} sat on mat {n % 6}" for n in range(400)]
MODELS: dict[str, dict[str, Any]] = {
    "ngram": {"order": 3},
    "window": {"width": 8, "window": 3},
    "lstm": {"width": 8, "layers": 2},
    "gru": {"width": 8, "embedding": 4},
    "gpt": {"width": 8, "layers": 2, "heads": 2, "context": 32},
    "bert": {"width": 8, "layers": 2, "heads": 2, "context": 32},
}
SHORT: dict[str, Any] = {"epochs": 2, "batch_size": 8, "lr": 0.01}


def written(path: Path, lines: list[str]) -> Path:
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.fixture
def old(tmp_path: Path) -> Path:
    return written(tmp_path / "old.txt", OLD)


@pytest.fixture
def new(tmp_path: Path) -> Path:
    return written(tmp_path / "new.txt", NEW)


def trained(data: Path, model: str, **options: Any) -> cr.Bundle:
    shared = {} if model == "ngram" else SHORT
    return cr.fit(data, **{"codec": "words", "model": model, **MODELS[model], **shared, **options})


def adapted(data: Path, before: Any, **options: Any) -> cr.Bundle:
    short = {} if isinstance(before, cr.Bundle) and before.body.family == "ngram" else SHORT
    return cr.fit(data, init_from=before, **{**short, **options})


@pytest.mark.parametrize("model", ["window", "lstm", "gru", "gpt"])
def test_new_text_becomes_likelier_and_forgetting_is_told(old: Path, new: Path, model: str) -> None:
    before = trained(old, model, epochs=6)
    found = adapted(new, before, extend_vocab=True, epochs=6)
    figures = found.card["adapted"]["figures"]
    assert found.body.family == model and found.body.config.width == before.body.config.width
    assert figures["new text"]["after"]["bits_per_byte"] < figures["new text"]["before"]["bits_per_byte"]
    assert figures["new text"]["after"] == found.card["figures"]["test"]
    assert figures["new text"]["before"]["unknown"] > 0 == figures["new text"]["after"]["unknown"]
    assert figures["old text"]["before"] == before.card["figures"]["test"]
    assert figures["old text"]["after"]["perplexity"] != figures["old text"]["before"]["perplexity"]


def test_bert_is_fine_tuned_too(old: Path, new: Path) -> None:
    found = adapted(new, trained(old, "bert"), extend_vocab=True)
    assert (
        found.task.name == "masked"
        and "pseudo_perplexity" in found.card["adapted"]["figures"]["old text"]["after"]
    )


def test_training_starts_with_the_weights_of_the_model(old: Path, new: Path) -> None:
    before = trained(old, "lstm")
    found = adapted(new, before, epochs=None, steps=1, lr=1e-9)
    for name, array in before.body.arrays().items():
        np.testing.assert_allclose(found.body.arrays()[name], array, atol=1e-6, err_msg=name)
    assert before.body.arrays().keys() == found.body.arrays().keys()


def test_the_learning_rate_is_lower_than_before_unless_it_is_given(old: Path, new: Path) -> None:
    before = trained(old, "lstm")
    usual = cr.fit(new, init_from=before, epochs=1)
    assert usual.card["settings"]["lr"] == pytest.approx(SLOWER * SHORT["lr"])
    assert "learning rate 0.003" in " ".join(usual.card["notes"])
    assert adapted(new, before, lr=0.02).card["settings"]["lr"] == 0.02


@pytest.mark.parametrize("model", ["lstm", "gpt", "bert"])
def test_only_the_last_layers_are_tuned_if_asked(old: Path, new: Path, model: str) -> None:
    before = trained(old, model)
    found = adapted(new, before, unfreeze=1)
    moved = {
        name
        for name, array in before.body.arrays().items()
        if not np.array_equal(array, found.body.arrays()[name])
    }
    assert any(".1." in name for name in moved) and not any(".0." in name for name in moved)
    tied = before.body.config.shared  # type: ignore[attr-defined]
    assert "positions.weight" not in moved and ("embedding.weight" in moved) == tied


def test_a_table_of_its_own_is_frozen_with_the_first_layers(old: Path, new: Path) -> None:
    before = trained(old, "gru")
    moved = adapted(new, before, unfreeze=0).body.arrays()
    same = {name for name, array in before.body.arrays().items() if np.array_equal(array, moved[name])}
    assert "embedding.weight" in same and "output.weight" not in same
    with pytest.raises(ConfigError, match="the model has 1"):
        frozen(before.body, 2)


def test_unknown_symbols_are_counted_and_told(old: Path, new: Path) -> None:
    found = adapted(new, trained(old, "lstm"))
    assert found.card["adapted"]["unknown"] > 0 == found.card["adapted"]["added"]
    assert any("unknown to the codec" in note for note in found.card["notes"])
    grown = adapted(new, trained(old, "lstm"), extend_vocab=True)
    assert grown.card["adapted"]["added"] == 3 and grown.card["adapted"]["unknown"] == 0  # a, big, dog


@pytest.mark.parametrize(
    ("name", "old_text", "new_text"),
    [
        ("words", "b a b", "c b d c"),
        ("characters", "bab", "cbdc"),
        ("events", "b\x1fa\x1fb", "c\x1fb\x1fd\x1fc"),
    ],
)
def test_a_vocabulary_grows_at_its_end(name: str, old_text: str, new_text: str) -> None:
    kind = codec_class(name)
    before = kind.learn(lambda: [Texts.of([old_text])], kind.Config())
    after = before.extended(lambda: [Texts.of([new_text])])
    assert [*before.tokens(range(before.size)), "c", "d"] == after.tokens(range(after.size))
    assert after.encode(Texts.of([old_text, new_text])).unknown == 0
    assert after.extended(lambda: [Texts.of([new_text])]).size == after.size


@pytest.mark.parametrize("name", ["bytes", "subwords", "numbers"])
def test_other_codecs_do_not_grow(name: str) -> None:
    kind = codec_class(name)
    text = "1\x1f2\x1f3\x1f4" if name == "numbers" else "some words and more words"
    before = kind.learn(lambda: [Texts.of([text])], kind.Config())
    with pytest.raises(CodecError, match=f"{name} have no such list"):
        before.extended(lambda: [Texts.of([text])])


@pytest.mark.parametrize("model", ["rnn", "lstm", "window", "gpt", "bert"])
def test_a_grown_model_says_the_same_of_old_symbols(model: str) -> None:
    kind: Any = family(model)
    before = kind.tiny(3)
    size = before.config.vocab_size
    after = before.grown(size + 2, before.config.suppressed)
    tokens = torch.tensor([[1, FIRST, FIRST + 1, FIRST + 2]])
    with torch.no_grad():
        one, two = (model.logits(model.read(tokens, model.start(1))[0])[0, -1] for model in (before, after))
    torch.testing.assert_close(two[:size], one)
    torch.testing.assert_close(two[size:], one[FIRST:].mean().expand(2))
    share = two.softmax(0)[size:].sum()
    assert 0 < share <= 2 / (size - len(before.config.suppressed) + 2) * 1.5


def test_ngrams_are_interpolated_with_weights_from_the_new_validation_part(old: Path, new: Path) -> None:
    before = trained(old, "ngram", refit=False)
    found = adapted(new, before, refit=False)
    assert isinstance(found.body, Mix) and [one.family for one in found.body.models] == ["ngram", "ngram"]
    figures = found.card["adapted"]["figures"]
    assert figures["new text"]["after"]["perplexity"] < figures["new text"]["before"]["perplexity"]
    assert figures["old text"]["before"]["perplexity"] < figures["old text"]["after"]["perplexity"] < math.inf
    assert any("old 0." in note for note in found.card["notes"])
    refitted = adapted(new, before)
    assert refitted.body.config.weights == found.body.config.weights  # type: ignore[attr-defined]
    assert refitted.card["figures"] == found.card["figures"] and refitted.card["refit"]["sequences"] == len(
        NEW
    )


def test_ngrams_are_merged_by_counts_as_if_old_and_new_had_been_one_file(
    old: Path, new: Path, tmp_path: Path
) -> None:
    before = trained(old, "ngram")
    merged = adapted(new, before, merge="counts")
    both = written(tmp_path / "both.txt", [*OLD, *NEW])  # refitted: all of both
    ids = encode(before.codec, read(both)).ids
    whole = family("ngram").learn(before.body.config, ids)  # type: ignore[attr-defined]
    assert merged.body.family == "ngram"
    for name, array in whole.arrays().items():
        np.testing.assert_array_equal(merged.body.arrays()[name], array, err_msg=name)
    assert any("old and" in note and "added up" in note for note in merged.card["notes"])
    told = merged.card["adapted"]["figures"]["new text"]
    assert told["after"]["bits_per_symbol"] < told["before"]["bits_per_symbol"]


def test_counts_are_added_only_where_there_are_counts_and_the_old_data(old: Path, new: Path) -> None:
    before = trained(old, "ngram")
    written(old, NEW)
    with pytest.raises(DataError, match="not where they were"):
        adapted(new, before, merge="counts")
    with pytest.raises(ConfigError, match="made by counting"):
        adapted(new, trained(new, "lstm"), merge="counts")
    with pytest.raises(ConfigError, match="--from"):
        cr.fit(new, merge="counts")


def test_an_adapted_ngram_is_saved_and_loaded(old: Path, new: Path, tmp_path: Path) -> None:
    found = adapted(new, trained(old, "ngram"))
    found.save(tmp_path / "both")
    assert cr.load(tmp_path / "both").score("a new dog").bits == pytest.approx(found.score("a new dog").bits)


def test_old_text_is_looked_for_and_may_be_given(old: Path, new: Path, tmp_path: Path) -> None:
    counted = trained(old, "ngram")  # it has counted what was held out
    found = adapted(new, counted)
    assert "old text" not in found.card["adapted"]["figures"]
    assert any("--old" in note for note in found.card["notes"])
    given = adapted(new, counted, old=old)
    assert given.card["adapted"]["figures"]["old text"]["before"]["perplexity"] > 1
    before = trained(old, "ngram", refit=False)
    written(old, OLD[::-1])
    assert "old text" not in adapted(new, before).card["adapted"]["figures"]
    old.unlink()
    assert "old text" not in adapted(new, before).card["adapted"]["figures"]


def test_an_adapted_model_is_refitted_from_the_same_start(old: Path, new: Path) -> None:
    before = trained(old, "lstm")
    found = adapted(new, before, refit=True)
    assert found.card["refit"]["sequences"] == len(NEW)
    assert found.card["figures"] == adapted(new, before).card["figures"]


def test_data_are_read_as_before(tmp_path: Path) -> None:
    for name, lines in (("old", OLD), ("new", NEW)):
        rows = [json.dumps({"id": 1, "said": line}) for line in lines]
        written(tmp_path / f"{name}.jsonl", rows)
    before = cr.fit(tmp_path / "old.jsonl", column="said", codec="words", order=2)
    found = cr.fit(tmp_path / "new.jsonl", init_from=before)
    assert found.score("a new dog").unknown == 2 and found.card["reading"]["column"] == "said"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"model": "gru"}, "--model gru contradicts"),
        ({"codec": "characters"}, "--codec characters contradicts"),
        ({"task": "masked"}, "--task masked contradicts"),
        ({"width": 16}, "--width 16 contradicts .* whose width is 8"),
        ({"min_count": 3}, "--min-count 3 contradicts"),
        ({"unfreeze": 3}, "the model has 2"),
    ],
)
def test_what_contradicts_the_model_is_refused(
    old: Path, new: Path, options: dict[str, Any], message: str
) -> None:
    before = trained(old, "lstm")
    with pytest.raises(ConfigError, match=message):
        adapted(new, before, **options)


def test_what_agrees_with_the_model_or_only_concerns_training_is_allowed(old: Path, new: Path) -> None:
    before = trained(old, "lstm")
    found = adapted(new, before, model="LSTM", width=8, dropout=0.25, codec="words")
    assert found.body.config.dropout == 0.25  # type: ignore[attr-defined]


def test_ngrams_have_no_layers_and_do_not_grow(old: Path, new: Path) -> None:
    before = trained(old, "ngram")
    for options in ({"extend_vocab": True}, {"unfreeze": 0}):
        with pytest.raises(ConfigError, match="no layers"):
            adapted(new, before, **options)


def test_some_models_cannot_be_fine_tuned(old: Path, new: Path, tmp_path: Path) -> None:
    with pytest.raises(BundleError, match="There is no saved model"):
        cr.fit(new, init_from=tmp_path / "nowhere")
    both = adapted(new, trained(old, "ngram"))
    with pytest.raises(ModelError, match="made of trained models"):
        adapted(new, both)
    with pytest.raises(ModelError, match="cannot be fine-tuned"):
        cr.fit(new, init_from=cr.fit(old, model="cache", codec="words"))


def test_a_closed_vocabulary_refuses_what_is_unknown(old: Path, new: Path) -> None:
    before = trained(old, "lstm", closed=True)
    with pytest.raises(DataError, match=r"closed.*\n?.*--extend-vocab"):
        adapted(new, before)
    assert adapted(new, before, extend_vocab=True).card["adapted"]["unknown"] == 0


def test_a_run_folder_changes_nothing_about_an_adaptation(old: Path, new: Path, tmp_path: Path) -> None:
    before = trained(old, "lstm")
    whole = adapted(new, before)
    again = adapted(new, before, run=tmp_path / "run")
    for name, array in whole.body.arrays().items():
        np.testing.assert_array_equal(again.body.arrays()[name], array)
