"""IBM model 1: EM as in the textbook, links as in a toy that knows them, probabilities that sum to one."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import torch

import chainrule as cr
from chainrule.data.examples import example
from chainrule.errors import ConfigError, ModelError
from chainrule.judge.alignment import AlignmentScore, Gold, alignment_score, diagonal
from chainrule.models.ibm1 import NULL, Ibm1, Ibm1Config, Lexicon
from chainrule.models.readers import Parallel
from chainrule.progress import no_progress
from chainrule.symbols import BOS, EOS, FIRST, PAD

THE, HOUSE, BOOK, A = range(FIRST, FIRST + 4)
DAS, HAUS, BUCH, EIN = range(FIRST, FIRST + 4)
ENGLISH, GERMAN = [[THE, HOUSE], [THE, BOOK], [A, BOOK]], [[DAS, HAUS], [DAS, BUCH], [EIN, BUCH]]


def parallel(sources: list[list[int]], targets: list[list[int]]) -> Parallel:
    return Parallel.of(
        [np.array(one, np.int64) for one in sources], [np.array(one, np.int64) for one in targets]
    )


def settings(**options: object) -> Ibm1Config:
    return Ibm1Config(vocab_size=FIRST + 4, source_size=FIRST + 4, **options)


def by_all_alignments(
    sources: list[list[int]], targets: list[list[int]], rounds: int
) -> dict[tuple[int, int], float]:
    """EM over every alignment of every pair, as model 1 is defined."""
    pairs = [([NULL, *x], y) for x, y in zip(sources, targets, strict=True)]
    table = {(i, j): 1.0 for x, y in pairs for i in x for j in y}
    for _ in range(rounds):
        counts = dict.fromkeys(table, 0.0)
        totals = {i: sum(p for (one, _), p in table.items() if one == i) for i, _ in table}
        for x, y in pairs:
            ways = list(itertools.product(x, repeat=len(y)))
            chances = [
                np.prod([table[i, j] / totals[i] for i, j in zip(way, y, strict=True)]) for way in ways
            ]
            for way, chance in zip(ways, chances, strict=True):
                for link in zip(way, y, strict=True):
                    counts[link] += chance / sum(chances)
        table = counts
    totals = {i: sum(p for (one, _), p in table.items() if one == i) for i, _ in table}
    return {(i, j): p / totals[i] for (i, j), p in table.items()}


@pytest.mark.parametrize("rounds", [1, 2, 5])
def test_em_equals_em_over_all_alignments(rounds: int) -> None:
    found = Lexicon.learnt(settings(iterations=rounds, diagonal=0.0), parallel(ENGLISH, GERMAN), no_progress)
    for (source, target), chance in by_all_alignments(ENGLISH, GERMAN, rounds).items():
        assert found(np.array(source), np.array(target)) == pytest.approx(chance, abs=2e-6)


def test_words_are_told_apart_by_where_else_they_stand() -> None:
    model = Ibm1.learn(settings(iterations=50, diagonal=0.0), parallel(ENGLISH, GERMAN))
    assert model.aligned(np.array([THE, BOOK]), np.array([BUCH, DAS])).tolist() == [1, 0]
    assert model.aligned(np.array([THE]), np.array([EIN])).tolist() == [-1]  # never together


def test_a_target_is_as_probable_as_the_definition_says() -> None:
    """(1 - smoothing) / (S + 1) · sum over NULL and source of t, and the chance to continue or to end."""
    model = Ibm1.learn(settings(diagonal=0.0, smoothing=0.1), parallel(ENGLISH, GERMAN))
    source, target = torch.tensor([[THE, BOOK, PAD, EOS]]), [BUCH, DAS]
    tokens, wanted = torch.tensor([[BOS, *target]]), torch.tensor([[*target, EOS]])
    found, _ = model.score(tokens, wanted, model.start(1, source))
    for at, word in enumerate(target):
        chance = sum(float(model.lexicon(np.array(x), np.array(word))) for x in (NULL, THE, BOOK)) / 3
        continuing, _ = model.ends(np.array([[THE, BOOK]]), np.array([[at]]))[0, 0]
        assert float(found[0, at]) == pytest.approx(
            np.log(0.9 * chance + 0.1 * model.unigram[word]) + continuing
        )


def test_the_toy_is_aligned_better_than_by_the_diagonal() -> None:
    rows = [line.split("\t") for line in example("aligned")[1].splitlines()[1:1501]]
    words = [sorted({word for row in rows for word in row[side].split()}) for side in (0, 1)]
    ids = [{word: FIRST + at for at, word in enumerate(each)} for each in words]
    sides = [[[ids[side][word] for word in row[side].split()] for row in rows] for side in (0, 1)]
    config = Ibm1Config(vocab_size=FIRST + len(words[1]), source_size=FIRST + len(words[0]), diagonal=0.0)
    model = Ibm1.learn(config, parallel(*sides))
    gold = [Gold.read(row[2]) for row in rows[:200]]
    found = []
    for x, y in list(zip(*sides, strict=True))[:200]:
        places = model.aligned(np.array(x), np.array(y))
        found.append(frozenset((int(i), j) for j, i in enumerate(places) if i >= 0))
    lengths = [(len(x), len(y)) for x, y in zip(*sides, strict=True)][:200]
    plain = alignment_score([diagonal(*one) for one in lengths], gold).error
    assert alignment_score(found, gold).error < 0.25 < 0.6 < plain


def test_alignment_error_is_that_of_och_and_ney() -> None:
    gold = Gold.read("0-0 1-1 2?1")
    assert (gold.sure, gold.possible) == ({(0, 0), (1, 1)}, {(0, 0), (1, 1), (2, 1)})
    # A = {00, 21, 33}: one sure, two possible: 1 - (1 + 2) / (3 + 2)
    found = alignment_score([frozenset({(0, 0), (2, 1), (3, 3)})], [gold])
    assert (
        found.error == pytest.approx(0.4) and found.precision == pytest.approx(2 / 3) and found.recall == 0.5
    )
    assert AlignmentScore().error == 0.0 and diagonal(4, 2) == {(1, 0), (3, 1)}
    with pytest.raises(Exception, match="'0:1'"):
        Gold.read("0:1")


def test_it_translates_word_by_word_and_is_saved(tmp_path: object) -> None:
    pairs = {"source": ["one two", "two three", "three one", "one", "two"] * 8, "target": []}
    pairs["target"] = [
        one.replace("one", "1").replace("two", "2").replace("three", "3") for one in pairs["source"]
    ]
    model = cr.fit(pairs, model="ibm1", codec="words", min_count=1)
    assert [one.text for one in model.translate(["two one", "three two", "three", "of it"])][:3] == [
        "2 1",
        "3 2",
        "3",
    ]
    model.save(tmp_path / "mt")  # type: ignore[operator]
    again = cr.load(tmp_path / "mt")  # type: ignore[operator]
    assert again.translate(["two one"])[0] == model.translate(["two one"])[0]


def test_what_it_cannot_learn_from_is_refused() -> None:
    with pytest.raises(ModelError, match="no pairs"):
        Ibm1.learn(settings(), parallel([], []))
    with pytest.raises(ConfigError, match="'translate'"):
        cr.fit(["a b"] * 30, model="ibm1", task="next")


@pytest.mark.parametrize("name", ["keys", "probabilities", "unigram", "lengths"])
def test_arrays_that_do_not_fit_are_refused(name: str) -> None:
    model = Ibm1.tiny()
    arrays = dict(model.arrays())
    arrays[name] = arrays[name][:-1]
    with pytest.raises(ModelError, match="do not fit"):
        Ibm1.from_arrays(model.config, arrays)
    with pytest.raises(ModelError, match="do not fit"):
        Ibm1.from_arrays(model.config, dict(model.arrays()) | {"keys": -model.arrays()["keys"]})
