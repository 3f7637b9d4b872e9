"""ELMo: two language models that read letters, and a mix of their layers."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor

import chainrule as cr
from chainrule.bundle import Bundle
from chainrule.cli import main
from chainrule.codecs.base import Texts
from chainrule.data.corpus import encode
from chainrule.models.elmo import Elmo, ElmoConfig
from chainrule.nn import tap
from chainrule.symbols import BOS, EOS, FIRST, MASK, PAD, UNK
from chainrule.tasks.both_ways import direction_scores

TOKENS = torch.tensor([[BOS, 5, 6, 7, 8, EOS], [BOS, 8, 5, EOS, PAD, PAD]])
TEXTS = ["the cat sat on the mat", "a dog sat on a log", "the dog saw the cat"] * 12


@pytest.fixture(scope="module")
def small() -> Bundle:
    """Trained on a few sentences."""
    settings = {"width": 16, "layers": 2, "letter_embedding": 8, "lr": 0.01, "batch_size": 8}
    return cr.fit(TEXTS, valid=TEXTS[:3], model="elmo", codec="words", epochs=80, **settings)


@pytest.fixture(scope="module")
def labelled(small: Bundle) -> Bundle:
    """A classifier on the frozen body."""
    texts = [f"the {animal} sat" for animal in ("cat", "dog", "cats", "dogs")] * 8
    data = {"text": texts, "label": ["one", "one", "many", "many"] * 8}
    return cr.fit(data, valid=data, init_from=small, transfer="frozen", task="classify", epochs=60, lr=0.03)


def logs(model: Elmo, tokens: Tensor) -> tuple[Tensor, Tensor]:
    with torch.no_grad():
        return model.both_ways_logs(tokens)


def reversed_rows(tokens: Tensor) -> Tensor:
    """Sentences back to front, between BOS and EOS."""
    rows = [[BOS, *[int(id) for id in row if id >= FIRST][::-1], EOS] for row in tokens]
    return torch.tensor([row + [PAD] * (tokens.shape[1] - len(row)) for row in rows])


def swapped(model: Elmo) -> Elmo:
    """The same weights with the directions exchanged."""
    names = {"rightward.": "leftward.", "leftward.": "rightward."}
    arrays = {
        next((to + name.removeprefix(own) for own, to in names.items() if name.startswith(own)), name): one
        for name, one in model.arrays().items()
    }
    return Elmo.from_arrays(model.config, arrays)


def test_the_backward_model_is_a_forward_model_of_reversed_text() -> None:
    model = Elmo.tiny()
    backward = logs(model, TOKENS)[1]
    forward = logs(swapped(model), reversed_rows(TOKENS))[0]
    for row, length in enumerate((5, 3)):  # symbols that are predicted, the end included
        torch.testing.assert_close(forward[row, :length], backward[row, :length].flip(0))
    assert not (backward[1, 3:] != 0).any() and not (forward[1, 3:] != 0).any()


def test_each_direction_is_a_distribution_over_symbols() -> None:
    model, prompt = Elmo.tiny(), [BOS, 5, 6]
    possible = [id for id in range(9) if id not in model.config.suppressed and id != EOS]
    forward = sum(float(logs(model, torch.tensor([[*prompt, id, EOS]]))[0][0, 2].exp()) for id in possible)
    forward += float(logs(model, torch.tensor([[*prompt, EOS]]))[0][0, 2].exp())
    backward = sum(float(logs(model, torch.tensor([[BOS, id, 5, 6, EOS]]))[1][0, 1].exp()) for id in possible)
    backward += float(logs(model, torch.tensor([[BOS, 5, 6, EOS]]))[1][0, 0].exp())
    assert forward == pytest.approx(1.0, abs=1e-5) and backward == pytest.approx(1.0, abs=1e-5)


def test_neither_direction_sees_the_other_side() -> None:
    model, other = Elmo.tiny(), TOKENS.clone()
    other[0, 3] = 5
    with torch.no_grad():
        found, changed = (torch.stack(model.all_layers(one)) for one in (TOKENS, other))  # (L + 1, B, T, 2 D)
    forward, backward = (found != changed)[:, 0].any(-1).any(0), slice(8, None)
    assert forward.any()
    torch.testing.assert_close(found[:, 0, :3, :8], changed[:, 0, :3, :8])
    torch.testing.assert_close(found[:, 0, 4:, backward], changed[:, 0, 4:, backward])
    assert (found[1:, 0, 4, :8] != changed[1:, 0, 4, :8]).any()


def test_the_lowest_layer_is_the_word_twice() -> None:
    model = Elmo.tiny()
    with torch.no_grad():
        lowest = model.all_layers(TOKENS)[0][0, 1:5]
        torch.testing.assert_close(lowest[:, :8], lowest[:, 8:])
        torch.testing.assert_close(lowest[:, :8], model.embedding(TOKENS)[0, 1:5])


def test_a_mix_with_all_weight_on_one_layer_is_that_layer() -> None:
    body = Elmo.seeded(replace(Elmo.tiny().config, softmax=False), 0)
    real = (TOKENS != PAD).unsqueeze(-1)
    with torch.no_grad():
        for at, layer in enumerate(body.all_layers(TOKENS)):
            body.mix.weights.copy_(torch.where(torch.arange(3) == at, 100.0, 0.0))
            body.mix.gamma.fill_(2.0)
            torch.testing.assert_close(body.read(TOKENS, body.start(2))[0], 2.0 * layer * real)


def test_a_layer_above_the_first_adds_what_it_reads() -> None:
    model = Elmo.seeded(ElmoConfig(vocab_size=9, width=8, projection=4, word_length=6), 0)
    for stack in (model.rightward, model.leftward):
        torch.nn.init.zeros_(stack.projections[1].weight)  # type: ignore[arg-type]
        torch.nn.init.zeros_(stack.projections[1].bias)  # type: ignore[arg-type]
    with torch.no_grad():
        lowest, first, second = model.all_layers(TOKENS)
    torch.testing.assert_close(first, second)
    assert model.width == 8 and first.shape == lowest.shape == (2, 6, 8)


def test_a_hole_is_filled_by_the_product_of_both_directions() -> None:
    model, chances = Elmo.tiny(), []
    holed = TOKENS[:1].clone()
    holed[0, 2] = MASK
    for id in range(9):
        row = torch.tensor([[BOS, 5, id, 7, 8, EOS]])
        forward, backward = logs(model, row)
        chances.append(
            float(forward[0, 1] + backward[0, 2]) if id not in model.config.suppressed else -np.inf
        )
    with torch.no_grad():
        found = model.logits(model.read(holed, model.start(1))[0])[0, 2].softmax(0)
    torch.testing.assert_close(found, torch.tensor(chances).softmax(0))


def test_figures_are_those_of_each_direction(small: Bundle) -> None:
    figures = small.card["figures"]["valid"]
    corpus = encode(small.codec, lambda: [Texts.of(TEXTS[:3])])
    scores = direction_scores(small.body, corpus)
    assert figures["forward_perplexity"] == pytest.approx(scores["forward"].perplexity, rel=1e-4)
    assert figures["backward_perplexity"] == pytest.approx(scores["backward"].perplexity, rel=1e-4)
    assert scores["forward"].symbols == scores["backward"].symbols == corpus.symbols
    assert figures["forward_perplexity"] < 5 and figures["backward_perplexity"] < 5


def test_unseen_words_have_vectors_of_their_own(small: Bundle) -> None:
    one, other, known = (small.embed_symbols(text)[0] for text in ("the cats", "the dogs", "the cat"))
    assert one.symbols[2] == "cats"  # not <unk>
    assert np.abs(one.vectors[2] - other.vectors[2]).max() > 1e-3
    assert small.codec.size == small.body.config.vocab_size
    assert one.vectors.shape == (4, 32) and known.vectors.shape == (4, 32)


def test_a_classifier_on_a_frozen_body_tells_unseen_words_apart(small: Bundle, labelled: Bundle) -> None:
    assert {"cats", "dogs"}.isdisjoint(small.codec.tokens(range(small.codec.size)))
    assert [one.label for one in labelled.predict(["the cats sat", "the dog sat"])] == ["many", "one"]
    before, after = small.arrays(), labelled.arrays()
    assert np.array_equal(before["rightward.layers.0.cell.bias"], after["rightward.layers.0.cell.bias"])
    assert (after["mix.weights"] != 0).any() and after["mix.gamma"] != 1.0


def test_a_saved_classifier_answers_alike(labelled: Bundle, tmp_path: Path) -> None:
    labelled.save(tmp_path / "model")
    again = cr.load(tmp_path / "model")
    found, expected = (one.predict(["the zebras sat"])[0].probabilities for one in (again, labelled))
    assert found == pytest.approx(expected, abs=1e-6)


def test_weights_of_layers_can_be_heard(labelled: Bundle) -> None:
    body = labelled.body
    with tap.listening(body, "mix.*") as heard, torch.no_grad():
        body.read(torch.tensor([[BOS, FIRST, EOS]]), body.start(1))
    assert heard["mix.shares"][0].sum() == pytest.approx(1.0) and len(heard["mix.shares"][0]) == 3


def test_fill_finds_the_word_between_its_neighbours(small: Bundle) -> None:
    [guesses] = small.fill("the cat sat [MASK] the mat", k=2).masks
    assert guesses[0].symbol == "on" and guesses[0].probability > guesses[1].probability


def test_rare_words_are_read_by_their_letters_and_predicted_as_unknown() -> None:
    texts = [*TEXTS, "the aardvark sat"]
    model = cr.fit(texts, valid=TEXTS[:2], model="elmo", codec="words", min_count=2, width=8, epochs=1)
    assert "aardvark" not in model.codec.tokens(range(model.codec.size))
    assert UNK not in model.body.config.suppressed and np.isfinite(model.card["history"][-1]["valid"])


def test_fine_tuning_on_more_text_keeps_words_and_adds_new_ones(small: Bundle) -> None:
    more = cr.fit(
        ["a bird sat on the log"] * 8, init_from=small, valid=["a bird sat"], extend_vocab=True, epochs=2
    )
    assert more.codec.size == small.codec.size + 1
    spelled = more.arrays()["embedding.spellings"]
    assert np.array_equal(spelled, more.codec.spellings(24))


def test_show_prints_how_much_of_each_layer_a_task_takes(
    labelled: Bundle, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    labelled.save(tmp_path / "model")
    assert main(["show", str(tmp_path / "model"), "--json"]) == 0
    mix = json.loads(capsys.readouterr().out)["mix"]
    assert sum(mix["weights"]) == pytest.approx(1.0) and len(mix["weights"]) == 3
    assert mix["gamma"] == pytest.approx(float(labelled.arrays()["mix.gamma"].item()))
    assert main(["show", str(tmp_path / "model")]) == 0
    assert "mix of layers" in capsys.readouterr().out


def test_spellings_are_no_parameters(small: Bundle) -> None:
    numbers = sum(one.numel() for one in small.body.parameters())  # type: ignore[attr-defined]
    assert small.parameters == small.body.parameters_count == numbers
