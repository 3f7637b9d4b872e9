"""The laws every model keeps, whatever its family. Each is a function of a case and raises AssertionError."""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Callable
from dataclasses import replace
from unittest.mock import patch

import numpy as np
import torch
from torch import Tensor

from chainrule.decode.config import FREE, Constraints, GenerationConfig
from chainrule.decode.cursor import advance, begin
from chainrule.decode.sample import joined, sample
from chainrule.models import base, windows
from chainrule.models.base import LanguageModel
from chainrule.symbols import BOS, EOS, PAD
from decoding import beam, greedy
from laws.case import (
    Case,
    Rows,
    data_symbols,
    flat,
    likelihood,
    masked,
    padded,
    predictable,
    predictions,
    random_rows,
)

Law = Callable[[Case], None]
LENGTHS = (5, 0, 3, 7)  # of rows side by side


def same(found: Tensor | np.ndarray, expected: Tensor | np.ndarray, claim: str) -> None:
    """Equal up to rounding, -inf being equal to itself."""
    found, expected = torch.as_tensor(found).double(), torch.as_tensor(expected).double()
    torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-5, msg=lambda text: f"{claim}: {text}")


def law_01_probabilities_sum_to_one(case: Case) -> None:
    """Asked through `score` and `score_ids`, symbol by symbol; a softmax alone would prove nothing."""
    model = case.make()
    tokens = padded(random_rows(model, LENGTHS))
    total = torch.zeros(tokens.shape, dtype=torch.float64)
    for id in range(PAD + 1, model.config.vocab_size):
        logs, _ = model.score(tokens, torch.full_like(tokens, id), case.start(model, len(tokens)))
        total += logs.detach().double().exp()
    same(total[tokens != PAD], torch.ones_like(total[tokens != PAD]), "the sum over all symbols is 1")
    if model.reads == "left":
        for row in random_rows(model, LENGTHS):
            ways = [[*row, id] if id != EOS else row for id in predictable(model)]
            found = [model.score_ids(flat([way]))[len(row)] for way in ways]
            same(
                np.exp(np.array(found, np.float64)).sum(), np.ones(()), "the sum over all continuations is 1"
            )


def law_02_what_is_suppressed_is_never_predicted(case: Case) -> None:
    """PAD, BOS and MASK have probability 0 everywhere, and no sampler ever draws them."""
    model = case.make()
    tokens = padded(random_rows(model, LENGTHS))
    logs, _ = predictions(model, tokens, case.start(model, len(tokens)))
    suppressed = list(model.config.suppressed)
    assert {PAD, BOS, base.MASK} <= set(suppressed), "PAD, BOS and MASK are suppressed"
    assert (logs[..., suppressed] == -math.inf).all(), "a suppressed symbol has a probability above 0"
    if model.reads == "left":
        wild = GenerationConfig(length=8, seed=1, temperature=50.0, count=16)
        said = {id for row in joined(case.sample(model, [[BOS]], wild, FREE, case.given([0]))) for id in row}
        assert not said & set(suppressed), "a suppressed symbol was sampled"


def law_03_reading_in_chunks_equals_reading_at_once(case: Case) -> None:
    """Wherever a row is cut."""
    model = case.make()
    tokens = padded(random_rows(model, (7, 7, 7)))
    whole, _ = predictions(model, tokens, case.start(model, 3))
    for cut in range(1, tokens.shape[1]):
        first, state = predictions(model, tokens[:, :cut], case.start(model, 3))
        second, _ = predictions(model, tokens[:, cut:], state)
        same(torch.cat([first, second], 1), whole, f"cut after {cut}")


def law_04_a_later_symbol_changes_no_earlier_prediction(case: Case) -> None:
    """What comes after a place is unknown at it."""
    model = case.make()
    tokens = padded(random_rows(model, (7, 7, 7)))
    other = padded(random_rows(model, (7, 7, 7), seed=1))
    whole, _ = predictions(model, tokens, case.start(model, 3))
    for cut in range(1, tokens.shape[1]):
        mixed = torch.cat([tokens[:, :cut], other[:, cut:]], 1)
        found, _ = predictions(model, mixed, case.start(model, 3))
        same(found[:, :cut], whole[:, :cut], f"changed after {cut}")


def law_05_rows_are_independent(case: Case) -> None:
    """A row is predicted alike alone and among others."""
    model = case.make()
    rows = random_rows(model, (6, 6, 6, 6))
    together, _ = predictions(model, padded(rows), case.start(model, 4))
    for index, row in enumerate(rows):
        alone, _ = predictions(model, padded([row]), case.start(model, [index]))
        same(together[index], alone[0], f"row {index} alone")


def law_06_padding_changes_nothing(case: Case) -> None:
    """Neither the predictions of a row nor what it remembers afterwards."""
    model = case.make()
    rows, more = random_rows(model, LENGTHS), random_rows(model, (3, 3, 3, 3), seed=1)
    together, state = predictions(model, padded(rows), case.start(model, 4))
    if model.reads == "left":
        after, _ = predictions(model, padded(more)[:, 1:], state)
    for index, row in enumerate(rows):
        alone, own = predictions(model, padded([row]), case.start(model, [index]))
        same(together[index, : len(row)], alone[0], f"row {index} without padding")
        if model.reads == "left":
            then, _ = predictions(model, padded([more[index]])[:, 1:], own)
            same(after[index], then[0], f"what row {index} remembers without padding")


def law_07_select_commutes_with_reading(case: Case) -> None:
    """Forking, reordering and dropping rows of unequal length before or after reading is the same."""
    model = case.make()
    first, second = (
        padded(random_rows(model, LENGTHS)),
        padded(random_rows(model, (1, 3, 0, 2), seed=1))[:, 1:],
    )
    for names in ([3, 2, 1, 0], [2, 2, 0], [1], [0, 1, 2, 3, 3, 3]):
        rows = torch.tensor(names)
        _, state = predictions(model, first, case.start(model, 4))
        late, _ = predictions(model, second[rows], state.select(rows))
        _, state = predictions(model, first[rows], case.start(model, 4).select(rows))
        soon, _ = predictions(model, second[rows], state)
        _, state = predictions(model, first[rows], case.start(model, names))
        never, _ = predictions(model, second[rows], state)
        real = second[rows] != PAD
        same(late[real], soon[real], f"rows {names} selected after reading")
        same(soon[real], never[real], f"rows {names} selected before reading")


def law_08_a_beam_of_one_is_greedy(case: Case) -> None:
    """Whichever symbol stops it: a tiny model may never say EOS of its own accord."""
    model = case.make()
    for index, row in enumerate(random_rows(model, LENGTHS)):
        for stop in predictable(model):
            expected = tuple(greedy(model, row, 6, stop=(stop,), source=case.given([index])))
            [found] = beam(model, row, 1, 6, case.search, stop=(stop,), source=case.given([index]))
            assert found.ids == expected, f"beam {found.ids}, greedy {expected}"


def law_09_every_beam_total_equals_the_score(case: Case) -> None:
    """However the beam got there."""
    model = case.make()
    for index, row in enumerate(random_rows(model, LENGTHS)):
        found = beam(model, row, 5, 4, case.search, source=case.given([index]))
        expected = totals(case, model, row, [one.ids for one in found], index)
        same(torch.tensor([one.log_probability for one in found]), expected, f"totals after row {index}")


def totals(
    case: Case, model: LanguageModel, prompt: list[int], ways: list[tuple[int, ...]], row: int
) -> Tensor:
    """Log-probability of each way to continue a prompt, by `score`."""
    tokens = padded([[*prompt, *way[:-1]] for way in ways])
    targets = padded([[PAD] * (len(prompt) - 1) + list(way) for way in ways])
    with torch.no_grad():
        found, _ = model.score(tokens, targets, case.start(model, [row] * len(ways)))
    return found.double().sum(1)


def law_10_a_wide_enough_beam_is_exhaustive(case: Case) -> None:
    """It finds every possible continuation, in the order of probability."""
    model = case.make()
    length = 3 if len(predictable(model)) <= 8 else 2
    for index, row in enumerate(random_rows(model, (0, 3))):
        ways = every_way(model, length)
        expected = totals(case, model, row, ways, index)
        found = beam(model, row, len(ways), length, case.search, source=case.given([index]))
        possible = expected[expected > -math.inf].sort(descending=True).values
        same(torch.tensor([one.log_probability for one in found]), possible, "all continuations, best first")
        chances = dict(zip(ways, expected.tolist(), strict=True))
        assert len({one.ids for one in found}) == len(found), "a continuation was found twice"
        same(torch.tensor([chances.get(one.ids, math.nan) for one in found]), possible, "by what they say")


def every_way(model: LanguageModel, length: int) -> list[tuple[int, ...]]:
    """Everything a model can say within `length` symbols: it ends with EOS or is `length` long."""
    going = [id for id in predictable(model) if id != EOS]
    ended = [(*way, EOS) for size in range(length) for way in itertools.product(going, repeat=size)]
    return [*ended, *itertools.product(going, repeat=length)]


def law_11_perplexity_does_not_depend_on_batch_size(case: Case) -> None:
    """Nor on the pieces a long file is cut into; and the score of the whole is the sum of its parts."""
    model = case.make()
    rows = random_rows(model, (0, 7, 2, 5, 1, 1, 6, 30, 3, 0, 4))
    whole = case.score(model, flat(rows), 100, 1)
    assert whole.symbols == sum(map(len, rows)), "every symbol counts once, EOS too, BOS not"
    for batch, piece in ((1, 1000), (3, 1000), (64, 1), (2, 20)):
        other = case.score(model, flat(rows), 100, 1, batch=batch, piece=piece)
        assert (other.symbols, other.bytes, other.unknown) == (whole.symbols, whole.bytes, whole.unknown)
        found, expected = torch.tensor(other.perplexity), torch.tensor(whole.perplexity)
        same(found, expected, f"batches of {batch}, pieces of {piece}")
    parts = sum((case.score(model, flat([row])) for row in rows[1:]), case.score(model, flat(rows[:1])))
    same(torch.tensor(parts.perplexity), torch.tensor(whole.perplexity), "sequence by sequence")


def law_12_saved_and_loaded_gives_the_same_numbers(case: Case) -> None:
    """Through plain arrays and a config that went through JSON."""
    model = case.make()
    values = json.loads(json.dumps(model.config.values()))
    arrays = {name: np.array(array) for name, array in model.arrays().items()}
    again = type(model).from_arrays(type(model.config).from_values(values), arrays)
    assert again.config == model.config, "the config came back changed"
    tokens = padded(random_rows(model, LENGTHS))
    expected, _ = predictions(model, tokens, case.start(model, 4))
    found, _ = predictions(again, tokens, case.start(again, 4))
    assert torch.equal(found, expected), "the loaded model predicts otherwise"


def law_13_one_tiny_batch_can_be_learnt(case: Case) -> None:
    """To less than two equally likely symbols."""
    start = case.make()
    rows = [[BOS, *data_symbols(start)[:3]]] * 4
    model = case.learn(case, rows)
    with torch.no_grad():
        perplexity = math.exp(-float(likelihood(case, model, rows)))
    assert perplexity < 2.0, f"perplexity {perplexity} on the very rows it has learnt"


def law_14_the_fast_path_equals_the_slow_path(case: Case) -> None:
    """`score_ids` against one symbol at a time, beyond what it can hold too; `score` against the default."""
    model = case.make()
    rows = random_rows(model, (4, 0, 30, 9, 1))
    slow = slow_left if model.reads == "left" else slow_both
    with patch.object(windows, "WINDOW", 5):
        same(model.score_ids(flat(rows)), slow(model, rows), "score_ids")
    rows = random_rows(model, LENGTHS)
    tokens, targets = (
        masked(rows) if model.reads == "both" else (padded(rows), padded([[*row[1:], EOS] for row in rows]))
    )
    states = [case.start(model, len(tokens)) for _ in range(2)]
    with torch.no_grad():
        same(
            model.score(tokens, targets, states[0])[0],
            windows.score_by_logits(model, tokens, targets, states[1])[0],
            "score",
        )


def slow_left(model: LanguageModel, rows: list[list[int]]) -> Tensor:
    """Log-probability of every position, read one symbol at a time."""
    found = []
    for row in rows:
        cursor = begin(model, [[BOS]])
        found.append(0.0)
        for id in [*row[1:], EOS]:
            found.append(float(cursor.logs[0, id]))
            cursor = advance(model, cursor, torch.tensor([0]), torch.tensor([[id]]))
    return torch.tensor(found)


def slow_both(model: LanguageModel, rows: list[list[int]]) -> Tensor:
    """Log-probability of every position of rows that fit, one row and one hidden symbol at a time."""
    found = []
    for row in rows:
        found.append(0.0)
        for hole, (tokens, target) in enumerate(zip(*masked([row]), strict=True), 1):
            first = (
                0
                if model.context is None
                else max(0, min(hole - model.context // 2, len(tokens) - model.context))
            )
            tokens = tokens[first : None if model.context is None else first + model.context].clone()
            tokens[0] = BOS
            logs, _ = predictions(model, tokens[None], model.start(1))
            found.append(float(logs[0, hole - first, target[hole]]))
    return torch.tensor(found)


def law_15_an_answer_does_not_depend_on_its_neighbours(case: Case) -> None:
    """Prompts of unequal length continued together say what each says alone, beyond what a model can hold too."""
    model = case.make()
    prompts = random_rows(model, (5, 0, 3, 30, 7))
    sources = [case.given([row]) for row in range(len(prompts))]
    drawing = GenerationConfig(length=25, seed=3)
    for config in (drawing, replace(drawing, temperature=0.0), replace(drawing, top_k=2, count=2)):
        together = joined(case.sample(model, prompts, config, FREE, case.given(range(len(prompts)))))
        assert config.temperature == 0 or len({*map(tuple, together)}) > 1, (
            "all rows say the same: the law shows nothing"
        )
        for row, prompt in enumerate(prompts):
            own = config.from_row(row * config.count)
            alone = joined(case.sample(model, [prompt], own, FREE, sources[row]))
            assert together[row * config.count : (row + 1) * config.count] == alone, f"row {row} alone"
    searching, free = GenerationConfig(length=14, beam=3, length_penalty=0.5), Constraints()
    for row, found in enumerate(
        case.search(model, prompts, searching, free, case.given(range(len(prompts))))
    ):
        [alone] = case.search(model, [prompts[row]], searching, free, sources[row])
        assert [one.ids for one in found.hypotheses] == [one.ids for one in alone.hypotheses], (
            f"row {row} alone"
        )
        totals = [[one.log_probability for one in which.hypotheses] for which in (found, alone)]
        same(torch.tensor(totals[0]), torch.tensor(totals[1]), f"totals of row {row} alone")
    _drafts_do_not_depend_on_their_neighbours(case, prompts, drawing)


def _drafts_do_not_depend_on_their_neighbours(case: Case, prompts: Rows, drawing: GenerationConfig) -> None:
    """With a drafter of the same kind; its best texts are those that are written without a draft."""
    models = (case.make(), case.make().tiny(1))
    best, everyone = replace(drawing, temperature=0.0), case.given(range(len(prompts)))
    for config in (drawing, best):
        together = joined(case.draft(*models, prompts, config, FREE, everyone))
        for row, prompt in enumerate(prompts):
            own = config.from_row(row)
            alone = joined(case.draft(*models, [prompt], own, FREE, case.given([row])))
            assert [together[row]] == alone, f"row {row} drafted alone"
    assert together == joined(sample(models[0], prompts, best, FREE, everyone)), "not as without a draft"


LAWS: list[Law] = [law for name, law in sorted(globals().items()) if name.startswith("law_")]
BOTH_WAYS = {
    "01",
    "02",
    "05",
    "06",
    "11",
    "12",
    "13",
    "14",
}  # the laws that mean something without a direction


def applies(law: Law, case: Case) -> bool:
    """Whether a law is about models of this kind."""
    model = case.make()
    if law is law_13_one_tiny_batch_can_be_learnt and (
        model.learner is None
        or model.family in ("cache", "ibm1", "copy")  # remember only; know words, no order
    ):
        return False
    return model.reads == "left" or law.__name__[4:6] in BOTH_WAYS
