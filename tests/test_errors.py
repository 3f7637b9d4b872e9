"""Names that are suggested for wrong ones, and names of other tools."""

from __future__ import annotations

from collections.abc import Callable

import pytest

import chainrule as cr
from chainrule.aliases import our_name, our_spelling
from chainrule.bundle import Bundle
from chainrule.errors import near, suggest
from fitted import LINES, fitted

FLAGS = "--lr --layers --width --batch-size --budget --epochs --seq-len --clip-norm --dropout --heads".split()
FLAGS += "--embedding --embedding-dropout --weight-decay --min-count --model --codec --valid --vocab".split()


@pytest.mark.parametrize(
    ("word", "names"),
    [
        ("--lerning", []),
        ("--lyers", ["--layers"]),
        ("--layer", ["--layers"]),
        ("--batchsize", ["--batch-size"]),
        ("--size", ["--batch-size"]),
        ("--decay", ["--weight-decay"]),
        ("--mincount", ["--min-count"]),
        ("--Vocab", ["--vocab"]),
        ("--embed", ["--embedding", "--embedding-dropout"]),
        ("--x", []),
        ("--something-else-altogether", []),
    ],
)
def test_near_names_are_suggested_and_no_others(word: str, names: list[str]) -> None:
    assert near(word, FLAGS) == names


def test_the_dashes_that_flags_have_in_common_make_none_of_them_alike() -> None:
    assert near("--lr", [flag for flag in FLAGS if flag != "--lr"]) == []


def test_one_to_three_names_are_suggested_or_a_few_listed() -> None:
    assert suggest("layer", ["layers", "order"]) == "Did you mean 'layers'?"
    assert suggest("part-x", [f"part-{n}" for n in range(50)]).count("part-") == 3
    assert suggest("x", ["gas", "wood"]) == "Known: gas, wood."
    assert suggest("x", [f"name{n}" for n in range(50)]) == ""


def test_a_name_of_other_tools_is_the_first_of_ours_that_is_there() -> None:
    assert our_name("learning_rate", {"lr", "layers"}) == "lr"
    assert our_name("max_len", {"context", "seq_len"}) == "context"
    assert our_name("max_len", {"seq_len"}) == "seq_len"
    assert our_name("max_new_tokens", {"length"}) == "length"
    assert our_name("learning_rate", {"order"}) is None


@pytest.mark.parametrize(
    ("theirs", "ours"),
    [
        ("LSTM", "lstm"),
        ("GPT2", "gpt"),
        ("GPT-2", "gpt"),
        ("BERT", "bert"),
        ("n-gram", "ngram"),
        ("lsmt", "lsmt"),
    ],
)
def test_families_are_understood_in_any_case_and_spelling(theirs: str, ours: str) -> None:
    assert our_spelling(theirs, {"lstm", "gpt", "bert", "ngram"}) == ours


WRONG: dict[str, Callable[[Bundle], object]] = {
    "generate nothing": lambda lm: lm.generate(None),  # type: ignore[call-overload]
    "generate a number": lambda lm: lm.generate(5),  # type: ignore[call-overload]
    "generate half a symbol": lambda lm: lm.generate("a", length=5.5),  # type: ignore[call-overload]
    "stop at a number": lambda lm: lm.generate("a", stop=5),
    "score nothing": lambda lm: lm.score(None),  # type: ignore[arg-type]
    "score nothing each": lambda lm: list(lm.score_each(None)),  # type: ignore[arg-type]
    "score nothing together": lambda lm: lm.score_texts(None),  # type: ignore[arg-type]
    "rank nothing": lambda lm: lm.rank(None),  # type: ignore[arg-type]
    "rank numbers": lambda lm: lm.rank([1, 2]),  # type: ignore[list-item]
    "complete a number": lambda lm: lm.complete(5),  # type: ignore[arg-type]
    "complete two and a half": lambda lm: lm.complete("a", k=2.5),  # type: ignore[arg-type]
    "next of nothing": lambda lm: lm.next(None),  # type: ignore[arg-type]
    "load nothing": lambda lm: cr.load(None),  # type: ignore[arg-type]
    "a model that is a number": lambda lm: cr.fit(LINES, model=5),  # type: ignore[arg-type]
    "compare into nothing": lambda lm: cr.compare(LINES, out=None),  # type: ignore[arg-type]
}


@pytest.mark.parametrize("name", WRONG)
def test_what_makes_no_sense_in_python_is_told_in_our_words(name: str) -> None:
    with pytest.raises(cr.ChainruleError) as told:
        WRONG[name](fitted())
    assert len(str(told.value)) > 20
