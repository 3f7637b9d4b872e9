"""Filters, mixing weights, vectors and losses: the numbers of these views."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

import chainrule as cr
from fitted import LINES, fitted
from views.seen import gpt, small

ROWS = [f"{line} {at}" for at in range(10) for line in LINES]
CSV = "text,label\n" + "\n".join(f"{line},{'yes' if 'weather' in line else 'no'}" for line in ROWS)


@pytest.fixture(scope="module")
def cnn(tmp_path_factory: pytest.TempPathFactory) -> cr.Bundle:
    path = tmp_path_factory.mktemp("cnn") / "t.csv"
    path.write_text(CSV)
    return cr.fit(
        str(path),
        task="classify",
        label="label",
        model="cnn",
        filters=6,
        widths=(2, 3),
        embedding=8,
        epochs=2,
    )


def test_a_filter_fires_as_the_formula_says(cnn: cr.Bundle, tmp_path: Path) -> None:
    (tmp_path / "corpus.txt").write_text("\n".join(LINES))
    [model] = cr.look(cnn, view="filters", corpus=str(tmp_path / "corpus.txt"), best=2)["models"]
    body, checked = cnn.body, 0
    known = {token: at for at, token in enumerate(cnn.codec.tokens(range(cnn.codec.size)))}
    for row in model["filters"]:
        layer = body.layers[0]  # type: ignore[attr-defined]
        weight = layer.weights[row["filter"] // 6][row["filter"] % 6]  # (width, E)
        for ngram in row["ngrams"]:
            if "·" in ngram["words"]:
                continue
            ids = torch.tensor([known[word] for word in ngram["words"]])
            with torch.no_grad():
                wanted = (weight * body.embedding(ids)).sum() + layer.bias[row["filter"]]  # type: ignore[attr-defined]
            assert ngram["strength"] == pytest.approx(float(wanted), abs=1e-4)
            checked += 1
    assert checked >= 10
    assert {len(row["ngrams"][0]["words"]) for row in model["filters"]} <= {2, 3}


def test_a_filter_votes_for_the_label_whose_weight_is_largest(cnn: cr.Bundle) -> None:
    [model] = cr.look(cnn, "what is the weather", view="filters")["models"]
    weights = cnn.arrays()["head/output.weight"]
    labels = cnn.codecs["label"].tokens(range(5, cnn.codecs["label"].size))
    for row in model["filters"]:
        assert row["label"] == labels[int(weights[:, row["filter"]].argmax())]


def test_filters_with_a_word_are_found(cnn: cr.Bundle) -> None:
    [model] = cr.look(cnn, "what is the weather", view="filters", find="weather")["models"]
    assert model["filters"]
    assert all(any("weather" in one["words"] for one in row["ngrams"]) for row in model["filters"])


def test_a_family_without_filters_says_which_has_them() -> None:
    with pytest.raises(cr.ChainruleError, match="cnn"):
        cr.look(gpt(), "what", view="filters")


def test_the_plane_of_pca_keeps_the_distances_of_a_plane() -> None:
    from chainrule.views.vectors import projected

    random = np.random.default_rng(0)
    flat = random.normal(size=(9, 2))
    turned, _ = np.linalg.qr(random.normal(size=(7, 7)))
    points, told = projected(flat @ turned[:2], "pca", 0)

    def distances(of: np.ndarray) -> np.ndarray:
        return np.asarray(np.linalg.norm(of[:, None] - of[None], axis=-1))

    np.testing.assert_allclose(distances(points), distances(flat), atol=1e-9)
    assert "100%" in told


def test_names_on_a_map_stay_inside_the_picture() -> None:
    from chainrule.views.kinds import kind_named
    from chainrule.views.scene import Words, breadth

    texts = "what is the weather today in the town | the weather is fine and it is not late today"
    scene = kind_named("vectors").scene(cr.look(gpt(context=64), texts, view="vectors"))
    for part in scene.parts:
        if isinstance(part, Words):
            right = part.x + (0 if part.anchor == "end" else breadth(part.text, part.size))
            assert 0 <= right <= scene.width


def test_words_in_contexts_have_the_vectors_that_embed_gives() -> None:
    lm = gpt()
    texts = "what is the weather | the weather is fine"
    [model] = cr.look(lm, texts, view="vectors", word="weather")["models"]
    one, other = (
        found.vectors[found.symbols.index("weather")] for found in lm.embed_symbols(texts.split(" | "))
    )
    cosine = one @ other / np.linalg.norm(one) / np.linalg.norm(other)
    assert model["similarity"][0, 1] == pytest.approx(cosine, abs=1e-5)
    with pytest.raises(cr.ChainruleError, match="two are needed"):
        cr.look(lm, texts, view="vectors", word="today")


def test_neighbours_and_analogies_are_those_of_the_vectors(tmp_path: Path) -> None:
    path = tmp_path / "text.txt"
    path.write_text("\n".join(LINES * 4))
    wv = cr.fit(str(path), model="vectors", width=8, min_count=1, epochs=1)
    [model] = cr.look(wv, "weather time", view="vectors", neighbours=2, analogy="what is the")["models"]
    assert [one["word"] for one in model["neighbours"][0]] == [one.word for one in wv.similar("weather", 2)]
    answer = wv.analogy("what", "is", "the", 1).answers[0].word
    assert model["names"] == list(dict.fromkeys(["weather", "time", "what", "is", "the", answer]))
    assert len(model["lines"]) == 4


def test_the_shares_of_layers_are_the_softmax_of_their_weights() -> None:
    elmo = small("elmo", width=8, letter_embedding=4, word_length=8, layers=2, softmax=False)
    with torch.no_grad():
        elmo.body.mix.weights.copy_(torch.tensor([0.0, 1.0, 2.0]))  # type: ignore[attr-defined]
    [model] = cr.look(elmo, view="mixing")["models"]
    np.testing.assert_allclose(model["shares"], torch.tensor([0.0, 1.0, 2.0]).softmax(0).numpy(), rtol=1e-6)
    assert len(cr.look(elmo, view="mixing")["models"][0]["steps"]) == 0
    with pytest.raises(cr.ChainruleError, match="--from ELMO"):
        cr.look(gpt(), view="mixing")


def test_the_curves_of_training_are_the_history_and_those_of_a_run(tmp_path: Path) -> None:
    path = tmp_path / "text.txt"
    path.write_text("\n".join(LINES * 4))
    lm = cr.fit(str(path), model="gru", width=8, tokens=2_000)
    [model] = cr.look(lm, view="training")["models"]
    assert model["steps"].tolist() == [row["step"] for row in lm.history]
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "metrics.jsonl").write_text(
        '{"step": 1, "train": 3.0}\n{"step": 2, "train": 2.5, "lr": 0.1}\n'
    )
    [model] = cr.look(lm, view="training", run=str(tmp_path / "run"))["models"]
    assert model["curves"]["train"].tolist() == [3.0, 2.5]
    assert np.isnan(model["curves"]["lr"][0])
    with pytest.raises(cr.ChainruleError, match="no loss curve"):
        cr.look(fitted(), view="training")
    with pytest.raises(cr.ChainruleError, match="no folder of a run"):
        cr.look(lm, view="training", run=str(tmp_path / "none"))


def test_recall_is_the_mean_probability_of_the_last_symbol_at_each_distance(tmp_path: Path) -> None:
    rows = [
        "the is is the",
        "what the what",
        "time is the time",
        "is it it is fine",
        "zebra it zebra",
    ]  # the last two ask nothing: a new symbol, and one that is not known
    (tmp_path / "rows.txt").write_text("\n".join(rows))
    one, other = fitted(order=3), fitted(order=1)
    view = cr.look([one, other], view="recall", corpus=str(tmp_path / "rows.txt"))
    assert view["distances"].tolist() == [2, 3]
    assert view["counts"].tolist() == [1, 2]
    for model, lm in enumerate((one, other)):
        found = {row: 2 ** -lm.score(row).tokens[-2].bits for row in rows[:3]}
        wanted = [found[rows[1]], (found[rows[0]] + found[rows[2]]) / 2]
        np.testing.assert_allclose(view["probabilities"][model], wanted, rtol=1e-4)
    assert view["chance"] == pytest.approx(1 / 3)
    with pytest.raises(cr.ChainruleError, match="--corpus"):
        cr.look(one, view="recall")
    with pytest.raises(cr.ChainruleError, match="reads both ways"):
        cr.look(small("bert", width=8, heads=2), view="recall", corpus=str(tmp_path / "rows.txt"))


def test_the_curve_of_a_run_that_translates_is_shown_without_samples(tmp_path: Path) -> None:
    data = {"source": ["a b", "b a"] * 20, "target": ["b a", "a b"] * 20}
    mt = cr.fit(data, model="seq2seq", width=8, steps=6, codec="words", run=str(tmp_path / "run"), keep=3)
    [model] = cr.look(mt, "a b", view="training", run=str(tmp_path / "run"))["models"]
    assert len(model["steps"]) and model["kept"] == []


def test_a_run_that_keeps_models_shows_what_each_would_say(tmp_path: Path) -> None:
    path = tmp_path / "text.txt"
    path.write_text("\n".join(LINES * 8))
    lm = cr.fit(str(path), model="gru", width=8, tokens=3_000, run=str(tmp_path / "run"), keep=4)
    [model] = cr.look(lm, "what is", view="training", run=str(tmp_path / "run"), length=5, best=3)["models"]
    steps = [one["step"] for one in model["kept"]]
    assert 2 <= len(steps) <= 4 and steps == sorted(steps) and steps[-1] == lm.history[-1]["step"]
    firsts, lasts = model["kept"][0]["probabilities"], model["kept"][-1]["probabilities"]
    assert not np.allclose(firsts, lasts)
    assert {"lr", "gradient norm", "clipped"} <= set(model["curves"])
    assert (model["curves"]["gradient norm"] > 0).any()
    assert "what it" not in str(cr.look(lm, view="training"))
    other = small("gru", layers=1, width=4)
    other.card["history"] = lm.card["history"]
    with pytest.raises(cr.ChainruleError, match="no weights of this gru"):
        cr.look(other, "what", view="training", run=str(tmp_path / "run"))


def test_a_task_notes_how_much_it_uses_of_each_layer_while_it_learns(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text(CSV)
    sizes = {"width": 8, "letter_embedding": 4, "word_length": 8, "layers": 1}
    lm = cr.fit(str(path), task="classify", label="label", model="elmo", epochs=3, **sizes)
    view = cr.look(lm, view="mixing")
    [model] = view["models"]
    assert model["over"].shape == (len(model["steps"]), 2) and len(model["steps"]) > 1
    np.testing.assert_allclose(model["over"].sum(1), 1.0, rtol=1e-5)
    assert not np.allclose(model["over"][0], model["over"][-1])
    view.save(tmp_path / "a.svg")
    assert (tmp_path / "a.svg").read_text().count("<polyline") >= 2


@pytest.mark.parametrize(("view", "end"), [("masked", ""), ("saliency", "[MASK]")])
def test_a_text_longer_than_the_context_is_refused(view: str, end: str) -> None:
    bert = small("bert", layers=1, width=8, heads=2, context=8)
    with pytest.raises(cr.ChainruleError, match="reads 8 at most"):
        cr.look(bert, "what is the weather " * 4 + end, view=view)


def test_a_text_of_unknown_symbols_alone_has_nothing_to_hide() -> None:
    bert = small("bert", layers=1, width=8, heads=2, context=8)
    with pytest.raises(cr.ChainruleError, match="knows no symbol"):
        cr.look(bert, "ééé", view="masked")
