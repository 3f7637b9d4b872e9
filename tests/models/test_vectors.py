"""Word vectors: what the methods learn, and that they learn it again."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

import chainrule as cr
from chainrule.errors import ConfigError, ModelError
from chainrule.models.vectors import VectorsConfig, WordVectors
from chainrule.models.vectors.glove import cooccurrences
from chainrule.models.vectors.learn import Words, stream_of
from chainrule.models.vectors.ngrams import buckets_of
from chainrule.progress import no_progress
from chainrule.symbols import BOS, EOS, FIRST, PAD, UNK

ANIMALS, TOOLS = ["cat", "dog", "cow", "hen"], ["saw", "axe", "rasp", "file"]
METHODS = [
    {"method": "skip-gram"},
    {"method": "cbow"},
    {"method": "glove"},
    {"subwords": True, "buckets": 500},
]


def sentences(count: int = 600) -> list[str]:
    """Two kinds of words, each with company of its own."""
    rng = np.random.default_rng(0)
    made = []
    for at in range(count):
        kind, verbs = (ANIMALS, ["eats", "sleeps"]) if at % 2 else (TOOLS, ["cuts", "rusts"])
        made.append(
            f"the {rng.choice(kind)} {rng.choice(verbs)} and the {rng.choice(kind)} {rng.choice(verbs)}"
        )
    return made


def fitted(**options: object) -> cr.Bundle:
    given = {"width": 16, "epochs": 30, "subsample": 0.0, "window": 3} | options
    return cr.fit(sentences(), model="vectors", codec="words", **given)


@pytest.mark.parametrize("options", METHODS, ids=lambda one: str(next(iter(one.values()))))
def test_words_of_the_same_contexts_are_alike(options: dict[str, object]) -> None:
    vectors = fitted(**options)
    found = [one.word for one in vectors.similar("cat", 5)]
    assert set(found) & set(ANIMALS) == {"dog", "cow", "hen"}, found
    assert vectors.similar("saw", 1).neighbours[0].similarity <= 1.0001


@pytest.mark.parametrize("options", METHODS, ids=lambda one: str(next(iter(one.values()))))
def test_one_thread_and_a_seed_give_the_same_vectors(
    options: dict[str, object], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CHAINRULE_THREADS", "1")
    one, two, other = (fitted(**options, seed=seed, epochs=2).body.arrays() for seed in (3, 3, 4))
    assert all(np.array_equal(one[name], two[name]) for name in one)
    assert not np.array_equal(one["vectors"], other["vectors"])


def test_threads_without_locks_learn_the_same_neighbours(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CHAINRULE_THREADS", "2")
    monkeypatch.setattr("chainrule.models.vectors.learn.PIECE", 1000)
    found = {one.word for one in fitted().similar("axe", 4)}
    assert {"saw", "rasp", "file"} <= found, found


def test_reading_gives_the_vectors_of_symbols_and_zeros_for_padding() -> None:
    body = WordVectors.tiny()
    hidden, _ = body.read(torch.tensor([[FIRST, FIRST + 1], [FIRST + 1, PAD]]), body.start(2))
    assert hidden.shape == (2, 2, body.width) and torch.equal(hidden[0, 1], hidden[1, 0])
    assert not hidden[1, 1].any()


def test_saved_vectors_are_the_same_and_embed(tmp_path: Path) -> None:
    vectors = fitted(subwords=True, buckets=100, epochs=1)
    vectors.save(tmp_path / "V")
    again = cr.load(tmp_path / "V", verify=True)
    assert again.similar("cat", 3) == vectors.similar("cat", 3)
    assert again.similar("cats", 2) == vectors.similar("cats", 2)
    assert again.embed(["the cat", "the axe"]).shape == (2, 16)


def test_unseen_words_have_vectors_by_their_letters_with_subwords_only() -> None:
    vectors = fitted(subwords=True, buckets=2000)
    found = vectors.similar("sleepses", 4)
    assert not found.known and "sleeps" in {one.word for one in found}
    with pytest.raises(ModelError, match="Did you mean 'sleeps'"):
        fitted(epochs=1).similar("sleepss")


def test_analogies_are_ranked_without_and_with_the_words_of_the_question() -> None:
    table = np.zeros((FIRST + 5, 2), np.float32)
    table[FIRST:] = [[1, 0.1], [1, 1], [0.1, 0.1], [0.1, 1], [-1, -1]]  # man king woman queen stone
    made = _with_table(["man", "king", "woman", "queen", "stone"], table)
    found = made.analogy("man", "king", "woman", 3)
    assert next(one.word for one in found) == "queen"
    assert {one.word for one in found} & {"man", "king", "woman"} == set()
    assert len(found.with_query) == 3 and len(made.analogy("man", "king", "woman").with_query) == 5


def _with_table(words: list[str], table: np.ndarray) -> cr.Bundle:
    from chainrule.codecs.vocabulary import Vocabulary
    from chainrule.codecs.words import Words as Codec
    from chainrule.codecs.words import WordsConfig

    codec = Codec(WordsConfig(), Vocabulary(tuple(word.encode() for word in words)))
    config = VectorsConfig(vocab_size=codec.size, width=table.shape[1])
    return cr.Bundle.of(codec, WordVectors(config, {"vectors": table}))


@pytest.mark.parametrize("method", ["orthogonal", "linear"])
def test_a_map_from_a_dictionary_translates_words_it_was_not_learnt_from(method: str) -> None:
    from chainrule.use.map_vectors import map_vectors

    rng = np.random.default_rng(0)
    size, width = 300, 20
    ours = rng.normal(size=(size, width))
    turn = np.linalg.qr(rng.normal(size=(width, width)))[0]
    theirs = ours @ turn + 0.1 * rng.normal(size=ours.shape)
    nothing = np.zeros((FIRST, width))
    pair = [np.concatenate([nothing, one]).astype(np.float32) for one in (ours, theirs)]
    here, there = ([f"{name}{at}" for at in range(size)] for name in "ab")
    source, target = _with_table(here, pair[0]), _with_table(there, pair[1])
    dictionary = list(zip(here[:150], there[:150], strict=True))
    found = map_vectors(source, target, dictionary, method)
    assert found.held_out == 30 and found.pairs == 150
    assert found.precision_at_1 is not None and found.precision_at_1 >= 0.9
    assert found.bundle.similar("a250", 1, among=target).neighbours[0].word == "b250"
    wrong = map_vectors(source, target, [(a, there[rng.integers(size)]) for a, _ in dictionary], method)
    assert wrong.precision_at_1 is not None and wrong.precision_at_1 < 0.3


def test_pairs_are_counted_once_each_and_weighted_by_distance() -> None:
    stream = np.array([0, 1, 0, -1, 1, 2], np.int32)
    keys, weights = cooccurrences(stream, 3, 2, no_progress)
    assert dict(zip(keys.tolist(), weights.tolist(), strict=True)) == {0: 0.5, 1: 2.0, 5: 1.0}


def test_streams_leave_out_unknown_words_and_keep_sentences_apart() -> None:
    ids = np.array([BOS, FIRST, UNK, FIRST + 2, EOS, BOS, FIRST + 1, EOS], np.int32)
    assert stream_of(ids).tolist() == [0, 2, -1, 1, -1]


def test_words_are_drawn_by_the_three_quarter_power_of_their_counts() -> None:
    counts = np.array([1000, 100, 10, 1])
    chance, alias = Words(counts).alias()
    drawn = chance / len(counts)
    for column, other in enumerate(alias):
        drawn[other] += (1 - chance[column]) / len(counts)
    np.testing.assert_allclose(drawn, counts**0.75 / (counts**0.75).sum(), rtol=1e-5)


def test_buckets_are_those_of_fasttext() -> None:
    from gensim.models.fasttext import ft_ngram_hashes

    for word in ("house", "a", "größer", "東京"):
        assert sorted(buckets_of(word, (3, 6), 2000)) == sorted(ft_ngram_hashes(word, 3, 6, 2000)), word


def test_few_words_wrong_lengths_and_subwords_of_glove_are_refused() -> None:
    with pytest.raises(ConfigError, match="--min-count"):
        cr.fit(["a b c", "d e f"], model="vectors", codec="words")
    with pytest.raises(ConfigError, match="3,6"):
        VectorsConfig(ngrams=(6, 3))
    with pytest.raises(ConfigError, match="whole words"):
        VectorsConfig(method="glove", subwords=True)
    lm = cr.fit(sentences(50), model="ngram", codec="words")
    with pytest.raises(ModelError, match="--model vectors"):
        lm.similar("cat")


def test_everything_is_learnt_from_and_a_test_part_is_judged() -> None:
    rng = np.random.default_rng(0)
    lists = [" ".join(rng.permutation(TOOLS if at % 2 else ANIMALS)) for at in range(300)]
    options = {"width": 16, "epochs": 10, "subsample": 0.0}
    vectors = cr.fit(lists[:200], test=lists[200:], model="vectors", codec="words", **options)
    assert vectors.card["data"]["sequences"] == 200 and "valid" not in vectors.card["figures"]
    assert (
        vectors.card["figures"]["test"]["neighbour_auc"] > 0.6
    )  # half of the strangers are of the kind, too
