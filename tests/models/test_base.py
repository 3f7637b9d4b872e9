"""The parts of the interface that laws do not name."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as some

from chainrule.errors import ModelError
from chainrule.models.base import LanguageModel, log_total
from chainrule.models.windows import carried, stretches
from chainrule.symbols import BOS, EOS, PAD
from tiny import Table, TinyMasked, TinyRecurrent
from tiny.table import SUN


@given(some.lists(some.integers(0, 40), max_size=6), some.one_of(some.none(), some.integers(2, 9)))
def test_stretches_read_every_symbol_afresh_once_and_never_too_many(
    lengths: list[int], context: int | None
) -> None:
    cut = stretches(np.array(lengths, np.int64), context)
    assert context is None or (cut.length <= context).all()
    for sequence, length in enumerate(lengths):
        mine = cut.sequence == sequence
        rows = zip(cut.offset[mine], cut.seen[mine], cut.length[mine], strict=True)
        read = [place for offset, seen, size in rows for place in range(offset + seen, offset + size)]
        assert read == list(range(length))


@given(some.integers(2, 9), some.integers(10, 40))
def test_what_is_read_again_is_the_recent_past(context: int, length: int) -> None:
    cut = stretches(np.array([length]), context)
    assert (cut.seen[1:] == carried(context) + 1).all()


def test_a_context_of_one_symbol_is_refused() -> None:
    with pytest.raises(ModelError, match="at least 2"):
        carried(1)


def test_where_nothing_is_possible_everything_has_probability_zero() -> None:
    logits = torch.full((2, 3), -torch.inf)
    assert (logits - log_total(logits)[:, None] == -torch.inf).all()


def test_no_sequences_score_nothing() -> None:
    for model in (Table.tiny(), TinyMasked.tiny()):
        assert model.score_ids(np.zeros(0, np.int32)).shape == (0,)


def test_ids_that_do_not_begin_with_bos_are_refused() -> None:
    with pytest.raises(ModelError, match="begin with BOS"):
        Table.tiny().score_ids(np.array([SUN, EOS]))


def test_padding_targets_score_zero_and_leave_the_gradient_finite() -> None:
    model = TinyRecurrent.tiny()
    tokens, targets = torch.tensor([[BOS, 5, PAD]]), torch.tensor([[5, EOS, PAD]])
    found, _ = model.score(tokens, targets, model.start(1))
    assert found[0, 2] == 0.0
    found.sum().backward()
    assert all(weight.grad is not None and weight.grad.isfinite().all() for weight in model.parameters())


def test_scoring_keeps_no_gradient_and_leaves_training_mode_alone() -> None:
    model = TinyRecurrent.tiny().train()
    model.output.eval()
    model.score_ids(np.array([BOS, 5, EOS]))
    assert model.training and model.recurrence.training and not model.output.training


def test_a_seeded_model_depends_on_its_seed_alone() -> None:
    before = torch.random.get_rng_state()
    one, same, other = TinyRecurrent.tiny(1), TinyRecurrent.tiny(1), TinyRecurrent.tiny(2)
    assert torch.equal(before, torch.random.get_rng_state())
    assert torch.equal(one.output.weight, same.output.weight)
    assert not torch.equal(one.output.weight, other.output.weight)


def test_what_a_family_leaves_out_is_named_when_one_is_made() -> None:
    class Forgetful(LanguageModel):
        pass

    with pytest.raises(TypeError, match=r"abstract methods.*logits"):
        Forgetful()  # type: ignore[abstract]


def test_parameters_are_counted() -> None:
    assert TinyRecurrent.tiny().parameters_count == 9 * 8 + 8 * 8 + 8 + 9 * 8 + 9
