"""METEOR by worked examples of its definition, Porter's stemmer by published pairs, WordNet by tiny files."""

from __future__ import annotations

from itertools import combinations, permutations
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from nltk.stem.porter import PorterStemmer

from chainrule.errors import DataError
from chainrule.judge.meteor import Links, Meteor, MeteorConfig, chunks, extended
from chainrule.judge.porter import stem
from chainrule.judge.wordnet import WordNet

# Of every step of the paper (Porter 1980), as it stands in its tables, then whole words.
PUBLISHED = """caresses caress, ponies poni, ties ti, caress caress, cats cat, feed feed, agreed agre,
plastered plaster, bled bled, motoring motor, sing sing, conflated conflat, troubled troubl, sized size, hopping hop,
tanned tan, falling fall, hissing hiss, fizzed fizz, failing fail, filing file, happy happi, sky sky, relational relat,
conditional condit, rational ration, digitizer digit, vietnamization vietnam, predication predic, operator oper,
feudalism feudal, decisiveness decis, hopefulness hope, callousness callous, formaliti formal, sensitiviti sensit,
triplicate triplic, formative form, formalize formal, electrical electr, hopeful hope, goodness good, revival reviv,
allowance allow, inference infer, airliner airlin, adjustable adjust, irritant irrit, replacement replac,
adjustment adjust, dependent depend, adoption adopt, communism commun, activate activ, homologous homolog,
effective effect, bowdlerize bowdler, probate probat, rate rate, cease ceas, controll control, roll roll,
generalizations gener, oscillators oscil"""
LICENCE = "  1 This software and database is being provided to you, the LICENSEE, by Princeton\n"
NOUNS = """boy n 1 1 @ 1 1 10285313
car n 2 2 @ ~ 2 1 02958343 02959942
auto n 1 1 @ 1 1 02958343
cat n 1 1 @ 1 0 02121620
mouse n 1 1 @ 1 0 02330245
"""


@pytest.fixture
def wordnet(tmp_path: Path) -> Path:
    (tmp_path / "index.noun").write_text(LICENCE + NOUNS)
    (tmp_path / "index.verb").write_text("buy v 1 1 @ 1 1 02207206\npurchase v 1 1 @ 1 1 02207206\n")
    (tmp_path / "noun.exc").write_text("mice mouse\n")
    return tmp_path


def judged(said: str, wanted: str, **options: object) -> tuple[tuple[int, ...], float]:
    config = MeteorConfig(**options)
    numbers = Meteor.of(config).numbers(said.split(), wanted.split())
    return numbers, config.figure(*numbers)


@pytest.mark.parametrize("pair", PUBLISHED.split(","))
def test_stems_are_those_of_the_paper(pair: str) -> None:
    word, wanted = pair.split()
    assert stem(word) == wanted


@settings(deadline=None)
@given(st.text("abeiounlstyzwxgdrm", min_size=3, max_size=7), st.sampled_from(
    ["", "s", "ing", "ed", "eed", "ation", "ational", "ness", "y", "ies", "ion", "ement", "ll", "e", "ousli", "biliti"]
))  # fmt: skip
def test_stems_are_those_of_another_implementation_of_the_paper(word: str, ending: str) -> None:
    other = PorterStemmer(mode=PorterStemmer.ORIGINAL_ALGORITHM)
    assert stem(word + ending) == other.stem(word + ending)


def test_the_same_text_in_one_chunk() -> None:
    # m = 6, P = R = F = 1, one chunk: 1 - 0.5 (1/6)^3 = 0.9977
    assert judged("the cat sat on the mat", "the cat sat on the mat") == (
        (6, 1, 6, 6),
        pytest.approx(1 - 0.5 / 216),
    )


def test_chunks_of_the_paper() -> None:
    # `the president` and `spoke to the audience`: P = 1, R = 6/7, F = 60/69, penalty 0.5 (2/6)^3
    found = judged("the president spoke to the audience", "the president then spoke to the audience")
    assert found == ((6, 2, 6, 7), pytest.approx(60 / 69 * (1 - 0.5 / 27)))


def test_crossings_decide_before_chunks() -> None:
    # on 4, the 5, mat 6, sat 3, the 1, cat 2 would have 11 crossings and 3 chunks; with the two `the` exchanged
    # there are 8 crossings and 6 chunks, and that alignment counts: 1 - 0.5 (6/6)^3 = 0.5
    assert judged("on the mat sat the cat", "the cat sat on the mat") == ((6, 6, 6, 6), pytest.approx(0.5))


def test_a_word_too_many() -> None:
    # P = 6/7, R = 1, F = 10 P R / (R + 9 P) = 60/61; two chunks: F (1 - 0.5 (2/6)^3) = 0.9654
    found = judged("the cat was sat on the mat", "the cat sat on the mat")
    assert found == ((6, 2, 7, 6), pytest.approx(60 / 61 * (1 - 0.5 / 27)))


def test_parameters_of_2007() -> None:
    # m = 2 of 3 and 4 words, 2 chunks: F = (2/3 · 1/2) / (0.81 · 2/3 + 0.19 · 1/2) = 0.52493, times 1 - 0.28 · 1^0.83
    numbers = judged("a x c", "a b c d", meteor_alpha=0.81, meteor_beta=0.83, meteor_gamma=0.28)
    assert numbers == ((2, 2, 3, 4), pytest.approx((1 / 3) / (0.54 + 0.095) * 0.72))


def test_a_stage_aligns_only_what_the_stages_before_it_left() -> None:
    # exact links the second `runs`; the stem stage links `running` to `run`: 2 matches, 1 + 1 chunks
    assert judged("running runs", "runs run")[0] == (2, 2, 2, 2)
    assert judged("running runs", "runs run", meteor_stem=False)[0] == (1, 1, 2, 2)


def test_synonyms_come_from_words_not_from_their_stems(wordnet: Path) -> None:
    # `cars` is no stem of WordNet and `autos` is none; their base forms share synset 02958343.
    # m = 4 in 1 chunk: 1 - 0.5 (1/4)^3
    said, wanted = "the boys purchased autos", "the boy bought cars"
    assert judged(said, wanted)[0][0] == 2  # the, boy(s) by stem
    numbers, figure = judged(
        said.replace("purchased", "purchase"), wanted.replace("bought", "buys"), wordnet=str(wordnet)
    )
    assert numbers == (4, 1, 4, 4) and figure == pytest.approx(1 - 0.5 / 64)
    assert WordNet.opened(wordnet).synonyms("mice", "mouse")
    assert not WordNet.opened(wordnet).synonyms("cat", "car") and not WordNet.opened(wordnet).synonyms(
        "x", "y"
    )


def test_a_folder_that_is_no_wordnet_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"no index\.noun"):
        WordNet.opened(tmp_path)
    (tmp_path / "index.noun").write_text("boy n one\n")
    with pytest.raises(DataError, match="line 1: a word and the places"):
        WordNet.opened(tmp_path).synsets("boy")


def test_nothing_in_common_is_nothing() -> None:
    assert judged("a b", "c d") == ((0, 0, 2, 2), 0.0)
    assert judged("", "c d")[1] == 0.0


LETTERS = st.lists(st.sampled_from("abc"), min_size=1, max_size=5)
NEAR = {("a", "b"), ("b", "c")}  # a stage that is no equivalence


@settings(deadline=None)
@given(LETTERS, LETTERS)
def test_the_search_finds_what_trying_all_alignments_finds(said: list[str], wanted: list[str]) -> None:
    def stage(one: str, two: str) -> bool:
        return one == two or (one, two) in NEAR or (two, one) in NEAR

    start: Links = tuple(
        0 if at == len(said) - 1 and said[at] == wanted[0] else None for at in range(len(said))
    )
    free = [at for at in range(len(said)) if start[at] is None]
    places = [place for place in range(len(wanted)) if place not in start]
    costs = []
    for size in range(min(len(free), len(places)) + 1):
        for some, order in (
            (one, two) for one in combinations(free, size) for two in permutations(places, size)
        ):
            if all(stage(said[at], wanted[place]) for at, place in zip(some, order, strict=True)):
                links = list(start)
                for at, place in zip(some, order, strict=True):
                    links[at] = place
                costs.append(cost(tuple(links)))
    assert cost(extended(start, said, wanted, stage)) == min(costs)


def cost(links: Links) -> tuple[int, int, int]:
    real = [place for place in links if place is not None]
    assert len(set(real)) == len(real)
    return -len(real), sum(one > two for one, two in combinations(real, 2)), chunks(links)


@pytest.mark.parametrize("name", ["index.noun", "noun.exc"])
def test_a_damaged_file_of_wordnet_is_refused(name: str, wordnet: Path) -> None:
    (wordnet / name).write_bytes(b"mice \xff\n")
    with pytest.raises(DataError, match="cannot be read"):
        WordNet.opened(wordnet).synonyms("mice", "cat")
